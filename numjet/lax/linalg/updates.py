"""Products and updates that are composed of other operations: a Cholesky factor's change by one rank, symmetric products, and
products with the reflections of a QR factorization."""
from __future__ import annotations

from typing import Any

import numpy as np

from numjet.core.aval import ShapedArray
from numjet.core.op import Op, Samples
from numjet.core.trace import aval_of
from numjet.core.traits import NORMWISE
from numjet.foundation import dtypes
from numjet.lax.composed import composed
from numjet.lax.elementwise.arithmetic import add_p, sign_p
from numjet.lax.linalg import matrix
from numjet.lax.linalg.matrix import matmul, mH
from numjet.lax.linalg.qr_factors import householder_product, qr
from numjet.lax.linalg.triangular import random_matrices, spread_matrix
from numjet.lax.shape.join import concatenate_p
from numjet.lax.shape.rearrange import reshaped
from numjet.lax.templates import kind_of, leading_batch

_REALS = ("float32", "float64")


def _check(name: str, kinds: str, *pairs: tuple[ShapedArray, int]) -> None:
    """TypeError unless operands are matrices (2) or vectors (1) of one dtype and one number of batch axes."""
    for position, (x, rank) in enumerate(pairs):
        if kind_of(x.dtype) not in kinds:
            accepted = "floating, complexfloating" if "c" in kinds else "floating"
            raise TypeError(f"{name} does not accept dtype {dtypes.long_name(x.dtype)} at position {position}. Accepted dtypes "
                            f"at position {position} are subtypes of {accepted}.")
        if x.ndim < rank:
            raise TypeError(f"Input {position} to {name} must have rank at least {rank}, but got shape={x.shape}")
    counts = [x.ndim - rank for x, rank in pairs]
    if len(set(counts)) > 1:
        raise TypeError(f"All inputs to {name} must have the same number of batch dimensions, but got {counts} batch "
                        "dimensions for the inputs.")
    if len({x.dtype for x, _ in pairs}) > 1:
        raise TypeError(f"lax.{name} requires arguments to have the same dtypes, got "
                        f"{', '.join(x.dtype.name for x, _ in pairs)}.")


# -------------------------------------------------------------------------------------------- cholesky_update

def _update_abstract(r: ShapedArray, w: ShapedArray) -> ShapedArray:
    _check("cholesky_update", "f", (r, 2), (w, 1))
    if r.shape[-2] != r.shape[-1] or w.shape != r.shape[:-1]:
        raise ValueError("Rank-1 update to Cholesky decomposition takes a square matrix and a vector of the same size as "
                         f"input. Got shapes {r.shape} and {w.shape} instead")
    return r.update(weak_type=False)


def _updated(r: Any, w: Any) -> Any:
    """The triangle of R with w^T below."""
    shape = aval_of(r).shape
    below = reshaped(w, (*shape[:-2], 1, shape[-1]))
    _, found = qr(concatenate_p.bind(r, below, dimension=len(shape) - 2), full_matrices=False)
    return matrix.upper_part(matrix.scale_rows(sign_p.bind(matrix.diagonal(found)), found))


def _update_eager(r: np.ndarray, w: np.ndarray) -> np.ndarray:
    found = np.linalg.qr(np.concatenate([r, w[..., None, :]], -2), "r")
    return np.triu(found * np.sign(np.diagonal(found, axis1=-2, axis2=-1))[..., None])


cholesky_update_p: Op = composed(
    "cholesky_update", _updated, nargs=2, abstract=_update_abstract, eager=_update_eager,
    batch=leading_batch(lambda: cholesky_update_p), traits=NORMWISE,
    samples=Samples(shapes=[[(3, 3), (3,)], [(2, 2, 2), (2, 2)]], dtypes=_REALS, rtol=1e-4, ulps=256,
                    make=lambda rng, shapes, dtype, _: [np.triu(spread_matrix(rng, shapes[0], dtype, 0.4)),
                                                        rng.standard_normal(shapes[1]).astype(dtype)]))


def cholesky_update(r_matrix: Any, w_vector: Any) -> Any:
    """The upper triangular R' with R'^T R' = R^T R + w w^T, for R[n, n] and w[n]; R' is NaN where R is singular.

    TypeError for dtypes that are no floats or differ, ValueError for shapes that do not fit.

    >>> np.round(np.asarray(cholesky_update(np.eye(1, dtype=np.float32), np.ones(1, np.float32)) ** 2)).tolist()
    [[2.0]]
    """
    return cholesky_update_p.bind(r_matrix, w_vector)


# -------------------------------------------------------------------------------------------- symmetric_product

def _product_abstract(a: ShapedArray, c: ShapedArray, *, alpha: float, beta: float) -> ShapedArray:
    _check("symmetric_product", "f", (a, 2), (c, 2))
    if c.shape != (*a.shape[:-1], a.shape[-2]):
        raise ValueError("symmetric_product expects a matrix of shape [..., n, m] and a symmetric one of shape [..., n, n]. "
                         f"Got shapes {a.shape} and {c.shape}.")
    return c.update(weak_type=False)


def _product(a: Any, c: Any, *, alpha: float, beta: float) -> Any:
    return add_p.bind(matrix.scaled(matmul(a, matrix.mT(a)), alpha), matrix.scaled(c, beta))


symmetric_product_p: Op = composed(
    "symmetric_product", _product, nargs=2, params=("alpha", "beta"), abstract=_product_abstract,
    eager=lambda a, c, *, alpha, beta: (alpha * (a @ a.swapaxes(-1, -2)) + beta * c).astype(a.dtype),
    batch=leading_batch(lambda: symmetric_product_p), traits=NORMWISE,
    samples=Samples(shapes=[[(2, 3), (2, 2)], [(2, 3, 1), (2, 3, 3)]], params=[{"alpha": 2.0, "beta": 0.5}], dtypes=_REALS,
                    make=random_matrices, rtol=1e-5, ulps=64))


def symmetric_product(a_matrix: Any, c_matrix: Any, *, alpha: float = 1.0, beta: float = 0.0,
                      symmetrize_output: bool = False) -> Any:
    """alpha a a^T + beta c, for a[..., n, m] and a symmetric c[..., n, n].

    All of the result is computed, so symmetrize_output changes nothing. TypeError for dtypes that are no floats or differ,
    ValueError when shapes don't fit.

    >>> symmetric_product(np.ones((1, 2), np.float32), np.ones((1, 1), np.float32), beta=2.0).tolist()
    [[4.0]]
    """
    return symmetric_product_p.bind(a_matrix, c_matrix, alpha=float(alpha), beta=float(beta))


# -------------------------------------------------------------------------------------------- ormqr

def _reflected_abstract(a: ShapedArray, taus: ShapedArray, c: ShapedArray, *, left: bool, transpose: bool) -> ShapedArray:
    _check("ormqr", "fc", (a, 2), (taus, 1), (c, 2))
    if a.shape[-2] != c.shape[-2 if left else -1]:
        raise ValueError(f"ormqr with left={left} expects c to have the same number of {'rows' if left else 'columns'} as the "
                         f"Householder matrix a has rows. Got a shape {a.shape} and c shape {c.shape}.")
    return c.update(weak_type=False)


def _reflected(a: Any, taus: Any, c: Any, *, left: bool, transpose: bool) -> Any:
    m = aval_of(a).shape[-2]
    q = householder_product(matrix.padded(matrix.block(a, n=min(aval_of(a).shape[-2:])), m, m), taus)
    q = mH(q) if transpose else q
    return matmul(q, c) if left else matmul(c, q)


def _reflected_eager(a: np.ndarray, taus: np.ndarray, c: np.ndarray, *, left: bool, transpose: bool) -> np.ndarray:
    q = np.eye(a.shape[-2], dtype=a.dtype)
    for k in range(taus.shape[-1]):
        v = np.where(np.arange(a.shape[-2]) < k, 0, a[..., k])
        v[..., k] = 1
        q = q - (q @ v[..., None]) * (taus[..., k, None] * v.conj())[..., None, :]
    q = q.swapaxes(-1, -2).conj() if transpose else q
    return q @ c if left else c @ q


ormqr_p: Op = composed(
    "ormqr", _reflected, nargs=3, params=("left", "transpose"), abstract=_reflected_abstract, eager=_reflected_eager,
    batch=leading_batch(lambda: ormqr_p), traits=NORMWISE,
    samples=Samples(shapes=[[(4, 3), (3,), (4, 2)], [(2, 3, 3), (2, 2), (2, 1, 3)]],
                    params=[{"left": True, "transpose": True}, {"left": False, "transpose": False}], dtypes=matrix.DTYPES,
                    make=random_matrices, rtol=1e-4, ulps=128, order=0))


def ormqr(a: Any, taus: Any, c: Any, *, left: bool = True, transpose: bool = False) -> Any:
    """Q c or c Q (Q^H with `transpose`), Q being the square product of the reflections of qr's packed form a, taus.

    TypeError for integers and dtypes that differ, ValueError when shapes don't fit.

    >>> ormqr(np.zeros((2, 1), np.float32), np.zeros(1, np.float32), np.ones((2, 1), np.float32)).tolist()
    [[1.0], [1.0]]
    """
    return ormqr_p.bind(a, taus, c, left=bool(left), transpose=bool(transpose))
