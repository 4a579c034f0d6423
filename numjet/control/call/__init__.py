"""Calls of programs: the operation `jit`, composites, the tracing of bodies, and jaxprs made from jaxprs.
Imports `core`, `lax` and `transforms`.
Add a transformation from jaxpr to jaxpr to `jaxpr_transforms`.
"""
