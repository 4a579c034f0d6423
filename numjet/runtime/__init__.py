"""Execution of programs: devices, dispatch, eager evaluation of single operations, loading of backends.
Imports `core` and `foundation`; backends are imported by name, when they first compile.
Add a backend as a row of `backends`.
"""
