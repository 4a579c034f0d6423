"""How definitions are stored that read an operand across: in squares, which the code generator transposes in registers.

    for each block of rows, block of columns, row of squares in it, square, column of the square (the lanes): its rows

The rows of a square are written out, so this is for cheap definitions. Others are read by gathers: row by row, or by tiles
where the cache loses the lines of the operand that a row goes through before the next one, as those a power of two apart.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from math import gcd, prod
from typing import Any

from numjet.cpu.lowering.values import LoweredArray

ROW_BYTES = 64       # of a row of a square
LONGEST_ROW = 16     # elements
ROWS = 8             # most squares of a block along the axis on which the operand is contiguous
COLUMNS = 32         # and along the last one
CHEAP = 12.0         # cost per element up to which the rows of a square are written out
FEW = 1024           # elements from which the code for squares pays
TILE = 32            # rows and columns of a tile
LINE = 64            # bytes that a cache loads at once
WAY = 2 ** 17        # bytes after which its lines share a place
CACHE = 2 ** 19      # bytes of it that a row may take


def read_across(arrays: Sequence[LoweredArray]) -> int | None:
    """An axis, not the last, along which a transposed operand is contiguous in memory; None where squares don't pay."""
    shape = arrays[0].shape
    if arrays[0].size < FEW:
        return None
    for x in arrays:
        for a in x.reachable():
            if a.view is None or a.shape != shape or a.view[1][-1] == a.ndim - 1:
                continue
            axis = a.view[1].index(a.ndim - 1)
            if square_side(arrays, axis) > 1 and (_cheap(arrays) or _by_tiles(a, axis)):
                return axis
    return None


def _cheap(arrays: Sequence[LoweredArray]) -> bool:
    return sum(x.cost for x in arrays) <= CHEAP


def _by_tiles(a: LoweredArray, axis: int) -> bool:
    """Whether the cache loses the lines of a row, which lie `step` bytes apart, before the next row reads them again."""
    axes = a.view[1] if a.view is not None else ()
    step = prod(n for n, k in zip(a.shape, axes, strict=True) if k > axes[-1]) * a.dtype.itemsize
    return min(a.shape[axis], a.shape[-1]) >= 2 * TILE and a.shape[-1] * max(LINE, gcd(step, WAY)) > CACHE


def square_side(arrays: Sequence[LoweredArray], across: int) -> int:
    """Rows and columns of a square: a power of two."""
    widest = max(a.dtype.itemsize for x in arrays for a in x.reachable())
    most = min(LONGEST_ROW, ROW_BYTES // widest, arrays[0].shape[across], arrays[0].shape[-1])
    return 1 << max(0, most.bit_length() - 1)


def in_squares(b: Any, arrays: Sequence[LoweredArray], across: int, body: Callable[..., None]) -> None:
    """body(i, j, ...) for every index of the arrays."""
    shape = arrays[0].shape
    last, side = len(shape) - 1, square_side(arrays, across)
    others = [d for d in range(last) if d != across]
    cheap = _cheap(arrays)
    rows, columns = (shape[across] // side * side, shape[last] // side * side) if cheap else (0, 0)

    def at(outer: Sequence[Any], row: Any, column: Any) -> None:
        index: list[Any] = [0] * len(shape)
        for d, i in zip([*others, across, last], [*outer, row, column], strict=True):
            index[d] = i
        body(*index)

    def blocks(*outer: Any) -> None:
        if cheap:
            _squares(b, side, rows // side, columns // side, lambda r, c: at(outer, r, c))
        else:
            _gemm_with_epilogue(b, shape[across], shape[last], lambda r, c: at(outer, r, c))
    lead = [shape[d] for d in others]
    _each(b, lead, (), blocks)
    if cheap:
        b.nest((*lead, shape[across] - rows, shape[last]), lambda *i: at(i[:-2], i[-2] + rows, i[-1]))
        b.nest((*lead, shape[last] - columns, rows), lambda *i: at(i[:-2], i[-1], i[-2] + columns))


def _each(b: Any, shape: Sequence[int], done: tuple[Any, ...], body: Callable[..., None]) -> None:
    """body(i, j, ...) for every index, in loops: other than in `nest`, short ones are not written out, as the body is large."""
    if not shape:
        body(*done)
    elif shape[0] == 1:
        _each(b, shape[1:], (*done, 0), body)
    else:
        with b.loop_over(shape[0], "serial") as i:
            _each(b, shape[1:], (*done, i), body)


def _squares(b: Any, side: int, rows: int, columns: int, body: Callable[[Any, Any], None]) -> None:
    for (top, height, down), (left, width, across) in product(_cut(rows, ROWS), _cut(columns, COLUMNS)):
        with b.loop_over(down, "serial") as i, b.loop_over(across, "serial") as j, b.loop_over(height, "serial") as r, \
                b.loop_over(width, "serial") as c, b.loop_over(side, "vector") as lane, b.loop_over(side, "unroll") as row:
            body((i * height + r + top) * side + row, (j * width + c + left) * side + lane)


def _cut(n: int, most: int) -> list[tuple[int, int, int]]:
    """Blocks of a known size, so that they are known not to overlap: (first, size, how many) for one or two sizes.

    >>> _cut(56, 32), _cut(61, 32)
    ([(0, 28, 2)], [(0, 32, 1), (32, 29, 1)])
    """
    if n == 0:
        return []
    size = next((k for k in range(min(n, most), most // 2, -1) if n % k == 0), min(n, most))
    whole = n // size * size
    return [(0, size, n // size), *([(whole, n - whole, 1)] if whole < n else [])]


def _gemm_with_epilogue(b: Any, rows: int, columns: int, body: Callable[[Any, Any], None]) -> None:
    with b.loop_over(-(-rows // TILE), "serial") as i, b.loop_over(-(-columns // TILE), "serial") as j, \
            b.loop_over(extent(b, rows, i, TILE), "serial") as r, b.loop_over(extent(b, columns, j, TILE), "vector") as c:
        body(i * TILE + r, j * TILE + c)


def extent(b: Any, n: int, block: Any, size: int) -> Any:
    """How much of a block lies inside an axis of length n."""
    if n % size == 0:
        return size
    return b.index(b.prim("min", b.scalar(block * -size + n), b.scalar(size)))
