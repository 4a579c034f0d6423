"""Cumulative reductions (prefix sums and their kin): a kernel for long rows, loops for all others."""
from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from numjet.cpu.kernels import PREFIX_CODES, PREFIX_KINDS
from numjet.cpu.lowering.arrays.deferred_arrays import DeferredArrays
from numjet.cpu.lowering.arrays.values import LoweredArray, linear, parts_dtype
from numjet.cpu.lowering.library_calls import LibraryCalls
from numjet.cpu.lowering.loops.loop_nests import SHORT_ROW
from numjet.cpu.lowering.scalars import FLOAT32, HALVES

LONG_ROW = 64   # elements from which the kernel is called: its call costs about as much as a loop over so many

IndexAt = Callable[[tuple[Any, ...], Any], tuple[Any, ...]]   # the index at a step along the axis


class CumulativeReductions:
    """Inclusive cumulative reductions along an axis."""

    def __init__(self, deferred: DeferredArrays, calls: LibraryCalls):
        self.deferred, self.calls, self.materialization = deferred, calls, deferred.materialization
        self.reads, self.memory, self.nests = calls.updates.reads, calls.updates.memory, calls.updates.nests
        self.ir, self.scalars = calls.ir, calls.scalars

    def prefix(self, kind: str, x: LoweredArray, axis: int, reverse: bool = False) -> LoweredArray:
        """Inclusive cumulative reduction along an axis."""
        last = prod(x.shape[axis + 1:]) == 1
        if last and x.shape[axis] >= LONG_ROW and x.size > 0 and kind in PREFIX_KINDS:
            wide = FLOAT32 if x.dtype in HALVES else x.dtype
            if wide.name in PREFIX_CODES and (kind == "add" or parts_dtype(wide) is None):
                out = self._by_kernel(kind, self.deferred.converted(x, wide), axis, reverse)
                return self.deferred.converted(out, x.dtype)
        return self._by_loops(kind, x, axis, reverse)

    def _by_kernel(self, kind: str, x: LoweredArray, axis: int, reverse: bool) -> LoweredArray:
        """Rows of memory by the kernel; the result replaces rows that are computed for it."""
        numbers = [PREFIX_KINDS[kind], PREFIX_CODES[x.dtype.name], int(reverse), prod(x.shape[:axis]), x.shape[axis]]
        if x.storage is None:
            (out,) = self.calls.kernel("nj_prefix_in_place", [*numbers, ("own", x)], [])
        else:
            (out,) = self.calls.kernel("nj_prefix", [*numbers, x], [x.aval])
        return self.deferred.reshape(out, x.shape)

    def _by_loops(self, kind: str, x: LoweredArray, axis: int, reverse: bool) -> LoweredArray:
        self.materialization.materialize_if_costly(x)
        n, shape, half = x.shape[axis], x.shape, x.dtype in HALVES
        out = LoweredArray(x.aval, self.ir.allocation.temporary(x.aval))
        if x.size == 0:
            return out

        def at(index: tuple[Any, ...], step: Any) -> tuple[Any, ...]:
            return (*index[:axis], (n - 1) - step if reverse else step, *index[axis + 1:])

        tail = prod(shape[axis + 1:])
        if tail <= SHORT_ROW or half or prod(shape) // n <= self.ir.small:
            self._in_registers(kind, x, out, axis, axis + 1 if 1 < tail <= SHORT_ROW else x.ndim, at)
        else:
            self._row_by_row(kind, x, out, axis, at)
        return out

    def _in_registers(self, kind: str, x: LoweredArray, out: LoweredArray, axis: int, rest: int, at: IndexAt) -> None:
        """Totals are carried in registers: one, or a row of those along the axes from `rest` on."""
        wide, shape, scalars = FLOAT32 if x.dtype in HALVES else x.dtype, x.shape, self.scalars
        columns = list(np.ndindex(*shape[rest:]))

        def put(indices: list[tuple[Any, ...]], values: list[Any]) -> None:
            for index, value in zip(indices, values, strict=True):
                self.memory.store(out.storage, linear(shape, index), scalars.convert(value, x.dtype))

        def along(*index: Any) -> None:
            def row(step: Any) -> tuple[list[tuple[Any, ...]], list[Any]]:
                indices = [at((*index, *column), step) for column in columns]
                return indices, [scalars.convert(self.reads.read(x, *i), wide) for i in indices]

            def next_row(r: tuple[Any, ...], totals: list[Any]) -> list[Any]:
                indices, terms = row(self.ir.terms.index(r[0]) + 1)
                new = [self.ir.let(scalars.combine(kind, total, term)) for total, term in zip(totals, terms, strict=True)]
                put(indices, new)
                return new
            indices, terms = row(0)
            first = [self.ir.let(term) for term in terms]
            put(indices, first)
            if shape[axis] > 1:
                self.nests.carry_loop((shape[axis] - 1,), first, next_row)
        self.nests.nest((*shape[:axis], 1, *shape[axis + 1:rest]), along, mode="serial")

    def _row_by_row(self, kind: str, x: LoweredArray, out: LoweredArray, axis: int, at: IndexAt) -> None:
        """Along an outer axis: whole rows are combined with the row before."""
        shape, n = x.shape, x.shape[axis]
        head, tail = shape[:axis], shape[axis + 1:]

        def put(index: tuple[Any, ...], value: Any) -> None:
            self.memory.store(out.storage, linear(shape, index), value)
        self.nests.nest((*head, 1, *tail), lambda *index: put(at(index, 0), self.reads.read(x, *at(index, 0))))

        def body(*index: Any) -> None:
            step = self.ir.terms.index(index[axis]) + 1
            old = self.memory.load(out.storage, x.dtype, linear(shape, at(index, step - 1)))
            put(at(index, step), self.scalars.combine(kind, old, self.reads.read(x, *at(index, step))))
        self.nests.nest((*head, n - 1, *tail), body, in_order=axis)
