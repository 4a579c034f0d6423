"""Checks of loop IR: the verifier that runs between passes, dependence tests, reads of unset memory, and the interpreter.
Imports `ir`, `analysis` and `kernels`; only `compiler` and tools import it.
Add a rule to `verifier`, with a function in `tests/cpu/verification/` that breaks it.
"""
