"""Elementwise functions, ufunc objects, and functions made to act elementwise (vectorize, apply_along_axis).
Imports `core`.
Add a function in the file of its kind, and its name to `numpy/__init__` or `lazy_exports`.
"""
