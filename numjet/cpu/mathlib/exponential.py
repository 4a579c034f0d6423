"""exp, exp2 and expm1.

x = n ln2 + r with |r| <= ln2 / 2 (W. J. Cody and W. Waite, "Software Manual for the Elementary Functions", 1980),
a minimax polynomial in r, and 2**n made from exponent bits.
"""
from __future__ import annotations

from ..loop_ir import Expr
from .helpers import Calc, Poly

LOG2_E = 1.4426950408889634
LN2_32 = (0.6931471824645996, -1.9046542121259336e-09)  # high and low part
LN2_64 = (0.6931471805599453, 2.3190468138462996e-17)

_EXP_OF, _EXP_WEIGHT, _EXPM1_WEIGHT = "(expm1(u) - u) / u**2", "u**2 / exp(u)", "u**2 / expm1(u)"
EXP_32 = Poly((0.49999994, 0.1666652, 0.041668404, 0.008368768, 0.0013814062),
              _EXP_OF, _EXP_WEIGHT, -0.3468, 0.3468, 27.7, "float32")
EXPM1_32 = Poly((0.5, 0.16666666, 0.04166636, 0.008333389, 0.0013940699, 0.00019846315),
                _EXP_OF, _EXPM1_WEIGHT, -0.3468, 0.3468, 28.7, "float32")
EXP_64 = Poly((0.5, 0.16666666666666677, 0.041666666666666505, 0.008333333333321645, 0.0013888888888962956,
               0.000198412698861046, 2.480158717149693e-05, 2.755724421695252e-06, 2.7557403391578385e-07,
               2.5109039382983187e-08, 2.0875149784808173e-09),
              _EXP_OF, _EXPM1_WEIGHT, -0.3468, 0.3468, 59.6, "float64")

EXP2_32 = Poly((0.6931472, 0.24022648, 0.055503324, 0.0096184425, 0.0013398869, 0.00015352218),
               "(2**u - 1) / u", "u / 2**u", -0.5001, 0.5001, 25.8, "float32")
EXP2_64 = Poly((0.24022650695910072, 0.05550410866482164, 0.009618129107628345, 0.0013333558146402344,
                0.00015403530393633138, 1.5252733846451562e-05, 1.3215486590156229e-06, 1.0178054838847672e-07,
                7.054978948500173e-09, 4.4561747679762356e-10, 2.561663925920971e-11),
               "(2**u - 1 - u * ln2) / u**2", "u**2 / 2**u", -0.5001, 0.5001, 58.6, "float64")


def reduce_exp(c: Calc, x: Expr) -> tuple[Expr, Expr]:
    """x = n ln2 + r: the bits of n + magic (see Calc.pow2) and r."""
    high, low = LN2_32 if c.single else LN2_64
    t = c.fma(x, LOG2_E, c.magic)
    n = c.sub(t, c.magic)
    return c.bits(t), c.fma(n, -low, c.fma(n, -high, x))


def expm1_poly(c: Calc, r: Expr) -> Expr:
    """exp(r) - 1 for |r| <= 0.3468."""
    return c.fma(c.mul(r, r), c.poly(EXPM1_32 if c.single else EXP_64, r), r)


def exp_parts(c: Calc, x: Expr) -> tuple[Expr, Expr]:
    """exp(x) = p * 2**n: p and the bits of n + magic. |x| must be below 2**20."""
    shifted, r = reduce_exp(c, x)
    tail = c.fma(c.mul(r, r), c.poly(EXP_32 if c.single else EXP_64, r), r)
    return c.add(tail, 1.0), shifted


def exp(c: Calc, x: Expr) -> Expr:
    """exp(x): infinity from log(max) on, denormals and 0 below log(tiny)."""
    low, high = (-104.0, 89.0) if c.single else (-746.0, 710.0)
    x = c.at_most(c.at_least(x, low), high)
    p, shifted = exp_parts(c, x)
    return c.scaled(p, shifted, c.test("lt", x, 0.0))


def exp2(c: Calc, x: Expr) -> Expr:
    """2**x, exact for whole x."""
    low, high = (-151.0, 129.0) if c.single else (-1076.0, 1025.0)
    x = c.at_most(c.at_least(x, low), high)
    t = c.add(x, c.magic)
    r = c.sub(x, c.sub(t, c.magic))
    if c.single:
        p = c.fma(r, c.poly(EXP2_32, r), 1.0)
    else:
        p = c.add(c.fma(r, LN2_64[0], c.mul(c.mul(r, r), c.poly(EXP2_64, r))), 1.0)
    return c.scaled(p, c.bits(t), c.test("lt", x, 0.0))


def exp2_double(c: Calc, x: Expr, tail: Expr) -> Expr:
    """2**(x + tail), float64, for a tiny tail: the leading terms carry their rounding errors along."""
    x = c.at_most(c.at_least(x, -1076.0), 1025.0)
    t = c.add(x, c.magic)
    r = c.sub(x, c.sub(t, c.magic))
    high, low = LN2_64
    first = c.mul(r, high)
    total, body = c.add(first, 1.0), c.mul(c.mul(r, r), c.poly(EXP2_64, r))
    error = c.fma(r, low, c.fms(r, high, first))
    error = c.fma(c.mul(tail, high), c.add(total, body), error)
    rest = c.add(c.sub(first, c.sub(total, 1.0)), c.add(body, error))
    return c.scaled(c.add(total, rest), c.bits(t), c.test("lt", x, 0.0))


def expm1(c: Calc, x: Expr) -> Expr:
    """2**n (exp(r) - 1) + (2**n - 1), halved on the way so that it overflows where it should."""
    low, high, tiny = (-18.0, 89.0, 2.0**-26) if c.single else (-38.0, 710.0, 2.0**-56)
    y = c.at_most(c.at_least(x, low), high)
    shifted, r = reduce_exp(c, y)
    half = c.pow2(shifted, -1)
    result = c.mul(c.fma(half, expm1_poly(c, r), c.sub(half, 0.5)), 2.0)
    return c.select(c.test("lt", c.abs(x), tiny), x, result)
