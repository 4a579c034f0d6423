"""Foundation: configuration, errors, dtypes, pytrees, printing, source locations, events: the parts that need no arrays.
Imports the standard library, NumPy and the native core only.
Add a flag to `flags`, a dtype to `dtypes.table`, a public error to `errors`.
"""
