"""Function transformations for users (jit, grad, vmap, ...), where operations meet backends.
Imports `core`, `lax`, `transforms`, `control` and `runtime`.
Add a transformation as a module of its own, and its name to `numjet/__init__`.
"""
