"""Names of dtypes: callable classes like `float32`, abstract ones like `floating`, limits, and predicates of dtypes."""
from __future__ import annotations

from typing import Any

import numpy as np

from numjet.foundation import dtypes
from numjet.numpy.core.arrays import array


class ScalarType(type):
    """The class of `float32` and other names: equal to NumPy's class of that name, and callable: float32(1) is an array."""

    dtype: np.dtype

    def __call__(cls, x: Any) -> Any:
        return array(x, dtype=cls.dtype)

    def __eq__(cls, other: Any) -> bool:
        return cls is other or cls.dtype.type == other or (isinstance(other, np.dtype) and cls.dtype == other)

    def __ne__(cls, other: Any) -> bool:
        return not cls == other

    def __hash__(cls) -> int:
        return hash(cls.dtype.type)

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, cls.dtype.type)


_DOC = """dtype {dtype}; {name}(x) is an array of it.

>>> import numjet.numpy as jnp
>>> jnp.dtype(jnp.{name}).name
'{dtype}'
"""


def _scalar_type(dtype: Any, name: str | None = None) -> Any:
    name = name or dtype.name
    made = ScalarType(name, (), {"dtype": dtype, "__doc__": _DOC.format(dtype=dtype.name, name=name)})
    made.__module__ = "numjet.numpy"
    return made


bool_ = _scalar_type(dtypes.bool_, "bool_")
int2, int4, int8, int16, int32, int64 = map(_scalar_type, dtypes.SIGNED)
uint2, uint4, uint8, uint16, uint32, uint64 = map(_scalar_type, dtypes.UNSIGNED)
float4_e2m1fn = _scalar_type(dtypes.float4_e2m1fn)
float8_e3m4 = _scalar_type(dtypes.float8_e3m4)
float8_e4m3 = _scalar_type(dtypes.float8_e4m3)
float8_e4m3b11fnuz = _scalar_type(dtypes.float8_e4m3b11fnuz)
float8_e4m3fn = _scalar_type(dtypes.float8_e4m3fn)
float8_e4m3fnuz = _scalar_type(dtypes.float8_e4m3fnuz)
float8_e5m2 = _scalar_type(dtypes.float8_e5m2)
float8_e5m2fnuz = _scalar_type(dtypes.float8_e5m2fnuz)
float8_e8m0fnu = _scalar_type(dtypes.float8_e8m0fnu)
bfloat16 = _scalar_type(dtypes.bfloat16)
float16, float32, float64 = map(_scalar_type, (dtypes.float16, dtypes.float32, dtypes.float64))
complex64, complex128 = map(_scalar_type, dtypes.COMPLEX)
single, double, csingle, cdouble = float32, float64, complex64, complex128


half, byte, ubyte, short, ushort, intc, uintc = float16, int8, uint8, int16, uint16, int32, uint32   # names of C's types
long, ulong = (int64, uint64) if np.dtype("long").itemsize == 8 else (int32, uint32)   # four bytes on Windows
longlong, ulonglong, intp, uintp = int64, uint64, int64, uint64
int_, uint, float_, complex_ = int64, uint64, float64, complex128  # arrays of them have 32 bits unless jax_enable_x64

character, flexible, floating, generic = np.character, np.flexible, np.floating, np.generic
complexfloating, inexact, integer, number = np.complexfloating, np.inexact, np.integer, np.number
signedinteger, unsignedinteger, object_ = np.signedinteger, np.unsignedinteger, np.object_
dtype = np.dtype
finfo, iinfo = dtypes.finfo, dtypes.iinfo
ComplexWarning = np.exceptions.ComplexWarning

promote_types = dtypes.promote_types
isdtype = dtypes.isdtype


def result_type(*args: Any) -> Any:
    """The dtype that arrays, numbers and dtypes promote to.

    >>> result_type("int8", 1.0).name
    'float32'
    """
    return dtypes.result_type(*args)


def issubdtype(arg1: Any, arg2: Any) -> Any:
    """Whether a dtype is another one, or belongs to an abstract class such as `floating`.

    >>> issubdtype("bfloat16", floating)
    True
    """
    return dtypes.issubdtype(arg1, arg2)


def can_cast(from_: Any, to: Any, casting: Any = "safe") -> Any:
    """Whether a dtype can be cast to another by NumPy's rule `casting`.

    >>> can_cast("int8", "int16"), can_cast("float32", "int32")
    (True, False)
    """
    return np.can_cast(dtypes.as_dtype(from_), dtypes.as_dtype(to), casting=casting)
