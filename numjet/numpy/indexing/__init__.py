"""Indexing: x[idx], x.at[idx], take, put, where, insert, delete.
Imports `core`, `ufuncs` and `shaping`.
Add a kind of index to `plan`, which parses indices.
"""
