"""Reductions along axes and of windows, cumulative reductions, sorting, and selection by sorting.
Imports the elementwise, shape and indexing families.
Add a reduction by the templates in `reduce`.
"""
