"""Loop IR to LLVM IR: text that is vectorized, hoisted and free of repetitions, since no LLVM pass runs on it.
Imports `ir` and `analysis`; `llvm` is the entrance, `function` shows how an emitter is composed.
Add an operation's instructions to `operations`, a way to load to the list of strategies in `loads`.
"""
