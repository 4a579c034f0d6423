"""Jacobi's elliptic functions, and Carlson's forms R_C, R_G and R_J."""
from __future__ import annotations

import functools
import math
import operator
from typing import Any

import numjet.numpy as jnp
from numjet.control.custom.custom_jvp import custom_jvp
from numjet.scipy.special import complex_elliptic
from numjet.scipy.special.elliptic import _wide, scaled_up
from numjet.scipy.special.elliptic_duplication import duplicated_rj, rc, rd, rf
from numjet.scipy.special.wide_evaluation import in_64_bits, smooth_in_64_bits

_LANDEN_STEPS = 9


# ------------------------------------------------------------------------------------------- Jacobi's functions

def _amplitude_value(u: Any, m: Any) -> Any:
    """The descending Landen transformation by the arithmetic-geometric mean, DLMF 22.20.3 to 22.20.6."""
    a, b = jnp.ones_like(u), jnp.sqrt(1 - m)
    ratios, scale = [], 1.0
    for _ in range(_LANDEN_STEPS):
        mean = 0.5 * (a + b)
        ratios.append(0.5 * (a - b) / mean)
        a, b, scale = mean, jnp.sqrt(a * b), 2 * scale
    phi = scale * a * u
    for ratio in reversed(ratios):
        phi = 0.5 * (phi + jnp.arcsin(jnp.clip(ratio * jnp.sin(phi), -1, 1)))
    return phi


def _reduced_amplitude(u: Any, m: Any) -> tuple[Any, Any]:
    wrong = ~((m >= 0) & (m <= 1))
    edge = m == 1
    phi = _amplitude_value(u, jnp.where(wrong | edge, 0, m))
    gudermann = jnp.arctan(jnp.sinh(jnp.clip(jnp.where(edge, u, 0), -80, 80)))
    phi = jnp.where(wrong | jnp.isnan(u), jnp.nan, jnp.where(edge, gudermann, phi))
    turns = jnp.round(phi / math.pi)
    return turns, phi - math.pi * turns


@custom_jvp
def _amplitude(u: Any, m: Any) -> tuple[Any, Any]:
    """The amplitude as a whole number of half turns and a rest, in 64 bits: a large u is a phase of few digits else."""
    return in_64_bits(_reduced_amplitude, u, m)


def _delta(phi: Any, m: Any) -> Any:
    return jnp.sqrt(jnp.square(jnp.cos(phi)) + (1 - m) * jnp.square(jnp.sin(phi)))


@_amplitude.defjvp
def _amplitude_jvp(primals: Any, tangents: Any) -> Any:
    (u, m), (tu, tm) = primals, tangents
    turns, rest = _amplitude(u, m)
    delta = _delta(rest, m)
    s, c = jnp.sin(rest), jnp.cos(rest)
    inside = (m >= 0) & (m < 1)
    other = jnp.where(inside, 1 - m, 0.5)
    square = jnp.where(inside, c * c + other * s * s, 1)
    # the derivative of F(phi, m) to m
    by_m = s * s * s / 3 * rd(c * c, jnp.ones_like(s), square)
    whole = jnp.where(turns == 0, 0, 2 * turns / 3 * rd(jnp.zeros_like(s), jnp.ones_like(s), other))
    # at m = 1 the expansion of DLMF 22.10.9
    at_one = 0.25 * (jnp.sinh(u) * jnp.cosh(u) - u)
    by_m = jnp.where(inside, 0.5 * (by_m + whole), jnp.where(m == 1, at_one, jnp.nan))
    return (turns, rest), (jnp.zeros_like(turns), tu * delta - tm * delta * by_m)


def ellipj(u: Any, m: Any) -> tuple[Any, Any, Any, Any]:
    """Jacobi's elliptic functions sn, cn, dn, and the amplitude, of real u and the parameter 0 <= m <= 1 (NaN outside).

    u and m are broadcast; floats of any dtype. Derivatives to both, of any order for m < 1. ValueError for complex numbers.
    Computed in float64; for float64 at most 20 eps off, plus the error of u in the phase.

    >>> [round(float(v), 4) for v in ellipj(1.0, 0.5)]
    [0.803, 0.596, 0.8232, 0.9323]
    """
    (u, m), dtype = _wide("ellipj", u, m)
    turns, rest = _amplitude(u, m)
    edge, sign = m == 1, 1 - 2 * jnp.abs(jnp.fmod(turns, 2))
    sech = 1 / jnp.cosh(jnp.where(edge, u, 0))
    out = (jnp.where(edge, jnp.tanh(jnp.where(edge, u, 0)), sign * jnp.sin(rest)), jnp.where(edge, sech, sign * jnp.cos(rest)),
           jnp.where(edge, sech, _delta(jnp.where(edge, 0, rest), jnp.where(edge, 0, m))), rest + math.pi * turns)
    sn, cn, dn, phi = (v.astype(dtype) for v in out)
    return sn, cn, dn, phi


# ------------------------------------------------------------------------------------------- Carlson's forms

def elliprc(x: Any, y: Any) -> Any:
    """Carlson's degenerate elliptic integral R_F(x, y, y) of x >= 0 or complex: NaN at y = 0, the principal value below.

    Derivatives of any order where x, y > 0. DLMF 19.2.20.

    >>> float(elliprc(1.0, 1.0))
    1.0
    """
    found = complex_elliptic.complex_arguments("elliprc", x, y)
    if found is not None:
        return complex_elliptic.elliprc(*found)
    (x, y), dtype = _wide("elliprc", x, y)
    wrong, singular = (x < 0) | jnp.isnan(x + y), y == 0
    below = y < 0
    a = jnp.where(below, x - y, x)
    b = jnp.abs(y)
    fine = ~(wrong | singular | jnp.isinf(a + b))
    (a, b), (first, second), root = scaled_up(*(jnp.where(fine, v, 1) for v in (a, b)))
    share = jnp.where(fine & below, jnp.sqrt(jnp.where(fine & below, x / jnp.where(below, x - y, 1), 1)), 1)
    out = jnp.where(fine, share * rf(a, b, b, (first, second, second)) / root, 0)
    return jnp.where(wrong | singular, jnp.nan, out).astype(dtype)


def elliprg(x: Any, y: Any, z: Any) -> Any:
    """Carlson's completely symmetric elliptic integral of the second kind, of x, y, z >= 0 or complex. DLMF 19.21.10.

    >>> float(elliprg(1.0, 1.0, 1.0))
    1.0
    """
    found = complex_elliptic.complex_arguments("elliprg", x, y, z)
    if found is not None:
        return complex_elliptic.elliprg(*found)
    (x, y, z), dtype = _wide("elliprg", x, y, z)
    wrong = (jnp.minimum(jnp.minimum(x, y), z) < 0) | jnp.isnan(x + y + z)
    infinite = jnp.isinf(x + y + z)
    low, high = jnp.minimum(jnp.minimum(x, y), z), jnp.maximum(jnp.maximum(x, y), z)
    middle = jnp.maximum(jnp.minimum(jnp.maximum(x, y), z), jnp.minimum(x, y))
    single = middle <= (1e-30 if dtype.itemsize < 8 else 1e-200) * high  # two zeros: half the root of the third
    safe = [jnp.where(wrong | infinite | single, 1, v) for v in (low, high, middle)]
    (a, b, c), (a_root, b_root, c_root), root = scaled_up(*safe)
    bent = rd(a, b, c) * (a - c) * (b - c) / 3
    found = 0.5 * root * (c * rf(a, b, c, (a_root, b_root, c_root)) - bent + a_root * (b_root / c_root))
    out = jnp.where(single, 0.5 * jnp.sqrt(jnp.where(single, high, 1)), jnp.where(infinite, jnp.inf, found))
    return jnp.where(wrong, jnp.nan, out).astype(dtype)


def elliprj(x: Any, y: Any, z: Any, p: Any) -> Any:
    """Carlson's symmetric elliptic integral of the third kind, of x, y, z >= 0, of which one may be 0, and real p != 0.

    The principal value for p < 0, by DLMF 19.20.14. Derivatives of any order for p > 0. B. C. Carlson (1995). Of complex
    numbers, too, where his algorithm holds: none in the left half plane, or x, y, z >= 0, or one of them and a pair of
    conjugates; NaN for others, as in SciPy.

    >>> round(float(elliprj(1.0, 1.0, 1.0, 1.0)), 4)
    1.0
    """
    found = complex_elliptic.complex_arguments("elliprj", x, y, z, p)
    if found is not None:
        return _rj_of_complex(*found)
    (x, y, z, p), dtype = _wide("elliprj", x, y, z, p)
    wrong = (jnp.minimum(jnp.minimum(x, y), z) < 0) | jnp.isnan(x + y + z + p)
    infinite = (x + y == 0) | (y + z == 0) | (z + x == 0)
    wrong = wrong | (p == 0)
    huge = jnp.isinf(x + y + z + p)
    skip = wrong | infinite | huge
    out = _rj(*(jnp.where(skip, 1, v) for v in (x, y, z, p)))
    out = jnp.where(infinite, jnp.inf, jnp.where(huge, 0, out))
    return jnp.where(wrong, jnp.nan, out).astype(dtype)


@smooth_in_64_bits
def _rj(x: Any, y: Any, z: Any, p: Any) -> Any:
    low, high = jnp.minimum(jnp.minimum(x, y), z), jnp.maximum(jnp.maximum(x, y), z)
    middle = jnp.maximum(jnp.minimum(jnp.maximum(x, y), z), jnp.minimum(x, y))
    below, size = p < 0, jnp.abs(p)
    (a, b, c, q), roots, root = scaled_up(low, middle, high, size)
    turned = jnp.where(below, (c * (a + b + q) - a * b) / (c + q), q)
    plain = duplicated_rj(a, b, c, turned)
    product = jnp.where(below, a * b + turned * q, 1)
    extra = 3 * roots[0] * roots[1] * (roots[2] / jnp.sqrt(product)) * rc(product, jnp.where(below, turned * q, 1))
    value = ((turned - c) * plain - 3 * rf(a, b, c, (roots[0], roots[1], roots[2])) + extra) / (c + q)
    return jnp.where(below, value, plain) / root / root / root


def _rj_of_complex(*xs: Any) -> Any:
    """With the principal value for complex numbers that are real ones and p < 0."""
    real = functools.reduce(operator.and_, [v.imag == 0 for v in xs]) & (xs[-1].real < 0)
    return jnp.where(real, elliprj(*(jnp.where(real, v.real, 1) for v in xs)), complex_elliptic.elliprj(*xs))
