"""Collectives over the axis that vmap(axis_name=...) maps over: psum and its kin, and exchanges of data.
Imports the other families.
Add a record to `reductions` or `moves`, and its public function to `functions`.
"""
