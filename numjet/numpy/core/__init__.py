"""Common parts of all functions: arrays from values, creation, dtypes, promotion, methods, operators, printing.
Imports the public names of `lax`, `api` and `runtime`.
Add a method of arrays to `methods`.
"""
