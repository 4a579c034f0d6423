"""Eigenvalues and singular values, with vectors."""
from __future__ import annotations

import enum
from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from numjet.core.aval import ShapedArray
from numjet.core.ir import JaxprEqn
from numjet.core.op import Missing, Op, Samples, Zero
from numjet.core.trace import aval_of
from numjet.core.traits import MATRIX_BY_MATRIX
from numjet.foundation.dimension import smallest
from numjet.lax.elementwise.arithmetic import abs_p, add_p, div_p, mul_p, sub_p
from numjet.lax.elementwise.compare import eq_p
from numjet.lax.elementwise.convert import as_dtype, complex_p, imag_p, real_p
from numjet.lax.linalg import hlo, matrix
from numjet.lax.linalg.lapack import CODES, over_batch, routine
from numjet.lax.linalg.lu_factors import solve
from numjet.lax.linalg.matrix import matmul, mH
from numjet.lax.linalg.triangular import positive_definite, random_matrices, spread_matrix
from numjet.lax.operands import complex_dtype, real_dtype, scalar, where
from numjet.lax.reduction.reduce import reduce_max_p, reduce_sum_p
from numjet.lax.tangent import no_tangent
from numjet.lax.templates import leading_batch


class EigImplementation(enum.Enum):
    """Libraries for eig; LAPACK computes whichever is named."""

    CUSOLVER = "cusolver"
    MAGMA = "magma"
    LAPACK = "lapack"


class EighImplementation(enum.Enum):
    """Algorithms for eigh; LAPACK's divide and conquer computes whichever is named."""

    QR = "qr"
    JACOBI = "jacobi"
    QDWH = "qdwh"


class SvdAlgorithm(enum.Enum):
    """Algorithms for svd; LAPACK's divide and conquer computes whichever is named."""

    DEFAULT = "default"
    QR = "QR"
    JACOBI = "Jacobi"
    POLAR = "polar"
    DIVIDE_AND_CONQUER = "divide_and_conquer"


def _check_subset(name: str, subset: Any, size: int) -> None:
    if subset is not None and tuple(subset) != (0, size):
        raise NotImplementedError(f"{name}: subset_by_index={subset} is not supported: leave it None, all {size} values are "
                                  "computed; take a slice of the result.")


# -------------------------------------------------------------------------------------------- eigh

def _eigh_abstract(x: ShapedArray, **params: Any) -> list[ShapedArray]:
    matrix.check_matrix("eigh", x, square=True)
    return [x, x.update(shape=x.shape[:-1], dtype=real_dtype(x.dtype))]


def _eigh_eager(x: np.ndarray, *, lower: bool, **params: Any) -> list[np.ndarray]:
    def values(a: np.ndarray) -> list[np.ndarray]:
        if not np.isfinite(a).all():
            return [np.full_like(a, np.nan), np.full(len(a), np.nan)]
        w, v, info = routine("syevd", a.dtype)(a, lower=int(lower))
        return [v, w] if info == 0 else [np.full_like(a, np.nan), np.full(len(a), np.nan)]
    outs = _eigh_abstract(ShapedArray(x.shape, x.dtype))
    return over_batch(values, outs, [(x, 2)]) if x.size else [np.zeros(a.shape, a.dtype) for a in outs]


def _eigh_cpu(b: Any, x: Any, *, lower: bool, vectors: bool = True, **params: Any) -> list[Any]:
    outs = _eigh_abstract(ShapedArray(x.shape, x.dtype))
    args = [CODES[x.dtype.name], prod(x.shape[:-2]), x.shape[-1], int(lower), int(vectors), x]
    return b.kernel("nj_syevd", args, outs if vectors else [ShapedArray((1,), x.dtype), outs[1]], checked=True)


def _gaps(w: Any, shape: Sequence[int]) -> Any:
    """1 / (w[j] - w[i]), zero on the diagonal; inf for equal values."""
    i, j = matrix.indices(shape)
    apart = sub_p.bind(matrix.columns(w, shape), matrix.rows(w, shape))
    same = eq_p.bind(i, j)
    return where(same, 0, div_p.bind(scalar(1, aval_of(w).dtype), where(same, 1, apart)))


def _eigh_jvp(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> tuple[list[Any], list[Any]]:
    """dw = diag(V^H dA V), dV = V (F * V^H dA V), F[i, j] = 1 / (w[j] - w[i]): Giles 2008, section 3.1."""
    v, w = eigh_p.bind(primals[0], **params)
    if isinstance(tangents[0], Zero):
        return [v, w], [no_tangent(x) for x in (v, w)]
    inner = matmul(mH(v), matmul(tangents[0], v))
    shape, dtype = aval_of(v).shape, aval_of(v).dtype
    turn = mul_p.bind(as_dtype(_gaps(w, shape), dtype), inner)
    return [v, w], [matmul(v, turn), matrix.real(matrix.diagonal(inner))]


def _eigh_dce(eqn: JaxprEqn, used: list[bool]) -> JaxprEqn:
    """Eigenvalues alone take a third to a half of the time."""
    if used[0]:
        return eqn
    return eqn.replace(primitive=eigvalsh_p, params={"lower": eqn.params["lower"]}, outvars=[eqn.outvars[1]])


def _hermitian(rng: Any, shapes: Any, dtype: Any, params: Any) -> list[np.ndarray]:
    (x,) = positive_definite(rng, shapes, dtype, params)
    n = x.shape[-1]
    return [(x + np.diag(np.arange(0, 3 * n, 3))).astype(dtype)]


# Derivatives presume Hermitian tangents, and gauge-invariant functions: tests/lax/linalg/test_linalg.py.
eigh_p: Op = Op(
    name="eigh", params=("lower", "sort_eigenvalues", "subset_by_index", "algorithm"), multiple=True,
    abstract=_eigh_abstract, eager=_eigh_eager, jvp=_eigh_jvp, transpose=Missing("eigh is not linear"),
    batch=leading_batch(lambda: eigh_p), cpu=_eigh_cpu, hlo=hlo.eigh, traits=MATRIX_BY_MATRIX, dce=_eigh_dce,
    samples=Samples(shapes=((1, 1), (3, 3), (2, 4, 4), (12, 12), (0, 0)),
                    params=tuple({"lower": x, "sort_eigenvalues": True, "subset_by_index": None, "algorithm": None}
                                 for x in (True, False)),
                    dtypes=matrix.DTYPES, make=_hermitian, rtol=1e-3, ulps=256, order=0))


def _eigvalsh_eager(x: np.ndarray, *, lower: bool) -> np.ndarray:
    def values(a: np.ndarray) -> list[np.ndarray]:
        if np.isfinite(a).all():
            w, _, info = routine("syevd", a.dtype)(a, compute_v=0, lower=int(lower))
            if info == 0:
                return [w]
        return [np.full(len(a), np.nan)]
    outs = _eigh_abstract(ShapedArray(x.shape, x.dtype))[1:]
    return over_batch(values, outs, [(x, 2)])[0] if x.size else np.zeros(outs[0].shape, outs[0].dtype)


def _eigvalsh_jvp(primals: Sequence[Any], tangents: Sequence[Any], *, lower: bool) -> tuple[Any, Any]:
    (_, w), (_, dw) = _eigh_jvp(primals, tangents, lower=lower, sort_eigenvalues=True, subset_by_index=None, algorithm=None)
    return w, dw


# What is left of eigh where nothing reads the vectors.
eigvalsh_p: Op = Op(
    name="eigvalsh", params=("lower",), abstract=lambda x, **params: _eigh_abstract(x)[1], eager=_eigvalsh_eager,
    jvp=_eigvalsh_jvp, transpose=Missing("eigvalsh is not linear"), batch=leading_batch(lambda: eigvalsh_p),
    cpu=lambda b, x, *, lower: _eigh_cpu(b, x, lower=lower, vectors=False)[1],
    hlo=lambda b, x, *, lower: hlo.eigh(b, x, lower=lower)[1], traits=MATRIX_BY_MATRIX,
    samples=Samples(shapes=((1, 1), (3, 3), (2, 4, 4), (12, 12), (0, 0)), params=({"lower": True}, {"lower": False}),
                    dtypes=matrix.DTYPES, make=_hermitian, rtol=1e-3, ulps=256, order=0))


def eigh(x: Any, *, lower: bool = True, symmetrize_input: bool = True, sort_eigenvalues: bool = True,
         subset_by_index: tuple[int, int] | None = None, implementation: Any = None) -> tuple[Any, Any]:
    """Eigenvectors and eigenvalues (v, w) of Hermitian matrices x[..., n, n]: x v = v diag(w), w ascending.

    symmetrize_input: takes (x + x^H) / 2 for x; otherwise one triangle of x is read, the lower one if `lower`. Matrices
    with NaN or inf give NaN. Derivatives of v are inf or NaN where eigenvalues are equal. TypeError for integers, ValueError
    for matrices that are not square, NotImplementedError for a subset of the values.

    >>> v, w = eigh(np.array([[2., 0.], [0., 1.]], np.float32))
    >>> w.tolist()
    [1.0, 2.0]
    """
    x = matrix.floats_of_integers(x) if symmetrize_input else x
    matrix.check_matrix("eigh", aval_of(x), square=True)
    _check_subset("eigh", subset_by_index, aval_of(x).shape[-1])
    v, w = eigh_p.bind(matrix.symmetrized(x) if symmetrize_input else x, lower=bool(lower),
                       sort_eigenvalues=bool(sort_eigenvalues), subset_by_index=None, algorithm=None)
    return v, w


# -------------------------------------------------------------------------------------------- svd

def _svd_abstract(x: ShapedArray, *, full_matrices: bool, compute_uv: bool, **params: Any) -> list[ShapedArray]:
    matrix.check_matrix("svd", x)
    m, n = x.shape[-2:]
    k, batch = smallest(m, n), x.shape[:-2]
    s = x.update(shape=(*batch, k), dtype=real_dtype(x.dtype))
    if not compute_uv:
        return [s]
    u, vt = ((m, m), (n, n)) if full_matrices else ((m, k), (k, n))
    return [s, x.update(shape=(*batch, *u)), x.update(shape=(*batch, *vt))]


def _svd_eager(x: np.ndarray, *, full_matrices: bool, compute_uv: bool, **params: Any) -> list[np.ndarray]:
    outs = _svd_abstract(ShapedArray(x.shape, x.dtype), full_matrices=full_matrices, compute_uv=compute_uv)

    def values(a: np.ndarray) -> list[np.ndarray]:
        if not a.size:
            return [np.eye(o.shape[-2], o.shape[-1]) if k else np.zeros(o.shape[-1]) for k, o in enumerate(outs)]
        if np.isfinite(a).all():
            u, s, vt, info = routine("gesdd", a.dtype)(a, compute_uv=int(compute_uv), full_matrices=int(full_matrices))
            if info == 0:
                return [s, u, vt] if compute_uv else [s]
        return [np.full(o.shape[-2 if k else -1:], np.nan) for k, o in enumerate(outs)]
    return over_batch(values, outs, [(x, 2)])


def _svd_cpu(b: Any, x: Any, *, full_matrices: bool, compute_uv: bool, **params: Any) -> list[Any]:
    outs = _svd_abstract(ShapedArray(x.shape, x.dtype), full_matrices=full_matrices, compute_uv=compute_uv)
    job = (2 if full_matrices else 1) if compute_uv else 0
    if not compute_uv:
        outs = [*outs, ShapedArray((1,), x.dtype), ShapedArray((1,), x.dtype)]
    args = [CODES[x.dtype.name], prod(x.shape[:-2]), *x.shape[-2:], job, x]
    return b.kernel("nj_gesdd", args, outs, checked=True)[:3 if compute_uv else 1]


def _svd_jvp(primals: Sequence[Any], tangents: Sequence[Any], *, full_matrices: bool, compute_uv: bool,
             **params: Any) -> tuple[list[Any], list[Any]]:
    """ds = diag(U^H dA V): Giles 2008, section 3.2; U and V: Seeger et al. 2017, "Auto-differentiating linear algebra"."""
    x, t = primals[0], tangents[0]
    m, n = aval_of(x).shape[-2:]
    if full_matrices and compute_uv and m != n and not isinstance(t, Zero):
        raise NotImplementedError("Singular value decomposition JVP not implemented for full matrices: use "
                                  "full_matrices=False.")
    if isinstance(t, Zero):
        outs = svd_p.bind(x, full_matrices=full_matrices, compute_uv=compute_uv, **params)
        return outs, [no_tangent(o) for o in outs]
    s, u, vt = svd_p.bind(x, full_matrices=False, compute_uv=True, **params)
    inner = matmul(mH(u), matmul(t, mH(vt)))
    ds = matrix.real(matrix.diagonal(inner))
    if not compute_uv:
        return [s], [ds]
    du, dv = _vector_tangents(t, s, u, mH(vt), inner)
    return [s, u, vt], [ds, du, mH(dv)]


def _svd_dce(eqn: JaxprEqn, used: list[bool]) -> JaxprEqn:
    """Singular values alone take half of the time."""
    if not eqn.params["compute_uv"] or any(used[1:]):
        return eqn
    return eqn.replace(params={**eqn.params, "compute_uv": False}, outvars=eqn.outvars[:1])


def _vector_tangents(t: Any, s: Any, u: Any, v: Any, inner: Any) -> tuple[Any, Any]:
    """Tangents of the thin U and V, given inner = U^H dA V."""
    shape, dtype = aval_of(inner).shape, aval_of(inner).dtype
    gaps = as_dtype(_gaps(mul_p.bind(s, s), shape), dtype)
    inverse = div_p.bind(scalar(1, aval_of(s).dtype), s)
    inverse = where(eq_p.bind(s, scalar(0, aval_of(s).dtype)), 0, inverse)
    on_right, on_left = matrix.scale_columns(inner, s), matrix.scale_rows(s, inner)
    left = mul_p.bind(gaps, add_p.bind(on_right, mH(on_right)))
    right = mul_p.bind(gaps, add_p.bind(on_left, mH(on_left)))
    if dtype.kind == "c":
        i, j = matrix.indices(shape)
        phases = matrix.scaled(sub_p.bind(inner, mH(inner)), 0.5)
        left = add_p.bind(left, where(eq_p.bind(i, j), matrix.scale_rows(inverse, phases), 0))
    du, dv = matmul(u, left), matmul(v, right)
    m, n, k = aval_of(u).shape[-2], aval_of(v).shape[-2], shape[-1]
    if m > k:
        du = add_p.bind(du, _outside(u, matmul(t, v), inverse))
    if n > k:
        dv = add_p.bind(dv, _outside(v, matmul(mH(t), u), inverse))
    return du, dv


def _outside(u: Any, change: Any, inverse: Any) -> Any:
    """The part of a change that is orthogonal to the columns of u, over the singular values."""
    return matrix.scale_columns(sub_p.bind(change, matmul(u, matmul(mH(u), change))), inverse)


_SVD = tuple({"full_matrices": f, "compute_uv": c, "subset_by_index": None, "algorithm": None} for f, c in (
    (True, True), (False, True), (False, True), (False, False), (True, True), (False, False), (False, True)))
svd_p: Op = Op(
    name="svd", params=("full_matrices", "compute_uv", "subset_by_index", "algorithm"), multiple=True,
    abstract=_svd_abstract, eager=_svd_eager, jvp=_svd_jvp, transpose=Missing("svd is not linear"),
    batch=leading_batch(lambda: svd_p), cpu=_svd_cpu, hlo=hlo.svd, traits=MATRIX_BY_MATRIX, dce=_svd_dce,
    samples=Samples(shapes=((3, 3), (4, 3), (2, 3, 5), (12, 9), (2, 3, 3), (2, 0, 3), (0, 3)), params=_SVD,
                    dtypes=("float32", "float64"), rtol=1e-3, ulps=512,
                    make=lambda rng, shape, dtype, params: [spread_matrix(rng, shape, dtype, 0.3)]))


def svd(x: Any, *, full_matrices: bool = True, compute_uv: bool = True, subset_by_index: tuple[int, int] | None = None,
        algorithm: Any = None) -> Any:
    """Singular values and vectors (u, s, vh) of matrices x[..., m, n]: x = u diag(s) vh, s descending.

    full_matrices: u is m x m and vh n x n; else m x k and k x n with k = min(m, n). Without compute_uv: s alone. Matrices
    with NaN or inf give NaN. TypeError for integers and less than two axes, NotImplementedError for a subset.

    >>> svd(np.array([[3., 0.], [0., 4.]], np.float32), compute_uv=False).tolist()
    [4.0, 3.0]
    """
    if subset_by_index is not None:
        matrix.check_matrix("svd", aval_of(x))
        size = min(aval_of(x).shape[-2:])
        if full_matrices and tuple(subset_by_index) != (0, size):
            raise ValueError(f"svd: full_matrices and subset_by_index={subset_by_index} cannot both be set")
        _check_subset("svd", subset_by_index, size)
    outs = svd_p.bind(x, full_matrices=bool(full_matrices), compute_uv=bool(compute_uv), subset_by_index=None,
                      algorithm=None)
    return (outs[1], outs[0], outs[2]) if compute_uv else outs[0]


# -------------------------------------------------------------------------------------------- eig

def _eig_abstract(x: ShapedArray, *, compute_left_eigenvectors: bool, compute_right_eigenvectors: bool,
                  **params: Any) -> list[ShapedArray]:
    matrix.check_matrix("eig", x, square=True)
    dtype = complex_dtype(x.dtype)
    count = compute_left_eigenvectors + compute_right_eigenvectors
    return [x.update(shape=x.shape[:-1], dtype=dtype), *[x.update(dtype=dtype)] * count]


def _eig_eager(x: np.ndarray, *, compute_left_eigenvectors: bool, compute_right_eigenvectors: bool,
               **params: Any) -> list[np.ndarray]:
    wanted = (compute_left_eigenvectors, compute_right_eigenvectors)
    outs = _eig_abstract(ShapedArray(x.shape, x.dtype), compute_left_eigenvectors=wanted[0],
                         compute_right_eigenvectors=wanted[1])

    def values(a: np.ndarray) -> list[np.ndarray]:
        if not np.isfinite(a).all():
            return [np.full(o.shape[-2 if k else -1:], complex(np.nan, np.nan)) for k, o in enumerate(outs)]
        found = routine("geev", a.dtype)(a, compute_vl=int(wanted[0]), compute_vr=int(wanted[1]))
        if a.dtype.kind == "c":
            w, vl, vr, _ = found
        else:
            wr, wi, vl, vr, _ = found
            w = wr + 1j * wi
            vl, vr = (_unpacked(wi, v) if f else v for f, v in zip(wanted, (vl, vr), strict=True))
        return [w, *[v for f, v in zip(wanted, (vl, vr), strict=True) if f]]
    return over_batch(values, outs, [(x, 2)]) if x.size else [np.zeros(o.shape, o.dtype) for o in outs]


def _unpacked(imaginary: np.ndarray, packed: np.ndarray) -> np.ndarray:
    """Complex vectors of LAPACK's real columns: a conjugate pair has its real and imaginary part in two columns."""
    out = packed.astype(complex)
    for j in range(len(imaginary) - 1):
        if imaginary[j] > 0:
            out[:, j] = packed[:, j] + 1j * packed[:, j + 1]
            out[:, j + 1] = out[:, j].conj()
    return out


def _eig_cpu(b: Any, x: Any, *, compute_left_eigenvectors: bool, compute_right_eigenvectors: bool,
             **params: Any) -> list[Any]:
    wanted = (compute_left_eigenvectors, compute_right_eigenvectors)
    outs = _eig_abstract(ShapedArray(x.shape, x.dtype), compute_left_eigenvectors=True, compute_right_eigenvectors=True)
    args = [CODES[x.dtype.name], prod(x.shape[:-2]), x.shape[-1], *map(int, wanted), x]
    w, *vectors = b.kernel("nj_geev", args, outs, checked=True)
    return [w, *[v for f, v in zip(wanted, vectors, strict=True) if f]]


def _eig_jvp(primals: Sequence[Any], tangents: Sequence[Any], *, compute_left_eigenvectors: bool,
             compute_right_eigenvectors: bool, enable_eigvec_derivs: bool, **params: Any) -> tuple[list[Any], list[Any]]:
    """dw = diag(V^-1 dA V), dV = V (F * V^-1 dA V) up to multiples of V: Giles 2008, section 3.1.

    Left vectors are the right ones of the adjoint matrix, whose eigenvalues are the conjugate ones.
    """
    flags = {"compute_left_eigenvectors": compute_left_eigenvectors,
             "compute_right_eigenvectors": compute_right_eigenvectors, "enable_eigvec_derivs": enable_eigvec_derivs}
    if isinstance(tangents[0], Zero):
        outs = eig_p.bind(primals[0], **flags, **params)
        return outs, [no_tangent(o) for o in outs]
    if (compute_left_eigenvectors or compute_right_eigenvectors) and not enable_eigvec_derivs:
        raise NotImplementedError("The derivatives of non-symmetric eigenvectors are only computed with "
                                  "enable_eigvec_derivs=True; for Hermitian matrices use eigh, for eigenvalues eigvals.")
    needs_right = compute_right_eigenvectors or not compute_left_eigenvectors
    w, *vectors = eig_p.bind(primals[0], **{**flags, "compute_right_eigenvectors": needs_right, "enable_eigvec_derivs": True},
                             **params)
    outs, changes = [w], [None]
    if needs_right:
        changes[0], dv = _vectors_jvp(w, vectors[-1], as_dtype(tangents[0], aval_of(w).dtype))
    if compute_left_eigenvectors:
        dw, dl = _vectors_jvp(matrix.conj(w), vectors[0], mH(as_dtype(tangents[0], aval_of(w).dtype)))
        outs, changes = [w, vectors[0]], [changes[0] if needs_right else matrix.conj(dw), dl]
    if compute_right_eigenvectors:
        outs, changes = [*outs, vectors[-1]], [*changes, dv]
    return outs, changes


def _vectors_jvp(w: Any, v: Any, tangent: Any) -> tuple[Any, Any]:
    """The tangents of eigenvalues and of right eigenvectors that are normalized as LAPACK's: length 1, largest part real."""
    change = solve(v, matmul(tangent, v))
    dv = matmul(v, mul_p.bind(_gaps(w, aval_of(v).shape), change))
    rows = (aval_of(v).ndim - 2,)
    size, real = abs_p.bind(v), real_p.bind(v)
    size = where(eq_p(imag_p.bind(v), 0.0), size, 0)
    largest = eq_p.bind(size, matrix.columns(reduce_max_p.bind(size, axes=rows), aval_of(v).shape))
    length = reduce_sum_p.bind(real_p.bind(mul_p.bind(matrix.conj(v), dv)), axes=rows)
    turned = reduce_sum_p.bind(where(largest, mul_p.bind(real, imag_p.bind(dv)), 0), axes=rows)
    angle = div_p.bind(turned, reduce_sum_p.bind(where(largest, mul_p.bind(real, real), 0), axes=rows))
    return matrix.diagonal(change), sub_p.bind(dv, matrix.scale_columns(v, complex_p.bind(length, angle)))


def _eig_dce(eqn: JaxprEqn, used: list[bool]) -> JaxprEqn:
    """Vectors that nothing reads are not computed."""
    params, outs = dict(eqn.params), list(zip(eqn.outvars, used, strict=True))
    kept = [outs.pop(0)[0]]
    for flag in ("compute_left_eigenvectors", "compute_right_eigenvectors"):
        if params[flag]:
            var, params[flag] = outs.pop(0)
            kept += [var] * params[flag]
    return eqn.replace(params=params, outvars=kept)


_EIG = tuple({"compute_left_eigenvectors": x, "compute_right_eigenvectors": y, "enable_eigvec_derivs": False,
              "implementation": None} for x, y in ((False, False), (True, True), (False, True), (True, False), (False, False)))
eig_p: Op = Op(
    name="eig", params=("compute_left_eigenvectors", "compute_right_eigenvectors", "enable_eigvec_derivs",
                        "implementation"), multiple=True,
    abstract=_eig_abstract, eager=_eig_eager, jvp=_eig_jvp, transpose=Missing("eig is not linear"),
    batch=leading_batch(lambda: eig_p), cpu=_eig_cpu, hlo=hlo.eig, traits=MATRIX_BY_MATRIX, dce=_eig_dce,
    samples=Samples(shapes=((3, 3), (4, 4), (2, 3, 3), (9, 9), (0, 0)), params=_EIG, dtypes=matrix.DTYPES,
                    make=random_matrices, rtol=1e-3, ulps=512, order=0))


def eig(x: Any, *, compute_left_eigenvectors: bool = True, compute_right_eigenvectors: bool = True,
        enable_eigvec_derivs: bool = False, implementation: Any = None, use_magma: bool | None = None) -> list[Any]:
    """Eigenvalues, left and right eigenvectors [w, vl, vr] of matrices x[..., n, n], always complex.

    x vr = vr diag(w) and vl^H x = diag(w) vl^H; vectors have length 1. Those not asked for are left out. Matrices with NaN
    or inf give NaN. Eigenvalues have derivatives, vectors with enable_eigvec_derivs (else NotImplementedError). TypeError
    for integers, ValueError for matrices that are not square.

    >>> eig(np.array([[0., 1.], [-1., 0.]], np.float32), compute_left_eigenvectors=False)[0].tolist()
    [1j, -1j]
    """
    return list(eig_p.bind(x, compute_left_eigenvectors=bool(compute_left_eigenvectors),
                           compute_right_eigenvectors=bool(compute_right_eigenvectors),
                           enable_eigvec_derivs=bool(enable_eigvec_derivs), implementation=None))
