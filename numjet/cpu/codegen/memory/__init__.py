"""Memory in LLVM IR: pointers, loads and stores of vectors, and the ways to read strided data.
Imports `cpu.ir`, `cpu.analysis` and the writer of `cpu.codegen`.
Add a way to load strided data to the list in `loads`.
"""
