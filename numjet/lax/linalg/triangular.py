"""Cholesky factors, and systems of equations with triangular and tridiagonal matrices."""
from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from numjet.core.aval import ShapedArray
from numjet.core.op import Missing, Op, Samples, Undefined, Zero
from numjet.core.trace import aval_of
from numjet.core.traits import LANES, MATRIX_BY_MATRIX
from numjet.foundation import dtypes
from numjet.lax.elementwise import convert
from numjet.lax.elementwise.arithmetic import add_p, neg_p
from numjet.lax.linalg import hlo, matrix, small
from numjet.lax.linalg.lapack import CODES, over_batch, routine
from numjet.lax.linalg.matrix import matmul
from numjet.lax.reduction.recurrence import before
from numjet.lax.shape.rearrange import expand_dims, reshaped
from numjet.lax.tangent import add_any, instantiate
from numjet.lax.templates import leading_batch, moveaxis

# -------------------------------------------------------------------------------------------- cholesky

def _cholesky_abstract(x: ShapedArray) -> ShapedArray:
    matrix.check_matrix("cholesky", x, square=True)
    return x


def _cholesky_eager(x: np.ndarray) -> np.ndarray:
    def factor(a: np.ndarray) -> list[np.ndarray]:
        out, info = routine("potrf", a.dtype)(a, lower=1, clean=1)
        failed = info != 0 or np.isnan(np.diagonal(out)).any()  # LAPACK goes on with a pivot that is NaN
        return [np.tril(np.full_like(out, np.nan)) if failed else out]
    return over_batch(factor, [ShapedArray(x.shape, x.dtype)], [(x, 2)])[0] if x.size else x


def _cholesky_jvp(primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
    """dL = L Phi(L^-1 dA L^-H): Murray 2016, Differentiation of the Cholesky decomposition, equation 8."""
    factor = cholesky_p.bind(primals[0])
    if isinstance(tangents[0], Zero):
        return factor, tangents[0]
    inner = solve_triangle(factor, tangents[0], left_side=False, transpose_a=True, conjugate_a=True)
    inner = solve_triangle(factor, inner)
    return factor, matmul(factor, matrix.half_lower(inner))


def _cholesky_cpu(b: Any, x: Any) -> Any:
    if prod(x.shape) == 0:
        return x
    if small.is_small(b, x.dtype, x.shape[:-2], x.shape[-1:], x.shape[-1] ** 3 // 6):
        return small.cholesky(b, x)
    sizes = [CODES[x.dtype.name], prod(x.shape[:-2]), x.shape[-1]]
    return b.kernel("nj_potrf", [*sizes, ("own", x)], [], checked=True)[0]


def positive_definite(rng: Any, shapes: Any, dtype: Any, params: Any) -> list[np.ndarray]:
    """A sample: well conditioned Hermitian matrices."""
    x = random_matrix(rng, shapes, dtype)
    return [(x @ np.conj(np.swapaxes(x, -1, -2)) + 2 * np.eye(shapes[-1])).astype(dtype)]


def random_matrices(rng: Any, shapes: Any, dtype: Any, params: Any) -> list[np.ndarray]:
    """A sample: normal numbers, for each operand of a case."""
    return [random_matrix(rng, s, dtype) for s in (shapes if isinstance(shapes, list) else [shapes])]


def spread_matrix(rng: Any, shape: Any, dtype: Any, noise: float) -> np.ndarray:
    """A sample of full rank with well separated singular values."""
    spread = np.eye(*shape[-2:]) * np.arange(3, 3 + 2 * shape[-1], 2)[::-1]
    return (random_matrix(rng, shape, dtype) * noise + spread).astype(dtype)


def random_matrix(rng: Any, shape: Any, dtype: Any) -> np.ndarray:
    """Normal numbers."""
    x = rng.standard_normal(shape)
    if np.dtype(dtype).kind == "c":
        x = x + 1j * rng.standard_normal(shape)
    return np.asarray(x).astype(dtype)


# No derivatives among the samples: they presume that the tangent is Hermitian, too. (tests/lax/linalg/test_linalg.py has them.)
cholesky_p: Op = Op(
    name="cholesky", abstract=_cholesky_abstract, eager=_cholesky_eager, jvp=_cholesky_jvp,
    transpose=Missing("cholesky is not linear"), batch=leading_batch(lambda: cholesky_p), cpu=_cholesky_cpu,
    hlo=hlo.cholesky, traits=LANES,
    samples=Samples(shapes=((1, 1), (3, 3), (2, 4, 4), (30, 3, 3), (2, 0, 0), (12, 12), (2, 3, 9, 9)),
                    dtypes=matrix.DTYPES, make=positive_definite, rtol=1e-4, ulps=64, order=0))


def cholesky(x: Any, *, symmetrize_input: bool = True) -> Any:
    """The lower triangular L with L L^H = x, for positive definite matrices x[..., n, n]; NaN for others.

    symmetrize_input: takes (x + x^H) / 2 for x, which makes the gradient symmetric; otherwise only the lower triangle
    of x is read. TypeError for integers and less than two axes, ValueError for matrices that are not square.

    >>> cholesky(np.array([[4., 2.], [2., 5.]], np.float32)).tolist()
    [[2.0, 0.0], [1.0, 2.0]]
    """
    x = matrix.floats_of_integers(x) if symmetrize_input else x
    matrix.check_matrix("cholesky", aval_of(x), square=True)
    return cholesky_p.bind(matrix.symmetrized(x) if symmetrize_input else x)


# -------------------------------------------------------------------------------------------- triangular_solve

def _solve_abstract(a: ShapedArray, b: ShapedArray, *, left_side: bool, lower: bool, transpose_a: bool,
                    conjugate_a: bool, unit_diagonal: bool) -> ShapedArray:
    if a.dtype != b.dtype:
        raise TypeError("triangular_solve requires arguments to have equal dtypes, got "
                        f"{a.dtype.name}, {b.dtype.name}.")
    matrix.check_matrix("triangular_solve", a, 0, square=True)
    matrix.check_matrix("triangular_solve", b, 1)
    if a.ndim != b.ndim:
        raise TypeError("All inputs to triangular_solve must have the same number of batch dimensions, but got "
                        f"[{a.ndim - 2}, {b.ndim - 2}] batch dimensions for the inputs.")
    if a.shape[-1] != b.shape[-2 if left_side else -1] or a.shape[:-2] != b.shape[:-2]:
        raise ValueError(f"Incompatible shapes for arguments to triangular_solve: {a.shape} and {b.shape}.")
    return b


def _solve_eager(a: np.ndarray, b: np.ndarray, *, left_side: bool, lower: bool, transpose_a: bool, conjugate_a: bool,
                 unit_diagonal: bool) -> np.ndarray:
    if not b.size:
        return b
    if conjugate_a and not transpose_a:
        a = np.conj(a)
    trans = (2 if conjugate_a else 1) if transpose_a else 0

    def solve(x: np.ndarray, y: np.ndarray) -> list[np.ndarray]:
        return [routine("trsm", y.dtype)(1, x, y, side=int(not left_side), lower=int(lower), trans_a=trans,
                                         diag=int(unit_diagonal))]
    return over_batch(solve, [ShapedArray(b.shape, b.dtype)], [(a, 2), (b, 2)])[0]


def triangle_cpu(b: Any, a: Any, y: Any, *, left_side: bool, lower: bool, transpose_a: bool, conjugate_a: bool,
               unit_diagonal: bool) -> Any:
    if prod(y.shape) == 0:
        return y
    if small.is_small(b, y.dtype, y.shape[:-2], y.shape[-2:], a.shape[-1] * prod(y.shape[-2:]) // 2):
        return small.triangular_solve(b, a, y, left=left_side, lower=lower, transposed=transpose_a, unit=unit_diagonal)
    if a.dtype.kind == "c" and conjugate_a and not transpose_a:
        given = a
        a = b.elementwise(lambda v: b.complex(b.real(v), b.neg(b.imag(v))), given)
    trans = (2 if conjugate_a else 1) if transpose_a else 0
    args = [CODES[y.dtype.name], prod(y.shape[:-2]), *y.shape[-2:], int(left_side), int(lower), trans, int(unit_diagonal)]
    return b.kernel("nj_trsm", [*args, a, ("own", y)], [], checked=True)[0]


def solve_triangle(a: Any, b: Any, *, left_side: bool = True, lower: bool = True, transpose_a: bool = False,
                   conjugate_a: bool = False, unit_diagonal: bool = False) -> Any:
    """The record, with defaults for rules."""
    return triangular_solve_p.bind(a, b, left_side=left_side, lower=lower, transpose_a=transpose_a,
                                   conjugate_a=conjugate_a and aval_of(a).dtype.kind == "c", unit_diagonal=unit_diagonal)


def _solve_jvp(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> tuple[Any, Any]:
    """d(op(A)^-1 B) = op(A)^-1 (dB - op(dA) X): Giles 2008, An extended collection of matrix derivative results."""
    (a, b), (ta, tb) = primals, tangents
    out = triangular_solve_p.bind(a, b, **params)
    if isinstance(ta, Zero):
        return out, tb if isinstance(tb, Zero) else triangular_solve_p.bind(a, tb, **params)
    part = matrix.lower_part if params["lower"] else matrix.upper_part
    change = part(ta, strictly=params["unit_diagonal"])
    if params["transpose_a"]:
        change = matrix.mT(change)
    if params["conjugate_a"]:
        change = matrix.conj(change)
    change = matmul(change, out) if params["left_side"] else matmul(out, change)
    return out, triangular_solve_p.bind(a, add_any(neg_p.bind(change), tb), **params)


def _solve_transpose(ct: Any, a: Any, b: Any, **params: Any) -> list[Any]:
    if isinstance(a, Undefined):
        raise NotImplementedError("Transpose rule of 'triangular_solve': it is linear in its second operand only")
    return [None, triangular_solve_p.bind(a, ct, **{**params, "transpose_a": not params["transpose_a"]})]


def _solve_batch(size: int, args: Sequence[Any], dims: Sequence[int | None], **params: Any) -> tuple[Any, int]:
    """Many right-hand sides for one matrix become more columns (or rows) of one."""
    a, b = args
    if dims[0] is not None or dims[1] is None or aval_of(a).ndim != 2:
        return _leading(size, args, dims, **params)
    left = params["left_side"]
    axis = 1 if left else 0
    b = moveaxis(b, dims[1], axis)
    shape = aval_of(b).shape
    flat = (shape[0], size * shape[2]) if left else (size * shape[1], shape[2])
    out = triangular_solve_p.bind(a, reshaped(b, flat), **params)
    return reshaped(out, shape), axis


_leading = leading_batch(lambda: triangular_solve_p)


def _triangles(rng: Any, shapes: Any, dtype: Any, params: Any) -> list[np.ndarray]:
    a, b = shapes
    return [random_matrix(rng, a, dtype) / max(a[-1], 1) + np.eye(a[-1], dtype=dtype) * np.asarray(2, dtype),
            random_matrix(rng, b, dtype)]


def _cases() -> Samples:
    flags = ((True, True, False, False, False), (False, False, False, False, False), (True, False, True, False, False),
             (False, True, True, True, False), (True, True, False, True, True), (True, False, False, False, True),
             (False, True, False, False, False), (True, True, True, False, False), (False, False, True, False, False),
             (True, True, False, False, False))
    names = ("left_side", "lower", "transpose_a", "conjugate_a", "unit_diagonal")
    shapes = [[(3, 3), (3, 2)], [(3, 3), (2, 3)], [(2, 4, 4), (2, 4, 1)], [(30, 2, 2), (30, 3, 2)], [(9, 9), (9, 4)],
              [(2, 10, 10), (2, 10, 3)], [(12, 12), (5, 12)], [(8, 8), (8, 2)], [(2, 9, 9), (2, 1, 9)], [(0, 0), (0, 2)]]
    return Samples(shapes=shapes, params=tuple(dict(zip(names, f, strict=True)) for f in flags), dtypes=matrix.DTYPES,
                   make=_triangles, rtol=1e-4, ulps=64)


triangular_solve_p: Op = Op(
    name="triangular_solve", params=("left_side", "lower", "transpose_a", "conjugate_a", "unit_diagonal"), nargs=2,
    abstract=_solve_abstract, eager=_solve_eager, jvp=_solve_jvp, transpose=_solve_transpose, batch=_solve_batch,
    cpu=triangle_cpu, hlo=hlo.triangular_solve, traits=MATRIX_BY_MATRIX | LANES, samples=_cases(), linear_in=(1,))


def triangular_solve(a: Any, b: Any, *, left_side: bool = False, lower: bool = False, transpose_a: bool = False,
                     conjugate_a: bool = False, unit_diagonal: bool = False) -> Any:
    """The X with op(A) X = B (left_side) or X op(A) = B, for triangular matrices a[..., n, n].

    op is the transpose, the conjugate, both or neither. b: [..., n, m] with left_side, [..., m, n] without, or without
    the axis m. Only one triangle of `a` is read, with unit_diagonal not even its diagonal. Singular matrices give inf
    or NaN. Halves are solved in float32. TypeError and ValueError when dtypes or shapes don't fit.

    >>> a, b = np.array([[2., 0.], [1., 1.]], np.float32), np.array([[2.], [3.]], np.float32)
    >>> triangular_solve(a, b, left_side=True, lower=True).tolist()
    [[1.0], [2.0]]
    """
    vector = aval_of(b).ndim == aval_of(a).ndim - 1
    shape = aval_of(b).shape
    if vector:
        b = expand_dims(b, (-1 if left_side else -2,))
    dtype = aval_of(b).dtype
    if dtype == aval_of(a).dtype and dtype in dtypes.FLOATING and dtype.itemsize == 2:
        a, b = (convert.convert_element_type(x, np.float32) for x in (a, b))
    out = triangular_solve_p.bind(a, b, left_side=bool(left_side), lower=bool(lower), transpose_a=bool(transpose_a),
                                  conjugate_a=bool(conjugate_a) and aval_of(a).dtype.kind == "c",
                                  unit_diagonal=bool(unit_diagonal))
    out = out if aval_of(out).dtype == dtype else convert.convert_element_type(out, dtype)
    return reshaped(out, shape) if vector else out


# -------------------------------------------------------------------------------------------- tridiagonal_solve

def _tridiagonal_abstract(dl: ShapedArray, d: ShapedArray, du: ShapedArray, b: ShapedArray, *,
                          perturb_singular: bool) -> ShapedArray:
    if dl.shape != d.shape or dl.shape != du.shape:
        raise TypeError(f"tridiagonal_solve requires that all diagonal arguments have the same shape, got {dl.shape}, "
                        f"{d.shape} and {du.shape}.")
    matrix.check_matrix("tridiagonal_solve", b, 3)
    if b.shape[:-1] != d.shape:
        raise TypeError("tridiagonal_solve requires that the leading dimensions of b equal the shape of the diagonals, "
                        f"got {b.shape} and {d.shape}.")
    if any(x.dtype != b.dtype for x in (dl, d, du)):
        raise TypeError(f"tridiagonal_solve requires arguments to have equal dtypes, got {dl.dtype.name}, "
                        f"{d.dtype.name}, {du.dtype.name}, {b.dtype.name}.")
    return b


def _tridiagonal_eager(dl: np.ndarray, d: np.ndarray, du: np.ndarray, b: np.ndarray, *,
                       perturb_singular: bool) -> np.ndarray:
    def solve(low: np.ndarray, middle: np.ndarray, up: np.ndarray, y: np.ndarray) -> list[np.ndarray]:
        if perturb_singular:
            return [_eliminate(low[1:].copy(), middle.copy(), up[:-1].copy(), y.copy())]
        if len(middle) == 1:
            return [y / middle]
        *_, x, info = routine("gtsv", y.dtype)(low[1:], middle, up[:-1], y)
        return [x if info == 0 else np.full_like(y, np.nan)]
    return over_batch(solve, [ShapedArray(b.shape, b.dtype)], [(dl, 1), (d, 1), (du, 1), (b, 2)])[0] if b.size else b


def _eliminate(low: np.ndarray, middle: np.ndarray, up: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Gaussian elimination with row exchanges, where pivots that are zero become the smallest relative to the entries."""
    n, limits = len(middle), np.finfo(x.dtype)
    second = np.zeros_like(up)
    least = max(max(np.max(np.abs(v), initial=0) for v in (low, middle, up)) * limits.eps, limits.tiny)

    def nonzero(pivot: Any) -> Any:
        return pivot if pivot != 0 else x.dtype.type(-least if np.signbit(pivot.real) else least)
    with np.errstate(all="ignore"):
        for r in range(n - 1):
            if abs(low[r]) > abs(middle[r]):
                x[[r, r + 1]] = x[[r + 1, r]]
                low[r], middle[r] = middle[r], low[r]
                up[r], middle[r + 1] = middle[r + 1], up[r]
                if r + 2 < n:
                    second[r], up[r + 1] = up[r + 1], second[r]
            middle[r] = nonzero(middle[r])
            factor = low[r] / middle[r]
            middle[r + 1] -= factor * up[r]
            if r + 2 < n:
                up[r + 1] -= factor * second[r]
            x[r + 1] -= factor * x[r]
        middle[n - 1] = nonzero(middle[n - 1])
        for r in reversed(range(n)):
            x[r] -= (up[r] * x[r + 1] if r + 1 < n else 0) + (second[r] * x[r + 2] if r + 2 < n else 0)
            x[r] /= middle[r]
    return x


def _tridiagonal_cpu(b: Any, dl: Any, d: Any, du: Any, y: Any, *, perturb_singular: bool) -> Any:
    sizes = [CODES[y.dtype.name], int(perturb_singular), prod(y.shape[:-2]), *y.shape[-2:]]
    return b.kernel("nj_gtsv", [*sizes, dl, d, du, y], [ShapedArray(y.shape, y.dtype)], checked=True)[0]


def _tridiagonal_product(dl: Any, d: Any, du: Any, x: Any) -> Any:
    """The tridiagonal matrix times x."""
    above, below = (before(x, aval_of(x).ndim - 2, reverse, 0) for reverse in (False, True))
    total = add_p.bind(matrix.scale_rows(d, x), matrix.scale_rows(dl, above))
    return add_p.bind(total, matrix.scale_rows(du, below))


def _tridiagonal_jvp(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> tuple[Any, Any]:
    """As of any linear system: A dX = dB - dA X."""
    *diagonals, _ = primals
    out = tridiagonal_solve_p.bind(*primals, **params)
    total = tangents[3]
    if not all(isinstance(t, Zero) for t in tangents[:3]):
        dl, d, du = (instantiate(t) for t in tangents[:3])
        total = add_any(neg_p.bind(_tridiagonal_product(dl, d, du, out)), total)
    if isinstance(total, Zero):
        return out, total
    return out, tridiagonal_solve_p.bind(*diagonals, total, **params)


def _tridiagonal_transpose(ct: Any, dl: Any, d: Any, du: Any, b: Any, **params: Any) -> list[Any]:
    if any(isinstance(x, Undefined) for x in (dl, d, du)):
        raise NotImplementedError("Transpose rule of 'tridiagonal_solve': it is linear in its last operand only")
    last = aval_of(d).ndim - 1
    return [None, None, None, tridiagonal_solve_p.bind(before(du, last, False, 0), d, before(dl, last, True, 0), ct, **params)]


def _bands(rng: Any, shapes: Any, dtype: Any, params: Any) -> list[np.ndarray]:
    band, right = shapes
    return [random_matrix(rng, band, dtype), random_matrix(rng, band, dtype) / 4 + np.asarray(4, dtype),
            random_matrix(rng, band, dtype), random_matrix(rng, right, dtype)]


tridiagonal_solve_p: Op = Op(
    name="tridiagonal_solve", params=("perturb_singular",), nargs=4,
    abstract=_tridiagonal_abstract, eager=_tridiagonal_eager, jvp=_tridiagonal_jvp, transpose=_tridiagonal_transpose,
    batch=leading_batch(lambda: tridiagonal_solve_p), cpu=_tridiagonal_cpu,
    hlo=hlo.tridiagonal_solve, linear_in=(3,), traits=MATRIX_BY_MATRIX,
    samples=Samples(shapes=[[(4,), (4, 2)], [(2, 5), (2, 5, 3)], [(1,), (1, 2)], [(0,), (0, 1)]],
                    params=({"perturb_singular": False},), dtypes=matrix.DTYPES, make=_bands, rtol=1e-4, ulps=64))


def tridiagonal_solve(dl: Any, d: Any, du: Any, b: Any, *, perturb_singular: bool = False) -> Any:
    """The X with A X = b, for the tridiagonal A with diagonals dl (below), d and du (above).

    All diagonals have the shape [..., n]; dl[..., 0] and du[..., n-1] are not used. b: [..., n, m]. A singular matrix
    gives NaN; with perturb_singular its zero pivots are replaced by the smallest positive number relative to the largest
    entry, so that the result is large and finite. TypeError when shapes or dtypes don't fit; the XLA backend has no
    perturb_singular (NotImplementedError).

    >>> one = np.ones(2, np.float32)
    >>> tridiagonal_solve(0 * one, 2 * one, 0 * one, one[:, None]).tolist()
    [[0.5], [0.5]]
    """
    vector = aval_of(b).ndim == aval_of(d).ndim
    shape = aval_of(b).shape
    if vector:
        b = reshaped(b, (*shape, 1))
    out = tridiagonal_solve_p.bind(dl, d, du, b, perturb_singular=bool(perturb_singular))
    return reshaped(out, shape) if vector else out
