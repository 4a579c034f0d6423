"""Promotion of arrays."""
from typing import Any

from numjet import lax
from numjet.dtypes import result_type
from numjet.foundation.dtypes.promotion import to_complex_dtype
from numjet.numpy.core.promotion import (
    check_arraylike as check_arraylike, promote_dtypes as promote_dtypes, promote_dtypes_inexact as promote_dtypes_inexact,
)


def promote_dtypes_complex(*args: Any) -> list[Any]:
    """The arguments as arrays of the complex dtype they promote to; shapes stay."""
    check_arraylike("promote_dtypes_complex", *args)
    dtype = to_complex_dtype(result_type(*args))
    return [lax.convert_element_type(x, dtype) for x in args]
