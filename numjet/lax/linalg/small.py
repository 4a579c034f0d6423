"""Small real matrices, written out as scalar code over the batch: loops over small states need no calls.

Each function takes the builder and reads one matrix of the batch into Python lists of scalars.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

LARGEST = 8          # order of matrices that are written out
# Multiply-adds of one matrix, and of all that are written out side by side. Those of a single matrix keep its numbers in
# registers, of which there are 32 at most: beyond, calls are as fast or faster (inverses of 7 x 7: 400 ns, written out 530).
_MOST_OF_ONE, _MOST = 216, 1024

Matrix = list[list[Any]]


def is_small(b: Any, dtype: np.dtype, shape: Sequence[int], sides: Sequence[int], operations: int) -> bool:
    """Whether work on real matrices with these sides, so many multiply-adds each, for a batch of `shape`, is written out."""
    if dtype.kind != "f" or not prod(shape) or not all(1 <= n <= LARGEST for n in sides):
        return False
    copies = b.copies(shape)
    if copies == prod(shape) and operations > _MOST_OF_ONE:
        return False
    written = copies * (operations + 2 * max(sides) ** 2)   # with what is read and stored
    return copies * operations <= _MOST and b.may_write_out(written, prod(shape))


def over_batch(b: Any, shape: Sequence[int], outs: Sequence[Any], body: Callable[..., None]) -> list[Any]:
    """body(*index of the batch) stores into the arrays `outs`."""
    b.loop(tuple(shape), body)
    return list(outs)


def read_matrix(b: Any, x: Any, index: Sequence[Any]) -> Matrix:
    m, n = x.shape[-2:]
    return [[b.let(b.read(x, *index, i, j)) for j in range(n)] for i in range(m)]


def store_matrix(b: Any, out: Any, index: Sequence[Any], values: Matrix) -> None:
    for i, row in enumerate(values):
        for j, v in enumerate(row):
            b.store(out, (*index, i, j), v)


def _minus(b: Any, total: Any, x: Any, y: Any) -> Any:
    return b.prim("fma", b.neg(x), y, total)


def cholesky(b: Any, x: Any) -> Any:
    """L of x = L L^T from the lower triangle; NaN throughout the lower triangle unless all pivots are positive."""
    out = b.empty(x.shape, x.dtype)
    zero, nan = b.const(0, x.dtype), b.const(np.nan, x.dtype)

    def body(*index: Any) -> None:
        a = read_matrix(b, x, index)
        lower, positive = cholesky_scalars(b, a)
        n = len(a)
        store_matrix(b, out, index, [[b.select(positive, lower[i][j], nan) if j <= i else zero for j in range(n)]
                                     for i in range(n)])
    over_batch(b, x.shape[:-2], [out], body)
    return out


def cholesky_scalars(b: Any, a: Matrix) -> tuple[Matrix, Any]:
    """L, and whether all pivots were positive."""
    n, positive = len(a), None
    lower: Matrix = [[None] * n for _ in range(n)]
    for j in range(n):
        pivot = a[j][j]
        for k in range(j):
            pivot = _minus(b, pivot, lower[j][k], lower[j][k])
        fine = b.compare("gt", pivot, b.const(0, pivot.dtype))
        positive = fine if positive is None else b.prim("and", positive, fine)
        lower[j][j] = b.let(b.prim("sqrt", pivot))
        inverse = b.let(b.div(b.const(1, pivot.dtype), lower[j][j]))
        for i in range(j + 1, n):
            value = a[i][j]
            for k in range(j):
                value = _minus(b, value, lower[i][k], lower[j][k])
            lower[i][j] = b.let(b.mul(value, inverse))
    return lower, b.let(positive)


def triangular_solve(b: Any, a: Any, y: Any, *, left: bool, lower: bool, transposed: bool, unit: bool) -> Any:
    """op(a) x = y, or x op(a) = y."""
    out = b.empty(y.shape, y.dtype)

    def body(*index: Any) -> None:
        matrix, right = read_matrix(b, a, index), read_matrix(b, y, index)
        if transposed:
            matrix = flipped(matrix)
        down = lower != transposed
        if left:
            store_matrix(b, out, index, solve_scalars(b, matrix, right, down, unit))
        else:
            store_matrix(b, out, index, flipped(solve_scalars(b, flipped(matrix), flipped(right), not down, unit)))
    over_batch(b, y.shape[:-2], [out], body)
    return out


def lu_solve(b: Any, factors: Any, order: Any, y: Any, *, transposed: bool) -> Any:
    """X with A X = y, or A^T X = y, for A[order] = L U; rows are put in order by selects."""
    out, n = b.empty(y.shape, y.dtype), y.shape[-2]

    def body(*index: Any) -> None:
        a, right = read_matrix(b, factors, index), read_matrix(b, y, index)
        rows = [b.let(b.read(order, *index, i)) for i in range(n)]
        is_row = [[b.compare("eq", row, b.const(k, row.dtype)) for k in range(n)] for row in rows]
        if transposed:
            transpose = flipped(a)
            found = solve_scalars(b, transpose, solve_scalars(b, transpose, right, True, False), False, True)
            store_matrix(b, out, index, [_chosen(b, conditions, found) for conditions in flipped(is_row)])
        else:
            taken = [_chosen(b, conditions, right) for conditions in is_row]
            store_matrix(b, out, index, solve_scalars(b, a, solve_scalars(b, a, taken, True, True), False, False))
    over_batch(b, y.shape[:-2], [out], body)
    return out


def _chosen(b: Any, conditions: Sequence[Any], rows: Matrix) -> list[Any]:
    """The row whose condition holds, one of them."""
    chosen = rows[-1]
    for here, row in zip(conditions[-2::-1], rows[-2::-1], strict=True):
        chosen = [b.select(here, v, c) for v, c in zip(row, chosen, strict=True)]
    return [b.let(v) for v in chosen]


def flipped(x: Matrix) -> Matrix:
    return [list(column) for column in zip(*x, strict=True)]


def solve_scalars(b: Any, a: Matrix, y: Matrix, down: bool, unit: bool) -> Matrix:
    """Substitution, downwards (a is lower triangular) or upwards."""
    n = len(a)
    x: Matrix = [[None] * len(y[0]) for _ in range(n)]
    order = range(n) if down else range(n - 1, -1, -1)
    for done, i in enumerate(order):
        for c in range(len(y[0])):
            value = y[i][c]
            for k in list(order)[:done]:
                value = _minus(b, value, a[i][k], x[k][c])
            x[i][c] = b.let(value if unit else b.div(value, a[i][i]))
    return x


def lu(b: Any, x: Any) -> list[Any]:
    """LU with partial pivoting, pivots and permutation, as LAPACK's getrf; rows are exchanged by selects."""
    m, n = x.shape[-2:]
    k, batch = min(m, n), x.shape[:-2]
    index32 = np.dtype(np.int32)
    outs = [b.empty(x.shape, x.dtype), b.empty((*batch, k), index32), b.empty((*batch, m), index32)]

    def body(*index: Any) -> None:
        a = read_matrix(b, x, index)
        order = [b.const(i, index32) for i in range(m)]
        pivots = []
        for j in range(k):
            pivot = _pivot(b, [a[i][j] for i in range(j, m)], j)
            pivots.append(pivot)
            _exchange(b, a, order, j, pivot)
            _eliminate(b, a, j)
        store_matrix(b, outs[0], index, a)
        for out, values in ((outs[1], pivots), (outs[2], order)):
            for i, v in enumerate(values):
                b.store(out, (*index, i), v)
    return over_batch(b, batch, outs, body)


def _pivot(b: Any, column: Sequence[Any], first: int) -> Any:
    """The number of the row with the largest element, the first of equal ones; a NaN is never larger."""
    index32 = np.dtype(np.int32)
    best, where = b.prim("abs", column[0]), b.const(first, index32)
    for i, value in enumerate(column[1:], first + 1):
        size = b.prim("abs", value)
        larger = b.compare("gt", size, best)
        best = b.let(b.select(larger, size, best))
        where = b.let(b.select(larger, b.const(i, index32), where))
    return where


def _exchange(b: Any, a: Matrix, order: list[Any], j: int, pivot: Any) -> None:
    """Exchanges row j with the row whose number is only known at run time."""
    index32 = np.dtype(np.int32)
    for i in range(j + 1, len(a)):
        here = b.let(b.compare("eq", pivot, b.const(i, index32)))
        for c in range(len(a[0])):
            upper, low = a[j][c], a[i][c]
            a[j][c], a[i][c] = b.let(b.select(here, low, upper)), b.let(b.select(here, upper, low))
        upper, low = order[j], order[i]
        order[j], order[i] = b.let(b.select(here, low, upper)), b.let(b.select(here, upper, low))


def _eliminate(b: Any, a: Matrix, j: int) -> None:
    """Column j below the pivot; a zero pivot leaves zeros, as LAPACK leaves them."""
    dtype = a[j][j].dtype
    zero = b.compare("eq", a[j][j], b.const(0, dtype))
    inverse = b.let(b.select(zero, b.const(0, dtype), b.div(b.const(1, dtype), a[j][j])))
    for i in range(j + 1, len(a)):
        a[i][j] = b.let(b.mul(a[i][j], inverse))
        for c in range(j + 1, len(a[0])):
            a[i][c] = b.let(_minus(b, a[i][c], a[i][j], a[j][c]))
