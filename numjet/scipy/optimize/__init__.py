"""scipy.optimize: minimization, roots and least squares, with derivatives of the implicit function.
Imports `api`, `control`, `lax` and `numpy`. Add a method of `minimize` as a file, and its name to `minimization`.
"""

from numjet.scipy.optimize.minimization import minimize as minimize
from numjet.scipy.optimize.nonlinear_least_squares import (
    LeastSquaresResult as LeastSquaresResult,
    least_squares as least_squares,
)
from numjet.scipy.optimize.results import OptimizeResults as OptimizeResults
from numjet.scipy.optimize.roots import root as root
from numjet.scipy.optimize.scalar_minimization import minimize_scalar as minimize_scalar
from numjet.scipy.optimize.scalar_roots import (
    RootResults as RootResults,
    bisect as bisect,
    brentq as brentq,
    newton as newton,
)
