"""scipy.linalg on arrays that can be traced, differentiated, batched and compiled.

Matrices are the last two axes. The arguments overwrite_*, check_finite, debug, lwork and the like are accepted and
ignored, as in jax.scipy.linalg: arrays are never overwritten and values not checked.
Imports `control`, `lax` and `numpy`. Add a function to the file of its kind, and its name here.
"""

from numjet.numpy.core import taped as _taped
from numjet.scipy.linalg.decompositions import (
    eigh as eigh, hessenberg as hessenberg, qr as qr, schur as schur, svd as svd,
)
from numjet.scipy.linalg.functions import expm as expm, expm_frechet as expm_frechet, polar as polar, sqrtm as sqrtm
from numjet.scipy.linalg.matrices import (
    block_diag as block_diag, circulant as circulant, companion as companion, dft as dft, hankel as hankel, hilbert as hilbert,
    toeplitz as toeplitz,
)
from numjet.scipy.linalg.patterns import (
    convolution_matrix as convolution_matrix, fiedler as fiedler, fiedler_companion as fiedler_companion, leslie as leslie,
)
from numjet.scipy.linalg.schur_methods import (
    funm as funm, qr_multiply as qr_multiply, rsf2csf as rsf2csf, solve_sylvester as solve_sylvester,
)
from numjet.scipy.linalg.systems import (
    cho_factor as cho_factor, cho_solve as cho_solve, cholesky as cholesky, det as det, inv as inv, lu as lu,
    lu_factor as lu_factor, lu_solve as lu_solve, solve as solve, solve_triangular as solve_triangular,
)
from numjet.scipy.linalg.tables import (
    hadamard as hadamard, helmert as helmert, invhilbert as invhilbert, invpascal as invpascal, pascal as pascal,
)
from numjet.scipy.linalg.tridiagonal import eigh_tridiagonal as eigh_tridiagonal

_taped.library(vars())
