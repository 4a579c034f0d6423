"""Branches: cond, switch, and platform_dependent.
Imports `call`.
Add a kind of branch as an operation with a module of its own.
"""
