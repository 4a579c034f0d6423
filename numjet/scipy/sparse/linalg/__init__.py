"""scipy.sparse.linalg: iterative solvers of linear systems that are given by their products with vectors.

All are differentiable: derivatives come from the solved equation, by another solve with the same method.
Imports `api`, `control`, `lax` and `numpy`. Add a solver to the file of its kind, and its name here.
"""

from numjet.scipy.sparse.linalg.definite import cg as cg, minres as minres
from numjet.scipy.sparse.linalg.general import bicgstab as bicgstab, gmres as gmres
from numjet.scipy.sparse.linalg.least_squares import LsqrResult as LsqrResult, lsqr as lsqr
from numjet.scipy.sparse.linalg.operators import LinearOperator as LinearOperator, aslinearoperator as aslinearoperator
from numjet.scipy.sparse.linalg.eigenvalues import eigsh as eigsh, svds as svds
from numjet.scipy.sparse.linalg.exponentials import expm_multiply as expm_multiply
