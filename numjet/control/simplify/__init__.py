"""Simplification of operations that hold programs: loop invariants, products out of loops, horizontal fusion of small carries.
Imports all other packages of `control`; imported with the first loop.
Add a rewrite of a loop as a module, called by `loops`.
"""
