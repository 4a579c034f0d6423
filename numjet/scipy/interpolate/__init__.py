"""Interpolation, under SciPy's names.
Imports `numpy`. Add an interpolator to the file of its kind, and its name here.
"""

from numjet.scipy.interpolate.bsplines import BSpline as BSpline, make_interp_spline as make_interp_spline
from numjet.scipy.interpolate.grids import RegularGridInterpolator as RegularGridInterpolator
from numjet.scipy.interpolate.piecewise import (
    Akima1DInterpolator as Akima1DInterpolator,
    CubicHermiteSpline as CubicHermiteSpline,
    CubicSpline as CubicSpline,
    PchipInterpolator as PchipInterpolator,
    PPoly as PPoly,
)
