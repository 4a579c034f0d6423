"""Programs over eight CPU devices, numjet beside JAX: training steps of a transformer of 10 M parameters, resharding and sums
of 100 MB, and the dispatch of a step with 200 divided leaves.

    python -m benchmarks.sharded [--repeats 20] [--only step,reshard,psum,dispatch]

Each library runs in a process of its own; rounds alternate between the two. The medians and their ratio are printed, and the
least times, which neighbours on the machine disturb less.
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

WIDTH, HEADS, HIDDEN, LAYERS, WORDS, LENGTH, BATCH = 384, 8, 1536, 5, 1024, 64, 16
MESHES = {"data-parallel": (8, 1), "tensor-parallel": (1, 8), "both": (2, 2)}
SPECS = {"qkv": (None, None, "model"), "out": ("model",), "up": (None, "model"), "down": ("model",)}
LEAVES = 200


def transformer(lib, jnp, mesh, sharding, spec):
    """A training step and its arguments."""
    rng = np.random.default_rng(0)
    normal = lambda *shape: (rng.standard_normal(shape) / np.sqrt(WIDTH)).astype(np.float32)
    shapes = {"qkv": (WIDTH, 3, HEADS, WIDTH // HEADS), "out": (HEADS, WIDTH // HEADS, WIDTH), "up": (WIDTH, HIDDEN),
              "down": (HIDDEN, WIDTH)}
    put = lambda x, *axes: lib.device_put(x, sharding(mesh, spec(*axes)))
    blocks = [{name: put(normal(*shape), *SPECS[name]) for name, shape in shapes.items()} for _ in range(LAYERS)]
    p = {"embed": put(normal(WORDS, WIDTH)), "blocks": blocks}
    words = put(rng.integers(0, WORDS, (BATCH, LENGTH)).astype(np.int32), "data")

    def normed(x):
        return x * lib.lax.rsqrt((x ** 2).mean(-1, keepdims=True) + 1e-5)

    def loss(p):
        x = p["embed"][words]
        for b in p["blocks"]:
            q, k, v = jnp.einsum("bld,dche->cbhle", normed(x), b["qkv"])
            scores = jnp.einsum("bhle,bhme->bhlm", q, k) / np.sqrt(WIDTH // HEADS)
            x = x + jnp.einsum("bhlm,bhme,hed->bld", lib.nn.softmax(scores), v, b["out"])
            x = x + lib.nn.gelu(normed(x) @ b["up"]) @ b["down"]
        logits = lib.nn.log_softmax(normed(x)[:, :-1] @ p["embed"].T)
        return -jnp.take_along_axis(logits, words[:, 1:, None], 2).mean()
    step = lib.jit(lambda p: lib.tree.map(lambda x, g: x - 0.01 * g, p, lib.grad(loss)(p)))
    return lambda: lib.block_until_ready(step(p))


def workloads(lib, jnp, only):
    """The functions to time, by name."""
    shard = importlib.import_module(f"{lib.__name__}.sharding")
    sharding, spec = shard.NamedSharding, shard.PartitionSpec
    devices = np.array(lib.devices())
    over = lambda rows, columns: shard.Mesh(devices[:rows * columns].reshape(rows, columns), ("data", "model"))
    if "step" in only:
        for name, sizes in MESHES.items():
            yield f"step, {name}", transformer(lib, jnp, over(*sizes), sharding, spec)
    mesh = over(8, 1)
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


def worker(library, only):
    """Times one round of a workload for each line read, and writes the seconds."""
    lib = importlib.import_module(library)
    known = dict(workloads(lib, importlib.import_module(f"{library}.numpy"), only))
    for call in known.values():
        call()
    print(json.dumps(list(known)), flush=True)
    for line in sys.stdin:
        started = time.perf_counter()
        own = known[json.loads(line)]()
        print(json.dumps(own if isinstance(own, float) else time.perf_counter() - started), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=20)
    parser.add_argument("--only", default="step,reshard,psum,dispatch")
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    given = parser.parse_args()
    only = given.only.split(",")
    if given.worker:
        worker(given.worker, only)
        return
    environment = {**os.environ, "JAX_NUM_CPU_DEVICES": "8", "JAX_PLATFORMS": "cpu"}
    command = [sys.executable, "-m", "benchmarks.sharded", "--only", given.only, "--worker"]
    running = {name: subprocess.Popen([*command, name], env=environment, text=True, stdin=subprocess.PIPE,
                                      stdout=subprocess.PIPE) for name in ("numjet", "jax")}

    def ask(process, name):
        process.stdin.write(json.dumps(name) + "\n")
        process.stdin.flush()
        return json.loads(process.stdout.readline())
    names, _ = [json.loads(process.stdout.readline()) for process in running.values()]
    print(f"{'':28}{'numjet ms':>12}{'JAX ms':>12}{'ratio':>8}{'best of each':>20}{'ratio':>8}")
    for name in names:
        seconds = {library: [] for library in running}
        for _ in range(given.repeats):
            for library, process in running.items():
                seconds[library].append(ask(process, name))
        ours, theirs = (statistics.median(seconds[library]) for library in ("numjet", "jax"))
        best, least = (min(seconds[library]) for library in ("numjet", "jax"))
        print(f"{name:28}{ours * 1e3:12.2f}{theirs * 1e3:12.2f}{ours / theirs:8.2f}"
              f"{best * 1e3:12.2f}{least * 1e3:8.2f}{best / least:8.2f}")
    for process in running.values():
        process.stdin.close()
        process.wait()


if __name__ == "__main__":
    main()
