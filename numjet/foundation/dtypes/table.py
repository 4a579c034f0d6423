"""Table of the dtypes that arrays may have: names and classes.

NumPy's own numbers, the small ones of `ml_dtypes`, and two without ordinary numbers: `float0`, for tangents of values that
have no derivative, and the dtype of random keys.
"""

from __future__ import annotations

import itertools
import math
import reprlib
from typing import Any

import ml_dtypes
import numpy as np

from numjet.foundation.config import config

DType = np.dtype


class extended(np.generic):
    """Abstract class of dtypes whose elements are opaque; for `issubdtype`."""

    __slots__ = ()


class prng_key(extended, np.void):  # type: ignore[misc]  # NumPy makes no dtype of classes that are not below void
    """The class of random keys: the `type` of their dtype, and for `issubdtype`."""

    __slots__ = ()


def _make_key_dtype(tag: str, shape: tuple[int, ...]) -> DType:
    """A dtype of a class of its own. All these classes are called prng_key, by which libraries know keys; pickles find each of
    them in this module by its qualified name."""
    name = f"key<{tag}>"
    globals()[name] = type("prng_key", (prng_key,), {"__slots__": (), "__module__": __name__, "__qualname__": name})
    return np.dtype((globals()[name], [(tag, np.uint32, shape)]))


float0: DType = np.dtype([("float0", np.void, 0)])
NO_FLOAT0 = (
    "float0s do not support any operations by design, because they are not compatible with non-trivial vector spaces. No "
    "implicit dtype conversion is done. You can use np.zeros_like(arr, dtype=float) to cast a float0 array to a regular zeros "
    "array. If you didn't expect to get a float0 you might have accidentally taken a gradient with respect to an integer "
    "argument.")

# One key is one opaque element of its generator's words, so that NumPy indexes and copies keys whole; more dtypes of keys are
# made by `new_key_dtype`.
key_dtype: DType = _make_key_dtype("fry", (2,))

bool_: DType = np.dtype(np.bool_)
int2, int4 = np.dtype(ml_dtypes.int2), np.dtype(ml_dtypes.int4)
int8, int16, int32, int64 = (np.dtype(f"int{bits}") for bits in (8, 16, 32, 64))
uint2, uint4 = np.dtype(ml_dtypes.uint2), np.dtype(ml_dtypes.uint4)
uint8, uint16, uint32, uint64 = (np.dtype(f"uint{bits}") for bits in (8, 16, 32, 64))
float4_e2m1fn: DType = np.dtype(ml_dtypes.float4_e2m1fn)
float8_e3m4: DType = np.dtype(ml_dtypes.float8_e3m4)
float8_e4m3: DType = np.dtype(ml_dtypes.float8_e4m3)
float8_e4m3b11fnuz: DType = np.dtype(ml_dtypes.float8_e4m3b11fnuz)
float8_e4m3fn: DType = np.dtype(ml_dtypes.float8_e4m3fn)
float8_e4m3fnuz: DType = np.dtype(ml_dtypes.float8_e4m3fnuz)
float8_e5m2: DType = np.dtype(ml_dtypes.float8_e5m2)
float8_e5m2fnuz: DType = np.dtype(ml_dtypes.float8_e5m2fnuz)
float8_e8m0fnu: DType = np.dtype(ml_dtypes.float8_e8m0fnu)
bfloat16: DType = np.dtype(ml_dtypes.bfloat16)
float16, float32, float64 = np.dtype("float16"), np.dtype("float32"), np.dtype("float64")
complex64, complex128 = np.dtype("complex64"), np.dtype("complex128")

SIGNED: tuple[DType, ...] = (int2, int4, int8, int16, int32, int64)
UNSIGNED: tuple[DType, ...] = (uint2, uint4, uint8, uint16, uint32, uint64)
FLOAT8: tuple[DType, ...] = (float8_e3m4, float8_e4m3, float8_e4m3b11fnuz, float8_e4m3fn, float8_e4m3fnuz, float8_e5m2,
                             float8_e5m2fnuz, float8_e8m0fnu)
SMALL_FLOATS: tuple[DType, ...] = (float4_e2m1fn, *FLOAT8)
FLOATING: tuple[DType, ...] = (*SMALL_FLOATS, bfloat16, float16, float32, float64)
# Numbers that `issubdtype` and `itemsize_bits` know, and that no array has.
OUTSIDE_ARRAYS: tuple[DType, ...] = tuple(np.dtype(getattr(ml_dtypes, name)) for name in
                                          ("int1", "uint1", "float6_e2m3fn", "float6_e3m2fn") if hasattr(ml_dtypes, name))
COMPLEX: tuple[DType, ...] = (complex64, complex128)
INTEGRAL: tuple[DType, ...] = (*SIGNED, *UNSIGNED)
INEXACT: tuple[DType, ...] = (*FLOATING, *COMPLEX)
NUMERIC: tuple[DType, ...] = (*INTEGRAL, *INEXACT)
ALL: tuple[DType, ...] = (bool_, *NUMERIC)
INEXACT_SET, NUMBER_SET = frozenset(INEXACT), frozenset(ALL)

_ABSTRACT: dict[DType, type] = {
    **dict.fromkeys(SIGNED, np.signedinteger),
    **dict.fromkeys(UNSIGNED, np.unsignedinteger),
    **dict.fromkeys(FLOATING, np.floating),
    **dict.fromkeys(COMPLEX, np.complexfloating),
    **{dtype: {"i": np.signedinteger, "u": np.unsignedinteger}.get(dtype.name[0], np.floating) for dtype in OUTSIDE_ARRAYS},
    bool_: np.bool_,
}

_KIND_LETTERS: dict[DType, str] = {
    **dict.fromkeys(SIGNED, "i"),
    **dict.fromkeys(UNSIGNED, "u"),
    **dict.fromkeys(FLOATING, "f"),
    **dict.fromkeys(COMPLEX, "c"),
    bool_: "b",
}
_ABSTRACT_CLASSES = frozenset(
    (np.generic, np.number, np.integer, np.signedinteger, np.unsignedinteger, np.inexact, np.floating, np.complexfloating,
     np.flexible, np.character, extended, prng_key)
)

_OBJECTS: dict[DType, DType] = {dtype: dtype for dtype in ALL}
_FIRST_OF_OTHERS = 256    # dtype.num of dtypes that other packages register
# The default dtypes of Python scalars, before narrowing to 32 bits.
PYTHON_SCALARS: dict[type, DType] = {bool: bool_, int: int64, float: float64, complex: complex128}

NARROW: dict[DType, DType] = {int64: int32, uint64: uint32, float64: float32, complex128: complex64}

_SHORT_NAMES: dict[DType, str] = {
    bool_: "bool",
    bfloat16: "bf16",
    float0: "float0",
    key_dtype: "key<fry>",
    **{dtype: f"i{dtype.name[3:]}" for dtype in SIGNED},
    **{dtype: f"u{dtype.name[4:]}" for dtype in UNSIGNED},
    **{dtype: f"f{dtype.name[5:]}" for dtype in FLOATING if dtype is not bfloat16},
    **{dtype: f"c{dtype.name[7:]}" for dtype in COMPLEX},
}
_BY_SHORT_NAME: dict[str, DType] = {name: dtype for dtype, name in _SHORT_NAMES.items()}
_BITS: dict[DType, int] = {int2: 2, uint2: 2, int4: 4, uint4: 4, float4_e2m1fn: 4,
                         **{dtype: 6 if dtype.name.startswith("float6") else 1 for dtype in OUTSIDE_ARRAYS}}


_KEY_DTYPES: set[DType] = {key_dtype}
KEY_SIZES = (2, 4)  # words of a key: compound elements have two parts of 32 or 64 bits


def new_key_dtype(tag: str, shape: tuple[int, ...]) -> DType:
    """A new dtype of random keys of uint32 words of a shape, which prints as `key<tag>`.

    A tag that is taken is made unique by a number. NotImplementedError unless there are 2 or 4 words.
    """
    if math.prod(shape) not in KEY_SIZES:
        raise NotImplementedError(f"random keys of shape {shape}: expected 2 or 4 words of 32 bits, got {math.prod(shape)}; "
                                  "derive more words inside of the generator")
    names = (tag if n == 1 else f"{tag}.{n}" for n in itertools.count(1))
    free = next(name for name in names if f"key<{name}>" not in _BY_SHORT_NAME)
    made = _make_key_dtype(free, shape)
    _KEY_DTYPES.add(made)
    _SHORT_NAMES[made], _BY_SHORT_NAME[f"key<{free}>"] = f"key<{free}>", made
    return made


def key_shape(dtype: DType) -> tuple[int, ...]:
    """The shape of the words of a dtype of random keys.

    >>> key_shape(key_dtype)
    (2,)
    """
    assert dtype.names is not None
    return dtype[0].shape


def key_words(keys: Any) -> Any:
    """The words of a NumPy array of random keys, in one trailing axis."""
    return keys[keys.dtype.names[0]].reshape(*keys.shape, keys.dtype.itemsize // 4)


def as_dtype(x: Any) -> DType:
    """The dtype that `x` names: a dtype, its name, a scalar class, a Python scalar class, or an object with `.dtype`.

    Foreign byte orders become the native one; nothing is narrowed to 32 bits. TypeError if `x` names no dtype.

    >>> as_dtype("bfloat16").name, as_dtype(int).name
    ('bfloat16', 'int64')
    """
    if isinstance(x, np.dtype):
        return x if x.isbuiltin else _in_native_order(x)
    if isinstance(x, type):
        return PYTHON_SCALARS.get(x) or _of_class(x)
    inner = None if isinstance(x, (str, bytes)) else getattr(x, "dtype", None)   # NumPy's strings name one, and have another
    found: DType = inner if isinstance(inner, np.dtype) else _named(x)
    return found if found.isbuiltin else _in_native_order(found)


def _named(x: Any) -> DType:
    try:
        return np.dtype(x)
    except TypeError as error:
        raise TypeError(f"expected a dtype, its name, or a class of numbers, got {reprlib.repr(x)}: {error}") from None


def _in_native_order(dtype: DType) -> DType:
    """NumPy's own object for numbers: `newbyteorder` returns equal ones, which differ in `isbuiltin`."""
    found: DType = dtype if dtype.isnative else dtype.newbyteorder("=")
    return _OBJECTS.get(found, found)


def is_numpys(dtype: DType) -> bool:
    """Whether the elements are NumPy's own numbers: no bfloat16, no random keys.

    >>> is_numpys(float32), is_numpys(bfloat16), is_numpys(np.dtype(">f4").newbyteorder("="))
    (True, False, True)
    """
    return dtype.num < _FIRST_OF_OTHERS and dtype.names is None


def _of_class(cls: type) -> DType:
    # On NumPy's own classes `dtype` is a descriptor of their instances, not the class's dtype.
    inner = getattr(cls, "dtype", None)
    return inner if isinstance(inner, np.dtype) else np.dtype(cls)


def canonicalize_dtype(dtype: Any, allow_extended_dtype: bool = True) -> DType:
    """The dtype that arrays get for a requested `dtype`: 64 bits become 32 unless `jax_enable_x64` is set.

    Raises TypeError if `dtype` names none, ValueError for key dtypes if `allow_extended_dtype` is False.

    >>> canonicalize_dtype("float64").name, canonicalize_dtype(int).name
    ('float32', 'int32')
    """
    found = as_dtype(dtype)
    if found in _KEY_DTYPES and not allow_extended_dtype:
        raise ValueError(f"expected a dtype of numbers, got {short_name(found)}")
    return found if config.x64 else NARROW.get(found, found)


def is_extended(dtype: Any) -> bool:
    """Whether the elements are opaque: random keys."""
    return as_dtype(dtype) in _KEY_DTYPES


def is_key(dtype: Any) -> bool:
    """Whether a dtype is one of random keys."""
    return dtype in _KEY_DTYPES


def is_array_dtype(dtype: DType) -> bool:
    """Whether arrays can have this dtype."""
    return dtype in _SHORT_NAMES


def kind(dtype: Any) -> str:
    """One letter, as `numpy.dtype.kind` but correct for the small numbers: b, i, u, f, c; V for keys and float0.

    >>> kind("int8"), kind("int4"), kind("bfloat16"), kind(key_dtype)
    ('i', 'i', 'f', 'V')
    """
    return _KIND_LETTERS.get(as_dtype(dtype), "V")


def short_name(dtype: Any) -> str:
    """The name that printed programs use.

    >>> short_name("float32"), short_name(np.uint8), short_name(key_dtype), short_name(float8_e4m3fn)
    ('f32', 'u8', 'key<fry>', 'f8_e4m3fn')
    """
    found = as_dtype(dtype)
    return _SHORT_NAMES.get(found) or found.name


def long_name(dtype: Any) -> str:
    """The name in messages: NumPy's; `key<fry>` and `float0` for the two dtypes that NumPy does not name."""
    found = as_dtype(dtype)
    return short_name(found) if found.fields else found.name


def from_short_name(name: str) -> DType:
    """The dtype called `name` in printed programs; ValueError if there is none."""
    try:
        return _BY_SHORT_NAME[name]
    except KeyError:
        raise ValueError(f"{name!r} is not a dtype of printed programs; expected one of {sorted(_BY_SHORT_NAME)}") from None


def itemsize_bits(dtype: Any) -> int:
    """Bits of information in one element; 2- and 4-bit numbers occupy more.

    >>> itemsize_bits("float32"), itemsize_bits("int4")
    (32, 4)
    """
    if dtype is None:
        raise ValueError("itemsize_bits: dtype cannot be None: expected a dtype or its name")
    found = as_dtype(dtype)
    return _BITS.get(found) or 8 * found.itemsize


def issubdtype(a: Any, b: Any) -> bool:
    """`numpy.issubdtype`, extended to the small numbers and the classes `extended` and `prng_key`.

    `a` and `b` are dtypes, their names, or abstract classes such as `numpy.floating`.

    >>> issubdtype("bfloat16", np.floating), issubdtype(key_dtype, prng_key)
    (True, True)
    """
    target = b if isinstance(b, type) and issubclass(b, np.generic) else as_dtype(b)
    if isinstance(a, type) and a in _ABSTRACT_CLASSES:
        return isinstance(target, type) and issubclass(a, target)
    found = as_dtype(a)
    if not isinstance(target, type):
        return found == target
    if found in _KEY_DTYPES:
        return issubclass(prng_key, target)
    return issubclass(found.type, target) or issubclass(_ABSTRACT.get(found, found.type), target)
