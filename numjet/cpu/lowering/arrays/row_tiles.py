"""Row tiling: short rows are gone through as one long row, in which what repeats from row to row is written out beforehand.

An array of many rows of 3, 8 or 12 elements meets one of a row only, such as the mean of each column. By index, vector lanes
go along the columns, of which there are too few, or along the rows, whose elements lie apart. A *tile* is so many rows that
they fill vector registers: the array is read tile by tile in the order in which it lies, the repeated row from a buffer of one
tile's size.
"""
from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from math import lcm
from typing import Any

from numjet.core.aval import ShapedArray
from numjet.cpu.lowering.arrays.array_reads import ArrayReads
from numjet.cpu.lowering.arrays.values import LoweredArray, delinearize, parts_dtype, reachable
from numjet.cpu.lowering.loops.loop_nests import LoopNests
from numjet.foundation.decisions import sampling

LANES = 16          # elements of a vector register, the most of any
USUAL_TILE = 128    # elements: a few registers, so that the loop over a tile takes longer than to begin it
LONGEST_TILE = 512
LEAST_TILES = 8     # in an array, so that a tile is written in no time


def tile_of(row: int) -> int:
    """Elements of a tile of rows of that length; 0 where rows are long enough, or no short tile has whole ones."""
    least = lcm(row, LANES)
    return 0 if not 0 < row < USUAL_TILE or least > LONGEST_TILE else least * max(1, USUAL_TILE // least)


class RowTiles:
    """Loops over tiles."""

    def __init__(self, reads: ArrayReads, nests: LoopNests):
        self.ir, self.reads, self.memory, self.nests = reads.ir, reads, reads.memory, nests

    def tile(self, arrays: Sequence[LoweredArray]) -> int:
        """Elements of a tile for these arrays of one shape; 0 where tiles do not serve: all of them are read by position
        anyway, some are computed by index, or rows fill registers."""
        period = lcm(*[a.content.period for a in arrays])
        if period <= 1 or period % LANES == 0 or any(parts_dtype(a.dtype) is not None for a in arrays):
            return 0
        return self.tile_of_rows(period, arrays[0].size)

    def tile_of_rows(self, row: int, size: int) -> int:
        """Elements of a tile of rows of that length in an array of `size` elements; 0 where it is not gone through in tiles."""
        found = 0 if self.in_lanes or sampling() else tile_of(row)
        return found if LEAST_TILES * found <= size else 0

    @property
    def in_lanes(self) -> bool:
        """Whether an array here is that of one lane of a vector, whose elements lie apart."""
        return self.ir.allocation is not self.ir.memory

    def nest(self, size: int, tile: int, body: Callable[[Any, Any], None]) -> None:
        """body(position, place in the tile) for every element."""
        index, rest = self.ir.terms.index, size % tile
        self.nests.nest((size // tile, tile), lambda k, lane: body(index(k) * tile + lane, lane))
        self.nests.nest((rest,), lambda lane: body(index(lane) + (size - rest), lane))

    @contextmanager
    def written(self, arrays: Sequence[LoweredArray], tile: int) -> Iterator[None]:
        """The rows that these arrays repeat are in memory, a tile of each."""
        rows = {id(a.content.row): a.content.row for a in reachable(arrays) if a.content.row is not None}
        outer = self.reads.tiles
        self.reads.tiles = {key: self._write(row, tile) for key, row in rows.items()}
        try:
            yield
        finally:
            self.reads.tiles = outer

    def _write(self, row: LoweredArray, tile: int) -> LoweredArray:
        """A tile of a row."""
        aval = ShapedArray((tile,), row.dtype)
        written = LoweredArray(aval, self.ir.allocation.temporary(aval))

        def store(again: Any, place: Any) -> None:
            value = self.reads.read(row, *delinearize(row.shape, place))
            self.memory.store(written.storage, self.ir.terms.index(again) * row.size + place, value)
        self.nests.nest((tile // row.size, row.size), store)
        if self.ir.checker is not None:
            self.ir.checker.copied(row, written.storage.buffer)
        return written
