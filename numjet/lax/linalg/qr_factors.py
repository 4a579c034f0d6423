"""QR factors, and products of Householder reflections."""
from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from numjet.core.aval import ShapedArray
from numjet.core.op import Missing, Op, Samples, Zero
from numjet.core.trace import aval_of
from numjet.core.traits import MATRIX_BY_MATRIX
from numjet.foundation.dimension import smallest
from numjet.lax.linalg import hlo, matrix
from numjet.lax.linalg.lapack import CODES, over_batch, routine
from numjet.lax.linalg.qr_tangents import factor_tangents
from numjet.lax.linalg.triangular import random_matrices, spread_matrix
from numjet.lax.reduction.sort import take_along
from numjet.lax.tangent import no_tangent
from numjet.lax.templates import leading_batch

_INDEX = np.dtype(np.int32)

# -------------------------------------------------------------------------------------------- householder_product

def _product_abstract(a: ShapedArray, taus: ShapedArray) -> ShapedArray:
    matrix.check_matrix("householder_product", a)
    m, n = a.shape[-2:]
    if m < n:
        raise ValueError(f"The first argument to householder_product must have at least as many rows as columns, got shape "
                         f"{a.shape}")
    if taus.shape[:-1] != a.shape[:-2] or taus.shape[-1] > n or taus.dtype != a.dtype:
        raise ValueError(f"The second argument to householder_product must be at most {n} numbers per matrix, of the same "
                         f"dtype and batch; got {taus} for {a}")
    return a


def _product_eager(a: np.ndarray, taus: np.ndarray) -> np.ndarray:
    def product(x: np.ndarray, tau: np.ndarray) -> list[np.ndarray]:
        return [routine("orgqr", x.dtype)(x, tau)[0] if len(tau) else np.eye(*x.shape, dtype=x.dtype)]
    return over_batch(product, [ShapedArray(a.shape, a.dtype)], [(a, 2), (taus, 1)])[0] if a.size else a


def _product_cpu(b: Any, a: Any, taus: Any) -> Any:
    sizes = [CODES[a.dtype.name], prod(a.shape[:-2]), *a.shape[-2:], taus.shape[-1]]
    return b.kernel("nj_orgqr", [*sizes, a, taus], [ShapedArray(a.shape, a.dtype)], checked=True)[0]


householder_product_p: Op = Op(
    name="householder_product", nargs=2, abstract=_product_abstract, eager=_product_eager,
    jvp=Missing("differentiate qr instead"), transpose=Missing("householder_product is not linear"),
    batch=leading_batch(lambda: householder_product_p), cpu=_product_cpu, hlo=hlo.householder_product, traits=MATRIX_BY_MATRIX,
    samples=Samples(shapes=[[(4, 3), (3,)], [(2, 3, 3), (2, 2)], [(5, 2), (1,)], [(3, 0), (0,)]], dtypes=matrix.DTYPES,
                    make=random_matrices, rtol=1e-4, ulps=64))


def householder_product(a: Any, taus: Any) -> Any:
    """The first n columns of the product of the reflections I - tau v v^H, v being the columns of a below the diagonal.

    a: [..., m, n], m >= n. taus: [..., k], k <= n. ValueError when the shapes don't fit.

    >>> np.abs(householder_product(np.zeros((2, 2), np.float32), np.zeros(2, np.float32))).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    return householder_product_p.bind(a, taus)


# -------------------------------------------------------------------------------------------- geqrf

def _packed_abstract(x: ShapedArray) -> list[ShapedArray]:
    matrix.check_matrix("geqrf", x)
    return [x, x.update(shape=(*x.shape[:-2], min(x.shape[-2:])))]


def _packed_eager(x: np.ndarray) -> list[np.ndarray]:
    packed, taus = np.linalg.qr(x, "raw")
    return [packed.swapaxes(-1, -2), taus]


def _packed_cpu(b: Any, x: Any) -> list[Any]:
    taus = ShapedArray((*x.shape[:-2], min(x.shape[-2:])), x.dtype)
    sizes = [CODES[x.dtype.name], prod(x.shape[:-2]), *x.shape[-2:]]
    return list(b.kernel("nj_geqrf", [*sizes, ("own", x)], [taus], checked=True))


geqrf_p: Op = Op(
    name="geqrf", multiple=True, abstract=_packed_abstract, eager=_packed_eager, jvp=Missing("differentiate qr instead"),
    transpose=Missing("geqrf is not linear"), batch=leading_batch(lambda: geqrf_p), cpu=_packed_cpu, hlo=hlo.geqrf,
    traits=MATRIX_BY_MATRIX, samples=Samples(
        shapes=((3, 3), (4, 3), (3, 5), (2, 5, 3), (12, 9), (1, 1), (3, 0)), dtypes=matrix.DTYPES,
        make=lambda rng, shape, dtype, params: [spread_matrix(rng, shape, dtype, 0.4)], rtol=2e-4, ulps=256))


# -------------------------------------------------------------------------------------------- qr

def _abstract(x: ShapedArray, *, pivoting: bool, full_matrices: bool, use_magma: Any) -> list[ShapedArray]:
    matrix.check_matrix("qr", x)
    m, n = x.shape[-2:]
    k = m if full_matrices else smallest(m, n)
    outs = [x.update(shape=(*x.shape[:-2], m, k)), x.update(shape=(*x.shape[:-2], k, n))]
    return [*outs, x.update(shape=(*x.shape[:-2], n), dtype=_INDEX)] if pivoting else outs


def _eager(x: np.ndarray, *, pivoting: bool, full_matrices: bool, use_magma: Any) -> list[np.ndarray]:
    if not pivoting:
        return list(np.linalg.qr(x, "complete" if full_matrices else "reduced"))

    def factor(a: np.ndarray) -> list[np.ndarray]:
        if not a.size:
            q, r = np.linalg.qr(a, "complete" if full_matrices else "reduced")
            return [q, r, np.arange(a.shape[1])]
        _, order, *_ = routine("geqp3", a.dtype)(a)
        q, r = np.linalg.qr(a[:, order - 1], "complete" if full_matrices else "reduced")
        return [q, r, order - 1]
    return over_batch(factor, _abstract(ShapedArray(x.shape, x.dtype), pivoting=True, full_matrices=full_matrices,
                                        use_magma=None), [(x, 2)])


def _cpu(b: Any, x: Any, *, pivoting: bool, full_matrices: bool, use_magma: Any) -> list[Any]:
    m, n = x.shape[-2:]
    k, batch = min(m, n), x.shape[:-2]
    args = [CODES[x.dtype.name], prod(batch), m, n]
    taus = ShapedArray((*batch, k), x.dtype)
    if pivoting:
        outs = [ShapedArray(x.shape, x.dtype), ShapedArray((*batch, n), _INDEX), taus]
        packed, order, tau = b.kernel("nj_geqp3", [*args, x], outs, checked=True)
    else:
        packed, tau = b.kernel("nj_geqrf", [*args, ("own", x)], [taus], checked=True)
    size = m if full_matrices else k
    zero = b.const(0, x.dtype)
    r = b.compute((*batch, size, n), x.dtype, lambda *i: b.if_(
        b.compare("le", b.scalar(i[-2]), b.scalar(i[-1])), lambda: b.read(packed, *i), lambda: zero), reads=(packed,))
    vectors = packed if size == n else b.compute((*batch, m, size), x.dtype, lambda *i: b.if_(
        b.compare("lt", b.scalar(i[-1]), b.scalar(k)), lambda: b.read(packed, *i), lambda: zero), reads=(packed,))
    q = _product_cpu(b, vectors, tau)
    return [q, r, order] if pivoting else [q, r]


def _jvp(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> tuple[list[Any], list[Any]]:
    q, r, *order = outs = qr_p.bind(primals[0], **params)
    if isinstance(tangents[0], Zero):
        return outs, [no_tangent(v) for v in outs]
    change = tangents[0]
    if order:
        change = take_along(change, matrix.columns(order[0], aval_of(change).shape), aval_of(change).ndim - 1)
    dq, dr = factor_tangents(q, r, change)
    return outs, [dq, dr, *map(no_tangent, order)]


qr_p: Op = Op(
    name="qr", params=("pivoting", "full_matrices", "use_magma"), multiple=True, abstract=_abstract, eager=_eager, jvp=_jvp,
    transpose=Missing("qr is not linear"), batch=leading_batch(lambda: qr_p), cpu=_cpu, hlo=hlo.qr, traits=MATRIX_BY_MATRIX,
    samples=Samples(
        shapes=((3, 3), (4, 3), (3, 5), (2, 4, 4), (2, 5, 3), (4, 3), (3, 4), (12, 9), (1, 1), (4, 3), (2, 5, 2)),
        params=tuple({"pivoting": p, "full_matrices": f, "use_magma": None} for p, f in (
            (False, True), (False, False), (False, True), (True, True), (True, False), (False, False), (True, False),
            (False, False), (False, True), (False, True), (True, True))),
        dtypes=matrix.DTYPES, make=lambda rng, shape, dtype, params: [spread_matrix(rng, shape, dtype, 0.4)],
        rtol=2e-4, ulps=256))


def qr(x: Any, *, pivoting: bool = False, full_matrices: bool = True, use_magma: bool | None = None) -> tuple[Any, ...]:
    """x = Q R with orthonormal columns in Q and an upper triangular R, for matrices x[..., m, n].

    full_matrices: Q is m x m, else m x min(m, n). pivoting: the columns x[..., permutation] are factored, in the order
    that makes R's diagonal decrease, and a third result is the permutation (int32). TypeError for integers and less than
    two axes. use_magma is an option of GPUs and ignored.

    >>> q, r = qr(np.array([[0., 2.], [1., 0.]], np.float32))
    >>> np.abs(r).tolist()
    [[1.0, 0.0], [0.0, 2.0]]
    """
    return tuple(qr_p.bind(x, pivoting=bool(pivoting), full_matrices=bool(full_matrices), use_magma=use_magma))
