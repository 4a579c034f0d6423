"""Reductions that keep the last axis: rows are added to a result in memory, in the order in which the operand lies.

Several rows are added per pass, so that the result is not read and written for each. A long operand is cut into a fixed
number of chunks, each with a partial result of its own, which are combined in order: chunks may run at the same time, and
the result does not depend on how many do. Rows of a few elements are added in tiles that fill vector registers.

Many rows of floats are summed in blocks and groups of blocks, as rounding errors grow with the number of terms that are
added to one total (N. J. Higham, "The accuracy of floating point summation", 1993).
"""
from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from math import prod
from typing import Any

import numpy as np

from numjet.core.aval import ShapedArray
from numjet.cpu.lowering.arrays.row_tiles import RowTiles
from numjet.cpu.lowering.arrays.values import LoweredArray, Scalar, Storage, delinearize, linear
from numjet.foundation.decisions import Varying, quotient
from numjet.foundation.dtypes import kind
from numjet.foundation.record import Fields

CHUNKS = 16                  # more than most machines have threads, few enough to combine
CHUNKED_FROM = 2 ** 18       # elements, weighed by what one costs: about 100 us of work
BLOCKS = (2 ** 14, 2 ** 7)   # rows of a group of blocks, and of a block
_ROWS_BY_COST = ((2.0, 8), (8.0, 4))   # up to a cost per element, the rows per pass

Element = Callable[[Sequence[Any], Sequence[Any]], Any]
Read = Callable[[Any, tuple[Any, ...]], Any]


def rows_per_pass(cost: float) -> int:
    """How many rows are added in one pass: fewer where an element takes much code."""
    return next((rows for limit, rows in _ROWS_BY_COST if cost <= limit), 1)


class _Totals(Fields):
    """Where rows are added up: `size` elements in memory, which have been filled with `start`, what changes nothing."""

    kind: str
    storage: Storage
    size: int
    start: Scalar

    @property
    def dtype(self) -> np.dtype:
        return self.start.dtype

    def block_sizes(self, rows: int) -> tuple[int, ...]:
        """Rows of the groups and blocks in which that many rows are added; none: one after another."""
        inexact = self.kind == "add" and kind(self.dtype) in "fc"
        return tuple(size for size in BLOCKS if rows >= 2 * size) if inexact else ()


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
        totals = _Totals(kind, out.storage, out.size, start)
        leading = axes == tuple(range(len(axes)))
        enough = x.size * (1 + x.cost) >= CHUNKED_FROM and 4 * CHUNKS * out.size <= x.size
        tile = self.tile(x, out.size) if leading else 0
        if tile and x.content.period > 1:
            with self.tiles.written([x], tile):
                self._in_chunks(totals, x, element, len(axes), out.shape, tile, CHUNKS if enough else 1)
        elif tile or (leading and enough and (self.reads.has_positions(x) or len(axes) == 1)):
            self._in_chunks(totals, x, element, len(axes), out.shape, tile, CHUNKS if enough else 1)
        else:
            self._all_rows(totals, x, element, kept, axes, out.shape)
        return out

    def _all_rows(self, totals: _Totals, x: LoweredArray, element: Element, kept: tuple[int, ...], axes: tuple[int, ...],
                  shape: tuple[int, ...]) -> None:
        """All rows, whatever axes are kept in front of the last reduced one."""
        axis = axes[-1]
        lanes = x.shape[axis + 1:]

        def block(*lead: Any) -> None:
            def read(row: Any, lane: tuple[Any, ...]) -> Any:
                index = (*lead, row, *lane)
                return element([index[d] for d in kept], [index[d] for d in axes])
            first = linear(shape, (*[lead[d] for d in kept if d < axis], *[0] * len(lanes)))
            self._add_rows(totals, first, x.shape[axis], lanes, read, rows_per_pass(x.cost))
        self.nests.nest(x.shape[:axis], block, mode="serial")

    def _in_chunks(self, totals: _Totals, x: LoweredArray, element: Element, rank: int, shape: tuple[int, ...],
                   tile: int, chunks: int) -> None:
        """Partial results of runs of rows. tile: short rows are added in tiles, as if one were a row."""
        rows, width, index = prod(x.shape[:rank]), totals.size, self.ir.terms.index
        flat = self.reads.has_positions(x)
        wide = tile or width
        group, dtype, per_pass = wide // width, totals.dtype, rows_per_pass(x.cost)
        lanes = (wide,) if flat or tile else shape

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
        partial, done = self._temporary(totals, chunks * wide), chunks * per_chunk * group

        def add_chunk(chunk: Any) -> None:
            self._reset(partial, index(chunk) * wide, (wide,))
            self._add_rows(partial, index(chunk) * wide, per_chunk, lanes,
                           lambda row, lane: read(index(chunk) * per_chunk + row, lane), per_pass)
        self.nests.nest((chunks,), add_chunk, mode="serial")
        self._add_rows(totals, 0, rows - done, (width,) if flat else shape, lambda row, lane: at_row(index(row) + done, lane),
                       per_pass)
        if chunks > 1 and group > 1:
            tiles = self._temporary(totals, wide)
            self._reset(tiles, 0, (wide,))
            self._add_rows(tiles, 0, chunks, (wide,), self._rows_of(partial, wide), rows_per_pass(0))
            partial, chunks = tiles, 1
        self._add_rows(totals, 0, chunks * group, (width,), self._rows_of(partial, width), rows_per_pass(0))

    def _temporary(self, totals: _Totals, size: int) -> _Totals:
        """Other totals of the kind, not filled yet."""
        storage = self.ir.allocation.temporary(ShapedArray((size,), totals.dtype))
        return _Totals(totals.kind, storage, size, totals.start)

    def _reset(self, totals: _Totals, first: Any, lanes: tuple[int, ...]) -> None:
        """Fills some totals, those of one row."""
        self.nests.nest(lanes, lambda *lane: self.memory.store(totals.storage, linear(lanes, lane) + first, totals.start))

    def _rows_of(self, totals: _Totals, width: int) -> Read:
        """Totals as rows of that width."""
        at = lambda row, lane: self.ir.terms.index(row) * width + lane[0]
        return lambda row, lane: self.memory.load(totals.storage, totals.dtype, at(row, lane))

    def _add_rows(self, totals: _Totals, first: Any, rows: int, lanes: Sequence[int], read: Read, per_pass: int) -> None:
        """totals[first + lane] is combined with read(row, lane) for every row: in order, or block by block."""
        self._add_in_blocks(totals, first, rows, totals.block_sizes(rows), tuple(lanes), read, per_pass)

    def _add_in_blocks(self, totals: _Totals, first: Any, rows: int, sizes: tuple[int, ...], lanes: tuple[int, ...],
                       read: Read, per_pass: int) -> None:
        if not sizes:
            self._add_in_order(totals, first, rows, lanes, read, per_pass)
            return
        partial = self._temporary(totals, totals.size)     # at the same places: chunks may run at the same time
        size, index, blocks = sizes[0], self.ir.terms.index, quotient(rows, sizes[0])

        def add_block(begin: Any, count: int) -> None:
            self._reset(partial, first, lanes)
            self._add_in_blocks(partial, first, count, sizes[1:], lanes, lambda row, lane: read(index(begin) + row, lane),
                                per_pass)
            self.nests.nest(lanes, lambda *lane: self._combine(totals, linear(lanes, lane) + first, [
                self.memory.load(partial.storage, totals.dtype, linear(lanes, lane) + first)]))
        self.nests.nest((blocks,), lambda block: add_block(index(block) * size, size), mode="serial", in_order=0)
        rest = rows - blocks * size
        if rest or type(blocks) is Varying:
            add_block(blocks * size, Varying(rest) if type(blocks) is Varying else rest)

    def _combine(self, totals: _Totals, position: Any, values: Iterable[Scalar]) -> None:
        """One total with some values, in order."""
        total = self.memory.load(totals.storage, totals.dtype, position)
        for value in values:
            total = self.scalars.combine(totals.kind, total, value)
        self.memory.store(totals.storage, position, total)

    def _add_in_order(self, totals: _Totals, first: Any, rows: int, lanes: tuple[int, ...], read: Read, per_pass: int) -> None:
        """Row after row, some per pass."""

        def add(count: int, row_of: Callable[[Any], Any]) -> Callable[..., None]:
            def body(*index: Any) -> None:
                group, lane = index[0], index[1:]
                self._combine(totals, linear(lanes, lane) + first, (read(row_of(group) + k, lane) for k in range(count)))
            return body
        groups, index = quotient(rows, per_pass), self.ir.terms.index
        self.nests.nest((groups, *lanes), add(per_pass, lambda group: index(group) * per_pass), in_order=0)
        if type(groups) is Varying:
            rest = Varying(rows - groups * per_pass)
            self.nests.nest((rest, *lanes), add(1, lambda row: index(row) + groups * per_pass), in_order=0)
            return
        self.nests.nest((min(1, rows % per_pass), *lanes), add(rows % per_pass, lambda _: index(groups * per_pass)))
