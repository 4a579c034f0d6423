"""The sine and the cosine integral; Owen's T function."""
from __future__ import annotations

import math
from typing import Any

import numpy as np

import numjet.numpy as jnp
from numjet.api.jit_when_eager import jit_when_eager
from numjet.control.custom.custom_jvp import custom_jvp
from numjet.foundation import dtypes
from numjet.lax.elementwise import special
from numjet.numpy.core.promotion import promote_args_inexact
from numjet.scipy.special import complex_integrals
from numjet.scipy.special.gamma_family import floats
from numjet.scipy.special.horner import horner
from numjet.scipy.special.probability import ndtr

_EULER = 0.57721566490153286061
_SERIES_END = 4.0

# By powers of x², up to 4**2: Si(x) / x, and (Ci(x) - log x - Euler's constant) / x². For floats up to 32 bits minimax
# polynomials of the relative error, 2.1e-9 and 4.5e-10, else Taylor's series, of which the terms left out are below 1e-21.
_SI = {
    np.dtype(np.float32): (0.9999999979, -0.05555554425, 0.001666656192, -2.834095238e-05, 3.055529332e-07, -2.220038317e-09,
                           9.72827072e-12),
    np.dtype(np.float64): tuple((-1) ** k / ((2 * k + 1) * math.factorial(2 * k + 1)) for k in range(17)),
}
_CI = {
    np.dtype(np.float32): (-0.2499999999, 0.01041666603, -0.0002314808844, 3.099983525e-06, -2.751999714e-08, 1.7059855e-10,
                           -6.646267126e-13),
    np.dtype(np.float64): tuple((-1) ** (k + 1) / ((2 * k + 2) * math.factorial(2 * k + 2)) for k in range(17)),
}
# The auxiliary functions, x f(x) and x² g(x) of DLMF 6.2(iii), as quotients of polynomials of 1 / x² up to 1 / 4**2: minimax by
# weighted least squares in 50 digits. All terms are positive, as those of a Stieltjes function's approximants. Relative errors
# 1.9e-9 and 3.7e-10 for floats up to 32 bits, 1.1e-17 and 6.2e-18.
_F: dict[np.dtype, Any] = {
    np.dtype(np.float32): ((0.9999999981, 125.3931672, 3671.995832, 25197.80112, 19825.73752),
                           (1.0, 127.3931535, 3902.798737, 30657.50559, 41514.25251)),
    np.dtype(np.float64): ((0.9999999999999999891, 947.3042309038760383, 324890.7288777893917, 52376782.41965113281,
                            4319179264.228903313, 186064845065.7494847, 4107546827625.987775, 43728862036667.54301,
                            198081126721489.784, 291867150956745.6308, 61398027719833.64814),
                           (1.0, 949.3042309038753388, 326765.3373396059645, 53008249.7927447438, 4417996574.881591389,
                            193829263916.5839774, 4417130281160.175849, 49772864719842.30871, 250922216021604.5647,
                            463815821627116.9117, 193999786682320.1861)),
}
_G: dict[np.dtype, Any] = {
    np.dtype(np.float32): ((0.9999999996, 239.22507, 15637.9949, 317927.321, 1645524.45, 771198.4771),
                           (1.0, 245.2250643, 16989.35794, 395464.7397, 2859053.255, 4426662.402)),
    np.dtype(np.float64): ((0.9999999999999999965, 1325.948591840424843, 655263.8514607867794, 157397555.5332277801,
                            20121855468.06071386, 1411085472834.118857, 54036561736272.92243, 1091168066562570.87,
                            10793853273717200.8, 45416390153249515.27, 59795610466730201.95, 7654424027205709.919),
                           (1.0, 1331.948591840424531, 663135.5430118350687, 161221574.9602361587, 21015958793.72628446,
                            1520733418630.898484, 61257906119188.14013, 1343126712095697.671, 15233189217597075.82,
                            81354993916491105.85, 171153459467642728.1, 93565519637493036.64)),
}


# -------------------------------------------------------------------------------------------- sine and cosine integral

def _quotient(table: dict[np.dtype, Any], w: Any) -> Any:
    above, below = table[w.dtype]
    return horner(above, w) / horner(below, w)


def _near(x: Any) -> tuple[Any, Any]:
    """Si(x) and Ci(x) by their power series."""
    square = x * x
    return x * horner(_SI[x.dtype], square), _EULER + jnp.log(x) + square * horner(_CI[x.dtype], square)


def _far(x: Any) -> tuple[Any, Any]:
    """Si(x) - pi / 2 and Ci(x) by the auxiliary functions: -f cos x - g sin x, f sin x - g cos x."""
    inverse = 1 / x
    w = inverse * inverse
    f, g = inverse * _quotient(_F, w), w * _quotient(_G, w)
    cos, sin = jnp.cos(x), jnp.sin(x)
    return -(f * cos + g * sin), f * sin - g * cos


@custom_jvp
def _sici(x: Any) -> tuple[Any, Any]:
    size = jnp.abs(x)
    near = size <= _SERIES_END
    si, ci = _near(jnp.where(near, size, 1))
    rest, far_ci = _far(jnp.where(near | ~jnp.isfinite(x), 8, size))
    si = jnp.where(near, si, jnp.where(jnp.isinf(x), 0.5 * math.pi, 0.5 * math.pi + rest))
    ci = jnp.where(near, ci, jnp.where(jnp.isinf(x), jnp.where(x < 0, jnp.nan, 0), far_ci))
    si = jnp.where(x < 0, -si, jnp.where(x == 0, x, si))
    return jnp.where(jnp.isnan(x), jnp.nan, si), jnp.where(jnp.isnan(x), jnp.nan, ci)


@_sici.defjvp
def _sici_jvp(primals: Any, tangents: Any) -> Any:
    (x,), (t,) = primals, tangents
    return _sici(x), (t * jnp.sinc(x / math.pi), t * jnp.cos(x) / x)


@jit_when_eager()
def sici(x: Any) -> tuple[Any, Any]:
    """The sine integral Si(x) and the cosine integral Ci(|x|) of real x, or Ci(x) of complex x.

    Ci is -inf at 0, and has its cut on the negative axis. By power series up to 4, by the auxiliary functions f and g beyond.

    >>> [round(float(v), 4) for v in sici(1.0)]
    [0.9461, 0.3374]
    """
    (x,) = promote_args_inexact("sici", x)
    if x.dtype in dtypes.COMPLEX:
        return complex_integrals.sici(x)
    wide = x.astype(np.float32) if x.dtype.itemsize == 2 else x
    si, ci = _sici(wide)
    return si.astype(x.dtype), ci.astype(x.dtype)


# -------------------------------------------------------------------------------------------- Owen's T function

def _rule(count: int) -> list[tuple[float, float]]:
    """Squares of the points of Gauss's rule on (0, 1), and the weights."""
    points, weights = np.polynomial.legendre.leggauss(count)
    return list(zip(np.square(0.5 + 0.5 * points).tolist(), (0.5 * weights).tolist(), strict=True))


# By precision: the standard deviations beyond which the normal density is left out, and a rule for the rest. The largest
# relative errors are 2e-16, and 1.3e-8 in single precision.
_RULES = {np.dtype(np.float64): (9.5, _rule(48)), np.dtype(np.float32): (5.8, _rule(11))}


def _slice(h: Any, a: Any) -> Any:
    """T(h, a) for h >= 0 and 0 <= a <= 1, by Gauss's rule where the integrand is not negligible."""
    reach, rule = _RULES[h.dtype]
    upper = jnp.minimum(a, reach / jnp.maximum(h, 1e-3))
    exponent, square = -0.5 * jnp.square(h * upper), jnp.square(upper)
    total = jnp.zeros_like(h)
    for place, weight in rule:
        total = total + weight * jnp.exp(exponent * place) / (1 + square * place)
    return total * upper * jnp.exp(-0.5 * h * h) / (2 * math.pi)


@custom_jvp
def _owens_t(h: Any, a: Any) -> Any:
    size, slope = jnp.abs(h), jnp.abs(a)
    steep = slope > 1
    inner = jnp.where(steep, slope, 1)
    product = jnp.where(jnp.isinf(inner) & (size == 0), 0, size * inner)
    part = _slice(jnp.where(steep, jnp.where(jnp.isinf(product), 100, product), size), jnp.where(steep, 1 / inner, slope))
    p, q = ndtr(-size), ndtr(-product)
    center = 0.25 * special.erf(size * math.sqrt(0.5)) * special.erf(product * math.sqrt(0.5))
    whole = jnp.where(size <= 0.67, 0.25 - center, 0.5 * (p + q) - p * q) - part
    out = jnp.where(steep, whole, part)
    out = jnp.where(jnp.isinf(slope), 0.5 * p, jnp.where(jnp.isinf(size), 0, out))
    return jnp.where(jnp.isnan(h) | jnp.isnan(a), jnp.nan, jnp.where(a < 0, -out, out))


_BELL_END = 40.0   # exp(-h² / 2) is 0 beyond, and the square of h may overflow


def _owens_t_in_h(h: Any, a: Any) -> Any:
    return -_bell(h) * special.erf(_product(h, a) * math.sqrt(0.5)) / (2 * math.sqrt(2 * math.pi))


def _owens_t_in_a(h: Any, a: Any) -> Any:
    slope = _finite(a)
    return _bell(h) * _bell(_product(h, a)) / (2 * math.pi * (1 + slope * slope))


def _bell(h: Any) -> Any:
    return jnp.exp(-0.5 * jnp.square(jnp.clip(h, -_BELL_END, _BELL_END)))


def _product(h: Any, a: Any) -> Any:
    """h a for h up to the end of the bell."""
    return jnp.clip(h, -_BELL_END, _BELL_END) * _finite(a)


def _finite(a: Any) -> Any:
    """The largest numbers for infinities, so that derivatives of what does not change there are 0, not 0 * inf."""
    return jnp.nan_to_num(a, nan=np.nan)


_owens_t.defjvps(lambda t, out, h, a: t * _owens_t_in_h(h, a), lambda t, out, h, a: t * _owens_t_in_a(h, a))


@jit_when_eager()
def owens_t(h: Any, a: Any) -> Any:
    """Owen's T: the probability that a standard normal variable exceeds h and another is between 0 and a times it.

    Halves give float32. D. B. Owen, "Tables for computing bivariate normal probabilities" (Ann. Math. Stat. 27, 1956).

    >>> round(float(owens_t(0.0, 1.0)), 4)
    0.125
    """
    h, a = floats("owens_t", h, a)
    wide = np.float32 if h.dtype.itemsize == 2 else h.dtype
    return _owens_t(h.astype(wide), a.astype(wide))
