"""The gamma function of complex numbers and its logarithm, by Lanczos's approximation."""
from __future__ import annotations

import math
from typing import Any

import numjet.numpy as jnp
from numjet import lax
from numjet.foundation import dtypes
from numjet.lax.elementwise import special
from numjet.numpy.core.promotion import promote_args_inexact

# C. Lanczos, "A precision approximation of the gamma function" (J. SIAM Numer. Anal. 1, 1964), with g = 7 and 9 terms, as
# computed by P. Godfrey; right to about 1e-15.
_G = 7.0
_LANCZOS = (0.99999999999980993, 676.5203681218851, -1259.1392167224028, 771.32342877765313, -176.61502916214059,
            12.507343278686905, -0.13857109526572012, 9.9843695780195716e-6, 1.5056327351493116e-7)


def _right(z: Any) -> Any:
    """log Gamma(z) for Re z >= 1/2."""
    total = jnp.full_like(z, _LANCZOS[0])
    for k, c in enumerate(_LANCZOS[1:]):
        total = total + c / (z + k)
    t = z + (_G - 0.5)
    return 0.5 * math.log(2 * math.pi) + (z - 0.5) * jnp.log(t) - t + jnp.log(total)


def _log_sine(z: Any) -> Any:
    """log sin(pi z), continued from the upper half plane, for Im z >= 0."""
    x, y = z.real, z.imag
    part = x - jnp.round(x)
    size = jnp.exp(-2 * math.pi * y)
    rest = lax.complex(-size * jnp.cos(2 * math.pi * part), -size * jnp.sin(2 * math.pi * part))
    return lax.complex(math.pi * y - math.log(2), math.pi * (0.5 - x)) + jnp.log1p(rest)


def log_gamma(z: Any) -> Any:
    """log Gamma(z) of complex numbers, continuous but for the negative real axis."""
    low = jnp.signbit(z.imag)
    upper = lax.complex(z.real, jnp.abs(z.imag))
    left = z.real < 0.5
    right = _right(jnp.where(left, 1 - upper, upper))
    pole = (z.imag == 0) & (z.real <= 0) & (z.real == jnp.round(z.real))
    reflected = math.log(math.pi) - _log_sine(jnp.where(left & ~pole, upper, lax.complex(
        jnp.full_like(z.real, 0.25), jnp.ones_like(z.real)))) - right
    out = jnp.where(left, reflected, right)
    out = lax.complex(out.real, jnp.where(low, -out.imag, out.imag))
    return jnp.where(pole, lax.complex(jnp.full_like(z.real, jnp.nan), jnp.full_like(z.real, jnp.nan)), out)


def loggamma(x: Any) -> Any:
    """The principal branch of log Gamma(x); NaN for negative real numbers and at the poles of complex ones.

    >>> float(loggamma(1.0))
    0.0
    """
    (x,) = promote_args_inexact("loggamma", x)
    if x.dtype in dtypes.COMPLEX:
        return log_gamma(x)
    return jnp.where(x < 0, jnp.nan, special.lgamma(x))


def gamma_of_complex(x: Any) -> Any:
    """Gamma(x) of complex numbers."""
    return jnp.exp(log_gamma(x))
