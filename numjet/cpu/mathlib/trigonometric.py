"""sin, cos and tan.

|x| = n pi + r with pi in three parts (W. J. Cody and W. Waite, 1980); with fma every step is exact or rounds only the
last bit. One odd polynomial serves the whole of [-pi/2, pi/2]. Arguments beyond LIMIT, where three parts are too few,
are rare and left to the C library, which takes as many digits of 1/pi as it needs (M. Payne and R. Hanek, 1983).
"""
from __future__ import annotations

from numjet.cpu.ir.nodes import Expr
from numjet.cpu.mathlib.helpers import Calc, Poly, widened

PI_32 = (3.141592502593994, 1.5099578831723193e-07, 1.078060505991553e-14)  # 24 bits each, truncated
PI_64 = (3.141592653589793, 1.224646799147353e-16, 2.1657133478438278e-32)  # 53 bits each, truncated
LIMIT_32, LIMIT_64 = 1e5, 2.0**28
INVERSE_PI = 0.3183098861837907

_SIN_OF, _SIN_WEIGHT = "(sin(sqrt(u)) - sqrt(u)) / (u * sqrt(u))", "u * sqrt(u) / sin(sqrt(u))"
SIN_32 = Poly((-0.1666666, 0.008333069, -0.00019809778, 2.6061018e-06), _SIN_OF, _SIN_WEIGHT, 0.0, 2.4685, 27.2,
              "float32")
SIN_64 = Poly((-0.16666666666666666, 0.008333333333333207, -0.00019841269841212476, 2.7557319211568593e-06,
               -2.505210690443663e-08, 1.605894101424124e-10, -7.643020089296892e-13, 2.721432085828971e-15),
              _SIN_OF, _SIN_WEIGHT, 0.0, 2.4685, 61.4, "float64")
_COS_OF, _COS_WEIGHT = "(cos(sqrt(u)) - 1 + u / 2) / u**2", "u**2 / cos(sqrt(u))"
COS_64 = Poly((0.041666666666666595, -0.0013888888888873344, 2.4801587289003302e-05, -2.755731421720121e-07,
               2.0875705384342054e-09, -1.1358746759540976e-11), _COS_OF, _COS_WEIGHT, 0.0, 0.617, 63.9, "float64")


def _limit(c: Calc) -> float:
    return LIMIT_32 if c.single else LIMIT_64


def _remainder(c: Calc, a: Expr, n: Expr, scale: float = 1.0) -> Expr:
    """a - n pi scale."""
    for part in PI_32 if c.single else PI_64:
        a = c.fma(n, -part * scale, a)
    return a


def sin_poly(c: Calc, r: Expr) -> Expr:
    """sin(r) for |r| <= pi/2."""
    z = c.mul(r, r)
    return c.fma(c.mul(r, z), c.poly(SIN_32 if c.single else SIN_64, z), r)


def _bounded_sin(c: Calc, r: Expr) -> Expr:
    """sin_poly(r) without rounding errors that lead out of [-1, 1]."""
    return c.at_least(c.at_most(sin_poly(c, r), 1.0), -1.0)


def cos_poly(c: Calc, r: Expr) -> Expr:
    """cos(r) for |r| <= pi/4, float64."""
    z = c.mul(r, r)
    return c.fma(z, c.fma(z, c.poly(COS_64, z), -0.5), 1.0)


def sin(c: Calc, x: Expr) -> Expr:
    """|x| = n pi + r, sin(x) = (-1)**n sin(r) with the sign of x."""
    a = c.abs(x)
    t = c.fma(a, INVERSE_PI, c.magic)
    r = _remainder(c, a, c.sub(t, c.magic))
    sign = c.iop("xor", c.iop("shl", c.bits(t), c.mantissa + c.exponent_bits), c.bits(x))
    return c.rare(c.test("gt", a, _limit(c)), "sin", (x,), c.flip_sign(_bounded_sin(c, r), sign))


def cos(c: Calc, x: Expr) -> Expr:
    """|x| = (n + 1/2) pi + r, cos(x) = -sin(r) for even n and sin(r) for odd n."""
    a = c.abs(x)
    t = c.add(c.fma(a, INVERSE_PI, -0.5), c.magic)
    n = c.add(c.sub(t, c.magic), 0.5)
    r = _remainder(c, a, n)
    sign = c.iop("shl", c.iop("add", c.bits(t), 1), c.mantissa + c.exponent_bits)
    return c.rare(c.test("gt", a, _limit(c)), "cos", (x,), c.flip_sign(_bounded_sin(c, r), sign))


def tan(c: Calc, x: Expr) -> Expr:
    """|x| = n pi/2 + r: sin(r) / cos(r) for even n, -cos(r) / sin(r) for odd n."""
    if c.single:
        return widened(c, tan, x)
    a = c.abs(x)
    t = c.fma(a, 2 * INVERSE_PI, c.magic)
    r = _remainder(c, a, c.sub(t, c.magic), 0.5)
    s, co = sin_poly(c, r), cos_poly(c, r)
    parity = c.iop("shl", c.bits(t), c.mantissa + c.exponent_bits)
    odd = c.e.prim("lt", parity, c.integer(0))
    quotient = c.div(c.select(odd, co, s), c.select(odd, s, co))
    result = c.flip_sign(quotient, c.iop("xor", parity, c.bits(x)))
    return c.rare(c.test("gt", a, _limit(c)), "tan", (x,), result)
