"""Times of all functions: compiled on large operands beside JAX, eager on eight elements beside NumPy and SciPy.

    python -m benchmarks.function_sweep large [--repeat N] [--over 1.1] [TEXT ...]
    python -m benchmarks.function_sweep small [--repeat N] [--over 3] [TEXT ...]

The calls are those of `benchmarks.function_calls`; a TEXT chooses those that contain it. Both packages run in turn in one
process, and the least time of each counts, so that other programs on the machine disturb it little. Lines are printed as they
are measured, those over the bound again at the end, the worst first. The clock measures, not the processor's time: that of a
library whose threads wait by spinning counts the waiting.
"""
from __future__ import annotations

import argparse
import importlib
import time
import warnings
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from benchmarks.function_calls import ALL, Arrays, arrays
from numjet.cpu.native_code import tiers

_LIBRARIES = {"lax": "lax", "nn": "nn", "random": "random", "image": "image", "special": "scipy.special",
              "stats": "scipy.stats", "linalg": "scipy.linalg",
              "signal": "scipy.signal", "sfft": "scipy.fft", "ndimage": "scipy.ndimage",
              "interpolate": "scipy.interpolate", "integrate": "scipy.integrate", "cluster": "scipy.cluster.vq"}
LARGE = {"elements": 1_000_000, "side": 1000, "short": 1000, "small": 200}
SMALL = {"elements": 8, "side": 4, "short": 8, "small": 4}
_ENOUGH = 1.0    # seconds after which a call is not repeated any more


class Measured(NamedTuple):
    """Seconds of both, or what was raised instead."""

    text: str
    ours: float
    theirs: float
    error: str = ""

    @property
    def ratio(self) -> float:
        """Our time divided by theirs."""
        return self.ours / self.theirs

    def __str__(self) -> str:
        if self.error:
            return f"{self.text:60} {self.error}"
        return f"{self.text:60} {self.ours * 1e6:12.2f} us {self.theirs * 1e6:12.2f} us {self.ratio:8.2f}"


def names_of(package: str) -> dict[str, Any]:
    """What the texts name, of numjet, jax or numpy (with SciPy)."""
    if package == "numpy":
        return {"np": np, **{k: importlib.import_module(v) for k, v in _LIBRARIES.items() if v.startswith("scipy")}}
    return {"np": importlib.import_module(f"{package}.numpy"),
            **{k: importlib.import_module(f"{package}.{v}") for k, v in _LIBRARIES.items()}}


def function_of(text: str, names: dict[str, Any]) -> Callable[..., Any]:
    """The call as a function of all arrays."""
    return eval(f"lambda {', '.join(Arrays._fields)}: {text}", dict(names))


def alternated(ours: Callable[[], Any], theirs: Callable[[], Any], repeat: int, loops: int) -> tuple[float, float]:
    """The least seconds of each, measured in turn."""
    least, other = np.inf, np.inf
    begin = time.perf_counter()
    for _ in range(repeat):
        start = time.perf_counter()
        for _ in range(loops):
            ours()
        between = time.perf_counter()
        for _ in range(loops):
            theirs()
        end = time.perf_counter()
        least, other = min(least, (between - start) / loops), min(other, (end - between) / loops)
        if time.perf_counter() - begin > _ENOUGH:
            break
    return float(least), float(other)


def large(text: str, host: Arrays, repeat: int) -> Measured:
    """A jitted call beside JAX's."""
    import jax

    import numjet as nj
    calls = []
    for package, top in (("numjet", nj), ("jax", jax)):
        operands = [top.numpy.asarray(v) for v in host]
        compiled = top.jit(function_of(text, names_of(package)))
        try:
            calls.append(lambda f=compiled, o=operands, t=top: t.block_until_ready(f(*o)))
            calls[-1](), calls[-1]()
        except Exception as error:
            return Measured(text, np.nan, np.nan, f"{package}: {type(error).__name__}: {str(error).splitlines()[0][:90]}")
    tiers.finish()   # the second call asks for the better code
    return Measured(text, *alternated(*calls, repeat, 1))


def small(text: str, host: Arrays, repeat: int) -> Measured:
    """An eager call beside NumPy's."""
    import numjet.numpy as jnp
    calls = []
    for package in ("numpy", "numjet"):
        operands = [jnp.asarray(v) for v in host] if package == "numjet" else [v.copy() for v in host]
        fun = function_of(text, names_of(package))
        try:
            calls.append(lambda f=fun, o=operands: f(*o))
            for _ in range(4):
                calls[-1]()
        except Exception as error:
            return Measured(text, np.nan, np.nan, f"{package}: {type(error).__name__}: {str(error).splitlines()[0][:90]}")
    return Measured(text, *alternated(calls[1], calls[0], repeat, 50))


def main(arguments: Sequence[str] | None = None) -> list[Measured]:
    """Prints the table; all that was measured."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.function_sweep", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("size", choices=["large", "small"])
    parser.add_argument("texts", nargs="*", help="parts of the calls to measure (default: all)")
    parser.add_argument("--repeat", type=int, default=20, help="rounds")
    parser.add_argument("--over", type=float, help="list those above this ratio (default: 1.1, or 3 for small)")
    given = parser.parse_intermixed_args(arguments)
    one, host, bound = (large, arrays(**LARGE), 1.1) if given.size == "large" else (small, arrays(**SMALL), 3.0)
    bound = given.over or bound
    found: list[Measured] = []
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for text in ALL:
            if not given.texts or any(t in text for t in given.texts):
                found.append(one(text, host, given.repeat))
                print(found[-1], flush=True)
    measured = [m for m in found if not m.error]
    over = sorted((m for m in measured if m.ratio > bound), key=lambda m: -m.ratio)
    print(f"\n{len(over)} of {len(measured)} are over {bound}; {len(found) - len(measured)} were not compared")
    for m in over:
        print(m)
    return found


if __name__ == "__main__":
    main()
