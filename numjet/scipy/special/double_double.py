"""Double-double arithmetic: numbers as unevaluated sums of two floats, with twice the digits of one.

For sums whose terms cancel more digits than a float has (T. J. Dekker, "A floating-point technique for extending the available
precision", 1971). Functions of sums, products and quotients take arrays and these numbers alike.
"""
from __future__ import annotations

from typing import Any, NamedTuple

import numjet.numpy as jnp
from numjet import lax
from numjet.foundation import tree


class DoubleDouble(NamedTuple):
    """high + low, where |low| is at most half a unit in the last place of high. Arrays stand on the right of an operator."""

    high: Any
    low: Any

    @property
    def real(self) -> DoubleDouble:
        return DoubleDouble(self.high.real, self.low.real)

    @property
    def imag(self) -> DoubleDouble:
        return DoubleDouble(self.high.imag, self.low.imag)

    def __neg__(self) -> DoubleDouble:
        return DoubleDouble(-self.high, -self.low)

    def __add__(self, other: Any) -> DoubleDouble:
        other = double_double(other)
        high, error = _two_sum(self.high, other.high)
        return DoubleDouble(*_fast_two_sum(high, error + (self.low + other.low)))

    def __sub__(self, other: Any) -> DoubleDouble:
        return self + -double_double(other)

    def __mul__(self, other: Any) -> DoubleDouble:
        """With a number or an array; either of which may be complex."""
        if jnp.iscomplexobj(nearest(other)):
            return _complex_product(self, double_double(other))
        if jnp.iscomplexobj(self.high):
            return _complex(self.real * other, self.imag * other)
        high, error = _two_product(self.high, nearest(other))
        rest = self.low * nearest(other)
        rest = rest + self.high * other.low if isinstance(other, DoubleDouble) else rest
        return DoubleDouble(*_fast_two_sum(high, error + rest))

    def __truediv__(self, other: Any) -> DoubleDouble:
        first = self.high / nearest(other)
        rest = self - double_double(first) * other
        return DoubleDouble(*_fast_two_sum(first, rest.high / nearest(other)))


def double_double(x: Any) -> DoubleDouble:
    """The number of an array; a number as it is.

    >>> third = double_double(jnp.float32(1)) / double_double(jnp.float32(3))
    >>> float(third.high) + float(third.low) - 1 / 3 < 1e-16
    True
    """
    return x if isinstance(x, DoubleDouble) else DoubleDouble(x, jnp.zeros_like(x))


def nearest(x: Any) -> Any:
    """The array next to a number; an array as it is.

    >>> float(nearest(double_double(jnp.float32(2))))
    2.0
    """
    return x.high if isinstance(x, DoubleDouble) else x


def alike(x: Any, kind: Any) -> Any:
    """An array as a number of double-double arithmetic where `kind` is one, else as it is.

    >>> float(alike(jnp.float32(2), jnp.float32(3)))
    2.0
    """
    return double_double(x) if isinstance(kind, DoubleDouble) else x


def select(condition: Any, x: Any, y: Any) -> Any:
    """jnp.where of two arrays or of two numbers.

    >>> float(select(jnp.bool_(True), jnp.float32(2), jnp.float32(3)))
    2.0
    """
    return tree.tree_map(lambda v, w: jnp.where(condition, v, w), x, y)


def _complex(real: DoubleDouble, imag: DoubleDouble) -> DoubleDouble:
    return DoubleDouble(lax.complex(real.high, imag.high), lax.complex(real.low, imag.low))


def _complex_product(x: DoubleDouble, y: DoubleDouble) -> DoubleDouble:
    if not jnp.iscomplexobj(x.high):
        return y * x
    (a, b), (c, d) = (x.real, x.imag), (y.real, y.imag)
    return _complex(a * c - b * d, a * d + b * c)


def _two_sum(x: Any, y: Any) -> tuple[Any, Any]:
    """x + y and its rounding error, also of complex numbers."""
    total = x + y
    part = total - x
    return total, (x - (total - part)) + (y - part)


def _fast_two_sum(x: Any, y: Any) -> tuple[Any, Any]:
    """The same for |x| >= |y|."""
    total = x + y
    return total, y - (total - x)


def _halves(x: Any) -> tuple[Any, Any]:
    """x as a sum of two numbers of half of the digits, whose products are exact."""
    scaled = (2.0**((jnp.finfo(x.dtype).nmant + 2) // 2) + 1) * x
    high = scaled - (scaled - x)
    return high, x - high


def _two_product(x: Any, y: Any) -> tuple[Any, Any]:
    """x y and its rounding error, for real numbers."""
    product = x * y
    (a, b), (c, d) = _halves(x), _halves(y)
    return product, ((a * c - product) + a * d + b * c) + b * d
