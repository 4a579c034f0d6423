"""Shortcuts for arrays that are ready, outside of jit: one NumPy call instead of a chain of operations.
Imports `core`.
Add a shortcut with a test that it gives the same bits and errors as the way around it (`tests/numpy/test_quick_paths.py`).
"""
