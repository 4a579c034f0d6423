"""Comparisons, logic, bits, and predicates of numbers."""
from __future__ import annotations

from typing import Any

import numpy as np

from numjet.foundation import dtypes
from numjet.lax.elementwise import arithmetic, bits, bitwise, compare, convert
from numjet.lax.elementwise.bitwise import and_p, not_p, or_p, xor_p
from numjet.lax.elementwise.compare import eq_p, ge_p, gt_p, is_finite_p, le_p, lt_p, ne_p
from numjet.lax.shape import create
from numjet.numpy.core.promotion import as_dtype, check_out, literal, operand, operands, operands_numeric
from numjet.numpy.indexing.where import truth

_BOOL = np.dtype(np.bool_)
_UNSIGNED = frozenset(dtypes.UNSIGNED)
_FLOATING = frozenset(dtypes.FLOATING)
_COMPLEX = frozenset(dtypes.COMPLEX)


# -------------------------------------------------------------------------------------------- comparisons

def equal(x: Any, y: Any, /) -> Any:
    """x == y, elementwise, as bool.

    >>> equal(1, 1.0)
    Array(True, dtype=bool)
    """
    x, y = _comparands("equal", x, y)
    return eq_p.bind(x, y)


def not_equal(x: Any, y: Any, /) -> Any:
    """x != y, elementwise, as bool.

    >>> not_equal(1, 1.0)
    Array(False, dtype=bool)
    """
    x, y = _comparands("not_equal", x, y)
    return ne_p.bind(x, y)


def _comparands(name: str, x: Any, y: Any) -> tuple[Any, Any]:
    """Operands of == and !=: random keys may be compared with each other, too."""
    if dtypes.is_key(getattr(x, "dtype", None)) and x.dtype == getattr(y, "dtype", None):
        x, y = operand(name, x), operand(name, y)
        return x, y
    return operands(name, x, y)


def _ordered(name: str, op: Any, x: Any, y: Any) -> Any:
    x, y = operands(name, x, y)
    return _lexicographic(op, x, y) if x.aval.dtype in _COMPLEX else op.bind(x, y)


def _lexicographic(op: Any, x: Any, y: Any) -> Any:
    """Complex numbers are ordered by their real parts, then by their imaginary parts."""
    xr, yr = convert.real_p.bind(x), convert.real_p.bind(y)
    xi, yi = convert.imag_p.bind(x), convert.imag_p.bind(y)
    return compare.select_n_p.bind(eq_p.bind(xr, yr), op.bind(xr, yr), op.bind(xi, yi))


def less(x: Any, y: Any, /) -> Any:
    """x < y, elementwise, as bool; complex numbers by real, then imaginary part.

    >>> less(1, 2)
    Array(True, dtype=bool)
    """
    return _ordered("less", lt_p, x, y)


def less_equal(x: Any, y: Any, /) -> Any:
    """x <= y, elementwise, as bool; complex numbers by real, then imaginary part.

    >>> less_equal(2, 2)
    Array(True, dtype=bool)
    """
    return _ordered("less_equal", le_p, x, y)


def greater(x: Any, y: Any, /) -> Any:
    """x > y, elementwise, as bool; complex numbers by real, then imaginary part.

    >>> greater(1, 2)
    Array(False, dtype=bool)
    """
    return _ordered("greater", gt_p, x, y)


def greater_equal(x: Any, y: Any, /) -> Any:
    """x >= y, elementwise, as bool; complex numbers by real, then imaginary part.

    >>> greater_equal(2, 2)
    Array(True, dtype=bool)
    """
    return _ordered("greater_equal", ge_p, x, y)


def maximum(x: Any, y: Any, /) -> Any:
    """The larger of x and y, elementwise; NaN when one is NaN. At ties each gets half of the derivative.

    >>> maximum(1, 2.5)
    Array(2.5, dtype=float32, weak_type=True)
    """
    x, y = operands("maximum", x, y)
    return compare.max_p.bind(x, y)


def minimum(x: Any, y: Any, /) -> Any:
    """The smaller of x and y, elementwise; NaN when one is NaN. At ties each gets half of the derivative.

    >>> minimum(1, 2.5)
    Array(1., dtype=float32, weak_type=True)
    """
    x, y = operands("minimum", x, y)
    return compare.min_p.bind(x, y)


def fmax(x1: Any, x2: Any) -> Any:
    """The larger of x1 and x2, elementwise; of a NaN and a number the number.

    >>> fmax(float("nan"), 1.0)
    Array(1., dtype=float32, weak_type=True)
    """
    return _ignoring_nan("fmax", gt_p, x1, x2)


def fmin(x1: Any, x2: Any) -> Any:
    """The smaller of x1 and x2, elementwise; of a NaN and a number the number.

    >>> fmin(float("nan"), 1.0)
    Array(1., dtype=float32, weak_type=True)
    """
    return _ignoring_nan("fmin", lt_p, x1, x2)


def _ignoring_nan(name: str, better: Any, x: Any, y: Any) -> Any:
    x, y = operands(name, x, y)
    first = _ordered(name, better, x, y)
    if x.aval.dtype in _FLOATING or x.aval.dtype in _COMPLEX:
        first = or_p.bind(first, ne_p.bind(y, y))
    return compare.select_n_p.bind(first, y, x)


# -------------------------------------------------------------------------------------------- logic

def _truths(name: str, x: Any, y: Any) -> tuple[Any, Any]:
    x, y = operands(name, x, y)
    return truth(x), truth(y)


def logical_and(x: Any, y: Any, /) -> Any:
    """Whether both are true (not 0), elementwise.

    >>> logical_and(1, 0)
    Array(False, dtype=bool)
    """
    x, y = _truths("logical_and", x, y)
    return and_p.bind(x, y)


def logical_or(x: Any, y: Any, /) -> Any:
    """Whether one is true (not 0), elementwise.

    >>> logical_or(1, 0)
    Array(True, dtype=bool)
    """
    x, y = _truths("logical_or", x, y)
    return or_p.bind(x, y)


def logical_xor(x: Any, y: Any, /) -> Any:
    """Whether exactly one is true (not 0), elementwise.

    >>> logical_xor(1, 1)
    Array(False, dtype=bool)
    """
    x, y = _truths("logical_xor", x, y)
    return xor_p.bind(x, y)


def logical_not(x: Any, /) -> Any:
    """Whether x is false (0), elementwise.

    >>> logical_not(0)
    Array(True, dtype=bool)
    """
    x = operand("logical_not", x)
    return not_p.bind(x) if x.aval.dtype == _BOOL else eq_p.bind(x, literal(0, x.aval.dtype))


# -------------------------------------------------------------------------------------------- bits

def bitwise_and(x: Any, y: Any, /) -> Any:
    """x & y of integers or bools. TypeError for floats.

    >>> bitwise_and(6, 3)
    Array(2, dtype=int32, weak_type=True)
    """
    x, y = operands("bitwise_and", x, y)
    return and_p.bind(x, y)


def bitwise_or(x: Any, y: Any, /) -> Any:
    """x | y of integers or bools. TypeError for floats.

    >>> bitwise_or(6, 3)
    Array(7, dtype=int32, weak_type=True)
    """
    x, y = operands("bitwise_or", x, y)
    return or_p.bind(x, y)


def bitwise_xor(x: Any, y: Any, /) -> Any:
    """x ^ y of integers or bools. TypeError for floats.

    >>> bitwise_xor(6, 3)
    Array(5, dtype=int32, weak_type=True)
    """
    x, y = operands("bitwise_xor", x, y)
    return xor_p.bind(x, y)


def invert(x: Any, /) -> Any:
    """~x of integers or bools. TypeError for floats.

    >>> invert(0)
    Array(-1, dtype=int32, weak_type=True)
    """
    return not_p.bind(operand("invert", x))


def bitwise_not(x: Any, /) -> Any:
    """~x, as `invert`.

    >>> bitwise_not(True)
    Array(False, dtype=bool)
    """
    return invert(x)


def bitwise_invert(x: Any, /) -> Any:
    """~x, as `invert`.

    >>> bitwise_invert(1)
    Array(-2, dtype=int32, weak_type=True)
    """
    return invert(x)


def bitwise_count(x: Any, /) -> Any:
    """The number of 1 bits of |x|, as uint8, of integers.

    >>> bitwise_count(-7)
    Array(3, dtype=uint8)
    """
    x = operand("bitwise_count", x)
    x = as_dtype(x, np.dtype(np.uint8)) if x.aval.dtype == np.bool_ else x
    magnitude = arithmetic.abs_p.bind(x) if x.aval.dtype not in _UNSIGNED else x
    return convert.convert_dtype(bitwise.population_count_p.bind(magnitude), np.dtype(np.uint8))


def left_shift(x: Any, y: Any, /) -> Any:
    """x * 2 ** y of integers, by shifting bits; 0 when y is at least the width.

    >>> left_shift(1, 4)
    Array(16, dtype=int32, weak_type=True)
    """
    x, y = operands_numeric("left_shift", x, y)
    return bitwise.shift_left_p.bind(x, y)


def bitwise_left_shift(x: Any, y: Any, /) -> Any:
    """x * 2 ** y, as `left_shift`.

    >>> bitwise_left_shift(1, 4)
    Array(16, dtype=int32, weak_type=True)
    """
    return left_shift(x, y)


def right_shift(x1: Any, x2: Any, /) -> Any:
    """x1 // 2 ** x2 of integers, by shifting bits.

    >>> right_shift(-16, 2)
    Array(-4, dtype=int32, weak_type=True)
    """
    x, y = operands_numeric("right_shift", x1, x2)
    op = bitwise.shift_right_logical_p if x.aval.dtype in _UNSIGNED else bitwise.shift_right_arithmetic_p
    return op.bind(x, y)


def bitwise_right_shift(x1: Any, x2: Any, /) -> Any:
    """x1 // 2 ** x2, as `right_shift`.

    >>> bitwise_right_shift(16, 2)
    Array(4, dtype=int32, weak_type=True)
    """
    return right_shift(x1, x2)


# -------------------------------------------------------------------------------------------- predicates

def _everywhere(x: Any, value: bool) -> Any:
    return create.full(x.aval.shape, value, _BOOL)


def _number(name: str, x: Any) -> Any:
    x = operand(name, x)
    if x.aval.dtype not in _NUMBERS:
        raise TypeError(f"{name} does not accept dtype {dtypes.long_name(x.aval.dtype)}: expected numbers or bools")
    return x


_NUMBERS = frozenset(dtypes.ALL)


def isfinite(x: Any, /) -> Any:
    """Whether x is neither infinite nor NaN.

    >>> isfinite(1.0)
    Array(True, dtype=bool)
    """
    x = _number("isfinite", x)
    if x.aval.dtype in _COMPLEX:
        return and_p.bind(is_finite_p.bind(convert.real_p.bind(x)), is_finite_p.bind(convert.imag_p.bind(x)))
    return is_finite_p.bind(x) if x.aval.dtype in _FLOATING else _everywhere(x, True)


def isinf(x: Any, /) -> Any:
    """Whether x is infinite; of complex numbers, whether a part is.

    >>> isinf(float("-inf"))
    Array(True, dtype=bool)
    """
    x = _number("isinf", x)
    if x.aval.dtype in _COMPLEX:
        return or_p.bind(isinf(convert.real_p.bind(x)), isinf(convert.imag_p.bind(x)))
    if x.aval.dtype not in _FLOATING:
        return _everywhere(x, False)
    return eq_p.bind(arithmetic.abs_p.bind(x), literal(float("inf"), x.aval.dtype))


def isnan(x: Any, /) -> Any:
    """Whether x is NaN; of complex numbers, whether a part is.

    >>> isnan(float("nan"))
    Array(True, dtype=bool)
    """
    x = _number("isnan", x)
    return ne_p.bind(x, x)


def isposinf(x: Any, /, out: None = None) -> Any:
    """Whether x is positive infinity. ValueError for complex numbers.

    >>> isposinf(float("inf"))
    Array(True, dtype=bool)
    """
    return _is_infinity("isposinf", x, out, float("inf"))


def isneginf(x: Any, /, out: None = None) -> Any:
    """Whether x is negative infinity. ValueError for complex numbers.

    >>> isneginf(float("inf"))
    Array(False, dtype=bool)
    """
    return _is_infinity("isneginf", x, out, float("-inf"))


def _is_infinity(name: str, x: Any, out: None, value: float) -> Any:
    check_out(name, out)
    x = _number(name, x)
    if x.aval.dtype in _COMPLEX:
        raise ValueError("isposinf/isneginf are not well defined for complex types")
    return eq_p.bind(x, literal(value, x.aval.dtype)) if x.aval.dtype in _FLOATING else _everywhere(x, False)


def iscomplex(x: Any) -> Any:
    """Whether the imaginary part is not 0, elementwise.

    >>> iscomplex(1 + 1j)
    Array(True, dtype=bool)
    """
    x = _number("iscomplex", x)
    if x.aval.dtype not in _COMPLEX:
        return _everywhere(x, False)
    return truth(convert.imag_p.bind(x))


def isreal(x: Any) -> Any:
    """Whether the imaginary part is 0, elementwise.

    >>> isreal(1.0)
    Array(True, dtype=bool)
    """
    return logical_not(iscomplex(x))


def signbit(x: Any, /) -> Any:
    """Whether the sign bit is set: x < 0, or -0.0, or a NaN of that sign. TypeError for complex numbers.

    >>> signbit(-0.0)
    Array(True, dtype=bool)
    """
    x = _number("signbit", x)
    if x.aval.dtype in _COMPLEX:
        raise ValueError("signbit is not well defined for complex values")
    if x.aval.dtype in _UNSIGNED or x.aval.dtype == _BOOL:
        return _everywhere(x, False)
    if x.aval.dtype in _FLOATING:
        x = bits.bitcast_convert_type(x, np.dtype(f"int{8 * x.aval.dtype.itemsize}"))
    return lt_p.bind(x, literal(0, x.aval.dtype))
