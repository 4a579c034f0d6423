"""Dtypes: the table (`table`), promotion (`promotion`), checks of requested dtypes, limits and properties.
Imports the configuration, errors and source locations.
Add a dtype to `table`, its lattice edges to `promotion`, a function of one dtype here.
"""

from __future__ import annotations

import warnings
from typing import Any

import ml_dtypes
import numpy as np

from numjet.foundation import source
from numjet.foundation.config import config
from numjet.foundation.dtypes.promotion import (
    lattice_result_type as lattice_result_type, common_dtype as common_dtype,
    promote_types as promote_types, result_type as result_type,
    result_type_and_weakness as result_type_and_weakness, to_complex_dtype as to_complex_dtype,
    to_floating_dtype as to_floating_dtype, to_inexact_dtype as to_inexact_dtype, to_numeric_dtype as to_numeric_dtype,
)
from numjet.foundation.dtypes.table import (
    ALL as ALL, COMPLEX as COMPLEX, FLOAT8 as FLOAT8, FLOATING as FLOATING, INEXACT as INEXACT, INTEGRAL as INTEGRAL,
    NARROW as NARROW, NUMERIC as NUMERIC, PYTHON_SCALARS as PYTHON_SCALARS, SIGNED as SIGNED, SMALL_FLOATS as SMALL_FLOATS,
    UNSIGNED as UNSIGNED, DType as DType, as_dtype as as_dtype, bfloat16 as bfloat16, bool_ as bool_,
    canonicalize_dtype as canonicalize_dtype, complex64 as complex64, complex128 as complex128, extended as extended,
    NO_FLOAT0 as NO_FLOAT0,
    float0 as float0, float4_e2m1fn as float4_e2m1fn, float8_e3m4 as float8_e3m4, float8_e4m3 as float8_e4m3,
    float8_e4m3b11fnuz as float8_e4m3b11fnuz, float8_e4m3fn as float8_e4m3fn, float8_e4m3fnuz as float8_e4m3fnuz,
    float8_e5m2 as float8_e5m2, float8_e5m2fnuz as float8_e5m2fnuz, float8_e8m0fnu as float8_e8m0fnu, float16 as float16,
    float32 as float32, float64 as float64, from_short_name as from_short_name, int2 as int2, int4 as int4, int8 as int8,
    int16 as int16, int32 as int32, int64 as int64, is_array_dtype as is_array_dtype, is_extended as is_extended,
    is_key as is_key, is_numpys as is_numpys, issubdtype as issubdtype, itemsize_bits as itemsize_bits, key_dtype as key_dtype,
    key_shape as key_shape, key_words as key_words, kind as kind, long_name as long_name, new_key_dtype as new_key_dtype,
    prng_key as prng_key, short_name as short_name, uint2 as uint2, uint4 as uint4, uint8 as uint8, uint16 as uint16,
    uint32 as uint32, uint64 as uint64,
)
from numjet.foundation.errors import TypePromotionError as TypePromotionError

finfo = ml_dtypes.finfo

_WEAK_CLASSES = frozenset((int, float, complex))


def iinfo(int_type: Any) -> Any:
    """Limits of an integer dtype: `.min`, `.max`, `.bits`, `.dtype`; ValueError for others.

    >>> iinfo("int4").max, iinfo("int32").min
    (7, -2147483648)
    """
    found = as_dtype(int_type)
    if found not in INTEGRAL:
        raise ValueError(f"expected an integer dtype, got {long_name(found)}")
    return ml_dtypes.iinfo(found)


def is_python_scalar(x: Any) -> bool:
    """Whether `x` is a Python number, not an array and not one of NumPy's scalars."""
    return isinstance(x, (bool, int, float, complex)) and not isinstance(x, np.generic)


def is_weakly_typed(x: Any) -> bool:
    """Whether `x` adopts the dtype of the other operand: Python numbers except bool, and values with a true `weak_type`.

    >>> is_weakly_typed(1), is_weakly_typed(True), is_weakly_typed(np.float64(1))
    (True, False, False)
    """
    if type(x) in _WEAK_CLASSES:
        return True
    weak = getattr(x, "weak_type", None)
    return bool(weak) if weak is not None else is_python_scalar(x) and not isinstance(x, bool)


def python_scalar_dtype(scalar: Any) -> DType:
    """The default dtype of a Python number or its class: int32, float32, ...; 64 bits with x64.

    >>> python_scalar_dtype(float).name, python_scalar_dtype(3).name
    ('float32', 'int32')
    """
    cls = scalar if isinstance(scalar, type) else type(scalar)
    for base in (bool, int, float, complex):
        if issubclass(cls, base):
            return canonicalize_dtype(PYTHON_SCALARS[base])
    raise TypeError(f"expected a bool, int, float or complex, got {scalar!r} of type {cls.__name__}")


def dtype(x: Any, *, canonicalize: bool = False) -> DType:
    """The dtype of a value, or the one that `x` names; with `canonicalize`, that of an array made of it.

    >>> dtype(1.0).name, dtype(1.0, canonicalize=True).name, dtype(np.int8(1)).name
    ('float64', 'float32', 'int8')
    """
    if isinstance(x, (bool, int, float, complex)) and not isinstance(x, np.generic):
        found = next(PYTHON_SCALARS[base] for base in (bool, int, float, complex) if isinstance(x, base))
    else:
        found = as_dtype(x)
    return canonicalize_dtype(found) if canonicalize else found


def scalar_type_of(x: Any) -> type:
    """The Python class of numbers of `x`'s dtype: bool, int, float or complex; TypeError for others.

    >>> scalar_type_of("bfloat16"), scalar_type_of(np.uint8(3))
    (<class 'float'>, <class 'int'>)
    """
    found = dtype(x)
    for abstract, scalar in ((np.bool_, bool), (np.integer, int), (np.floating, float), (np.complexfloating, complex)):
        if issubdtype(found, abstract):
            return scalar
    raise TypeError(f"expected numbers, got dtype {long_name(found)}")


_KINDS: dict[str, tuple[DType, ...]] = {
    "bool": (bool_,),
    "signed integer": SIGNED,
    "unsigned integer": UNSIGNED,
    "integral": INTEGRAL,
    "real floating": FLOATING,
    "complex floating": COMPLEX,
    "numeric": NUMERIC,
}


def isdtype(dtype: Any, kind: Any) -> bool:
    """Whether `dtype` is of `kind`: a kind's name as in the array API standard, a dtype, or a tuple of these.

    Raises ValueError for an unknown name, TypeError for anything that is neither.

    >>> isdtype("bfloat16", "real floating"), isdtype("int8", ("bool", "int8"))
    (True, True)
    """
    found = as_dtype(dtype)
    return any(found in _members(one) for one in (kind if isinstance(kind, tuple) else (kind,)))


def _members(kind: Any) -> tuple[DType, ...]:
    if isinstance(kind, str) and kind in _KINDS:
        return _KINDS[kind]
    try:
        return (as_dtype(kind),)
    except TypeError:
        if not isinstance(kind, str):
            raise TypeError(f"expected a kind's name, a dtype, or a tuple of these, got {kind!r}") from None
        raise ValueError(f"Unrecognized kind {kind!r}: expected one of {list(_KINDS)} or a dtype") from None


def check_user_dtype(dtype: Any, what: str) -> DType:
    """The dtype that the function `what` uses when its caller requests `dtype`.

    Python's `int`, `float` and `complex` stand for the default width. An explicit 64-bit dtype warns and becomes
    32-bit when `jax_enable_x64` is off, or raises ValueError where jax_explicit_x64_dtypes says so. Raises TypeError for
    dtypes that arrays cannot have; arrays themselves are no dtypes (ValueError; of NumPy's, TypeError).

    >>> check_user_dtype(float, "zeros").name
    'float32'
    """
    if isinstance(dtype, np.dtype) and dtype in _AS_ASKED:
        return dtype
    if isinstance(dtype, np.ndarray):
        raise TypeError(f"Cannot construct a dtype from an array: {what} got one of dtype {dtype.dtype}. Give its .dtype.")
    if hasattr(dtype, "__array__") and not isinstance(dtype, (type, np.generic)):
        raise ValueError("Passing an array as a dtype argument is no longer supported; instead of dtype=arr use "
                         f"dtype=arr.dtype. The function was {what}.")
    found = as_dtype(dtype)
    if not is_array_dtype(found):
        raise TypeError(
            f"JAX only supports number, bool, and string dtypes, got dtype {dtype!r} in {what}; numjet's arrays hold bool, "
            "integers, floats, complex numbers or random keys"
        )
    cut = canonicalize_dtype(found)
    if cut != found and not (isinstance(dtype, type) and dtype in _WEAK_CLASSES):
        if config.explicit_x64_dtypes == "error":
            raise ValueError(f"Explicitly requested dtype {found.name} requested in {what} is not available{_REMEDY}")
        text = (f"Explicitly requested dtype {found.name} requested in {what} is not available, and will be truncated to dtype "
                f"{cut.name}{_REMEDY}")
        warnings.warn(text, UserWarning, stacklevel=source.user_stacklevel())
    return cut


_AS_ASKED = frozenset((*ALL, float0, key_dtype)) - frozenset(NARROW)


_REMEDY = (". To have 64-bit dtypes, call config.update('jax_enable_x64', True) at the program's start or set the environment "
           "variable JAX_ENABLE_X64=1.")


_LIMITS: dict[DType, tuple[int, int]] = {
    found: (int(ml_dtypes.iinfo(found).min), int(ml_dtypes.iinfo(found).max)) for found in INTEGRAL
}


def check_int_fits(value: int, dtype: Any) -> None:
    """Raises OverflowError if the integer dtype `dtype` cannot hold the Python integer `value`; floats hold any.

    >>> check_int_fits(300, "int8")
    Traceback (most recent call last):
    OverflowError: Python integer 300 out of bounds for int8: Python int 300 too large to convert to int8
    """
    found = as_dtype(dtype)
    limits = _LIMITS.get(found)
    if limits is None or limits[0] <= value <= limits[1]:
        return
    wider = " (64-bit integers need jax_enable_x64)" if found in (int32, uint32) and not config.x64 else ""
    raise OverflowError(f"Python integer {value} out of bounds for {found.name}{wider}: Python int {value} too large to "
                        f"convert to {found.name}")


def wrap_int(value: int, dtype: Any, held: Any = None) -> int:
    """Wraparound of a Python integer operand: `value` modulo the range of `dtype`.

    An operand next to an array of a narrow dtype wraps, as a weakly typed array does inside of a program. OverflowError if
    neither `dtype` nor `held` (by default the default integer) holds the value. To make an array of a number, use
    `check_int_fits` instead, which refuses what does not fit.

    >>> wrap_int(300, "uint8"), wrap_int(-1, "uint32"), wrap_int(200, "int8"), wrap_int(2**40, "float32") == 2**40
    (44, 4294967295, -56, True)
    """
    found = as_dtype(dtype)
    limits = _LIMITS.get(found)
    if limits is None or limits[0] <= value <= limits[1]:
        return value
    check_int_fits(value, held or python_scalar_dtype(int))
    return (value - limits[0]) % (limits[1] - limits[0] + 1) + limits[0]
