"""LLVM IR to machine code in memory: the code generator in two tiers, the linker, object code on disk.
Imports `ir` and `kernels`, and the names of symbols from `codegen`; the only package that imports llvmlite.
Add uses of LLVM to `jit`.
"""
