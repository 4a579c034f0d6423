"""Dtypes and their promotion."""

from typing import Any

from numpy import dtype as DType  # noqa: F401

from numjet.foundation.dtypes.promotion import to_complex_dtype as to_complex_dtype
from numjet.dtypes import (
    TypePromotionError as TypePromotionError, bfloat16 as bfloat16, canonicalize_dtype as canonicalize_dtype,
    extended as extended, finfo as finfo, float0 as float0, iinfo as iinfo, issubdtype as issubdtype, prng_key as prng_key,
    result_type as result_type, scalar_type_of as scalar_type_of,
)


class ExtendedDType:
    """The base of dtypes that libraries define. Such a dtype can be named, and is refused where an array would get it."""


def dtype(x: Any) -> Any:
    """The dtype of a value, a dtype's name or a scalar type, as an array of it would have; TypeError for other objects.

    >>> dtype(2.0)
    dtype('float32')
    """
    if x is None:
        raise ValueError(f"Invalid argument to dtype: {x}.")
    try:
        return result_type(x)
    except (TypeError, ValueError):
        raise TypeError(f"Cannot determine dtype of {x}") from None
