"""Tridiagonal form of Hermitian matrices."""
from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from numjet.core.aval import ShapedArray
from numjet.core.op import Missing, Op, Samples
from numjet.core.traits import MATRIX_BY_MATRIX
from numjet.lax.linalg import hlo, matrix
from numjet.lax.linalg.lapack import CODES, over_batch, routine
from numjet.lax.linalg.triangular import random_matrices
from numjet.lax.operands import real_dtype
from numjet.lax.templates import leading_batch


def _abstract(x: ShapedArray, *, lower: bool) -> list[ShapedArray]:
    matrix.check_matrix("tridiagonal", x, square=True)
    *batch, n, _ = x.shape
    if n == 0:
        raise ValueError(f"tridiagonal requires the last two dimensions of a to be greater than zero, got shape {x.shape}")
    real = real_dtype(x.dtype)
    diagonal, beside = (x.update(shape=(*batch, size), dtype=real) for size in (n, n - 1))
    return [x, diagonal, beside, x.update(shape=(*batch, n - 1))]


def _eager(x: np.ndarray, *, lower: bool) -> list[np.ndarray]:
    def form(a: np.ndarray) -> list[np.ndarray]:
        if len(a) == 1:
            return [a.real.astype(a.dtype), a[0].real, np.zeros(0, a.real.dtype), np.zeros(0, a.dtype)]
        packed, d, e, taus, _ = routine("sytrd", a.dtype)(a, lower=int(lower))
        return [packed, d, e, taus]
    return over_batch(form, _abstract(ShapedArray(x.shape, x.dtype), lower=lower), [(x, 2)])


def _cpu(b: Any, x: Any, *, lower: bool) -> list[Any]:
    args = [CODES[x.dtype.name], prod(x.shape[:-2]), x.shape[-1], int(lower), x]
    return b.kernel("nj_sytrd", args, _abstract(ShapedArray(x.shape, x.dtype), lower=lower), checked=True)


tridiagonal_p: Op = Op(
    name="tridiagonal", params=("lower",), multiple=True, abstract=_abstract, eager=_eager,
    jvp=Missing("the tridiagonal form has no derivative here; differentiate what is computed of it"),
    transpose=Missing("tridiagonal is not linear"), batch=leading_batch(lambda: tridiagonal_p), cpu=_cpu,
    hlo=hlo.tridiagonal, traits=MATRIX_BY_MATRIX,
    samples=Samples(shapes=((3, 3), (4, 4), (2, 5, 5), (1, 1)), params=tuple({"lower": v} for v in (True, False, True, False)),
                    dtypes=matrix.DTYPES, make=random_matrices,
                    rtol=1e-3, ulps=512))


def tridiagonal(a: Any, *, lower: bool = True) -> tuple[Any, Any, Any, Any]:
    """The tridiagonal form T of Hermitian matrices a[..., n, n] = Q T Q^H: (packed, d, e, taus).

    lower: which triangle of a is read. d[..., n] and e[..., n-1], real: the diagonal of T and the one below (above, for
    lower=False). packed has both in place and, in the rest of its triangle, the vectors of the reflections whose product is
    Q, with their factors taus[..., n-1]; the other triangle is that of a.

    TypeError for integers and less than two axes, ValueError for matrices that are empty or not square.

    >>> packed, d, e, taus = tridiagonal(np.diag(np.float32([1, 2, 3])))
    >>> d.tolist(), e.tolist()
    ([1.0, 2.0, 3.0], [0.0, 0.0])
    """
    packed, d, e, taus = tridiagonal_p.bind(a, lower=bool(lower))
    return packed, d, e, taus
