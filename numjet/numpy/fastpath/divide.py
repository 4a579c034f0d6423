"""Fast path of x // y and x % y of small ready arrays: the NumPy functions in one step.

It covers the cases where NumPy and the composed operations agree: integers divided by positive numbers, and floats by the
same steps. None for all others, and for large arrays, which run compiled.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from numjet import _native
from numjet.core.aval import ShapedArray
from numjet.core.ir import Literal
from numjet.core.trace import EVAL, Array, current_trace
from numjet.runtime.device import CPU, on_host
from numjet.runtime.eager_compile import LARGE
from numjet.runtime.fp_errors import IGNORED, STATE
from numjet.runtime.settings import fast_paths_allowed

_INTEGERS = frozenset(map(np.dtype, ("int8", "int16", "int32", "int64")))
_FLOATS = frozenset(map(np.dtype, ("float32", "float64")))
_PLAIN = frozenset((Array, Literal))


def floor_divide(x: Any, y: Any) -> Any:
    """x // y of operands of one dtype, of one shape or rank 0; or None."""
    return _divide(x, y, np.floor_divide, _float_quotient)


def remainder(x: Any, y: Any) -> Any:
    """x % y of operands of one dtype, of one shape or rank 0; or None."""
    return _divide(x, y, _integer_remainder, _float_remainder)


def _divide(x: Any, y: Any, of_integers: Callable[..., Any], of_floats: Callable[..., Any]) -> Any:
    if type(x) not in _PLAIN or type(y) not in _PLAIN or current_trace() is not EVAL or not fast_paths_allowed():
        return None
    a, b = x.aval, y.aval
    if a.dtype not in _INTEGERS and a.dtype not in _FLOATS or max(a.size, b.size) >= LARGE:
        return None
    if not all(type(v) is not Array or on_host(v) for v in (x, y)):
        return None
    left, right = _value(x), _value(y)
    before = STATE.get()
    try:
        STATE.set(IGNORED)
        if a.dtype in _FLOATS:
            out = of_floats(left, right)
        elif (right > 0).all():
            out = of_integers(left, right)
        else:
            return None
    finally:
        STATE.set(before)
    aval = ShapedArray(a.shape or b.shape, a.dtype, a.weak_type and b.weak_type)
    return _native.from_numpy(np.asarray(out), aval, CPU)


def _value(x: Any) -> np.ndarray:
    return x._value if type(x) is Array else np.asarray(x.val, x.aval.dtype)


def _other_sign(rest: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Whether a remainder is not 0 and its sign differs from the divisor's."""
    if not y.ndim and y > 0:
        return rest < 0
    return (rest != 0) & ((y < 0) != (rest < 0))


_MANY = 1024


def _integer_remainder(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """For y > 0. NumPy divides by one number much faster than it takes remainders."""
    return np.remainder(x, y) if y.ndim or x.size < _MANY else x - np.floor_divide(x, y) * y


def _float_remainder(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    rest = np.fmod(x, y)
    return np.where(_other_sign(rest, y), rest + y, rest)


def _float_quotient(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Quotients by the exact remainder, so that they are whole but for rounding, which is half away from zero."""
    rest = np.fmod(x, y)
    dividend = x - rest
    if y.ndim or y == 0:
        dividend = np.where(y == 0, x, dividend)
    quotient = dividend / y - _other_sign(rest, y)
    whole = np.trunc(quotient)
    part = quotient - whole
    if not np.count_nonzero(part):
        return whole
    return np.where(np.abs(part) >= 0.5, whole + np.copysign(np.ones((), x.dtype), quotient), whole)
