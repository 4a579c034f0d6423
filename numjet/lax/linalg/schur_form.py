"""Schur and Hessenberg forms of general matrices."""
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
from numjet.lax.templates import leading_batch


def _schur_abstract(x: ShapedArray, *, compute_schur_vectors: bool, **params: Any) -> list[ShapedArray]:
    matrix.check_matrix("schur", x, square=True)
    return [x, x] if compute_schur_vectors else [x]


def _schur_eager(x: np.ndarray, *, compute_schur_vectors: bool, **params: Any) -> list[np.ndarray]:
    outs = _schur_abstract(ShapedArray(x.shape, x.dtype), compute_schur_vectors=compute_schur_vectors)

    def form(a: np.ndarray) -> list[np.ndarray]:
        if not np.isfinite(a).all():
            return [np.full_like(a, np.nan)] * len(outs)
        found = routine("gees", a.dtype)(lambda *_: 0, a, compute_v=int(compute_schur_vectors), sort_t=0)
        return [found[0], found[-3]][:len(outs)]
    return over_batch(form, outs, [(x, 2)]) if x.size else [x] * len(outs)


def _schur_cpu(b: Any, x: Any, *, compute_schur_vectors: bool, **params: Any) -> list[Any]:
    args = [CODES[x.dtype.name], prod(x.shape[:-2]), x.shape[-1], int(compute_schur_vectors), x]
    return b.kernel("nj_gees", args, [ShapedArray(x.shape, x.dtype)] * 2, checked=True)[:1 + compute_schur_vectors]


schur_p: Op = Op(
    name="schur", params=("compute_schur_vectors", "sort_eig_vals", "select_callable"), multiple=True,
    abstract=_schur_abstract, eager=_schur_eager, jvp=Missing("the Schur form has no derivative here"),
    transpose=Missing("schur is not linear"), batch=leading_batch(lambda: schur_p), cpu=_schur_cpu,
    hlo=hlo.schur, traits=MATRIX_BY_MATRIX,
    samples=Samples(shapes=((3, 3), (2, 4, 4), (0, 0)),
                    params=tuple({"compute_schur_vectors": v, "sort_eig_vals": False, "select_callable": None}
                                 for v in (True, False, True)), dtypes=matrix.DTYPES,
                    make=random_matrices, rtol=1e-3, ulps=512))


def schur(x: Any, *, compute_schur_vectors: bool = True, sort_eig_vals: bool = False,
          select_callable: Any = None) -> tuple[Any, ...]:
    """The Schur form (t, z) of matrices x[..., n, n]: x = z t z^H with unitary z.

    t is upper triangular, for real matrices with 2 x 2 blocks for pairs of complex eigenvalues. Without
    compute_schur_vectors: (t,). NotImplementedError for sorted eigenvalues.

    >>> t, z = schur(np.array([[1., 2.], [0., 3.]], np.float32))
    >>> t.tolist()
    [[1.0, 2.0], [0.0, 3.0]]
    """
    if sort_eig_vals or select_callable is not None:
        raise NotImplementedError("schur: sorted eigenvalues are not supported; leave sort_eig_vals False")
    return tuple(schur_p.bind(x, compute_schur_vectors=bool(compute_schur_vectors), sort_eig_vals=False,
                              select_callable=None))


def _hessenberg_abstract(x: ShapedArray) -> list[ShapedArray]:
    matrix.check_matrix("hessenberg", x, square=True)
    if x.shape[-1] == 0:
        raise ValueError(f"hessenberg requires the last two dimensions of a to be greater than zero, got shape {x.shape}")
    return [x, x.update(shape=(*x.shape[:-2], x.shape[-1] - 1))]


def _hessenberg_eager(x: np.ndarray) -> list[np.ndarray]:
    def form(a: np.ndarray) -> list[np.ndarray]:
        if len(a) == 1:
            return [a, np.zeros(0, a.dtype)]
        packed, taus, _ = routine("gehrd", a.dtype)(a)
        return [packed, taus]
    return over_batch(form, _hessenberg_abstract(ShapedArray(x.shape, x.dtype)), [(x, 2)])


hessenberg_p: Op = Op(
    name="hessenberg", multiple=True, abstract=_hessenberg_abstract, eager=_hessenberg_eager,
    jvp=Missing("the Hessenberg form has no derivative here"), transpose=Missing("hessenberg is not linear"),
    batch=leading_batch(lambda: hessenberg_p),
    cpu=lambda b, x: b.kernel("nj_gehrd", [CODES[x.dtype.name], prod(x.shape[:-2]), x.shape[-1], x],
                              _hessenberg_abstract(ShapedArray(x.shape, x.dtype)), checked=True),
    hlo=hlo.hessenberg, traits=MATRIX_BY_MATRIX,
    samples=Samples(shapes=((3, 3), (2, 4, 4), (1, 1)), dtypes=matrix.DTYPES, rtol=1e-3, ulps=512,
                    make=random_matrices))


def hessenberg(a: Any) -> tuple[Any, Any]:
    """The Hessenberg form of matrices a[..., n, n], packed, and the factors of its reflections [..., n-1].

    Above and on the first subdiagonal: H of a = Q H Q^H. Below: the vectors of the reflections whose product is Q, as
    householder_product takes them. ValueError for matrices that are empty or not square.

    >>> packed, taus = hessenberg(np.eye(3, dtype=np.float32))
    >>> taus.shape
    (2,)
    """
    packed, taus = hessenberg_p.bind(a)
    return packed, taus
