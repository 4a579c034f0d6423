"""Analyses of loop IR, which change nothing: affine forms, intervals, dependence, cost, vector widths.
Imports `ir` and `kernels`.
Add an analysis as a module of its own, over `ir/traversal`; what it decides is used in `passes/` or `codegen/`.
"""
