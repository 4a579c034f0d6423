"""Matrix factorizations, and systems, inverses, determinants, eigenvalues and singular values by them."""
from __future__ import annotations

import warnings
from collections.abc import Sequence
from math import prod
from typing import Any, NamedTuple

import numpy as np

from numjet.api.jit_when_eager import jit_when_eager
from numjet.control.custom.custom_jvp import custom_jvp
from numjet.foundation import dtypes, source
from numjet.foundation.dimension import as_integer
from numjet.lax import linalg as lax_linalg
from numjet.lax.elementwise import convert, transcendental
from numjet.lax.linalg import lu_factors, matrix as mx
from numjet.lax.linalg.qr_factors import geqrf_p
from numjet.lax.operands import scalar
from numjet.lax.shape import create, rearrange
from numjet.lax.shape.create import iota_p
from numjet.lax.tangent import zeros_like_aval
from numjet.lax.templates import call
from numjet.numpy.contraction.dot import matmul
from numjet.numpy.core.creation import arange
from numjet.numpy.core.promotion import as_dtype, broadcast_to, check_arraylike, promote_args_inexact, strong_array, to_array
from numjet.numpy.indexing.subscript import getitem
from numjet.numpy.indexing.where import where
from numjet.numpy.reduction import reductions
from numjet.numpy.shaping.manipulation import moveaxis
from numjet.numpy.ufuncs.arithmetic import absolute, sign

_COMPLEX = frozenset(dtypes.COMPLEX)


class EigResult(NamedTuple):
    """Eigenvalues and eigenvectors of general matrices.

    >>> import numjet.numpy as jnp
    >>> result = jnp.linalg.eig(jnp.eye(2))
    >>> isinstance(result, EigResult), result.eigenvalues.shape
    (True, (2,))
    """

    eigenvalues: Any
    eigenvectors: Any


class EighResult(NamedTuple):
    """Eigenvalues and eigenvectors of Hermitian matrices.

    >>> import numjet.numpy as jnp
    >>> result = jnp.linalg.eigh(jnp.eye(2))
    >>> isinstance(result, EighResult), result.eigenvalues.shape
    (True, (2,))
    """

    eigenvalues: Any
    eigenvectors: Any


class QRResult(NamedTuple):
    """An orthonormal and a triangular factor.

    >>> import numjet.numpy as jnp
    >>> result = jnp.linalg.qr(jnp.eye(2))
    >>> isinstance(result, QRResult), result.R.shape
    (True, (2, 2))
    """

    Q: Any
    R: Any


class SlogdetResult(NamedTuple):
    """Sign (or phase) of a determinant, and the logarithm of its size.

    >>> import numjet.numpy as jnp
    >>> result = jnp.linalg.slogdet(jnp.eye(2))
    >>> isinstance(result, SlogdetResult), result.logabsdet.shape
    (True, ())
    """

    sign: Any
    logabsdet: Any


class SVDResult(NamedTuple):
    """Left vectors, singular values, right vectors.

    >>> import numjet.numpy as jnp
    >>> result = jnp.linalg.svd(jnp.eye(2))
    >>> isinstance(result, SVDResult), result.S.shape
    (True, (2,))
    """

    U: Any
    S: Any
    Vh: Any


def inexact(name: str, x: Any) -> Any:
    """The argument as an array of floats or complex numbers; TypeError for lists."""
    check_arraylike(f"jnp.linalg.{name}", x)
    (x,) = promote_args_inexact(f"linalg.{name}", x)
    return x


def _square(name: str, x: Any) -> Any:
    x = inexact(name, x)
    if x.ndim < 2 or x.shape[-1] != x.shape[-2]:
        raise ValueError(f"Argument to {name} must have shape [..., n, n], got {x.shape}")
    return x


def _epsilon(x: Any) -> float:
    return float(dtypes.finfo(x.dtype).eps)


# -------------------------------------------------------------------------------------------- factors

@jit_when_eager("upper", "symmetrize_input")
def cholesky(a: Any, *, upper: bool = False, symmetrize_input: bool = True) -> Any:
    """The triangular L with L L^H = a (upper: U with U^H U = a), for positive definite a[..., n, n]; NaN for others.

    symmetrize_input: takes (a + a^H) / 2 for a; otherwise only one triangle is read.

    >>> import numjet.numpy as jnp
    >>> cholesky(jnp.array([[4.0, 2.0], [2.0, 5.0]])).tolist()
    [[2.0, 0.0], [1.0, 2.0]]
    """
    a = inexact("cholesky", a)
    mx.check_matrix("cholesky", a.aval, square=True)
    factor = lax_linalg.cholesky(mx.mH(a) if upper else a, symmetrize_input=symmetrize_input)
    return mx.mH(factor) if upper else factor


@jit_when_eager("mode")
def qr(a: Any, mode: str = "reduced") -> Any:
    """Q and R of a[..., m, n]: orthonormal columns times an upper triangle.

    mode: "reduced" or, as NumPy once called it, "full" (Q is m x k, k = min(m, n)), "complete" (m x m), "r" (R only), "raw"
    (LAPACK's packed form, transposed, and its k factors: what lax.linalg.ormqr and householder_product take; it has no
    derivative). ValueError for other modes.

    >>> import numjet.numpy as jnp
    >>> q, r = qr(jnp.array([[0.0, 2.0], [1.0, 0.0]]))
    >>> bool(jnp.allclose(q @ r, jnp.array([[0.0, 2.0], [1.0, 0.0]])))
    True
    """
    a = inexact("qr", a)
    if mode == "raw":
        packed, taus = geqrf_p.bind(a)
        return QRResult(mx.mT(packed), taus)
    if mode not in ("reduced", "complete", "full", "r"):
        raise ValueError(f"Unsupported QR decomposition mode '{mode}'")
    q, r = lax_linalg.qr(a, pivoting=False, full_matrices=mode == "complete")
    return r if mode == "r" else QRResult(q, r)


@jit_when_eager("full_matrices", "compute_uv", "hermitian", "subset_by_index")
def svd(a: Any, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False,
        subset_by_index: tuple[int, int] | None = None) -> Any:
    """Singular values and vectors: a = U diag(S) Vh, S descending. Without compute_uv: S alone.

    hermitian: a is Hermitian, and its eigenvalues serve.

    >>> import numjet.numpy as jnp
    >>> svd(jnp.array([[3.0, 0.0], [0.0, 4.0]]), compute_uv=False).tolist()
    [4.0, 3.0]
    """
    a = inexact("svd", a)
    if hermitian:
        return _hermitian_svd(a, compute_uv)
    out = lax_linalg.svd(a, full_matrices=full_matrices, compute_uv=compute_uv, subset_by_index=subset_by_index)
    return SVDResult(*out) if compute_uv else out


def _hermitian_svd(a: Any, compute_uv: bool) -> Any:
    v, w = lax_linalg.eigh(a)
    size = absolute(w)
    order = _descending(size)
    s = _taken(size, order)
    if not compute_uv:
        return s
    u = mx.mT(mx.take_rows(mx.mT(v), order))
    signs = where(_taken(w, order) < 0, -1, 1)
    return SVDResult(u, s, mx.mH(mx.scale_columns(u, convert.convert_dtype(signs, s.dtype))))


def _descending(values: Any) -> Any:
    """Indices (int32) that sort the last axis in descending order."""
    n = values.ndim - 1
    positions = iota_p.bind(dtype=np.dtype(np.int32), shape=values.shape, dimension=n)
    return call("sort", -values, positions, dimension=n, is_stable=True, num_keys=1)[1]


def _taken(values: Any, order: Any) -> Any:
    """The last axis in an order."""
    return getitem(mx.take_rows(rearrange.expand_dims(values, (values.ndim,)), order), (..., 0))


@jit_when_eager()
def svdvals(x: Any, /) -> Any:
    """The singular values, descending.

    >>> import numjet.numpy as jnp
    >>> svdvals(jnp.array([[0.0, 2.0], [1.0, 0.0]])).tolist()
    [2.0, 1.0]
    """
    return svd(x, compute_uv=False)


@jit_when_eager("UPLO", "symmetrize_input")
def eigh(a: Any, UPLO: str | None = None, symmetrize_input: bool = True) -> EighResult:
    """Eigenvalues, ascending, and eigenvectors (columns) of Hermitian matrices.

    UPLO: "L" or "U", the triangle that is read when symmetrize_input is False.

    >>> import numjet.numpy as jnp
    >>> eigh(jnp.array([[2.0, 0.0], [0.0, 1.0]])).eigenvalues.tolist()
    [1.0, 2.0]
    """
    a = inexact("eigh", a)
    if UPLO not in (None, "L", "U"):
        raise ValueError(f"UPLO must be one of None, 'L', or 'U', got {UPLO}")
    v, w = lax_linalg.eigh(a, lower=UPLO != "U", symmetrize_input=symmetrize_input)
    return EighResult(w, v)


@jit_when_eager("UPLO", "symmetrize_input")
def eigvalsh(a: Any, UPLO: str | None = "L", *, symmetrize_input: bool = True) -> Any:
    """The eigenvalues of Hermitian matrices, ascending.

    >>> import numjet.numpy as jnp
    >>> eigvalsh(jnp.array([[0.0, 1.0], [1.0, 0.0]])).round(3).tolist()
    [-1.0, 1.0]
    """
    return eigh(a, UPLO, symmetrize_input).eigenvalues


def eig(a: Any) -> EigResult:
    """Eigenvalues and eigenvectors (columns) of general matrices, always complex. The vectors have no derivatives.

    >>> import numjet.numpy as jnp
    >>> eig(jnp.array([[0.0, 1.0], [-1.0, 0.0]])).eigenvalues.tolist()
    [1j, -1j]
    """
    return EigResult(*lax_linalg.eig(inexact("eig", a), compute_left_eigenvectors=False))


def eigvals(a: Any) -> Any:
    """The eigenvalues of general matrices, complex.

    >>> import numjet.numpy as jnp
    >>> eigvals(jnp.array([[0.0, 1.0], [-1.0, 0.0]])).tolist()
    [1j, -1j]
    """
    return lax_linalg.eig(inexact("eigvals", a), compute_left_eigenvectors=False, compute_right_eigenvectors=False)[0]


# -------------------------------------------------------------------------------------------- systems

@jit_when_eager()
def solve(a: Any, b: Any) -> Any:
    """The x with a @ x = b, for a[..., n, n] and b[n] or b[..., n, m]; leading axes broadcast. Singular matrices: inf, NaN.

    >>> import numjet.numpy as jnp
    >>> solve(jnp.array([[2.0, 0.0], [0.0, 4.0]]), jnp.array([1.0, 1.0])).tolist()
    [0.5, 0.25]
    """
    check_arraylike("jnp.linalg.solve", a, b)
    a, b = promote_args_inexact("linalg.solve", a, b)
    a, b, vector = aligned("solve", a, b)
    out = lu_factors.solve(a, b)
    return getitem(out, (..., 0)) if vector else out


def aligned(name: str, a: Any, b: Any, batched_vectors: bool = False) -> tuple[Any, Any, bool]:
    """Matrices and right-hand sides [..., n, m] with equal leading axes, and whether b was a vector, or vectors.

    batched_vectors: b with one axis less than a, the last of size n, is one vector for each matrix, as in JAX's functions of
    SciPy.
    """
    if a.ndim < 2 or a.shape[-1] != a.shape[-2] or b.ndim < 1:
        raise ValueError(f"The arguments to {name} must have shapes a=[..., n, n] and b=[..., n, m] or b=[n]; got "
                         f"a={a.shape} and b={b.shape}")
    vector = b.ndim == 1 or (batched_vectors and b.ndim == a.ndim - 1 and b.shape[-1] == a.shape[-1])
    if vector:
        if b.ndim > 1:
            warnings.warn(f"{name}: b of shape {b.shape} is a vector for each matrix of a, of shape {a.shape}. Such batched 1D "
                          "solves with b.ndim > 1 are deprecated: use b[..., None], and [..., 0] of the result.",
                          FutureWarning, stacklevel=source.user_stacklevel())
        b = rearrange.expand_dims(b, (b.ndim,))
    if a.shape[-1] != b.shape[-2]:
        if a.shape[:-1] == b.shape:
            raise ValueError(f"Invalid shapes for {name}: {a.shape}, {b.shape}. A batch of vectors is b[..., None].")
        raise ValueError(f"{name}: inconsistent sizes of matrices {a.shape} and right-hand sides {b.shape}: axis -2 of b must "
                         f"have size {a.shape[-1]}")
    batch = rearrange.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    return broadcast_to(a, (*batch, *a.shape[-2:])), broadcast_to(b, (*batch, *b.shape[-2:])), vector


@jit_when_eager()
def inv(a: Any) -> Any:
    """The inverse matrices. Singular ones: inf and NaN.

    >>> import numjet.numpy as jnp
    >>> inv(jnp.array([[2.0, 0.0], [0.0, 4.0]])).tolist()
    [[0.5, 0.0], [0.0, 0.25]]
    """
    a = strong_array(_square("inv", a))
    return lu_factors.inverse(a)


@jit_when_eager("ind")
def tensorinv(a: Any, ind: int = 2) -> Any:
    """The inverse with respect to tensordot(a, x, ind): the first `ind` axes of a are its rows.

    >>> import numjet.numpy as jnp
    >>> tensorinv(jnp.eye(4).reshape(2, 2, 2, 2)).shape
    (2, 2, 2, 2)
    """
    a = inexact("tensorinv", a)
    ind = as_integer(ind, "jnp.linalg.tensorinv: ind")
    if ind <= 0:
        raise ValueError(f"ind must be a positive integer; got ind={ind}")
    rows, columns = a.shape[:ind], a.shape[ind:]
    if prod(rows) != prod(columns):
        raise ValueError(f"product of dimensions a.shape[:ind] and a.shape[ind:] must match; got a.shape={a.shape}, {ind=}")
    return rearrange.reshape(inv(rearrange.reshape(a, (prod(rows), prod(columns)))), (*columns, *rows))


@jit_when_eager("axes")
def tensorsolve(a: Any, b: Any, axes: Sequence[int] | None = None) -> Any:
    """The x with tensordot(a, x, x.ndim) = b. axes: of a, moved to its end first.

    >>> import numjet.numpy as jnp
    >>> tensorsolve(jnp.eye(4).reshape(2, 2, 2, 2), jnp.ones((2, 2))).shape
    (2, 2)
    """
    a, b = inexact("tensorsolve", a), inexact("tensorsolve", b)
    if axes is not None:
        a = moveaxis(a, axes, tuple(range(a.ndim - len(axes), a.ndim)))
    out = a.shape[b.ndim:]
    if prod(out) != b.size or a.shape[:b.ndim] != b.shape:
        raise ValueError("After moving axes to end, leading shape of a must match shape of b, and the rest its size; got "
                         f"a.shape={a.shape}, b.shape={b.shape}")
    return rearrange.reshape(solve(rearrange.reshape(a, (b.size, b.size)), rearrange.reshape(b, (b.size,))), out)


def lstsq(a: Any, b: Any, rcond: float | None = None, *, numpy_resid: bool = False) -> tuple[Any, Any, Any, Any]:
    """The x of least length among those that minimize |a x - b|; residuals, rank and singular values.

    a: [m, n]. b: [m] or [m, k]. rcond: singular values below rcond times the largest count as zero (default: machine epsilon
    times the longer side; negative: epsilon). numpy_resid: residuals empty as NumPy has them when the rank is low.

    >>> import numjet.numpy as jnp
    >>> lstsq(jnp.array([[1.0, 0.0], [0.0, 2.0], [0.0, 0.0]]), jnp.array([1.0, 2.0, 3.0]))[0].round(3).tolist()
    [1.0, 1.0]
    """
    a, b = promote_args_inexact("linalg.lstsq", a, b)
    if a.shape[:1] != b.shape[:1]:
        raise ValueError("Leading dimensions of input arrays must match")
    if a.ndim != 2:
        raise TypeError(f"{a.ndim}-dimensional array given. Array must be two-dimensional")
    if b.ndim not in (1, 2):
        raise TypeError(f"{b.ndim}-dimensional array given. Array must be one or two-dimensional")
    (m, n), vector = a.shape, b.ndim == 1
    right = rearrange.expand_dims(b, (1,)) if vector else b
    if rcond is None or rcond < 0:
        rcond = _epsilon(a) * (max(m, n) if rcond is None else 1)
    x, residuals, rank, s = _least_squares(a, right, rcond)
    if numpy_resid and (m <= n or int(rank) < n):
        residuals = getitem(residuals, slice(0, 0))
    return (getitem(x, (..., 0)) if vector else x), residuals, rank, s


@jit_when_eager("rcond")
def _least_squares(a: Any, b: Any, rcond: float) -> tuple[Any, Any, Any, Any]:
    """The solution by singular values, the sum of squares that is left, rank and singular values."""
    u, s, vt = svd(a, full_matrices=False)
    mask = (s > 0) & (s >= s[0] * rcond) if s.size else s > 0
    rank = reductions.sum(mask)
    inverse = where(mask, 1 / where(mask, s, 1), 0)
    x = matmul(mx.mH(vt), mx.scale_rows(inverse, matmul(mx.mH(u), b)))
    difference = b - matmul(a, x)
    return x, reductions.sum(mx.real(call("mul", difference, mx.conj(difference))), axis=0), rank, s


@jit_when_eager("hermitian")
def pinv(a: Any, rtol: Any = None, hermitian: bool = False, *, rcond: Any = None) -> Any:
    """The pseudo-inverse. rtol: singular values up to rtol times the largest count as zero (default: 10 max(m, n) epsilon).

    >>> import numjet.numpy as jnp
    >>> pinv(jnp.array([[2.0, 0.0], [0.0, 0.0]])).tolist()
    [[0.5, 0.0], [0.0, 0.0]]
    """
    a = strong_array(inexact("pinv", a))
    if a.ndim < 2:
        raise np.linalg.LinAlgError(f"pinv: expected matrices, got an array of shape {a.shape}")
    if rtol is not None and rcond is not None:
        raise ValueError("pinv: only one of rtol and rcond may be specified.")
    rtol = rcond if rtol is None else rtol
    if rtol is None:
        rtol = 10.0 * max(a.shape[-2:]) * _epsilon(a)
    rtol = to_array(rtol)
    if rtol.ndim:
        a = broadcast_to(a, (*rearrange.broadcast_shapes(a.shape[:-2], rtol.shape), *a.shape[-2:]))
    return _pinv(bool(hermitian), a, rtol)


def _cutoff(rtol: Any, s: Any) -> Any:
    """rtol times the largest of singular values s[..., k], of the rank of s."""
    return _for_each_rank(rtol, s) * getitem(s, (..., slice(0, 1)))


def _for_each_rank(limit: Any, s: Any) -> Any:
    """A limit for each vector of singular values s[..., k], of the rank of s: operands never differ in rank."""
    missing = max(0, s.ndim - limit.ndim - 1)
    return rearrange.reshape(as_dtype(limit, s.dtype), (*(1,) * missing, *limit.shape, 1))


def _pinv_value(hermitian: bool, a: Any, rtol: Any) -> Any:
    if not a.size:
        return zeros_like_aval(a.aval.update(shape=(*a.shape[:-2], a.shape[-1], a.shape[-2])))
    u, s, vh = svd(a, full_matrices=False, hermitian=hermitian)
    cutoff = _cutoff(rtol, s)
    large = s > cutoff
    inverse = where(large, 1 / where(large, s, 1), 0)
    return matmul(mx.mH(vh), mx.scale_rows(inverse, mx.mH(u)))


_pinv = custom_jvp(_pinv_value, nondiff_argnums=(0,))


@_pinv.defjvp
def _pinv_jvp(hermitian: bool, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
    """Golub and Pereyra 1973, "The differentiation of pseudo-inverses and nonlinear least squares problems", of locally
    constant rank: dP = -P dA P + (1 - P A) dA^H P^H P + P P^H dA^H (1 - A P)."""
    (a, rtol), t = primals, tangents[0]
    if hermitian:   # as the value reads it
        a, t = mx.symmetrized(a), mx.symmetrized(t)
    p = _pinv(hermitian, a, rtol)
    ph, th = mx.mH(p), mx.mH(t)
    left, right = _chain(th, ph, p), _chain(p, ph, th)
    return p, -_chain(p, t, p) + left - _chain(p, a, left) + right - _chain(right, a, p)


def _chain(x: Any, y: Any, z: Any) -> Any:
    """x y z of matrices n x m, m x n and n x m, by way of the smaller square."""
    n, m = x.shape[-2:]
    return matmul(matmul(x, y), z) if n <= m else matmul(x, matmul(y, z))


# -------------------------------------------------------------------------------------------- determinants

def _parity(pivots: Any) -> Any:
    """Parity of a row permutation: 0 or 1."""
    moved = pivots != broadcast_to(arange(pivots.shape[-1], dtype=np.int32), pivots.shape)
    return reductions.sum(moved, axis=-1, dtype=np.int32) % 2


@jit_when_eager("method")
def slogdet(a: Any, *, method: str | None = None) -> SlogdetResult:
    """Sign (complex: phase) and logarithm of the absolute value of determinants; 0 and -inf for singular matrices.

    method: "lu" (default) or "qr".

    >>> import numjet.numpy as jnp
    >>> [float(x) for x in slogdet(jnp.array([[0.0, 1.0], [1.0, 0.0]]))]
    [-1.0, 0.0]
    """
    a = _square("slogdet", a)
    if method not in (None, "lu", "qr"):
        raise ValueError(f"Unknown slogdet method '{method}'. Supported methods are 'lu' (`None`), and 'qr'.")
    return SlogdetResult(*_slogdet(a))


def _slogdet_value(a: Any) -> tuple[Any, Any]:
    factors, pivots, _ = lax_linalg.lu(a)
    diagonal = mx.diagonal(factors)
    singular = reductions.any(diagonal == 0, axis=-1)
    odd = as_dtype(_parity(pivots), a.dtype)
    phase = (1 - 2 * odd) * reductions.prod(sign(diagonal), axis=-1)
    size = reductions.sum(transcendental.log(absolute(diagonal)), axis=-1)
    return where(singular, 0, phase), where(singular, -np.inf, size)


_slogdet = custom_jvp(_slogdet_value)


@_slogdet.defjvp
def _slogdet_jvp(primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
    """d log det A = tr(A^-1 dA): Giles 2008, section 2.2.4. The imaginary part turns the phase."""
    (a,), (t,) = primals, tangents
    phase, size = _slogdet(a)
    change = reductions.sum(mx.diagonal(lu_factors.solve(a, t)), axis=-1)
    if a.dtype not in _COMPLEX:
        return (phase, size), (call("mul", phase, scalar(0, a.dtype)), change)
    turn = convert.complex(call("mul", mx.real(change), scalar(0, size.dtype)), convert.imag(change))
    return (phase, size), (phase * turn, mx.real(change))


@jit_when_eager()
def det(a: Any) -> Any:
    """The determinants of square matrices.

    >>> import numjet.numpy as jnp
    >>> float(det(jnp.array([[1.0, 2.0], [3.0, 4.0]])))
    -2.0
    """
    a = _square("det", a)
    n = a.shape[-1]
    if n == 0:
        return create.full(a.shape[:-2], 1, a.dtype)
    at = lambda i, j: getitem(a, (..., i, j))
    if n == 1:
        return at(0, 0)
    if n == 2:
        return at(0, 0) * at(1, 1) - at(0, 1) * at(1, 0)
    if n == 3:
        minor = lambda j, k: at(1, j) * at(2, k) - at(1, k) * at(2, j)
        return at(0, 0) * minor(1, 2) - at(0, 1) * minor(0, 2) + at(0, 2) * minor(0, 1)
    return _det(a)


def _det_value(a: Any) -> Any:
    factors, pivots, _ = lax_linalg.lu(a)
    return (1 - 2 * as_dtype(_parity(pivots), a.dtype)) * reductions.prod(mx.diagonal(factors), axis=-1)


_det = custom_jvp(_det_value)


@_det.defjvp
def _det_jvp(primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
    """d det A = tr(adj(A) dA) (Jacobi). With A = P^T L U: adj(A) = det(P) adj(U) L^-1 P, and adj(U) needs no division by
    U's last pivot, the one that is zero in matrices of rank n - 1; with less rank the adjugate is zero."""
    (a,), (t,) = primals, tangents
    factors, pivots, order = lax_linalg.lu(a)
    n = a.shape[-1]
    parity = 1 - 2 * as_dtype(_parity(pivots), a.dtype)
    inner = lax_linalg.triangular_solve(factors, mx.take_rows(t, order), left_side=True, lower=True, unit_diagonal=True)
    diagonal = mx.diagonal(factors)
    leading = reductions.prod(getitem(diagonal, (..., slice(0, n - 1))), axis=-1)
    some = leading != 0
    first = mx.block(factors, n - 1, n - 1)
    safe = where(rearrange.expand_dims(some, (some.ndim, some.ndim + 1)), first, mx.eye(first.shape, a.dtype))
    cut = getitem(factors, (..., slice(0, n - 1), slice(n - 1, n)))
    tail = lax_linalg.triangular_solve(safe, cut, left_side=True)
    solved = lax_linalg.triangular_solve(safe, mx.block(inner, n - 1, n - 1), left_side=True)
    trace = reductions.sum(mx.diagonal(solved), axis=-1)
    last = getitem(inner, (..., n - 1, slice(0, n - 1)))
    bent = reductions.sum(last * getitem(tail, (..., 0)), axis=-1)
    change = getitem(diagonal, (..., n - 1)) * trace - bent + getitem(inner, (..., n - 1, n - 1))
    value = parity * leading * getitem(diagonal, (..., n - 1))
    return value, where(some, parity * leading * change, 0)


# -------------------------------------------------------------------------------------------- rank, condition, norms

@jit_when_eager("hermitian")
def matrix_rank(M: Any, rtol: Any = None, *, hermitian: bool = False, tol: Any = None) -> Any:
    """The number of singular values above rtol times the largest (default: max(m, n) epsilon), or above tol; of vectors int32,
    as in JAX. ValueError for both.

    >>> import numjet.numpy as jnp
    >>> int(matrix_rank(jnp.ones((3, 3))))
    1
    """
    M = inexact("matrix_rank", M)
    if M.ndim < 2:
        return as_dtype(reductions.any(M != 0), dtypes.int32)
    if rtol is not None and tol is not None:
        raise ValueError("matrix_rank: only one of tol or rtol may be specified.")
    s = svd(M, compute_uv=False, hermitian=hermitian)
    if tol is not None:
        return reductions.sum(s > _for_each_rank(to_array(tol), s), axis=-1)
    rtol = to_array(max(M.shape[-2:]) * _epsilon(M) if rtol is None else rtol)
    return reductions.sum(s > _cutoff(rtol, s), axis=-1)


def by_singular_values(x: Any, ord: Any, axes: tuple[int, int], keepdims: bool) -> Any:
    """The matrix norms 2 (the largest singular value), -2 (the smallest) and "nuc" (their sum) over two axes."""
    s = svd(moveaxis(x, axes, (-2, -1)), compute_uv=False)
    if ord == 2:
        out = reductions.max(s, axis=-1, initial=0)
    else:
        out = (reductions.sum if ord == "nuc" else reductions.min)(s, axis=-1)
    return rearrange.expand_dims(out, sorted(a % x.ndim for a in axes)) if keepdims else out
