"""Programs over eight CPU devices, numjet beside JAX: training steps of a transformer of 10 M parameters, resharding and sums
of 100 MB, and the dispatch of a step with 200 divided leaves.

    python -m benchmarks.sharded [--repeats 20] [--only step,reshard,psum,dispatch] [--processes 4]
    python -m benchmarks.sharded --check [--processes 4]

Each library runs in a process of its own, or in several that share the devices; rounds alternate between the two. The medians
and their ratio are printed, and the least times, which neighbours on the machine disturb less. With --check, numjet alone
trains for 20 steps on each mesh; losses, parameters and gradients are compared with those of one device.
"""
from __future__ import annotations

import argparse
import importlib
import json
import os
import statistics
import subprocess
import sys
import time

import numpy as np

from numjet.tools.launch import free_port

WIDTH, HEADS, HIDDEN, LAYERS, WORDS, LENGTH, BATCH = 384, 8, 1536, 5, 1024, 32, 8
MESHES = {"data-parallel": (8, 1), "tensor-parallel": (1, 8), "both": (2, 2)}
SPECS = {"qkv": (None, None, "model"), "out": ("model",), "up": (None, "model"), "down": ("model",)}
DEVICES, LEAVES, STEPS = 8, 200, 20


def initial():
    """The parameters, and a batch of words."""
    rng = np.random.default_rng(0)
    normal = lambda *shape: (rng.standard_normal(shape) / np.sqrt(WIDTH)).astype(np.float32)
    shapes = {"qkv": (WIDTH, 3, HEADS, WIDTH // HEADS), "out": (HEADS, WIDTH // HEADS, WIDTH), "up": (WIDTH, HIDDEN),
              "down": (HIDDEN, WIDTH)}
    blocks = [{name: normal(*shape) for name, shape in shapes.items()} for _ in range(LAYERS)]
    p = {"blocks": blocks, "embed": normal(WORDS, WIDTH)}
    return p, rng.integers(0, WORDS, (BATCH, LENGTH)).astype(np.int32)


def placed(lib, mesh):
    """The same on a mesh, or on the first device of this process."""
    p, words = initial()
    if mesh is None:
        return lib.device_put((p, words), lib.local_devices()[0])
    shard = importlib.import_module(f"{lib.__name__}.sharding")
    put = lambda x, *axes: lib.device_put(x, shard.NamedSharding(mesh, shard.PartitionSpec(*axes)))
    return {"blocks": [{name: put(x, *SPECS[name]) for name, x in b.items()} for b in p["blocks"]],
            "embed": put(p["embed"])}, put(words, "data")


def training(lib, jnp):
    """A step, as a function of parameters and words: the next parameters, the loss and its gradient."""
    def normed(x):
        return x * lib.lax.rsqrt((x ** 2).mean(-1, keepdims=True) + 1e-5)

    def loss(p, words):
        x = p["embed"][words]
        for b in p["blocks"]:
            q, k, v = jnp.einsum("bld,dche->cbhle", normed(x), b["qkv"])
            scores = jnp.einsum("bhle,bhme->bhlm", q, k) / np.sqrt(WIDTH // HEADS)
            x = x + jnp.einsum("bhlm,bhme,hed->bld", lib.nn.softmax(scores), v, b["out"])
            x = x + lib.nn.gelu(normed(x) @ b["up"]) @ b["down"]
        logits = lib.nn.log_softmax(normed(x)[:, :-1] @ p["embed"].T)
        return -jnp.take_along_axis(logits, words[:, 1:, None], 2).mean()

    @lib.jit
    def step(p, words):
        value, slope = lib.value_and_grad(loss)(p, words)
        return lib.tree.map(lambda x, g: x - 0.01 * g, p, slope), value, slope
    return step


def transformer(lib, jnp, mesh):
    step, given = training(lib, jnp), placed(lib, mesh)
    return lambda: lib.block_until_ready(step(*given))


def trained(lib, jnp, mesh):
    """The losses, and the last parameters and gradients as NumPy arrays."""
    step, (p, words), losses = training(lib, jnp), placed(lib, mesh), []
    for _ in range(STEPS):
        p, value, slope = step(p, words)
        losses.append(value)
    if mesh is not None and lib.process_count() > 1:  # parts of them are in other processes
        hosts = importlib.import_module(f"{lib.__name__}.experimental.multihost_utils")
        p, slope = hosts.process_allgather((p, slope), tiled=True)
    return np.array(losses), [*map(np.asarray, lib.tree.leaves((p, slope)))]


def check(lib, jnp):
    """Prints how far training on each mesh is from training on one device."""
    alone = trained(lib, jnp, None)
    for name, mesh in meshes(lib).items():
        losses, leaves = trained(lib, jnp, mesh)
        far = max(abs(x - y).max() / abs(y).max() for x, y in zip(leaves, alone[1], strict=True))
        if lib.process_index() == 0:
            print(f"{name:20}{lib.process_count()} processes  loss {losses[0]:.4f} to {losses[-1]:.4f}, differs by at most "
                  f"{(abs(losses - alone[0]) / alone[0]).max():.1e}; parameters and gradients by {far:.1e}", flush=True)


def meshes(lib):
    """The meshes by name. Devices of a smaller one are spread over the processes."""
    shard = importlib.import_module(f"{lib.__name__}.sharding")
    devices = np.array(lib.devices())
    over = lambda sizes: shard.Mesh(devices[::len(devices) // np.prod(sizes)].reshape(sizes), ("data", "model"))
    return {name: over(sizes) for name, sizes in MESHES.items()}


def workloads(lib, jnp, only):
    """The functions to time, by name."""
    shard = importlib.import_module(f"{lib.__name__}.sharding")
    sharding, spec = shard.NamedSharding, shard.PartitionSpec
    over = meshes(lib)
    if "step" in only:
        for name, mesh in over.items():
            yield f"step, {name}", transformer(lib, jnp, mesh)
    mesh = over["data-parallel"]
    x = lib.device_put(np.ones((5000, 5000), np.float32)[:, :4992][:4992], sharding(mesh, spec("data")))
    if "reshard" in only:
        columns = sharding(mesh, spec(None, "data"))
        yield "reshard 100 MB", lambda: lib.block_until_ready(lib.device_put(x, columns))
    if "psum" in only:
        total = lib.jit(lib.shard_map(lambda a: lib.lax.psum(a, "data"), mesh=mesh, in_specs=spec("data"), out_specs=spec()))
        yield "psum 100 MB", lambda: lib.block_until_ready(total(x))
    if "dispatch" in only:
        leaves = [lib.device_put(np.ones(8, np.float32), sharding(mesh, spec("data"))) for _ in range(LEAVES)]
        step = lib.jit(lambda xs: [x + 1 for x in xs])

        def dispatch():
            started = time.perf_counter()
            out = step(leaves)
            passed = time.perf_counter() - started  # until the call returns
            lib.block_until_ready(out)
            return passed
        yield f"dispatch, {LEAVES} leaves", dispatch


def worker(library, only, number, processes, address):
    """Times one round of a workload for each line read, and writes the seconds."""
    lib = importlib.import_module(library)
    if processes > 1:
        lib.distributed.initialize(address, processes, number)
    jnp = importlib.import_module(f"{library}.numpy")
    if only == ["check"]:
        check(lib, jnp)
        return
    known = dict(workloads(lib, jnp, only))
    for call in known.values():
        call()
    print(json.dumps(list(known)), flush=True)
    for line in sys.stdin:
        started = time.perf_counter()
        own = known[json.loads(line)]()
        print(json.dumps(own if isinstance(own, float) else time.perf_counter() - started), flush=True)


class Group:
    """The processes of one library, all of which do what they are asked for."""

    def __init__(self, library, only, processes):
        environment = {**os.environ, "JAX_NUM_CPU_DEVICES": str(DEVICES // processes), "JAX_PLATFORMS": "cpu"}
        address = f"127.0.0.1:{free_port()}"
        self.members = [subprocess.Popen(
            [sys.executable, "-m", "benchmarks.sharded", "--only", only, "--processes", str(processes), "--worker", library,
             str(number), address], env=environment, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            for number in range(processes)]

    def answers(self):
        """What each process writes next; the library for exchanges between processes writes lines of its own."""
        return [json.loads(next(line for line in member.stdout if not line.startswith("[Gloo]"))) for member in self.members]

    def seconds(self, name):
        """How long the slowest process took."""
        for member in self.members:
            member.stdin.write(json.dumps(name) + "\n")
            member.stdin.flush()
        return max(self.answers())

    def end(self):
        for member in self.members:
            member.stdin.close()
        for member in self.members:
            sys.stdout.write(member.stdout.read())
            member.wait()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=20)
    parser.add_argument("--only", default="step,reshard,psum,dispatch")
    parser.add_argument("--processes", type=int, default=1, choices=[1, 2, 4])
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--worker", nargs=3, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.worker:
        library, number, address = given.worker
        worker(library, given.only.split(","), int(number), given.processes, address)
    elif given.check:
        Group("numjet", "check", given.processes).end()
    else:
        compare(given.only, given.processes, given.repeats)


def compare(only, processes, repeats):
    running = {library: Group(library, only, processes) for library in ("numjet", "jax")}
    names, _ = [group.answers()[0] for group in running.values()]
    print(f"{'':28}{'numjet ms':>12}{'JAX ms':>12}{'ratio':>8}{'best of each':>20}{'ratio':>8}")
    for name in names:
        seconds = {library: [] for library in running}
        for _ in range(repeats):
            for library, group in running.items():
                seconds[library].append(group.seconds(name))
        ours, theirs = (statistics.median(seconds[library]) for library in ("numjet", "jax"))
        best, least = (min(seconds[library]) for library in ("numjet", "jax"))
        print(f"{name:28}{ours * 1e3:12.2f}{theirs * 1e3:12.2f}{ours / theirs:8.2f}"
              f"{best * 1e3:12.2f}{least * 1e3:8.2f}{best / least:8.2f}", flush=True)
    for group in running.values():
        group.end()


if __name__ == "__main__":
    main()
