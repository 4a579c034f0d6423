"""Reductions, cumulative reductions and matrix products as loops or kernels.
Imports `cpu.lowering.arrays` and `cpu.lowering.loops`.
Add a shape of reduction as a module, and choose it in `reduce`.
"""
