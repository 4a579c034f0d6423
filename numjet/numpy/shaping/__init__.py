"""Functions that change the shape of arrays: reshape, concatenate, split, tile, pad, grids, triangles.
Imports `core` and `ufuncs`.
Add a function in the file of its kind, and its name to `numpy/__init__` or `lazy_exports`.
"""
