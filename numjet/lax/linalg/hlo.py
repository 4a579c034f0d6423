"""Linear algebra on the XLA backend: calls of LAPACK (on CPUs) and of cuSOLVER or hipSOLVER (on GPUs), parts of jaxlib.

The operands and attributes of these functions were learned from the programs that JAX prints. Matrices are handed over in
column-major order; XLA transposes where needed. Empty arrays never reach a library.
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from numjet.core.aval import ShapedArray
from numjet.lax.linalg.lapack import CODES
from numjet.lax.operands import complex_dtype, real_dtype

_INDEX = np.dtype(np.int32)
_BOOL = np.dtype(np.bool_)
_SOLVERS = {"cuda": "cusolver", "rocm": "hipsolver"}
_JACOBI_UP_TO = 1024  # order of matrices for which cuSOLVER's Jacobi method is the faster one
Value = Any


# -------------------------------------------------------------------------------------------- calls

def call_library(b: Any, target: str, operands: Sequence[Value], outs: Sequence[ShapedArray], batch: int,
                 config: dict[str, Any] | None = None, reuse: Sequence[tuple[int, int]] = ()) -> list[Value]:
    """Calls a function of a library, with `batch` axes in front of vectors and matrices.

    reuse: (result, operand) pairs that may share memory.
    """
    layouts = lambda avals: f"[{', '.join(_layout(a.ndim, batch) for a in avals)}]"
    pairs = ", ".join(f"#stablehlo.output_operand_alias<output_tuple_indices = {[r] if len(outs) > 1 else []}, "
                      f"operand_index = {o}, operand_tuple_indices = []>" for r, o in reuse)
    attrs = {"operand_layouts": layouts(operands), "result_layouts": layouts(outs), "output_operand_aliases": f"[{pairs}]"}
    return b.custom_call(target, operands, list(outs), config=config or {}, attrs=attrs)


def _layout(rank: int, batch: int) -> str:
    """The axes from the fastest to the slowest: of matrices the rows come first."""
    order = list(range(rank))[::-1]
    if rank == batch + 2:
        order[:2] = order[1::-1]
    return f"dense<{order if rank else ''}> : tensor<{rank}xindex>"


def _target(b: Any, name: str, dtype: np.dtype, gpu: str | None = None) -> str:
    """The function for a platform and dtype. gpu: its name there, if it differs; "" when there is none."""
    if b.platform == "cpu":
        name = {"orgqr": "ungqr", "syevd": "heevd", "sytrd": "hetrd"}.get(name, name) if dtype.kind == "c" else name
        return f"lapack_{'sdcz'[CODES[dtype.name]]}{name}_ffi"
    found = name if gpu is None else gpu
    if b.platform not in _SOLVERS or not found:
        raise NotImplementedError(f"LAPACK's {name} has no counterpart on platform {b.platform!r}: place the operand on a CPU "
                                  "(device_put(x, devices('cpu')[0])) and compute there.")
    return f"{_SOLVERS[b.platform]}_{found}_ffi"


def _letter(letter: str) -> str:
    return f"{ord(letter)} : ui8"


def _empty(x: Value) -> bool:
    return 0 in x.shape


def _infos(x: Value) -> ShapedArray:
    """The aval of status codes."""
    return ShapedArray(x.shape[:-2], _INDEX)


# -------------------------------------------------------------------------------------------- pieces

def _index(b: Any, shape: Sequence[int], axis: int) -> Value:
    return b.iota(shape, len(shape) + axis, _INDEX)


def _triangle(b: Any, x: Value, kind: str) -> Value:
    """x where column number `kind` row number (le: the lower triangle, ge: the upper one), else zero."""
    keep = b.compare(kind, _index(b, x.shape, -1), _index(b, x.shape, -2))
    return b.select(keep, x, b.full(x.shape, 0, x.dtype))


def _eye(b: Any, shape: Sequence[int], dtype: np.dtype) -> Value:
    return b.constant(np.broadcast_to(np.eye(*shape[-2:], dtype=dtype), shape))


def _columns(b: Any, x: Value, count: int) -> Value:
    """The first columns, or zeros added."""
    more = count - x.shape[-1]
    return b.pad(x, b.constant(0, x.dtype), [*[(0, 0, 0)] * (x.ndim - 1), (0, more, 0)])


def _failed(b: Any, info: Value) -> Value:
    return b.compare("ne", info, b.full(info.shape, 0, _INDEX))


def _infinite(b: Any, x: Value) -> Value:
    """Which matrices of a batch hold NaN or inf."""
    parts = [b.real(x), b.imag(x)] if x.dtype.kind == "c" else [x]
    axes = (x.ndim - 2, x.ndim - 1)
    found = [b.reduce("and", b.op("stablehlo.is_finite", [p], ShapedArray(x.shape, _BOOL)), axes, True) for p in parts]
    return b.unary("not", found[0] if len(found) == 1 else b.binary("and", *found))


def _has_nan(b: Any, x: Value) -> Value:
    """Which matrices of a batch hold NaN."""
    return b.reduce("or", b.compare("ne", x, x), (x.ndim - 2, x.ndim - 1), False)


def _nan_where(b: Any, bad: Value, x: Value) -> Value:
    """NaN (in both parts) for the elements of the batch named by `bad`."""
    nan = complex(np.nan, np.nan) if x.dtype.kind == "c" else np.nan
    return b.select(b.broadcast(bad, x.shape, range(bad.ndim)), b.full(x.shape, nan, x.dtype), x)


# -------------------------------------------------------------------------------------------- triangles

def cholesky(b: Any, x: Value) -> Value:
    """L of x = L L^H; NaN in the lower triangle of matrices that are not positive definite."""
    if _empty(x):
        return x
    if b.platform == "cpu":
        out, info = call_library(b, _target(b, "potrf", x.dtype), [x], [x.aval, _infos(x)], x.ndim - 2,
                                 {"uplo": _letter("L")}, [(0, 0)])
        bad = b.binary("or", _failed(b, info), _has_nan(b, _triangle(b, out, "le")))  # LAPACK accepts a pivot that is NaN
    else:
        out = b.op("stablehlo.cholesky", [x], x.aval, attrs={"lower": True})
        bad = _infinite(b, _triangle(b, out, "le"))
    return _triangle(b, _nan_where(b, bad, out), "le")


def triangular_solve(b: Any, a: Value, y: Value, *, left_side: bool, lower: bool, transpose_a: bool, conjugate_a: bool,
                     unit_diagonal: bool) -> Value:
    """X with op(A) X = Y or X op(A) = Y."""
    if _empty(y):
        return y
    conjugate_a = conjugate_a and a.dtype.kind == "c"
    if conjugate_a and not transpose_a:
        a = b.complex(b.real(a), b.unary("negate", b.imag(a)))
    adjoint = transpose_a and conjugate_a
    if b.platform == "cpu":
        config = {"side": _letter("L" if left_side else "R"), "uplo": _letter("L" if lower else "U"),
                  "trans_x": _letter("C" if adjoint else "T" if transpose_a else "N"),
                  "diag": _letter("U" if unit_diagonal else "N")}
        return call_library(b, _target(b, "trsm", y.dtype), [a, y], [y.aval], y.ndim - 2, config, [(0, 1)])[0]
    kind = "ADJOINT" if adjoint else "TRANSPOSE" if transpose_a else "NO_TRANSPOSE"
    return b.op("stablehlo.triangular_solve", [a, y], y.aval, attrs={
        "left_side": left_side, "lower": lower, "unit_diagonal": unit_diagonal, "transpose_a": f"#stablehlo<transpose {kind}>"})


def tridiagonal_solve(b: Any, dl: Value, d: Value, du: Value, y: Value, *, perturb_singular: bool) -> Value:
    """By LAPACK's gtsv, cuSPARSE's gtsv2 on NVIDIA's GPUs; NaN for singular matrices."""
    if perturb_singular:
        raise NotImplementedError("tridiagonal_solve: perturb_singular=True is not supported by the XLA backend, whose "
                                  "libraries report singular matrices. Leave it False, or use the CPU backend.")
    if _empty(y):
        return y
    if d.shape[-1] == 1:
        return b.binary("divide", y, b.broadcast(d, y.shape, range(d.ndim)))
    batch = y.ndim - 2
    if b.platform == "cuda":
        return call_library(b, "cusparse_gtsv2_ffi", [dl, d, du, y], [y.aval], batch, reuse=[(0, 3)])[0]
    outs = [dl.aval, d.aval, du.aval, y.aval, _infos(y)]
    *_, out, info = call_library(b, _target(b, "gtsv", y.dtype, gpu=""), [dl, d, du, y], outs, batch,
                                 reuse=[(k, k) for k in range(4)])
    return _nan_where(b, _failed(b, info), out)


# -------------------------------------------------------------------------------------------- lu

def lu(b: Any, x: Value) -> list[Value]:
    """Factors, pivots counted from 0, and the permutation."""
    m, n = x.shape[-2:]
    pivots = ShapedArray((*x.shape[:-2], min(m, n)), _INDEX)
    if _empty(x):
        found = b.full(pivots.shape, 0, _INDEX)
        return [x, found, pivots_to_permutation(b, found, permutation_size=m)]
    out, exchanged, _ = call_library(b, _target(b, "getrf", x.dtype), [x], [x.aval, pivots, _infos(x)], x.ndim - 2,
                                     reuse=[(0, 0)])
    exchanged = b.binary("subtract", exchanged, b.full(pivots.shape, 1, _INDEX))
    return [out, exchanged, pivots_to_permutation(b, exchanged, permutation_size=m)]


def pivots_to_permutation(b: Any, pivots: Value, *, permutation_size: int) -> Value:
    """Exchanges rows k and pivots[k] one after the other."""
    shape, last = (*pivots.shape[:-1], permutation_size), pivots.ndim - 1
    order = b.iota(shape, last, _INDEX)
    if _empty(pivots) or 0 in shape:
        return order
    if b.platform == "cuda":
        return call_library(b, "cu_lu_pivots_to_permutation", [pivots], [ShapedArray(shape, _INDEX)], last)[0]
    rows, zero = b.iota(shape, last, _INDEX), b.constant(0, _INDEX)
    column = ShapedArray((*pivots.shape[:-1], 1), _INDEX)

    def take(x: Value, k: Value) -> Value:
        """x[..., k] throughout."""
        starts = [zero] * last
        found = b.op("stablehlo.dynamic_slice", [x, *starts, k], column, attrs={"slice_sizes": column.shape})
        return b.broadcast(found, shape, range(last + 1))

    def exchange(k: Value, order: Value) -> list[Value]:
        other = take(pivots, k)
        is_k, is_other = b.compare("eq", rows, b.broadcast(k, shape)), b.compare("eq", rows, other)
        taken = b.reduce("add", b.select(is_other, order, b.full(shape, 0, _INDEX)), (last,), 0)
        taken = b.broadcast(taken, shape, range(last))
        return [b.binary("add", k, b.constant(1, _INDEX)), b.select(is_k, taken, b.select(is_other, take(order, k), order))]
    end = b.constant(pivots.shape[-1], _INDEX)
    return b.while_loop(lambda k, _: b.compare("lt", k, end), exchange, [zero, order])[1]


# -------------------------------------------------------------------------------------------- qr

def householder_product(b: Any, a: Value, taus: Value) -> Value:
    """The first columns of the product of reflections."""
    if _empty(a):
        return a
    if _empty(taus):
        return _eye(b, a.shape, a.dtype)
    return call_library(b, _target(b, "orgqr", a.dtype), [a, taus], [a.aval], a.ndim - 2, reuse=[(0, 0)])[0]


def geqrf(b: Any, x: Value) -> list[Value]:
    """The reflections below R, and their factors."""
    taus = ShapedArray((*x.shape[:-2], min(x.shape[-2:])), x.dtype)
    return [x, b.full(taus.shape, 0, x.dtype)] if _empty(x) else _factored(b, x, taus, taus, False)


def qr(b: Any, x: Value, *, pivoting: bool, full_matrices: bool, use_magma: Any) -> list[Value]:
    """Q, R, and the permutation of columns when pivoting."""
    m, n = x.shape[-2:]
    k, batch = min(m, n), x.shape[:-2]
    size = m if full_matrices else k
    order = ShapedArray((*batch, n), _INDEX)
    if _empty(x):
        found = [_eye(b, (*batch, m, size), x.dtype), b.full((*batch, size, n), 0, x.dtype)]
        return [*found, b.iota(order.shape, len(batch), _INDEX)] if pivoting else found
    packed, taus, *permutation = _factored(b, x, order, ShapedArray((*batch, k), x.dtype), pivoting)
    r = b.slice(packed, (0,) * x.ndim, (*batch, size, n)) if size < m else packed
    q = householder_product(b, _columns(b, _columns(b, packed, k), size), taus)
    return [q, _triangle(b, r, "ge"), *permutation]


def _factored(b: Any, x: Value, order: ShapedArray, taus: ShapedArray, pivoting: bool) -> list[Value]:
    if not pivoting:
        return call_library(b, _target(b, "geqrf", x.dtype), [x], [x.aval, taus], x.ndim - 2, reuse=[(0, 0)])
    free = b.full(order.shape, 0, _INDEX)
    target = "cuhybrid_geqp3" if b.platform == "cuda" else _target(b, "geqp3", x.dtype, gpu="")
    packed, columns, found = call_library(b, target, [x, free], [x.aval, order, taus], x.ndim - 2,
                                        _hybrid(b), [(0, 0), (1, 1)])
    return [packed, found, b.binary("subtract", columns, b.full(order.shape, 1, _INDEX))]


def _hybrid(b: Any, **config: Any) -> dict[str, Any]:
    """The configuration of functions that jaxlib computes by MAGMA, where it is installed, else by LAPACK on the host."""
    return {**config, "magma": '"auto"'} if b.platform == "cuda" else {}


# -------------------------------------------------------------------------------------------- eigenvalues

def eigh(b: Any, x: Value, *, lower: bool, **params: Any) -> list[Value]:
    """Eigenvectors and eigenvalues of Hermitian matrices."""
    values = ShapedArray(x.shape[:-1], real_dtype(x.dtype))
    if _empty(x):
        return [x, b.full(values.shape, 0, values.dtype)]
    config = {"mode": _letter("V"), "uplo": _letter("L" if lower else "U")} if b.platform == "cpu" else {
        "algorithm": "0 : ui8", "lower": lower}
    v, w, info = call_library(b, _target(b, "syevd", x.dtype), [x], [x.aval, values, _infos(x)], x.ndim - 2, config, [(0, 0)])
    bad = b.binary("or", _infinite(b, x), _failed(b, info))
    return [_nan_where(b, bad, v), _nan_where(b, bad, w)]


def eig(b: Any, x: Value, *, compute_left_eigenvectors: bool, compute_right_eigenvectors: bool, **params: Any) -> list[Value]:
    """Eigenvalues, and the vectors asked for."""
    wanted = (compute_left_eigenvectors, compute_right_eigenvectors)
    dtype = complex_dtype(x.dtype)
    if _empty(x):
        return [b.full(s, 0, dtype) for s in (x.shape[:-1], *[x.shape] * sum(wanted))]
    parts = [ShapedArray(x.shape[:-1], x.dtype)] * (1 if x.dtype.kind == "c" else 2)
    outs = [*parts, *[ShapedArray(x.shape, dtype)] * 2, _infos(x)]
    if b.platform == "cuda":
        target = f"cuhybrid_eig_{'comp' if x.dtype.kind == 'c' else 'real'}"
        config = _hybrid(b, left=wanted[0], right=wanted[1])
    else:
        target = _target(b, "geev", x.dtype, gpu="")
        config = {f"compute_{side}": _letter("V" if f else "N") for side, f in zip(("left", "right"), wanted, strict=True)}
    *w, vl, vr, info = call_library(b, target, [x], outs, x.ndim - 2, config)
    values = w[0] if x.dtype.kind == "c" else b.complex(*w)
    bad = b.binary("or", _infinite(b, x), _failed(b, info))
    return [_nan_where(b, bad, v) for v in (values, *[v for f, v in zip(wanted, (vl, vr), strict=True) if f])]


def schur(b: Any, x: Value, *, compute_schur_vectors: bool, **params: Any) -> list[Value]:
    """The Schur form, and its vectors when asked for."""
    if _empty(x):
        return [x] * (1 + compute_schur_vectors)
    values = [ShapedArray(x.shape[:-1], x.dtype)] * (1 if x.dtype.kind == "c" else 2)
    config = {"mode": _letter("V" if compute_schur_vectors else "N"), "sort": _letter("N")}
    t, z, *_, info = call_library(b, _target(b, "gees", x.dtype, gpu=""), [x], [x.aval, x.aval, *values, _infos(x), _infos(x)],
                                  x.ndim - 2, config, [(0, 0)])
    bad = b.binary("or", _infinite(b, x), _failed(b, info))
    return [_nan_where(b, bad, v) for v in (t, z)[:1 + compute_schur_vectors]]


def hessenberg(b: Any, x: Value) -> list[Value]:
    """The packed Hessenberg form and the factors of its reflections."""
    n = x.shape[-1]
    taus = ShapedArray((*x.shape[:-2], n - 1), x.dtype)
    if _empty(x) or n == 1:
        return [x, b.full(taus.shape, 0, x.dtype)]
    return call_library(b, _target(b, "gehrd", x.dtype, gpu=""), [x], [x.aval, taus, _infos(x)], x.ndim - 2,
                        {"low": "1 : i32", "high": f"{n} : i32"}, [(0, 0)])[:2]


def tridiagonal(b: Any, x: Value, *, lower: bool) -> list[Value]:
    """The packed tridiagonal form, its two diagonals and the factors of its reflections."""
    *batch, n, _ = x.shape
    real = real_dtype(x.dtype)
    diagonals = [ShapedArray((*batch, n), real), ShapedArray((*batch, n - 1), real), ShapedArray((*batch, n - 1), x.dtype)]
    if _empty(x) or n == 1:
        d = b.reshape(b.real(x) if x.dtype.kind == "c" else x, (*batch, n))
        return [b.convert(b.reshape(d, x.shape), x.dtype), d, *[b.full(a.shape, 0, a.dtype) for a in diagonals[1:]]]
    config = {"uplo": _letter("L" if lower else "U")} if b.platform == "cpu" else {"lower": lower}
    return call_library(b, _target(b, "sytrd", x.dtype), [x], [x.aval, *diagonals, _infos(x)], x.ndim - 2, config, [(0, 0)])[:4]


# -------------------------------------------------------------------------------------------- svd

def svd(b: Any, x: Value, *, full_matrices: bool, compute_uv: bool, **params: Any) -> list[Value]:
    """Singular values, and vectors when asked for."""
    (m, n), batch = x.shape[-2:], x.shape[:-2]
    k = min(m, n)
    values = ShapedArray((*batch, k), real_dtype(x.dtype))
    left, right = ((m, m), (n, n)) if full_matrices else ((m, k), (k, n))
    if _empty(x):
        outs = [b.full(values.shape, 0, values.dtype), _eye(b, (*batch, *left), x.dtype), _eye(b, (*batch, *right), x.dtype)]
        return outs[:3 if compute_uv else 1]
    if b.platform == "cpu":
        mode = ("A" if full_matrices else "S") if compute_uv else "N"
        outs = [x.aval.update(shape=(*batch, *s)) for s in (left, right)]
        _, s, u, vt, info = call_library(b, _target(b, "gesdd", x.dtype), [x], [x.aval, values, *outs, _infos(x)], len(batch),
                                         {"mode": _letter(mode)}, [(0, 0)])
    else:
        s, u, vt, info = _svd_gpu(b, x, values, full_matrices and compute_uv, compute_uv)
    bad = b.binary("or", _infinite(b, x), _failed(b, info))
    return [_nan_where(b, bad, v) for v in ([s, u, vt] if compute_uv else [s])]


def _svd_gpu(b: Any, x: Value, values: ShapedArray, full: bool, vectors: bool) -> list[Value]:
    """By Jacobi's method for small matrices, else by the QR algorithm, which takes matrices with no more columns than rows:
    wide ones are handed over row by row, as their transposes, and the vectors come back exchanged."""
    (m, n), batch = x.shape[-2:], x.shape[:-2]
    k, wide = min(m, n), x.shape[-2] < x.shape[-1]
    sized = lambda rows, columns: x.aval.update(shape=(*batch, rows, columns))
    if max(m, n) <= _JACOBI_UP_TO:
        outs = [x.aval, values, sized(m, m), sized(n, n), _infos(x)]
        _, s, u, v, info = call_library(b, _target(b, "gesvdj", x.dtype), [x], outs, len(batch),
                                        {"compute_uv": vectors, "full_matrices": True}, [(0, 0)])
        vt = b.transpose(v, (*range(len(batch)), len(batch) + 1, len(batch)))
        if x.dtype.kind == "c":
            vt = b.complex(b.real(vt), b.unary("negate", b.imag(vt)))
        if not full:
            u, vt = (b.slice(y, (0,) * x.ndim, (*batch, *size)) for y, size in ((u, (m, k)), (vt, (k, n))))
        return [s, u, vt, info]
    u_aval, vt_aval = (sized(m, m), sized(n, n)) if full else (sized(m, k), sized(k, n))
    first, second = (vt_aval, u_aval) if wide else (u_aval, vt_aval)
    config = {"compute_uv": vectors, "full_matrices": full, "transposed": wide}
    rows_first = x.ndim if wide else len(batch)  # every layout row by row, or matrices column by column
    _, s, one, two, info = call_library(b, _target(b, "gesvd", x.dtype), [x], [x.aval, values, first, second, _infos(x)],
                                        rows_first, config, [(0, 0)])
    return [s, two, one, info] if wide else [s, one, two, info]
