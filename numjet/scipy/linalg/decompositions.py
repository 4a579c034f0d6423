"""Decompositions of matrices: QR, singular values, eigenvalues, Schur and Hessenberg forms."""
from __future__ import annotations

from typing import Any

import numpy as np

from numjet.core.trace import aval_of
from numjet.foundation import dtypes
from numjet.lax import linalg as lax_linalg
from numjet.lax.elementwise.arithmetic import add_p
from numjet.lax.elementwise.compare import eq_p, le_p
from numjet.lax.elementwise.convert import as_dtype
from numjet.lax.linalg import matrix as mx
from numjet.lax.shape.join import pad_p
from numjet.numpy.indexing.subscript import getitem
from numjet.scipy.linalg.arguments import inexact


def qr(a: Any, overwrite_a: bool = False, lwork: Any = None, mode: str = "full", pivoting: bool = False,
       check_finite: bool = True) -> tuple[Any, ...]:
    """Q and R of matrices. mode: "full", "economic" (thin Q) or "r" ((R,) alone). pivoting: a last result, the permutation.

    >>> import numjet.numpy as jnp
    >>> q, r = qr(jnp.eye(2))
    >>> (q @ r).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    (a,) = inexact("qr", a)
    if mode not in ("full", "economic", "r"):
        raise ValueError(f"Unsupported QR decomposition mode '{mode}'")
    out = lax_linalg.qr(a, pivoting=pivoting, full_matrices=mode != "economic")
    return out[1:] if mode == "r" else out


def svd(a: Any, full_matrices: bool = True, compute_uv: bool = True, overwrite_a: bool = False, check_finite: bool = True,
        lapack_driver: str = "gesdd") -> Any:
    """Singular values and vectors, as numjet.numpy.linalg.svd, in a tuple.

    >>> import numjet.numpy as jnp
    >>> svd(2 * jnp.eye(2), compute_uv=False).tolist()
    [2.0, 2.0]
    """
    (a,) = inexact("svd", a)
    return lax_linalg.svd(a, full_matrices=full_matrices, compute_uv=compute_uv)


def eigh(a: Any, b: Any = None, lower: bool = True, eigvals_only: bool = False, overwrite_a: bool = False,
         overwrite_b: bool = False, turbo: bool = True, eigvals: Any = None, type: int = 1, check_finite: bool = True) -> Any:
    """Eigenvalues (ascending) and eigenvectors of Hermitian matrices, or the values alone.

    NotImplementedError for generalized problems (b, type) and subsets (eigvals).

    >>> import numjet.numpy as jnp
    >>> eigh(jnp.array([[2.0, 0.0], [0.0, 1.0]]), eigvals_only=True).tolist()
    [1.0, 2.0]
    """
    if b is not None:
        raise NotImplementedError("Only the b=None case of eigh is implemented")
    if type != 1:
        raise NotImplementedError("Only the type=1 case of eigh is implemented.")
    if eigvals is not None:
        raise NotImplementedError("Only the eigvals=None case of eigh is implemented.")
    (a,) = inexact("eigh", a)
    v, w = lax_linalg.eigh(a, lower=lower)
    return w if eigvals_only else (w, v)


def schur(a: Any, output: str = "real") -> tuple[Any, Any]:
    """The Schur form T and the unitary Z of a = Z T Z^H. output: "complex" makes T triangular for real matrices, too.

    >>> import numjet.numpy as jnp
    >>> schur(jnp.array([[1.0, 2.0], [0.0, 3.0]]))[0].tolist()
    [[1.0, 2.0], [0.0, 3.0]]
    """
    if output not in ("real", "complex"):
        raise ValueError(f"Expected 'output' to be either 'real' or 'complex', got output={output!r}.")
    (a,) = inexact("schur", a)
    if output == "complex":
        a = as_dtype(a, dtypes.common_dtype(a.dtype, dtypes.complex64))
    t, z = lax_linalg.schur(a)
    return t, z


def hessenberg(a: Any, *, calc_q: bool = False, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    """The Hessenberg form H of a = Q H Q^H, and with calc_q (H, Q).

    >>> import numjet.numpy as jnp
    >>> hessenberg(jnp.eye(2)).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    (a,) = inexact("hessenberg", a)
    mx.check_matrix("hessenberg", aval_of(a), square=True)
    n = a.shape[-1]
    if n == 0:
        return (a, a) if calc_q else a
    packed, taus = lax_linalg.hessenberg(a)
    i, j = mx.indices(packed.shape)
    form = mx.where(le_p.bind(i, add_p.bind(j, mx.scalar(1, np.dtype(np.int32)))), packed, 0)
    if not calc_q:
        return form
    inner = getitem(packed, (..., slice(1, None), slice(0, n - 1)))
    if n > 1:
        inner = lax_linalg.householder_product(inner, taus)
    config = ((0, 0, 0),) * (a.ndim - 2) + ((1, 0, 0), (1, 0, 0))
    q = pad_p.bind(inner, mx.scalar(0, a.dtype), padding_config=config)
    corner = eq_p.bind(add_p.bind(i, j), mx.scalar(0, np.dtype(np.int32)))
    return form, mx.where(corner, mx.eye(q.shape, a.dtype), q)
