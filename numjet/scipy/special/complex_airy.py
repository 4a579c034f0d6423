"""Airy's functions of complex numbers: power series about 0, and Bessel functions of order 1/3 and 2/3 (DLMF 9.6).

K and I where Re z >= 0, J and Y elsewhere, each with their growth kept apart. Errors are measured against mpmath in
tests/scipy/test_special_complex_hypergeometric.py.
"""
from __future__ import annotations

import math
from typing import Any

import numjet.numpy as jnp
from numjet import lax
from numjet.foundation.config import numpy_dtype_promotion
from numjet.scipy.special.complex_bessel import all_kinds
from numjet.scipy.special.horner import horner

_NEAR, _TERMS = 1.0, 14   # where the power series is used; its last term is 1e-24
_AT_ZERO = 0.355028053887817239260, 0.258819403792806798405   # Ai(0) and -Ai'(0), DLMF 9.2.3 and 9.2.4
_KNOWN_PHASE = 1e15       # radians, of which nothing is left to sine and cosine beyond
_ROOT_3 = math.sqrt(3)
_MIXED = numpy_dtype_promotion("standard")   # orders are real and points complex, whatever programs may mix


def _series_coefficients() -> tuple[list[float], ...]:
    """Of f, g / z, f' / z^2 and g' by powers of z^3: DLMF 9.4.1 to 9.4.4."""
    f, g = [1.0], [1.0]
    for k in range(1, _TERMS):
        f.append(f[-1] / ((3 * k - 1) * (3 * k)))
        g.append(g[-1] / ((3 * k) * (3 * k + 1)))
    return f, g, [3 * k * c for k, c in enumerate(f)][1:], [(3 * k + 1) * c for k, c in enumerate(g)]


_F, _G, _F_SLOPE, _G_SLOPE = _series_coefficients()


def _near(z: Any) -> tuple[Any, Any, Any, Any]:
    cube, (a, b) = z * z * z, _AT_ZERO
    f, g = a * horner(_F, cube), b * z * horner(_G, cube)
    f_slope, g_slope = a * z * z * horner(_F_SLOPE, cube), b * horner(_G_SLOPE, cube)
    return f - g, f_slope - g_slope, _ROOT_3 * (f + g), _ROOT_3 * (f_slope + g_slope)


def _turn(angle: Any) -> Any:
    return lax.complex(jnp.cos(angle), jnp.sin(angle))


def _orders(zeta: Any) -> tuple[Any, Any]:
    """1/3 and 2/3 along a new leading axis, and the points for each."""
    both = jnp.stack([zeta, zeta])
    first = jnp.full(zeta.shape, 1 / 3, zeta.real.dtype)
    return jnp.stack([first, 2 * first]), both


def _right(w: Any, zeta: Any) -> tuple[Any, Any, Any, Any]:
    """Ai and Ai' times exp(zeta), Bi and Bi' times exp(-|Re zeta|), for Re w >= 0, Im w >= 0."""
    found = all_kinds(True, *_orders(zeta))
    growth = jnp.abs(zeta.real)
    scaled_k = found["ke"]
    # I[-v] = I[v] + 2 / pi sin(pi v) K[v], DLMF 10.27.2; iu is exp(-zeta) I, in the left half plane exp(zeta) I
    sums = (2 * found["iu"] * _turn(jnp.where(zeta.real < 0, -zeta.imag, zeta.imag))
            + _ROOT_3 / math.pi * scaled_k * jnp.exp(-zeta.real - growth) * _turn(-zeta.imag))
    root = jnp.sqrt(w / 3)
    return (root / math.pi * scaled_k[0], -w / (math.pi * _ROOT_3) * scaled_k[1], root * sums[0], w / _ROOT_3 * sums[1])


def _left(u: Any, zeta: Any) -> tuple[Any, Any, Any, Any]:
    """The same at -u for Re u > 0, Im u >= 0, with zeta of u: Ai and Ai' times exp(i zeta), Bi and Bi' times exp(-Im zeta)."""
    found = all_kinds(False, *_orders(zeta))
    j, y = found["ju"], found["yu"]
    root, back = 0.5 * jnp.sqrt(u), _turn(-zeta.real)
    return (root * (j[0] - y[0] / _ROOT_3), 0.5 * u * (j[1] + y[1] / _ROOT_3),
            -root * (j[0] / _ROOT_3 + y[0]) * back, 0.5 * u * (j[1] / _ROOT_3 - y[1]) * back)


@_MIXED
def airy_parts(z: Any) -> tuple[Any, Any, Any, Any, Any, Any]:
    """(Ai e^zeta, Ai' e^zeta, Bi e^-|Re zeta|, Bi' e^-|Re zeta|, zeta) with zeta = 2/3 z^(3/2), and where z is finite.

    >>> complex(airy_parts(jnp.array(0j))[0]).real.__round__(4)
    0.355
    """
    x, y = z.real, jnp.abs(z.imag)
    fine = jnp.isfinite(z) & (jnp.maximum(jnp.abs(x), y) < 1e200)
    left, near = x < 0, jnp.hypot(x, y) < _NEAR
    usable = fine & ~near
    w = lax.complex(jnp.where(usable, jnp.abs(x), 1), jnp.where(usable, y, 0))
    own = 2 / 3 * w * jnp.sqrt(w)                       # of z or conj(z), or where left of the negative of these
    zeta = jnp.where(left & usable, lax.complex(-own.imag, own.real), own)    # of w or -w, which is in the lower half plane
    on_right = _right(jnp.where(left, 1, w), jnp.where(left, 2 / 3, own))
    on_left = _left(jnp.where(left, w, 1), jnp.where(left, own, 2 / 3))
    upper = jnp.signbit(z.imag) == left                 # the value is that at w or -w, else that at the conjugate
    mirror = lambda v: jnp.where(upper, v, jnp.conj(v))
    far = [mirror(jnp.where(left, b, a)) for a, b in zip(on_right, on_left, strict=True)]
    small = jnp.where(near, z, 0.5)
    exponent = jnp.where(near, 2 / 3 * small * jnp.sqrt(small), mirror(zeta))
    scale, shrink = jnp.exp(jnp.where(near, exponent, 0)), jnp.exp(-jnp.abs(jnp.where(near, exponent.real, 0)))
    series = [v * s for v, s in zip(_near(small), (scale, scale, shrink, shrink), strict=True)]
    real = (z.imag == 0) & (x >= 0)
    tidy = lambda v, flat: lax.complex(v.real, jnp.where(flat, 0, v.imag))
    found = [jnp.where(near, a, b) for a, b in zip(series, far, strict=True)]
    flats = (real, real, z.imag == 0, z.imag == 0)
    return (*(tidy(v, flat) for v, flat in zip(found, flats, strict=True)), exponent, fine)


def values(z: Any) -> tuple[Any, Any, Any, Any]:
    """Ai, Ai', Bi and Bi'.

    >>> complex(values(jnp.array(1j))[0]).real.__round__(4)
    0.3315
    """
    *scaled, zeta, fine = airy_parts(z)
    half, growth = jnp.exp(-0.5 * zeta), jnp.exp(0.5 * jnp.abs(zeta.real))   # in two parts: the product may be finite
    found = (scaled[0] * half * half, scaled[1] * half * half, scaled[2] * growth * growth, scaled[3] * growth * growth)
    flat, high = z.imag == 0, (z.imag == 0) & (z.real == jnp.inf)
    nan = jnp.full_like(z.real, jnp.nan)
    ends = (0, 0, jnp.inf, jnp.inf)
    out = [jnp.where(fine, lax.complex(v.real, jnp.where(flat, 0, v.imag)), jnp.where(high, end, lax.complex(nan, nan)))
           for v, end in zip(found, ends, strict=True)]
    ai, ai_slope, bi, bi_slope = out
    return ai, ai_slope, bi, bi_slope


def _leading(z: Any) -> tuple[Any, Any, Any, Any]:
    """The first terms of DLMF 9.7.5 to 9.7.8, scaled: all digits where |z|^(3/2) may overflow.

    NaN on the negative axis, where two terms oscillate, and for Bi where its phase is not known: left, or far from the axis."""
    x, y = z.real, z.imag
    root = jnp.sqrt(jnp.sqrt(z)) * math.sqrt(math.pi)
    phase = jnp.sqrt(jnp.where(x > 0, x, jnp.nan)) * y
    turn = jnp.where(jnp.abs(phase) < _KNOWN_PHASE, _turn(phase), jnp.nan)
    known = jnp.where((x < 0) & (y == 0), jnp.nan, 0.5)
    flat = lambda v: lax.complex(v.real, jnp.where(y == 0, 0, v.imag))
    ai, ai_slope, bi, bi_slope = (known / root, -known / math.pi * root, turn / root, turn / math.pi * root)
    return flat(ai), flat(ai_slope), flat(bi), flat(bi_slope)


def scaled_values(z: Any) -> tuple[Any, Any, Any, Any]:
    """Ai and Ai' times exp(zeta), Bi and Bi' times exp(-|Re zeta|).

    >>> complex(scaled_values(jnp.array(1j))[2]).real.__round__(4)
    0.405
    """
    *scaled, _, fine = airy_parts(z)
    nan = jnp.full_like(z.real, jnp.nan)
    beyond = jnp.isfinite(z) & ~fine
    far = _leading(jnp.where(beyond, z, 1))
    high, ends = (z.imag == 0) & (z.real == jnp.inf), (0, -jnp.inf, 0, jnp.inf)
    ai, ai_slope, bi, bi_slope = (
        jnp.where(fine, v, jnp.where(beyond, leading, jnp.where(high, end, lax.complex(nan, nan))))
        for v, leading, end in zip(scaled, far, ends, strict=True))
    return ai, ai_slope, bi, bi_slope
