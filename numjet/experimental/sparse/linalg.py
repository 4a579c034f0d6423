"""Sparse linear algebra: direct solution of systems, and largest eigenvalues."""
from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import numjet.numpy as jnp
from numjet import lax
from numjet.api.stages import eval_shape
from numjet.control.custom.solve import custom_linear_solve
from numjet.control.host.callback import pure_callback
from numjet.core.aval import ShapedArray
from numjet.experimental.sparse.composed import composed
from numjet.experimental.sparse.csr import csr_matvec_p
from numjet.foundation import lazy_import

_sparse = lazy_import.Module("scipy.sparse")
_solvers = lazy_import.Module("scipy.sparse.linalg")

# ------------------------------------------------------------------------------------------------ systems


def _solved(transpose: bool, data: Any, indices: Any, indptr: Any, b: Any) -> np.ndarray:
    """The solution by SciPy's SuperLU."""
    size = len(b)
    matrix = _sparse.csr_matrix(tuple(map(np.asarray, (data, indices, indptr))), shape=(size, size))
    return _solvers.spsolve(matrix.T.tocsc() if transpose else matrix.tocsc(), np.asarray(b)).astype(b.dtype)


@composed("spsolve")
def spsolve_p(data: Any, indices: Any, indptr: Any, b: Any, *, tol: float, reorder: int) -> Any:
    """The solution of a square system with a CSR matrix."""
    def solve(transpose: bool, _: Any, rhs: Any) -> Any:
        host = functools.partial(_solved, transpose)
        return pure_callback(host, ShapedArray(rhs.shape, rhs.dtype), data, indices, indptr, rhs, vmap_method="sequential")

    def matvec(x: Any) -> Any:
        return csr_matvec_p.fun(data, indices, indptr, x, shape=(b.size, b.size), transpose=False)
    return custom_linear_solve(matvec, b, functools.partial(solve, False), functools.partial(solve, True))


def spsolve(data: Any, indices: Any, indptr: Any, b: Any, tol: float = 1e-6, reorder: int = 1) -> Any:
    """Direct solution of a square system by sparse LU factorization, with SciPy.

    Args:
      data, indices, indptr: the CSR matrix. The solution is differentiable with respect to data and b.
      b: the right-hand side, a vector.
      tol, reorder: hints for solvers on GPUs: how small a pivot is zero, and how to order columns.

    Returns:
      The solution; NaNs and a warning of SciPy for a singular matrix. Under vmap systems are solved one by one.

    Raises:
      ValueError: shapes or dtypes of data and b do not fit. TypeError: their dtype is not inexact.

    >>> import numjet.numpy as jnp
    >>> from numjet.experimental import sparse
    >>> m = sparse.CSR.fromdense(jnp.array([[2.0, 0.0], [0.0, 4.0]]))
    >>> sparse.linalg.spsolve(m.data, m.indices, m.indptr, jnp.array([2.0, 8.0])).tolist()
    [1.0, 2.0]
    """
    data, indices, indptr, b = map(jnp.asarray, (data, indices, indptr, b))
    if b.ndim != 1 or data.ndim != 1 or data.shape != indices.shape or indptr.shape != (b.size + 1,):
        raise ValueError("spsolve: expected data and indices of one shape [nse], indptr [n + 1] and b [n], got "
                         f"{data.shape}, {indices.shape}, {indptr.shape}, {b.shape}")
    if data.dtype != b.dtype:
        raise ValueError(f"spsolve: data types do not match: {data.dtype=}, {b.dtype=}")
    if not jnp.issubdtype(data.dtype, jnp.inexact):
        raise TypeError(f"spsolve: expected an inexact dtype, got {data.dtype}; convert data and b to floats, which the "
                        "solution consists of")
    return spsolve_p.bind(data, indices, indptr, b, tol=float(tol), reorder=int(reorder))


# ------------------------------------------------------------------------------------------------ eigenvalues

class _State(NamedTuple):
    """After i iterations: orthonormal vectors, their products with A, directions of the last step, Ritz values."""
    vectors: Any
    products: Any
    directions: Any
    values: Any
    i: Any
    converged: Any


def _dot(a: Any, b: Any) -> Any:
    return jnp.matmul(a, b, precision="highest")


def _orthonormal(u: Any) -> Any:
    """An orthonormal basis of the columns, with zeros in place of those that depend on others (SVQB: Stathopoulos and Wu
    2002)."""
    norms = jnp.sqrt(jnp.sum(jnp.abs(u) ** 2, 0, keepdims=True))
    u = u / jnp.where(norms == 0, 1, norms).astype(u.dtype)
    w, v = jnp.linalg.eigh(_dot(u.T.conj(), u))
    keep = w > 10 * u.shape[0] * jnp.finfo(u.dtype).eps * jnp.max(w, initial=0)
    return _dot(u, v) * jnp.where(keep, 1 / jnp.sqrt(jnp.where(keep, w, 1)), 0)[None].astype(u.dtype)


def _orthonormal_to(u: Any, basis: Any) -> Any:
    """The same, of what is orthogonal to a basis; each twice against rounding."""
    for _ in range(2):
        u = _orthonormal(u - _dot(basis, _dot(basis.T.conj(), u)))
    return u


def _top(products: Any, basis: Any, k: int) -> tuple[Any, Any]:
    """The k largest Ritz values and their coefficients; columns of the basis that are zero do not count."""
    t = _dot(basis.T.conj(), products)
    t = (t + t.T.conj()) / 2
    empty = jnp.sum(jnp.abs(basis) ** 2, 0) < 0.5
    below = -2 * t.shape[0] * jnp.max(jnp.abs(t)) - 1
    w, v = jnp.linalg.eigh(t + jnp.diag(jnp.where(empty, below, 0)).astype(t.dtype))
    return w[::-1][:k], v[:, ::-1][:, :k]


def lobpcg_standard(A: Any, X: Any, m: int = 100, tol: Any = None) -> tuple[Any, Any, Any]:
    """Locally optimal block preconditioned conjugate gradients: the largest eigenvalues of a Hermitian matrix.

    Knyazev 2001, with an orthonormal basis in every step (Duersch, Shao, Yang and Gu 2018). It has no derivatives.

    Args:
      A: the matrix [n, n], dense or sparse, or a function of vectors [n, k] that gives their products with it.
      X: linearly independent vectors [n, k] to start with, for the k largest eigenvalues; 5 k < n.
      m: the number of iterations at most.
      tol: an eigenvalue has converged when the norm of its residual is below 10 n tol (value + norm of A v); default: the
        dtype's precision.

    Returns:
      (values [k], vectors [n, k], number of iterations), largest first.

    Raises:
      ValueError: shapes or dtypes do not fit, or k is 0 or too large.

    >>> import numjet.numpy as jnp
    >>> values, vectors, _ = lobpcg_standard(jnp.diag(jnp.arange(20.0)), jnp.eye(20)[:, :2] + 0.1)
    >>> values.round(3).tolist()
    [19.0, 18.0]
    """
    X = jnp.asarray(X)
    if X.ndim != 2:
        raise ValueError(f"lobpcg_standard: X must have the shape [n, k], got {X.shape}")
    n, k = X.shape
    if k == 0:
        raise ValueError(f"must have search dim > 0, got {k}")
    if k * 5 >= n:
        raise ValueError(f"expected search dim * 5 < matrix dim (got {k * 5}, {n})")
    apply = _checked_products(A, X) if callable(A) else _checked_matrix(A, X)
    eps = jnp.finfo(X.dtype).eps if tol is None else tol
    start = _orthonormal(X)
    values, coefficients = _top(apply(start), start, k)
    start = _dot(start, coefficients)
    state = _State(start, apply(start), jnp.zeros_like(X), values, jnp.asarray(0), jnp.zeros(k, bool))
    step = functools.partial(_step, apply, eps)
    end = lax.while_loop(lambda s: (s.i < m) & ~s.converged.all(), step, state)
    return end.values, end.vectors, end.i


def _checked_products(A: Callable[[Any], Any], X: Any) -> Callable[[Any], Any]:
    found = eval_shape(A, X)
    if found.shape != X.shape or found.dtype != X.dtype:
        raise ValueError(f"lobpcg_standard: A(X), X must have the same shape, and A, X must have same dtypes; got "
                         f"{found.shape} {found.dtype} and {X.shape} {X.dtype}")
    return A


def _checked_matrix(A: Any, X: Any) -> Callable[[Any], Any]:
    n = X.shape[0]
    if A.shape != (n, n):
        raise ValueError(f"lobpcg_standard: A must be {(n, n)} matrix with X of shape {X.shape}, got {A.shape}")
    if A.dtype != X.dtype:
        raise ValueError(f"lobpcg_standard: A, X must have same dtypes, got {A.dtype} and {X.dtype}")
    return lambda x: A @ x


def _step(apply: Callable[[Any], Any], eps: Any, s: _State) -> _State:
    """The best vectors among the old ones, their residuals and the last step."""
    n, k = s.vectors.shape
    residual = s.products - s.vectors * s.values[None].astype(s.vectors.dtype)
    residual = _orthonormal_to(residual, s.vectors)
    basis = jnp.concatenate([s.vectors, residual], 1)
    basis = jnp.concatenate([basis, _orthonormal_to(s.directions, basis)], 1)
    values, coefficients = _top(apply(basis), basis, k)
    vectors = _orthonormal(_dot(basis, coefficients))
    products = apply(vectors)
    values, rotation = _top(products, vectors, k)
    vectors, products = _dot(vectors, rotation), _dot(products, rotation)
    error = jnp.linalg.norm(products - vectors * values[None].astype(vectors.dtype), axis=0)
    scale = 10 * n * (jnp.abs(values) + jnp.linalg.norm(products, axis=0))
    return _State(vectors, products, _dot(basis[:, k:], coefficients[k:]), values, s.i + 1, error <= eps * scale)
