"""log, log2 and log1p.

x = m 2**e. float32: m in [sqrt(1/2), sqrt(2)), and a polynomial for log(1 + f), f = m - 1. float64: m in [0.698, 1.396), and
tables have a short number c near 1/m, so that r = m c - 1 is exact and small, and log(x) = (e ln2 - log(c)) + log(1 + r);
around 1, c is 1. No division is in the way: the latency is half of that of a series in f / (2 + f) (P. Tang, "Table-driven
implementation of the logarithm function in IEEE floating-point arithmetic", 1990). Parts of ln2 and log(c) are multiples of
2**-42, so that their sum is exact.
"""
from __future__ import annotations

from typing import NamedTuple

from numjet.cpu.ir.nodes import Expr
from numjet.cpu.mathlib.exponential import LN2_32 as NEAREST_LN2_32
from numjet.cpu.mathlib.helpers import Calc, Poly

LN2_32 = (0.6931471228599548, 5.769999050249453e-08)  # high and low part, both positive, so that infinite exponents pass
LOG2_E_32 = (1.4426950216293335, 1.925963033500011e-08)  # high and low part
LOG2_E_64 = (1.4426950408889634, 2.0355273740931033e-17)
LN2_64 = (0.6931471805598903, 5.497923018708371e-14)  # a multiple of 2**-42, and the rest; both positive
SQRT_HALF_32 = 0x3F3504F3  # bits of sqrt(1/2)
LEAST_64 = 0x3FE6555500000000  # bits of the least significand; with it, 1 is well inside of one interval of the tables

LOG_32 = Poly((0.3333333, -0.25000823, 0.20001233, -0.16623352, 0.14201638, -0.13160148, 0.12762353, -0.07635454),
              "(log1p(u) - u + u**2 / 2) / u**3", "u**3 / log1p(u)", -0.29291, 0.41423, 26.9, "float32")
LOG_64 = Poly((0.33333333333325954, -0.2499999999998792, 0.20000000038932605, -0.16666666716519335, 0.1428565057233448,
               -0.12499929975877473, 0.11152147126747447, -0.10040614350131193),
              "(log1p(u) - u + u**2 / 2) / u**3", "u**3 / log1p(u)", -0.043, 0.043, 57.6, "float64")


class Split(NamedTuple):
    """x = m 2**e: e as a float, m, and, for float64, how far its bits are above those of the least m."""

    e: Expr
    m: Expr
    above: Expr | None


def _root(c: Calc) -> int:
    return SQRT_HALF_32 if c.single else LEAST_64


def split_float(c: Calc, x: Expr, denormals: bool = True) -> Split:
    """x = m 2**e for x > 0: m in [sqrt(1/2), sqrt(2)), in float64 in [0.698, 1.396).

    With `exponents`, e is infinite for zeros and infinity, and m NaN for negative x. Without, both are undefined for these,
    and unless `denormals` is set for denormals.
    """
    if c.exponents:
        e, m = c.op("exponent", x), c.op("significand", x)
        upper = c.test("ge", m, c.from_bits(c.integer(_root(c) + (1 << c.mantissa))))
        m = c.select(upper, c.mul(m, 0.5), m)
        return Split(c.select(upper, c.add(e, 1.0), e), m, None if c.single else c.iop("sub", c.bits(m), LEAST_64))
    return _split_bits(c, x, denormals)


def _split_bits(c: Calc, x: Expr, denormals: bool) -> Split:
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
    above = c.iop("and", i, (1 << c.mantissa) - 1)
    return Split(c.sub(c.from_bits(biased), offset), c.from_bits(c.iop("add", above, root)), above)


def _log1p_tail(c: Calc, f: Expr) -> Expr:
    """log(1 + f) - f for sqrt(1/2) <= 1 + f <= sqrt(2), float32."""
    return c.mul(c.fma(f, c.poly(LOG_32, f), -0.5), c.mul(f, f))


class Reduced(NamedTuple):
    """log(x) = high + (low + log(1 + r)); high is exact, and 0 or at least as large as r."""

    high: Expr
    low: Expr
    r: Expr


def _index(c: Calc, parts: Split, width: int) -> Expr:
    assert parts.above is not None
    return c.iop("shrl", parts.above, c.mantissa - width)


def reduced(c: Calc, parts: Split, table: str, width: int, unit: tuple[float, float]) -> Reduced:
    """The logarithm to a base of which `unit` is log(2), in two parts, by tables of 2**width numbers."""
    index = _index(c, parts, width)
    r = c.fma(parts.m, c.lookup(f"log_{1 << width}_inverse", index), -1.0)
    high = c.fma(parts.e, unit[0], c.lookup(table, index))
    rest = c.lookup(f"{table}_rest", index)
    return Reduced(high, c.fma(parts.e, unit[1], rest) if unit[1] else rest, r)


def joined(c: Calc, x: Expr, y: Expr) -> tuple[Expr, Expr]:
    """x + y and its rounding error, for x = 0 or |x| >= |y| (T. J. Dekker, "A floating-point technique for extending the
    available precision", 1971)."""
    total = c.add(x, y)
    return total, c.add(c.sub(x, total), y)


def _log64(c: Calc, parts: Split, error: Expr | None = None) -> tuple[Expr, Expr]:
    """log(m + error) + e ln2 in two parts, for an error of m of its last place."""
    high, low, r = reduced(c, parts, "log_16", 4, LN2_64)
    if error is not None:
        change = c.mul(error, c.lookup("log_16_inverse", _index(c, parts, 4)))
        low = c.add(low, c.fnma(change, r, change))
    square = c.mul(r, r)
    total, rest = joined(c, high, r)
    return total, c.fma(c.mul(square, r), c.estrin(LOG_64.terms, r), c.fma(square, -0.5, c.add(low, rest)))


def log_positive(c: Calc, x: Expr, normal: bool = False) -> Expr:
    """log(x) for finite x > 0. normal: x is not denormal; splitting its bits is then faster than `exponents`."""
    parts = _split_bits(c, x, denormals=False) if normal else split_float(c, x)
    return _assemble(c, parts.e, c.sub(parts.m, 1.0), LN2_32) if c.single else c.add(*_log64(c, parts))


def log_in_parts(c: Calc, x: Expr) -> tuple[Expr, Expr]:
    """log(x) for finite x > 0 in two parts, float64, with few bits of the second."""
    return _log64(c, split_float(c, x))


def _assemble(c: Calc, e: Expr, f: Expr, ln2: tuple[float, float]) -> Expr:
    """e ln2 + log(1 + f), with ln2 in two parts, float32."""
    high, low = ln2
    return c.fma(e, high, c.add(f, c.fma(e, low, _log1p_tail(c, f))))


def _edges(c: Calc, x: Expr, pole: float, result: Expr) -> Expr:
    """result; -inf at the pole, NaN below it, x for infinity."""
    outside = c.select(c.test("eq", x, pole), -c.inf, c.nan)
    return c.select(c.test("gt", x, pole), c.select(c.test("lt", x, c.inf), result, x), outside)


def log(c: Calc, x: Expr) -> Expr:
    """log(x): -inf at both zeros, NaN for negative x; denormals are scaled first."""
    found = log_positive(c, x)
    return found if c.exponents and c.single else _edges(c, x, 0.0, found)


def log2(c: Calc, x: Expr) -> Expr:
    """log2(x), exact for powers of two; log(m) * log2(e) with log2(e) in two parts."""
    parts = split_float(c, x)
    found = _log2_32(c, parts) if c.single else _log2_64(c, parts)
    return found if c.exponents and c.single else _edges(c, x, 0.0, found)


def _log2_32(c: Calc, parts: Split) -> Expr:
    f = c.sub(parts.m, 1.0)
    high, low = LOG2_E_32
    rest = c.fma(f, low, c.mul(_log1p_tail(c, f), high))
    return c.add(parts.e, c.fma(f, high, rest))


def _log2_64(c: Calc, parts: Split) -> Expr:
    high, low, r = reduced(c, parts, "log2_16", 4, (1.0, 0.0))
    square, linear = c.mul(r, r), c.mul(r, LOG2_E_64[0])
    total, rest = joined(c, high, linear)
    low = c.add(c.fma(r, LOG2_E_64[1], c.fms(r, LOG2_E_64[0], linear)), c.add(low, rest))
    tail = c.fma(c.mul(square, r), c.estrin(LOG_64.terms, r), c.mul(square, -0.5))
    return c.add(total, c.fma(tail, LOG2_E_64[0], low))


def log1p_moderate(c: Calc, x: Expr) -> Expr:
    """log(1 + x) for finite x > -1: the rounding error of 1 + x, scaled, is added to f."""
    big = c.test("gt", x, 1.0)
    larger, smaller = c.select(big, x, 1.0), c.select(big, 1.0, x)
    u = c.add(larger, smaller)
    error = c.sub(smaller, c.sub(u, larger))
    parts = _split_bits(c, u, denormals=False)
    # 2**-e from the bits of u and m; where it would be below the range, the error no longer matters
    exponent = c.iop("sub", c.bits(parts.m), c.bits(u))
    scale = c.from_bits(c.iop("max", c.iop("add", exponent, c.bias << c.mantissa), 0))
    if not c.single:
        return c.add(*_log64(c, parts, c.mul(error, scale)))
    return _assemble(c, parts.e, c.fma(error, scale, c.sub(parts.m, 1.0)), NEAREST_LN2_32)


def log1p(c: Calc, x: Expr) -> Expr:
    """log(1 + x): -inf at -1, NaN below; keeps the sign of zero."""
    return c.copysign(_edges(c, x, -1.0, log1p_moderate(c, x)), x)
