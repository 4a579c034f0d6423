"""Calls from programs into Python: callbacks, debug.print, breakpoints.
Imports `call`.
Add a kind of callback as a module, with the functions of `python_calls`.
"""
