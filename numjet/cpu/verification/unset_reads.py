"""Definite assignment analysis: reads of memory that nothing can have written before.

The walk tracks in program order, over all branches, which elements may have been written. An ordered loop is walked twice: as
its first iteration, in which only the statements before a read have run; and as all iterations, in which any of its writes
may have. Iterations of unordered loops do not see each other's writes.
"""
from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from numjet.cpu.ir.nodes import Buffer, Call, Expr, For, Function, Stmt, SwapBuffers, While
from numjet.cpu.verification.accesses import MOST, AccessWalk, Known

_LARGE = 1 << 24   # elements of buffers that count as written as a whole


class Unset(Exception):
    """A read of unset memory: the statement, and why."""

    def __init__(self, stmt: Stmt | None, why: str):
        super().__init__(why)
        self.stmt = stmt


def find(function: Function) -> Unset | None:
    """The first statement that certainly reads unset memory, or a result that stays unset; None if there is none."""
    try:
        for first in (True, False):
            walk = _Walk(function, first)
            walk.block(function.body)
        walk.finish()
    except Unset as unset:
        return unset
    return None


def _within(index: np.ndarray, size: int) -> np.ndarray:
    """The indices from 0 to size."""
    if not index.size or (index.min() >= 0 and index.max() < size):
        return index
    return index[(index >= 0) & (index < size)]


class _Walk(AccessWalk):
    """The elements of temporaries and results that may have been written. first: ordered loops run one iteration."""

    def __init__(self, function: Function, first: bool):
        super().__init__()
        self.function, self.first = function, first
        self.marking = False
        self.once = False
        self.written: dict[Buffer, int] = {}
        # which elements were written; None: all of them
        self.set: dict[Buffer, np.ndarray | None] = {
            b: np.zeros(b.size, bool) if b.size <= _LARGE else None for b in (*function.temps, *function.outputs)}

    def finish(self) -> None:
        """Raises Unset for results that nobody writes."""
        for buffer in self.function.outputs:
            known = self.set[buffer]
            if known is not None and not known.all():
                raise Unset(None, f"nothing writes {buffer!r}[{int(np.argmin(known))}], a result")

    def positions(self, trips: int) -> np.ndarray:
        return np.arange(min(trips, 1)) if self.once else super().positions(trips)

    def reads(self, stmt: Stmt, roots: Sequence[Expr]) -> None:
        if not self.marking:
            super().reads(stmt, roots)

    def access(self, stmt: Stmt, buffer: Buffer, index: Known, write: bool) -> None:
        known = self.set.get(buffer)
        if known is None:
            return
        if not write:
            self._read(stmt, buffer, known, index)
        elif index is None:
            self.set[buffer] = None
        else:
            self._write(buffer, known, index)

    def _write(self, buffer: Buffer, known: np.ndarray, index: np.ndarray) -> None:
        """Marks elements. A buffer whose elements are all marked is not looked at again; whether they are is asked once for
        as many writes as it has elements, so that it takes no longer than these."""
        found = index[np.broadcast_to(self.alive, index.shape)] if self._fits(index) and not self._always() else index
        known[_within(found, known.size)] = True
        self.written[buffer] = self.written.get(buffer, 0) + index.size
        if self.written[buffer] >= known.size:
            self.written[buffer] = 0
            if known.all():
                self.set[buffer] = None

    def _always(self) -> bool:
        return bool(self.alive.size and self.alive.all())

    def _fits(self, index: np.ndarray) -> bool:
        """Whether the mask of executed iterations applies to these indices elementwise."""
        return np.broadcast_shapes(self.alive.shape, index.shape) == index.shape

    def _read(self, stmt: Stmt, buffer: Buffer, known: np.ndarray, index: Known) -> None:
        if self.marking or not self.certain or known.all():
            return
        if index is None:
            if not known.any() and known.size and self._always():
                raise Unset(stmt, f"{buffer!r} is read before anything is written to it")
            return
        shape = np.broadcast_shapes(self.alive.shape, index.shape)
        if np.prod(shape, dtype=float) > 4 * MOST:
            return
        found = index if self._always() else np.broadcast_to(index, shape)[np.broadcast_to(self.alive, shape)]
        found = _within(found, known.size).ravel()
        if not known[found].all():
            element = int(found[int(np.argmin(known[found]))])
            raise Unset(stmt, f"{buffer!r}[{element}] is read, and nothing can have written it before")

    def call(self, stmt: Call) -> None:
        for buffer in stmt.reads:
            known = self.set.get(buffer)
            if known is not None and known.size and not known.any() and self.certain and not self.marking \
                    and buffer not in stmt.writes and self.alive.all():
                raise Unset(stmt, f"'{stmt.symbol}' reads {buffer!r} before anything is written to it")
        for buffer in stmt.writes:
            known = self.set.get(buffer)
            if known is not None:
                self.set[buffer] = None

    def swap(self, stmt: SwapBuffers) -> None:
        known = [self.set.get(b) for b in stmt.targets]
        if any(k is None for k in known):
            self.set.update((b, None) for b in stmt.targets)
            return
        union = np.logical_or.reduce([k for k in known if k is not None])
        self.set.update((b, union.copy()) for b in stmt.targets)

    def loop(self, stmt: For) -> None:
        if self.marking or stmt.mode not in ("serial", "unroll"):
            self._all(stmt)
        elif self.first:
            self._once(stmt)
            self._mark(stmt)
        else:
            self._mark(stmt)
            self._all(stmt)

    def _once(self, stmt: For) -> None:
        before, self.once = self.once, True
        try:
            found = self.iterations(stmt)
        finally:
            self.once = before
        self.walk(stmt, found)

    def _all(self, stmt: For) -> None:
        self.walk(stmt, self.iterations(stmt))

    def _mark(self, stmt: For | While) -> None:
        """Marks all elements that a loop may write."""
        before, self.marking = self.marking, True
        try:
            self._all(stmt) if isinstance(stmt, For) else super().repeat(stmt)
        finally:
            self.marking = before

    def repeat(self, stmt: While) -> None:
        if not self.first and not self.marking:
            self._mark(stmt)
        super().repeat(stmt)
        if self.first and not self.marking:
            self._mark(stmt)
