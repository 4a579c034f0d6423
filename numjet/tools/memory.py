"""Memory predictions of programs against measurements.

    python -m numjet.tools.memory [--threads N] [NAME ...]
    python -m numjet.tools.memory --rss NAME       in a process of its own: what the system says

For each program: the prediction of `jit(f).lower(*args).compile().memory_analysis()` without the arguments, the peak of the
buffer pool while it runs, and (Linux) the growth of the process.
"""
from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import numjet as nj
from numjet import _native, lax, nn, numpy as jnp

Program = tuple[Callable[..., Any], tuple[Any, ...]]


def _normal(*shape: int) -> Any:
    return jnp.array(np.random.default_rng(0).standard_normal(shape), jnp.float32)


def elementwise() -> Program:
    """A chain that fuses: no temporary at all."""
    return lambda x: jnp.tanh(jnp.sin(x) * 2 + jnp.exp(-x)) / (1 + x * x), (_normal(3_000_000),)


def matmuls() -> Program:
    """Products one after the other: two buffers in turn."""
    def fun(x: Any, w: Any) -> Any:
        for _ in range(6):
            x = jnp.tanh(x @ w)
        return x
    return fun, (_normal(1500, 600), _normal(600, 600) / 25)


def softmax() -> Program:
    """Rows of exponentials, divided by their sums."""
    return lambda x: nn.softmax(x @ x.T, axis=1), (_normal(1500, 300),)


def scan_gradient() -> Program:
    """The residuals of every step are kept for the way back."""
    def loss(x: Any, w: Any) -> Any:
        step = lambda s, _: (jnp.tanh(s @ w) + s, None)
        return jnp.sum(lax.scan(step, x, None, length=40)[0])
    return nj.grad(loss), (_normal(300, 200), _normal(200, 200) / 20)


def convolution() -> Program:
    """Two layers and their gradient."""
    def loss(kernels: Any, images: Any) -> Any:
        for k in kernels:
            images = nn.relu(lax.conv_general_dilated(images, k, (1, 1), "SAME"))
        return jnp.sum(images)
    return nj.grad(loss), ([_normal(16, 3, 3, 3), _normal(16, 16, 3, 3)], _normal(16, 3, 64, 64))


def sorting() -> Program:
    """Keys with positions: the routine needs memory of its own, most of all where a key is a negative zero."""
    x = _normal(1_000_000)
    return lambda x: (jnp.argsort(x), jnp.sort(x) * 2), (x.at[7].set(-0.0),)


def gather_scatter() -> Program:
    """Rows picked, and added elsewhere, out of place and in place."""
    def fun(x: Any, at: Any) -> Any:
        rows = jnp.cumsum(x[at], axis=0)
        return x.at[at].add(rows), jnp.zeros_like(x).at[at].max(rows)
    return fun, (_normal(4000, 250), jnp.array(np.random.default_rng(1).integers(0, 4000, 3000)))


def pieces() -> Program:
    """Independent pieces written out: their arrays must not be live all at once."""
    def fun(x: Any, ws: Any) -> Any:
        layers = [jnp.sin(x @ w) for w in ws]
        return sum(jnp.sum(layer @ layer.T) for layer in layers)
    return fun, (_normal(800, 500), [_normal(500, 700) / 30 for _ in range(12)])


def pieces_gradient() -> Program:
    """The gradient of a sum of independent pieces."""
    def loss(ws: Any, x: Any) -> Any:
        return sum(jnp.mean(jnp.tanh(jnp.tanh(x @ w) @ w.T)) for w in ws)
    return nj.grad(loss), ([_normal(100, 400) / 20 for _ in range(12)], _normal(4000, 100))


def accumulated() -> Program:
    """A sum of products, each as large as the result."""
    return lambda xs: sum(x @ x.T for x in xs), ([_normal(800, 60) for _ in range(16)],)


def solving() -> Program:
    """A system of equations, and a decomposition with its workspaces."""
    def fun(a: Any, b: Any) -> Any:
        return jnp.linalg.solve(a @ a.T + jnp.eye(600), b), jnp.linalg.qr(a)
    return fun, (_normal(600, 600), _normal(600, 300))


def transform() -> Program:
    """A Fourier transform and its inverse, with a product between."""
    return lambda x: jnp.fft.irfft2(jnp.fft.rfft2(x) * 0.5), (_normal(1024, 1024),)


def vmap_while() -> Program:
    """Every row has iterations of its own; all rows are carried until the last is done."""
    def root(x: Any) -> Any:
        return lax.while_loop(lambda s: jnp.max(jnp.abs(s[1])) > 1e-3, lambda s: (s[0] + s[1], s[1] * 0.5), (x, x))[0]
    return nj.vmap(root), (_normal(2000, 300),)


def leapfrog() -> Program:
    """Two arrays that are swapped in every step, a third one never."""
    def step(c: Any, _: Any) -> Any:
        before, now = c
        return (now, 2 * now - before + 0.1 * (jnp.roll(now, 1) - 2 * now + jnp.roll(now, -1))), now[0]
    return lambda a: lax.scan(step, (a, a * 0.5), None, length=50), (_normal(500_000),)


def delays() -> Program:
    """A history that every step shifts by a row: twice its memory."""
    shift = lambda c, x: (jnp.concatenate([c[1:], (jnp.tanh(c[:1]) + x)]), c[0, 0])
    return lambda c, xs: lax.scan(shift, c, xs), (_normal(400, 1000), _normal(300, 1, 1))


def branches() -> Program:
    """Conditional steps."""
    def body(i: Any, c: Any) -> Any:
        return lax.cond(c[i] > 0, lambda c: c[::-1] * 0.5, lambda c: c.at[i].add(1.0), c)
    return lambda c: lax.fori_loop(0, 30, body, c), (_normal(600_000),)


def updates_gradient() -> Program:
    """The gradient of updates in place: the residuals of an update, not of an array, are kept for each step."""
    def loss(x: Any) -> Any:
        return jnp.sum(lax.fori_loop(1, 900, lambda i, c: c.at[i].set(jnp.sin(c[i - 1]) + c[i + 1]), x))
    return nj.grad(loss), (_normal(1000, 500),)


def recurrent_gradient() -> Program:
    """A recurrent network over a sequence, and its gradient by the weights."""
    def loss(w: Any, xs: Any, h: Any) -> Any:
        step = lambda h, x: ((h := jnp.tanh(x + h @ w)), h.mean())
        return jnp.sum(lax.scan(step, h, xs)[1])
    return nj.grad(loss), (_normal(128, 128) / 12, _normal(100, 64, 128), _normal(64, 128))


def factors() -> Program:
    """Cholesky factors, and a triangular solve."""
    def fun(a: Any, b: Any) -> Any:
        lower = jnp.linalg.cholesky(a @ a.T + 500 * jnp.eye(500))
        return lax.linalg.triangular_solve(lower, b, left_side=True, lower=True)
    return fun, (_normal(500, 500), _normal(500, 400))


def eigenvalues() -> Program:
    """A symmetric decomposition, and a product of its factors."""
    def fun(a: Any) -> Any:
        values, vectors = jnp.linalg.eigh(a + a.T)
        return (vectors * jnp.tanh(values)) @ vectors.T
    return fun, (_normal(400, 400),)


def small_systems() -> Program:
    """Many small systems at once."""
    return lambda a, b: jnp.linalg.solve(a + 9 * jnp.eye(6), b), (_normal(20000, 6, 6), _normal(20000, 6, 3))


def sorted_rows() -> Program:
    """Rows with their indices, by a routine whose threads take rows."""
    return lambda x: (lax.top_k(x, 50), jnp.sort(x, axis=1)[:, ::2]), (_normal(200, 10_000),)


def spectra() -> Program:
    """Transforms of many rows, of a length that is no power of two."""
    return lambda x: jnp.abs(jnp.fft.rfft(x, axis=1)) ** 2, (_normal(300, 3000),)


PROGRAMS: dict[str, Callable[[], Program]] = {f.__name__: f for f in (
    elementwise, matmuls, softmax, scan_gradient, convolution, sorting, gather_scatter, pieces, pieces_gradient, accumulated,
    solving, transform, vmap_while, leapfrog, delays, branches, updates_gradient, recurrent_gradient, factors, eigenvalues,
    small_systems, sorted_rows, spectra)}


def predicted(name: str) -> int:
    """Bytes of results and temporaries, as predicted."""
    fun, args = PROGRAMS[name]()
    return nj.jit(fun).lower(*args).compile().memory_analysis().extra_memory_in_bytes


def measured(name: str) -> int:
    """The largest growth of the pool during a call, in bytes."""
    fun, args = PROGRAMS[name]()
    compiled = nj.jit(fun)
    nj.block_until_ready(compiled(*args))  # routines allocate buffers that they keep for later calls
    _native.synchronize()
    return _native.pool_peak_during(lambda: nj.block_until_ready(compiled(*args)))


def growth(name: str) -> int:
    """The largest growth of this process during a call, after a first one, in bytes; Linux only."""
    fun, args = PROGRAMS[name]()
    compiled = nj.jit(fun)
    nj.block_until_ready(compiled(*args))  # BLAS has its buffers, threads their stacks
    _native.pool_trim()
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # the peak starts anew
    before = _status("VmRSS")
    nj.block_until_ready(compiled(*args))
    return _status("VmHWM") - before


def _status(field: str) -> int:
    line = next(s for s in Path("/proc/self/status").read_text(encoding="ascii").splitlines() if s.startswith(field))
    return 1024 * int(line.split()[1])


def growth_outside(name: str, threads: int | None = None) -> int:
    """The same in a process of its own."""
    command = [sys.executable, "-m", "numjet.tools.memory", "--rss", name]
    command += [] if threads is None else ["--threads", str(threads)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)} failed:\n{done.stderr}")
    return int(done.stdout)


def main(arguments: Sequence[str] | None = None) -> int:
    """Prints the table, or one number. Returns 0."""
    parser = argparse.ArgumentParser(prog="python -m numjet.tools.memory", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"among {', '.join(PROGRAMS)} (default: all)")
    parser.add_argument("--threads", type=int, metavar="N", help="how many share the work (default: as configured)")
    parser.add_argument("--rss", choices=list(PROGRAMS), metavar="NAME")
    given = parser.parse_args(arguments)
    if given.threads is not None:
        nj.config.update("num_threads", given.threads)
    if given.rss:
        print(growth(given.rss))
        return 0
    print(f"{'program':16} {'predicted':>10} {'pool':>10} {'process':>10}  MiB")
    for name in given.names or PROGRAMS:
        sizes = (predicted(name), measured(name), growth_outside(name, given.threads) if sys.platform == "linux" else 0)
        print(f"{name:16} " + " ".join(f"{n / 2**20:10.2f}" for n in sizes), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
