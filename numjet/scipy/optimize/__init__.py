"""scipy.optimize: minimization of functions of vectors.
Imports `api`, `control`, `lax` and `numpy`. Add a method as a file, and its name to `minimization`.
"""

from numjet.scipy.optimize.minimization import minimize as minimize
from numjet.scipy.optimize.results import OptimizeResults as OptimizeResults
