"""Tangents of QR factors: of the first columns of Q by triangular solves, of the others by Householder reconstruction."""
from __future__ import annotations

from typing import Any

import numpy as np

from numjet.core.trace import aval_of
from numjet.lax.elementwise.arithmetic import abs_p, add_p, sub_p
from numjet.lax.elementwise.bits import stop_gradient_p
from numjet.lax.elementwise.compare import eq_p, lt_p
from numjet.lax.elementwise.convert import as_dtype
from numjet.lax.linalg import matrix
from numjet.lax.linalg.lu_factors import inverse, lu_p
from numjet.lax.linalg.matrix import matmul, mH
from numjet.lax.linalg.triangular import solve_triangle
from numjet.lax.operands import real_dtype, scalar
from numjet.lax.reduction.reduce import reduce_or_p
from numjet.lax.shape.join import concatenate
from numjet.lax.shape.rearrange import broadcast_in_dim_p


def factor_tangents(q: Any, r: Any, change: Any) -> tuple[Any, Any]:
    """The tangents of Q and R for the tangent of the matrix; Q is m x min(m, n) or m x m.

    Walter, Lehmann and Lamour 2012, "On evaluating higher-order derivatives of the QR decomposition of tall matrices with
    full column rank". Of wide matrices the first square block decides about Q.
    """
    m, n = aval_of(change).shape[-2:]
    if aval_of(q).shape[-1] <= n:
        return _reduced(q, r, change)
    first = matrix.block(q, n=n)
    dq, dr = _reduced(first, matrix.block(r, m=n), change)
    rest = matrix.last_columns(q, m - n)
    return concatenate([dq, _complement(first, rest, dq)], aval_of(q).ndim - 1), matrix.padded(dr, m, n)


def _reduced(q: Any, r: Any, change: Any) -> tuple[Any, Any]:
    k = aval_of(q).shape[-1]
    scaled = solve_triangle(matrix.block(r, n=k), matrix.block(change, n=k), left_side=False, lower=False)
    inner = matmul(mH(q), scaled)
    below = matrix.lower_part(inner, strictly=True)
    turn = sub_p.bind(below, mH(below))
    if aval_of(inner).dtype.kind == "c":  # Q keeps R's diagonal real
        i, j = matrix.indices(aval_of(inner).shape)
        diagonal = matrix.where(eq_p.bind(i, j), inner, 0)
        turn = add_p.bind(turn, sub_p.bind(diagonal, as_dtype(matrix.real(diagonal), aval_of(inner).dtype)))
    dq = add_p.bind(matmul(q, sub_p.bind(turn, inner)), scaled)
    dr = matrix.upper_part(matmul(mH(q), sub_p.bind(change, matmul(dq, r))))
    return dq, dr


def _complement(first: Any, rest: Any, change: Any) -> Any:
    """The tangent of the columns of Q that complete the first ones to a basis.

    That they stay orthogonal to the first ones says how they leave their space; how they turn within it is up to the
    algorithm. LAPACK's reflections H_1 ... H_n = I - V T V^H have first columns Q1 = E1 - V (T V1^H), an LU decomposition
    of Y = Q1 - E1, whose blocks Y1 and Y2 give the other columns: Q2 = E2 + Y Y1^-H Y2^H (Ballard, Demmel, Grigori et al.
    2015, "Reconstructing Householder vectors from tall-skinny QR"). Its derivative is the turn.
    """
    turn = matmul(mH(rest), _reconstruction_tangent(first, change))
    return sub_p.bind(matmul(rest, turn), matmul(first, matmul(mH(change), rest)))


def _reconstruction_tangent(first: Any, change: Any) -> Any:
    """The derivative of E2 + Y (Y2 Y1^-1)^H; 0 where a reflection is the identity, so that Y1 is singular: the columns
    jump there, and none of their turns is better than none."""
    shape = aval_of(first).shape
    m, n = shape[-2:]
    y = sub_p.bind(first, matrix.eye(shape, aval_of(first).dtype))
    top, bottom = matrix.block(y, m=n), matrix.last_rows(y, m - n)
    square, alone = aval_of(top).shape, _identity_among_reflections(top)
    inverted = inverse(matrix.where(_throughout(alone, square), matrix.eye(square, aval_of(top).dtype), top))
    ratio = matmul(bottom, inverted)
    turned = matmul(sub_p.bind(matrix.last_rows(change, m - n), matmul(ratio, matrix.block(change, m=n))), inverted)
    out = add_p.bind(matmul(change, mH(ratio)), matmul(y, mH(turned)))
    return matrix.where(_throughout(alone, aval_of(out).shape), 0, out)


def _identity_among_reflections(top: Any) -> Any:
    """Whether a pivot of Y1 vanishes: they are the factors tau of the reflections, at least 1 in magnitude or exactly 0."""
    factors = lu_p.bind(stop_gradient_p.bind(top))[0]
    small = scalar(float(np.sqrt(np.finfo(aval_of(top).dtype).eps)), real_dtype(aval_of(top).dtype))
    return reduce_or_p.bind(lt_p.bind(abs_p.bind(matrix.diagonal(factors)), small), axes=(aval_of(top).ndim - 2,))


def _throughout(mask: Any, shape: tuple[int, ...]) -> Any:
    return broadcast_in_dim_p.bind(mask, shape=tuple(shape), broadcast_dimensions=tuple(range(len(shape) - 2)))
