"""Probes: calls around the loops and library calls of a planned function, which measure where its time goes. See nj.profile.

A probe costs about 50 ns. So a statement gets one if it takes ten times as long, by the estimate; cheaper ones count with the
loop around them. Loops that threads share are measured as a whole, by the thread that starts them.
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from numjet.core.compile_report import Location
from numjet.cpu.analysis.cost import block_ns
from numjet.cpu.compile_report import location_of, loops_of, writer_of
from numjet.cpu.ir.nodes import (
    CALLBACK,
    INT64,
    Call,
    Comment,
    Copy,
    Exprs,
    Fill,
    For,
    Function,
    GemmWithEpilogue,
    If,
    Stmt,
    Switch,
    While,
)
from numjet.cpu.ir.traversal import blocks, walk, writes
from numjet.cpu.remarks import Recorder
from numjet.cpu.target import Target
from numjet.foundation.record import Record

LEAST_NS = 500.0
EVENTS = 20_000   # runs of probes that are listed one by one
_HEAD, _PROBE, _RUN = 3, 3, 3   # words of the structs in native/kernels/probes.cpp
_KINDS: dict[type, str] = {For: "loop", While: "loop", If: "branches", Switch: "branches", Copy: "copy", Fill: "fill"}
_MEASURED = (*_KINDS, Call)


def _by_one_thread(stmt: Stmt) -> bool:
    """Whether the blocks inside of a statement run in the thread that runs the statement, one iteration after the other."""
    return not isinstance(stmt, GemmWithEpilogue) and not (isinstance(stmt, For) and stmt.mode != "serial")


def _titled(kind: str, names: Sequence[str]) -> str:
    return f"{kind}: {', '.join(dict.fromkeys(names))}" if names else kind


class Probe(Record):
    """A measured statement. parent: the index of the probe around it, -1 for the whole program's."""
    what: str
    locations: tuple[Location, ...]
    parent: int


class Probes:
    """The probes of one program, and what they measured: `record`, which machine code writes."""

    def __init__(self) -> None:
        self.recorder = Recorder()
        self.probes: list[Probe] = []
        self.record = np.zeros(0, np.int64)

    def insert(self, function: Function, target: Target) -> None:
        """Puts probes into a planned function; the first one measures all of it."""
        found: list[tuple[list[Stmt], int, int]] = []
        self._add(Probe("whole program", (), -1))
        self._measure(function.body, 0, target, found)
        self.record = np.zeros(_HEAD + _PROBE * len(self.probes) + _RUN * EVENTS, np.int64)
        self.clear()
        for block, position, index in reversed(found):
            block[position:position + 1] = [self._call("enter", index, function.exprs), block[position],
                                            self._call("leave", index, function.exprs)]
        function.body[:] = [self._call("enter", 0, function.exprs), *function.body, self._call("leave", 0, function.exprs)]

    def _measure(self, block: list[Stmt], parent: int, target: Target, found: list[tuple[list[Stmt], int, int]]) -> None:
        note: tuple[Comment, ...] = ()
        for position, stmt in enumerate(block):
            note = (stmt,) if isinstance(stmt, Comment) else note
            if isinstance(stmt, _MEASURED) and block_ns([stmt], target) >= LEAST_NS:
                index = self._add(Probe(*self._origin(stmt, target, note), parent))
                found.append((block, position, index))
                for inner in blocks(stmt) if _by_one_thread(stmt) else ():
                    self._measure(inner, index, target, found)

    def _origin(self, stmt: Stmt, target: Target, note: tuple[Comment, ...]) -> tuple[str, tuple[Location, ...]]:
        """What a statement computes, and the user's lines. note: the last comment in front of it."""
        loops = loops_of([stmt], self.recorder, target)
        if loops:
            return (_titled(f"{loops[0].mode} loop", [name for loop in loops for name in (*loop.fuses, *loop.writes)]),
                    tuple(dict.fromkeys(line for loop in loops for line in loop.locations)))
        if isinstance(stmt, Call):
            line = location_of(writer_of(writes(stmt), self.recorder))
            return "Python callback" if stmt.symbol.startswith(CALLBACK) else stmt.symbol, (line,) if line.file else ()
        notes = tuple(s for s in walk([stmt]) if isinstance(s, Comment)) or note
        return (_titled(_KINDS[type(stmt)], [n.text for n in notes]),
                tuple(dict.fromkeys(Location(n.file, n.line) for n in notes if n.file is not None)))

    def _add(self, probe: Probe) -> int:
        self.probes.append(probe)
        return len(self.probes) - 1

    def _call(self, what: str, index: int, exprs: Exprs) -> Call:
        address = exprs.const(self.record.ctypes.data, INT64)
        return Call(f"nj_probe_{what}", [address, exprs.index(index)])

    def clear(self) -> None:
        """Forgets what was measured."""
        self.record[:] = 0
        self.record[:2] = len(self.probes), EVENTS

    def totals(self) -> Sequence[tuple[int, int]]:
        """(runs, nanoseconds) of each probe."""
        found = self.record[_HEAD:_HEAD + _PROBE * len(self.probes)].reshape(-1, _PROBE)
        return [(int(runs), int(ns)) for runs, ns, _ in found]

    def events(self) -> Sequence[tuple[int, int, int]]:
        """(probe, begin, end) of the first runs, in nanoseconds of one clock, in the order of their ends."""
        first = _HEAD + _PROBE * len(self.probes)
        found: Any = self.record[first:first + _RUN * int(self.record[2])].reshape(-1, _RUN)
        return [(int(probe), int(began), int(ended)) for probe, began, ended in found]
