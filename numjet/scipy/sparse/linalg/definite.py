"""Solvers for Hermitian matrices."""
from __future__ import annotations

from typing import Any, NamedTuple

import numjet.numpy as jnp
from numjet.control.loops.while_loop import while_loop
from numjet.scipy.sparse.linalg.systems import Problem, dot, scaled, solve_implicitly, square_norm


class _State(NamedTuple):
    x: Any
    residual: Any
    direction: Any
    gamma: Any      # residual^H M residual
    steps: Any


def _cg(problem: Problem) -> Any:
    """Hestenes and Stiefel 1952, "Methods of conjugate gradients for solving linear systems"."""
    matvec, b, x0, precondition, tolerated, maxiter = problem

    def unfinished(s: _State) -> Any:
        return (square_norm(s.residual) > tolerated) & (s.steps < maxiter)

    def step(s: _State) -> _State:
        image = matvec(s.direction)
        length = s.gamma / jnp.real(dot(s.direction, image))
        x, residual = s.x + scaled(length, s.direction), s.residual - scaled(length, image)
        z = precondition(residual)
        gamma = jnp.real(dot(residual, z))
        return _State(x, residual, z + scaled(gamma / s.gamma, s.direction), gamma, s.steps + 1)

    residual = b - matvec(x0)
    z = precondition(residual)
    return while_loop(unfinished, step, _State(x0, residual, z, jnp.real(dot(residual, z)), 0)).x


def cg(A: Any, b: Any, x0: Any = None, *, tol: Any = 1e-5, atol: Any = 0.0, maxiter: int | None = None,
       M: Any = None) -> tuple[Any, None]:
    """Conjugate gradients: the x with A x = b for a Hermitian, positive definite A, and None.

    A: square matrix, or linear function of pytrees like b. x0: first guess, default 0. The iteration ends when norm(b - A x)
    <= max(tol norm(b), atol), or after maxiter steps (default 10 times the size of b). M: Hermitian approximation of the
    inverse of A, given like A. Derivatives with respect to A and b come from another solve. Errors for shapes that do not
    fit.

    >>> import numjet.numpy as jnp
    >>> x, _ = cg(lambda v: jnp.array([2.0, 4.0]) * v, jnp.array([2.0, 8.0]))
    >>> x.round(4).tolist()
    [1.0, 2.0]
    """
    return solve_implicitly("cg", _cg, A, b, x0, tol, atol, maxiter, M, True), None


# -------------------------------------------------------------------------------------------- indefinite matrices

class _Lanczos(NamedTuple):
    """Paige and Saunders's variables: the solution, two directions, two Lanczos vectors and M times the newer one, and the
    rotations of the tridiagonal matrix."""

    x: Any
    before: Any
    direction: Any
    older: Any
    newer: Any
    image: Any
    beta: Any
    last_beta: Any
    bar: Any
    epsilon: Any
    rest: Any
    cosine: Any
    sine: Any
    steps: Any


def _minres(problem: Problem) -> Any:
    """C. C. Paige and M. A. Saunders, "Solution of sparse indefinite systems of linear equations" (1975)."""
    matvec, b, x0, precondition, tolerated, maxiter = problem
    safe = lambda v: jnp.where(v == 0, 1, v)

    def step(s: _Lanczos) -> _Lanczos:
        v = s.image / safe(s.beta).astype(b.dtype)
        y = matvec(v)
        y = y - scaled(jnp.where(s.steps == 0, 0, s.beta / safe(s.last_beta)), s.older)
        alpha = jnp.real(dot(v, y))
        newer = y - scaled(alpha / safe(s.beta), s.newer)
        image = precondition(newer)
        beta = jnp.sqrt(jnp.maximum(jnp.real(dot(newer, image)), 0))
        delta, gap = s.cosine * s.bar + s.sine * alpha, s.sine * s.bar - s.cosine * alpha
        gamma = safe(jnp.hypot(gap, beta))
        cosine, sine = gap / gamma, beta / gamma
        w = (v - scaled(s.epsilon, s.before) - scaled(delta, s.direction)) / gamma.astype(b.dtype)
        return _Lanczos(s.x + scaled(cosine * s.rest, w), s.direction, w, s.newer, newer, image, beta, s.beta, -s.cosine * beta,
                        s.sine * beta, sine * s.rest, cosine, sine, s.steps + 1)

    residual = b - matvec(x0)
    image = precondition(residual)
    beta = jnp.sqrt(jnp.maximum(jnp.real(dot(residual, image)), 0))
    # the norm that is minimized is that of M: relative to its first value, as the tolerated norm is to that of b
    share = square_norm(residual) / safe(beta * beta)
    zeros, zero = jnp.zeros_like(b), jnp.zeros_like(beta)
    start = _Lanczos(x0, zeros, zeros, residual, residual, image, beta, zero, zero, zero, beta, zero - 1, zero, 0)
    unfinished = lambda s: (jnp.square(s.rest) * share > tolerated) & (s.steps < maxiter) & (s.beta > 0)
    return while_loop(unfinished, step, start).x


def minres(A: Any, b: Any, x0: Any = None, *, tol: Any = 1e-5, atol: Any = 0.0, maxiter: int | None = None,
           M: Any = None) -> tuple[Any, None]:
    """Minimal residuals: the x with A x = b for a Hermitian A, which may be indefinite, and None.

    Paige and Saunders 1975. M: Hermitian, positive definite approximation of the inverse of A; tolerances are then about the
    norm of the residual that M gives, relative to its first value. Other arguments, derivatives and errors as of cg.

    >>> import numjet.numpy as jnp
    >>> x, _ = minres(lambda v: jnp.array([2.0, -4.0]) * v, jnp.array([2.0, 8.0]))
    >>> x.round(4).tolist()
    [1.0, -2.0]
    """
    return solve_implicitly("minres", _minres, A, b, x0, tol, atol, maxiter, M, True), None
