"""Which dtypes go to other libraries by DLPack."""
from __future__ import annotations

from typing import Any

from numjet.foundation import dtypes

_NAMES = frozenset({"bool", "bfloat16", "complex64", "complex128", "float16", "float32", "float64",
                    *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64))})


def is_supported_dtype(dtype: Any) -> bool:
    """Whether arrays of a dtype have a DLPack capsule.

    >>> is_supported_dtype("float32"), is_supported_dtype("int4")
    (True, False)
    """
    return dtypes.as_dtype(dtype).name in _NAMES
