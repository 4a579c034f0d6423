"""A small transformer trained data-parallel, tensor-parallel, or both: only the placement of arrays differs.

JAX_NUM_CPU_DEVICES=8 python examples/sharded_transformer.py compares meshes of 8 devices with one device.
"""
import numpy as np

import numjet as nj
import numjet.numpy as jnp
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
    value, slope = nj.value_and_grad(loss)(p, words)
    return nj.tree.map(lambda x, g: x - 0.3 * g, p, slope), value


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
        p, value = step(p, words)
        losses.append(value)
    return jnp.stack(losses), p


def run():
    losses, p = train()
    return {"losses": losses, "weights": p["out"]}


if __name__ == "__main__":
    alone = train()[0]
    print("one device: ", alone[:: STEPS - 1])
    devices = np.array(nj.devices())
    for data, model in [(8, 1), (1, 4), (2, 2), (4, 2)]:
        if data * model <= len(devices):
            losses, _ = train(Mesh(devices[:data * model].reshape(data, model), ("data", "model")))
            print(f"{data} x {model} devices:", losses[:: STEPS - 1], "differs by at most", abs(losses - alone).max())
