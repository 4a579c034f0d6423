"""Numerical integration, under SciPy's names.
Imports `api`, `control` and `numpy`. Add rules for samples to `samples`, methods for differential equations to `steps`.
"""

from numjet.numpy.signal.calculus import trapezoid as trapezoid
from numjet.scipy.integrate.initial_values import (
    OdeResult as OdeResult,
    OdeSolution as OdeSolution,
    solve_ivp as solve_ivp,
)
from numjet.scipy.integrate.quadrature import quad as quad
from numjet.scipy.integrate.samples import (
    cumulative_simpson as cumulative_simpson, cumulative_trapezoid as cumulative_trapezoid, romb as romb,
    simpson as simpson,
)
