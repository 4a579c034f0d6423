"""Few eigenvalues of Hermitian operators and few singular values, by Lanczos's method with thick restarts.

K. Wu and H. Simon, "Thick-restart Lanczos method for large symmetric eigenvalue problems" (2000). A basis of ncv vectors grows
by products with A, each orthogonalized against all before it. Then the wanted Ritz vectors, and some more, start the next
basis. Derivatives come from the equation A x = x lambda, |x| = 1, which the results solve, not from the iteration.
"""
from __future__ import annotations

import functools
import operator
from typing import Any, NamedTuple

import numpy as np

import numjet.numpy as jnp
from numjet import random
from numjet.api.jit import jit
from numjet.api.vmap import vmap
from numjet.control.branches.cond import cond
from numjet.control.custom.solve import custom_linear_solve, custom_root
from numjet.control.loops.while_loop import fori_loop, while_loop
from numjet.foundation import dtypes
from numjet.lax import stop_gradient
from numjet.scipy.linalg.products import exact_product
from numjet.scipy.sparse.linalg.definite import _minres
from numjet.scipy.sparse.linalg.operators import LinearOperator, aslinearoperator
from numjet.scipy.sparse.linalg.systems import Problem, square_norm

_ORDERS = {  # the place of an eigenvalue in the order of which are wanted, the most wanted last
    "LM": jnp.abs, "SM": lambda v: -jnp.abs(v), "LA": lambda v: v, "SA": lambda v: -v,
}


class _Basis(NamedTuple):
    """Orthonormal vectors [n, ncv + 1], the projection of A on them, Ritz values and vectors, their residuals, restarts."""

    vectors: Any
    projected: Any
    values: Any
    rotation: Any
    residuals: Any
    restarts: Any


def _orthogonal(vectors: Any, w: Any) -> tuple[Any, Any]:
    """w without its parts along the vectors, and these: by Gram and Schmidt's method twice (W. Kahan's "twice is enough")."""
    parts = exact_product(jnp.conj(vectors.T), w)
    w = w - exact_product(vectors, parts)
    rest = exact_product(jnp.conj(vectors.T), w)
    return w - exact_product(vectors, rest), parts + rest


def _grown(A: LinearOperator, start: Any, vectors: Any, projected: Any) -> tuple[Any, Any, Any]:
    """A full basis from one of which the columns up to `start` are there: vectors, projection, norm of the last remainder."""
    eps = jnp.finfo(vectors.dtype).eps
    other = lambda j: random.normal(random.fold_in(random.key(7), j), (vectors.shape[0],), vectors.dtype)

    def step(j: Any, state: tuple[Any, Any, Any]) -> tuple[Any, Any, Any]:
        vectors, projected, _ = state
        image = A.matvec(vectors[:, j]).astype(vectors.dtype)
        w, parts = _orthogonal(vectors, image)
        size = jnp.sqrt(square_norm(w))
        closed = size <= 10 * eps * jnp.sqrt(square_norm(image))  # the space is invariant: go on with any other vector
        fresh = cond(closed, lambda: _orthogonal(vectors, other(j))[0], lambda: w)
        length = jnp.sqrt(square_norm(fresh))
        fresh = jnp.where(length > eps, fresh / jnp.where(length > eps, length, 1).astype(w.dtype), 0)
        return (vectors.at[:, j + 1].set(fresh), projected.at[:, j].set(parts[:-1]),
                jnp.where(closed, 0, size).astype(size.dtype))
    norm = jnp.zeros((), jnp.finfo(vectors.dtype).dtype)
    return fori_loop(start, projected.shape[0], step, (vectors, projected, norm))


def _ritz(A: LinearOperator, order: Any, start: Any, vectors: Any, projected: Any, restarts: Any) -> _Basis:
    vectors, projected, norm = _grown(A, start, vectors, projected)
    upper = jnp.triu(projected, 1)
    hermitian = upper + jnp.conj(upper.T) + jnp.diag(jnp.real(jnp.diagonal(projected))).astype(projected.dtype)
    values, rotation = jnp.linalg.eigh(hermitian)
    wanted = jnp.argsort(order(values), stable=True)[::-1]
    values, rotation = values[wanted], rotation[:, wanted]
    return _Basis(vectors, projected, values, rotation, norm * jnp.abs(rotation[-1]), restarts + 1)


def _thick_restarts(A: LinearOperator, order: Any, k: int, ncv: int, v0: Any, tol: float, maxiter: int) -> tuple[Any, Any]:
    """The k most wanted eigenvalues, and their vectors [n, k]."""
    kept = min(k + (ncv - k) // 2, ncv - 1)
    limit = max(tol, 2 * float(jnp.finfo(v0.dtype).eps))

    def unfinished(s: _Basis) -> Any:
        size = jnp.maximum(jnp.abs(s.values[:k]), float(jnp.finfo(v0.dtype).eps) ** (2 / 3) * jnp.max(jnp.abs(s.values)))
        return jnp.any(s.residuals[:k] > limit * size) & (s.restarts < maxiter)

    def restart(s: _Basis) -> _Basis:
        ritz = exact_product(s.vectors[:, :-1], s.rotation[:, :kept])
        vectors = jnp.zeros_like(s.vectors).at[:, :kept].set(ritz).at[:, kept].set(s.vectors[:, -1])
        projected = jnp.zeros_like(s.projected).at[jnp.arange(kept), jnp.arange(kept)].set(
            s.values[:kept].astype(s.projected.dtype))
        return _ritz(A, order, kept, vectors, projected, s.restarts)

    first = jnp.zeros((v0.shape[0], ncv + 1), v0.dtype).at[:, 0].set(v0 / jnp.sqrt(square_norm(v0)).astype(v0.dtype))
    found = while_loop(unfinished, restart, _ritz(A, order, 0, first, jnp.zeros((ncv, ncv), v0.dtype), 0))
    return found.values[:k], exact_product(found.vectors[:, :-1], found.rotation[:, :k])


# -------------------------------------------------------------------------------------------- derivatives

def _implicit(A: LinearOperator, value: Any, vector: Any) -> tuple[Any, Any]:
    """An eigenvalue and its vector as functions of A: the root of A x + mu x = 0, v^H x = 1, mu = -lambda."""
    fixed = stop_gradient(vector)
    eps = float(jnp.finfo(vector.dtype).eps)

    def equation(z: Any) -> Any:
        x, mu = z[:-1], z[-1]
        return jnp.concatenate([A.matvec(x).astype(x.dtype) + mu * x, (jnp.vdot(fixed, x) - 1)[None]])

    def solve(g: Any, y: Any) -> Any:   # the derivative is Hermitian, and indefinite
        tolerated = jnp.square(10 * eps) * square_norm(y)
        return _minres(Problem(g, y, jnp.zeros_like(y), lambda v: v, tolerated, 10 * y.size))

    def tangent_solve(g: Any, y: Any) -> Any:
        return custom_linear_solve(g, y, solve, solve, symmetric=vector.dtype not in dtypes.COMPLEX)

    guess = jnp.concatenate([fixed, -stop_gradient(value).astype(vector.dtype)[None]])
    root = custom_root(equation, guess, lambda _, z: z, tangent_solve)
    x = root[:-1]
    return -jnp.real(root[-1]), x / jnp.sqrt(square_norm(x)).astype(x.dtype)


# -------------------------------------------------------------------------------------------- public functions

def eigsh(A: Any, k: int = 6, which: str = "LM", v0: Any = None, ncv: int | None = None, maxiter: int | None = None,
          tol: float = 0.0, return_eigenvectors: bool = True) -> Any:
    """k eigenvalues of a Hermitian matrix, and their eigenvectors, by products with it: Lanczos with thick restarts.

    A: Hermitian, a matrix or a LinearOperator of the shape [n, n]. k: static, 0 < k < n. which: 'LM' largest in size, 'SM'
    least in size (slow: pass the inverse as a LinearOperator for those near 0), 'LA' largest, 'SA' least. v0: first vector,
    pseudorandom by default. ncv: vectors of the basis, default min(n, max(2 k + 1, 20)). maxiter: most restarts, default 10 n.
    tol: relative tolerance of residuals, default a few machine epsilons. Returns values in ascending order [k] (and vectors [n,
    k]). Derivatives are those of the equation A x = lambda x, for single eigenvalues; under jit and vmap, too. ValueError for
    shapes and numbers that do not fit.

    >>> import numjet.numpy as jnp
    >>> values, vectors = eigsh(jnp.diag(jnp.arange(10.0)), k=2)
    >>> values.round(3).tolist(), vectors.shape
    ([8.0, 9.0], (10, 2))
    """
    op = aslinearoperator(A)
    n, k = op.shape[0], operator.index(k)
    if op.shape != (n, n):
        raise ValueError(f"eigsh: expected a square matrix, got the shape {op.shape}")
    if not 0 < k < n:
        raise ValueError(f"eigsh: expected 0 < k < {n}, the number of rows, got {k}; use jnp.linalg.eigh for all eigenvalues")
    if which not in _ORDERS:
        raise ValueError(f"eigsh: expected which among {', '.join(map(repr, _ORDERS))}, got {which!r}")
    size = min(n, max(2 * k + 1, 20)) if ncv is None else operator.index(ncv)
    if not k < size <= n:
        raise ValueError(f"eigsh: expected {k} < ncv <= {n}, got {size}")
    start = _first(n, op.dtype, v0)
    static = (which, k, size, float(tol), 10 * n if maxiter is None else operator.index(maxiter))
    values, vectors = _pairs(op, start, static) if isinstance(A, LinearOperator) else _pairs_of_matrix(A, start, static)
    return (values, vectors) if return_eigenvectors else values


def _pairs(A: LinearOperator, start: Any, static: Any) -> tuple[Any, Any]:
    """The wanted eigenvalues, ascending, and their vectors, differentiable."""
    which, k, size, tol, most = static
    values, vectors = map(stop_gradient, _thick_restarts(A, _ORDERS[which], k, size, start, tol, most))
    ascending = jnp.argsort(values, stable=True)
    return vmap(lambda v, x: _implicit(A, v, x), (0, 1), (0, 1))(values[ascending], vectors[:, ascending])


@functools.partial(jit, static_argnums=2)
def _pairs_of_matrix(A: Any, start: Any, static: Any) -> tuple[Any, Any]:
    return _pairs(aslinearoperator(A), start, static)


def _first(n: int, dtype: Any, v0: Any) -> Any:
    """The first vector of the basis. TypeError for halves, ValueError for another shape."""
    if np.dtype(dtype).itemsize == 2:
        raise TypeError(f"eigsh: expected a matrix of 32 or 64 bits, got {np.dtype(dtype).name}; convert it by astype")
    if v0 is None:
        return random.normal(random.key(5), (n,), dtype)
    start = jnp.asarray(v0, dtype)
    if start.shape != (n,):
        raise ValueError(f"eigsh: expected v0 of the shape {(n,)}, got {start.shape}")
    return start


def svds(A: Any, k: int = 6, which: str = "LM", v0: Any = None, ncv: int | None = None, maxiter: int | None = None,
         tol: float = 0.0, return_singular_vectors: bool = True) -> Any:
    """k singular values of a matrix, and their vectors, by products with it: eigsh of A^H A, or of A A^H where that is smaller.

    A: a matrix or a LinearOperator [m, n]. k: static, 0 < k < min(m, n). which: 'LM' the largest, 'SM' the least. Small values
    have half of the digits, as squares are iterated. Other arguments, derivatives and errors as of eigsh. Returns (u [m, k], s
    [k], in ascending order, vh [k, n]), or s alone.

    >>> import numjet.numpy as jnp
    >>> svds(jnp.diag(jnp.arange(10.0))[:, :8], k=2)[1].round(3).tolist()
    [6.0, 7.0]
    """
    if which not in ("LM", "SM"):
        raise ValueError(f"svds: expected which 'LM' or 'SM', got {which!r}")
    options = ("LA" if which == "LM" else "SA", k, ncv, maxiter, tol)
    u, s, vh = _triples(A, v0, options) if isinstance(A, LinearOperator) else _triples_of_matrix(A, v0, options)
    return (u, s, vh) if return_singular_vectors else s


def _triples(A: Any, v0: Any, options: Any) -> tuple[Any, Any, Any]:
    """Singular values, ascending, and their vectors."""
    which, k, ncv, maxiter, tol = options
    op = aslinearoperator(A)
    tall = op.shape[0] >= op.shape[1]
    B = op if tall else op.H
    normal = LinearOperator((B.shape[1],) * 2, lambda v: B.rmatvec(B.matvec(v)), dtype=op.dtype)
    squares, right = eigsh(normal, k, which, v0, ncv, maxiter, tol)
    s = jnp.sqrt(jnp.maximum(squares, 0))
    left = B.matmat(right) / jnp.where(s == 0, 1, s)[None].astype(right.dtype)
    return (left, s, jnp.conj(right.T)) if tall else (right, s, jnp.conj(left.T))


_triples_of_matrix = jit(_triples, static_argnums=2)
