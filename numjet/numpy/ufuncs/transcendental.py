"""Exponentials, logarithms, trigonometric and hyperbolic functions. Integers become floats; dtypes are kept otherwise."""
from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from numjet.foundation import dtypes
from numjet.lax.elementwise import arithmetic, convert, transcendental
from numjet.numpy.core.promotion import as_dtype, literal, operand_inexact, operands_inexact

_COMPLEX = frozenset(dtypes.COMPLEX)


def times_real(x: Any, factor: float, weak: bool = True) -> Any:
    """x * factor, whose type is weak or not; of complex numbers each part, as 0 times an infinite part of the other would be
    NaN."""
    if x.aval.dtype not in _COMPLEX:
        return arithmetic.mul_p.bind(x, literal(factor, x.aval.dtype, weak))
    re, im = (times_real(part.bind(x), factor, weak) for part in (convert.real_p, convert.imag_p))
    return convert.complex_p.bind(re, im)


# -------------------------------------------------------------------------------------------- exponentials and logarithms

def exp(x: Any, /) -> Any:
    """e ** x, elementwise.

    >>> exp(0)
    Array(1., dtype=float32, weak_type=True)
    """
    return transcendental.exp_p.bind(operand_inexact("exp", x))


def exp2(x: Any, /) -> Any:
    """2 ** x, elementwise.

    >>> exp2(3)
    Array(8., dtype=float32, weak_type=True)
    """
    return transcendental.exp2_p.bind(operand_inexact("exp2", x))


def expm1(x: Any, /) -> Any:
    """e ** x - 1, accurate near 0.

    >>> expm1(0)
    Array(0., dtype=float32, weak_type=True)
    """
    return transcendental.expm1_p.bind(operand_inexact("expm1", x))


def log(x: Any, /) -> Any:
    """Natural logarithm; -inf at 0, NaN for negative floats.

    >>> log(1)
    Array(0., dtype=float32, weak_type=True)
    """
    return transcendental.log_p.bind(operand_inexact("log", x))


def log1p(x: Any, /) -> Any:
    """log(1 + x), accurate near 0.

    >>> log1p(0)
    Array(0., dtype=float32, weak_type=True)
    """
    return transcendental.log1p_p.bind(operand_inexact("log1p", x))


def _logarithm(name: str, x: Any, to_base: Callable[[Any], Any]) -> Any:
    """A multiple of the natural logarithm; of 16-bit floats in 32 bits, as the factor is no 16-bit number. The factor's type
    is strong, and so the result's, while slopes have that of x."""
    x = operand_inexact(name, x)
    if x.aval.dtype.itemsize > 2:
        return to_base(transcendental.log_p.bind(x))
    wide = as_dtype(x, dtypes.float32, x.aval.weak_type)
    return as_dtype(to_base(transcendental.log_p.bind(wide)), x.aval.dtype)


def log2(x: Any, /) -> Any:
    """Logarithm to the base 2.

    >>> log2(8)
    Array(3., dtype=float32)
    """
    return _logarithm("log2", x, _by_log_of_2)


def _by_log_of_2(x: Any) -> Any:
    """log(x) / log(2) by division, so that logarithms of powers of 2 are integers."""
    if x.aval.dtype in _COMPLEX:
        return times_real(x, 1 / math.log(2), weak=False)
    return arithmetic.div_p.bind(x, literal(math.log(2), x.aval.dtype, weak=False))


def log10(x: Any, /) -> Any:
    """Logarithm to the base 10.

    >>> log10(100)
    Array(2., dtype=float32)
    """
    return _logarithm("log10", x, lambda v: times_real(v, 1 / math.log(10), weak=False))


# -------------------------------------------------------------------------------------------- trigonometric functions

def sin(x: Any, /) -> Any:
    """Sine of x in radians.

    >>> sin(0)
    Array(0., dtype=float32, weak_type=True)
    """
    return transcendental.sin_p.bind(operand_inexact("sin", x))


def cos(x: Any, /) -> Any:
    """Cosine of x in radians.

    >>> cos(0)
    Array(1., dtype=float32, weak_type=True)
    """
    return transcendental.cos_p.bind(operand_inexact("cos", x))


def tan(x: Any, /) -> Any:
    """Tangent of x in radians.

    >>> tan(0)
    Array(0., dtype=float32, weak_type=True)
    """
    return transcendental.tan_p.bind(operand_inexact("tan", x))


def arcsin(x: Any, /) -> Any:
    """The angle in [-pi/2, pi/2] whose sine is x; NaN for floats beyond [-1, 1].

    >>> arcsin(0)
    Array(0., dtype=float32, weak_type=True)
    """
    return transcendental.asin_p.bind(operand_inexact("arcsin", x))


def arccos(x: Any, /) -> Any:
    """The angle in [0, pi] whose cosine is x; NaN for floats beyond [-1, 1].

    >>> arccos(1)
    Array(0., dtype=float32, weak_type=True)
    """
    return transcendental.acos_p.bind(operand_inexact("arccos", x))


def arctan(x: Any, /) -> Any:
    """The angle in [-pi/2, pi/2] whose tangent is x.

    >>> arctan(0)
    Array(0., dtype=float32, weak_type=True)
    """
    return transcendental.atan_p.bind(operand_inexact("arctan", x))


def arctan2(x1: Any, x2: Any, /) -> Any:
    """The angle in [-pi, pi] of the point (x2, x1).

    >>> arctan2(0, -1)
    Array(3.1415927, dtype=float32, weak_type=True)
    """
    x, y = operands_inexact("arctan2", x1, x2)
    return transcendental.atan2_p.bind(x, y)


def deg2rad(x: Any, /) -> Any:
    """Degrees to radians.

    >>> deg2rad(180)
    Array(3.1415927, dtype=float32, weak_type=True)
    """
    return times_real(operand_inexact("deg2rad", x), math.pi / 180)


def rad2deg(x: Any, /) -> Any:
    """Radians to degrees.

    >>> rad2deg(0)
    Array(0., dtype=float32, weak_type=True)
    """
    return times_real(operand_inexact("rad2deg", x), 180 / math.pi)


# -------------------------------------------------------------------------------------------- hyperbolic functions

def sinh(x: Any, /) -> Any:
    """Hyperbolic sine.

    >>> sinh(0)
    Array(0., dtype=float32, weak_type=True)
    """
    return transcendental.sinh_p.bind(operand_inexact("sinh", x))


def cosh(x: Any, /) -> Any:
    """Hyperbolic cosine.

    >>> cosh(0)
    Array(1., dtype=float32, weak_type=True)
    """
    return transcendental.cosh_p.bind(operand_inexact("cosh", x))


def tanh(x: Any, /) -> Any:
    """Hyperbolic tangent.

    >>> tanh(0)
    Array(0., dtype=float32, weak_type=True)
    """
    return transcendental.tanh_p.bind(operand_inexact("tanh", x))


def arcsinh(x: Any, /) -> Any:
    """The inverse of sinh.

    >>> arcsinh(0)
    Array(0., dtype=float32, weak_type=True)
    """
    return transcendental.asinh_p.bind(operand_inexact("arcsinh", x))


def arccosh(x: Any, /) -> Any:
    """The inverse of cosh, >= 0; NaN for floats below 1.

    >>> arccosh(1)
    Array(0., dtype=float32, weak_type=True)
    """
    return transcendental.acosh_p.bind(operand_inexact("arccosh", x))


def arctanh(x: Any, /) -> Any:
    """The inverse of tanh; NaN for floats beyond [-1, 1].

    >>> arctanh(0)
    Array(0., dtype=float32, weak_type=True)
    """
    return transcendental.atanh_p.bind(operand_inexact("arctanh", x))


# -------------------------------------------------------------------------------------------- second names

# Functions of their own, so that each goes by its name in messages and tables: those of the array API standard, and NumPy's.

def acos(x: Any, /) -> Any:
    """As `arccos`.

    >>> acos(1)
    Array(0., dtype=float32, weak_type=True)
    """
    return arccos(x)


def acosh(x: Any, /) -> Any:
    """As `arccosh`.

    >>> acosh(1)
    Array(0., dtype=float32, weak_type=True)
    """
    return arccosh(x)


def asin(x: Any, /) -> Any:
    """As `arcsin`.

    >>> asin(0)
    Array(0., dtype=float32, weak_type=True)
    """
    return arcsin(x)


def asinh(x: Any, /) -> Any:
    """As `arcsinh`.

    >>> asinh(0)
    Array(0., dtype=float32, weak_type=True)
    """
    return arcsinh(x)


def atan(x: Any, /) -> Any:
    """As `arctan`.

    >>> atan(0)
    Array(0., dtype=float32, weak_type=True)
    """
    return arctan(x)


def atan2(x1: Any, x2: Any, /) -> Any:
    """As `arctan2`.

    >>> atan2(0, -1)
    Array(3.1415927, dtype=float32, weak_type=True)
    """
    return arctan2(x1, x2)


def atanh(x: Any, /) -> Any:
    """As `arctanh`.

    >>> atanh(0)
    Array(0., dtype=float32, weak_type=True)
    """
    return arctanh(x)


def degrees(x: Any, /) -> Any:
    """As `rad2deg`.

    >>> degrees(0)
    Array(0., dtype=float32, weak_type=True)
    """
    return rad2deg(x)


def radians(x: Any, /) -> Any:
    """As `deg2rad`.

    >>> radians(0)
    Array(0., dtype=float32, weak_type=True)
    """
    return deg2rad(x)
