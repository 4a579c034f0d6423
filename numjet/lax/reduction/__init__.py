"""Reductions: along axes, of windows, cumulative ones, sorting and what is found by it.
Imports the elementwise, shape and indexing families.
Add a reduction by the templates in `reduce`.
"""
