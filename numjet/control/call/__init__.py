"""Calls of programs: the operation `jit`, composites, the tracing of bodies, and jaxprs made from jaxprs.
Imports `core`, `lax` and `transforms`.
Add what derives a program from a program to `jaxpr_transforms`.
"""
