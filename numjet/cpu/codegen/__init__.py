"""Loop IR to LLVM IR: text that is vectorized, hoisted and free of repetitions, since no LLVM pass runs on it.
Imports `ir` and `analysis`; `llvm` is the entrance.
Add an operation's instructions to `operations`, a way to access memory to `memory`.
"""
