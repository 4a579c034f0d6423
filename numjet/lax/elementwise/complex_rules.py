"""Elementary functions of complex scalars, written out in real arithmetic for the cpu slots.

Each takes a ScalarBuilder and complex scalars. Branch cuts, and inverse functions near them, follow
W. Kahan, "Branch Cuts for Complex Elementary Functions", in The State of the Art in Numerical Analysis (1987).
"""
from __future__ import annotations

import math
from typing import Any

import numpy as np

S = Any  # a scalar handle


def _parts(b: Any, z: S) -> tuple[S, S]:
    return b.real(z), b.imag(z)


def _abs(b: Any, x: S) -> S:
    return b.prim("abs", x)


def _gt(b: Any, x: S, limit: float) -> S:
    return b.compare("gt", x, b.const(limit, x.dtype))


def _is(b: Any, x: S, value: float) -> S:
    return b.compare("eq", x, b.const(value, x.dtype))


def abs(b: Any, z: S) -> S:
    """|z|, without overflow of the squares."""
    return b.math("hypot", *_parts(b, z))


def sign(b: Any, z: S) -> S:
    """z / |z|, and 0 at 0."""
    length = abs(b, z)
    zero = _is(b, length, 0.0)
    safe = b.select(zero, b.const(1, length.dtype), length)
    return b.complex(b.div(b.real(z), safe), b.div(b.imag(z), safe))


def sqrt(b: Any, z: S) -> S:
    """The root with real part >= 0; very large and very small numbers are scaled by powers of four."""
    x, y = _parts(b, z)
    info = np.finfo(x.dtype)
    largest = b.prim("max", _abs(b, x), _abs(b, y))
    big = _gt(b, largest, float(info.max) / 8)
    small = b.compare("lt", largest, b.const(float(info.tiny) * 2**30, x.dtype))
    power = 2.0 ** (2 * (info.nmant // 2 + 2))
    scale = b.select(big, b.const(1 / 16, x.dtype), b.select(small, b.const(power, x.dtype), b.const(1, x.dtype)))
    undo = b.select(big, b.const(4, x.dtype), b.select(small, b.const(power**-0.5, x.dtype), b.const(1, x.dtype)))
    xs, ys = b.mul(x, scale), b.mul(y, scale)
    return _sqrt_special(b, x, y, *_sqrt_scaled(b, xs, ys, undo))


def _sqrt_scaled(b: Any, x: S, y: S, undo: S) -> tuple[S, S]:
    half = b.const(0.5, x.dtype)
    root = b.prim("sqrt", b.mul(half, b.add(_abs(b, x), b.math("hypot", x, y))))
    zero = _is(b, root, 0.0)
    other = b.mul(half, b.div(_abs(b, y), b.select(zero, b.const(1, x.dtype), root)))
    right = b.compare("ge", x, b.const(0, x.dtype))
    re, im = b.select(right, root, other), b.select(right, other, root)
    return b.mul(re, undo), b.prim("copysign", b.mul(im, undo), y)


def _sqrt_special(b: Any, x: S, y: S, re: S, im: S) -> tuple[S, S] | S:
    """Infinite arguments, as C99 Annex G defines them."""
    inf = b.const(math.inf, x.dtype)
    y_inf, x_inf = _is(b, _abs(b, y), math.inf), _is(b, _abs(b, x), math.inf)
    y_finite = b.prim("is_finite", y)
    positive = b.compare("gt", x, b.const(0, x.dtype))
    zero = b.const(0, x.dtype)
    keep = b.select(y_finite, zero, y)
    re = b.select(x_inf, b.select(positive, inf, keep), re)
    im = b.select(x_inf, b.select(positive, b.prim("copysign", keep, y), b.prim("copysign", inf, y)), im)
    return b.complex(b.select(y_inf, inf, re), b.select(y_inf, y, im))


def exp(b: Any, z: S) -> S:
    """e^x (cos y + i sin y)."""
    x, y = _parts(b, z)
    re, im = _exp_times(b, x, b.math("cos", y), b.math("sin", y))
    return b.complex(re, b.select(_is(b, y, 0.0), y, im))


def _exp_times(b: Any, x: S, *factors: S) -> list[S]:
    """e^x times each factor, where e^x alone may overflow; 0 where e^x is 0."""
    huge = _gt(b, x, math.log(float(np.finfo(x.dtype).max)) - 1)
    half = b.math("exp", b.mul(x, b.select(huge, b.const(0.5, x.dtype), b.const(1, x.dtype))))
    other = b.select(huge, half, b.const(1, x.dtype))
    gone = _is(b, half, 0.0)
    nothing = b.const(0, x.dtype)
    return [b.select(gone, b.prim("copysign", nothing, f), b.mul(b.mul(f, half), other)) for f in factors]


def log(b: Any, z: S) -> S:
    """log|z| + i arg z."""
    x, y = _parts(b, z)
    return b.complex(_log_abs(b, x, y), b.math("atan2", y, x))


def _log_abs(b: Any, x: S, y: S) -> S:
    """log hypot(x, y); near |z| = 1 by log1p(x² + y² - 1), where fused products keep the digits that cancel."""
    ax, ay = _abs(b, x), _abs(b, y)
    big, small = b.prim("max", ax, ay), b.prim("min", ax, ay)
    one, half = b.const(1, x.dtype), b.const(0.5, x.dtype)
    zero = _is(b, big, 0.0)
    ratio = b.div(small, b.select(zero, one, big))
    ratio = b.select(_is(b, big, math.inf), b.const(0, x.dtype), ratio)
    far = b.add(b.math("log", big), b.mul(half, b.math("log1p", b.mul(ratio, ratio))))
    near = b.mul(half, b.math("log1p", _squares_minus_one(b, big, small)))
    is_near = b.prim("and", b.compare("gt", big, half), b.compare("lt", big, b.const(2, x.dtype)))
    return b.select(is_near, near, far)


def _squares_minus_one(b: Any, x: S, y: S) -> S:
    """x² + y² - 1 for x >= y >= 0, with the rounding errors of the squares added back."""
    xx, yy = b.mul(x, x), b.mul(y, y)
    errors = b.add(b.prim("fma", x, x, b.neg(xx)), b.prim("fma", y, y, b.neg(yy)))
    return b.add(b.add(b.sub(xx, b.const(1, x.dtype)), yy), errors)


def log1p(b: Any, z: S) -> S:
    """log(1 + z), accurate near 0: the modulus by log1p(x (2 + x) + y²)."""
    x, y = _parts(b, z)
    one, half = b.const(1, x.dtype), b.const(0.5, x.dtype)
    shifted = b.add(x, one)
    product = b.mul(x, b.add(x, b.const(2, x.dtype)))
    error = b.prim("fma", x, b.add(x, b.const(2, x.dtype)), b.neg(product))
    square = b.mul(y, y)
    tail = b.add(error, b.prim("fma", y, y, b.neg(square)))
    near = b.mul(half, b.math("log1p", b.add(b.add(product, square), tail)))
    is_near = b.compare("lt", b.prim("max", _abs(b, x), _abs(b, y)), half)
    return b.complex(b.select(is_near, near, _log_abs(b, shifted, y)), b.math("atan2", y, shifted))


def expm1(b: Any, z: S) -> S:
    """e^z - 1: expm1(x) cos y - 2 sin²(y/2) + i e^x sin y."""
    x, y = _parts(b, z)
    s = b.math("sin", b.mul(y, b.const(0.5, y.dtype)))
    near = b.sub(b.mul(b.math("expm1", x), b.math("cos", y)), b.mul(b.const(2, x.dtype), b.mul(s, s)))
    far = exp(b, z)
    large = _gt(b, x, 30.0)
    return b.complex(b.select(large, b.sub(b.real(far), b.const(1, x.dtype)), near), b.imag(far))


def pow(b: Any, x: S, y: S) -> S:
    """e^(y log x), real where x is and y, x >= 0; 0**0 is 1, 0 to a power with positive real part 0."""
    p, q = _parts(b, y)
    u, v = _log_abs(b, *_parts(b, x)), b.math("atan2", b.imag(x), b.real(x))
    zero, one = b.const(0, p.dtype), b.const(1, p.dtype)
    is_real = b.prim("and", _is(b, q, 0.0), _is(b, v, 0.0))
    angle = b.select(is_real, zero, b.add(b.mul(q, u), b.mul(p, v)))  # where 0 times infinity would be NaN
    size = b.select(is_real, b.mul(p, u), b.sub(b.mul(p, u), b.mul(q, v)))
    re, im = _exp_times(b, size, b.math("cos", angle), b.math("sin", angle))
    im = b.select(b.prim("and", is_real, b.compare("eq", size, size)), zero, im)
    base_zero = b.prim("and", _is(b, b.real(x), 0.0), _is(b, b.imag(x), 0.0))
    exponent_zero = b.prim("and", _is(b, p, 0.0), _is(b, q, 0.0))
    vanishes = b.prim("and", base_zero, _gt(b, p, 0.0))
    re, im = b.select(vanishes, zero, re), b.select(vanishes, zero, im)
    return b.complex(b.select(exponent_zero, one, re), b.select(exponent_zero, zero, im))


# ------------------------------------------------------------------------------------------------ circular, hyperbolic

def _cosh_sinh_times(b: Any, x: S, f: S, g: S) -> tuple[S, S]:
    """cosh(x) f and sinh(x) g; beyond 20, where cosh x = |sinh x| = e^|x| / 2, without overflow of e^|x|."""
    ax, half = _abs(b, x), b.const(0.5, x.dtype)
    big = _gt(b, ax, 20.0)
    large = _exp_times(b, ax, b.mul(f, half), b.mul(b.prim("copysign", half, x), g))
    c, s = b.mul(b.math("cosh", x), f), b.mul(b.math("sinh", x), g)
    zero_f, zero_g = _is(b, f, 0.0), _is(b, g, 0.0)
    signed_zero = b.mul(b.prim("copysign", b.const(1, x.dtype), x), g)
    return b.select(zero_f, f, b.select(big, large[0], c)), b.select(zero_g, signed_zero, b.select(big, large[1], s))


def cosh(b: Any, z: S) -> S:
    """cosh x cos y + i sinh x sin y."""
    x, y = _parts(b, z)
    re, im = _cosh_sinh_times(b, x, b.math("cos", y), b.math("sin", y))
    return b.complex(re, b.select(_is(b, x, 0.0), b.mul(x, y), b.select(_is(b, y, 0.0), b.mul(_unit(b, x), y), im)))


def sinh(b: Any, z: S) -> S:
    """sinh x cos y + i cosh x sin y."""
    x, y = _parts(b, z)
    im, re = _cosh_sinh_times(b, x, b.math("sin", y), b.math("cos", y))
    return b.complex(b.select(_is(b, x, 0.0), x, re), b.select(_is(b, y, 0.0), y, im))


def _unit(b: Any, x: S) -> S:
    return b.prim("copysign", b.const(1, x.dtype), x)


def tanh(b: Any, z: S) -> S:
    """Kahan's formula with t = tan y, s = sinh x: (beta rho s + i t) / (1 + beta s²), beta = 1 + t², rho = cosh x."""
    x, y = _parts(b, z)
    one = b.const(1, x.dtype)
    big = _gt(b, _abs(b, x), 10.0 if x.dtype.itemsize == 4 else 20.0)
    xs = b.select(big, one, x)
    t, s = b.math("tan", y), b.math("sinh", xs)
    beta = b.add(one, b.mul(t, t))
    rho = b.prim("sqrt", b.add(one, b.mul(s, s)))
    scale = b.add(one, b.mul(beta, b.mul(s, s)))
    re, im = b.div(b.mul(b.mul(beta, rho), s), scale), b.div(t, scale)
    decay = b.math("exp", b.mul(b.const(-2, x.dtype), _abs(b, x)))
    tail = b.mul(b.mul(b.const(2, x.dtype), b.math("sin", b.add(y, y))), decay)
    tail = b.select(_is(b, decay, 0.0), b.prim("copysign", b.const(0, x.dtype), y), tail)
    return b.complex(b.select(big, _unit(b, x), re), b.select(big, tail, im))


def _times_i(b: Any, z: S) -> S:
    return b.complex(b.neg(b.imag(z)), b.real(z))


def _times_minus_i(b: Any, z: S) -> S:
    return b.complex(b.imag(z), b.neg(b.real(z)))


def sin(b: Any, z: S) -> S:
    """-i sinh(i z)."""
    return _times_minus_i(b, sinh(b, _times_i(b, z)))


def cos(b: Any, z: S) -> S:
    """cosh(i z)."""
    return cosh(b, _times_i(b, z))


def tan(b: Any, z: S) -> S:
    """-i tanh(i z)."""
    return _times_minus_i(b, tanh(b, _times_i(b, z)))


# ------------------------------------------------------------------------------------------------ inverse functions

def _roots(b: Any, z: S) -> tuple[S, S, S, S]:
    """Real and imaginary parts of sqrt(1 - z) and sqrt(1 + z)."""
    x, y = _parts(b, z)
    one = b.const(1, x.dtype)
    minus, plus = sqrt(b, b.complex(b.sub(one, x), b.neg(y))), sqrt(b, b.complex(b.add(one, x), y))
    return *_parts(b, minus), *_parts(b, plus)


def _huge(b: Any, z: S) -> S:
    """Whether products of two roots would lose the logarithm of z: then log(2 z) is exact to rounding."""
    x, y = _parts(b, z)
    return _gt(b, b.prim("max", _abs(b, x), _abs(b, y)), 1 / float(np.finfo(x.dtype).eps))


def _log_2abs(b: Any, z: S) -> S:
    x, y = _parts(b, z)
    return b.add(_log_abs(b, x, y), b.const(math.log(2), x.dtype))


def asin(b: Any, z: S) -> S:
    """Kahan: atan2(x, Re(sqrt(1-z) sqrt(1+z))) + i asinh(Im(conj(sqrt(1-z)) sqrt(1+z)))."""
    x, y = _parts(b, z)
    mr, mi, pr, pi = _roots(b, z)
    re = b.math("atan2", x, b.sub(b.mul(mr, pr), b.mul(mi, pi)))
    im = b.math("asinh", b.sub(b.mul(mr, pi), b.mul(mi, pr)))
    huge = _huge(b, z)
    far = b.math("atan2", x, _abs(b, y))
    return b.complex(b.select(huge, far, re), b.select(huge, b.prim("copysign", _log_2abs(b, z), y), im))


def acos(b: Any, z: S) -> S:
    """Kahan: 2 atan2(Re sqrt(1-z), Re sqrt(1+z)) + i asinh(Im(conj(sqrt(1+z)) sqrt(1-z)))."""
    x, y = _parts(b, z)
    mr, mi, pr, pi = _roots(b, z)
    re = b.mul(b.const(2, x.dtype), b.math("atan2", mr, pr))
    im = b.math("asinh", b.sub(b.mul(pr, mi), b.mul(pi, mr)))
    huge = _huge(b, z)
    far = b.math("atan2", _abs(b, y), x)
    return b.complex(b.select(huge, far, re), b.select(huge, b.prim("copysign", _log_2abs(b, z), b.neg(y)), im))


def asinh(b: Any, z: S) -> S:
    """-i asin(i z)."""
    return _times_minus_i(b, asin(b, _times_i(b, z)))


def acosh(b: Any, z: S) -> S:
    """Kahan: asinh(Re(conj(sqrt(z-1)) sqrt(z+1))) + 2 i atan2(Im sqrt(z-1), Re sqrt(z+1))."""
    x, y = _parts(b, z)
    one = b.const(1, x.dtype)
    mr, mi = _parts(b, sqrt(b, b.complex(b.sub(x, one), y)))
    pr, pi = _parts(b, sqrt(b, b.complex(b.add(x, one), y)))
    re = b.math("asinh", b.add(b.mul(mr, pr), b.mul(mi, pi)))
    im = b.mul(b.const(2, x.dtype), b.math("atan2", mi, pr))
    huge = _huge(b, z)
    return b.complex(b.select(huge, _log_2abs(b, z), re), b.select(huge, b.math("atan2", y, x), im))


def atanh(b: Any, z: S) -> S:
    """Kahan's arctanh in the right half plane, reflected.

    log1p(4x / ((1-x)² + y²)) / 4 + i atan2(2y, (1-x)(1+x) - y²) / 2.
    """
    x0, y = _parts(b, z)
    one, dtype = b.const(1, x0.dtype), x0.dtype
    x = _abs(b, x0)
    huge = _gt(b, b.prim("max", x, _abs(b, y)), float(np.finfo(dtype).max) ** 0.5 / 4)
    near = b.prim("and", _is(b, x, 1.0), _is(b, y, 0.0))
    xs, ys = b.select(huge, one, x), b.select(huge, one, y)
    gap = b.sub(one, xs)
    square = b.mul(ys, ys)
    quotient = b.div(b.mul(b.const(4, dtype), xs), b.add(b.mul(gap, gap), square))
    re = b.mul(b.const(0.25, dtype), b.math("log1p", quotient))
    im = b.mul(b.const(0.5, dtype), b.math("atan2", b.add(ys, ys), b.sub(b.mul(gap, b.add(one, xs)), square)))
    inverse = b.real(b.div(b.complex(one, b.const(0, dtype)), b.complex(x, y)))
    finite = b.prim("and", b.prim("is_finite", x), b.prim("is_finite", y))
    inverse = b.select(finite, inverse, b.const(0, dtype))
    re = b.select(huge, inverse, b.select(near, b.const(math.inf, dtype), re))
    im = b.select(huge, b.prim("copysign", b.const(math.pi / 2, dtype), y), im)
    return b.complex(b.prim("copysign", re, x0), im)


def atan(b: Any, z: S) -> S:
    """-i atanh(i z)."""
    return _times_minus_i(b, atanh(b, _times_i(b, z)))


def atan2(b: Any, y: S, x: S) -> S:
    """-i log((x + i y) / sqrt(x² + y²))."""
    length = sqrt(b, b.add(b.mul(x, x), b.mul(y, y)))
    return _times_minus_i(b, log(b, b.div(b.add(x, _times_i(b, y)), length)))


def logistic(b: Any, z: S) -> S:
    """1 / (1 + w) right of the imaginary axis, w / (1 + w) left of it: w = e^-z or e^z does not overflow."""
    one = b.const(1, z.dtype)
    left = b.compare("lt", b.real(z), b.const(0, b.real(z).dtype))
    w = exp(b, b.select(left, z, b.neg(z)))
    return b.div(b.select(left, w, one), b.add(one, w))


def exp2(b: Any, z: S) -> S:
    """e^(z log 2)."""
    log2 = b.const(math.log(2), b.real(z).dtype)
    return exp(b, b.complex(b.mul(b.real(z), log2), b.mul(b.imag(z), log2)))


def greater(b: Any, x: S, y: S) -> S:
    """Lexicographic order: by real parts, then by imaginary parts."""
    (p, q), (r, s) = _parts(b, x), _parts(b, y)
    tie = b.prim("and", b.compare("eq", p, r), b.compare("gt", q, s))
    return b.prim("or", b.compare("gt", p, r), tie)


def is_nan(b: Any, z: S) -> S:
    """Whether a part is NaN."""
    x, y = _parts(b, z)
    return b.prim("or", b.compare("ne", x, x), b.compare("ne", y, y))


def larger(b: Any, x: S, y: S) -> S:
    """The lexicographic maximum; NaN if one operand is."""
    return b.select(is_nan(b, x), x, b.select(is_nan(b, y), y, b.select(greater(b, y, x), y, x)))


def smaller(b: Any, x: S, y: S) -> S:
    """The lexicographic minimum; NaN if one operand is."""
    return b.select(is_nan(b, x), x, b.select(is_nan(b, y), y, b.select(greater(b, x, y), y, x)))
