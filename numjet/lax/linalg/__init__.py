"""Linear algebra on batches of matrices: factors, eigenvalues, systems of equations.

Matrices are the last two axes of arrays of float32, float64, complex64 or complex128; LAPACK computes, and small real
matrices are written out. What has no result (a Cholesky factor of an indefinite matrix, say) is NaN.
"""
from __future__ import annotations

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
    householder_product as householder_product, householder_product_p as householder_product_p, qr as qr, qr_p as qr_p,
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
from numjet.lax.linalg.updates import (
    cholesky_update as cholesky_update, cholesky_update_p as cholesky_update_p, ormqr as ormqr, ormqr_p as ormqr_p,
    symmetric_product as symmetric_product, symmetric_product_p as symmetric_product_p,
)

__all__ = [
    "EigImplementation", "EighImplementation", "SvdAlgorithm", "cholesky", "cholesky_p", "cholesky_update",
    "cholesky_update_p", "eig", "eig_p", "eigh", "eigh_p", "hessenberg", "hessenberg_p", "householder_product",
    "householder_product_p", "lu", "lu_p", "lu_pivots_to_permutation", "lu_pivots_to_permutation_p", "ormqr", "ormqr_p",
    "qdwh", "qr", "qr_p", "schur", "schur_p", "svd", "svd_p", "symmetric_product", "symmetric_product_p",
    "triangular_solve", "triangular_solve_p", "tridiagonal", "tridiagonal_p", "tridiagonal_solve", "tridiagonal_solve_p",
]
