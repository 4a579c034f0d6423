"""tanh, logistic, sinh, cosh and their inverses, from the cores of exp and log."""
from __future__ import annotations

from ..loop_ir import Expr
from .exponential import exp_parts
from .helpers import Calc, Poly, widened
from .logarithm import log1p_sum

LN2 = 0.6931471805599453

_SINH_OF, _SINH_WEIGHT = "(sinh(sqrt(u)) - sqrt(u)) / (u * sqrt(u))", "u * sqrt(u) / sinh(sqrt(u))"
SINH_32 = Poly((0.16666667, 0.0083333105, 0.00019842896, 2.782217e-06), _SINH_OF, _SINH_WEIGHT, 0.0, 1.0, 31.6,
               "float32")
SINH_64 = Poly((0.16666666666666666, 0.008333333333333573, 0.00019841269841061094, 2.7557319310180224e-06,
                2.505208937362125e-08, 1.606134669635162e-10, 7.502600041200217e-13, 6.497430743067304e-15),
               _SINH_OF, _SINH_WEIGHT, 0.0, 1.0, 62.9, "float64")

_TANH_OF, _TANH_WEIGHT = "(tanh(sqrt(u)) - sqrt(u)) / (u * sqrt(u))", "u * sqrt(u) / tanh(sqrt(u))"
TANH_32 = Poly((-0.33333316, 0.13332544, -0.053847544, 0.02105068, -0.006242776), _TANH_OF, _TANH_WEIGHT, 0.0, 0.3026,
               29.7, "float32")
TANH_64 = Poly((-0.3333333333333231, 0.13333333333168232, -0.053968253875841095, 0.021869485968996707,
                -0.0088631944245468, 0.0035917190432866912, -0.0014532134601822023, 0.0005791270553826203,
                -0.0002102858412836311, 5.100983925373076e-05), _TANH_OF, _TANH_WEIGHT, 0.0, 0.3026, 55.4, "float64")


def tanh(c: Calc, x: Expr) -> Expr:
    """A polynomial where tanh is below 1/2, then 1 - 2 / (1 + exp(2 |x|)), whose quotient matters less."""
    a = c.abs(x)
    z = c.mul(a, a)
    small = c.fma(c.mul(a, z), c.poly(TANH_32 if c.single else TANH_64, z), a)
    p, shifted = exp_parts(c, c.mul(c.at_most(a, 10.0 if c.single else 20.0), 2.0))
    large = c.sub(1.0, c.div(2.0, c.fma(p, c.pow2(shifted), 1.0)))
    return c.copysign(c.select(c.test("lt", a, 0.55), small, large), x)


def logistic(c: Calc, x: Expr) -> Expr:
    """e / (1 + e) for negative and 1 / (1 + e) for positive x with e = exp(-|x|), denormals included.

    The quotient is corrected by its remainder, with the rounding error of 1 + e.
    """
    y = c.at_least(c.neg(c.abs(x)), -104.0 if c.single else -746.0)
    p, shifted = exp_parts(c, y)
    half = (c.bias + 1) // 2
    e = c.mul(c.mul(p, c.pow2(shifted, half)), 2.0**-half)
    top, total = c.select(c.test("lt", x, 0.0), e, 1.0), c.add(e, 1.0)
    inverse = c.div(1.0, total)
    quotient = c.mul(top, inverse)
    remainder = c.fnma(quotient, c.sub(e, c.sub(total, 1.0)), c.fnma(quotient, total, top))
    return c.fma(remainder, inverse, quotient)


def _half_exp(c: Calc, a: Expr) -> Expr:
    """exp(a) / 2 for a >= 0 without overflow before the result does."""
    p, shifted = exp_parts(c, c.at_most(a, 91.0 if c.single else 712.0))
    return c.mul(c.mul(p, c.pow2(shifted, -3)), 4.0)


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
    value = log1p_sum(c, c.select(big, a, moderate))
    return c.add(value, c.select(big, LN2, 0.0))


def asinh(c: Calc, x: Expr) -> Expr:
    """log1p(a + a*a / (1 + sqrt(1 + a*a))) with a = |x|."""
    if c.single:
        return widened(c.e, asinh, x)
    a = c.abs(x)
    square = c.mul(a, a)
    moderate = c.add(a, c.div(square, c.add(c.sqrt(c.add(square, 1.0)), 1.0)))
    return _finish(c, x, _log1p_of(c, a, moderate))


def acosh(c: Calc, x: Expr) -> Expr:
    """log1p(t + sqrt(2 t + t*t)) with t = x - 1."""
    if c.single:
        return widened(c.e, acosh, x)
    t = c.sub(x, 1.0)
    moderate = c.add(t, c.sqrt(c.fma(t, t, c.mul(t, 2.0))))
    result = c.select(c.test("lt", x, c.inf), _log1p_of(c, x, moderate), x)
    return c.select(c.test("ge", x, 1.0), result, c.nan)


def atanh(c: Calc, x: Expr) -> Expr:
    """log1p(2 a / (1 - a)) / 2 with a = |x|."""
    if c.single:
        return widened(c.e, atanh, x)
    a = c.abs(x)
    result = c.mul(log1p_sum(c, c.div(c.mul(a, 2.0), c.sub(1.0, a))), 0.5)
    edge = c.select(c.test("eq", a, 1.0), c.inf, c.nan)
    return c.copysign(c.select(c.test("lt", a, 1.0), result, edge), x)
