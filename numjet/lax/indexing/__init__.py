"""Slices, gathers and scatters, with static and computed places.
Imports the elementwise and shape families.
Add an operation as a record; what gather and scatter share is in `dimension_numbers`.
"""
