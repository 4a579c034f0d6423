"""Looks at every float32 (or every STRIDE-th) and tells the largest error of each function, with its operand.

    python -m tools.fit.exhaustive                                      every float32, minutes for each function
    python -m tools.fit.exhaustive --functions exp log --stride 16      every 16th
    python -m tools.fit.exhaustive --dtype float64                      samples, dense where functions bend
    python -m tools.fit.exhaustive --state errors.json                  goes on where it was stopped

It prints a row per function and interval of |x| (of two operands: the first) as it goes; `--page` writes them into
docs/mathematics.md. References are float64 for float32 and long double for float64; what comes out as the largest error is
confirmed by mpmath. The exit status is 1 when an error exceeds mathlib.ACCURACY.

`--own` looks for suspects with the compiled float64 functions, which are 10 times quicker than the libraries: for functions
whose float32 version is another one, with polynomials of its own. Their errors are known to 1e-8 of a float32 unit.
"""
from __future__ import annotations

import argparse
import functools
import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np

from numjet.cpu import mathlib
from numjet.cpu.ir.nodes import MATH
from tools.fit import page, pairs
from tools.fit.gap import largest_gap
from tools.fit.measure import SPECIAL, bit_patterns, compiled, errors, reference, uniform

CHUNK = 1 << 16
SAVE_EVERY = 1024   # chunks
SLACK = 1e-6        # units by which the largest errors told may fall short: references are known to 1e-8
SAMPLES = 1 << 20   # float64 operands of functions with quick references, and of those that mpmath computes
SLOW_SAMPLES = 1 << 13
EDGES = (0.0, 0.1, 1.0, 10.0, 100.0, np.inf)   # of intervals of |x|
PAIRS = 1 << 18     # a fifth of the pairs of operands of functions of two
UNARY = [op for op, count in MATH.items() if count == 1]
FUNCTIONS = [*UNARY, *pairs.BINARY]


@dataclass
class Progress:
    """What is known of one function: `next`, the first bit pattern not looked at; per interval the largest error, and where
    (as hexadecimal text)."""

    stride: int
    next: int = 0
    worst: list[float] = field(default_factory=lambda: [0.0] * (len(EDGES) - 1))
    places: list[str] = field(default_factory=lambda: [""] * (len(EDGES) - 1))

    def look(self, op: str, x: np.ndarray, run: Callable[[np.ndarray], np.ndarray],
             quick: Callable[[np.ndarray], np.ndarray] | None = None) -> None:
        """Takes operands into account. quick: a reference by which suspects are found; default: the exact one."""
        got = run(x)
        chosen = self._suspects(x, got, functools.partial(reference, op) if quick is None else quick)
        x, got = x[chosen], got[chosen]
        error = errors(op, x, got)
        inside = _interval(x)
        for k in range(len(EDGES) - 1):
            here = np.flatnonzero((inside == k) & (error > self.worst[k]))
            # The largest ones again, with an exact reference: the quick one may be what is wrong.
            for place in here[np.argsort(error[here])[:-9:-1]]:
                exact = errors(op, x[place:place + 1], got[place:place + 1], exact=True)[0]
                if exact > self.worst[k]:
                    self.worst[k], self.places[k] = float(exact), float(x[place]).hex()

    def _suspects(self, x: np.ndarray, got: np.ndarray, quick: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
        """The places where the error may be larger than what is known, found in few operations: a unit in the last place is
        at least 2**-(mantissa + 2) of a number, and at least the smallest number."""
        if x.dtype != np.float32:
            return np.arange(len(x))
        expected, least = quick(x), self.least(x)
        info = np.finfo(np.float32)
        with np.errstate(invalid="ignore"):
            small = np.abs(got - expected) <= least * np.maximum(np.abs(expected) * (info.eps / 2), info.smallest_subnormal)
        same = (np.isnan(got) & np.isnan(expected)) | (got == expected)
        return np.flatnonzero(~(small | same))

    def least(self, x: np.ndarray) -> float:
        """What an error has to exceed to be worth knowing, at operands between the first and the last."""
        ends = _interval(x[[0, -1]])
        return min(self.worst[max(0, min(ends)):max(ends) + 1], default=0.0)

    def rows(self) -> Iterator[tuple[str, float, str]]:
        """(interval, error, operands) for the intervals with an error."""
        for lo, hi, error, place in zip(EDGES[:-1], EDGES[1:], self.worst, self.places, strict=True):
            if place:
                yield f"{lo:g} <= |x|" + (f" < {hi:g}" if hi < np.inf else ""), error, page.shown(place, str)


def _interval(x: np.ndarray) -> np.ndarray:
    """The interval of |x|; infinities and NaN are in none, -1 or beyond the last."""
    return np.searchsorted(EDGES, np.abs(x), side="right") - 1


def own_reference(op: str) -> Callable[[np.ndarray], np.ndarray] | None:
    """The compiled float64 function, for float32 operands; None if that is what the float32 function computes, rounded."""
    wide, narrow = (compiled(op, np.dtype(d), CHUNK) for d in (np.float64, np.float32))
    quick = lambda x: wide(x.astype(np.float64))
    x = bit_patterns(np.float32, CHUNK)
    with np.errstate(all="ignore"):
        same = np.array_equal(narrow(x), quick(x).astype(np.float32), equal_nan=True)
    return None if same else quick


def every_float(op: str, progress: Progress, save: Callable[[], None] = lambda: None, own: bool = False) -> None:
    """Goes through the bit patterns of float32 from where `progress` stands."""
    run = compiled(op, np.dtype(np.float32), CHUNK)
    quick = own_reference(op) if own else None
    gap = largest_gap(op, CHUNK, quick is not None)
    step = CHUNK * progress.stride
    chunks = 0
    while progress.next < 2**32:
        # One of each run of bit patterns, scattered: numbers that end in zeros have smaller errors than others.
        number = np.arange(CHUNK, dtype=np.int64) + progress.next // progress.stride
        bits = progress.stride * number + number * 0x9E3779B1 % 2**32 % progress.stride
        x = (bits % 2**32).astype(np.uint32).view(np.float32)
        found = gap(x) if quick else gap(x, np.asarray(reference(op, x), np.float64))
        if not found <= progress.least(x) + SLACK:
            progress.look(op, x, run, quick)
        progress.next += step
        chunks += 1
        if chunks % SAVE_EVERY == 0:
            save()
    save()


def samples(op: str) -> np.ndarray:
    """float64 operands: all magnitudes, and evenly where functions bend."""
    count = SLOW_SAMPLES if op in SPECIAL else SAMPLES
    ranges = [(-0.5, 0.5), (-1, 1), (0.5, 3), (0, 10), (-10, 10), (-100, 100), (-800, 800), (0.999, 1.001)]
    return np.concatenate([bit_patterns(np.float64, count), *[
        uniform(np.float64, lo, hi, count // 8, k) for k, (lo, hi) in enumerate(ranges)]])


def sampled(op: str, progress: Progress, save: Callable[[], None] = lambda: None) -> None:
    """Looks at samples of float64, unless that was done."""
    if progress.next == 0:
        x = samples(op)
        progress.look(op, x, compiled(op, x.dtype, len(x)))
        progress.next = len(x)
        save()


def sampled_pairs(op: str, dtype: np.dtype, progress: Progress, save: Callable[[], None] = lambda: None) -> None:
    """Looks at samples of a function of two operands, unless that was done; intervals are those of the first."""
    if progress.next == 0:
        progress.worst, progress.places = pairs.largest_errors(op, dtype, PAIRS, _interval, len(EDGES) - 1)
        progress.next = 5 * PAIRS
        save()


class State:
    """The progress of all functions, in a file if there is one."""

    def __init__(self, path: Path | None):
        self.path = path
        kept = json.loads(path.read_text(encoding="utf8")) if path is not None and path.exists() else {}
        self.known = {key: Progress(**values) for key, values in kept.items()}

    def of(self, op: str, dtype: str, stride: int) -> Progress:
        """The progress of one function; begins anew when the stride is another."""
        found = self.known.get(f"{op} {dtype}")
        if found is None or found.stride != stride:
            found = self.known[f"{op} {dtype}"] = Progress(stride)
        return found

    def save(self) -> None:
        """Writes the file."""
        if self.path is not None:
            text = json.dumps({key: asdict(p) for key, p in self.known.items()}, indent=1)
            self.path.write_text(text, encoding="utf8")


def main(arguments: list[str] | None = None) -> int:
    """Prints the table; 1 when a bound is exceeded."""
    parser = argparse.ArgumentParser(prog="python -m tools.fit.exhaustive", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--functions", nargs="+", default=FUNCTIONS, choices=FUNCTIONS, metavar="NAME",
                        help=", ".join(FUNCTIONS))
    parser.add_argument("--dtype", choices=("float32", "float64"), default="float32")
    parser.add_argument("--stride", type=int, default=1, help="look at every STRIDE-th float32")
    parser.add_argument("--own", action="store_true", help="find suspects with the compiled float64 functions")
    parser.add_argument("--state", type=Path, help="a file that keeps what was found, to go on later")
    parser.add_argument("--page", type=Path, help="the page of the documentation whose table is renewed from --state")
    options = parser.parse_args(arguments)
    state, failed = State(options.state), False
    go: Callable[..., None] = functools.partial(every_float, own=options.own) if options.dtype == "float32" else sampled
    for op in options.functions:
        binary = op in pairs.BINARY
        progress = state.of(op, options.dtype, 0 if binary or options.dtype == "float64" else options.stride)
        if binary:
            sampled_pairs(op, np.dtype(options.dtype), progress, state.save)
        else:
            go(op, progress, save=state.save)
        bound = mathlib.ACCURACY[op, options.dtype]
        failed |= max(progress.worst) > bound
        for interval, error, place in progress.rows():
            print(f"{op:9} | {interval:17} | {error:7.3f} ulp | at {place}", flush=True)
    if options.page:
        page.renew(options.page, state.known)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
