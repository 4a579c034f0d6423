"""The sine and the cosine integral; Owen's T function."""
from __future__ import annotations

import math
from typing import Any

import numpy as np

import numjet.numpy as jnp
from numjet import lax
from numjet.api.jit_when_eager import jit_when_eager
from numjet.control.custom.custom_jvp import custom_jvp
from numjet.control.loops.while_loop import fori_loop
from numjet.foundation import dtypes
from numjet.lax.elementwise import special
from numjet.numpy.core.promotion import promote_args_inexact
from numjet.scipy.special.gamma_family import floats
from numjet.scipy.special.probability import ndtr

_EULER = 0.57721566490153286061
_SERIES_END, _SERIES_TERMS, _FRACTION_TERMS = 4.0, 16, 60


# -------------------------------------------------------------------------------------------- sine and cosine integral

def _series(x: Any) -> tuple[Any, Any]:
    """Si(x) / x and the sum of (-1)^k x^2k / (2k (2k)!), k = 1, 2, ..."""
    square = x * x
    si, ci = jnp.zeros_like(x), jnp.zeros_like(x)
    for k in range(_SERIES_TERMS, -1, -1):
        sign = -1.0 if k % 2 else 1.0
        si = si * square + sign / ((2 * k + 1) * math.factorial(2 * k + 1))
        ci = ci * square - sign / ((2 * k + 2) * math.factorial(2 * k + 2))
    return si, ci * square


def _fraction(x: Any) -> Any:
    """exp(i x) E1(i x), by the continued fraction, evaluated backwards."""
    z = lax.complex(jnp.zeros_like(x), x)

    def step(i: Any, tail: Any) -> Any:
        k = jnp.astype(_FRACTION_TERMS - i, x.dtype)
        above = lax.complex(k * k, jnp.zeros_like(k))
        return z + lax.complex(2 * k - 1, jnp.zeros_like(k)) - above / tail

    start = z + lax.complex(jnp.full_like(x, 2 * _FRACTION_TERMS + 1), jnp.zeros_like(x))
    return 1 / fori_loop(0, _FRACTION_TERMS, step, start)


@custom_jvp
def _sici(x: Any) -> tuple[Any, Any]:
    size = jnp.abs(x)
    near = size <= _SERIES_END
    small = jnp.where(near, size, 1)
    si, ci = _series(small)
    si, ci = small * si, _EULER + jnp.log(small) + ci
    large = jnp.where(near | ~jnp.isfinite(x), 8, size)
    tail = _fraction(large) * lax.complex(jnp.cos(large), -jnp.sin(large))
    si = jnp.where(near, si, jnp.where(jnp.isinf(x), 0.5 * math.pi, 0.5 * math.pi + tail.imag))
    ci = jnp.where(near, ci, jnp.where(jnp.isinf(x), jnp.where(x < 0, jnp.nan, 0), -tail.real))
    si = jnp.where(x < 0, -si, jnp.where(x == 0, x, si))
    return jnp.where(jnp.isnan(x), jnp.nan, si), jnp.where(jnp.isnan(x), jnp.nan, ci)


@_sici.defjvp
def _sici_jvp(primals: Any, tangents: Any) -> Any:
    (x,), (t,) = primals, tangents
    return _sici(x), (t * jnp.sinc(x / math.pi), t * jnp.cos(x) / x)


@jit_when_eager()
def sici(x: Any) -> tuple[Any, Any]:
    """The sine integral Si(x) and the cosine integral Ci(|x|), real. ValueError for complex numbers.

    Ci is -inf at 0. By power series up to 4, by the continued fraction of E1(i x) beyond.

    >>> [round(float(v), 4) for v in sici(1.0)]
    [0.9461, 0.3374]
    """
    (x,) = promote_args_inexact("sici", x)
    if x.dtype in dtypes.COMPLEX:
        raise ValueError(f"Argument `x` to sici must be real-valued. Got dtype {x.dtype}.")
    wide = x.astype(np.float32) if x.dtype.itemsize == 2 else x
    si, ci = _sici(wide)
    return si.astype(x.dtype), ci.astype(x.dtype)


# -------------------------------------------------------------------------------------------- Owen's T function

_POINTS, _WEIGHTS = (v.tolist() for v in np.polynomial.legendre.leggauss(48))
_REACH = 9.5   # standard deviations, beyond which a normal density is below half an ulp


def _slice(h: Any, a: Any) -> Any:
    """T(h, a) for h >= 0 and 0 <= a <= 1, by Gauss's rule where the integrand is not negligible."""
    upper = jnp.minimum(a, _REACH / jnp.maximum(h, 1e-3))
    total = jnp.zeros_like(h)
    for point, weight in zip(_POINTS, _WEIGHTS, strict=True):
        x = upper * (0.5 + 0.5 * point)
        total = total + 0.5 * weight * jnp.exp(-0.5 * jnp.square(h * x)) / (1 + x * x)
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


@_owens_t.defjvp
def _owens_t_jvp(primals: Any, tangents: Any) -> Any:
    (h, a), (th, ta) = primals, tangents
    density = jnp.exp(-0.5 * h * h)
    by_h = -density * special.erf(a * h * math.sqrt(0.5)) / (2 * math.sqrt(2 * math.pi))
    by_a = density * jnp.exp(-0.5 * jnp.square(h * a)) / (2 * math.pi * (1 + a * a))
    return _owens_t(h, a), th * by_h + ta * by_a


def owens_t(h: Any, a: Any) -> Any:
    """Owen's T: the probability that a standard normal variable exceeds h and another is between 0 and a times it.

    Halves give float32. D. B. Owen, "Tables for computing bivariate normal probabilities" (Ann. Math. Stat. 27, 1956).

    >>> round(float(owens_t(0.0, 1.0)), 4)
    0.125
    """
    h, a = floats("owens_t", h, a)
    wide = np.float32 if h.dtype.itemsize == 2 else h.dtype
    return _owens_t(h.astype(wide), a.astype(wide))
