"""Linear algebra on batches of matrices: factors, eigenvalues, systems of equations.

Matrices are the last two axes of arrays of float32, float64, complex64 or complex128; LAPACK computes, and small real
matrices are written out. What has no result (a Cholesky factor of an indefinite matrix, say) is NaN.
"""
from __future__ import annotations

from typing import Any

from numjet.core.trace import aval_of
from numjet.lax.elementwise.arithmetic import add_p, sign_p
from numjet.lax.linalg import matrix
from numjet.lax.linalg.eigen import (
    EighImplementation as EighImplementation, EigImplementation as EigImplementation, SvdAlgorithm as SvdAlgorithm, eig as eig,
    eig_p as eig_p, eigh as eigh, eigh_p as eigh_p, svd as svd, svd_p as svd_p,
)
from numjet.lax.linalg.lu_factors import (
    lu as lu, lu_p as lu_p, lu_pivots_to_permutation as lu_pivots_to_permutation,
    lu_pivots_to_permutation_p as lu_pivots_to_permutation_p,
)
from numjet.lax.linalg.polar import qdwh as qdwh
from numjet.lax.linalg.qr_factors import (
    householder_product as householder_product, householder_product_p as householder_product_p, ormqr as ormqr, qr as qr,
    qr_p as qr_p,
)
from numjet.lax.linalg.schur_form import (
    hessenberg as hessenberg, hessenberg_p as hessenberg_p, schur as schur, schur_p as schur_p,
)
from numjet.lax.linalg.triangular import (
    cholesky as cholesky, cholesky_p as cholesky_p, triangular_solve as triangular_solve,
    triangular_solve_p as triangular_solve_p, tridiagonal_solve as tridiagonal_solve,
    tridiagonal_solve_p as tridiagonal_solve_p,
)
from numjet.lax.linalg.tridiagonal_form import tridiagonal as tridiagonal, tridiagonal_p as tridiagonal_p
from numjet.lax.shape.join import concatenate_p
from numjet.lax.shape.rearrange import reshaped

__all__ = [
    "EigImplementation", "EighImplementation", "SvdAlgorithm", "cholesky", "cholesky_p", "cholesky_update", "eig", "eig_p",
    "eigh", "eigh_p", "hessenberg", "hessenberg_p", "householder_product", "householder_product_p", "lu", "lu_p",
    "lu_pivots_to_permutation", "lu_pivots_to_permutation_p", "ormqr", "qdwh", "qr", "qr_p", "schur", "schur_p", "svd",
    "svd_p", "symmetric_product", "triangular_solve", "triangular_solve_p", "tridiagonal", "tridiagonal_p",
    "tridiagonal_solve", "tridiagonal_solve_p",
]


def symmetric_product(a_matrix: Any, c_matrix: Any, *, alpha: float = 1.0, beta: float = 0.0,
                      symmetrize_output: bool = False) -> Any:
    """alpha a a^T + beta c, for a[..., n, m] and a symmetric c[..., n, n].

    All of the result is computed, so symmetrize_output changes nothing. TypeError when shapes don't fit.

    >>> import numpy as np
    >>> symmetric_product(np.ones((1, 2), np.float32), np.ones((1, 1), np.float32), beta=2.0).tolist()
    [[4.0]]
    """
    shape, square = aval_of(a_matrix).shape, aval_of(c_matrix).shape
    if square != (*shape[:-1], shape[-2]):
        raise TypeError(f"symmetric_product expects a matrix [..., n, m] and a symmetric one [..., n, n], got {shape} and "
                        f"{square}")
    product = matrix.scaled(matrix.matmul(a_matrix, matrix.mT(a_matrix)), alpha)
    return add_p.bind(product, matrix.scaled(c_matrix, beta))


def cholesky_update(r_matrix: Any, w_vector: Any) -> Any:
    """The upper triangular R' with R'^T R' = R^T R + w w^T, for R[n, n] and w[n]; R' is NaN where R is singular.

    >>> import numpy as np
    >>> np.round(np.asarray(cholesky_update(np.eye(1, dtype=np.float32), np.ones(1, np.float32)) ** 2)).tolist()
    [[2.0]]
    """
    shape = aval_of(r_matrix).shape
    if len(shape) != 2 or aval_of(w_vector).shape != shape[1:]:
        raise ValueError(f"cholesky_update expects a matrix [n, n] and a vector [n], got {shape} and "
                         f"{aval_of(w_vector).shape}")
    stacked = concatenate_p.bind(r_matrix, reshaped(w_vector, (1, shape[1])), dimension=0)
    _, r = qr(stacked, full_matrices=False)
    signs = sign_p.bind(matrix.diagonal(r))
    return matrix.scale_rows(signs, r)
