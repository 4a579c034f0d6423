"""LLVM IR to machine code in memory: the code generator in two tiers, the linker, object code on disk.
Imports `ir` and `kernels`, and of `codegen` the names of symbols; the only package that imports llvmlite.
Add what LLVM is asked to do to `jit`.
"""
