"""Kelvin functions: Bessel functions of order 0 on the ray of argument pi / 4, and their derivatives.

ber + i bei = I0(z) and ker + i kei = K0(z) with z = x exp(i pi / 4). The integrals I[n](z) = 2 / pi int cosh(z cos t) dt (for
n = 1 sinh(z cos t) cos t) over a quarter of a period and K[n](z) = int exp(-z cosh t) cosh(n t) dt over the half line (DLMF
10.32.1, 10.32.9) are summed by the trapezoidal rule, which converges geometrically for both. Beyond 26, ber and bei come from
the asymptotic series 10.40.1; below 1, ker and kei come from their power series.
"""
from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

import numjet.numpy as jnp
from numjet import lax
from numjet.control.custom.custom_jvp import custom_jvp
from numjet.scipy.special.gamma_family import floats
from numjet.scipy.special.wide_evaluation import in_64_bits

_NODES, _FAR, _TERMS = 40, 26.0, 26
_COSINES = np.cos((np.arange(_NODES) + 0.5) * math.pi / (2 * _NODES))
_STEPS = 64
_EIGHTH = complex(math.sqrt(0.5), math.sqrt(0.5))   # exp(i pi / 4)


def _phased(size: Any, phase: Any) -> Any:
    return lax.complex(size * jnp.cos(phase), size * jnp.sin(phase))


def _hyperbolic(order: int, a: Any) -> Any:
    """cosh(a + i a) or, for order 1, sinh(a + i a)."""
    rise, level = (jnp.cosh(a), jnp.sinh(a)) if order else (jnp.sinh(a), jnp.cosh(a))
    cos, sin = jnp.cos(a), jnp.sin(a)
    return lax.complex(level * cos, rise * sin)


def _asymptotic(order: int, z: Any) -> Any:
    """The sum of (-1)^k a[k] / z^k with a[k + 1] / a[k] = (4 order^2 - (2k + 1)^2) / (8 (k + 1))."""
    total, term = jnp.ones_like(z), jnp.ones_like(z)
    for k in range(_TERMS):
        term = term * ((2 * k + 1)**2 - 4 * order**2) / (8 * (k + 1)) / z
        total = total + term
    return total


def _along_last(values: np.ndarray, x: Any) -> np.ndarray:
    """A vector in the dtype of x, with axes to broadcast with it along its last axis."""
    return values.astype(x.dtype).reshape(*[1] * (x.ndim - 1), -1)


def _of_first_kind(order: int, x: Any) -> tuple[Any, Any]:
    """I[order](z) for x >= 0 over a factor, and the factor's root: it may be finite where the factor is not."""
    small = jnp.minimum(x, _FAR)[..., None] * math.sqrt(0.5)
    values = _hyperbolic(order, small * _along_last(_COSINES, small))
    near = jnp.sum(values * _along_last(_COSINES**order / _NODES, values), axis=-1)
    y = jnp.maximum(x, _FAR)
    part, root = y * math.sqrt(0.5), jnp.sqrt(2 * math.pi * y)
    far = _phased(1 / root, part - math.pi / 8) * _asymptotic(order, lax.complex(part, part))
    return jnp.where(x < _FAR, near, far), jnp.where(x < _FAR, 1, jnp.exp(0.5 * part))


def _small_slopes(x: Any) -> tuple[Any, Any]:
    """ber' and bei' for |x| <= 1, by the derivative of the sum of (i q)^k / k!^2, q = (x / 2)^2: DLMF 10.65.1."""
    half = x / 2
    q = half * half
    real, imag = 0.0, 0.0
    for k in range(10, 0, -1):
        size = half * q**(k - 1) * (k / math.factorial(k)**2)
        sign = (1, 1, -1, -1)[k % 4]
        real, imag = (real + sign * size, imag) if k % 2 == 0 else (real, imag + sign * size)
    return real, imag


def _of_second_kind(order: int, x: Any) -> Any:
    """K[order](z) for x >= 1, without its factor exp(-x / sqrt 2)."""
    part = jnp.maximum(x, 1)[..., None] * math.sqrt(0.5)
    reach = 1 + 40 / part   # where exp(-part cosh t) is negligible
    end = jnp.log(reach + jnp.sqrt((reach - 1) * (reach + 1)))
    t = end * _along_last(np.linspace(0, 1, _STEPS), end)
    weights = np.full(_STEPS, 1 / (_STEPS - 1))
    weights[0] /= 2
    rest = 2 * jnp.sinh(t / 2)**2   # cosh t - 1 without cancellation
    terms = _phased(jnp.exp(-part * rest) * (1 + rest if order else 1), -part * (rest + 1))
    return jnp.sum(terms * jnp.astype(end * _along_last(weights, end), terms.dtype), axis=-1)


def _small_second_kind(order: int, x: Any) -> tuple[Any, Any]:
    """ker and kei, or their derivatives, for 0 < x <= 1: DLMF 10.65.3 to 10.65.5, with q = (x / 2)^2 and x / 2.

    Of K0(z) = sum (psi(k + 1) - log(z / 2)) (z^2 / 4)^k / k!^2, where the angle of log z is pi / 4."""
    half = x / 2
    log, q = jnp.log(x) - math.log(2), half * half   # not the logarithm of the half, which may be 0
    real, imag = (-1 / x, jnp.zeros_like(x)) if order else (0.0, 0.0)
    for k in range(order, 11):
        harmonic = sum(1 / n for n in range(1, k + 1)) - float(np.euler_gamma)
        value, turn = harmonic - log, -math.pi / 4
        if order:   # the derivatives of x^(2k) times these, over x^(2k - 1)
            value, turn = 2 * k * value - 1, 2 * k * turn
        size = half / 2 * q**(k - 1) if order else q**k
        size = size * ((1, 1, -1, -1)[k % 4] / math.factorial(k)**2)
        along, across = (value, turn) if k % 2 == 0 else (-turn, value)
        real, imag = real + size * along, imag + size * across
    return real, imag


def _first(order: int, x: Any) -> tuple[Any, Any]:
    """ber and bei, or their derivatives."""
    value, growth = _of_first_kind(order, jnp.abs(x))
    value = value * _EIGHTH if order else value
    real, imag = value.real * growth * growth, value.imag * growth * growth
    if not order:
        return real, imag
    small = jnp.abs(x) < 1     # where ber' is the difference of almost equal parts
    near_real, near_imag = _small_slopes(jnp.where(small, x, 0))
    sign = jnp.copysign(1, x)
    return jnp.where(small, near_real, sign * real), jnp.where(small, near_imag, sign * imag)


def _second(order: int, x: Any) -> tuple[Any, Any]:
    """ker and kei, or their derivatives; NaN below 0."""
    value = _of_second_kind(order, x) * (1 if not order else -_EIGHTH)
    decay = jnp.exp(-x * math.sqrt(0.5))
    real, imag = _small_second_kind(order, jnp.where((x > 0) & (x < 1), x, 1))
    real, imag = jnp.where(x < 1, real, value.real * decay), jnp.where(x < 1, imag, value.imag * decay)
    at_zero = (-np.inf, 0.0) if order else (np.inf, -math.pi / 4)
    outside = (x < 0) | jnp.isnan(x)
    ends = [jnp.where(x == 0, z, jnp.where(x == np.inf, 0.0, v)) for z, v in zip(at_zero, (real, imag), strict=True)]
    return tuple(jnp.where(outside, np.nan, v) for v in ends)


def _with_derivatives(parts: Callable[[int, Any], tuple[Any, Any]]) -> tuple[Any, Any]:
    """The pair of functions w = (real, imaginary part), and the pair w', with w'' = i w - w' / x."""
    values, slopes = (custom_jvp(functools.partial(in_64_bits, functools.partial(parts, k))) for k in (0, 1))

    def rate(primals: Any, tangents: Any) -> Any:
        (x,), (t,) = primals, tangents
        rise = slopes(x)
        return values(x), tuple(t * r for r in rise)

    def bend(primals: Any, tangents: Any) -> Any:
        (x,), (t,) = primals, tangents
        (real, imag), rise = values(x), slopes(x)
        by_x = [jnp.where(x == 0, limit, r / jnp.where(x == 0, 1, x)) for r, limit in zip(rise, (0.0, 0.5), strict=True)]
        return rise, (t * (-imag - by_x[0]), t * (real - by_x[1]))

    values.defjvp(rate)
    slopes.defjvp(bend)
    return values, slopes


_FIRST, _FIRST_SLOPE = _with_derivatives(_first)
_SECOND, _SECOND_SLOPE = _with_derivatives(_second)


def _part(name: str, pair: Any, which: int, x: Any) -> Any:
    x, = floats(name, x)
    return pair(x)[which]


def ber(x: Any) -> Any:
    """Kelvin's function ber(x), the real part of J0(x exp(3 pi i / 4)). Right to 1e-13 (float64) of |ber + i bei|.

    >>> round(float(ber(1.0)), 4)
    0.9844
    """
    return _part("ber", _FIRST, 0, x)


def bei(x: Any) -> Any:
    """Kelvin's function bei(x), the imaginary part of J0(x exp(3 pi i / 4)); errors as of ber.

    >>> round(float(bei(1.0)), 4)
    0.2496
    """
    return _part("bei", _FIRST, 1, x)


def berp(x: Any) -> Any:
    """The derivative of ber.

    >>> round(float(berp(1.0)), 4)
    -0.0624
    """
    return _part("berp", _FIRST_SLOPE, 0, x)


def beip(x: Any) -> Any:
    """The derivative of bei.

    >>> round(float(beip(1.0)), 4)
    0.4974
    """
    return _part("beip", _FIRST_SLOPE, 1, x)


def ker(x: Any) -> Any:
    """Kelvin's function ker(x), the real part of K0(x exp(i pi / 4)); infinite at 0, NaN below. Errors as of ber.

    >>> round(float(ker(1.0)), 4)
    0.2867
    """
    return _part("ker", _SECOND, 0, x)


def kei(x: Any) -> Any:
    """Kelvin's function kei(x), the imaginary part of K0(x exp(i pi / 4)); NaN below 0. Errors as of ber.

    >>> round(float(kei(1.0)), 4)
    -0.495
    """
    return _part("kei", _SECOND, 1, x)


def kerp(x: Any) -> Any:
    """The derivative of ker.

    >>> round(float(kerp(1.0)), 4)
    -0.6946
    """
    return _part("kerp", _SECOND_SLOPE, 0, x)


def keip(x: Any) -> Any:
    """The derivative of kei.

    >>> round(float(keip(1.0)), 4)
    0.3524
    """
    return _part("keip", _SECOND_SLOPE, 1, x)


def kelvin(x: Any) -> tuple[Any, Any, Any, Any]:
    """ber + i bei, ker + i kei and the derivatives of both, complex.

    >>> [round(float(v.real), 4) for v in kelvin(1.0)]
    [0.9844, 0.2867, -0.0624, -0.6946]
    """
    x, = floats("kelvin", x)
    x = jnp.astype(x, np.float32) if x.dtype.itemsize == 2 else x     # there are no complex halves
    return tuple(lax.complex(real, imag) for real, imag in (
        (ber(x), bei(x)), (ker(x), kei(x)), (berp(x), beip(x)), (kerp(x), keip(x))))
