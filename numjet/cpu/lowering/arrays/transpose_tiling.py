"""Blocked in-register transpose for strided reads. A tile is loaded by rows, transposed in registers and stored by rows, so
that no cache line is read twice. The code generator transposes it.

    for each block of rows, block of columns, row of tiles in it, tile, column of the tile (the lanes): its rows

The rows of a tile are written out, so this is for cheap deferred arrays. Others are read by gathers: row by row, or by cache
blocks where the lines of the operand that one row reads are lost before the next row reads them again, as lines a power of
two apart are.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from math import gcd, prod
from typing import Any

from numjet.cpu.lowering.arrays.values import LoweredArray
from numjet.cpu.lowering.function_builder import FunctionBuilder
from numjet.cpu.lowering.loops.loop_nests import LoopNests
from numjet.cpu.target import TYPICAL
from numjet.foundation.decisions import Varying, quotient, sampling

TILE_ROW_BYTES = 64  # of a row of a register tile: one vector register
LONGEST_ROW = 16     # elements of such a row: code size
ROWS = 8             # most tiles of a block along the axis on which the operand is contiguous: open pages against loop overhead
COLUMNS = 32         # and along the last one
CHEAP = 12.0         # cost per element up to which the rows of a tile are written out
FEW = 1024           # elements from which the code for tiles pays
CACHE_BLOCK = 32     # rows and columns of a cache block


def strided_axis(arrays: Sequence[LoweredArray]) -> int | None:
    """The axis, not the last, along which a transposed operand is contiguous in memory; None where tiles don't pay."""
    shape = arrays[0].shape
    if arrays[0].size < FEW:
        return None
    for x in arrays:
        for a in x.reachable():
            view = a.content.view
            if view is None or a.shape != shape or view[1][-1] == a.ndim - 1:
                continue
            axis = view[1].index(a.ndim - 1)
            if tile_side(arrays, axis) > 1 and (_cheap(arrays) or _loses_lines(a, view[1], axis)):
                return axis
    return None


def _cheap(arrays: Sequence[LoweredArray]) -> bool:
    return sum(x.cost for x in arrays) <= CHEAP


def _loses_lines(a: LoweredArray, axes: Sequence[int], axis: int) -> bool:
    """Whether the cache loses the lines of a row, which lie `step` bytes apart, before the next row reads them again."""
    caches = TYPICAL   # not this machine's: results must not depend on it
    step = prod(n for n, k in zip(a.shape, axes, strict=True) if k > axes[-1]) * a.dtype.itemsize
    row = a.shape[-1] * max(caches.line, gcd(step, caches.l2_way))   # bytes of the cache that a row takes
    return min(a.shape[axis], a.shape[-1]) >= 2 * CACHE_BLOCK and row > caches.l2 // 2


def tile_side(arrays: Sequence[LoweredArray], strided: int) -> int:
    """Rows and columns of a register tile: a power of two."""
    widest = max(a.dtype.itemsize for x in arrays for a in x.reachable())
    most = min(LONGEST_ROW, TILE_ROW_BYTES // widest, arrays[0].shape[strided], arrays[0].shape[-1])
    return 1 << max(0, most.bit_length() - 1)


def tiled_nest(nests: LoopNests, arrays: Sequence[LoweredArray], strided: int, body: Callable[..., None]) -> None:
    """body(i, j, ...) for every index of the arrays, in tiles or cache blocks."""
    shape = arrays[0].shape
    last, side = len(shape) - 1, tile_side(arrays, strided)
    others = [d for d in range(last) if d != strided]
    cheap = _cheap(arrays)
    rows, columns = (quotient(shape[strided], side), quotient(shape[last], side)) if cheap else (0, 0)

    def at(outer: Sequence[Any], row: Any, column: Any) -> None:
        index: list[Any] = [0] * len(shape)
        for d, i in zip([*others, strided, last], [*outer, row, column], strict=True):
            index[d] = i
        body(*index)

    def blocks(*outer: Any) -> None:
        if cheap:
            tiles = _varying_tiles if Varying in (type(rows), type(columns)) else _register_tiles
            tiles(nests, side, rows, columns, lambda r, c: at(outer, r, c))
        else:
            _cache_blocks(nests, shape[strided], shape[last], lambda r, c: at(outer, r, c))
    lead = [shape[d] for d in others]
    _serial_loops(nests.ir, lead, (), blocks)
    if cheap:
        below, behind = (type(n)(shape[d] - n * side) for d, n in ((strided, rows), (last, columns)))
        nests.nest((*lead, below, shape[last]), lambda *i: at(i[:-2], i[-2] + rows * side, i[-1]))
        nests.nest((*lead, behind, rows * side), lambda *i: at(i[:-2], i[-1], i[-2] + columns * side))


def _serial_loops(ir: FunctionBuilder, shape: Sequence[int], done: tuple[Any, ...], body: Callable[..., None]) -> None:
    """body(i, j, ...) for every index. Unlike in `nest`, short loops are not written out, as the body is large."""
    if not shape:
        body(*done)
    elif shape[0] == 1:
        _serial_loops(ir, shape[1:], (*done, 0), body)
    else:
        with ir.loop(shape[0], "serial") as i:
            _serial_loops(ir, shape[1:], (*done, i), body)


def _register_tiles(nests: LoopNests, side: int, rows: int, columns: int, body: Callable[[Any, Any], None]) -> None:
    ir = nests.ir
    for (top, height, down), (left, width, across) in product(_blocks(rows, ROWS), _blocks(columns, COLUMNS)):
        with ir.loop(down, "serial") as i, ir.loop(across, "serial") as j, ir.loop(height, "serial") as r, \
                ir.loop(width, "serial") as c, ir.loop(side, "vector") as lane, ir.loop(side, "unroll") as row:
            body((i * height + r + top) * side + row, (j * width + c + left) * side + lane)


def _varying_tiles(nests: LoopNests, side: int, rows: int, columns: int, body: Callable[[Any, Any], None]) -> None:
    """The same for any number of tiles, in blocks whose extents follow at run time."""
    ir, count = nests.ir, lambda n, most: quotient(n + most - 1, most)
    with ir.loop(count(rows, ROWS), "serial") as i, ir.loop(count(columns, COLUMNS), "serial") as j, \
            ir.loop(_extent(nests, rows, i, ROWS), "serial") as r, \
            ir.loop(_extent(nests, columns, j, COLUMNS), "serial") as c, \
            ir.loop(side, "vector") as lane, ir.loop(side, "unroll") as row:
        body((i * ROWS + r) * side + row, (j * COLUMNS + c) * side + lane)


def _blocks(n: int, most: int) -> list[tuple[int, int, int]]:
    """Blocks of a known size, so that they are known not to overlap: (first, size, how many) for one or two sizes.

    >>> _blocks(56, 32), _blocks(61, 32)
    ([(0, 28, 2)], [(0, 32, 1), (32, 29, 1)])
    """
    if n == 0:
        return []
    size = next((k for k in range(min(n, most), most // 2, -1) if n % k == 0), min(n, most))
    whole = n // size * size
    return [(0, size, n // size), *([(whole, n - whole, 1)] if whole < n else [])]


def _cache_blocks(nests: LoopNests, rows: int, columns: int, body: Callable[[Any, Any], None]) -> None:
    ir, size = nests.ir, CACHE_BLOCK
    with ir.loop(quotient(rows + size - 1, size), "serial") as i, ir.loop(quotient(columns + size - 1, size), "serial") as j, \
            ir.loop(_extent(nests, rows, i, size), "serial") as r, ir.loop(_extent(nests, columns, j, size), "vector") as c:
        body(i * size + r, j * size + c)


def _extent(nests: LoopNests, n: int, block: Any, size: int) -> Any:
    """How much of a block of a size lies inside an axis of length n."""
    if n % size == 0 and not sampling():
        return size
    scalars = nests.scalars
    return scalars.index(scalars.prim("min", scalars.scalar(block * -size + n), scalars.scalar(size)))
