"""Checks whose failures are data: the operation `check`, which checkify turns into a value.
Imports `lax` and `transforms`.
Add a kind of check to `api/checkify`.
"""
