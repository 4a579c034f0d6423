"""Reductions that keep the last axis: rows are added to a result in memory, in the order in which the operand lies.

Several rows are added in one go, so that the result is not read and written for each. A long operand is cut into a fixed
number of chunks, each with a partial result of its own, which are combined in order: chunks may run at the same time, and
the result does not depend on how many do. Rows of a few elements are added in groups that fill vector registers.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

from numjet.core.aval import ShapedArray
from numjet.cpu.lowering.builder import Builder
from numjet.cpu.lowering.values import LoweredArray, Scalar, Storage, linear

CHUNKS = 16
CHUNKED_FROM = 2 ** 18       # elements, weighed by what one costs
GROUP_WIDTH = 128            # elements of a group of short rows
_TERM_COSTS = ((2.0, 8), (8.0, 4))   # rows per go by the cost of an element

Element = Callable[[Sequence[Any], Sequence[Any]], Any]
Read = Callable[[Any, tuple[Any, ...]], Any]


def rows_at_once(cost: float) -> int:
    """How many rows are added in one go: fewer where an element takes much code."""
    return next((rows for limit, rows in _TERM_COSTS if cost <= limit), 1)


class RowReductions(Builder):
    """Adds reductions over leading axes to the array builder."""

    def combine(self, kind: str, x: Any, y: Any) -> Any:
        """One step of a reduction."""
        raise NotImplementedError

    def reduce_rows(self, kind: str, x: LoweredArray, element: Element, start: Scalar, kept: tuple[int, ...],
                    axes: tuple[int, ...]) -> LoweredArray:
        """The reduction of x over `axes`, the last of which comes before a kept one; element(outer, inner) reads x."""
        shape = tuple(x.shape[d] for d in kept)
        aval = ShapedArray(shape, start.dtype)
        out = LoweredArray(aval, storage=self.temporary(aval))
        self.fill(out.storage, start, out.size)
        leading = axes == tuple(range(len(axes)))
        enough = x.size * (1 + x.cost) >= CHUNKED_FROM and 4 * CHUNKS * out.size <= x.size
        if leading and enough and (self.flat_ready(x) or len(axes) == 1):
            self._in_chunks(kind, x, element, start, len(axes), out)
        else:
            self._in_one(kind, x, element, kept, axes, out)
        return out

    def _in_one(self, kind: str, x: LoweredArray, element: Element, kept: tuple[int, ...], axes: tuple[int, ...],
                out: LoweredArray) -> None:
        """All rows, whatever axes are kept in front of the last reduced one."""
        axis = axes[-1]
        lanes = x.shape[axis + 1:]

        def block(*lead: Any) -> None:
            def read(row: Any, lane: tuple[Any, ...]) -> Any:
                index = (*lead, row, *lane)
                return element([index[d] for d in kept], [index[d] for d in axes])
            first = linear(out.shape, (*[lead[d] for d in kept if d < axis], *[0] * len(lanes)))
            self._add(kind, out.storage, out.dtype, first, x.shape[axis], lanes, read, rows_at_once(x.cost))
        self.nest(x.shape[:axis], block, mode="serial")

    def _in_chunks(self, kind: str, x: LoweredArray, element: Element, start: Scalar, rank: int, out: LoweredArray) -> None:
        """Partial results of runs of rows; short rows in groups, as if a group were one row."""
        rows, width = prod(x.shape[:rank]), out.size
        flat = self.flat_ready(x)
        group = -(-GROUP_WIDTH // width) if flat and width < GROUP_WIDTH else 1
        lanes = (group * width,) if flat else out.shape
        wide, dtype, at_once = group * width, out.dtype, rows_at_once(x.cost)

        def read(row: Any, lane: tuple[Any, ...]) -> Any:
            if not flat:
                return element(lane, (row,))
            return self.convert(self.read_flat(x, self.terms.index(row) * wide + lane[0]), dtype)
        per_chunk = rows // group // CHUNKS
        partial = self.temporary(ShapedArray((CHUNKS * wide,), dtype))
        with self.loop_over(CHUNKS, "serial") as chunk:
            self.nest((wide,), lambda lane: self._store_word(partial, dtype, chunk * wide + lane, start))
            own = lambda row, lane: read(chunk * per_chunk + row, lane)
            self._add(kind, partial, dtype, chunk * wide, per_chunk, lanes, own, at_once)
        whole, done = out.storage, CHUNKS * per_chunk * group
        of_partial = lambda row, lane: self.load(partial, dtype, self.terms.index(row) * width + lane[0])
        self._add(kind, whole, dtype, 0, CHUNKS * group, (width,), of_partial, rows_at_once(0))

        def left(row: Any, lane: tuple[Any, ...]) -> Any:
            place = self.terms.index(row) + done
            return self.convert(self.read_flat(x, place * width + lane[0]), dtype) if flat else element(lane, (place,))
        self._add(kind, whole, dtype, 0, rows - done, (width,) if flat else out.shape, left, at_once)

    def _add(self, kind: str, storage: Storage, dtype: Any, first: Any, rows: int, lanes: Sequence[int], read: Read,
             at_once: int) -> None:
        """storage[first + lane] is combined with read(row, lane) for every row, in order."""
        lanes = tuple(lanes)

        def go(count: int, row_of: Callable[[Any], Any]) -> Callable[..., None]:
            def body(*index: Any) -> None:
                group, lane = index[0], index[1:]
                place = linear(lanes, lane) + first
                total = self.load(storage, dtype, place)
                for k in range(count):
                    total = self.combine(kind, total, read(row_of(group) + k, lane))
                self._store_word(storage, dtype, place, total)
            return body
        groups = rows // at_once
        self.nest((groups, *lanes), go(at_once, lambda group: self.terms.index(group) * at_once), in_order=0)
        self.nest((min(1, rows % at_once), *lanes), go(rows % at_once, lambda _: self.terms.index(groups * at_once)))
