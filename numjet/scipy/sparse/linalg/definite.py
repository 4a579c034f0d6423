"""Solvers for Hermitian matrices."""
from __future__ import annotations

from typing import Any, NamedTuple

import numjet.numpy as jnp
from numjet.control.loops.while_loop import while_loop
from numjet.scipy.sparse.linalg.systems import Problem, dot, solve_implicitly, square_norm


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
        x, residual = s.x + length * s.direction, s.residual - length * image
        z = precondition(residual)
        gamma = jnp.real(dot(residual, z))
        return _State(x, residual, z + gamma / s.gamma * s.direction, gamma, s.steps + 1)

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
