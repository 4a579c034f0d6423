"""The gamma function of complex numbers, its reciprocal, its logarithm and the derivative of that.

Lanczos's approximation in the right half plane and Taylor series about the zeros of the logarithm; reflections, whose sines are
exp(2 pi i z) - 1, so that no digits cancel beside a pole. All in 64 bits, rounded once.
"""
from __future__ import annotations

import math
from typing import Any

import numpy as np

import numjet.numpy as jnp
from numjet import lax
from numjet.foundation import dtypes
from numjet.lax.elementwise import special
from numjet.numpy.core.promotion import promote_args_inexact
from numjet.scipy.special.horner import horner
from numjet.scipy.special.whole_numbers import is_odd, whole_below_1
from numjet.scipy.special.wide_evaluation import smooth_in_64_bits

# C. Lanczos, "A precision approximation of the gamma function" (J. SIAM Numer. Anal. 1, 1964), with g = 7 and 9 terms, as
# computed by P. Godfrey; right to about 1e-15.
_G = 7.0
_LANCZOS = (0.99999999999980993, 676.5203681218851, -1259.1392167224028, 771.32342877765313, -176.61502916214059,
            12.507343278686905, -0.13857109526572012, 9.9843695780195716e-6, 1.5056327351493116e-7)
_NEAR, _NEAR_TERMS = 0.2, 23     # of the zeros 1 and 2 of the logarithm: 0.2^24 is below 1e-16 of the first term
_FAR = 10                        # real parts from which digamma's asymptotic series of 8 terms is right to 1e-16
# B_2k / 2k of DLMF 5.11.2.
_BERNOULLI = (1 / 12, -1 / 120, 1 / 252, -1 / 240, 1 / 132, -691 / 32760, 1 / 12, -3617 / 8160)


def _zeta(k: int) -> float:
    """Riemann's zeta function, by the sum of 100 terms and Euler and Maclaurin's corrections, of which the third is 3e-16."""
    n = 100.0
    head = math.fsum(m ** -k for m in range(1, 100))
    return head + n ** -k * (0.5 + n / (k - 1) + k / (12 * n) - k * (k + 1) * (k + 2) / (720 * n ** 3))


# log Gamma(1 + z) = -gamma z + the sum of zeta(k) (-z)^k / k, DLMF 5.7.3.
_ABOUT_ONE = (0.0, -np.euler_gamma, *((-1) ** k * _zeta(k) / k for k in range(2, _NEAR_TERMS + 1)))


def _split(z: Any, left: Any) -> tuple[Any, Any]:
    """The number with a positive imaginary part, and that in the right half plane whose value gives the value."""
    upper = lax.complex(z.real, jnp.abs(z.imag))
    return upper, jnp.where(left, 1 - upper, upper)


def _with_sign_of(z: Any, out: Any) -> Any:
    """The value at z from that in the upper half plane."""
    return jnp.where(jnp.signbit(z.imag), jnp.conj(out), out)


def _is_pole(z: Any) -> Any:
    return (z.imag == 0) & whole_below_1(z.real)


def _right(z: Any) -> Any:
    """log Gamma(z) for Re z >= 1/2."""
    total = jnp.full_like(z, _LANCZOS[0])
    for k, c in enumerate(_LANCZOS[1:]):
        total = total + c / (z + k)
    t = z + (_G - 0.5)
    lanczos = 0.5 * math.log(2 * math.pi) + (z - 0.5) * jnp.log(t) - t + jnp.log(total)
    one, two = (jnp.abs(z - zero) < _NEAR for zero in (1, 2))
    distance = jnp.where(one, z - 1, jnp.where(two, z - 2, 0))
    taylor = horner(_ABOUT_ONE, distance)
    return jnp.where(one, taylor, jnp.where(two, jnp.log1p(distance) + taylor, lanczos))


def _turns_less_one(z: Any) -> Any:
    """exp(2 pi i z) - 1 for Im z >= 0."""
    return jnp.expm1(lax.complex(-2 * math.pi * z.imag, 2 * math.pi * (z.real - jnp.round(z.real))))


def _log_sine(z: Any) -> Any:
    """log sin(pi z), continued from the upper half plane, for Im z >= 0."""
    return lax.complex(math.pi * z.imag - math.log(2), math.pi * (0.5 - z.real)) + jnp.log(-_turns_less_one(z))


@smooth_in_64_bits
def _log_gamma(z: Any) -> Any:
    left, pole = z.real < 0.5, _is_pole(z)
    upper, right = _split(z, left)
    right = _right(right)
    reflected = math.log(math.pi) - _log_sine(jnp.where(left & ~pole, upper, 0.25 + 1j)) - right
    return jnp.where(pole, jnp.nan + jnp.nan * 1j, _with_sign_of(z, jnp.where(left, reflected, right)))


@smooth_in_64_bits
def reciprocal_gamma(z: Any) -> Any:
    """1 / Gamma(z) of complex numbers, smooth at the poles of Gamma: there Gamma(1 - z) sin(pi z) / pi.

    >>> complex(reciprocal_gamma(jnp.array(-1 + 0j)))
    0j
    """
    left = z.real < 0.5
    upper, right = _split(z, left)
    right = _right(right)
    # sin(pi z) = i / 2 exp(-i pi z) (1 - exp(2 pi i z)), and x + n has the sign (-1)^n of x
    whole = jnp.round(upper.real)
    turned = jnp.exp(right + math.pi * lax.complex(upper.imag, whole - upper.real)) * _turns_less_one(upper)
    reflected = jnp.where(is_odd(whole), 1, -1) * (0.5j / math.pi) * turned
    return _with_sign_of(z, jnp.where(left, reflected, jnp.exp(-right)))


@smooth_in_64_bits
def digamma_of_complex(z: Any) -> Any:
    """The derivative of log Gamma: recurrence, reflection, and DLMF 5.11.2.

    >>> complex(digamma_of_complex(jnp.array(1 + 0j))).real.__round__(4)
    -0.5772
    """
    left, pole = z.real < 0.5, _is_pole(z)
    upper, w = _split(z, left)
    below = jnp.zeros_like(w)
    for k in range(_FAR):
        below = below + jnp.where(w.real + k < _FAR, 1 / (w + k), 0)
    w = w + jnp.maximum(jnp.ceil(_FAR - w.real), 0)
    square = 1 / (w * w)
    right = jnp.log(w) - 0.5 / w - square * horner(_BERNOULLI, square) - below
    rest = _turns_less_one(jnp.where(pole, 0.5 + 1j, upper))
    reflected = right - math.pi * 1j * (1 + 2 / rest)
    return jnp.where(pole, jnp.nan + jnp.nan * 1j, _with_sign_of(z, jnp.where(left, reflected, right)))


def loggamma(x: Any) -> Any:
    """The principal branch of log Gamma(x); NaN for negative real numbers and at the poles of complex ones.

    >>> float(loggamma(1.0))
    0.0
    """
    (x,) = promote_args_inexact("loggamma", x)
    if x.dtype in dtypes.COMPLEX:
        return _log_gamma(x)
    return jnp.where(x < 0, jnp.nan, special.lgamma(x))


@smooth_in_64_bits
def gamma_of_complex(z: Any) -> Any:
    """Gamma(z) of complex numbers.

    >>> complex(gamma_of_complex(jnp.array(1 + 0j))).real
    1.0
    """
    return jnp.exp(_log_gamma(z))
