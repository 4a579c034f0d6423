"""pow, hypot, cbrt and rsqrt."""
from __future__ import annotations

from numjet.cpu.ir.nodes import Expr
from numjet.cpu.mathlib.exponential import exp2_double
from numjet.cpu.mathlib.helpers import FLOAT64, Calc, Poly
from numjet.cpu.mathlib.logarithm import split_float

_LOG2_OF = "2 / ln2 * atanh(sqrt(u)) / sqrt(u)"
LOG2_SHORT = Poly((2.885390081790064, 0.9617966733495709, 0.5770835836523364, 0.41167279892052555, 0.34072859955217166),
                  _LOG2_OF, "1 / (2 / ln2 * atanh(sqrt(u)) / sqrt(u))", 0.0, 0.029438, 37.7, "float64")
EXP2_SHORT = Poly((0.6931471807027109, 0.24022651067869719, 0.05550410369359613, 0.009618037969906772,
                   0.0013333933048538865, 0.0001546680604239949, 1.5196570356154312e-05),
                  "(2**u - 1) / u", "u / 2**u", -0.5001, 0.5001, 34.2, "float64")
# atanh(s) = s + s**3 / 3 + s**5 Q(s*s)
ATANH_TAIL = Poly((0.20000000000001122, 0.1428571428505227, 0.11111111259549594, 0.09090892217275545,
                   0.07693377202003941, 0.06628441191854695, 0.06597878552414854),
                  "(atanh(sqrt(u)) / sqrt(u) - 1 - u/3) / u**2", "u**2 * sqrt(u) / atanh(sqrt(u))",
                  0.0, 0.029438, 66.2, "float64")
THIRD = (0.3333333333333333, 1.850371707708594e-17)  # high and low part
TWO_BY_LN2 = (2.8853900817779268, 4.0710547481862066e-17)

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
    """2**(y log2|x|) with the sign and the special cases of C99."""
    magnitude = _pow32(c, x, y) if c.single else _pow64(c, x, y)
    integer = c.test("eq", c.trunc(y), y)
    half = c.mul(y, 0.5)
    odd = c.both(integer, c.test("ne", c.trunc(half), half))
    signed = c.select(odd, c.copysign(magnitude, x), magnitude)
    undefined = c.both(c.both(c.test("lt", x, 0.0), c.test("gt", x, -c.inf)), c.negate(integer))
    return c.select(undefined, c.nan, signed)


def _log2_ends(c: Calc, a: Expr, usual: Expr) -> Expr:
    """log2 for a >= 0 including 0, infinity and NaN."""
    return c.select(c.test("eq", a, 0.0), -c.inf, c.select(c.test("lt", a, c.inf), usual, a))


def _one(c: Calc, a: Expr, y: Expr) -> Expr:
    """Where |x|**y is 1 whatever the other operand is, NaN and infinity included."""
    return c.either(c.test("eq", a, 1.0), c.test("eq", y, 0.0))


def _pow32(c: Calc, x: Expr, y: Expr) -> Expr:
    """In float64, where 37 bits of the logarithm suffice and no result is out of range."""
    w = c.wide
    a = w.abs(c.e.convert(x, FLOAT64))
    e, m = split_float(w, a, denormals=False)
    s = w.div(w.sub(m, 1.0), w.add(m, 1.0))
    usual = w.fma(s, w.poly(LOG2_SHORT, w.mul(s, s)), e)
    wide_y = c.e.convert(y, FLOAT64)
    t = w.select(_one(w, a, wide_y), 0.0, w.mul(wide_y, _log2_ends(w, a, usual)))
    t = w.at_most(w.at_least(t, -160.0), 160.0)
    shifted = w.add(t, w.magic)
    r = w.sub(t, w.sub(shifted, w.magic))
    p = w.fma(r, w.poly(EXP2_SHORT, r), 1.0)
    return c.e.convert(w.mul(p, w.pow2(w.bits(shifted))), c.dtype)


def _pow64(c: Calc, x: Expr, y: Expr) -> Expr:
    a = c.abs(x)
    high, low = _log2_double(c, a)
    high = _log2_ends(c, a, high)
    product = c.mul(y, high)
    tail = c.fma(y, low, c.fms(y, high, product))
    inside = c.test("lt", c.abs(product), 1100.0)
    return exp2_double(c, c.select(_one(c, a, y), 0.0, product), c.select(inside, tail, 0.0))


def _log2_double(c: Calc, a: Expr) -> tuple[Expr, Expr]:
    """log2(a) to about 2**-65 as the sum of two floats: e + 2/ln2 (s + s**3/3 + s**5 Q), all but Q in double-double.

    T. J. Dekker, "A floating-point technique for extending the available precision", 1971.
    """
    e, m = split_float(c, a)
    f = c.sub(m, 1.0)
    d = c.add(f, 2.0)
    d_low = c.sub(f, c.sub(d, 2.0))
    inverse = c.div(1.0, d)
    s = c.mul(f, inverse)
    s_low = c.mul(c.fnma(s, d_low, c.fnma(s, d, f)), inverse)
    z = c.mul(s, s)
    z_low = c.fma(c.mul(s, 2.0), s_low, c.fms(s, s, z))
    q = c.mul(z, c.poly(ATANH_TAIL, z))
    w = c.add(q, THIRD[0])
    w_low = c.add(c.add(c.sub(THIRD[0], w), q), THIRD[1])
    u, u_low = _product(c, z, z_low, w, w_low)
    t, t_low = _product(c, s, s_low, u, u_low)
    v = c.add(s, t)
    v_low = c.add(c.add(c.sub(s, v), t), c.add(t_low, s_low))
    k, k_low = _product(c, v, v_low, TWO_BY_LN2[0], TWO_BY_LN2[1])
    high = c.add(e, k)
    # |e| >= |k| or e = 0, so this error is exact
    return high, c.add(c.add(c.sub(e, high), k), k_low)


def _product(c: Calc, x: Expr, x_low: Expr, y: Expr | float, y_low: Expr | float) -> tuple[Expr, Expr]:
    p = c.mul(x, y)
    return p, c.fma(x, y_low, c.fma(x_low, y, c.fms(x, y, p)))


def cbrt(c: Calc, x: Expr) -> Expr:
    """x = m 2**(3 q + k), |k| <= 1: a polynomial for m**(1/3), two Newton steps, the last with exact residual."""
    a = c.abs(x)
    e, m = split_float(c, a)
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
