"""Calls from programs into Python: callbacks, debug.print, breakpoints.
Imports `call`.
Add a kind of callback by the functions of `python_calls`.
"""
