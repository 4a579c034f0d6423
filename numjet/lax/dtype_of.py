"""The dtype that an array of a value has."""
from __future__ import annotations

from typing import Any

from numjet.core.trace import aval_of, is_array_like
from numjet.foundation import dtypes


def dtype(x: Any) -> dtypes.DType:
    """The dtype of a value, or the one that a dtype or scalar type names, as arrays have it: without x64, 32 bits.

    >>> dtype(1.0), dtype("int8"), dtype(float)
    (dtype('float32'), dtype('int8'), dtype('float32'))
    """
    return aval_of(x).dtype if is_array_like(x) else dtypes.dtype(x, canonicalize=True)
