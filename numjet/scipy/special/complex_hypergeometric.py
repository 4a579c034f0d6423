"""Confluent hypergeometric functions 0F1 and 1F1 of complex numbers, with real parameters.

0F1 is a power series, and beyond a modified Bessel function. 1F1 is a power series where its terms do not cancel; its
asymptotic expansion far out; and between, Taylor series of Kummer's equation along the ray from 0 (J. Pearson, S. Olver and
M. Porter, "Numerical methods for the computation of the confluent and Gauss hypergeometric functions", 2017). Errors are
measured against mpmath in tests/scipy/test_special_complex_hypergeometric.py.
"""
from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

import numjet.numpy as jnp
from numjet import lax
from numjet.control.loops.while_loop import fori_loop, while_loop
from numjet.core.trace import aval_of, is_array_like
from numjet.foundation import dtypes
from numjet.foundation.config import numpy_dtype_promotion
from numjet.lax.elementwise import special
from numjet.scipy.special.complex_bessel import LARGEST_ORDER, all_kinds, order_and_point
from numjet.scipy.special.fixed_orders import fixed_orders
from numjet.scipy.special.gamma_family import gammasgn
from numjet.scipy.special.gamma_values import reciprocal_of_double
from numjet.scipy.special.summation import summed
from numjet.scipy.special.whole_numbers import whole_below_1

_SERIES_0F1 = 24
_CANCELS = 30.0             # times its sum: sizes of the terms of 1F1's series beyond which it is not used
_CANCELS_BELOW = 1e5        # the same for b < -8, where Taylor series lose more
_NO_DIGIT = 1e16            # the same where nothing is left of the sum
_LARGEST = 600.0            # |z| up to which it is tried
_MOST_LOST = 3.4            # the logarithm of what terms of a Taylor series may exceed its sum by
_START, _STEP = 3.0, 2.0    # the first center of a Taylor series, and how far each one leads
_FIRST = 12.0               # times the size of a, the center up to which terms of the power series are moderate
_TAYLOR = 48                # its terms: by a factor of 2/3 at least each, and by that of the exponential
_FAR, _FAR_TERMS = 50.0, 60
_MOST_TERMS, _MOST_STEPS = 5000, 4000
LOWEST = -18.0              # b from which on Taylor series keep digits
_MIXED = numpy_dtype_promotion("standard")   # parameters are real and points complex, whatever programs may mix


def is_complex(z: Any) -> bool:
    """Whether an argument is an array, or a number, of a complex dtype.

    >>> is_complex(1j), is_complex(1.0)
    (True, False)
    """
    return is_array_like(z) and bool(dtypes.issubdtype(aval_of(z).dtype, np.complexfloating))


def _by_halves(log: Any, factor: Any) -> Any:
    """exp(log) factor, which may be finite where exp(log) is not."""
    half = jnp.exp(0.5 * log)
    return half * factor * half


def _real_on_axis(z: Any, out: Any) -> Any:
    return lax.complex(out.real, jnp.where((z.imag == 0) & jnp.isfinite(out.real), 0, out.imag))


# ------------------------------------------------------------------------------------------- 0F1

def _series_0f1(v: Any, z: Any) -> tuple[Any, Any]:
    """(Whether z is near 0 beside v, the power series there and 1 elsewhere), of real or complex z."""
    near = jnp.abs(z) <= jnp.maximum(1.0, 0.25 * jnp.abs(v))
    small = jnp.where(near, z, 0)

    def step(k: Any, state: Any) -> Any:
        term, total = state
        k = jnp.astype(k, v.dtype)
        term = term * small / ((k + 1) * (v + k))
        return term, total + term
    # of all terms but the first, less their factor z / v, which may overflow
    rest = fori_loop(1, _SERIES_0F1, step, (jnp.ones_like(small), jnp.ones_like(small)))[1]
    return near, 1 + small / v * rest


@_MIXED
def _0f1_value(v: Any, z: Any) -> Any:
    """The series up to |z| = 1, DLMF 10.39.9 beyond."""
    usable = ~whole_below_1(v) & jnp.isfinite(z) & jnp.isfinite(v)
    v, point = jnp.where(usable, v, 1), jnp.where(usable, z, 0)
    near, series = _series_0f1(v, point)
    beyond = ~near & (jnp.abs(v - 1) > LARGEST_ORDER)
    root, order = 2 * jnp.sqrt(jnp.where(near, 1, point)), jnp.where(near | beyond, 0, v - 1)
    scaled = jnp.where(beyond, jnp.nan, all_kinds(True, order, root)["iu"])
    far = gammasgn(v) * _by_halves(special.lgamma(v) - order * jnp.log(0.5 * root) + root, scaled)
    return jnp.where(usable, _real_on_axis(z, jnp.where(near, series, far)), jnp.nan)


_0f1: Callable[..., Any] = fixed_orders("hyp0f1", _0f1_value, _MIXED(lambda out, v, z: _0f1(v + 1, z) / v))


def hyp0f1(v: Any, z: Any) -> Any:
    """0F1(; v; z) of real v and complex z.

    >>> complex(hyp0f1(0.5, jnp.array(-1 + 0j))).real.__round__(4)
    -0.4161
    """
    return _0f1(*order_and_point("hyp0f1", v, z))


# ------------------------------------------------------------------------------------------- 1F1

def _series(a: Any, b: Any, z: Any) -> tuple[Any, Any]:
    """The sum of (a)_n / (b)_n z^n / n!, until its terms no longer matter, and the sum of their sizes."""
    size, end = jnp.abs(z), whole_below_1(a)

    def step(state: Any) -> Any:
        n, term, total, sizes = state
        term = jnp.where(end & (a + n >= 0), 0, term * ((a + n) / ((b + n) * (n + 1))) * z)
        return n + 1, term, total + term, sizes + jnp.abs(term)

    def active(state: Any) -> Any:
        n, term, total, _ = state
        falls = (size * jnp.abs(a + n) < 0.9 * jnp.abs(b + n) * (n + 1)) & (n > -b)
        done = falls & (jnp.abs(term) <= 1e-18 * jnp.abs(total)) | (term == 0)
        return ~done & jnp.isfinite(total)

    one = jnp.ones_like(z)
    total, sizes = summed(active, step, (one, one, jnp.ones_like(size)), _MOST_TERMS)
    return total, sizes


def _first_center(a: Any, b: Any) -> tuple[Any, Any]:
    """(The distance to 0 at which Taylor series start, where terms of the power series are moderate, and for b < 0 solutions
    oscillate, as before z^(1 - b) grows beside 1F1, if that is near enough; the distance from which on they do)."""
    turn = jnp.where(b < 0, jnp.square(1 - b) / (4 * jnp.maximum(jnp.abs(0.5 * b - a), 1)), 0)
    return jnp.minimum(_START, jnp.maximum(_FIRST / jnp.maximum(jnp.abs(a), 1), turn)), turn


def loss_along_ray(a: Any, b: Any) -> Any:
    """What `along_ray` multiplies rounding errors with where b < 0, by terms of the power series and by z^(1 - b); else 1.

    >>> float(loss_along_ray(jnp.float32(2.0), jnp.float32(1.0)))
    1.0
    """
    start, turn = _first_center(a, b)
    lost = 2 * (jnp.sqrt(jnp.abs(a) * start) - math.sqrt(_FIRST)) + (1 - b) * jnp.log(jnp.maximum(turn / start, 1))
    return jnp.exp(jnp.where(b < 0, jnp.maximum(lost, 0), 0))


def along_ray(a: Any, b: Any, z: Any, series: Callable[..., Any]) -> Any:
    """1F1 from the series near 0 to real or complex z, by Taylor series of z w'' + (b - z) w' = a w.

    NaN where they are too many, do not converge, or lose all digits to the other solution, z^(1 - b), as for b < -18.

    >>> round(float(along_ray(jnp.float32(1.0), jnp.float32(1.0), jnp.float32(4.0), lambda a, b, z: jnp.exp(z))), 1)
    54.6
    """
    wave = jnp.maximum(jnp.abs(a), 1)   # near x solutions may oscillate with exp(2 i sqrt(-a x))
    goal = jnp.abs(z)
    start = jnp.minimum(goal, _first_center(a, b)[0])
    strides = goal / _STEP + 2 * jnp.sqrt(wave * goal) / _MOST_LOST
    steps = strides + (jnp.maximum(b, 0) + 1) * jnp.log(jnp.maximum(goal / jnp.where(start == 0, 1, start), 1))
    usable = (steps < _MOST_STEPS) & (b > LOWEST)
    a, b, z = jnp.where(usable, a, 0), jnp.where(usable, b, 1), jnp.where(usable, z, 1)
    goal, start, wave = jnp.abs(z), jnp.where(usable, start, 1), jnp.where(usable, wave, 1)
    direction = z / goal
    value, slope = series(a, b, start * direction), a / b * series(a + 1, b + 1, start * direction)
    # By this share of the distance to 0, the other solution, z^(1 - b), has terms that are no larger than 30 times its sum.
    share = jnp.minimum(2 / 3, 1 - jnp.exp(-_MOST_LOST / (jnp.maximum(b, 0) + 1)))

    def taylor(center: Any, value: Any, slope: Any, h: Any) -> tuple[Any, Any]:
        by = 1 / center

        def term(n: Any, state: Any) -> Any:
            """Terms are scaled by powers of h: u[n] is that of h^n."""
            u, following, total, change = state
            n = jnp.astype(n, goal.dtype)
            new = ((n + a) * u * h - (n + 1) * (n + b - center) * following) * h * by / ((n + 1) * (n + 2))
            return following, new, total + new, change + (n + 2) * new
        first = slope * h
        before, last, total, change = fori_loop(0, _TAYLOR, term, (value, first, value + first, first))
        ended = jnp.abs(before) + jnp.abs(last) <= 1e-12 * (jnp.abs(value) + jnp.abs(first))
        return jnp.where(ended, total, jnp.nan), change / jnp.where(h == 0, 1, h)

    def step(state: Any) -> Any:
        here, value, slope = state
        stride = jnp.minimum(jnp.minimum(_STEP, share * here), _MOST_LOST * jnp.sqrt(here / wave))
        following = jnp.minimum(here + stride, goal)
        moves = following > here
        new, new_slope = taylor(here * direction, value, slope, (following - here) * direction)
        return following, jnp.where(moves, new, value), jnp.where(moves, new_slope, slope)
    value = while_loop(lambda state: jnp.any(state[0] < goal), step, (start, value, slope))[1]
    return jnp.where(usable, value, jnp.nan)


def _expansion(first: Any, second: Any, w: Any) -> Any:
    """The sum of (first)_n (second)_n / n! w^-n up to its least term."""
    def step(n: Any, state: Any) -> Any:
        term, total, falls = state
        n = jnp.astype(n, w.real.dtype)
        following = term * ((first + n) * (second + n) / (n + 1)) / w
        falls = falls & (jnp.abs(following) <= jnp.abs(term))
        following = jnp.where(falls, following, 0)
        return following, total + following, falls
    one = jnp.ones_like(w)
    return fori_loop(0, _FAR_TERMS, step, (one, one, jnp.ones(w.shape, bool)))[1]


def _far(a: Any, b: Any, z: Any) -> tuple[Any, Any]:
    """The logarithm of |Gamma(b)| exp(z) and what it is to be multiplied with: DLMF 13.7.2 for Re z >= 0 and Im z >= 0."""
    log = jnp.log(z)
    grows = reciprocal_of_double(a) * _expansion(1 - a, b - a, z) * jnp.exp((a - b) * log)
    rest = reciprocal_of_double(b - a) * _expansion(a, a - b + 1, -z)
    turned = jnp.exp(lax.complex(-a * log.real - z.real, a * (math.pi - log.imag) - z.imag))
    return special.lgamma(b) + z, gammasgn(b) * (grows + rest * turned)


def _by_series(a: Any, b: Any, z: Any) -> tuple[Any, Any]:
    """(Whether the power series keeps its digits, its sum): where a ends it, or its terms do not cancel.

    NaN for polynomials without any."""
    ends = whole_below_1(a)
    tried = ends | (jnp.abs(z) <= _LARGEST)
    series, sizes = _series(jnp.where(tried, a, 0), b, jnp.where(tried, z, 0))
    lost = ends & (sizes > _NO_DIGIT) & (sizes > _NO_DIGIT * jnp.abs(series))
    direct = ends | tried & (sizes <= jnp.where(b < -8, _CANCELS_BELOW, _CANCELS) * jnp.abs(series))
    return direct, jnp.where(lost, jnp.nan, series)


def _right(a: Any, b: Any, z: Any, direct: Any, series: Any) -> tuple[Any, Any]:
    """1F1 for Re z >= 0 and Im z >= 0, as an exponent and a factor of exp of it, from its series where that is direct."""
    spread = jnp.abs(a) + jnp.abs(1 - a) + jnp.abs(b - a) + jnp.abs(a - b + 1)
    far = ~direct & (jnp.abs(z) >= _FAR + spread + spread * spread / 40)   # where 60 terms are as many as are needed
    rest = ~(far | direct)
    p, q, w = (jnp.where(rest, v, w) for v, w in ((a, 0), (b, 1), (z, 1)))
    between = along_ray(p, q, w, lambda a, b, z: _series(a, b, z)[0])
    log, factor = _far(jnp.where(far, a, 1), jnp.where(far, b, 1), jnp.where(far, z, 60))
    return jnp.where(far, log, 0), jnp.where(far, factor, jnp.where(direct, series, between))


@_MIXED
def _1f1_value(a: Any, b: Any, z: Any) -> Any:
    """After Kummer's transformation (DLMF 13.2.39) for Re z < 0, unless only the plain series keeps its digits, or where it
    gives a polynomial."""
    pole, ends = whole_below_1(b), whole_below_1(a)
    polynomial = pole & ends & (a >= b)
    usable = jnp.isfinite(a) & jnp.isfinite(b) & jnp.isfinite(z) & ~pole
    a, safe = jnp.where(usable | polynomial, a, 0), jnp.where(usable, b, 1.5)
    point = jnp.where(usable, lax.complex(z.real, jnp.abs(z.imag)), 1)
    plain, sum_of_plain = _by_series(a, safe, point)
    whole, negative = whole_below_1(safe - a), point.real < 0
    turnable = ~ends & (whole | negative)
    turned = jnp.where(turnable, safe - a, 0), safe, jnp.where(turnable, lax.complex(-point.real, point.imag), 0)   # conj(-z)
    direct, series = _by_series(*turned)
    left = turnable & (whole | direct | ~plain)
    kinds = zip((*turned, direct, series), (a, safe, point, plain, sum_of_plain), strict=True)
    log, factor = _right(*(jnp.where(left, v, w) for v, w in kinds))
    log, factor = jnp.where(left, jnp.conj(log), log), jnp.where(left, jnp.conj(factor), factor)
    out = _by_halves(jnp.where(left, log + point, log), factor)
    out = jnp.where(jnp.signbit(z.imag), jnp.conj(out), out)
    finite = jnp.isfinite(z)
    ended = _series(jnp.where(polynomial, a, 0), jnp.where(polynomial, b, 1.5), jnp.where(polynomial & finite, z, 0))[0]
    out = jnp.where(polynomial, ended, jnp.where(pole & ~jnp.isnan(a), jnp.where(z == 0, 1, jnp.inf), out))
    return jnp.where(finite & ~jnp.isnan(b) & (usable | pole), _real_on_axis(z, out), jnp.nan)


_1f1: Callable[..., Any] = fixed_orders("hyp1f1", _1f1_value, _MIXED(lambda out, a, b, z: a / b * _1f1(a + 1, b + 1, z)))


def hyp1f1(a: Any, b: Any, z: Any) -> Any:
    """1F1(a; b; z) of real a and b and complex z.

    >>> complex(hyp1f1(1.0, 2.0, jnp.array(1j))).real.__round__(4)
    0.8415
    """
    first, point = order_and_point("hyp1f1", a, z)
    second, _ = order_and_point("hyp1f1", b, z)
    return _1f1(*jnp.broadcast_arrays(first, second, point))
