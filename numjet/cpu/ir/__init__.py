"""Loop IR, the language between jaxprs and LLVM IR: nodes, tables, printer, parser, and the semantics of its operations.
Imports no other room.
Add a kind of statement or operation here first, then in `verification/` and `codegen/`.
"""
