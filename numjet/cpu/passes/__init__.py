"""Loop IR to loop IR: dead calls, fusion, array contraction, legalization of math, threads, memory.
Imports `ir` and `analysis`; `compiler` says in which order passes run.
Add a pass as one module with one function, call it in `compiler`, and test it with loop IR as text in `tests/cpu/passes/`.
"""
