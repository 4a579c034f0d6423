"""Loop IR, the language between jaxprs and LLVM IR: nodes, types, traversal, rewriting, printer, parser, and semantics.
Imports no other package of the compiler.
Add a kind of statement to `nodes`, `traversal`, `printer` and `parser`, then to `verification/` and `codegen/`; an operation to
`nodes` and `semantics`.
"""
