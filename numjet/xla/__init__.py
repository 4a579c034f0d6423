"""The XLA backend: jaxprs become StableHLO, compiled and run through PJRT by jaxlib's clients (without importing jax).
Imports `core` and `foundation`; `backend` is the entrance. Only this package imports jaxlib.
Add a lowering rule in the operation's record (`lax/`), a library of calls to `libraries`.
"""
