"""Slices, gathers and scatters, at static and computed positions.
Imports the elementwise and shape families.
Add an operation as a record; what gather and scatter share is in `dimension_numbers`.
"""
