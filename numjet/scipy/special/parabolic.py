"""Parabolic cylinder functions: Weber's equations y'' = (x^2 / 4 + a) y and y'' = (a - x^2 / 4) y with real parameters.

Solutions that do not decay are continued from 0 by Taylor steps, whose errors then do not grow against them. D decays for
positive x: there it is a positive integral for orders below -1 (DLMF 12.5.1), by the trapezoidal rule after t = exp(u), and the
recurrence in the order (DLMF 12.8.1), upwards, in which it is dominant.
"""
from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

import numjet.numpy as jnp
from numjet import lax
from numjet.control.loops.while_loop import fori_loop
from numjet.lax.elementwise import special
from numjet.scipy.special.complex_gamma import loggamma
from numjet.scipy.special.elementary import _rgamma
from numjet.scipy.special.fixed_orders import cos_sin_pi, fixed_orders, wide
from numjet.scipy.special.gamma_family import floats

Pair = tuple[Any, Any]

_TAYLOR_TERMS = 26      # 2**26 / 26! is below half an ulp
_MOST_STEPS = 20_000
_NODES = 400
_NEGLIGIBLE = 42.0      # exp(-42) is
_BISECTIONS = 48
_ROOT_PI = math.sqrt(math.pi)


def _taylor_step(y: Any, slope: Any, potential: tuple[Any, Any, Any], h: Any) -> Pair:
    """y and y' at c + h for y'' = (p + q t + r t^2) y around c; coefficients are multiplied by powers of h as they come."""
    p, q, r = (factor * h ** (k + 2) for k, factor in enumerate(potential))

    def add(i: Any, state: tuple[Any, ...]) -> tuple[Any, ...]:
        last, before, here, after, total, change = state
        k = jnp.astype(i, y.dtype)
        new = (p * here + q * before + r * last) / ((k + 1) * (k + 2))
        return before, here, after, new, total + new, change + (k + 2) * new

    zero, first = jnp.zeros_like(y), slope * h
    total, change = fori_loop(0, _TAYLOR_TERMS - 2, add, (zero, zero, y, first, y + first, first))[-2:]
    return total, jnp.where(h == 0, slope, change / jnp.where(h == 0, 1, h))


def _continued(a: Any, x: Any, sign: int, start: Pair) -> Pair:
    """y and y' at x for y'' = (sign x^2 / 4 + a) y, from the values at 0."""
    size = jnp.max(jnp.abs(x) * (1 + jnp.sqrt(jnp.abs(a)) + 0.5 * jnp.abs(x)), initial=1.0)
    count = jnp.clip(jnp.ceil(0.5 * size), 1, _MOST_STEPS)
    h = x / count

    def step(i: Any, state: Pair) -> Pair:
        here = h * jnp.astype(i, x.dtype)
        return _taylor_step(*state, (a + 0.25 * sign * here * here, 0.5 * sign * here, 0.25 * sign), h)

    return fori_loop(0, jnp.astype(count, np.int32), step, start)


# ------------------------------------------------------------------------------------------- D for positive x

def _end(g: Callable[[Any], Any], peak: Any, away: Any) -> Any:
    """A distance from the peak of g, up to `away`, from which on g is negligible."""
    level = g(peak) - _NEGLIGIBLE

    def halve(_: Any, ends: Pair) -> Pair:
        inside, outside = ends
        middle = 0.5 * (inside + outside)
        more = g(peak + middle) > level
        return jnp.where(more, middle, inside), jnp.where(more, outside, middle)

    return fori_loop(0, _BISECTIONS, halve, (jnp.zeros_like(peak), jnp.broadcast_to(away, peak.shape)))[1]


def _integral(b: Any, x: Any) -> Any:
    """D of order -b for b >= 1 and x >= 0: the integral of exp(b u - t^2 / 2 - x t), t = exp(u), over all u."""
    def g(u: Any) -> Any:
        t = jnp.exp(u)
        return b * u - 0.5 * t * t - x * t

    peak = jnp.log(2 * b / (x + jnp.sqrt(x * x + 4 * b)))
    left, right = _end(g, peak, -1.1 * _NEGLIGIBLE - 10), _end(g, peak, jnp.asarray(_NEGLIGIBLE, x.dtype))
    top, h = g(peak), (right - left) / _NODES

    def add(i: Any, total: Any) -> Any:
        return total + jnp.exp(g(peak + left + h * (jnp.astype(i, x.dtype) + 0.5)) - top)

    total = fori_loop(0, _NODES, add, jnp.zeros_like(x))
    return total * h * jnp.exp(top - 0.25 * x * x - special.lgamma(b))


def _decaying(v: Any, x: Any) -> Pair:
    """D and D' for x >= 0."""
    steps = jnp.maximum(jnp.floor(v) + 2, 0)
    low = v - steps

    def raise_order(i: Any, state: Pair) -> Pair:
        before, here = state
        k = jnp.astype(i, x.dtype)
        after = x * here - (low + k) * before
        return jnp.where(k < steps, here, before), jnp.where(k < steps, after, here)

    before, here = fori_loop(0, jnp.astype(jnp.max(steps, initial=0.0), np.int32), raise_order,
                             (_integral(1 - low, x), _integral(-low, x)))
    return here, v * before - 0.5 * x * here


# ------------------------------------------------------------------------------------------- values

def _growing(v: Any, x: Any) -> Pair:
    """V and V' for x >= 0."""
    return _continued(-v - 0.5, x, 1, (
        math.pi * 2 ** (-0.5 * v) * _rgamma(1 + 0.5 * v) ** 2 * _rgamma(-0.5 * v),
        math.pi * 2 ** (0.5 - 0.5 * v) * _rgamma(0.5 + 0.5 * v) ** 2 * _rgamma(0.5 - 0.5 * v)))


def _finite(*xs: Any) -> list[Any]:
    return [jnp.where(jnp.isfinite(x), x, 0.5) for x in xs]


def _on_both_sides(v: Any, x: Any, own: int) -> Pair:
    """(D, D') for own = 0, (V, V') for own = 1: those of |x|, combined for negative x by DLMF 12.2.15 and 12.2.16."""
    order, place = _finite(v, x)
    size, cosine = jnp.abs(place), cos_sin_pi(order)[0]
    functions = _decaying(order, size), _growing(order, size)
    by_d, by_v = (cosine, math.pi * _rgamma(-order)) if own == 0 else (-cos_sin_pi(order)[1] * _rgamma(order + 1), -cosine)
    value, slope = (jnp.where(place >= 0, functions[own][k], (-1) ** k * (by_d * functions[0][k] + by_v * functions[1][k]))
                    for k in (0, 1))
    return _known((value, slope), v, x)


def _known(values: Pair, v: Any, x: Any) -> Pair:
    """NaN for parameters and arguments that are not finite."""
    value, slope = (jnp.where(jnp.isfinite(v) & jnp.isfinite(x), y, jnp.nan) for y in values)
    return value, slope


def _with_limits(values: Pair, v: Any, x: Any, above: Any, below: Any) -> Pair:
    """Infinities with the signs `above` at inf and `below` at -inf, or 0; slopes have the same sign or, at -inf, the other."""
    sign = jnp.where(x > 0, above, below)
    limit = jnp.where(sign == 0, 0, sign * jnp.inf)
    value, slope = (jnp.where(jnp.isinf(x) & jnp.isfinite(v), y, z)
                    for y, z in zip((limit, jnp.where(x > 0, limit, -limit)), values, strict=True))
    return value, slope


def _d_values(v: Any, x: Any) -> Pair:
    return _with_limits(_on_both_sides(v, x, 0), v, x, 0, jnp.sign(_rgamma(-v)))


def _v_values(v: Any, x: Any) -> Pair:
    return _with_limits(_on_both_sides(v, x, 1), v, x, 1, -cos_sin_pi(v)[0])


def _w_values(a: Any, x: Any) -> Pair:
    parameter, place = _finite(a, x)
    quarter, three = (lax.complex(jnp.full_like(parameter, real), 0.5 * parameter) for real in (0.25, 0.75))
    log = 0.5 * (loggamma(quarter) - loggamma(three)).real
    return _known(_continued(parameter, place, -1, (2 ** -0.75 * jnp.exp(log), -(2 ** -0.25) * jnp.exp(-log))), a, x)


_pbdv = fixed_orders("pbdv", _d_values, lambda out, v, x: (out[1], (0.25 * x * x - v - 0.5) * out[0]))
_pbvv = fixed_orders("pbvv", _v_values, lambda out, v, x: (out[1], (0.25 * x * x - v - 0.5) * out[0]))
_pbwa = fixed_orders("pbwa", _w_values, lambda out, a, x: (out[1], (a - 0.25 * x * x) * out[0]))


def _evaluated(name: str, function: Callable[..., Pair], v: Any, x: Any) -> Pair:
    v, x = floats(name, v, x)
    value, slope = function(*wide(*jnp.broadcast_arrays(v, x)))
    return value.astype(x.dtype), slope.astype(x.dtype)


def pbdv(v: Any, x: Any) -> Pair:
    """The parabolic cylinder function D[v](x) and its derivative to x, for real order and argument.

    Derivatives of any order to x; NotImplementedError for one to v. Relative error 1e-12 for |v| <= 50 and |x| <= 20, of the
    modulus where D oscillates. The limits at infinities.

    >>> [round(float(y), 4) for y in pbdv(0.5, 2.0)]
    [0.534, -0.4125]
    """
    return _evaluated("pbdv", _pbdv, v, x)


def pbvv(v: Any, x: Any) -> Pair:
    """The parabolic cylinder function V[v](x), which grows for positive x, and its derivative to x; as pbdv.

    >>> [round(float(y), 4) for y in pbvv(0.5, 2.0)]
    [1.0211, 0.7053]
    """
    return _evaluated("pbvv", _pbvv, v, x)


def pbwa(a: Any, x: Any) -> Pair:
    """The parabolic cylinder function W(a, x) and its derivative to x; derivatives as of pbdv.

    Where W decays from 0 on, for positive a and x, its relative error grows with exp(pi a): 1e-7 for a = x = 5 in float64.

    >>> [round(float(y), 4) for y in pbwa(0.5, 2.0)]
    [0.1973, -0.3011]
    """
    return _evaluated("pbwa", _pbwa, a, x)
