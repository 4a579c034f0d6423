"""Gamma and its reciprocal in float64, accurate to a few ulps: without the exponential of a large logarithm."""
from __future__ import annotations

import math
from typing import Any

import numjet.numpy as jnp
from numjet.control.custom.custom_jvp import custom_jvp
from numjet.lax.elementwise import special

# B_2k / (2k (2k - 1)), DLMF 5.11.1: from 10 on the first term left out is below 2e-18.
_STIRLING = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156, -3617 / 122400)
_FAR = 10.0     # from here on Stirling's series
_BEYOND = 200.0  # Gamma is infinite, its reciprocal 0
_TINY = 1e-200  # below, Gamma(x) is 1 / x


def stirling_series(inverse: Any) -> Any:
    """lgamma(x) less (x - 1/2) log(x) - x + log(2 pi) / 2, for 1 / x <= 1/10.

    >>> import numjet.numpy as jnp
    >>> round(float(stirling_series(jnp.array(0.1))), 7)
    0.0083306
    """
    square = inverse * inverse
    series: Any = _STIRLING[-1]
    for c in reversed(_STIRLING[:-1]):
        series = series * square + c
    return series * inverse


def _far_factors(x: Any) -> tuple[Any, Any]:
    """Two factors of Gamma(x) by Stirling's series; x^(x - 1/2) is split, as it overflows before Gamma does."""
    power = jnp.power(x, 0.5 * x - 0.25)  # the exponent is exact
    return power * jnp.exp(-x) * (math.sqrt(2 * math.pi) * jnp.exp(stirling_series(1 / x))), power


def _near(x: Any) -> Any:
    """Gamma(x) for 0 <= x < 10 from that in [1, 3], whose logarithm is small, by Gamma(x + 1) = x Gamma(x)."""
    low = x < 1
    t = jnp.where(low, x + 1, x)
    product = jnp.ones_like(x)
    for _ in range(int(_FAR) - 3):
        above = t >= 3
        t = jnp.where(above, t - 1, t)  # exact
        product = jnp.where(above, product * t, product)
    return jnp.exp(special.lgamma(t)) * product / jnp.where(low, x, 1)


def _factors(x: Any) -> tuple[Any, Any]:
    """Two factors of Gamma(x) for x >= 0."""
    far = x >= _FAR
    large, rest = _far_factors(jnp.where(far, jnp.minimum(x, _BEYOND), _FAR))
    return jnp.where(far, large, _near(jnp.where(far, 1.5, x))), jnp.where(far, rest, 1)


def sine_of_pi_times(y: Any) -> Any:
    """sin(pi y), accurate next to its zeros; 0 there.

    >>> float(sine_of_pi_times(jnp.array(0.5)))
    1.0
    """
    whole = jnp.round(y)
    even = whole == 2 * jnp.round(0.5 * whole)
    return jnp.where(even, 1, -1) * jnp.sin(math.pi * (y - whole))


def _reflected(x: Any) -> tuple[Any, Any, Any, Any]:
    """(x < 0, two factors of Gamma(|x|), sin(pi x) for negative x): what Euler's reflection formula takes."""
    negative = x < 0
    a, b = _factors(jnp.where(negative, -x, x))
    return negative, a, b, sine_of_pi_times(jnp.where(negative, x, 0.5))


@custom_jvp
def gamma_of_double(x: Any) -> Any:
    """Gamma(x): NaN at -1, -2, ..., and infinite with the sign of x at 0. By Euler's reflection formula for negative x.

    >>> import numjet.numpy as jnp
    >>> round(float(gamma_of_double(jnp.array(4.5))), 3)
    11.632
    """
    negative, a, b, sine = _reflected(x)
    below = math.pi / (x * jnp.where(sine == 0, math.nan, sine)) / a / b
    return jnp.where(jnp.abs(x) < _TINY, 1 / x, jnp.where(negative, -below, a * b))


gamma_of_double.defjvps(lambda t, out, x: t * out * special.digamma(x))


def reciprocal_of_double(x: Any) -> Any:
    """1 / Gamma(x), 0 at 0, -1, -2, ...; no derivative of its own.

    >>> import numjet.numpy as jnp
    >>> round(float(reciprocal_of_double(jnp.array(4.5))), 4)
    0.086
    """
    negative, a, b, sine = _reflected(x)
    above = 1 / a / b
    below = -(x * sine * a) * b / math.pi
    return jnp.where(jnp.abs(x) < _TINY, x, jnp.where(negative, below, above))
