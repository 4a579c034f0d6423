"""Functions of samples: differences, integrals, interpolation, windows, polynomials.
Imports the other packages of `numpy`.
Add a function in the file of its kind, and its name to `numpy/__init__` or `lazy_exports`.
"""
