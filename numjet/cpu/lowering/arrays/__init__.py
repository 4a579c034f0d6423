"""Arrays during lowering: their three states, where they are stored, reads, updates and materialization.
Imports `cpu.ir`, `cpu.analysis` and the scalar builder of `cpu.lowering`.
Add a state of arrays to `values`, a way of storing to `materialization`.
"""
