"""Products of arrays: dot, matmul, tensordot, einsum, kron, cross.
Imports `core` and `shaping`.
Add a function in the file of its kind, and its name to `numpy/__init__` or `lazy_exports`.
"""
