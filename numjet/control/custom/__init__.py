"""Custom derivatives: custom_jvp, custom_vjp, checkpoint, custom_linear_solve, custom_root.
Imports `call`.
Add code that both modes share to `custom_calls`.
"""
