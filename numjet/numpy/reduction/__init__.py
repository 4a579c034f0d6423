"""Functions along axes: sums, averages, quantiles, histograms, sorting, searching, sets.
Imports `core`, `ufuncs`, `shaping` and `indexing`.
Add a function in the file of its kind, and its name to `numpy/__init__` or `lazy_exports`.
"""
