"""LLVM IR to machine code in memory: the code generator in two tiers, the linker, object code on disk, C functions by address.
Imports no other room; the only one that imports llvmlite.
Add a C function to `c_library`.
"""
