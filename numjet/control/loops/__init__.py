"""Loops: scan, while_loop, fori_loop, map, associative_scan; their derivatives and batches.
Imports `call`.
Add a loop as a function of `scan` or `while_loop`, or an operation with a module of its own.
"""
