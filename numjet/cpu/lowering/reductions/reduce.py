"""Reductions and folds for lowering rules.

How a reduction is written depends on where its terms lie: few terms are a deferred array; reductions of the last axes
accumulate in vector registers; those that keep the last axis add rows (row_reductions.py); where terms are computed from few
elements, vector lanes are results.
"""
from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from numjet.core.aval import ShapedArray
from numjet.cpu.analysis.affine import in_order
from numjet.cpu.ir.nodes import INT64, Stmt
from numjet.cpu.ir.traversal import nodes
from numjet.cpu.ir.types import identity
from numjet.cpu.lowering.arrays.array_updates import ArrayUpdates
from numjet.cpu.lowering.arrays.deferred_arrays import DeferredArrays
from numjet.cpu.lowering.arrays.values import Deferred, LoweredArray, Registers, linear, parts_dtype
from numjet.cpu.lowering.loops.loop_nests import SHORT_ROW
from numjet.cpu.lowering.reductions.row_reductions import RowReductions
from numjet.cpu.lowering.scalars import FLOAT32, HALVES, words

SHORT_REDUCTION = 8       # terms of a reduction that is written out
FEW_ROWS = 16             # terms, each in a row of its own, of one that is
PAIRWISE_WORK = 4.0       # cost of a term from which lanes are results rather than terms: arithmetic against loads
LANES = 16                # results from which that pays: a vector register
LONGEST_IN_ORDER = 4096   # terms that are added one by one: longer sums would lose accuracy
LONGEST_TERMS = 100.0     # cost of all the terms of a sum that are computed where it is read: code size
LONG_ROW = 4096           # terms of each of a few sums, from which they are made one after the other, row by row
WAYS = 64                 # chains of multiplications of complex numbers, side by side
LONG_PRODUCT = 4 * WAYS   # complex numbers from which that pays
LONGEST_ROW = 800.0       # cost of a row of a few elements that is written out in a loop over rows: code size

Element = Callable[..., Any]   # element(outer, inner): the term at an index of the result and an index of the reduced axes


class _Terms:
    """The terms of one reduction of x: the shape of its results, the reduced axes, whether they are the last ones, and how a
    term is read."""

    def __init__(self, kind: str, x: LoweredArray, axes: tuple[int, ...], dtype: np.dtype, start: Any, element: Element):
        self.kind, self.x, self.axes, self.dtype, self.start, self.element = kind, x, axes, dtype, start, element
        self.kept = tuple(d for d in range(x.ndim) if d not in axes)
        self.shape = tuple(x.shape[d] for d in self.kept)
        self.over = tuple(x.shape[d] for d in axes)
        self.aval = ShapedArray(self.shape, dtype)
        self.trailing = axes == tuple(range(x.ndim - len(axes), x.ndim))


class Reductions:
    """Reductions over axes, and folds."""

    def __init__(self, deferred: DeferredArrays, updates: ArrayUpdates, rows: RowReductions):
        self.deferred, self.updates, self.rows = deferred, updates, rows
        self.reads, self.memory, self.nests = updates.reads, updates.memory, updates.nests
        self.ir, self.scalars = updates.ir, updates.scalars

    def reduce(self, kind: str, x: LoweredArray, axes: Sequence[int], dtype: Any = None) -> LoweredArray:
        """Reduction over axes by add, mul, max, min, and, or, xor. Halves accumulate in float32."""
        axes = tuple(sorted(axes))
        dtype = np.dtype(dtype or x.dtype)
        wide = FLOAT32 if dtype in HALVES else dtype
        kept = tuple(d for d in range(x.ndim) if d not in axes)

        def element(outer: Sequence[Any], inner: Sequence[Any]) -> Any:
            index: list[Any] = [0] * x.ndim
            for d, i in [*zip(kept, outer, strict=True), *zip(axes, inner, strict=True)]:
                index[d] = i
            return self.scalars.convert(self.reads.read(x, *index), wide)
        start = self.scalars.const(0 if kind == "add" else identity(kind, wide), wide)  # a sum of nothing is 0.0, never -0.0
        return self.deferred.converted(self._reduce(_Terms(kind, x, axes, wide, start, element)), dtype)

    def _reduce(self, terms: _Terms) -> LoweredArray:
        x = terms.x
        if prod(terms.over) <= SHORT_REDUCTION:
            return self._written_out(terms)
        in_parts = parts_dtype(terms.dtype) is not None
        if in_parts and terms.kind == "mul" and prod(terms.over) >= LONG_PRODUCT and self._is_flat(terms):
            return self._in_ways(terms)
        if in_parts or not _keeps_last(x.shape, terms.kept):
            return self._by_carries(terms)
        tiled = terms.axes == tuple(range(len(terms.axes))) and self.rows.tile(x, prod(terms.shape)) > 0
        if prod(terms.shape) <= self.ir.small and not tiled:
            return self._by_carries(terms)
        if not tiled and prod(terms.over) <= FEW_ROWS and (x.cost + 1) * prod(terms.over) <= LONGEST_TERMS:
            return self._written_out(terms)
        if not tiled and prod(x.shape[terms.axes[-1] + 1:]) <= SHORT_REDUCTION:
            return self._by_short_rows(terms, x.ndim - 1 - terms.axes[-1])
        return self.rows.reduce_rows(terms.kind, x, terms.element, terms.start, terms.kept, terms.axes)

    def _written_out(self, terms: _Terms) -> LoweredArray:
        """Few terms: a deferred array that reads them all. The operand is stored where the code were too long."""
        x, over, element = terms.x, terms.over, terms.element
        materialize = self.deferred.materialization.materialize
        if x.lazy and x.cost * prod(over) > LONGEST_TERMS:
            materialize(x)

        def at(*outer: Any) -> Any:
            total = None
            for inner in np.ndindex(*over) if prod(over) else ():
                term = element(outer, inner)
                total = term if total is None else self.scalars.combine(terms.kind, total, term)
            return terms.start if total is None else total
        out = self.deferred.compute(terms.shape, terms.dtype, at, parents=(x,))
        content: Any = out.content
        content.cost = (x.cost + 1) * prod(over)
        return materialize(out) if out.size <= self.ir.small else out

    def _by_carries(self, terms: _Terms) -> LoweredArray:
        """Accumulates in registers: one loop nest per element of the result, or one for all of a small result."""
        x, shape, over, element, kind, start = terms.x, terms.shape, terms.over, terms.element, terms.kind, terms.start
        trailing, flat = terms.trailing, self._is_flat(terms)
        dims = (prod(over),) if flat else over[:_looped(x, over)] if trailing else over

        def term(outer: tuple[Any, ...], inner: tuple[Any, ...]) -> Any:
            if flat:
                return self._at_position(terms, outer, inner[0])
            row = [element(outer, (*inner, *last)) for last in np.ndindex(*over[len(dims):])]
            return functools.reduce(lambda a, b: self.scalars.combine(kind, a, b), row)
        few = terms.aval.size <= self.ir.small
        if few and not (trailing and terms.aval.size > 1 and prod(over) >= LONG_ROW):
            outers = list(np.ndindex(*shape))
            values = self.nests.accumulate([kind] * len(outers), [start] * len(outers), dims,
                                           lambda inner: [term(o, inner) for o in outers])
            return LoweredArray(terms.aval, Registers(values, self.ir.block))
        storage = self.ir.allocation.temporary(terms.aval)
        lanes = self._lanes_are_results(x, shape, over, element)

        def body(*outer: Any) -> None:
            if lanes:
                (value,) = self.nests.accumulate_in_order([kind], [start], over, lambda inner: [element(outer, inner)])
            else:
                (value,) = self.nests.accumulate([kind], [start], dims, lambda inner: [term(outer, inner)])
            self.memory.store(storage, linear(shape, outer), value)
        mode = "vector" if lanes else "serial"
        if few:
            self.nests.loops(list(shape), (), body, mode)
        else:
            self.nests.nest(shape, body, mode=mode)
        return LoweredArray(terms.aval, storage)

    def _is_flat(self, terms: _Terms) -> bool:
        """Whether the terms of a result lie side by side, and are read at their places."""
        return terms.trailing and self.reads.has_positions(terms.x)

    def _at_position(self, terms: _Terms, outer: tuple[Any, ...], place: Any) -> Any:
        """A term of a result by its place among these."""
        position = linear(terms.shape, outer) * prod(terms.over) + place
        return self.scalars.convert(self.reads.read_flat(terms.x, self.ir.terms.index(position)), terms.dtype)

    def _in_ways(self, terms: _Terms) -> LoweredArray:
        """Products of many complex numbers, which no vector operation combines: every way multiplies one of so many neighbours
        in a lane of its own, then the ways are multiplied in order, and what is left."""
        shape, count = terms.shape, prod(terms.over)
        steps = count // WAYS
        parts, storage = (self.ir.allocation.temporary(ShapedArray(s, terms.dtype)) for s in ((*shape, WAYS), shape))

        def way(*outer: Any) -> None:
            (value,) = self.nests.accumulate_in_order(["mul"], [terms.start], (steps,), lambda inner: [
                self._at_position(terms, outer[:-1], inner[0] * WAYS + outer[-1])])
            self.memory.store(parts, linear((*shape, WAYS), outer), value)

        def joined(*outer: Any) -> None:
            (value,) = self.nests.accumulate_in_order(["mul"], [terms.start], (WAYS,), lambda inner: [
                self.memory.load(parts, terms.dtype, linear((*shape, WAYS), (*outer, inner[0])))])
            (value,) = self.nests.accumulate_in_order(["mul"], [value], (count % WAYS,), lambda inner: [
                self._at_position(terms, outer, inner[0] + steps * WAYS)])
            self.memory.store(storage, linear(shape, outer), value)
        self.nests.nest((*shape, WAYS), way, mode="vector")
        self.nests.nest(shape, joined)
        return LoweredArray(terms.aval, storage)

    def _by_short_rows(self, terms: _Terms, width: int) -> LoweredArray:
        """A few last axes are kept: their elements are accumulated side by side."""
        x, shape, over, element = terms.x, terms.shape, terms.over, terms.element
        storage = self.ir.allocation.temporary(terms.aval)
        lead, rows = shape[:len(shape) - width], list(np.ndindex(*shape[len(shape) - width:]))
        lanes = self._lanes_are_results(x, lead, over, lambda outer, inner: element((*outer, *rows[0]), inner))
        accumulate = self.nests.accumulate_in_order if lanes else self.nests.accumulate

        def body(*outer: Any) -> None:
            values = accumulate([terms.kind] * len(rows), [terms.start] * len(rows), over,
                                lambda inner: [element((*outer, *row), inner) for row in rows])
            for row, value in zip(rows, values, strict=True):
                self.memory.store(storage, linear(shape, (*outer, *row)), value)
        self.nests.nest(lead, body, mode="vector" if lanes else "serial")
        return LoweredArray(terms.aval, storage)

    def _lanes_are_results(self, x: LoweredArray, shape: tuple[int, ...], over: tuple[int, ...], element: Element) -> bool:
        """Whether lanes should be results, each adding up its terms in order, and not terms of one result: where terms are
        computed from what lies in order along the results, as all pairs of two lists of points are; or are complex numbers that
        lie so."""
        if not shape or shape[-1] < LANES or prod(over) > LONGEST_IN_ORDER:
            return False
        if parts_dtype(x.dtype) is None and (not x.lazy or x.work() < PAIRWISE_WORK):
            return False
        ir = self.ir
        lane = ir.table.var(INT64, "lane")
        bounds = lambda n: (0, n - 1)
        outer = [ir.terms.variable(ir.table.var(INT64, "i"), bounds(n)) for n in shape[:-1]]
        inner = [ir.terms.variable(ir.table.var(INT64, "r"), bounds(n)) for n in over]
        memos = [(a.content, dict(a.content.memo)) for a in x.reachable() if isinstance(a.content, Deferred)]
        statements: list[Stmt] = []
        with ir.inside(statements):
            term = element([*outer, ir.terms.variable(lane, bounds(shape[-1]))], inner)
        for content, memo in memos:
            content.memo = memo
        loads = [e for e in nodes([w.expr for w in words(term)]) if e.op == "load"]
        return not statements and all(in_order(e.args[0], lane) for e in loads)

    def fold(self, shape: Sequence[int], over: Sequence[int], inits: Sequence[Any],
             step: Callable[..., Sequence[Any]]) -> list[LoweredArray]:
        """out[i] = the carries after step(i, r, *carry) for every r in range(over), in order."""
        shape, over = tuple(shape), tuple(over)
        outs = [self.updates.empty(shape, s.dtype) for s in inits]
        if prod(shape) > self.ir.small:
            self.updates.close_registers()

        def body(*index: Any) -> None:
            values = list(inits)
            if prod(over) > 0:
                values = self.nests.carry_loop(over, values, lambda r, accs: step(index, r, *accs))
            for out, value in zip(outs, values, strict=True):
                self.updates.store(out, index, value)
        self.nests.nest(shape, body)
        return outs


def _looped(x: LoweredArray, over: tuple[int, ...]) -> int:
    """How many of the reduced axes become loops: short rows of the last ones are written out, so that lanes go along the axis
    before, as where such arrays are stored."""
    axes = len(over)
    while axes > 1 and prod(over[axes - 1:]) <= SHORT_ROW:
        axes -= 1
    return axes if x.cost * prod(over[axes:]) <= LONGEST_ROW and prod(over[:axes]) > SHORT_ROW else len(over)


def _keeps_last(shape: tuple[int, ...], kept: tuple[int, ...]) -> bool:
    """Whether the innermost axis longer than 1 is kept."""
    long = [d for d, n in enumerate(shape) if n > 1]
    return bool(long) and long[-1] in kept
