"""Passes, from loop IR to loop IR: dead calls, fusion, array contraction, legalization of math, threads, memory, cancellation.
Imports `ir`, `kernels`, `mathlib` and `analysis`; `manager` runs passes, `compiler.PASSES` lists them in order.
Add a pass as a module with a `Pass` that says which facts it requires and provides, list it in `compiler.PASSES`, and test it
from text to text in `tests/cpu/passes/test_texts.py`. `python -m numjet.tools.opt` runs any pass on a file.
"""
