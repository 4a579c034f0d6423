"""Systems of linear equations: Cholesky and LU factors, solvers, inverses, determinants."""
from __future__ import annotations

from typing import Any

import numpy as np

from numjet.api.jit_when_eager import jit_when_eager
from numjet.control.custom.solve import custom_linear_solve
from numjet.lax import linalg as lax_linalg
from numjet.lax.elementwise.bits import stop_gradient
from numjet.lax.elementwise.compare import eq_p
from numjet.lax.elementwise.convert import as_dtype, cast
from numjet.lax.linalg import matrix as mx
from numjet.lax.operands import real_dtype
from numjet.lax.reduction.sort import sort_p
from numjet.numpy.contraction.dot import matmul
from numjet.numpy.indexing.subscript import getitem
from numjet.numpy.linalg import factorizations as factor
from numjet.scipy.linalg.arguments import check_matrices, inexact

# -------------------------------------------------------------------------------------------- cholesky

def cholesky(a: Any, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    """The triangular factor of positive definite matrices: U with a = U^H U, or with `lower` L with a = L L^H.

    >>> import numjet.numpy as jnp
    >>> cholesky(jnp.array([[4.0, 2.0], [2.0, 5.0]])).tolist()
    [[2.0, 1.0], [0.0, 2.0]]
    """
    (a,) = inexact("cholesky", a)
    out = lax_linalg.cholesky(a if lower else mx.mH(a), symmetrize_input=False)
    return out if lower else mx.mH(out)


def cho_factor(a: Any, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True) -> tuple[Any, bool]:
    """The factorization for cho_solve: a triangular factor, and whether it is the lower one.

    >>> import numjet.numpy as jnp
    >>> c, lower = cho_factor(jnp.eye(2))
    >>> c.tolist(), lower
    ([[1.0, 0.0], [0.0, 1.0]], False)
    """
    return cholesky(a, lower=lower), lower


def cho_solve(c_and_lower: tuple[Any, bool], b: Any, overwrite_b: bool = False, check_finite: bool = True) -> Any:
    """The x with a x = b, given cho_factor(a); b[n] or [..., n, m], or a vector for each matrix, [..., n].

    >>> import numjet.numpy as jnp
    >>> cho_solve(cho_factor(2 * jnp.eye(2)), jnp.ones(2)).round(3).tolist()
    [0.5, 0.5]
    """
    c, lower = c_and_lower
    c, b = inexact("cho_solve", c, b)
    c, b, vector = factor.aligned("cho_solve", c, b, batched_vectors=True)
    out = _cho_solve(c, bool(lower), b)
    return getitem(out, (..., 0)) if vector else out


def _cho_solve(c: Any, lower: bool, b: Any) -> Any:
    solve_by = lax_linalg.triangular_solve
    b = solve_by(c, b, left_side=True, lower=lower, transpose_a=not lower, conjugate_a=not lower)
    return solve_by(c, b, left_side=True, lower=lower, transpose_a=lower, conjugate_a=lower)


# -------------------------------------------------------------------------------------------- lu

@jit_when_eager("overwrite_a", "check_finite")
def lu_factor(a: Any, overwrite_a: bool = False, check_finite: bool = True) -> tuple[Any, Any]:
    """Packed LU factors and pivots (int32): row k was exchanged with row pivots[k].

    >>> import numjet.numpy as jnp
    >>> lu_factor(jnp.array([[1.0, 2.0], [2.0, 2.0]]))[1].tolist()
    [1, 1]
    """
    (a,) = inexact("lu_factor", a)
    return lax_linalg.lu(a)[:2]


def lu_solve(lu_and_piv: tuple[Any, Any], b: Any, trans: int = 0, overwrite_b: bool = False,
             check_finite: bool = True) -> Any:
    """The x with a x = b (trans 1: a^T x = b, 2: a^H x = b), given lu_factor(a); b[n] or [..., n, m],
    or a vector for each matrix, [..., n].

    >>> import numjet.numpy as jnp
    >>> lu_solve(lu_factor(2 * jnp.eye(2)), jnp.ones(2)).tolist()
    [0.5, 0.5]
    """
    lu_, pivots = lu_and_piv
    lu_, b = inexact("lu_solve", lu_, b)
    if trans not in (0, 1, 2):
        raise ValueError(f"'trans' value must be 0, 1, or 2, got {trans}")
    check_matrices("lu_solve", lu_)
    order = lax_linalg.lu_pivots_to_permutation(pivots, lu_.shape[-1])
    lu_, b, vector = factor.aligned("lu_solve", lu_, b, batched_vectors=True)
    order = mx.broadcast_in_dim_p.bind(order, shape=lu_.shape[:-1],
                                       broadcast_dimensions=tuple(range(lu_.ndim - 1 - order.ndim, lu_.ndim - 1)))
    solve_by = lax_linalg.triangular_solve
    if trans == 0:
        out = solve_by(lu_, mx.take_rows(b, order), left_side=True, lower=True, unit_diagonal=True)
        out = solve_by(lu_, out, left_side=True)
    else:
        turn = {"left_side": True, "transpose_a": True, "conjugate_a": trans == 2}
        out = solve_by(lu_, solve_by(lu_, b, **turn), lower=True, unit_diagonal=True, **turn)
        positions = mx.iota_p.bind(dtype=np.dtype(np.int32), shape=order.shape, dimension=order.ndim - 1)
        back = sort_p.bind(order, positions, dimension=order.ndim - 1, is_stable=True, num_keys=1)[1]
        out = mx.take_rows(out, back)
    return getitem(out, (..., 0)) if vector else out


def lu(a: Any, permute_l: bool = False, overwrite_a: bool = False, check_finite: bool = True) -> tuple[Any, ...]:
    """P, L, U with a = P L U: a permutation, a unit lower and an upper triangle; permute_l: (P L, U).

    >>> import numjet.numpy as jnp
    >>> p, l, u = lu(jnp.array([[1.0, 2.0], [2.0, 2.0]]))
    >>> (p @ l @ u).tolist()
    [[1.0, 2.0], [2.0, 2.0]]
    """
    (a,) = inexact("lu", a)
    packed, _, order = lax_linalg.lu(a)
    m, n = a.shape[-2:]
    k = min(m, n)
    lower = mx.lower_part(mx.block(packed, n=k), strictly=True)
    lower = lower + mx.eye(lower.shape, a.dtype)
    upper = mx.upper_part(mx.block(packed, m=k))
    square = (*a.shape[:-2], m, m)
    rows, _ = mx.indices(square)
    p = cast(eq_p.bind(rows, mx.columns(order, square)), real_dtype(a.dtype))
    if permute_l:
        return matmul(as_dtype(p, a.dtype), lower), upper
    return p, lower, upper


# -------------------------------------------------------------------------------------------- systems

@jit_when_eager("lower", "overwrite_a", "overwrite_b", "debug", "check_finite", "assume_a")
def solve(a: Any, b: Any, lower: bool = False, overwrite_a: bool = False, overwrite_b: bool = False, debug: bool = False,
          check_finite: bool = True, assume_a: str = "gen") -> Any:
    """The x with a x = b, for b[n] or [..., n, m].

    assume_a: "gen", "sym" and "her" by LU factors, "pos" (positive definite) by Cholesky factors: NaN when it isn't.

    >>> import numjet.numpy as jnp
    >>> solve(2 * jnp.eye(2), jnp.ones(2), assume_a="pos").round(3).tolist()
    [0.5, 0.5]
    """
    kinds = ["gen", "sym", "her", "pos"]
    if assume_a not in kinds:
        raise ValueError(f"Expected assume_a to be one of {kinds}; got {assume_a!r}")
    if assume_a != "pos":
        return factor.solve(a, b)
    a, b = inexact("solve", a, b)
    a, b, vector = factor.aligned("solve", a, b, batched_vectors=True)
    c = cholesky(stop_gradient(a), lower=lower)
    out = custom_linear_solve(
        lambda x: matmul(a, x), b, lambda _, y: _cho_solve(c, bool(lower), y),
        lambda _, y: mx.conj(_cho_solve(c, bool(lower), mx.conj(y))))  # the transpose is the conjugate
    return getitem(out, (..., 0)) if vector else out


def solve_triangular(a: Any, b: Any, trans: int | str = 0, lower: bool = False, unit_diagonal: bool = False,
                     overwrite_b: bool = False, debug: Any = None, check_finite: bool = True) -> Any:
    """The x with op(a) x = b for triangular a; trans: 0 or "N": a, 1 or "T": a^T, 2 or "C": a^H.

    >>> import numjet.numpy as jnp
    >>> solve_triangular(jnp.array([[2.0, 0.0], [1.0, 1.0]]), jnp.array([2.0, 3.0]), lower=True).tolist()
    [1.0, 2.0]
    """
    if trans not in (0, 1, 2, "N", "T", "C"):
        raise ValueError(f"Invalid 'trans' value {trans}")
    a, b = inexact("solve_triangular", a, b)
    a, b, vector = factor.aligned("solve_triangular", a, b, batched_vectors=True)
    out = lax_linalg.triangular_solve(a, b, left_side=True, lower=lower, transpose_a=trans not in (0, "N"),
                                      conjugate_a=trans in (2, "C"), unit_diagonal=unit_diagonal)
    return getitem(out, (..., 0)) if vector else out


def inv(a: Any, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    """The inverse, as numjet.numpy.linalg.inv.

    >>> import numjet.numpy as jnp
    >>> inv(2 * jnp.eye(2)).tolist()
    [[0.5, 0.0], [0.0, 0.5]]
    """
    return factor.inv(a)


def det(a: Any, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    """The determinant, as numjet.numpy.linalg.det.

    >>> import numjet.numpy as jnp
    >>> float(det(2 * jnp.eye(2)))
    4.0
    """
    return factor.det(a)
