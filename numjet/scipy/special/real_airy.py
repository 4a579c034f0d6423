"""Airy's functions on the real line: Taylor series about tabulated points, asymptotic series outside of them.

Between -9.25 and 9.25 the four functions are continued from the nearest multiple of 1/2 by the recurrence that w'' = x w gives
for their Taylor coefficients; beyond, DLMF 9.7.5 to 9.7.12. Growth is kept apart as a power of e, so that Bessel functions of
large order, which are built on these, neither overflow nor underflow on the way.
"""
from __future__ import annotations

import math
from typing import Any

import numpy as np

import numjet.numpy as jnp
from numjet.control.loops.while_loop import fori_loop
from numjet.scipy.special.bessel_tables import AI, AI_SLOPE, BI, BI_SLOPE
from numjet.scipy.special.horner import horner

_STEP, _REACH = 0.5, 9.0
_TAYLOR_TERMS, _FAR_TERMS = 20, 20


def _far_coefficients() -> tuple[list[float], list[float]]:
    """DLMF 9.7.2: u_k and v_k."""
    u, v = [1.0], [1.0]
    for k in range(1, _FAR_TERMS):
        u.append(u[-1] * (6 * k - 5) * (6 * k - 3) * (6 * k - 1) / ((2 * k - 1) * 216 * k))
        v.append(u[-1] * (6 * k + 1) / (1 - 6 * k))
    return u, v


_U, _V = _far_coefficients()


def _near(x: Any) -> tuple[Any, Any, Any, Any]:
    """Ai, Ai', Bi and Bi' for |x| <= 9.25, by the Taylor series about the nearest tabulated point."""
    row = jnp.round(x / _STEP)
    center, place = row * _STEP, jnp.astype(row + _REACH / _STEP, np.int32)
    h = x - center
    pick = lambda table: jnp.take(np.asarray(table, x.dtype), place, mode="clip")

    def step(k: Any, state: Any) -> Any:
        """Adds the terms k: the coefficients with k (k - 1) a[k] = center a[k - 2] + a[k - 3]."""
        power, functions = state
        kf = jnp.astype(k, x.dtype)
        found = []
        for third, second, first, value, slope in functions:
            new = (center * second + third) / (kf * (kf - 1))
            found.append((second, first, new, value + new * power * h, slope + kf * new * power))
        return power * h, found

    start = [(jnp.zeros_like(x), value, slope, value + slope * h, slope)
             for value, slope in ((pick(AI), pick(AI_SLOPE)), (pick(BI), pick(BI_SLOPE)))]
    _, ((*_, ai, ai_slope), (*_, bi, bi_slope)) = fori_loop(2, _TAYLOR_TERMS + 2, step, (h, start))
    return ai, ai_slope, bi, bi_slope


def _above(x: Any, zeta: Any) -> tuple[Any, Any, Any, Any]:
    """The asymptotic series for x > 9, without exp(-zeta) and exp(zeta)."""
    t, root = 1 / zeta, jnp.sqrt(jnp.sqrt(x))
    below, above = 0.5 / math.sqrt(math.pi), 1 / math.sqrt(math.pi)
    return (below / root * horner(_U, -t), -below * root * horner(_V, -t),
            above / root * horner(_U, t), above * root * horner(_V, t))


def _below(size: Any, zeta: Any) -> tuple[Any, Any, Any, Any]:
    """The asymptotic series for x < -9."""
    square, t, root = -1 / (zeta * zeta), 1 / zeta, jnp.sqrt(jnp.sqrt(size))
    u_even, u_odd = horner(_U[0::2], square), t * horner(_U[1::2], square)
    v_even, v_odd = horner(_V[0::2], square), t * horner(_V[1::2], square)
    diagonal = math.sqrt(0.5)
    sine, cosine = jnp.sin(zeta), jnp.cos(zeta)
    c, s = diagonal * (cosine + sine), diagonal * (sine - cosine)  # of zeta - pi / 4
    by = 1 / math.sqrt(math.pi)
    return (by / root * (c * u_even + s * u_odd), by * root * (s * v_even - c * v_odd),
            by / root * (c * u_odd - s * u_even), by * root * (c * v_even + s * v_odd))


def airy_parts(x: Any) -> tuple[Any, Any, Any, Any, Any]:
    """(Ai e^zeta, Ai' e^zeta, Bi e^-zeta, Bi' e^-zeta, zeta) with zeta = 2/3 x^(3/2) for x > 0, else 0."""
    size = jnp.abs(x)
    inner = size <= _REACH + 0.25
    near = _near(jnp.where(inner, x, 0))
    far = jnp.where(inner | ~jnp.isfinite(x), 20, size)
    power = 2 / 3 * far * jnp.sqrt(far)
    above = jnp.where(x > 0, x, 1)
    zeta = jnp.where(x > 0, 2 / 3 * above * jnp.sqrt(above), 0)
    grown = jnp.exp(jnp.where(inner, zeta, 0))
    scaled = (near[0] * grown, near[1] * grown, near[2] / grown, near[3] / grown)
    found = [jnp.where(inner, n, jnp.where(x > 0, a, b))
             for n, a, b in zip(scaled, _above(far, power), _below(far, power), strict=True)]
    return (*found, zeta)


def values(x: Any) -> tuple[Any, Any, Any, Any]:
    """Ai, Ai', Bi and Bi' of float64.

    >>> round(float(values(jnp.array(1.0))[0]), 4)
    0.1353
    """
    ai, ai_slope, bi, bi_slope, zeta = airy_parts(x)
    decay, growth = jnp.exp(-zeta), jnp.exp(0.5 * zeta)  # in two parts: their product may be finite where exp(zeta) is not
    high, low = x == jnp.inf, x == -jnp.inf
    at_ends = lambda v, right, left: jnp.where(high, right, jnp.where(low, left, jnp.where(jnp.isnan(x), jnp.nan, v)))
    return (at_ends(ai * decay, 0, 0), at_ends(ai_slope * decay, 0, jnp.nan),
            at_ends(bi * growth * growth, jnp.inf, 0), at_ends(bi_slope * growth * growth, jnp.inf, jnp.nan))


def scaled_values(x: Any) -> tuple[Any, Any, Any, Any]:
    """Ai and Ai' times exp(zeta), Bi and Bi' times exp(-zeta), of float64.

    >>> round(float(scaled_values(jnp.array(1.0))[0]), 4)
    0.2635
    """
    ai, ai_slope, bi, bi_slope, _ = airy_parts(x)
    fine = jnp.isfinite(x)
    tidy = lambda v, wrong, end: jnp.where(wrong | jnp.isnan(x), jnp.nan, jnp.where(fine, v, end))
    return (tidy(ai, x < 0, 0), tidy(ai_slope, x < 0, -jnp.inf),
            tidy(bi, False, 0), tidy(bi_slope, x == -jnp.inf, jnp.inf))
