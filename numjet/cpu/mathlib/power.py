"""pow, hypot, cbrt and rsqrt."""
from __future__ import annotations

from numjet.cpu.ir.nodes import Expr
from numjet.cpu.mathlib.exponential import exp_double
from numjet.cpu.mathlib.helpers import FLOAT64, Calc, Poly
from numjet.cpu.mathlib.logarithm import LN2_64, joined, reduced, split_float

LOG2_SHORT = Poly((1.442695040888952, -0.7213475205697252, 0.4808983471921406, -0.3606732189775334, 0.288538354087349,
                   -0.24103397921240455, 0.2066820280738713),
                  "log1p(u) / u / ln2", "u * ln2 / log1p(u)", -0.043, 0.043, 40.7, "float64")
EXP2_SHORT = Poly((0.6931471801637172, 0.24022650715939295, 0.05550573539391413, 0.009618018039416696),
                  "(2**u - 1) / u", "u / 2**u", -0.03126, 0.03126, 38.5, "float64")
LOG_LONG = Poly((0.3333333333333333, -0.2500000000000469, 0.20000000000008628, -0.16666666468281685, 0.14285714041474512,
                 -0.12502526401633166, 0.11113685296770791),
                "(log1p(u) - u + u**2 / 2) / u**3", "u**3 / log1p(u)", -0.0111, 0.0111, 67.9, "float64")

CBRT_32 = Poly((0.4216939, 1.0559916, -0.83601767, 0.51090956, -0.17952722, 0.026948832),
               "cbrt(u)", "1 / cbrt(u)", 0.7071, 1.4143, 19.4, "float32")
CBRT_64 = Poly((0.37945746070593095, 1.3302078173411613, -1.5850050705481733, 1.625340639356187, -1.1537489370939307,
                0.5264124472066095, -0.1386981227501138, 0.01603377971545192),
               "cbrt(u)", "1 / cbrt(u)", 0.7071, 1.4143, 25.2, "float64")


def rsqrt(c: Calc, x: Expr) -> Expr:
    """1 / sqrt(x): +-inf at +-0, NaN for negative x."""
    return c.div(1.0, c.sqrt(x))


def hypot(c: Calc, x: Expr, y: Expr) -> Expr:
    """sqrt(x*x + y*y) without overflow on the way. Infinity wins over NaN, as in C99."""
    a, b = c.abs(x), c.abs(y)
    if c.single:
        wide = c.wide
        p, q = c.e.convert(a, FLOAT64), c.e.convert(b, FLOAT64)
        root = c.e.convert(wide.sqrt(wide.fma(p, p, wide.mul(q, q))), c.dtype)
    else:
        root = _hypot64(c, c.larger(a, b), c.smaller(b, a))
    return c.select(c.either(c.test("eq", a, c.inf), c.test("eq", b, c.inf)), c.inf, root)


def _hypot64(c: Calc, high: Expr, low: Expr) -> Expr:
    """The sum of squares in double-double, so that only the root rounds noticeably."""
    big, small = c.test("gt", high, 2.0**500), c.test("lt", high, 2.0**-400)
    scale = c.select(big, 2.0**-600, c.select(small, 2.0**600, 1.0))
    back = c.select(big, 2.0**600, c.select(small, 2.0**-600, 1.0))
    p, q = c.mul(high, scale), c.mul(low, scale)
    square = c.mul(p, p)
    total = c.fma(q, q, square)
    error = c.add(c.fms(p, p, square), c.fma(q, q, c.sub(square, total)))
    root = c.sqrt(total)
    residue = c.add(c.fnma(root, root, total), error)
    correction = c.div(residue, c.mul(root, 2.0))
    fixed = c.select(c.test("gt", total, 0.0), c.add(root, correction), root)
    return c.mul(fixed, back)


def pow(c: Calc, x: Expr, y: Expr) -> Expr:
    """|x|**y with the sign and the special cases of C99."""
    magnitude = _pow32(c, x, y) if c.single else _pow64(c, x, y)
    integer = c.test("eq", c.trunc(y), y)
    half = c.mul(y, 0.5)
    odd = c.both(integer, c.test("ne", c.trunc(half), half))
    signed = c.select(odd, c.copysign(magnitude, x), magnitude)
    undefined = c.both(c.both(c.test("lt", x, 0.0), c.test("gt", x, -c.inf)), c.negate(integer))
    return c.select(undefined, c.nan, signed)


def _edges(c: Calc, a: Expr, y: Expr) -> tuple[Expr, Expr]:
    """Where log(a) of a >= 0 is no number, or |x|**y is 1 whatever the other operand is; and y times the logarithm there."""
    zero, one = c.test("eq", a, 0.0), c.either(c.test("eq", a, 1.0), c.test("eq", y, 0.0))
    outside = c.either(c.either(zero, c.negate(c.test("lt", a, c.inf))), one)
    return outside, c.select(one, 0.0, c.mul(y, c.select(zero, -c.inf, a)))


def _pow32(c: Calc, x: Expr, y: Expr) -> Expr:
    """2**(y log2|x|) in float64, where 37 bits of the logarithm suffice and no result is out of range."""
    w = c.wide
    a, wide_y = w.abs(c.e.convert(x, FLOAT64)), c.e.convert(y, FLOAT64)
    high, _, r = reduced(w, split_float(w, a, denormals=False), "log2_16", 4, (1.0, 0.0))
    t = w.mul(wide_y, w.fma(r, w.estrin(LOG2_SHORT.terms, r), high))
    t = w.at_most(w.at_least(w.select(*_edges(w, a, wide_y), t), -160.0), 160.0)
    shifted = w.add(t, w.magic / 16)
    index = w.bits(shifted)
    r = w.sub(t, w.sub(shifted, w.magic / 16))
    entry = w.lookup("exp2_16", index)
    p = w.fma(w.mul(entry, r), w.by_pairs(EXP2_SHORT.terms, r), entry)
    return c.e.convert(w.mul(p, w.pow2(w.iop("shrl", index, 4))), c.dtype)


def _pow64(c: Calc, x: Expr, y: Expr) -> Expr:
    """exp(y log|x|) with the logarithm in two parts."""
    a = c.abs(x)
    high, low = _log_double(c, a)
    product = c.mul(y, high)
    tail = c.fma(y, low, c.fms(y, high, product))
    outside, there = _edges(c, a, y)
    product = c.select(outside, there, product)
    inside = c.both(c.negate(outside), c.test("lt", c.abs(product), 760.0))
    return exp_double(c, product, c.select(inside, tail, 0.0))


def _log_double(c: Calc, a: Expr) -> tuple[Expr, Expr]:
    """log(a) to about 2**-67 as the sum of two floats: what tables say, r and -r*r / 2 are added without error but for the
    last place of the second float."""
    high, low, r = reduced(c, split_float(c, a), "log_64", 6, LN2_64)
    half = c.mul(r, -0.5)
    square = c.mul(half, r)
    first, first_low = joined(c, high, r)
    second, second_low = joined(c, first, square)
    curve = c.mul(c.mul(c.mul(r, r), r), c.estrin(LOG_LONG.terms, r))
    rest = c.add(c.add(c.add(first_low, low), c.add(second_low, c.fms(half, r, square))), curve)
    return joined(c, second, rest)


def cbrt(c: Calc, x: Expr) -> Expr:
    """x = m 2**(3 q + k), |k| <= 1: a polynomial for m**(1/3), two Newton steps, the last with exact residual."""
    a = c.abs(x)
    e, m, _ = split_float(c, a)
    shifted = c.fma(e, 1.0 / 3.0, c.magic)
    k = c.fma(c.sub(shifted, c.magic), -3.0, e)
    up, down = c.test("gt", k, 0.5), c.test("lt", k, -0.5)
    m = c.mul(m, c.select(up, 2.0, c.select(down, 0.5, 1.0)))
    root = c.select(up, 2.0 ** (1 / 3), c.select(down, 0.5 ** (1 / 3), 1.0))
    y = c.mul(c.poly(CBRT_32 if c.single else CBRT_64, c.mul(m, c.select(up, 0.5, c.select(down, 2.0, 1.0)))), root)
    inverse = c.div(1.0 / 3.0, c.mul(y, y))
    y = c.fma(inverse, c.fnma(c.mul(y, y), y, m), y)
    square = c.mul(y, y)
    residue = c.fnma(c.fms(y, y, square), y, c.fnma(square, y, m))
    y = c.mul(c.fma(residue, inverse, y), c.pow2(c.bits(shifted)))
    usual = c.both(c.test("gt", a, 0.0), c.test("lt", a, c.inf))
    return c.copysign(c.select(usual, y, a), x)
