"""Fast paths for arrays that are ready, outside of jit: one NumPy call instead of a chain of operations.
Imports `core`.
Add a fast path with a test that it gives the bits and errors of the general path (`tests/numpy/fastpath/test_fastpath.py`).
"""
