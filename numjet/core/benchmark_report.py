"""Benchmarks of compiled functions: times of calls beside the limits of the machine. See nj.benchmark."""
from __future__ import annotations

import statistics
from pathlib import Path
from typing import Any

from numjet.core import notebook
from numjet.foundation import lazy_import
from numjet.foundation.record import Record

figure = lazy_import.Module("matplotlib.figure")

_SHARED_SCALE = 30   # a roofline begins this much below, and ends this much above the ridge, unless the program lies outside


class Limits(Record):
    """What the machine reaches, measured by programs of numjet.

    where: on how many threads, or on which device. flops: operations in a second of a product of large matrices of `dtype`.
    bandwidth: bytes in a second that one pass over arrays larger than the caches reads and writes. cache: bytes of the last
    cache; what fits there may be faster.
    """
    dtype: str
    flops: float
    bandwidth: float
    cache: int
    where: str

    @property
    def ridge(self) -> float:
        """The intensity, in operations for each byte, from which on arithmetic is the limit, and not memory."""
        return self.flops / self.bandwidth


class Benchmark(Record):
    """The times of a function's calls, and what they reach of the machine's limits. Prints as a table.

    times: seconds of each call, or of the mean of each run of `loops` calls, in order. trace, compile: seconds that the first
    call takes besides: to trace the function and to compile the program (`cached`: from the cache on disk).
    operations: additions, products and functions of one call, as `cost_analysis` counts them (open_ended: at least; a
    `while_loop` counts once). moved: bytes of the arguments that it reads, and of its results.
    """
    name: str
    times: tuple[float, ...]
    loops: int
    trace: float
    compile: float
    cached: bool
    operations: float
    open_ended: bool
    moved: float
    limits: Limits

    @property
    def median(self) -> float:
        """Seconds of the median call."""
        return statistics.median(self.times)

    @property
    def best(self) -> float:
        """Seconds of the fastest call."""
        return min(self.times)

    @property
    def quartiles(self) -> tuple[float, float]:
        """Seconds between which the middle half of the calls lies."""
        if len(self.times) < 2:
            return self.times[0], self.times[0]
        low, _, high = statistics.quantiles(self.times, n=4, method="inclusive")
        return low, high

    @property
    def spread(self) -> float:
        """The distance of the quartiles, as a part of the median."""
        low, high = self.quartiles
        return (high - low) / self.median

    @property
    def flops_per_second(self) -> float:
        """Operations in a second, by the median."""
        return self.operations / self.median

    @property
    def bytes_per_second(self) -> float:
        """Bytes of arguments and results in a second, by the median."""
        return self.moved / self.median

    @property
    def intensity(self) -> float:
        """Operations for each byte; infinite for programs that move none."""
        return self.operations / self.moved if self.moved else float("inf")

    @property
    def in_cache(self) -> bool:
        """Whether arguments and results fit the last cache, so that memory's bandwidth is no limit."""
        return self.moved <= self.limits.cache

    @property
    def least(self) -> float:
        """Seconds that the machine needs at least, by its limits: the longer of arithmetic and, beyond the caches, memory."""
        return max(self.operations / self.limits.flops, 0.0 if self.in_cache else self.moved / self.limits.bandwidth)

    def rows(self) -> list[tuple[str, str, str]]:
        """The lines of the table: what, how much, and what that means."""
        (low, high), limits = self.quartiles, self.limits
        at_least = "at least " if self.open_ended else ""
        runs = f"{len(self.times)} calls" if self.loops == 1 else f"{len(self.times)} runs of {self.loops} calls"
        source = "program from the cache on disk" if self.cached else "compiled"
        memory = "memory's limit is " + _rate(limits.bandwidth, "B/s")
        return [
            ("time", _time(self.median),
             f"median of {runs}; half of them in {_time(low)} to {_time(high)}, best {_time(self.best)}"),
            ("first call", _time(self.trace + self.compile),
             f"more: traced in {_time(self.trace)}, {source} in {_time(self.compile)}"),
            ("arithmetic", _rate(self.flops_per_second, "FLOP/s"),
             f"{at_least}{_rate(self.operations, 'FLOP')} a call; {_share(self.flops_per_second / limits.flops)} of "
             f"{_rate(limits.flops, 'FLOP/s')}, products of {limits.dtype} matrices"),
            ("memory", _rate(self.bytes_per_second, "B/s"),
             f"{_rate(self.moved, 'B')} of arguments and results; "
             + (f"they fit the caches ({_rate(limits.cache, 'B')}); {memory}" if self.in_cache
                else f"{_share(self.bytes_per_second / limits.bandwidth)}; {memory}")),
            ("intensity", f"{self.intensity:.3g} FLOP/B",
             f"below {limits.ridge:.3g} memory is the limit, above arithmetic; at least {_time(self.least)} by these limits"),
        ]

    def __str__(self) -> str:
        rows = self.rows()
        wide = [max(len(row[k]) for row in rows) for k in range(2)]
        return "\n".join([f"{self.name} on {self.limits.where}",
                          *(f"  {what:{wide[0]}}  {much:>{wide[1]}}  {means}" for what, much, means in rows)])

    def _repr_html_(self) -> str:
        cells = [[notebook.escaped(text) for text in row] for row in self.rows()]
        return notebook.shown(f"<p><b>{notebook.escaped(self.name)}</b> on {self.limits.where}</p>",
                              notebook.table(("", "", ""), cells))

    def plot(self, axes: Any = None) -> Any:
        """Draws the roofline: the limits over the intensity, and where the function lies, on Matplotlib's axes (by default
        those of a new figure), which are returned.

        ModuleNotFoundError without Matplotlib; ValueError for a program without arithmetic, which has no place there.
        """
        if not self.operations or not self.moved:
            raise ValueError(f"benchmark: {self.name} has no place on a roofline, as it "
                             f"{'does no arithmetic' if self.moved else 'reads and writes no arrays'}: print the table")
        if axes is None:
            axes = _figure().subplots()
        return _roofline(self, axes)

    def save(self, path: str | Path) -> None:
        """Writes the roofline as a picture, in the format that the name ends in (.png, .svg, .pdf); see `plot`."""
        self.plot().figure.savefig(path, dpi=150)


def _figure() -> Any:
    try:
        return figure.Figure(figsize=(6.4, 4.4), layout="constrained")
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError("rooflines are drawn with Matplotlib, which is not installed: `pip install matplotlib`, or "
                                  "print the benchmark", name=error.name) from None


def _roofline(made: Benchmark, axes: Any) -> Any:
    limits, x, y = made.limits, made.intensity, made.flops_per_second
    left, right = min(x, limits.ridge) / _SHARED_SCALE, max(x, limits.ridge) * _SHARED_SCALE
    axes.loglog([left, limits.ridge, right], [left * limits.bandwidth, limits.flops, limits.flops], color="#444444", lw=1.5)
    axes.axvline(limits.ridge, color="#bbbbbb", lw=0.8, ls=":")
    axes.loglog([x], [y], "o", color="#c03028", ms=8)
    axes.loglog([x, x], [y, min(limits.flops, x * limits.bandwidth)], color="#c03028", lw=0.8, ls="--")
    axes.annotate(f"{made.name}\n{_rate(y, 'FLOP/s')}, {_time(made.median)}", (x, y), textcoords="offset points",
                  xytext=(10, -4), va="top", color="#c03028")
    axes.annotate(f"{_rate(limits.flops, 'FLOP/s')}: products of {limits.dtype} matrices", (right, limits.flops),
                  textcoords="offset points", xytext=(-4, 4), ha="right", va="bottom", color="#444444")
    axes.annotate(f"{_rate(limits.bandwidth, 'B/s')}: memory", (left, left * limits.bandwidth), textcoords="offset points",
                  xytext=(8, 2), va="top", color="#444444")
    axes.set(xlim=(left, right), ylim=(min(y, left * limits.bandwidth) / 6, max(y, limits.flops) * 4),
             xlabel="operations for each byte of arguments and results (FLOP/B)", ylabel="FLOP/s",
             title=f"{made.name} on {limits.where}")
    return axes


def _share(part: float) -> str:
    return f"{100 * part:.3g} %"


def _time(seconds: float) -> str:
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}" if seconds < 1000 * size else f"{seconds / size:,.0f} {unit}"
    return f"{seconds * 1e9:.3g} ns"


def _rate(value: float, unit: str) -> str:
    for prefix, size in (("T", 1e12), ("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if value >= size:
            return f"{value / size:.3g} {prefix}{unit}" if value < 1000 * size else f"{value / size:,.0f} {prefix}{unit}"
    return f"{value:.3g} {unit}"
