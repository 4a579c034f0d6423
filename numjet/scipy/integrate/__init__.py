"""Numerical integration, under SciPy's names.
Imports `numpy`. Add rules for samples to `samples`, and their names here.
"""

from numjet.numpy.signal.calculus import trapezoid as trapezoid
from numjet.scipy.integrate.samples import (
    cumulative_simpson as cumulative_simpson, cumulative_trapezoid as cumulative_trapezoid, simpson as simpson,
)
