"""Dtypes of loop IR: their kinds, the result types of operations, and neutral elements."""
from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numjet.cpu.ir.nodes import Expr

_BOOL = np.dtype(np.bool_)
_PREDICATES = ("eq", "ne", "lt", "le", "gt", "ge", "is_finite")


@functools.cache
def kind(dtype: np.dtype) -> str:
    """b: bool, i: signed, u: unsigned, f: float32 or float64, h: float16 or bfloat16. TypeError for any other dtype."""
    if dtype.name in ("float16", "bfloat16"):
        return "h"
    if dtype.kind not in ("b", "i", "u", "f") or dtype.itemsize > 8:
        raise TypeError(f"loop IR has no values of dtype {dtype}; complex numbers are split by the builder")
    return dtype.kind


def narrow(dtype: np.dtype) -> bool:
    """Whether the numbers are int2 to uint4 or floats of 4 to 8 bits, stored in a byte each: loop IR only moves them."""
    return dtype.itemsize == 1 and dtype.kind not in ("b", "i", "u")


def usual_dtype(op: str, args: tuple[Expr, ...]) -> np.dtype:
    """The default result type of an operation."""
    if op in _PREDICATES:
        return _BOOL
    return args[1].dtype if op in ("select", "select_rare") else args[0].dtype


def identity(combine: str, dtype: np.dtype) -> np.generic:
    """The neutral element of a reduction, exact to the bit: for float sums -0.0, as 0.0 + -0.0 is 0.0.

    Example:
        >>> identity("add", np.dtype(np.float32)), identity("min", np.dtype(np.int8))
        (np.float32(-0.0), np.int8(127))
    """
    if dtype.kind == "b":
        return np.bool_(combine in ("mul", "min", "and"))
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        neutral = {"add": 0, "mul": 1, "min": info.max, "max": info.min, "and": ~dtype.type(0), "or": 0, "xor": 0}
        return dtype.type(neutral[combine])
    return dtype.type({"add": -0.0, "mul": 1.0, "min": np.inf, "max": -np.inf}[combine])
