"""Compile reports: loops, fusions, copies and memory of one compiled program, each with the user's line. See nj.explain."""
from __future__ import annotations

import linecache
import os
from collections.abc import Iterator, Sequence

from numjet.foundation import lazy_import
from numjet.foundation.record import Record

report_html = lazy_import.Module("numjet.core.report_html")

LARGE = 1 << 20   # bytes from which an allocation is listed


class Location(Record):
    """A line of the user's code; file None where it is not known."""
    file: str | None
    line: int

    @property
    def text(self) -> str:
        """The line itself, "" if the file cannot be read."""
        return "" if self.file is None else linecache.getline(self.file, self.line).strip()

    def __str__(self) -> str:
        return "?" if self.file is None else f"{os.path.basename(self.file)}:{self.line}"


class Operation(Record):
    """An array that an equation makes. fate: "fused" (never stored: computed where it is read), "registers", "stored", or
    "shared" (the memory of an operand); `why` says why."""
    name: str
    type: str
    location: Location
    fate: str
    why: str

    def __str__(self) -> str:
        return f"{self.name} {self.type}: {self.fate}, {self.why}"


class Loop(Record):
    """A nest of loops. trips: iterations per level, None if unknown before the program runs. mode: "vector" if
    iterations are lanes of registers, or "serial"; pieces: chunks of iterations that threads share.
    writes: operations that it stores or reduces; fuses: operations that it computes without storing them.
    nanoseconds: an estimate for one execution, or one piece of it, by one thread."""
    trips: tuple[int | None, ...]
    mode: str
    pieces: int
    writes: tuple[str, ...]
    fuses: tuple[str, ...]
    locations: tuple[Location, ...]
    nanoseconds: float
    inside: tuple[Loop, ...] = ()

    def __str__(self) -> str:
        size = " x ".join("?" if n is None else f"{n:,}" for n in self.trips)
        shared = "" if self.pieces == 1 else f", shared by threads in {self.pieces} pieces"
        makes = f": {_listed(self.writes)}" if self.writes else ""
        fused = f"; fused into it: {_listed(self.fuses)}" if self.fuses else ""
        return f"{self.mode} loop over {size}{shared}{makes}{fused}"


class Call(Record):
    """A call of a library routine; workspace: bytes that it takes for itself in one thread. They depend on the CPU, and are
    printed where they matter. then: epilogue loops, which it calls for each part of its result as soon as that is ready."""
    symbol: str
    location: Location
    workspace: int
    then: tuple[Loop, ...] = ()

    def __str__(self) -> str:
        takes = f", which takes {_bytes(self.workspace)} while it runs" if self.workspace >= LARGE else ""
        return self.symbol + takes + "".join(f", and for each part of its result: {loop}" for loop in self.then)


class Copy(Record):
    """Memory that is copied; nbytes None where it is not known before the program runs."""
    nbytes: int | None
    location: Location
    why: str

    def __str__(self) -> str:
        return f"{'?' if self.nbytes is None else _bytes(self.nbytes)}: {self.why}"


class Allocation(Record):
    """A buffer. kind: "temporary" (a part of the scratch arena, from byte `offset` on), "result" or "constant"."""
    kind: str
    nbytes: int
    location: Location
    why: str
    offset: int | None = None

    def __str__(self) -> str:
        where = "" if self.offset is None else f" at byte {self.offset:,} of the scratch arena"
        return f"{_bytes(self.nbytes)} {self.kind}{where}: {self.why}"


class Caution(Record):
    """Something that may take more time than it looks."""
    location: Location
    text: str

    def __str__(self) -> str:
        return self.text


class CompileReport(Record):
    """The report on one program; printing it lists everything by kind. warnings: arrays that are computed again wherever they
    are read, though that takes long, and arrays that a loop carries and converts as a whole in each iteration.

    scratch_bytes: the size of the arena that all temporaries share; temporaries: their sizes added up.
    """
    name: str
    operations: tuple[Operation, ...]
    loops: tuple[Loop, ...]
    calls: tuple[Call, ...]
    copies: tuple[Copy, ...]
    allocations: tuple[Allocation, ...]
    warnings: tuple[Caution, ...]
    scratch_bytes: int
    temporaries: int
    nanoseconds: float

    def all_loops(self) -> Iterator[Loop]:
        """Every loop nest, outer before inner."""
        stack = list(reversed(self.loops))
        while stack:
            loop = stack.pop()
            yield loop
            stack.extend(reversed(loop.inside))

    def __str__(self) -> str:
        return "\n".join(self._lines())

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return report_html.report(self)

    def _lines(self) -> Iterator[str]:
        yield (f"{self.name}: {_count(len(list(self.all_loops())), 'loop')}, {_count(len(self.calls), 'library call')}, "
               f"{_count(len(self.copies), 'copy', 'copies')}, about {_time(self.nanoseconds)}; scratch memory "
               f"{_bytes(self.scratch_bytes)} for {_bytes(self.temporaries)} of temporaries")
        if self.loops:
            yield "loops"
            yield from self._loops(self.loops, "  ")
        for title, items in (("warnings", self.warnings), ("library calls", self.calls), ("copies", self.copies),
                             (f"allocations from {_bytes(LARGE)}", self.allocations)):
            if items:
                yield title
                yield from (f"  {item.location}  {item}" for item in items)
        if self.operations:
            yield "operations"
            yield from self._operations()

    def _loops(self, loops: Sequence[Loop], indent: str) -> Iterator[str]:
        for loop in loops:
            yield f"{indent}{', '.join(map(str, loop.locations)) or '?'}  {loop}"
            yield from self._loops(loop.inside, indent + "  ")

    def _operations(self) -> Iterator[str]:
        last: Location | None = None
        for operation in self.operations:
            if operation.location != last:
                yield f"  {operation.location}  {operation.location.text}"
            last = operation.location
            yield f"    {operation}"


def _listed(names: Sequence[str]) -> str:
    """Names, each once, with how often it stands there."""
    counts = {n: names.count(n) for n in names}
    return ", ".join(n if k == 1 else f"{n} ({k} times)" for n, k in counts.items())


def _count(n: int, one: str, many: str = "") -> str:
    return f"{n} {one if n == 1 else many or one + 's'}"


def _bytes(n: int) -> str:
    for size, unit in ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if n >= size:
            return f"{n / size:.1f} {unit}"
    return f"{n} bytes"


def _time(nanoseconds: float) -> str:
    for size, unit in ((1e9, "s"), (1e6, "ms"), (1e3, "us")):
        if nanoseconds >= size:
            return f"{nanoseconds / size:.2g} {unit}" if nanoseconds < 100 * size else f"{nanoseconds / size:.0f} {unit}"
    return f"{nanoseconds:.0f} ns"
