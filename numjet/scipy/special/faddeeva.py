"""Faddeeva's function, and power series of Dawson's integral and the Fresnel integrals: of real and of complex numbers.

M. Al Azah and S. N. Chandler-Wilde, "Computation of the complex error function using modified trapezoidal rules" (SIAM J.
Numer. Anal. 59, 2021): the trapezoidal rule with 12 nodes and a correction for the pole, right to some units in the last place.
"""
from __future__ import annotations

import math
from typing import Any

import numpy as np

import numjet.numpy as jnp
from numjet import lax
from numjet.control.custom.custom_jvp import custom_jvp
from numjet.scipy.special.horner import horner

_NODES = 12
STEP = math.sqrt(math.pi / _NODES)
MIDDLES = [(k + 0.5) * STEP for k in range(_NODES)]
MULTIPLES = [k * STEP for k in range(1, _NODES)]
LIMIT = math.pi / STEP          # from here on the pole needs no correction
TWO_BY_ROOT_PI = 2 / math.sqrt(math.pi)
DAWSN_NEAR, _DAWSN_TERMS = 0.7, 16   # where the series is used, and its terms
FRESNEL_NEAR, _FRESNEL_TERMS = 1.6, 16
FAR, _FAR_TERMS = {4: 5.0, 8: 10.0}, 16       # from where on slopes are asymptotic series, by bytes of the dtype


def _quarter(z: Any) -> Any:
    """w(z) for Re z >= 0, Im z >= 0, and |z| small enough to be squared."""
    x, y = z.real, z.imag
    square, near = z * z, y < LIMIT
    place = x / STEP
    share = place - jnp.floor(place)
    by_multiples = near & (y < x) & (share >= 0.25) & (share <= 0.75)
    sum_of = lambda nodes: sum(math.exp(-t * t) / (square - t * t) for t in nodes)
    safe = lax.complex(x, jnp.where(near, y, 0))
    turn = jnp.exp(lax.complex(2 * math.pi / STEP * safe.imag, -2 * math.pi * share))
    pole = 2 * jnp.exp(-safe * safe) / jnp.where(by_multiples, 1 - turn, jnp.where(near & ~by_multiples, 1 + turn, 1))
    factor = (2 * STEP / math.pi) * lax.complex(-y, x)
    middles = jnp.where(by_multiples, 0, factor * sum_of(MIDDLES))
    divisor = jnp.where(by_multiples, z, 1)
    multiples = factor * sum_of(MULTIPLES) + lax.complex(jnp.zeros_like(x), jnp.full_like(x, STEP / math.pi)) / divisor
    return jnp.where(by_multiples, multiples, middles) + jnp.where(near, pole, 0)


@custom_jvp
def faddeeva(z: Any) -> Any:
    """exp(-z^2) erfc(-i z) of complex numbers.

    >>> complex(faddeeva(jnp.array(0j)))
    (1+0j)
    """
    x, y = jnp.abs(z.real), jnp.abs(z.imag)
    size = jnp.maximum(x, y)
    far = size > (1e8 if z.dtype == np.complex128 else 1e4)
    inside = lax.complex(jnp.where(far, 1, x), jnp.where(far, 1, y))
    outside = lax.complex(jnp.where(far & jnp.isfinite(x), x, 1), jnp.where(far & jnp.isfinite(y), y, 1))
    large = lax.complex(jnp.zeros_like(x), jnp.full_like(x, 1 / math.sqrt(math.pi))) / outside
    out = jnp.where(far, jnp.where(jnp.isinf(size), 0, large), _quarter(inside))
    out = lax.complex(out.real, jnp.where(z.real * z.imag < 0, -out.imag, out.imag))
    below = lax.complex(jnp.where(z.imag < 0, z.real, 0), jnp.where(z.imag < 0, z.imag, 0))
    upper = lax.complex(out.real, jnp.where((z.imag == 0) & (z.real < 0), -out.imag, out.imag))
    out = jnp.where(z.imag < 0, 2 * jnp.exp(-below * below) - out, upper)
    nan = jnp.full_like(x, jnp.nan)
    return jnp.where(jnp.isnan(z), lax.complex(nan, nan), out)


def far_slope(square: Any, sign: int) -> Any:
    """The sum of sign^k (2k + 1)!! / 2^k / x^(2k + 2) over 16 k, by the square of 1 / x: slopes where their terms cancel.

    >>> float(far_slope(jnp.array(0.0), 1))
    0.0
    """
    coefficients = [1.0]
    for k in range(1, _FAR_TERMS):
        coefficients.append(coefficients[-1] * sign * (k + 0.5))
    return square * horner(coefficients, square)


def _upper_slope(z: Any) -> Any:
    """The derivative for Im z >= 0; far from 0 its asymptotic series, and on the real axis that of exp(-z^2), too."""
    far = jnp.maximum(jnp.abs(z.real), jnp.abs(z.imag)) > FAR[z.dtype.itemsize // 2]
    close, inverse = jnp.where(far, 0, z), 1 / jnp.where(far, z, 1)
    i = lax.complex(jnp.zeros_like(z.real), jnp.ones_like(z.real))
    near = -2 * close * faddeeva(close) + TWO_BY_ROOT_PI * i
    x = jnp.where(far & (z.imag == 0) & jnp.isfinite(z.real), z.real, 0)
    series = -0.5 * TWO_BY_ROOT_PI * i * far_slope(inverse * inverse, 1)
    return jnp.where(far, lax.complex(-2 * x * jnp.exp(-x * x), jnp.zeros_like(x)) + series, near)


@faddeeva.defjvp
def _faddeeva_jvp(primals: Any, tangents: Any) -> Any:
    """w(z) = 2 exp(-z^2) - w(-z) below the real axis."""
    (z,), (t,) = primals, tangents
    low = z.imag < 0
    below = jnp.where(low, z, 0)
    slope = _upper_slope(jnp.where(low, -z, z))
    return faddeeva(z), t * jnp.where(low, slope - 4 * below * jnp.exp(-below * below), slope)


def dawsn_series(x: Any) -> Any:
    """Dawson's integral near 0: the sum of x (-2 x^2)^k / (2k + 1)!!.

    >>> round(float(dawsn_series(jnp.array(0.5))), 4)
    0.4244
    """
    total = jnp.ones_like(x)
    for k in range(_DAWSN_TERMS, 0, -1):
        total = 1 - total * (2 * x * x / (2 * k + 1))
    return x * total


def fresnel_series(x: Any) -> tuple[Any, Any]:
    """S and C of |x| < 1.6 by their power series.

    >>> [round(float(v), 4) for v in fresnel_series(jnp.array(1.0))]
    [0.4383, 0.7799]
    """
    t = 0.5 * math.pi * x * x
    square = t * t
    sine, cosine = jnp.zeros_like(t), jnp.zeros_like(t)
    for k in range(_FRESNEL_TERMS - 1, -1, -1):
        sign = -1.0 if k % 2 else 1.0
        cosine = cosine * square + sign / (math.factorial(2 * k) * (4 * k + 1))
        sine = sine * square + sign / (math.factorial(2 * k + 1) * (4 * k + 3))
    return x * t * sine, x * cosine
