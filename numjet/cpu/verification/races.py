"""Data races: loops marked as independent in which one iteration accesses an element that another one writes."""
from __future__ import annotations

from collections import ChainMap, defaultdict

import numpy as np

from numjet.cpu.analysis.affine import AffineForms
from numjet.cpu.ir.nodes import Buffer, Call, Expr, For, Function, GemmWithEpilogue, Stmt, Store
from numjet.cpu.ir.traversal import nodes, operands, walk, written
from numjet.cpu.verification.accesses import DEEPEST, AccessWalk, Known

UNORDERED = ("vector", "parallel")
_FEW, _INSIDE = 12, 5   # how many iterations of the tested loop, and of loops in it, are examined
_PAIRS = 64


class Race(Exception):
    """Two iterations that race: the loop, and why."""

    def __init__(self, loop: For, why: str):
        super().__init__(why)
        self.loop = loop


def find(function: Function) -> Race | None:
    """The first loop of a function that is marked as unordered and certainly has a race; None if there is none."""
    try:
        _Outside().block(function.body)
    except Race as race:
        return race
    return None


class _Outside(AccessWalk):
    """Walks through the first iteration of every loop, and tests unordered loops."""

    def positions(self, trips: int) -> np.ndarray:
        return np.arange(min(trips, 1))

    def loop(self, stmt: For) -> None:
        first = self.iterations(stmt)
        if first is not None and not first[0].size:
            return   # no iterations
        if stmt.mode in UNORDERED and first is not None:
            start, stop = self.value(stmt.start), self.value(stmt.stop)
            assert start is not None and stop is not None
            _Inside(stmt, self, int(start.flat[0]), int(stop.flat[0])).test()
        with self.inside(stmt, *(first if first is not None else (None, np.asarray(True)))):
            self.body(stmt)


    def call(self, stmt: Call) -> None:
        """Parts of a product run the epilogue side by side: rows of different parts are unordered."""
        if not isinstance(stmt, GemmWithEpilogue):
            return
        rows, columns = (self.value(a) if isinstance(a, Expr) else None for a in stmt.args[2:4])
        loop = stmt.body[0]
        if rows is None or not isinstance(loop, For):
            return
        for var, value in zip(stmt.bounds, (np.asarray(0), rows, np.asarray(0), columns), strict=True):
            self.bind(var, value)
        _Inside(loop, self, 0, int(rows.flat[0])).test()


class _Inside(AccessWalk):
    """Records the accesses of each iteration of one loop to the buffers that it writes."""

    def __init__(self, loop: For, outside: AccessWalk, start: int, stop: int):
        super().__init__()
        self.tested, self.start, self.trips = loop, start, stop - start
        self.values, self.definitions = ChainMap({}, outside.values), ChainMap({}, outside.definitions)
        self.written = written(loop.body)
        self.found: defaultdict[Buffer, list[tuple[np.ndarray, np.ndarray, bool]]] = defaultdict(list)
        self.limit = _INSIDE

    def test(self) -> None:
        """Raises Race if two iterations access one element and at least one of them writes it."""
        if self.trips < 2:
            return
        chosen = np.array(sorted(self._chosen()))
        self.number = chosen.reshape((-1,) + (1,) * DEEPEST)
        with self.inside(self.tested, self.start + self.number, np.asarray(True)):
            self.body(self.tested)
        for buffer, accesses in self.found.items():
            self._compare(buffer, accesses)

    def _chosen(self) -> set[int]:
        """The iterations to examine: the first and last ones, and those at the distances of accesses in memory."""
        n = self.trips
        chosen = {*range(min(n, _FEW)), n // 2, n - 2, n - 1}
        steps, sums = defaultdict(set), AffineForms()
        for stmt in walk(self.tested.body):
            for index, buffer in _indices(stmt):
                if buffer in self.written:
                    total = sums.split(index)
                    steps[buffer, dict(total.terms).get(self.tested.var, 0)].add(total.constant)
        for (_, step), constants in steps.items():
            near = sorted(constants)[:_PAIRS]
            apart = {(b - a) // abs(step) for a in near for b in near if step}
            chosen |= {d + k for d in apart if 0 < d < n for k in range(_INSIDE)}
        return {k for k in chosen if 0 <= k < n}

    def positions(self, trips: int) -> np.ndarray:
        few = range(min(trips, self.limit))
        return np.array(sorted({*few, *(k for k in (trips - 2, trips - 1) if k >= 0)}), np.int64)

    def loop(self, stmt: For) -> None:
        self.walk(stmt, self.iterations(stmt))

    def access(self, stmt: Stmt, buffer: Buffer, index: Known, write: bool) -> None:
        if buffer not in self.written or index is None or not self.certain:
            return
        indices, number, alive = np.broadcast_arrays(index, self.number, self.alive)
        self.found[buffer].append((indices[alive], number[alive], write))

    def _compare(self, buffer: Buffer, accesses: list[tuple[np.ndarray, np.ndarray, bool]]) -> None:
        indices = np.concatenate([i for i, _, _ in accesses])
        numbers = np.concatenate([n for _, n, _ in accesses])
        writes = np.concatenate([np.full(i.size, w) for i, _, w in accesses])
        if not writes.any():
            return
        order = np.lexsort((numbers, indices))
        indices, numbers, writes = indices[order], numbers[order], writes[order]
        starts = np.flatnonzero(np.diff(indices, prepend=indices[0] - 1))
        least, most = np.minimum.reduceat(numbers, starts), np.maximum.reduceat(numbers, starts)
        bad = (least != most) & np.logical_or.reduceat(writes, starts)
        if bad.any():
            k = int(np.flatnonzero(bad)[0])
            first, second, element = self.start + least[k], self.start + most[k], indices[starts[k]]
            raise Race(self.tested, f"iterations of a loop without order need one: {first} and {second} both touch "
                                    f"{buffer!r}[{element}], which one of them writes")


def _indices(stmt: Stmt) -> list[tuple[Expr, Buffer]]:
    """The indices of a statement's loads and of its store."""
    loads = [(e.args[0], e.attr) for e in nodes(operands(stmt)) if e.op == "load"]
    return [*loads, (stmt.index, stmt.buffer)] if isinstance(stmt, Store) else loads
