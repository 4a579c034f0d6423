"""Methods with the Schur form: complex form, functions of matrices, Sylvester equations; products with Q of QR factors."""
from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

import numjet.numpy as jnp
from numjet.api.jit_when_eager import jit_when_eager
from numjet.api.vmap import vmap
from numjet.control.loops.while_loop import fori_loop
from numjet.foundation import dtypes
from numjet.lax import linalg as lax_linalg
from numjet.scipy.linalg.arguments import check_matrices, inexact
from numjet.scipy.linalg.decompositions import schur


def _batched(function: Callable[..., Any], *arrays: Any) -> Any:
    """A function of matrices on batches that fit together."""
    batch = np.broadcast_shapes(*(x.shape[:-2] for x in arrays))
    if not batch:
        return function(*arrays)
    flat = [jnp.broadcast_to(x, (*batch, *x.shape[-2:])).reshape(-1, *x.shape[-2:]) for x in arrays]
    out = vmap(function)(*flat)
    parts = out if isinstance(out, tuple) else (out,)
    shaped = tuple(v.reshape(*batch, *v.shape[1:]) for v in parts)
    return shaped if isinstance(out, tuple) else shaped[0]


def _complex(x: Any) -> Any:
    return x.astype(dtypes.common_dtype(x.dtype, np.complex64))


# -------------------------------------------------------------------------------------------- complex Schur form

@jit_when_eager("check_finite")
def rsf2csf(T: Any, Z: Any, check_finite: bool = True) -> tuple[Any, Any]:
    """The complex Schur form of a matrix from its real one, by rotations that remove the elements below the diagonal.

    >>> import numjet.numpy as jnp
    >>> rsf2csf(jnp.eye(2), jnp.eye(2))[0].real.tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    T, Z = inexact("rsf2csf", T, Z)
    check_matrices("rsf2csf", T, Z)
    if T.shape[-1] != Z.shape[-1]:
        raise ValueError(f"rsf2csf: input array shapes must match: Z: {Z.shape} vs. T: {T.shape}")
    t, z = _batched(_without_blocks, _complex(T), _complex(Z))
    return t, z


def _without_blocks(t: Any, z: Any) -> tuple[Any, Any]:
    n = t.shape[-1]
    if n < 2:
        return t, z
    eps = float(dtypes.finfo(t.dtype).eps)
    place = jnp.arange(n)

    def rotate(step: Any, state: tuple[Any, Any]) -> tuple[Any, Any]:
        t, z = state
        m = n - 1 - step
        pair = jnp.stack([m - 1, m])
        block = t[pair[:, None], pair[None, :]]
        lower = block[1, 0]
        needed = jnp.abs(lower) > eps * (jnp.abs(block[0, 0]) + jnp.abs(block[1, 1]))
        shift = jnp.linalg.eigvals(block)[0] - block[1, 1]
        size = jnp.hypot(jnp.abs(shift), jnp.abs(lower))
        size = jnp.where(size == 0, 1, size).astype(t.dtype)
        c, s = jnp.where(needed, shift / size, 1), jnp.where(needed, lower / size, 0)
        turn = jnp.stack([jnp.stack([jnp.conj(c), s]), jnp.stack([-s, c])])
        rows = t[pair]
        t = t.at[pair].set(jnp.where((place >= m - 1)[None, :], turn @ rows, rows))
        back = jnp.conj(turn.T)
        columns = t[:, pair]
        t = t.at[:, pair].set(jnp.where((place <= m)[:, None], columns @ back, columns))
        z = z.at[:, pair].set(z[:, pair] @ back)
        return t.at[m, m - 1].set(0), z

    return fori_loop(0, n - 1, rotate, (t, z))


# -------------------------------------------------------------------------------------------- functions of matrices

def funm(A: Any, func: Callable[[Any], Any], disp: bool = True) -> Any:
    """A function of a square matrix, complex, by Parlett's recurrence on the Schur form; `func` acts on vectors of eigenvalues.

    disp: False gives an estimate of the relative error, too; nothing is printed. Inaccurate for eigenvalues that nearly agree.
    G. H. Golub and C. F. Van Loan, "Matrix Computations", 9.1.4. No derivative. ValueError for other shapes.

    >>> import numjet.numpy as jnp
    >>> funm(jnp.array([[0.0, 1.0], [0.0, 1.0]]), lambda x: 2 * x).real.round(3).tolist()
    [[0.0, 2.0], [0.0, 2.0]]
    """
    (A,) = inexact("funm", A)
    if A.ndim != 2:
        raise ValueError(f"funm: expected square array_like input, got shape {A.shape}; use vmap for batches")
    check_matrices("funm", A)
    if not A.size:
        empty = A.astype(dtypes.common_dtype(A.dtype, jnp.complex64))
        return empty if disp else (empty, jnp.zeros((), A.dtype).real)
    t, z = schur(A)
    t, z = (t, z) if jnp.iscomplexobj(A) else rsf2csf(t, z)
    image, smallest = _parlett(t, jnp.diag(func(jnp.diag(t)).astype(t.dtype)))
    out = z @ image @ jnp.conj(z.T)
    return out if disp else (out, _error(t, out, smallest))


@jit_when_eager()
def _parlett(t: Any, image: Any) -> tuple[Any, Any]:
    """The image of a triangle whose diagonal is known, and the smallest divisor."""
    n = t.shape[-1]
    strict = jnp.triu(t, 1)

    def column(j: Any, state: Any) -> Any:
        return fori_loop(0, j, lambda k, s: element(j - 1 - k, j, s), state)

    def element(i: Any, j: Any, state: tuple[Any, Any]) -> tuple[Any, Any]:
        image, smallest = state
        total = jnp.sum(strict[i] * image[:, j]) - jnp.sum(image[i] * strict[:, j])
        divisor = t[j, j] - t[i, i]
        value = jnp.where(divisor == 0, total, total / jnp.where(divisor == 0, 1, divisor))
        return image.at[i, j].set(value), jnp.minimum(smallest, jnp.abs(divisor))

    return fori_loop(0, n, column, (image, jnp.abs(t[0, 0]) if n else jnp.ones((), t.real.dtype)))


def _error(t: Any, out: Any, smallest: Any) -> Any:
    eps = float(dtypes.finfo(t.dtype).eps)
    smallest = jnp.where(smallest == 0, eps, smallest)
    norm = jnp.max(jnp.sum(jnp.abs(jnp.triu(t, 1)), 0), initial=0.0)
    error = jnp.clip(eps / smallest * norm, eps, 1)
    return jnp.where(jnp.all(~jnp.isfinite(out)), jnp.inf, error).astype(t.real.dtype)


# -------------------------------------------------------------------------------------------- Sylvester equations

@jit_when_eager("method", "tol")
def solve_sylvester(A: Any, B: Any, C: Any, *, method: str = "schur", tol: float = 1e-8) -> Any:
    """The X with A X + X B = C, for A[..., m, m], B[..., n, n], C[..., m, n].

    method: "schur" (R. H. Bartels and G. W. Stewart, Comm. ACM 15, 1972) or "eigen", by diagonalization. NaN when an
    eigenvalue of A and one of B add up to less than tol in size: then no or no unique solution exists. ValueError for other
    shapes and methods.

    >>> import numjet.numpy as jnp
    >>> solve_sylvester(jnp.eye(2), jnp.eye(2), 4 * jnp.eye(2)).round(3).tolist()
    [[2.0, 0.0], [0.0, 2.0]]
    """
    A, B, C = inexact("solve_sylvester", A, B, C)
    check_matrices("solve_sylvester", A, B)
    if C.ndim < 2 or C.shape[-2:] != (A.shape[-1], B.shape[-1]):
        raise ValueError(f"Incompatible shapes for A: {A.shape}, B: {B.shape}, C: {C.shape}; expected C[..., m, n] for "
                         "A[..., m, m] and B[..., n, n]")
    if method not in ("schur", "eigen"):
        raise ValueError(f"Unrecognized method {method!r}; expected 'schur' or 'eigen'")
    solve = _by_schur if method == "schur" else _by_eigenvectors
    if not C.size:
        return C
    out = _batched(functools.partial(solve, tol=tol), _complex(A), _complex(B), _complex(C))
    return out if jnp.iscomplexobj(C) else out.real


def _unless_singular(sums: Any, out: Any, tol: float) -> Any:
    return jnp.where(jnp.min(jnp.abs(sums), initial=jnp.inf) <= tol, jnp.nan, out)


def _by_schur(a: Any, b: Any, c: Any, tol: float) -> Any:
    r, u = schur(a)
    s, v = schur(b)
    right = jnp.conj(u.T) @ c @ v
    unit = jnp.eye(r.shape[-1], dtype=r.dtype)

    def column(k: Any, y: Any) -> Any:
        known = right[:, k] - y @ s[:, k]     # columns from k on are zero
        return y.at[:, k].set(lax_linalg.triangular_solve(r + s[k, k] * unit, known[:, None], left_side=True)[:, 0])

    y = fori_loop(0, s.shape[-1], column, jnp.zeros_like(right))
    return _unless_singular(jnp.diag(r)[:, None] + jnp.diag(s)[None, :], u @ y @ jnp.conj(v.T), tol)


def _by_eigenvectors(a: Any, b: Any, c: Any, tol: float) -> Any:
    first, p = jnp.linalg.eig(a)
    second, q = jnp.linalg.eig(b)
    sums = first[:, None] + second[None, :]
    middle = jnp.linalg.solve(p, c @ q) / sums
    return _unless_singular(sums, p @ jnp.linalg.solve(q.T, middle.T).T, tol)


# -------------------------------------------------------------------------------------------- products with Q

def qr_multiply(a: Any, c: Any, mode: str = "right", pivoting: bool = False, conjugate: bool = False, overwrite_a: bool = False,
                overwrite_c: bool = False) -> tuple[Any, ...]:
    """c Q (mode "right") or Q c ("left"), and R, for the thin QR factors of a; with pivoting the permutation, too.

    c: a vector or matrices; conjugate: conj(Q) for Q. ValueError for sizes that do not fit.

    >>> import numjet.numpy as jnp
    >>> product, r = qr_multiply(2 * jnp.eye(2), jnp.ones(2))
    >>> jnp.abs(product).tolist()
    [1.0, 1.0]
    """
    if mode not in ("right", "left"):
        raise ValueError(f"mode must be 'right' or 'left', got {mode!r}")
    a, c = inexact("qr_multiply", a, c)
    vector = c.ndim == 1
    if vector:
        c = c[:, None] if mode == "left" else c[None, :]
    check_matrices("qr_multiply", a, c, square=False)
    k = min(a.shape[-2:])
    if mode == "left" and c.shape[-2] != k:
        raise ValueError(f"Array shapes are not compatible for Q @ c operation: a has shape {a.shape} so Q has {k} columns, "
                         f"but c has {c.shape[-2]} rows (expected {k}).")
    if mode == "right" and c.shape[-1] != a.shape[-2]:
        raise ValueError(f"Array shapes are not compatible for c @ Q operation: a has shape {a.shape} so Q has {a.shape[-2]} "
                         f"rows, but c has {c.shape[-1]} columns (expected {a.shape[-2]}).")
    q, *rest = lax_linalg.qr(a, pivoting=pivoting, full_matrices=False)
    q = jnp.conj(q) if conjugate else q
    product = q @ c if mode == "left" else c @ q
    if vector:
        product = product[..., 0] if mode == "left" else product[..., 0, :]
    return (product, *rest)
