"""Times of the most used functions on small arrays, outside of jit, beside NumPy's.

    python -m benchmarks.eager_functions [--repeat N] [NAME ...]

Each line is one call: both packages in turn, in short rounds; medians of the rounds, and NumPy's time divided by numjet's. The
last line has the share of functions that take at most twice NumPy's time. Slower ones than that are marked.
"""
from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import numjet as nj
import numjet.numpy as jnp

GOAL = 0.5   # of NumPy's speed
_LOOPS = 200
Call = Callable[[Any, Any, Any, Any], Any]   # (module, vector, matrix, key or generator)

_UNARY = ("sin cos tan arcsin arctan sinh cosh tanh exp exp2 expm1 log log2 log10 log1p sqrt cbrt square abs negative sign "
          "floor ceil rint trunc reciprocal isnan isfinite isinf signbit deg2rad").split()
_BINARY = ("add subtract multiply divide floor_divide mod power maximum minimum arctan2 hypot equal less greater_equal "
           "logical_and").split()
_REDUCTIONS = "sum prod max min mean var std any all argmax argmin cumsum cumprod ptp".split()


def _calls() -> dict[str, Call]:
    found: dict[str, Call] = {}
    for name in _UNARY:
        found[name] = lambda m, x, a, r, name=name: getattr(m, name)(x)
    for name in _BINARY:
        found[name] = lambda m, x, a, r, name=name: getattr(m, name)(x, x)
    for name in _REDUCTIONS:
        found[name] = lambda m, x, a, r, name=name: getattr(m, name)(x)
    found |= {
        "x + 1.0": lambda m, x, a, r: x + 1.0, "x * x": lambda m, x, a, r: x * x, "x / 2": lambda m, x, a, r: x / 2,
        "x ** 2": lambda m, x, a, r: x ** 2, "x > 3": lambda m, x, a, r: x > 3, "-x": lambda m, x, a, r: -x,
        "a @ a": lambda m, x, a, r: a @ a, "a @ v": lambda m, x, a, r: a @ x, "float(x[1])": lambda m, x, a, r: float(x[1]),
        "x[1]": lambda m, x, a, r: x[1], "x[1:3]": lambda m, x, a, r: x[1:3], "a[:, 1]": lambda m, x, a, r: a[:, 1],
        "a[1, 2]": lambda m, x, a, r: a[1, 2], "x[::-1]": lambda m, x, a, r: x[::-1], "x[None]": lambda m, x, a, r: x[None],
        "where": lambda m, x, a, r: m.where(x > 3, x, 0.0), "clip": lambda m, x, a, r: m.clip(x, 0.0, 1.0),
        "stack": lambda m, x, a, r: m.stack([x, x]), "concatenate": lambda m, x, a, r: m.concatenate([x, x]),
        "vstack": lambda m, x, a, r: m.vstack([x, x]), "astype": lambda m, x, a, r: x.astype("int32"),
        "reshape": lambda m, x, a, r: x.reshape(2, 4), "ravel": lambda m, x, a, r: a.ravel(), "T": lambda m, x, a, r: a.T,
        "transpose": lambda m, x, a, r: m.transpose(a), "expand_dims": lambda m, x, a, r: m.expand_dims(x, 0),
        "squeeze": lambda m, x, a, r: m.squeeze(x), "broadcast_to": lambda m, x, a, r: m.broadcast_to(x, (3, 8)),
        "flip": lambda m, x, a, r: m.flip(x), "roll": lambda m, x, a, r: m.roll(x, 1), "tile": lambda m, x, a, r: m.tile(x, 2),
        "repeat": lambda m, x, a, r: m.repeat(x, 2), "sort": lambda m, x, a, r: m.sort(x), "diff": lambda m, x, a, r: m.diff(x),
        "dot": lambda m, x, a, r: m.dot(x, x), "matmul": lambda m, x, a, r: m.matmul(a, a),
        "outer": lambda m, x, a, r: m.outer(x, x), "einsum": lambda m, x, a, r: m.einsum("ij,jk->ik", a, a),
        "zeros": lambda m, x, a, r: m.zeros(8), "ones": lambda m, x, a, r: m.ones(8), "full": lambda m, x, a, r: m.full(8, 2.0),
        "arange": lambda m, x, a, r: m.arange(8), "linspace": lambda m, x, a, r: m.linspace(0.0, 1.0, 8),
        "eye": lambda m, x, a, r: m.eye(8), "zeros_like": lambda m, x, a, r: m.zeros_like(x),
        "copy": lambda m, x, a, r: m.copy(x)}
    return found


CALLS = _calls()


def _changed(x: np.ndarray, change: Callable[[np.ndarray], Any]) -> np.ndarray:
    out = x.copy()
    change(out)
    return out


def _set(x: np.ndarray) -> None:
    x[2] = 1.0


def _add(x: np.ndarray) -> None:
    x[2] += 1.0


_host = np.arange(8, dtype=np.float32)
# What NumPy has under another name: (numjet, NumPy).
PAIRS: dict[str, tuple[Call, Call]] = {
    "x.at[2].set": (lambda m, x, a, r: x.at[2].set(1.0), lambda m, x, a, r: _changed(x, _set)),
    "x.at[2].add": (lambda m, x, a, r: x.at[2].add(1.0), lambda m, x, a, r: _changed(x, _add)),
    "asarray": (lambda m, x, a, r: m.asarray(_host), lambda m, x, a, r: np.array(_host)),
    "device_put": (lambda m, x, a, r: nj.device_put(_host), lambda m, x, a, r: np.array(_host)),
    "random.normal": (lambda m, x, a, r: nj.random.normal(r, (8,)), lambda m, x, a, r: r.standard_normal(8, np.float32)),
    "random.uniform": (lambda m, x, a, r: nj.random.uniform(r, (8,)), lambda m, x, a, r: r.random(8, np.float32)),
    "random.split": (lambda m, x, a, r: nj.random.split(r), lambda m, x, a, r: r.spawn(2))}


def measure(ours: Callable[[], Any], theirs: Callable[[], Any], repeat: int) -> tuple[float, float]:
    """Median seconds of both, measured in turn."""
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(repeat):
        for fun, into in ((ours, times[0]), (theirs, times[1])):
            start = time.perf_counter()
            for _ in range(_LOOPS):
                fun()
            into.append((time.perf_counter() - start) / _LOOPS)
    return statistics.median(times[0]), statistics.median(times[1])


def main(arguments: Sequence[str] | None = None) -> dict[str, float]:
    """Prints the table; NumPy's time divided by numjet's, by name."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.eager_functions", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("names", nargs="*", help="functions to measure (default: all)")
    parser.add_argument("--repeat", type=int, default=9, help="rounds")
    given = parser.parse_args(arguments)
    x, a = np.arange(8, dtype=np.float32) / 4, np.arange(64, dtype=np.float32).reshape(8, 8) / 64
    ours = jnp, jnp.asarray(x), jnp.asarray(a), nj.random.key(0)
    theirs = np, x, a, np.random.default_rng(0)
    pairs = {**{name: (call, call) for name, call in CALLS.items()}, **PAIRS}
    ratios: dict[str, float] = {}
    with np.errstate(all="ignore"):
        for name, (one, other) in pairs.items():
            if given.names and name not in given.names:
                continue
            for _ in range(3):
                one(*ours), other(*theirs)
            mine, numpys = measure(lambda: one(*ours), lambda: other(*theirs), given.repeat)  # noqa: B023
            ratios[name] = numpys / mine
            mark = "" if ratios[name] >= GOAL else "  slower"
            print(f"{name:16} {mine * 1e6:8.2f} us  NumPy {numpys * 1e6:8.2f} us  {ratios[name]:6.2f}{mark}")
    good = sum(ratio >= GOAL for ratio in ratios.values())
    print(f"{good} of {len(ratios)} take at most twice NumPy's time")
    return ratios


if __name__ == "__main__":
    main()
