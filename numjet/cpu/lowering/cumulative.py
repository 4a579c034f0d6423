"""Prefixes (cumulative reductions) for lowering rules: a kernel for long rows, loops for everything else."""
from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from numjet.cpu.kernels import PREFIX_CODES, PREFIX_KINDS
from numjet.cpu.lowering.builder import SHORT_ROW
from numjet.cpu.lowering.row_reductions import RowReductions
from numjet.cpu.lowering.scalars import FLOAT32
from numjet.cpu.lowering.values import LoweredArray, linear, parts_dtype
from numjet.foundation import dtypes

HALVES = (np.dtype(np.float16), np.dtype(dtypes.bfloat16))
LONG_ROW = 64   # elements from which the kernel is called

Place = Callable[[tuple[Any, ...], Any], tuple[Any, ...]]   # of an element at a step along the axis


class Prefixes(RowReductions):
    """Adds prefixes to the array builder."""

    def materialize_for_rereading(self, x: LoweredArray, why: str = "its elements are read several times") -> LoweredArray:
        """Stores a definition that costs something, before a rule that reads its elements more than once."""
        if x.lazy and x.cost > 0:
            self.materialize(x, why)
        return x

    def carry_loop(self, dims: Any, inits: list[Any], step: Any, done: tuple[Any, ...] = ()) -> list[Any]:
        """A serial loop nest that hands scalars from one iteration to the next."""
        raise NotImplementedError

    def prefix(self, kind: str, x: LoweredArray, axis: int, reverse: bool = False) -> LoweredArray:
        """Inclusive cumulative reduction along an axis."""
        last = prod(x.shape[axis + 1:]) == 1
        if last and x.shape[axis] >= LONG_ROW and x.size > 0 and kind in PREFIX_KINDS:
            wide = FLOAT32 if x.dtype in HALVES else x.dtype
            if wide.name in PREFIX_CODES and (kind == "add" or parts_dtype(wide) is None):
                return self._converted(self._kernel_prefix(kind, self._converted(x, wide), axis, reverse), x.dtype)
        return self._prefix_by_loops(kind, x, axis, reverse)

    def _converted(self, x: LoweredArray, dtype: np.dtype) -> LoweredArray:
        return x if x.dtype == dtype else self.elementwise(lambda v: self.convert(v, dtype), x, dtype=dtype)

    def _kernel_prefix(self, kind: str, x: LoweredArray, axis: int, reverse: bool) -> LoweredArray:
        """Rows of memory by the kernel; what is computed first is replaced by its prefix."""
        numbers = [PREFIX_KINDS[kind], PREFIX_CODES[x.dtype.name], int(reverse), prod(x.shape[:axis]), x.shape[axis]]
        if x.storage is None:
            (out,) = self.kernel("nj_prefix_in_place", [*numbers, ("own", x)], [])
        else:
            (out,) = self.kernel("nj_prefix", [*numbers, x], [x.aval])
        return self.reshape(out, x.shape)

    def _prefix_by_loops(self, kind: str, x: LoweredArray, axis: int, reverse: bool) -> LoweredArray:
        self.materialize_for_rereading(x)
        n, shape, half = x.shape[axis], x.shape, x.dtype in HALVES
        out = LoweredArray(x.aval, storage=self.temporary(x.aval))
        if x.size == 0:
            return out

        def at(index: tuple[Any, ...], step: Any) -> tuple[Any, ...]:
            return (*index[:axis], (n - 1) - step if reverse else step, *index[axis + 1:])

        tail = prod(shape[axis + 1:])
        if tail <= SHORT_ROW or half or prod(shape) // n <= self.small:
            self._prefix_in_registers(kind, x, out, axis, axis + 1 if 1 < tail <= SHORT_ROW else x.ndim, at)
        else:
            self._prefix_rows(kind, x, out, axis, at)
        return out

    def _prefix_in_registers(self, kind: str, x: LoweredArray, out: LoweredArray, axis: int, rest: int, at: Place) -> None:
        """Totals go from element to element in registers: one, or a row of those along the axes from `rest` on."""
        wide, shape = FLOAT32 if x.dtype in HALVES else x.dtype, x.shape
        columns = list(np.ndindex(*shape[rest:]))

        def put(places: list[tuple[Any, ...]], values: list[Any]) -> None:
            for place, value in zip(places, values, strict=True):
                self._store_word(out.storage, x.dtype, linear(shape, place), self.convert(value, x.dtype))

        def along(*index: Any) -> None:
            def row(step: Any) -> tuple[list[tuple[Any, ...]], list[Any]]:
                places = [at((*index, *column), step) for column in columns]
                return places, [self.convert(self.read(x, *place), wide) for place in places]

            def go_on(r: tuple[Any, ...], totals: list[Any]) -> list[Any]:
                places, terms = row(self.terms.index(r[0]) + 1)
                new = [self.let(self.combine(kind, total, term)) for total, term in zip(totals, terms, strict=True)]
                put(places, new)
                return new
            places, terms = row(0)
            first = [self.let(term) for term in terms]
            put(places, first)
            if shape[axis] > 1:
                self.carry_loop((shape[axis] - 1,), first, go_on)
        self.nest((*shape[:axis], 1, *shape[axis + 1:rest]), along, mode="serial")

    def _prefix_rows(self, kind: str, x: LoweredArray, out: LoweredArray, axis: int, at: Place) -> None:
        """Along an outer axis: whole rows are combined with the row before."""
        shape, n = x.shape, x.shape[axis]
        head, tail = shape[:axis], shape[axis + 1:]

        def put(place: tuple[Any, ...], value: Any) -> None:
            self._store_word(out.storage, x.dtype, linear(shape, place), value)
        self.nest((*head, 1, *tail), lambda *index: put(at(index, 0), self.read(x, *at(index, 0))))

        def body(*index: Any) -> None:
            step = self.terms.index(index[axis]) + 1
            old = self.load(out.storage, x.dtype, linear(shape, at(index, step - 1)))
            put(at(index, step), self.combine(kind, old, self.read(x, *at(index, step))))
        self.nest((*head, n - 1, *tail), body, in_order=axis)
