"""exp, exp2 and expm1.

x = n ln2 + r (W. J. Cody and W. Waite, "Software Manual for the Elementary Functions", 1980), a minimax polynomial in r,
and 2**n made from exponent bits. float32: n is an integer and |r| <= ln2 / 2. float64: n is a multiple of 1/16, whose fraction
chooses a factor 2**(k/16) from a table (P. Tang, "Table-driven implementation of the exponential function", 1989).
"""
from __future__ import annotations

from numjet.cpu.ir.nodes import Expr
from numjet.cpu.mathlib.helpers import Calc, Operand, Poly, Power

LOG2_E = 1.4426950408889634
LN2_32 = (0.6931471824645996, -1.9046542121259336e-09)  # high and low part
LN2_64 = (0.6931471805599453, 2.3190468138462996e-17)
LN2_EXACT = (0.6931471805582987, 1.6465949582897082e-12)  # products of the first with numbers of up to 15 bits are exact

_EXP_OF, _EXP_WEIGHT, _EXPM1_WEIGHT = "(expm1(u) - u) / u**2", "u**2 / exp(u)", "u**2 / expm1(u)"
EXP_32 = Poly((0.49999994, 0.1666652, 0.041668404, 0.008368768, 0.0013814062),
              _EXP_OF, _EXP_WEIGHT, -0.3468, 0.3468, 27.7, "float32")
EXPM1_32 = Poly((0.5, 0.16666666, 0.04166636, 0.008333389, 0.0013940699, 0.00019846315),
                _EXP_OF, _EXPM1_WEIGHT, -0.3468, 0.3468, 28.7, "float32")
EXP_64 = Poly((0.5000000000000003, 0.1666666666666665, 0.04166666666189016, 0.00833333333411916, 0.0013889092528651373,
               0.0001984129789196649), _EXP_OF, _EXPM1_WEIGHT, -0.0216615, 0.0216615, 58.8, "float64")

EXP2_32 = Poly((0.6931472, 0.24022648, 0.055503324, 0.0096184425, 0.0013398869, 0.00015352218),
               "(2**u - 1) / u", "u / 2**u", -0.5001, 0.5001, 25.8, "float32")
EXP2_64 = Poly((0.24022650695910094, 0.055504108664821424, 0.009618129106229174, 0.00133335581502539,
                0.00015403778060756637, 1.5252594929643444e-05),
               "(2**u - 1 - u * ln2) / u**2", "u**2 / 2**u", -0.03126, 0.03126, 65.6, "float64")


def _rounder(c: Calc) -> float:
    """The number whose addition rounds to an integer, or in float64 to a sixteenth."""
    return c.magic if c.single else c.magic / 16


def _power(c: Calc, t: Expr) -> tuple[Power, Expr]:
    """floor(n) from t = n + rounder, and an index for its sixteenths."""
    bits, n = c.bits(t), c.sub(t, _rounder(c))
    return Power(n, bits if c.single else c.iop("shrl", bits, 4)), bits


def _ln2(c: Calc) -> tuple[float, float]:
    return LN2_32 if c.single else LN2_64


def _reduced(c: Calc, x: Expr) -> tuple[Power, Expr, Expr]:
    """n, r and a table index in x = n ln2 + r; r still contains n times the low part of ln2. The index is that of
    2**(n - floor(n)) (float64)."""
    power, index = _power(c, c.fma(x, LOG2_E, _rounder(c)))
    return power, c.fma(power.number, -_ln2(c)[0], x), index


def _expm1_near(c: Calc, r: Expr, table: Poly) -> Expr:
    """exp(r) - 1 for |r| <= 0.3468, in float64 0.0217."""
    terms = c.poly(table, r) if c.single else c.by_pairs(table.terms, r)
    return c.fma(c.mul(r, r), terms, r)


def exp_in_parts(c: Calc, x: Expr, rest: Expr) -> tuple[Expr, Expr, Power]:
    """exp(x + rest) = (p + q) * 2**n in float32, with q below the last place of p, for a rest of a few units in x's last
    place. |x| must be below 2**20."""
    power, high, _ = _reduced(c, x)     # exact
    low = c.fma(power.number, -_ln2(c)[1], rest)
    r = c.add(high, low)
    r_rest = c.sub(low, c.sub(r, high))
    p = c.add(r, 1.0)
    curve = c.mul(c.mul(r, r), c.poly(EXP_32, r))
    return p, c.add(c.add(c.sub(r, c.sub(p, 1.0)), r_rest), curve), power


def exp_parts(c: Calc, x: Expr, short: bool = False) -> tuple[Expr, Power]:
    """exp(x) = p * 2**n with p between 0.7 and 2. |x| must be below 2**20. short: float64 has half a unit more error."""
    power, r, index = _reduced(c, x)
    r = c.fma(power.number, -_ln2(c)[1], r)
    tail = _expm1_near(c, r, EXP_32 if c.single else EXP_64)
    if c.single:
        return c.add(tail, 1.0), power
    entry = c.lookup("exp2_16", index)
    tail = tail if short else c.add(tail, c.lookup("exp2_16_miss", index))
    return c.fma(entry, tail, entry), power


def expm1_parts(c: Calc, x: Expr) -> tuple[Operand, Expr, Power]:
    """exp(x) = (p + p q) * 2**n: p, q and n, where p q is small, and alone for small x. |x| must be below 2**20."""
    power, r, index = _reduced(c, x)
    low = -_ln2(c)[1]
    if c.single:
        return 1.0, _expm1_near(c, c.fma(power.number, low, r), EXPM1_32), power
    rest = c.fma(power.number, low, c.lookup("exp2_16_miss", index))
    tail = c.fma(c.mul(r, r), c.by_pairs(EXP_64.terms, r), c.fma(rest, r, rest))
    return c.lookup("exp2_16", index), c.add(r, tail), power


def exp(c: Calc, x: Expr) -> Expr:
    """exp(x): infinity from log(max) on, denormals and 0 below log(tiny)."""
    last, high = (-104.0, 89.0) if c.single else (-746.0, 710.0)

    def near(x: Expr) -> Expr:
        p, power = exp_parts(c, x, short=True)
        return c.scaled(p, power, c.test("lt", x, 0.0))
    return c.fading(c.at_most(x, high), last, near)


def _exp2m1_near(c: Calc, r: Expr) -> Expr:
    """2**r - 1 for |r| <= 1/32, float64."""
    return c.fma(r, LN2_64[0], c.mul(c.mul(r, r), c.by_pairs(EXP2_64.terms, r)))


def exp2(c: Calc, x: Expr) -> Expr:
    """2**x, exact for integers x."""
    last, high = (-151.0, 129.0) if c.single else (-1076.0, 1025.0)

    def near(x: Expr) -> Expr:
        power, index = _power(c, c.add(x, _rounder(c)))
        r = c.sub(x, power.number)
        if c.single:
            p = c.fma(r, c.poly(EXP2_32, r), 1.0)
        else:
            entry = c.lookup("exp2_16", index)
            p = c.fma(entry, _exp2m1_near(c, r), entry)
        return c.scaled(p, power, c.test("lt", x, 0.0))
    return c.fading(c.at_most(x, high), last, near)


def exp_double(c: Calc, x: Expr, tail: Expr) -> Expr:
    """exp(x + tail), float64, for a tiny tail, nearly rounded to nearest."""
    def near(x: Expr) -> Expr:
        power, index = _power(c, c.fma(x, LOG2_E, _rounder(c)))
        r = c.fma(power.number, -LN2_EXACT[0], x)
        growth = _expm1_near(c, r, EXP_64)
        rest = c.add(c.fma(power.number, -LN2_EXACT[1], tail), c.lookup("exp2_16_miss", index))
        entry = c.lookup("exp2_16", index)
        p = c.fma(entry, c.fma(rest, growth, c.add(rest, growth)), entry)
        return c.scaled(p, power, c.test("lt", x, 0.0))
    return c.fading(c.at_most(x, 710.0), -746.0, near)


def expm1(c: Calc, x: Expr) -> Expr:
    """h q + (h - 1) with h = p 2**n, halved on the way so that it overflows where it should."""
    low, high, tiny = (-18.0, 89.0, 2.0**-26) if c.single else (-38.0, 710.0, 2.0**-56)
    y = c.at_most(c.at_least(x, low), high)
    p, q, power = expm1_parts(c, y)
    half = c.times_pow2(p, power, -1)
    result = c.mul(c.fma(half, q, c.sub(half, 0.5)), 2.0)
    return c.select(c.test("lt", c.abs(x), tiny), x, result)
