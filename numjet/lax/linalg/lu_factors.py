"""LU factors with partial pivoting, and general systems of equations by them."""
from __future__ import annotations

import operator
from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from numjet.core.aval import ShapedArray
from numjet.core.op import ZERO, Expand, Missing, Op, Samples, Undefined, Zero
from numjet.core.trace import aval_of
from numjet.core.traits import EXACT, LANES, MATRIX_BY_MATRIX
from numjet.foundation.dimension import smallest
from numjet.lax.elementwise.arithmetic import add_p, neg_p
from numjet.lax.elementwise.bits import stop_gradient_p
from numjet.lax.elementwise.compare import ge_p
from numjet.lax.elementwise.convert import cast
from numjet.lax.linalg import hlo, matrix, small
from numjet.lax.linalg.lapack import CODES, over_batch, routine
from numjet.lax.linalg.matrix import matmul
from numjet.lax.linalg.triangular import random_matrix, solve_triangle, triangle_cpu
from numjet.lax.reduction.sort import sort_p
from numjet.lax.shape.create import iota_p
from numjet.lax.shape.rearrange import broadcast_in_dim_p
from numjet.lax.tangent import add_any, no_tangent
from numjet.lax.templates import leading_batch

_INDEX = np.dtype(np.int32)

# -------------------------------------------------------------------------------------------- lu

def _abstract(x: ShapedArray) -> list[ShapedArray]:
    matrix.check_matrix("lu", x)
    m, n = x.shape[-2:]
    batch = x.shape[:-2]
    return [x, x.update(shape=(*batch, smallest(m, n)), dtype=_INDEX), x.update(shape=(*batch, m), dtype=_INDEX)]


def _eager(x: np.ndarray) -> list[np.ndarray]:
    outs = _abstract(ShapedArray(x.shape, x.dtype))

    def factor(a: np.ndarray) -> list[np.ndarray]:
        m, n = a.shape
        if not a.size:
            return [a, np.zeros(0, _INDEX), np.arange(m)]
        lu, pivots, _ = routine("getrf", a.dtype)(a)
        return [lu, pivots[:min(m, n)], _order(pivots[:min(m, n)], m)]
    return over_batch(factor, outs, [(x, 2)])


def _order(pivots: np.ndarray, size: int) -> np.ndarray:
    """The permutation that exchanging rows k and pivots[k], one after the other, makes."""
    order = list(range(size))
    for k, p in enumerate(pivots.tolist()):
        order[k], order[p] = order[p], order[k]
    return np.array(order, _INDEX)


def _cpu(b: Any, x: Any) -> list[Any]:
    m, n = x.shape[-2:]
    if small.is_small(b, x.dtype, x.shape[:-2], (m, n), m * n * min(m, n) // 2):
        return small.lu(b, x)
    return b.kernel("nj_getrf", [CODES[x.dtype.name], prod(x.shape[:-2]), m, n, ("own", x)],
                    _abstract(ShapedArray(x.shape, x.dtype))[1:], checked=True)


def _jvp(primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
    """With M = L^-1 P dA U^-1: dL = L tril(M, -1), dU = triu(M) U. (de Hoog, Anderssen, Lukas 2011, "Differentiation of
    matrix functionals using triangular factorization".) L and U are completed to square matrices by the identity."""
    lu, pivots, order = lu_p.bind(primals[0])
    rest = [no_tangent(v) for v in (pivots, order)]
    if isinstance(tangents[0], Zero):
        return [lu, pivots, order], [tangents[0], *rest]
    shape, dtype = aval_of(lu).shape, aval_of(lu).dtype
    (m, n), k = shape[-2:], min(shape[-2:])
    square = lambda size: matrix.eye((*shape[:-2], size, size), dtype)
    lower = add_p.bind(matrix.padded(matrix.lower_part(matrix.block(lu, n=k), strictly=True), m, m), square(m))
    upper = matrix.padded(matrix.upper_part(matrix.block(lu, m=k)), n, n)
    if n > k:
        i, _ = matrix.indices((*shape[:-2], n, n))
        upper = add_p.bind(upper, matrix.where(ge_p.bind(i, matrix.scalar(k, _INDEX)), square(n), 0))
    inner = matrix.take_rows(tangents[0], order)
    inner = solve_triangle(lower, inner, unit_diagonal=True)
    inner = solve_triangle(upper, inner, left_side=False, lower=False)
    tangent = add_p.bind(matmul(lower, matrix.lower_part(inner, strictly=True)), matmul(matrix.upper_part(inner), upper))
    return [lu, pivots, order], [tangent, *rest]


def _matrices(rng: Any, shapes: Any, dtype: Any, params: Any) -> list[np.ndarray]:
    """Matrices whose pivots are far from ties, so that finite differences don't exchange rows."""
    x = random_matrix(rng, shapes, dtype) * 0.4
    weights = rng.permutation(np.eye(shapes[-2], shapes[-1]) * 3.0)
    return [(x + weights).astype(dtype)]


lu_p: Op = Op(
    name="lu", multiple=True, abstract=_abstract, eager=_eager, jvp=_jvp, transpose=Missing("lu is not linear"),
    batch=leading_batch(lambda: lu_p), cpu=_cpu, hlo=hlo.lu, traits=MATRIX_BY_MATRIX | LANES,
    samples=Samples(shapes=((1, 1), (3, 3), (2, 4, 4), (30, 3, 3), (3, 5), (5, 3), (2, 10, 9), (9, 12), (0, 0), (2, 0, 3)),
                    dtypes=matrix.DTYPES, make=_matrices, rtol=1e-4, ulps=64))


def lu(x: Any) -> tuple[Any, Any, Any]:
    """LU factors of matrices x[..., m, n]: x[permutation] = L U, with rows exchanged for the largest pivots.

    Returns (lu, pivots, permutation): L below the diagonal (ones on it are not stored) and U above; pivots[k], int32: the
    row that was exchanged with row k; the permutation of all rows that results. Singular matrices have zeros on U's
    diagonal. TypeError for integers and less than two axes.

    >>> factors, pivots, permutation = lu(np.array([[1., 2.], [2., 2.]], np.float32))
    >>> factors.tolist(), pivots.tolist(), permutation.tolist()
    ([[2.0, 2.0], [0.5, 1.0]], [1, 1], [1, 0])
    """
    out, pivots, order = lu_p.bind(x)
    return out, pivots, order


# -------------------------------------------------------------------------------------------- lu_pivots_to_permutation

def _permutation_abstract(pivots: ShapedArray, *, permutation_size: int) -> ShapedArray:
    if pivots.ndim < 1 or pivots.dtype != _INDEX:
        raise ValueError("Given pivots must be int32 and have at least one axis, got "
                         f"{pivots.dtype.name} of shape {pivots.shape}")
    if permutation_size < pivots.shape[-1]:
        raise ValueError(f"Output permutation size {permutation_size} has to exceed the trailing dimension of the pivots. "
                         f"Got pivots size {pivots.shape[-1]}")
    return ShapedArray((*pivots.shape[:-1], permutation_size), _INDEX)


lu_pivots_to_permutation_p: Op = Op(
    name="lu_pivots_to_permutation", params=("permutation_size",), abstract=_permutation_abstract,
    eager=lambda pivots, permutation_size: over_batch(
        lambda p: [_order(p, permutation_size)],
        [ShapedArray((*pivots.shape[:-1], permutation_size), _INDEX)], [(pivots, 1)])[0],
    jvp=ZERO, transpose=Missing("not linear"), batch=leading_batch(lambda: lu_pivots_to_permutation_p),
    cpu=lambda b, pivots, permutation_size: b.kernel(
        "nj_permutation", [prod(pivots.shape[:-1]), pivots.shape[-1], permutation_size, pivots],
        [ShapedArray((*pivots.shape[:-1], permutation_size), _INDEX)], checked=True)[0],
    hlo=hlo.pivots_to_permutation, traits=EXACT,
    samples=Samples(shapes=((3,), (2, 3), (2, 0)), params=({"permutation_size": 4},), dtypes=("int32",), ulps=0,
                    make=lambda rng, shapes, dtype, params: [rng.integers(0, 4, shapes).astype(np.int32)]))


def lu_pivots_to_permutation(pivots: Any, permutation_size: int) -> Any:
    """The permutation of `permutation_size` rows that the exchanges `pivots` (int32 [..., k]) of lu make.

    ValueError for pivots of another dtype, and when the size is less than their number.

    >>> lu_pivots_to_permutation(np.array([2, 2, 2], np.int32), 3).tolist()
    [2, 0, 1]
    """
    return lu_pivots_to_permutation_p.bind(pivots, permutation_size=operator.index(permutation_size))


# -------------------------------------------------------------------------------------------- lu_solve

def _solve_abstract(a: ShapedArray, lu: ShapedArray, order: ShapedArray, b: ShapedArray, *, transposed: bool) -> ShapedArray:
    matrix.check_matrix("lu_solve", a, square=True)
    matrix.check_matrix("lu_solve", b, 3)
    if a.shape[:-1] != b.shape[:-1] or a.shape != lu.shape or order.shape != a.shape[:-1] or a.dtype != b.dtype:
        raise TypeError(f"lu_solve: expected matrices [..., n, n], their factors, a permutation [..., n] and [..., n, m] "
                        f"of one dtype, got {a}, {lu}, {order}, {b}")
    return b


def _solve_eager(a: np.ndarray, lu: np.ndarray, order: np.ndarray, b: np.ndarray, *, transposed: bool) -> np.ndarray:
    def solve(factors: np.ndarray, rows: np.ndarray, y: np.ndarray) -> list[np.ndarray]:
        trsm = routine("trsm", y.dtype)
        if not transposed:
            return [trsm(1, factors, trsm(1, factors, y[rows], lower=1, diag=1))]
        out = np.empty_like(y)
        out[rows] = trsm(1, factors, trsm(1, factors, y, trans_a=1), lower=1, diag=1, trans_a=1)
        return [out]
    return over_batch(solve, [ShapedArray(b.shape, b.dtype)], [(lu, 2), (order, 1), (b, 2)])[0] if b.size else b


def _solve_cpu(b: Any, a: Any, lu: Any, order: Any, y: Any, *, transposed: bool) -> Any:
    if small.is_small(b, y.dtype, y.shape[:-2], y.shape[-2:], a.shape[-1] * prod(y.shape[-2:])):
        return small.lu_solve(b, lu, order, y, transposed=transposed)

    def solve(right: Any, lower: bool) -> Any:
        return triangle_cpu(b, lu, right, left_side=True, lower=lower, transpose_a=transposed, conjugate_a=False,
                            unit_diagonal=lower)
    row = lambda *i: b.convert(b.read(order, *i[:-1]), np.int64)
    if not transposed:
        rows = b.compute(y.shape, y.dtype, lambda *i: b.read(y, *i[:-2], row(*i), i[-1]), moves=True,
                         reads=(y, order))
        return solve(solve(rows, True), False)
    found = solve(solve(y, False), True)
    out = b.empty(y.shape, y.dtype)
    b.loop(y.shape, lambda *i: b.store(out, (*i[:-2], row(*i), i[-1]), b.read(found, *i)))
    return out


def _solve_jvp(primals: Sequence[Any], tangents: Sequence[Any], *, transposed: bool) -> tuple[Any, Any]:
    """A dX = dB - dA X. The factors belong to A, so their tangents say nothing new."""
    a, lu, order, b = primals
    ta, _, _, tb = tangents
    out = lu_solve_p.bind(a, lu, order, b, transposed=transposed)
    if not isinstance(ta, Zero):
        tb = add_any(neg_p.bind(matmul(matrix.mT(ta) if transposed else ta, out)), tb)
    return out, tb if isinstance(tb, Zero) else lu_solve_p.bind(a, lu, order, tb, transposed=transposed)


def _solve_transpose(ct: Any, a: Any, lu: Any, order: Any, b: Any, *, transposed: bool) -> list[Any]:
    if isinstance(a, Undefined) or isinstance(lu, Undefined):
        raise NotImplementedError("Transpose rule of 'lu_solve': it is linear in its last operand only")
    return [None, None, None, lu_solve_p.bind(a, lu, order, ct, transposed=not transposed)]


def _solve_traced(a: Any, lu: Any, order: Any, b: Any, *, transposed: bool) -> Any:
    """By triangular systems; the rows of a transposed system's result are put back by the inverse permutation."""
    if not transposed:
        right = matrix.take_rows(b, order)
        return solve_triangle(lu, solve_triangle(lu, right, unit_diagonal=True), lower=False)
    found = solve_triangle(lu, solve_triangle(lu, b, lower=False, transpose_a=True), transpose_a=True, unit_diagonal=True)
    last = aval_of(order).ndim - 1
    rows = iota_p.bind(dtype=_INDEX, shape=aval_of(order).shape, dimension=last)
    _, inverse = sort_p.bind(order, rows, dimension=last, is_stable=True, num_keys=1)
    return matrix.take_rows(found, inverse)


def _systems(rng: Any, shapes: Any, dtype: Any, params: Any) -> list[np.ndarray]:
    (a,) = _matrices(rng, shapes[0], dtype, params)
    lu, _, order = _eager(a)
    return [a, lu, order, random_matrix(rng, shapes[1], dtype)]


# Derivatives with respect to the matrix come with factors of it (tests/lax/linalg/test_linalg.py).
lu_solve_p: Op = Op(
    name="lu_solve", params=("transposed",), nargs=4, abstract=_solve_abstract, eager=_solve_eager, jvp=_solve_jvp,
    transpose=_solve_transpose, batch=leading_batch(lambda: lu_solve_p), cpu=_solve_cpu,
    hlo=Expand(_solve_traced), linear_in=(3,), traits=MATRIX_BY_MATRIX | LANES,
    samples=Samples(shapes=[[(3, 3), (3, 2)], [(4, 4), (4, 1)], [(12, 12), (12, 3)], [(10, 10), (10, 2)]],
                    params=tuple({"transposed": t} for t in (False, True, False, True)), dtypes=matrix.DTYPES,
                    make=_systems, rtol=1e-4, ulps=64, wrt=(3,)))


def solve(a: Any, b: Any) -> Any:
    """The X with a X = b, for matrices a[..., n, n] and b[..., n, m] with equal axes before; by LU factors."""
    factored = stop_gradient_p.bind(a)
    factors, _, order = lu_p.bind(factored)
    return lu_solve_p.bind(a, factors, order, b, transposed=False)


# -------------------------------------------------------------------------------------------- lu_inverse

def _inverse_abstract(a: ShapedArray, lu: ShapedArray, order: ShapedArray) -> ShapedArray:
    matrix.check_matrix("lu_inverse", a, square=True)
    if a != lu or order.shape != a.shape[:-1]:
        raise TypeError(f"lu_inverse: expected matrices [..., n, n], their factors and a permutation [..., n], got {a}, {lu}, "
                        f"{order}")
    return a


def _inverse_eager(a: np.ndarray, lu: np.ndarray, order: np.ndarray) -> np.ndarray:
    return _solve_eager(a, lu, order, np.broadcast_to(np.eye(a.shape[-1], dtype=a.dtype), a.shape), transposed=False)


def _inverse_cpu(b: Any, a: Any, lu: Any, order: Any) -> Any:
    n = a.shape[-1]
    if prod(a.shape) == 0:
        return a
    if small.is_small(b, a.dtype, a.shape[:-2], (n, n), n ** 3):
        one = b.compute(a.shape, a.dtype, lambda *i: b.if_(
            b.compare("eq", b.scalar(i[-2]), b.scalar(i[-1])), lambda: b.const(1, a.dtype), lambda: b.const(0, a.dtype)))
        return small.lu_solve(b, lu, order, one, transposed=False)
    sizes = [CODES[a.dtype.name], prod(a.shape[:-2]), n]
    return b.kernel("nj_getri", [*sizes, lu, order], [ShapedArray(a.shape, a.dtype)], checked=True)[0]


def _inverse_traced(a: Any, lu: Any, order: Any) -> Any:
    n = aval_of(a).shape[-1]
    one = cast(np.eye(n, dtype=bool), aval_of(a).dtype)
    batch = aval_of(a).ndim - 2
    ones = broadcast_in_dim_p.bind(one, shape=aval_of(a).shape, broadcast_dimensions=(batch, batch + 1))
    return _solve_traced(a, lu, order, ones, transposed=False)


def _inverse_jvp(primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
    """-X dA X. The factors belong to A, so their tangents say nothing new."""
    out = lu_inverse_p.bind(*primals)
    return out, tangents[0] if isinstance(tangents[0], Zero) else neg_p.bind(matmul(matmul(out, tangents[0]), out))


# Derivatives with respect to the matrix come with factors of it (tests/lax/linalg/test_linalg.py).
lu_inverse_p: Op = Op(
    name="lu_inverse", nargs=3, abstract=_inverse_abstract, eager=_inverse_eager, jvp=_inverse_jvp,
    transpose=Missing("lu_inverse is not linear"), batch=leading_batch(lambda: lu_inverse_p), cpu=_inverse_cpu,
    hlo=Expand(_inverse_traced), traits=MATRIX_BY_MATRIX | LANES,
    samples=Samples(shapes=[(3, 3), (12, 12), (2, 9, 9), (0, 0)], dtypes=matrix.DTYPES, rtol=1e-4, ulps=64, wrt=(),
                    make=lambda rng, shapes, dtype, params: _systems(rng, [shapes, shapes], dtype, params)[:3]))


def inverse(a: Any) -> Any:
    """The inverses of matrices a[..., n, n], by LU factors."""
    factors, _, order = lu_p.bind(stop_gradient_p.bind(a))
    return lu_inverse_p.bind(a, factors, order)
