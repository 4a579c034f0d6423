"""Statements in LLVM IR: loops, parallel loops, branches, calls and checks.
Imports `cpu.codegen` and `cpu.codegen.memory`.
Add a statement as a function, and its class to the table in `dispatch`.
"""
