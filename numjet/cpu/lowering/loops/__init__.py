"""Loops and branches: nests over elements, native while, scan and cond, and the state that loops carry.
Imports `cpu.lowering.arrays`.
Add a strategy for carried arrays to `loop_state`.
"""
