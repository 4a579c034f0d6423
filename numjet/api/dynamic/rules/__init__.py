"""Rules of operations for padded arrays, by kind of operation. All are registered by importing this package.
Imports `api/dynamic/trace.py`, which finds them in its table.
"""
from numjet.api.dynamic.rules import (  # noqa: F401
    calls,
    elementwise,
    indexing,
    joining,
    loops,
    reductions,
    shapes,
    sizes,
    slicing,
)
