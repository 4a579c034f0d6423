"""The normal distribution function, its logarithm and the logarithm's derivative, in scalar arithmetic.

All come from one polynomial of the scaled tail exp(x² / 2) Phi(-x) (M. Shepherd, J. Laframboise, "Chebyshev approximation of
(1 + 2x) exp(x²) erfc x", Math. Comp. 36, 1981): it is smooth, so the rounding error of the argument is not magnified, as it
would be by erfc(-x / sqrt(2)). In float64 also for narrower floats, which are rounded once; but for ndtr of float32, where erfc
is twice as fast.
"""
from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from numjet.core.op import SCALARS, Op, Samples
from numjet.lax.elementwise.arithmetic import add_p, div_p, mul_p, neg_p, square_p, sub_p
from numjet.lax.elementwise.compare import lt_p, max_p, min_p
from numjet.lax.elementwise.scipy_functions import by_scipy, scipy_special
from numjet.lax.elementwise.special_loops import F64, Number
from numjet.lax.elementwise.special_tables import NORMAL_TAIL, NORMAL_TAIL_SINGLE
from numjet.lax.elementwise.transcendental import exp_p
from numjet.lax.operands import FLOATS, UNARY_SHAPES, where
from numjet.lax.templates import FLOAT, elementwise

_SHIFT = math.sqrt(18)
_ROOT_2_PI = math.sqrt(2 * math.pi)
_F32 = np.dtype(np.float32)
_ROOT_HALF = float(np.float32(math.sqrt(0.5)))
_ROOT_HALF_REST = math.sqrt(0.5) - _ROOT_HALF
_FAR = 40.0     # the density is 0 beyond
# (1/2 - Phi(-x)) / x in powers of x²: (-1)^k / (sqrt(2 pi) 2^k k! (2 k + 1)), to 1e-18 up to _NEAR
_CENTRE = tuple((-1) ** k / (_ROOT_2_PI * 2**k * math.factorial(k) * (2 * k + 1)) for k in range(12))
_NEAR = 0.6


class _Tail:
    """Phi(-|x|) = tail fall, where `tail` is the scaled tail and `fall` exp(-x² / 2); near 0, where float64 results need it,
    the difference of 1/2 and a series, and fall = 1."""

    def __init__(self, x: Number, precise: bool):
        size = abs(x)
        inverse = 1.0 / (size + _SHIFT)
        self.tail = inverse * (1.0 - inverse * (2 * _SHIFT)).polynomial(NORMAL_TAIL if precise else NORMAL_TAIL_SINGLE)
        self.density = self.fall = _falloff(size, precise)
        self.exponent = -0.5 * (x * x)
        if precise:
            near = size < _NEAR
            self.tail = (0.5 - size * (size * size).polynomial(_CENTRE)).where(near, self.tail)
            self.fall = x.constant(1.0).where(near, self.fall)
            self.exponent = x.constant(0.0).where(near, self.exponent)
        self.small = self.tail * self.fall
        self.near = size < _NEAR if precise else None

    def unscaled(self, x: Number) -> Any:
        """Whether the density is divided by a probability, not by the scaled tail."""
        return x >= 0.0 if self.near is None else x.b.prim("or", x >= 0.0, self.near)


def _falloff(size: Number, precise: bool) -> Number:
    """exp(-x² / 2), with the rounding error of the square made good; that of a float32 number is exact."""
    size = size.at_most(_FAR)
    square = size * size
    fall = (-0.5 * square).math("exp")
    if not precise:
        return fall
    missed = size.fma(size, -square)
    return fall - fall * (0.5 * missed)


def _rule(function: Callable[[Number, _Tail], Number]) -> Callable[[Any, Any], Any]:
    """function(x, tail) as a rule of a record, NaN for NaN."""
    def rule(b: Any, s: Any) -> Any:
        x = Number(b, b.convert(s, F64))
        found = function(x, _Tail(x, s.dtype == F64))
        return b.convert(found.where(b.compare("eq", x.s, x.s), x).s, s.dtype)
    return rule


def _ndtr(x: Number, t: _Tail) -> Number:
    return t.small.where(x < 0.0, 1.0 - t.small)


def _ndtr_of_single(b: Any, s: Any) -> Any:
    """erfc(-x / sqrt(2)) / 2 in float32. The rounding error of the argument, which tails magnify by x², is made good to first
    order: the logarithm of erfc(y) falls by about y + sqrt(y² + 4 / pi)."""
    x = Number(b, b.convert(s, _F32))
    x = x.constant(-_FAR).where(x < -_FAR, x)     # NaN stays
    x = x.constant(_FAR).where(x > _FAR, x)
    y = x * -_ROOT_HALF
    lost = x.fma(-_ROOT_HALF, -y) - x * _ROOT_HALF_REST
    near = y.at_least(0.0)
    factor = 0.5 - 0.5 * (lost * (near + near.fma(near, 4 / math.pi).sqrt()))
    value = y.math("erfc") * factor.where(near > 0.0, 0.5)
    return b.convert(value.s, s.dtype)


def _log_ndtr(x: Number, t: _Tail) -> Number:
    """Of the scaled tail below 0; above log(1 - p), with the rounding error of 1 - p, which is all of p where that is tiny."""
    rest = 1.0 - t.small
    lost = (1.0 - rest) - t.small
    log = t.tail.where(x < 0.0, rest).math("log")
    return (log + t.exponent).where(x < 0.0, log + lost * (1.0 + t.small))


def _inverse_mills(x: Number, t: _Tail) -> Number:
    above = t.density.where(t.unscaled(x), 1.0)
    return (1 / _ROOT_2_PI) * (above / (1.0 - t.small).where(x >= 0.0, t.tail))


# ------------------------------------------------------------------------------------------------ by SciPy, outside of jit

def _tail_by_scipy(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The scaled tail and exp(-x² / 2) at |x|; the square in two parts, the first one exact."""
    size = np.minimum(np.abs(x), _FAR)
    head = size.astype(np.float32).astype(np.float64)
    with np.errstate(under="ignore"):
        fall = np.exp(-0.5 * (size - head) * (size + head)) * np.exp(-0.5 * head * head)
    return 0.5 * scipy_special.erfcx(np.abs(x) * math.sqrt(0.5)), fall


def _ndtr_by_scipy(x: np.ndarray) -> np.ndarray:
    tail, fall = _tail_by_scipy(x)
    with np.errstate(under="ignore"):
        return np.where(x < -1, tail * fall, scipy_special.ndtr(x))


def _log_ndtr_by_scipy(x: np.ndarray) -> np.ndarray:
    tail, fall = _tail_by_scipy(x)
    with np.errstate(all="ignore"):
        usual = np.where(x > 0, np.log1p(-scipy_special.ndtr(-np.abs(x))), np.log(scipy_special.ndtr(x)))
        return np.where(x < -1, np.log(tail) - 0.5 * (x * x), np.where(x > 1, np.log1p(-tail * fall), usual)) + 0.0


def _inverse_mills_by_scipy(x: np.ndarray) -> np.ndarray:
    tail, fall = _tail_by_scipy(x)
    with np.errstate(all="ignore"):
        return np.where(x < -1, 1 / tail, fall / scipy_special.ndtr(x)) / _ROOT_2_PI


# ------------------------------------------------------------------------------------------------ records

def _record(name: str, eager: Callable[[np.ndarray], np.ndarray], rule: Any, jvp: Any, order: int = 2) -> Op:
    return elementwise(name, accepts=FLOAT, eager=by_scipy(eager), cpu=rule, hlo=SCALARS, jvp=jvp, cost=60.0,
                       samples=Samples(shapes=UNARY_SHAPES, dtypes=FLOATS, low=-6, high=6, ulps=32, order=order))


def _density(x: Any) -> Any:
    """Infinities are kept out, so that the density's own derivatives are 0 there, too."""
    near = min_p(max_p(x, -_FAR), _FAR)
    return mul_p(exp_p.bind(mul_p(square_p.bind(near), -0.5)), 1 / _ROOT_2_PI)


def _ndtr_rule(b: Any, s: Any) -> Any:
    return _rule(_ndtr)(b, s) if s.dtype == F64 else _ndtr_of_single(b, s)


ndtr_p: Op = _record("ndtr", _ndtr_by_scipy, _ndtr_rule, lambda t, out, x: mul_p.bind(t, _density(x)))


def ndtr(x: Any) -> Any:
    """The normal distribution function: the probability of numbers up to x.

    >>> ndtr(0.0)
    Array(0.5, dtype=float32, weak_type=True)
    """
    return ndtr_p(x)


log_ndtr_p: Op = _record("log_ndtr", _log_ndtr_by_scipy, _rule(_log_ndtr),
                         lambda t, out, x: mul_p.bind(t, inverse_mills_p.bind(x)))


def log_ndtr(x: Any) -> Any:
    """log(ndtr(x)), accurate in both tails.

    >>> log_ndtr(-20.0)
    Array(-203.91716, dtype=float32, weak_type=True)
    """
    return log_ndtr_p(x)


def _inverse_mills_slope(out: Any, x: Any) -> Any:
    """m (x + m); far below 0, where x + m cancels, 1 - 1 / x² + 6 / x⁴."""
    far = lt_p(x, -300.0 if x.dtype == F64 else -20.0)
    inner, outer = min_p(where(far, 0.0, x), _FAR), where(far, x, -math.inf)
    inverse = square_p.bind(div_p(1.0, outer))
    series = add_p(mul_p.bind(inverse, sub_p(mul_p(inverse, 6.0), 1.0)), 1.0)
    return where(far, series, mul_p.bind(out, add_p.bind(inner, out)))


inverse_mills_p: Op = _record("inverse_mills", _inverse_mills_by_scipy, _rule(_inverse_mills),
                              lambda t, out, x: neg_p.bind(mul_p.bind(t, _inverse_mills_slope(out, x))))


def inverse_mills(x: Any) -> Any:
    """The derivative of log_ndtr: the normal density at x, divided by ndtr(x).

    >>> inverse_mills(0.0)
    Array(0.7978846, dtype=float32, weak_type=True)
    """
    return inverse_mills_p(x)
