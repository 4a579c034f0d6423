"""log, log2 and log1p.

x = m 2**e with m in [sqrt(1/2), sqrt(2)), f = m - 1. float32: a polynomial for log(1 + f). float64: the series of
2 atanh(s) in s = f / (2 + f), arranged as f - (f*f/2 - s (f*f/2 + R)), which keeps the error of the quotient small
(K. C. Ng, described in W. Kahan's lecture notes and P. Tang, "Table-driven implementation of the logarithm", 1990).
"""
from __future__ import annotations

from numjet.cpu.ir.nodes import Expr
from numjet.cpu.mathlib.exponential import LN2_32 as NEAREST_LN2_32, LN2_64
from numjet.cpu.mathlib.helpers import Calc, Poly

LN2_32 = (0.6931471228599548, 5.769999050249453e-08)  # high and low part, both positive, so that infinite exponents pass
LOG2_E_32 = (1.4426950216293335, 1.925963033500011e-08)  # high and low part
LOG2_E_64 = (1.4426950408889634, 2.0355273740931033e-17)
SQRT_HALF_32, SQRT_HALF_64 = 0x3F3504F3, 0x3FE6A09E667F3BCD  # bits of sqrt(1/2)

LOG_32 = Poly((0.3333333, -0.25000823, 0.20001233, -0.16623352, 0.14201638, -0.13160148, 0.12762353, -0.07635454),
              "(log1p(u) - u + u**2 / 2) / u**3", "u**3 / log1p(u)", -0.29291, 0.41423, 26.9, "float32")
LOG_64 = Poly((0.6666666666666734, 0.3999999999941731, 0.285714287418336, 0.22222198625973016, 0.18183561793122005,
               0.15314110276007453, 0.14795399605243933),
              "(2 * atanh(sqrt(u)) / sqrt(u) - 2) / u", "u * sqrt(u) / (2 * atanh(sqrt(u)))",
              0.0, 0.029438, 59.4, "float64")


def _root(c: Calc) -> int:
    return SQRT_HALF_32 if c.single else SQRT_HALF_64


def split_float(c: Calc, x: Expr, denormals: bool = True) -> tuple[Expr, Expr]:
    """x = m 2**e for x > 0: e as a float and m in [sqrt(1/2), sqrt(2)).

    With `exponents`, e is infinite for zeros and infinity, and m NaN for negative x. Without, both are undefined for these,
    and unless `denormals` is set for denormals.
    """
    if c.exponents:
        e, m = c.op("exponent", x), c.op("significand", x)
        upper = c.test("ge", m, c.from_bits(c.integer(_root(c) + (1 << c.mantissa))))
        return c.select(upper, c.add(e, 1.0), e), c.select(upper, c.mul(m, 0.5), m)
    return _split_bits(c, x, denormals)


def _split_bits(c: Calc, x: Expr, denormals: bool) -> tuple[Expr, Expr]:
    """The same by integer arithmetic for x > 0."""
    offset = c.operand(2.0**c.mantissa + c.bias)
    if denormals:
        small, up = c.test("lt", x, c.tiny), c.mantissa + 2
        x = c.select(small, c.mul(x, 2.0**up), x)
        offset = c.select(small, 2.0**c.mantissa + c.bias + up, offset)
    root = _root(c)
    i = c.iop("add", c.bits(x), (c.bias << c.mantissa) - root)
    # e + bias becomes the low bits of a float near 2**mantissa: integer to float without a conversion
    biased = c.iop("or", c.iop("shrl", i, c.mantissa), (c.bias + c.mantissa) << c.mantissa)
    m = c.from_bits(c.iop("add", c.iop("and", i, (1 << c.mantissa) - 1), root))
    return c.sub(c.from_bits(biased), offset), m


def log1p_tail(c: Calc, f: Expr) -> Expr:
    """log(1 + f) - f for sqrt(1/2) <= 1 + f <= sqrt(2)."""
    if c.single:
        return c.mul(c.fma(f, c.poly(LOG_32, f), -0.5), c.mul(f, f))
    s = c.div(f, c.add(f, 2.0))
    z = c.mul(s, s)
    half_square = c.mul(c.mul(f, f), 0.5)
    return c.fms(s, c.fma(z, c.poly(LOG_64, z), half_square), half_square)


def log_positive(c: Calc, x: Expr, normal: bool = False) -> Expr:
    """log(x) for finite x > 0. normal: x is not denormal; splitting its bits is then faster than `exponents`."""
    e, m = _split_bits(c, x, denormals=False) if normal else split_float(c, x)
    return _assemble(c, e, c.sub(m, 1.0), LN2_32 if c.single else LN2_64)


def _assemble(c: Calc, e: Expr, f: Expr, ln2: tuple[float, float]) -> Expr:
    """e ln2 + log(1 + f), with ln2 in two parts."""
    high, low = ln2
    return c.fma(e, high, c.add(f, c.fma(e, low, log1p_tail(c, f))))


def _edges(c: Calc, x: Expr, pole: float, result: Expr) -> Expr:
    """result; -inf at the pole, NaN below it, x for infinity."""
    outside = c.select(c.test("eq", x, pole), -c.inf, c.nan)
    return c.select(c.test("gt", x, pole), c.select(c.test("lt", x, c.inf), result, x), outside)


def log(c: Calc, x: Expr) -> Expr:
    """log(x): -inf at both zeros, NaN for negative x; denormals are scaled first."""
    found = log_positive(c, x)
    return found if c.exponents else _edges(c, x, 0.0, found)


def log2(c: Calc, x: Expr) -> Expr:
    """log2(x), exact for powers of two; f * log2(e) with log2(e) in two parts."""
    e, m = split_float(c, x)
    f = c.sub(m, 1.0)
    high, low = LOG2_E_32 if c.single else LOG2_E_64
    rest = c.fma(f, low, c.mul(log1p_tail(c, f), high))
    found = c.add(e, c.fma(f, high, rest))
    return found if c.exponents else _edges(c, x, 0.0, found)


def log1p_moderate(c: Calc, x: Expr) -> Expr:
    """log(1 + x) for finite x > -1: the rounding error of 1 + x, scaled, is added to f."""
    big = c.test("gt", x, 1.0)
    larger, smaller = c.select(big, x, 1.0), c.select(big, 1.0, x)
    u = c.add(larger, smaller)
    error = c.sub(smaller, c.sub(u, larger))
    e, m = _split_bits(c, u, denormals=False)
    # 2**-e from the bits of u and m; where it would be below the range, the error no longer matters
    exponent = c.iop("sub", c.bits(m), c.bits(u))
    scale = c.from_bits(c.iop("max", c.iop("add", exponent, c.bias << c.mantissa), 0))
    return _assemble(c, e, c.fma(error, scale, c.sub(m, 1.0)), NEAREST_LN2_32 if c.single else LN2_64)


def log1p(c: Calc, x: Expr) -> Expr:
    """log(1 + x): -inf at -1, NaN below; keeps the sign of zero."""
    return c.copysign(_edges(c, x, -1.0, log1p_moderate(c, x)), x)
