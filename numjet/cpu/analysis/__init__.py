"""Questions about loop IR that change nothing: affine forms, ranges, dependence, cost, vector widths.
Imports `ir` and `kernels`.
Add an analysis as a module of its own; what it decides is used in `passes/` or `codegen/`.
"""
