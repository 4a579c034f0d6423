"""Struve functions: by power series, or by Bessel functions and what is left, whichever cancels less.

H[v] - Y[v] is an integral over exp(-x t) (1 + t^2)^(v - 1/2), DLMF 11.5.2, which the double exponential rule of H. Takahasi and
M. Mori (Publ. RIMS 9, 1974) takes; I[-v] - L[v] has an asymptotic series, DLMF 11.6.2.
"""
from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

import numjet.numpy as jnp
from numjet.control.loops.while_loop import fori_loop
from numjet.scipy.special import bessel_core, modified_bessel, ordinary_bessel
from numjet.scipy.special.elementary import _rgamma
from numjet.scipy.special.fixed_orders import fixed_orders, largest, wide
from numjet.scipy.special.gamma_family import floats
from numjet.scipy.special.ordinary_bessel import _signed
from numjet.scipy.special.whole_numbers import whole_below_1

_SERIES_TERMS, _FAR_TERMS, _FAR_START = 90, 40, 40.0
_STEP = 0.1
_PLACES = np.arange(-40, 54) * _STEP
_NODES = np.exp(_PLACES - np.exp(-_PLACES))
_LOG_WEIGHTS = np.log(_STEP * (1 + np.exp(-_PLACES))) + np.log(_NODES) - _NODES  # as logarithms: the rest may be huge


def _first_term(v: Any, x: Any) -> Any:
    """(x / 2)^(v + 1) / (Gamma(3/2) Gamma(v + 3/2))."""
    return jnp.exp((v + 1) * jnp.log(0.5 * x)) * _rgamma(v + 1.5) * (2 / math.sqrt(math.pi))


def _series(v: Any, x: Any, sign: int) -> tuple[Any, Any]:
    """DLMF 11.2.1 and 11.2.2, and the size of its largest term."""
    square = sign * 0.25 * x * x

    def step(k: Any, state: Any) -> Any:
        term, total, most = state
        k = jnp.astype(k, x.dtype)
        bottom = (k + 1.5) * (k + v + 1.5)
        term = term * square / jnp.where(bottom == 0, 1, bottom)
        return term, total + term, jnp.maximum(most, jnp.abs(term))

    one = jnp.ones_like(x)
    term, total, most = fori_loop(0, _SERIES_TERMS, step, (one, one, one))
    first = _first_term(v, x)
    return first * total, jnp.abs(first) * (most + jnp.abs(term) / jnp.finfo(x.dtype).eps)


def _rest(v: Any, x: Any) -> Any:
    """H[v] - Y[v], DLMF 11.5.2."""
    nodes, logs = jnp.asarray(_NODES, x.dtype), jnp.asarray(_LOG_WEIGHTS, x.dtype)
    scale = (v - 1) * jnp.log(0.5 * x)

    def step(i: Any, total: Any) -> Any:
        return total + jnp.exp(logs[i] + (v - 0.5) * jnp.log1p(jnp.square(nodes[i] / x)))

    return fori_loop(0, len(_NODES), step, jnp.zeros_like(x)) * jnp.exp(scale) * _rgamma(v + 0.5) / math.sqrt(math.pi)


def _far_modified(v: Any, x: Any) -> Any:
    """L[v] - I[-v], DLMF 11.6.2, up to the smallest term."""
    by = 4 / (x * x)

    def step(k: Any, state: Any) -> Any:
        term, total, least = state
        k = jnp.astype(k, x.dtype)
        new = -term * by * (k + 0.5) * (v - 0.5 - k)
        new = jnp.where((jnp.abs(new) <= least) | (k < jnp.abs(v)), new, 0)
        return new, total + new, jnp.where(k < jnp.abs(v), least, jnp.abs(new))

    one = jnp.ones_like(x)
    total = fori_loop(0, _FAR_TERMS, step, (one, one, jnp.full_like(x, jnp.inf)))[1]
    return -jnp.exp((v - 1) * jnp.log(0.5 * x)) * _rgamma(v + 0.5) / math.sqrt(math.pi) * total


def _value(v: Any, x: Any, large: bool, sign: int) -> Any:
    size = jnp.abs(x)
    usable = (size > 0) & jnp.isfinite(size) & jnp.isfinite(v)
    order, safe = jnp.where(usable, v, 0), jnp.where(usable, size, 1)
    near, most = _series(order, jnp.minimum(safe, 2 * _FAR_START), sign)
    half = whole_below_1(order + 1.5)  # then Bessel functions alone, DLMF 11.4.3 and 11.4.4
    if sign < 0:
        wave, rest = ordinary_bessel._y_value(order, safe, large), jnp.where(half, 0, _rest(order, safe))
        use_series = ~half & (safe < 2 * _FAR_START) & ~(most >= jnp.abs(wave) + jnp.abs(rest))
        out = jnp.where(use_series, near, wave + rest)
    else:
        far = half | (safe > jnp.maximum(_FAR_START, 0.5 * jnp.abs(order)))
        x_far = jnp.where(far, safe, 2 * _FAR_START)
        rest = jnp.where(half, 0, _far_modified(order, x_far))
        out = jnp.where(far, modified_bessel._i_value(-order, x_far, large, False) + rest, near)
    sign_of_pole = jnp.sign(_rgamma(jnp.where(v < -1, v, 0) + 1.5))
    at_zero = jnp.where(v > -1, 0, jnp.where(v == -1, 2 / math.pi, sign_of_pole * jnp.inf))
    at_zero = jnp.where((v < -1) & (sign_of_pole == 0), 0, at_zero)
    at_infinity = jnp.where(v < 1, 0, jnp.where(v == 1, 2 / math.pi, jnp.inf)) if sign < 0 else jnp.inf
    out = jnp.where(size == 0, at_zero, jnp.where(jnp.isinf(size), at_infinity, out))
    return jnp.where(jnp.isnan(v + x) | jnp.isinf(v), jnp.nan, _signed(v + 1, x, out))


@functools.cache
def _struve(large: bool, sign: int) -> Callable[..., Any]:
    def slope(out: Any, v: Any, x: Any) -> Any:
        """DLMF 11.4.27 and 11.4.29, halved with what the recurrence of the orders gives."""
        f, size = _struve(large, sign), jnp.where(x == 0, 1, jnp.abs(x))
        power = jnp.exp(v * jnp.log(0.5 * size)) * _rgamma(v + 1.5) / math.sqrt(math.pi)
        power = jnp.where(x == 0, jnp.where(v == 0, 2 / math.pi, 0), _signed(v, x, power))
        return 0.5 * (f(v - 1, x) + sign * f(v + 1, x) + power)
    return fixed_orders("struve" if sign < 0 else "modstruve", lambda v, x: _value(v, x, large, sign), slope)


def _public(name: str, sign: int, v: Any, x: Any) -> Any:
    bound = largest(v) + 1
    v, x = floats(name, v, x)
    return _struve(bound > bessel_core.LARGE_ORDER, sign)(*wide(v, x)).astype(x.dtype)


def struve(v: Any, x: Any) -> Any:
    """Struve's function H[v](x) of real v and x; NaN for negative x, but for whole v.

    v and x are broadcast; floats of any dtype. Derivatives of any order to x; NotImplementedError for one to v. ValueError for
    complex numbers. Error: at most 200 eps for |v| <= 10, relative to the larger of |H[v]| and |Y[v]| where it oscillates.

    >>> round(float(struve(0.0, 1.0)), 4)
    0.5687
    """
    return _public("struve", -1, v, x)


def modstruve(v: Any, x: Any) -> Any:
    """The modified Struve function L[v](x); else as struve.

    >>> round(float(modstruve(0.0, 1.0)), 4)
    0.7102
    """
    return _public("modstruve", 1, v, x)
