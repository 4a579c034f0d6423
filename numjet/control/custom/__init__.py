"""Functions whose derivatives the user says: custom_jvp, custom_vjp, checkpoint, custom_linear_solve, custom_root.
Imports `call`.
Add what both modes share to `custom_calls`.
"""
