"""asin, acos, atan and atan2.

asin: a polynomial up to 1/2, beyond it asin(x) = pi/2 - 2 asin(sqrt((1 - x) / 2)). atan: one polynomial on [0, 1], the
quotient of the smaller by the larger operand, then the octant. (W. J. Cody and W. Waite, 1980.)
"""
from __future__ import annotations

from numjet.cpu.ir.nodes import Expr
from numjet.cpu.mathlib.helpers import Calc, Poly

HALF_PI_32 = (1.5707963705062866, -4.371138828673793e-08)  # high and low part
HALF_PI_64 = (1.5707963267948966, 6.123233995736766e-17)

_ASIN_OF, _ASIN_WEIGHT = "(asin(sqrt(u)) - sqrt(u)) / (u * sqrt(u))", "u * sqrt(u) / asin(sqrt(u))"
ASIN_32 = Poly((0.16666752, 0.07495313, 0.04546858, 0.024187587, 0.042153876),
               _ASIN_OF, _ASIN_WEIGHT, 0.0, 0.25, 27.6, "float32")
ASIN_64 = Poly((0.1666666666666676, 0.07499999999970867, 0.04464285717456612, 0.030381942709319217, 0.02237221495817291,
                0.01735161235178848, 0.013980818348820654, 0.011398917366086659, 0.010780287317256622,
                0.0037060616495795083, 0.02170877908520905, -0.0210015953598078, 0.032630592407486204),
               _ASIN_OF, _ASIN_WEIGHT, 0.0, 0.25, 59.8, "float64")
_ATAN_OF, _ATAN_WEIGHT = "(atan(sqrt(u)) - sqrt(u)) / (u * sqrt(u))", "u * sqrt(u) / atan(sqrt(u))"
ATAN_32 = Poly((-0.333333, 0.19998528, -0.14263988, 0.10950678, -0.0839857, 0.05786644, -0.031079793, 0.010858225,
                -0.0017802049), _ATAN_OF, _ATAN_WEIGHT, 0.0, 1.0, 28.4, "float32")
ATAN_64 = Poly((-0.3333333333333307, 0.19999999999951762, -0.14285714282589193, 0.11111111007379658,
                -0.09090907008488038, 0.07692279896771707, -0.06666404483849939, 0.058805301393533016,
                -0.052535281139485884, 0.047223523872174676, -0.042192528151097204, 0.03664332177852005,
                -0.029905962912828436, 0.021987292983500457, -0.01390273387263457, 0.007197962380606742,
                -0.0028856319086691226, 0.0008315615348040035, -0.0001522103174124833, 1.3229798008198033e-05),
               _ATAN_OF, _ATAN_WEIGHT, 0.0, 1.0, 57.5, "float64")


def _half_pi(c: Calc) -> tuple[float, float]:
    return HALF_PI_32 if c.single else HALF_PI_64


def _asin_core(c: Calc, a: Expr) -> tuple[Expr, Expr, Expr]:
    """Whether a > 1/2; s = a, or there sqrt((1 - a) / 2); asin(s) - s. NaN for a > 1."""
    big = c.test("gt", a, 0.5)
    z = c.select(big, c.fma(a, -0.5, 0.5), c.mul(a, a))
    s = c.select(big, c.sqrt(z), a)
    return big, s, c.mul(c.mul(s, z), c.poly(ASIN_32 if c.single else ASIN_64, z))


def asin(c: Calc, x: Expr) -> Expr:
    """asin(x); NaN beyond +-1."""
    big, s, tail = _asin_core(c, c.abs(x))
    high, low = _half_pi(c)
    # pi/2 - 2 (s + tail), the small terms first
    far = c.fma(s, -2.0, c.fma(tail, -2.0, low))
    return c.copysign(c.select(big, c.add(far, high), c.add(s, tail)), x)


def acos(c: Calc, x: Expr) -> Expr:
    """pi/2 - asin(x) up to 1/2; beyond 2 asin(sqrt((1 - |x|) / 2)) for positive and pi less that for negative x."""
    big, s, tail = _asin_core(c, c.abs(x))
    high, low = _half_pi(c)
    negative = c.test("lt", x, 0.0)
    # offset + factor * (s + tail)
    factor = c.select(big, c.select(negative, -2.0, 2.0), c.select(negative, 1.0, -1.0))
    turns = c.select(big, c.select(negative, 2.0, 0.0), 1.0)
    small = c.fma(tail, factor, c.mul(turns, low))
    return c.fma(turns, high, c.fma(s, factor, small))


def _atan_fraction(c: Calc, low: Expr, high: Expr) -> Expr:
    """atan(low / high) for 0 <= low <= high; exactly 0 for 0 / 0, and pi/4 for equal operands, infinite ones too."""
    q = c.div(low, high)
    z = c.mul(q, q)
    base = c.fma(c.mul(q, z), c.poly(ATAN_32 if c.single else ATAN_64, z), q)
    return c.select(c.test("eq", low, high), c.select(c.test("eq", high, 0.0), 0.0, _half_pi(c)[0] / 2), base)


def atan(c: Calc, x: Expr) -> Expr:
    """atan(x) = pi/2 - atan(1/x) beyond 1."""
    a = c.abs(x)
    big = c.test("gt", a, 1.0)
    q = c.select(big, c.div(1.0, a), a)
    z = c.mul(q, q)
    base = c.fma(c.mul(q, z), c.poly(ATAN_32 if c.single else ATAN_64, z), q)
    high, low = _half_pi(c)
    return c.copysign(c.select(big, c.sub(high, c.sub(base, low)), base), x)


def atan2(c: Calc, y: Expr, x: Expr) -> Expr:
    """The angle of (x, y) in [-pi, pi]; signed zeros and infinities as in C99."""
    a, b = c.abs(y), c.abs(x)
    steep = c.test("gt", a, b)
    base = _atan_fraction(c, c.select(steep, b, a), c.select(steep, a, b))
    negative = c.e.prim("lt", c.bits(x), c.integer(0))
    high, low = _half_pi(c)
    # turns * pi/2 +- base
    turns = c.select(steep, 1.0, c.select(negative, 2.0, 0.0))
    mirrored = c.e.prim("xor", steep, negative)
    signed = c.select(mirrored, c.neg(base), base)
    return c.copysign(c.fma(turns, high, c.fma(turns, low, signed)), y)
