"""Polar decomposition by the QR-based dynamically weighted Halley iteration (QDWH).

Source: Nakatsukasa, Bai, Gygi, "Optimizing Halley's iteration for computing the matrix polar decomposition", SIAM J.
Matrix Anal. Appl. 31 (2010). The bound of the smallest singular value starts at the machine precision, so all weights are
known beforehand; while they are large a QR factorization keeps the step stable, later a Cholesky factorization will do.
"""
from __future__ import annotations

import functools
from math import sqrt
from typing import Any

import numpy as np

from numjet.core.aval import ShapedArray
from numjet.core.stage import trace_to_closed
from numjet.core.trace import aval_of
from numjet.foundation import dtypes
from numjet.lax.elementwise.arithmetic import abs_p, add_p, div_p, mul_p, sqrt_p, sub_p
from numjet.lax.elementwise.bitwise import and_p, not_p
from numjet.lax.elementwise.compare import eq_p, gt_p, lt_p, min_p
from numjet.lax.elementwise.convert import as_dtype, cast, convert_element_type_p
from numjet.lax.indexing.gather import index_take
from numjet.lax.indexing.slicing import slice_p
from numjet.lax.linalg import matrix
from numjet.lax.linalg.matrix import matmul, mH
from numjet.lax.linalg.qr_factors import qr
from numjet.lax.linalg.triangular import cholesky, triangular_solve
from numjet.lax.operands import real_dtype, scalar, where
from numjet.lax.reduction.reduce import reduce_max_p, reduce_sum_p
from numjet.lax.shape.join import concatenate_p
from numjet.lax.shape.rearrange import filled
from numjet.lax.templates import call

_INT32, _BOOL = np.dtype(np.int32), np.dtype(np.bool_)
_QR_ABOVE = 100.0    # of the paper: the weight c from which on Cholesky is stable
_MOST_WEIGHTS = 8
_MAX_ITERATIONS = 10

Weights = tuple[float, float, float]


@functools.cache
def _weights(eps: float) -> list[Weights]:
    """(a, b, c) of each step for singular values between eps and 1; the last ones are those of Halley's own iteration."""
    found: list[Weights] = []
    low = eps
    while 1 - low > 8 * eps and len(found) < _MOST_WEIGHTS:
        gamma = (4 * (1 - low ** 2) / low ** 4) ** (1 / 3)
        root = sqrt(1 + gamma)
        a = root + 0.5 * sqrt(8 - 4 * gamma + 8 * (2 - low ** 2) / (low ** 2 * root))
        b = (a - 1) ** 2 / 4
        c = a + b - 1
        found.append((a, b, c))
        low = min(1.0, low * (a + b * low ** 2) / (1 + c * low ** 2))
    return [*found, (3.0, 1.0, 3.0)]


def qdwh(x: Any, *, is_hermitian: bool = False, max_iterations: int | None = None, eps: float | None = None,
         dynamic_shape: tuple[int, int] | None = None) -> tuple[Any, Any, Any, Any]:
    """The polar decomposition x = u h of a matrix[m, n] with m >= n: (u, h, iterations, converged).

    u has orthonormal columns, h is Hermitian and positive semidefinite. eps: the iteration ends when a step changes u by
    less than (4 eps)^(1/3) of its norm; default: the machine precision. max_iterations: default 10. dynamic_shape: rows and
    columns of x that count; the others are taken to be zero, and are zero in u and h. is_hermitian changes nothing.

    TypeError for integers, ValueError for what is no matrix and for fewer rows than columns.

    >>> u, h, _, converged = qdwh(np.float32([[0, -2], [1, 0]]))
    >>> np.round(np.asarray(h)).tolist(), bool(converged)
    ([[1.0, 0.0], [0.0, 2.0]], True)
    """
    aval = aval_of(x)
    if aval.ndim != 2:
        raise ValueError(f"qdwh expects one matrix, got an array of shape {aval.shape}; use vmap for several")
    matrix.check_matrix("qdwh", aval)
    if aval.shape[0] < aval.shape[1]:
        raise ValueError(f"qdwh: the input matrix of shape M x N must have M >= N, got {aval.shape}")
    precision = float(np.finfo(aval.dtype).eps if eps is None else eps)
    x = x if dynamic_shape is None else _cut(x, dynamic_shape)
    u, steps, moving = _iterated(_normalized(x), precision, _MAX_ITERATIONS if max_iterations is None else max_iterations)
    u = sub_p.bind(matrix.scaled(u, 1.5), matmul(matrix.scaled(u, 0.5), matmul(mH(u), u)))  # squares the rest of the error
    steps = convert_element_type_p.bind(steps, new_dtype=dtypes.canonicalize_dtype(np.int64), weak_type=True)
    return u, matrix.symmetrized(matmul(mH(u), x)), steps, not_p.bind(moving)


def _cut(x: Any, shape: tuple[int, int]) -> Any:
    """x with zeros outside of the first rows and columns."""
    within = [lt_p.bind(index, cast(n, _INT32)) for index, n in zip(matrix.indices(aval_of(x).shape), shape, strict=True)]
    return where(and_p.bind(*within), x, 0)


def _normalized(x: Any) -> Any:
    """x over a bound of its largest singular value: the root of the greatest sums of rows and of columns."""
    size = abs_p.bind(x)
    most = [reduce_max_p.bind(reduce_sum_p.bind(size, axes=(d,)), axes=(0,)) if aval_of(x).size else np.ones((), size.dtype)
            for d in (0, 1)]
    bound = mul_p.bind(sqrt_p.bind(most[0]), sqrt_p.bind(most[1]))
    bound = where(eq_p.bind(bound, scalar(0, aval_of(bound).dtype)), 1, bound)
    return div_p.bind(x, filled(as_dtype(bound, aval_of(x).dtype), aval_of(x).shape))


def _iterated(u: Any, eps: float, most: int) -> tuple[Any, Any, Any]:
    """The unitary factor, the number of steps, and whether the last step still changed much."""
    weights = _weights(float(np.finfo(aval_of(u).dtype).eps))
    real = real_dtype(aval_of(u).dtype)
    first = sum(c > _QR_ABOVE for _, _, c in weights)
    for a, b, c in weights[:min(first, most)]:
        u = _by_qr(u, a, b, c)
    table = np.asarray(weights[first:], real)

    def step(a: Any, b: Any, c: Any, k: Any, u: Any, moving: Any) -> list[Any]:
        row = min_p.bind(sub_p.bind(k, np.int32(first)), np.int32(len(table) - 1))
        new = _by_cholesky(u, *[index_take(column, (row,), (0,)) for column in (a, b, c)])
        limit = mul_p.bind(_norm(new), np.asarray((4 * eps) ** (1 / 3), real)[()])
        return [add_p.bind(k, np.int32(1)), new, gt_p.bind(_norm(sub_p.bind(new, u)), limit)]
    carry = [ShapedArray((), _INT32), aval_of(u), ShapedArray((), _BOOL)]
    body = trace_to_closed(step, [ShapedArray(table.shape[:1], real)] * 3 + carry)
    more = trace_to_closed(lambda k, u, moving: [and_p.bind(moving, lt_p.bind(k, np.int32(most)))], carry)
    columns = [np.ascontiguousarray(column) for column in table.T]
    steps, u, moving = call("while", *columns, np.int32(min(first, most)), u, np.bool_(True), cond_jaxpr=more, cond_nconsts=0,
                            body_jaxpr=body, body_nconsts=3)
    return u, steps, moving


def _norm(x: Any) -> Any:
    """The Frobenius norm."""
    size = abs_p.bind(x)
    return sqrt_p.bind(reduce_sum_p.bind(mul_p.bind(size, size), axes=(0, 1)))


def _by_qr(u: Any, a: float, b: float, c: float) -> Any:
    m, n = aval_of(u).shape
    stacked = concatenate_p.bind(matrix.scaled(u, sqrt(c)), matrix.eye((n, n), aval_of(u).dtype), dimension=0)
    q, _ = qr(stacked, full_matrices=False)
    lower = slice_p.bind(q, start_indices=(m, 0), limit_indices=(m + n, n), strides=None)
    product = matmul(matrix.block(q, m=m), mH(lower))
    return add_p.bind(matrix.scaled(u, b / c), matrix.scaled(product, (a - b / c) / sqrt(c)))


def _by_cholesky(u: Any, a: Any, b: Any, c: Any) -> Any:
    shape, dtype = aval_of(u).shape, aval_of(u).dtype
    spread = lambda v, s: filled(as_dtype(v, dtype), s)
    square = (shape[1], shape[1])
    gram = add_p.bind(matrix.eye(square, dtype), mul_p.bind(spread(c, square), matmul(mH(u), u)))
    factor = cholesky(gram, symmetrize_input=False)
    half = triangular_solve(factor, mH(u), left_side=True, lower=True)
    whole = mH(triangular_solve(factor, half, left_side=True, lower=True, transpose_a=True, conjugate_a=True))
    ratio = div_p.bind(b, c)
    return add_p.bind(mul_p.bind(spread(ratio, shape), u), mul_p.bind(spread(sub_p.bind(a, ratio), shape), whole))
