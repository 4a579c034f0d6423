"""tanh, logistic, sinh, cosh and their inverses, from the cores of exp and log."""
from __future__ import annotations

from numjet.cpu.ir.nodes import Expr
from numjet.cpu.mathlib.exponential import exp_parts, expm1_parts
from numjet.cpu.mathlib.helpers import Calc, Poly, widened
from numjet.cpu.mathlib.logarithm import log1p_moderate

LN2 = 0.6931471805599453

_SINH_OF, _SINH_WEIGHT = "(sinh(sqrt(u)) - sqrt(u)) / (u * sqrt(u))", "u * sqrt(u) / sinh(sqrt(u))"
SINH_32 = Poly((0.16666667, 0.0083333105, 0.00019842896, 2.782217e-06), _SINH_OF, _SINH_WEIGHT, 0.0, 1.0, 31.6,
               "float32")
SINH_64 = Poly((0.16666666666666666, 0.008333333333333573, 0.00019841269841061094, 2.7557319310180224e-06,
                2.505208937362125e-08, 1.606134669635162e-10, 7.502600041200217e-13, 6.497430743067304e-15),
               _SINH_OF, _SINH_WEIGHT, 0.0, 1.0, 62.9, "float64")


def tanh(c: Calc, x: Expr) -> Expr:
    """e / (e + 2) with e = h p q + (h p - 1) = exp(2 |x|) - 1. In float32 the plain quotient does; its errors add up to 2.5
    units, where JAX has 4.6."""
    p, q, power = expm1_parts(c, c.at_most(c.mul(c.abs(x), 2.0), 20.0 if c.single else 40.0))
    h = c.times_pow2(p, power)
    e = c.fma(h, q, c.sub(h, 1.0))
    total = c.add(e, 2.0)
    quotient = c.div(e, total) if c.single else _careful_quotient(c, e, total, c.sub(e, c.sub(total, 2.0)))
    return c.copysign(quotient, x)


def _careful_quotient(c: Calc, top: Expr, bottom: Expr, rest: Expr) -> Expr:
    """top / (bottom + rest) for a tiny rest, corrected by the remainder."""
    inverse = c.div(1.0, bottom)
    quotient = c.mul(top, inverse)
    return c.fma(c.fnma(quotient, rest, c.fnma(quotient, bottom, top)), inverse, quotient)


def logistic(c: Calc, x: Expr) -> Expr:
    """e / (1 + e) for negative and 1 / (1 + e) for positive x with e = exp(-|x|), denormals included.

    The quotient is corrected by its remainder, with the rounding error of 1 + e.
    """
    e = c.fading(c.neg(c.abs(x)), -104.0 if c.single else -746.0, lambda y: c.scaled(*exp_parts(c, y), True))
    total = c.add(e, 1.0)
    return _careful_quotient(c, c.select(c.test("lt", x, 0.0), e, 1.0), total, c.sub(e, c.sub(total, 1.0)))


def _half_exp(c: Calc, a: Expr) -> Expr:
    """exp(a) / 2 for a >= 0 without overflow before the result does."""
    p, power = exp_parts(c, c.at_most(a, 91.0 if c.single else 712.0))
    return c.scaled(c.mul(p, 0.5), power, False)


def cosh(c: Calc, x: Expr) -> Expr:
    h = _half_exp(c, c.abs(x))
    return c.add(h, c.div(0.25, h))


def sinh(c: Calc, x: Expr) -> Expr:
    """A polynomial up to 1, where exp(x) - exp(-x) would cancel."""
    a = c.abs(x)
    h = _half_exp(c, a)
    z = c.mul(a, a)
    small = c.fma(c.mul(a, z), c.poly(SINH_32 if c.single else SINH_64, z), a)
    return c.copysign(c.select(c.test("lt", a, 1.0), small, c.sub(h, c.div(0.25, h))), x)


def _finish(c: Calc, x: Expr, result: Expr) -> Expr:
    """result with the sign of x; infinities and NaN as they are."""
    return c.copysign(c.select(c.test("lt", c.abs(x), c.inf), result, x), x)


def _log1p_of(c: Calc, a: Expr, moderate: Expr) -> Expr:
    """log1p(moderate), or log(2 a) where a is so large that its square could overflow."""
    big = c.test("gt", a, 2.0**100)
    value = log1p_moderate(c, c.select(big, a, moderate))
    return c.add(value, c.select(big, LN2, 0.0))


def asinh(c: Calc, x: Expr) -> Expr:
    """log1p(a + a*a / (1 + sqrt(1 + a*a))) with a = |x|."""
    if c.single:
        return widened(c, asinh, x)
    a = c.abs(x)
    square = c.mul(a, a)
    moderate = c.add(a, c.div(square, c.add(c.sqrt(c.add(square, 1.0)), 1.0)))
    return _finish(c, x, _log1p_of(c, a, moderate))


def acosh(c: Calc, x: Expr) -> Expr:
    """log1p(t + sqrt(2 t + t*t)) with t = x - 1."""
    if c.single:
        return widened(c, acosh, x)
    t = c.sub(x, 1.0)
    moderate = c.add(t, c.sqrt(c.fma(t, t, c.mul(t, 2.0))))
    result = c.select(c.test("lt", x, c.inf), _log1p_of(c, x, moderate), x)
    return c.select(c.test("ge", x, 1.0), result, c.nan)


def atanh(c: Calc, x: Expr) -> Expr:
    """log1p(2 a / (1 - a)) / 2 with a = |x|."""
    if c.single:
        return widened(c, atanh, x)
    a = c.abs(x)
    result = c.mul(log1p_moderate(c, c.div(c.mul(a, 2.0), c.sub(1.0, a))), 0.5)
    edge = c.select(c.test("eq", a, 1.0), c.inf, c.nan)
    return c.copysign(c.select(c.test("lt", a, 1.0), result, edge), x)
