"""x[idx], x.at[idx], and functions that pick or place elements: take, put, where, insert, delete.
Imports `core`, `ufuncs` and `shaping`.
Add a kind of index to `plan`, which says what an index means.
"""
