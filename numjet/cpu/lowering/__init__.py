"""Jaxprs to loop IR: the builders that operations' `cpu` rules talk to, and where arrays, carries and loop states are stored.
Imports `ir` and `analysis`.
Add what rules may ask of the compiler to the protocols of `core/emit.py`, and implement it here.
"""
