"""The CPU backend: a compiler from jaxprs through loop IR and LLVM IR to machine code; `compiler` is the pipeline.
Imports `core` and `foundation` only; rooms import in the order ir, analysis, lowering, passes, codegen, native_code.
Add a lowering rule in the operation's record (`lax/`), a pass in `passes/`, an instruction of loop IR in `ir/` and `codegen/`.
"""
