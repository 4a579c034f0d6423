"""Solvers for matrices of any kind."""
from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import numjet.numpy as jnp
from numjet.api.stages import eval_shape
from numjet.control.loops.while_loop import fori_loop, while_loop
from numjet.foundation import dtypes, tree
from numjet.lax.contraction.precision import Precision
from numjet.lax.elementwise import convert
from numjet.lax.linalg import triangular_solve
from numjet.scipy.sparse.linalg.systems import Problem, Solver, as_function, dot, scaled, solve_implicitly, square_norm


def _solve(name: str, solver: Solver, A: Any, b: Any, x0: Any, tol: Any, atol: Any, maxiter: Any, M: Any) -> Any:
    """The x with A x = b; its weak types are those of A b, so that Python numbers do not decide the dtypes of what follows."""
    x = solve_implicitly(name, solver, A, b, x0, tol, atol, maxiter, M, False)
    if not any(map(dtypes.is_weakly_typed, tree.tree_leaves(b))):
        return x
    image = eval_shape(as_function(name, A, "A"), b)
    return tree.tree_map(lambda leaf, like: convert.convert_dtype(leaf, weak_type=like.weak_type), x, image)

# -------------------------------------------------------------------------------------------- BiCGSTAB


class _State(NamedTuple):
    x: Any
    residual: Any
    direction: Any
    image: Any       # A M direction
    alpha: Any
    omega: Any
    rho: Any
    steps: Any
    broken: Any      # a denominator was 0: the next step would divide by it


def _divided(a: Any, b: Any) -> Any:
    """a / b, 0 where b is 0."""
    return jnp.where(b == 0, 0, a / jnp.where(b == 0, 1, b))


def _bicgstab(problem: Problem) -> Any:
    """Van der Vorst 1992, "Bi-CGSTAB: a fast and smoothly converging variant of Bi-CG"."""
    matvec, b, x0, precondition, tolerated, maxiter = problem
    shadow = b - matvec(x0)

    def unfinished(s: _State) -> Any:
        return (square_norm(s.residual) > tolerated) & (s.steps < maxiter) & ~s.broken

    def step(s: _State) -> _State:
        rho = dot(shadow, s.residual)
        beta = _divided(rho, s.rho) * _divided(s.alpha, s.omega)
        direction = s.residual + beta * (s.direction - s.omega * s.image)
        near = precondition(direction)
        image = matvec(near)
        alpha = _divided(rho, dot(shadow, image))
        half = s.residual - alpha * image
        near_half = precondition(half)
        turned = matvec(near_half)
        omega = _divided(dot(turned, half), dot(turned, turned))
        x = s.x + alpha * near + omega * near_half
        broken = (rho == 0) | (alpha == 0) | (omega == 0)
        return _State(x, half - omega * turned, direction, image, alpha, omega, rho, s.steps + 1, broken)

    one, zeros = jnp.ones((), b.dtype), jnp.zeros_like(b)
    return while_loop(unfinished, step, _State(x0, shadow, zeros, zeros, one, one, one, 0, jnp.asarray(False))).x


def bicgstab(A: Any, b: Any, x0: Any = None, *, tol: Any = 1e-5, atol: Any = 0.0, maxiter: int | None = None,
             M: Any = None) -> tuple[Any, None]:
    """Bi-conjugate gradients, stabilized: the x with A x = b for any regular A, and None.

    Arguments, derivatives and errors as of cg; M need not be Hermitian.

    >>> import numjet.numpy as jnp
    >>> x, _ = bicgstab(jnp.array([[2.0, 1.0], [0.0, 4.0]]), jnp.array([4.0, 8.0]))
    >>> x.round(4).tolist()
    [1.0, 2.0]
    """
    return _solve("bicgstab", _bicgstab, A, b, x0, tol, atol, maxiter, M), None


# -------------------------------------------------------------------------------------------- GMRES

def _product(a: Any, b: Any) -> Any:
    return jnp.matmul(a, b, precision=Precision.HIGHEST)


def _next_vector(basis: Any, w: Any) -> tuple[Any, Any, Any]:
    """w orthonormalized against the rows of basis, its coefficients, and what remained of its norm.

    Gram-Schmidt is done twice, which is enough: Giraud, Langou, Rozloznik 2005. A rest that is rounding counts as 0."""
    size = jnp.sqrt(square_norm(w))
    first = _product(jnp.conj(basis), w)
    w = w - _product(first, basis)
    second = _product(jnp.conj(basis), w)
    w = w - _product(second, basis)
    rest = jnp.sqrt(square_norm(w))
    rest = jnp.where(rest > jnp.finfo(w.dtype).eps * size, rest, 0)
    return scaled(_divided(1, rest), w), first + second, rest


class _Krylov(NamedTuple):
    basis: Any       # rows: orthonormal vectors, zeros from `steps` + 1 on
    triangle: Any    # rows: columns of R, the Hessenberg matrix after rotations; unit diagonal where not yet computed
    rotations: Any   # (cosine, sine) of each step
    rhs: Any         # Q^H (norm of the residual) e_1: its entry number `steps` is the norm that is left
    steps: Any


def _rotate(rotations: Any, column: Any, steps: Any) -> Any:
    def turn(i: Any, c: Any) -> Any:
        cosine, sine = rotations[i, 0], rotations[i, 1]
        a, b = c[i], c[i + 1]
        return c.at[i].set(jnp.conj(cosine) * a + jnp.conj(sine) * b).at[i + 1].set(cosine * b - sine * a)
    return fori_loop(0, steps, turn, column)


def _givens(a: Any, b: Any) -> Any:
    """The rotation (c, s) of (a, b) to (norm, 0): conj(c) a + conj(s) b = norm, c b - s a = 0."""
    norm = jnp.sqrt(jnp.real(a * jnp.conj(a)) + jnp.real(b * jnp.conj(b)))
    one, norm = jnp.ones_like(a), norm.astype(a.dtype)
    return jnp.stack([jnp.where(norm == 0, one, _divided(a, norm)), jnp.where(norm == 0, 0, _divided(b, norm))])


def _extend(operator: Callable[[Any], Any], s: _Krylov) -> _Krylov:
    """One Arnoldi step; the new column of the Hessenberg matrix is rotated to that of a triangle."""
    k = s.steps
    vector, column, rest = _next_vector(s.basis, operator(s.basis[k]))
    column = _rotate(s.rotations, column.at[k + 1].set(rest.astype(column.dtype)), k)
    turn = _givens(column[k], column[k + 1])
    rotations = s.rotations.at[k].set(turn)
    column = jnp.where(jnp.arange(column.size) > k, 0, _rotate_last(column, turn, k))
    basis, triangle = s.basis.at[k + 1].set(vector), s.triangle.at[k].set(column[:-1])
    return _Krylov(basis, triangle, rotations, _rotate_last(s.rhs, turn, k), k + 1)


def _rotate_last(column: Any, turn: Any, k: Any) -> Any:
    a, b = column[k], column[k + 1]
    return column.at[k].set(jnp.conj(turn[0]) * a + jnp.conj(turn[1]) * b).at[k + 1].set(turn[0] * b - turn[1] * a)


def _cycle(operator: Callable[[Any], Any], residual: Any, restart: int, tolerated: Any) -> Any:
    """The correction in the Krylov space of the residual that leaves least of it. Ends early when that is tolerated."""
    norm = jnp.sqrt(square_norm(residual))
    dtype, n = residual.dtype, residual.size
    start = _Krylov(jnp.zeros((restart + 1, n), dtype).at[0].set(scaled(_divided(1, norm), residual)),
                    jnp.eye(restart, dtype=dtype), jnp.zeros((restart, 2), dtype),
                    jnp.zeros(restart + 1, dtype).at[0].set(norm.astype(dtype)), 0)

    def unfinished(s: _Krylov) -> Any:
        return (s.steps < restart) & (square_norm(s.rhs[s.steps]) > tolerated)

    s = while_loop(unfinished, lambda s: _extend(operator, s), start)
    rhs = jnp.where(jnp.arange(restart) < s.steps, s.rhs[:-1], 0)
    diagonal = jnp.diagonal(s.triangle)
    singular = diagonal == 0    # the operator has no inverse: leave out what it maps to nothing
    triangle = s.triangle + jnp.diag(jnp.where(singular, 1, 0).astype(dtype))
    weights = triangular_solve(triangle.T, jnp.where(singular, 0, rhs)[:, None], left_side=True, lower=False)[:, 0]
    return _product(weights, s.basis[:-1])


def _gmres(restart: int) -> Callable[[Problem], Any]:
    def solve(problem: Problem) -> Any:
        matvec, b, x0, precondition, tolerated, maxiter = problem
        size = min(restart, b.size)

        def unfinished(state: Any) -> Any:
            _, residual, steps, improves = state
            return (square_norm(residual) > tolerated) & (steps < maxiter) & improves

        def cycle(state: Any) -> Any:
            x, residual, steps, _ = state
            x = x + precondition(_cycle(lambda v: matvec(precondition(v)), residual, size, tolerated))
            rest = b - matvec(x)
            return x, rest, steps + 1, square_norm(rest) < square_norm(residual)
        return while_loop(unfinished, cycle, (x0, b - matvec(x0), 0, jnp.asarray(True)))[0] if b.size else x0
    return solve


def gmres(A: Any, b: Any, x0: Any = None, *, tol: Any = 1e-5, atol: Any = 0.0, restart: int = 20, maxiter: int | None = None,
          M: Any = None, solve_method: str = "batched") -> tuple[Any, Any]:
    """Generalized minimal residuals (Saad, Schultz 1986), restarted: the x with A x = b for any regular A, and 0.

    Instead of 0 the second result is -1 where x is NaN.

    restart: vectors of a Krylov space; each of at most maxiter cycles (default 10 times the size of b) builds one, and
    ends early when the residual is tolerated. M: right preconditioner, so that tolerances are about b - A x. solve_method:
    'incremental' or 'batched', a hint: the triangle is updated at each step in both cases. Other arguments, derivatives
    and errors as of cg.

    >>> import numjet.numpy as jnp
    >>> x, _ = gmres(jnp.array([[2.0, 1.0], [0.0, 4.0]]), jnp.array([4.0, 8.0]))
    >>> x.round(4).tolist()
    [1.0, 2.0]
    """
    if solve_method not in ("incremental", "batched"):
        raise ValueError(f"invalid solve_method {solve_method}, must be either 'incremental' or 'batched'")
    if restart < 1:
        raise ValueError(f"gmres: restart must be at least 1, got {restart}")
    x = _solve("gmres", _gmres(restart), A, b, x0, tol, atol, maxiter, M)
    lost = functools.reduce(jnp.logical_or, [jnp.isnan(leaf).any() for leaf in tree.tree_leaves(x)], False)
    return x, jnp.where(lost, -1, 0)
