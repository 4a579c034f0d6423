"""Functions defined by integrals: modified Bessel functions, Spence's function."""
from __future__ import annotations

import math
from typing import Any

import numjet.numpy as jnp
from numjet.control.custom.custom_jvp import custom_jvp
from numjet.foundation import dtypes
from numjet.lax.elementwise import special
from numjet.scipy.special import complex_integrals
from numjet.scipy.special.dilogarithm import DEBYE, spence_slope
from numjet.scipy.special.gamma_family import floats, halves_in_float32, numbers

_EULER = 0.57721566490153286061


# -------------------------------------------------------------------------------------------- Bessel functions

def i0e(x: Any) -> Any:
    """exp(-|x|) I0(x).

    >>> float(i0e(0.0))
    1.0
    """
    return special.bessel_i0e(floats("i0e", x)[0])


def _unscaled(scaled: Any, x: Any) -> Any:
    """exp(|x|) times a function that is smaller than 1: by halves, as the exponential overflows before the product does."""
    half = jnp.exp(0.5 * abs(x))
    return half * scaled * half


@custom_jvp
def _i0(x: Any) -> Any:
    return _unscaled(special.bessel_i0e(x), x)


@custom_jvp
def _i1(x: Any) -> Any:
    return _unscaled(special.bessel_i1e(x), x)


def _i1_slope(x: Any, out: Any) -> Any:
    """I0 - I1 / x. The quotient is a power series (DLMF 10.25.2) for small x, where its derivatives cancel."""
    small = abs(x) < 1
    square = jnp.where(small, x, 0) ** 2
    series = jnp.polyval(jnp.array([0.5 / (4 ** k * math.factorial(k) * math.factorial(k + 1)) for k in range(9, -1, -1)],
                                   x.dtype), square)
    return _i0(x) - jnp.where(small, series, out / jnp.where(small, 1, x))


_i0.defjvps(lambda t, out, x: t * _i1(x))
_i1.defjvps(lambda t, out, x: t * _i1_slope(x, out))


def i0(x: Any) -> Any:
    """The modified Bessel function of order 0.

    >>> float(i0(0.0))
    1.0
    """
    x, = floats("i0", x)
    return halves_in_float32(_i0)(x)


def i1e(x: Any) -> Any:
    """exp(-|x|) I1(x).

    >>> float(i1e(0.0))
    0.0
    """
    return special.bessel_i1e(floats("i1e", x)[0])


def i1(x: Any) -> Any:
    """The modified Bessel function of order 1.

    >>> float(i1(0.0))
    0.0
    """
    return halves_in_float32(_i1)(floats("i1", x)[0])


# -------------------------------------------------------------------------------------------- Spence's function

def _dilogarithm(u: Any) -> Any:
    """Li2(1 - exp(-u)) for |u| <= log 2."""
    square = u * u
    out = jnp.zeros_like(u)
    for k in range(18, 0, -2):
        out = out * square + DEBYE[k]
    return u + DEBYE[1] * square + out * square * u


@custom_jvp
def _spence(x: Any) -> Any:
    below, above = x < 0.5, x > 2
    low, mid = jnp.where(below & (x > 0), x, 0.25), jnp.where(below | above, 1.0, x)
    high = jnp.where(above, x, 4.0)
    first = math.pi ** 2 / 6 - jnp.log(low) * jnp.log1p(-low) - _dilogarithm(-jnp.log1p(-low))
    third = -math.pi ** 2 / 6 - 0.5 * jnp.square(jnp.log(high - 1)) - _dilogarithm(jnp.log1p(-1 / high))
    out = jnp.where(below, first, jnp.where(above, third, _dilogarithm(-jnp.log(mid))))
    return jnp.where(x == 0, math.pi ** 2 / 6, jnp.where(x < 0, jnp.nan, out))


_spence.defjvps(lambda t, out, x: t * spence_slope(x))


def spence(x: Any) -> Any:
    """The integral of log(t) / (1 - t) from 1 to x, which is Li2(1 - x); NaN for negative real x, where complex x have a cut.

    >>> round(float(spence(0.0)), 4)
    1.6449
    """
    (x,) = numbers("spence", x)
    return complex_integrals.spence(x) if x.dtype in dtypes.COMPLEX else _spence(x)
