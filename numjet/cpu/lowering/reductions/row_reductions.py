"""Reductions that keep the last axis: rows are added to a result in memory, in the order in which the operand lies.

Several rows are added per pass, so that the result is not read and written for each. A long operand is cut into a fixed
number of chunks, each with a partial result of its own, which are combined in order: chunks may run at the same time, and
the result does not depend on how many do. Rows of a few elements are added in tiles that fill vector registers.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

from numjet.core.aval import ShapedArray
from numjet.cpu.lowering.arrays.row_tiles import RowTiles
from numjet.cpu.lowering.arrays.values import LoweredArray, Scalar, Storage, delinearize, linear
from numjet.foundation.decisions import Varying, quotient

CHUNKS = 16                  # more than most machines have threads, few enough to combine
CHUNKED_FROM = 2 ** 18       # elements, weighed by what one costs: about 100 us of work
_ROWS_BY_COST = ((2.0, 8), (8.0, 4))   # up to a cost per element, the rows per pass

Element = Callable[[Sequence[Any], Sequence[Any]], Any]
Read = Callable[[Any, tuple[Any, ...]], Any]


def rows_per_pass(cost: float) -> int:
    """How many rows are added in one pass: fewer where an element takes much code."""
    return next((rows for limit, rows in _ROWS_BY_COST if cost <= limit), 1)


class RowReductions:
    """Reductions over axes in front of a kept one."""

    def __init__(self, tiles: RowTiles):
        self.tiles, self.reads, self.nests = tiles, tiles.reads, tiles.nests
        self.ir, self.scalars, self.memory = self.reads.ir, self.reads.scalars, self.reads.memory

    def tile(self, x: LoweredArray, width: int) -> int:
        """Elements of a tile of rows of that width, in which x is read; 0 where it is read row by row."""
        period = x.content.period
        return self.tiles.tile_of_rows(width, x.size) if period and width % period == 0 else 0

    def reduce_rows(self, kind: str, x: LoweredArray, element: Element, start: Scalar, kept: tuple[int, ...],
                    axes: tuple[int, ...]) -> LoweredArray:
        """The reduction of x over `axes`, the last of which comes before a kept one; element(outer, inner) reads x."""
        shape = tuple(x.shape[d] for d in kept)
        aval = ShapedArray(shape, start.dtype)
        out = LoweredArray(aval, self.ir.allocation.temporary(aval))
        self.memory.fill(out.storage, start, out.size)
        leading = axes == tuple(range(len(axes)))
        enough = x.size * (1 + x.cost) >= CHUNKED_FROM and 4 * CHUNKS * out.size <= x.size
        tile = self.tile(x, out.size) if leading else 0
        if tile and x.content.period > 1:
            with self.tiles.written([x], tile):
                self._in_chunks(kind, x, element, start, len(axes), out, tile, CHUNKS if enough else 1)
        elif tile or (leading and enough and (self.reads.has_positions(x) or len(axes) == 1)):
            self._in_chunks(kind, x, element, start, len(axes), out, tile, CHUNKS if enough else 1)
        else:
            self._all_rows(kind, x, element, kept, axes, out)
        return out

    def _all_rows(self, kind: str, x: LoweredArray, element: Element, kept: tuple[int, ...], axes: tuple[int, ...],
                  out: LoweredArray) -> None:
        """All rows, whatever axes are kept in front of the last reduced one."""
        axis = axes[-1]
        lanes = x.shape[axis + 1:]

        def block(*lead: Any) -> None:
            def read(row: Any, lane: tuple[Any, ...]) -> Any:
                index = (*lead, row, *lane)
                return element([index[d] for d in kept], [index[d] for d in axes])
            first = linear(out.shape, (*[lead[d] for d in kept if d < axis], *[0] * len(lanes)))
            self._add_rows(kind, out.storage, out.dtype, first, x.shape[axis], lanes, read, rows_per_pass(x.cost))
        self.nests.nest(x.shape[:axis], block, mode="serial")

    def _in_chunks(self, kind: str, x: LoweredArray, element: Element, start: Scalar, rank: int, out: LoweredArray,
                   tile: int, chunks: int) -> None:
        """Partial results of runs of rows. tile: short rows are added in tiles, as if one were a row."""
        rows, width, index = prod(x.shape[:rank]), out.size, self.ir.terms.index
        flat = self.reads.has_positions(x)
        wide = tile or width
        group, dtype, per_pass = wide // width, out.dtype, rows_per_pass(x.cost)
        lanes = (wide,) if flat or tile else out.shape

        def read(row: Any, lane: tuple[Any, ...]) -> Any:
            """An element of a tile, or of a row."""
            if tile:
                return self.scalars.convert(self.reads.read_tile(x, index(row) * wide + lane[0], lane[0]), dtype)
            return at_row(row, lane)

        def at_row(row: Any, lane: tuple[Any, ...]) -> Any:
            if flat:
                return self.scalars.convert(self.reads.read_flat(x, index(row) * width + lane[0]), dtype)
            return element(lane, (row,)) if rank == 1 else element(lane, delinearize(x.shape[:rank], index(row)))
        per_chunk = quotient(rows, group * chunks)
        partial = self.ir.allocation.temporary(ShapedArray((chunks * wide,), dtype))

        def add_chunk(chunk: Any) -> None:
            self.nests.nest((wide,), lambda lane: self.memory.store(partial, index(chunk) * wide + lane, start))
            self._add_rows(kind, partial, dtype, index(chunk) * wide, per_chunk, lanes,
                           lambda row, lane: read(index(chunk) * per_chunk + row, lane), per_pass)
        self.nests.nest((chunks,), add_chunk, mode="serial")
        whole, done = out.storage, chunks * per_chunk * group
        of_partial = lambda row, lane: self.memory.load(partial, dtype, index(row) * width + lane[0])
        self._add_rows(kind, whole, dtype, 0, chunks * group, (width,), of_partial, rows_per_pass(0))
        self._add_rows(kind, whole, dtype, 0, rows - done, (width,) if flat else out.shape,
                       lambda row, lane: at_row(index(row) + done, lane), per_pass)

    def _add_rows(self, kind: str, storage: Storage, dtype: Any, first: Any, rows: int, lanes: Sequence[int], read: Read,
                  per_pass: int) -> None:
        """storage[first + lane] is combined with read(row, lane) for every row, in order."""
        lanes = tuple(lanes)

        def add(count: int, row_of: Callable[[Any], Any]) -> Callable[..., None]:
            def body(*index: Any) -> None:
                group, lane = index[0], index[1:]
                position = linear(lanes, lane) + first
                total = self.memory.load(storage, dtype, position)
                for k in range(count):
                    total = self.scalars.combine(kind, total, read(row_of(group) + k, lane))
                self.memory.store(storage, position, total)
            return body
        groups, index = quotient(rows, per_pass), self.ir.terms.index
        self.nests.nest((groups, *lanes), add(per_pass, lambda group: index(group) * per_pass), in_order=0)
        if type(groups) is Varying:
            rest = Varying(rows - groups * per_pass)
            self.nests.nest((rest, *lanes), add(1, lambda row: index(row) + groups * per_pass), in_order=0)
            return
        self.nests.nest((min(1, rows % per_pass), *lanes), add(rows % per_pass, lambda _: index(groups * per_pass)))
