"""A small transformer trained data-parallel, tensor-parallel, or both: only the placement of arrays differs. Losses, parameters
and gradients of every mesh are compared with those of one device.

    python examples/sharded_transformer.py                                               one device
    JAX_NUM_CPU_DEVICES=8 python examples/sharded_transformer.py                         meshes of 8 devices
    python -m numjet.tools.launch -n 4 --devices 2 examples/sharded_transformer.py       4 processes of 2 devices

An argument such as 2x2 chooses the mesh: 2 parts of the batch, 2 of the parameters.
"""
import os
import sys

import numpy as np

import numjet as nj
import numjet.numpy as jnp
from numjet.experimental.multihost_utils import process_allgather
from numjet.sharding import Mesh, NamedSharding, PartitionSpec as P

WORDS, LENGTH, WIDTH, HEADS, HIDDEN, BATCH, STEPS = 16, 8, 32, 4, 64, 16, 20

# How each parameter is divided along the axis "model": heads and hidden units. The compiler inserts the sums.
SPECS = {"embed": P(), "place": P(), "qkv": P(None, None, "model"), "out": P("model"), "up": P(None, "model"),
         "down": P("model"), "read": P()}


def init(key):
    shapes = {"embed": (WORDS, WIDTH), "place": (LENGTH, WIDTH), "qkv": (3, WIDTH, HEADS, WIDTH // HEADS),
              "out": (HEADS, WIDTH // HEADS, WIDTH), "up": (WIDTH, HIDDEN), "down": (HIDDEN, WIDTH), "read": (WIDTH, WORDS)}
    keys = nj.random.split(key, len(shapes))
    return {name: nj.random.normal(k, shape) / np.sqrt(WIDTH) for k, (name, shape) in zip(keys, shapes.items(), strict=True)}


def normed(x):
    return (x - x.mean(-1, keepdims=True)) * nj.lax.rsqrt(x.var(-1, keepdims=True) + 1e-5)


def logits(p, words):
    x = p["embed"][words] + p["place"]
    q, k, v = jnp.einsum("bld,cdhe->cbhle", normed(x), p["qkv"])
    scores = jnp.einsum("bhle,bhme->bhlm", q, k) / np.sqrt(WIDTH // HEADS)
    scores = jnp.where(np.tri(LENGTH, dtype=bool), scores, -1e9)
    x = x + jnp.einsum("bhlm,bhme,hed->bld", nj.nn.softmax(scores), v, p["out"])
    x = x + nj.nn.gelu(normed(x) @ p["up"]) @ p["down"]
    return normed(x) @ p["read"]


def loss(p, words):
    log = nj.nn.log_softmax(logits(p, words[:, :-1]))
    return -jnp.take_along_axis(log, words[:, 1:, None], 2).mean()


@nj.jit
def step(p, words):
    """The next parameters, the loss, and its gradient."""
    value, slope = nj.value_and_grad(loss)(p, words)
    return nj.tree.map(lambda x, g: x - 0.3 * g, p, slope), value, slope


def batches():
    """Sequences that count upwards in steps of 1, 2 or 3."""
    rng = np.random.default_rng(0)
    for _ in range(STEPS):
        start, by = rng.integers(0, WORDS, (BATCH, 1)), rng.integers(1, 4, (BATCH, 1))
        yield ((start + by * np.arange(LENGTH + 1)) % WORDS).astype(np.int32)


def train(mesh=None):
    """The losses and the last parameters; mesh: with axes "data" and "model", default: no mesh, one device."""
    p, losses = init(nj.random.key(0)), []
    if mesh is not None:
        p = {name: nj.device_put(x, NamedSharding(mesh, SPECS[name])) for name, x in p.items()}
    for words in batches():
        if mesh is not None:
            words = nj.device_put(words, NamedSharding(mesh, P("data")))
        p, value, _ = step(p, words)
        losses.append(value)
    return losses, p


def results(mesh=None):
    """The losses, and the last parameters with the gradient there, as NumPy arrays that every process has."""
    losses, p = train(mesh)
    words = next(batches())
    slopes = step(p, words if mesh is None else nj.device_put(words, NamedSharding(mesh, P("data"))))[2]
    if nj.process_count() > 1 and mesh is not None:  # parts of them are in other processes
        p, slopes = process_allgather((p, slopes), tiled=True)
    return np.array(losses), {name: (np.asarray(p[name]), np.asarray(slopes[name])) for name in p}


def differences(found, wanted):
    """The largest relative difference of losses, and of parameters and gradients relative to the largest of each."""
    scaled = [abs(x - y).max() / abs(y).max() for name in found[1]
              for x, y in zip(found[1][name], wanted[1][name], strict=True)]
    return float((abs(found[0] - wanted[0]) / wanted[0]).max()), float(max(scaled))


def meshes():
    """Meshes for the devices that there are: those of all processes, or fewer ones of this one."""
    devices = np.array(nj.devices())
    chosen = [tuple(map(int, words.split("x"))) for words in sys.argv[1:]]
    for data, model in chosen or [(8, 1), (1, 4), (2, 2), (4, 2), (4, 1), (2, 4)]:
        if data * model == len(devices) or (nj.process_count() == 1 and data * model < len(devices)):
            yield Mesh(devices[:data * model].reshape(data, model), ("data", "model"))


def run():
    losses, p = train()
    return {"losses": jnp.stack(losses), "weights": p["out"]}


if __name__ == "__main__":
    if "JAX_COORDINATOR_ADDRESS" in os.environ:
        nj.distributed.initialize()
    over_meshes = [(mesh, results(mesh)) for mesh in meshes()]
    if nj.process_index() == 0:
        alone = results()
        print("one device:", alone[0][:: STEPS - 1])
        for mesh, found in over_meshes:
            far = differences(found, alone)
            sizes = " x ".join(map(str, mesh.axis_sizes))
            print(sizes, "devices:", found[0][:: STEPS - 1], f"differ by at most {far[0]:.1e}, {far[1]:.1e}")
            assert far[0] < 1e-5 and far[1] < 1e-4, far
