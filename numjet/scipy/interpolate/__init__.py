"""Interpolation, under SciPy's names.
Imports `numpy`. Add an interpolator to the file of its kind, and its name here.
"""

from numjet.scipy.interpolate.grids import RegularGridInterpolator as RegularGridInterpolator
