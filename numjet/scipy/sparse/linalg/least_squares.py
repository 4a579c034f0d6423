"""Least squares by products with a matrix and its adjoint."""
from __future__ import annotations

from typing import Any, NamedTuple

import numjet.numpy as jnp
from numjet.control.custom.solve import custom_linear_solve, custom_root
from numjet.control.loops.while_loop import while_loop
from numjet.foundation import dtypes
from numjet.numpy.core.promotion import array_arg, promote_dtypes_inexact
from numjet.scipy.sparse.linalg.definite import _cg
from numjet.scipy.sparse.linalg.operators import LinearOperator, aslinearoperator
from numjet.scipy.sparse.linalg.systems import Problem, square_norm


class LsqrResult(NamedTuple):
    """The result of lsqr, in SciPy's order.

    x: the solution. istop: 0 for b = 0, 1 when A x = b is solved, 2 for least squares, 7 when iter_lim was reached. itn:
    iterations. r1norm, r2norm: norms of b - A x, and with damping. anorm: an estimate of A's Frobenius norm. arnorm: the
    norm of A^H (b - A x) - damp^2 (x - x0). xnorm: that of x.

    >>> result = lsqr(2 * jnp.eye(2), jnp.ones(2))
    >>> isinstance(result, LsqrResult), int(result.istop)
    (True, 1)
    """

    x: Any
    istop: Any
    itn: Any
    r1norm: Any
    r2norm: Any
    anorm: Any
    arnorm: Any
    xnorm: Any


class _State(NamedTuple):
    x: Any
    w: Any
    u: Any
    v: Any
    alpha: Any
    rho: Any
    phi: Any
    total: Any     # the square of A's Frobenius norm so far
    gradient: Any  # norm of A^H r
    damped: Any    # the square of what damping adds to the residual
    steps: Any


def _norm(x: Any) -> Any:
    return jnp.sqrt(square_norm(x))


def _unit(x: Any) -> tuple[Any, Any]:
    size = _norm(x)
    return x / jnp.where(size == 0, 1, size).astype(x.dtype), size


def _bidiagonalized(A: LinearOperator, b: Any, x0: Any, damp: Any, atol: float, btol: float, most: int) -> _State:
    """C. C. Paige and M. A. Saunders, "LSQR: an algorithm for sparse linear equations and sparse least squares" (1982)."""
    size = _norm(b)
    u, beta = _unit(b - A.matvec(x0))
    v, alpha = _unit(A.rmatvec(u))
    eps = float(jnp.finfo(b.dtype).eps)
    atol, btol = max(atol, 2 * eps), max(btol, 2 * eps)

    def residual(s: _State) -> Any:
        return jnp.sqrt(s.phi * s.phi + s.damped)

    def unfinished(s: _State) -> Any:
        frame, rest = jnp.sqrt(s.total), residual(s)
        solved = rest <= btol * size + atol * frame * _norm(s.x)
        return ~solved & (s.gradient > atol * frame * rest) & (s.steps < most) & (s.phi != 0)

    def step(s: _State) -> _State:
        u, beta = _unit(A.matvec(s.v) - s.alpha.astype(s.u.dtype) * s.u)
        v, alpha = _unit(A.rmatvec(u) - beta.astype(s.v.dtype) * s.v)
        total = s.total + s.alpha * s.alpha + beta * beta + damp * damp
        # the damping, and then the subdiagonal, are rotated away
        bar = jnp.hypot(s.rho, damp)
        phi, lost = s.rho / bar * s.phi, damp / bar * s.phi
        rho = jnp.hypot(bar, beta)
        c, d = bar / rho, beta / rho
        x = s.x + (c * phi / rho).astype(s.x.dtype) * s.w
        w = v - (d * alpha / rho).astype(s.x.dtype) * s.w
        rest = d * phi
        slope, damped = alpha * jnp.abs(c * rest), s.damped + lost * lost
        return _State(x, w, u, v, alpha, -c * alpha, rest, total, slope, damped, s.steps + 1)

    zero = jnp.zeros((), beta.dtype)
    start = _State(x0, v, u, v, alpha, alpha, beta, alpha * alpha, alpha * beta, zero, 0)
    return while_loop(unfinished, step, start)


def lsqr(A: Any, b: Any, damp: Any = 0.0, atol: float = 1e-6, btol: float = 1e-6, iter_lim: int | None = None,
         x0: Any = None) -> LsqrResult:
    """The x of least |b - A x|^2 + damp^2 |x - x0|^2, by Golub and Kahan's bidiagonalization (Paige, Saunders 1982).

    A: matrix of any shape, or a LinearOperator, of full column rank where derivatives are taken and damp is 0. b: a vector.
    atol, btol: relative tolerances of A and b. iter_lim: most iterations, twice the number of columns by default. x0: first
    guess, 0 by default. x has the derivatives of the solution with respect to A, b and damp, by another solve; works
    under jit and vmap. ValueError for shapes that do not fit.

    >>> import numjet.numpy as jnp
    >>> lsqr(jnp.array([[1.0, 0.0], [0.0, 2.0], [0.0, 0.0]]), jnp.array([1.0, 4.0, 5.0])).x.round(4).tolist()
    [1.0, 2.0]
    """
    A = aslinearoperator(A)
    (b,) = promote_dtypes_inexact(array_arg("lsqr", b))
    if b.ndim == 2 and b.shape[1] == 1:
        b = b[:, 0]
    if b.shape != (A.shape[0],):
        raise ValueError(f"lsqr: expected b as a vector of {A.shape[0]} elements for A of the shape {A.shape}, got {b.shape}")
    dtype = dtypes.common_dtype(b.dtype, A.dtype)
    b = b.astype(dtype)
    start = jnp.zeros(A.shape[1], dtype) if x0 is None else jnp.asarray(x0, dtype)
    if start.shape != (A.shape[1],):
        raise ValueError(f"lsqr: expected x0 of the shape {(A.shape[1],)}, got {start.shape}")
    most = 2 * A.shape[1] if iter_lim is None else int(iter_lim)
    damp = jnp.asarray(damp, jnp.zeros(0, dtype).real.dtype)

    def slope(x: Any) -> Any:
        return A.rmatvec(A.matvec(x) - b) + (damp * damp).astype(dtype) * (x - start)

    def solve(_: Any, guess: Any) -> tuple[Any, Any]:
        s = _bidiagonalized(A, b, guess, damp, atol, btol, most)
        return s.x, (s.steps, s.phi, s.damped, s.total)

    def definite(g: Any, y: Any) -> Any:
        tolerated = jnp.square(jnp.finfo(dtype).eps * 10) * square_norm(y)
        return _cg(Problem(g, y, jnp.zeros_like(y), lambda v: v, tolerated, 10 * y.size))

    def tangent_solve(g: Any, y: Any) -> Any:
        return custom_linear_solve(g, y, definite, definite)

    x, (steps, phi, damped, total) = custom_root(slope, start, solve, tangent_solve, has_aux=True)
    rest = b - A.matvec(x)
    gradient = _norm(A.rmatvec(rest) - (damp * damp).astype(dtype) * (x - start))
    first = _norm(rest)
    solved = first <= btol * _norm(b) + atol * jnp.sqrt(total) * _norm(x)
    istop = jnp.where(square_norm(b) == 0, 0, jnp.where(solved, 1, jnp.where(steps >= most, 7, 2)))
    return LsqrResult(x, istop, steps, first, jnp.sqrt(phi * phi + damped), jnp.sqrt(total), gradient, _norm(x))
