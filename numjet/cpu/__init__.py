"""The CPU backend: a compiler from jaxprs through loop IR and LLVM IR to machine code; `compiler.PASSES` is the pipeline.
Imports `core` and `foundation` only; `tests/test_layers.py` lists its packages in the order in which they import each other.
Add a lowering rule in the operation's record (`lax/`), a pass in `passes/`, an instruction of loop IR in `ir/` and `codegen/`.
"""
