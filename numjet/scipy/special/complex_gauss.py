"""Gauss's hypergeometric function 2F1 of complex numbers, with real parameters.

By Pfaff's transformation (DLMF 15.8.1) every point is in the disc of radius 1 about 1, or near 0, where the power series
converges fast. In the disc, Taylor series of the differential equation lead there from exp(pi i / 3), which is as far from 0
as from 1, each by half of the distance to the nearer one (J. Pearson, S. Olver and M. Porter, "Numerical methods for the
computation of the confluent and Gauss hypergeometric functions", 2017). Errors are measured against mpmath in
tests/scipy/test_special_complex_hypergeometric.py.
"""
from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numjet.numpy as jnp
from numjet import lax
from numjet.control.loops.while_loop import fori_loop, while_loop
from numjet.foundation.config import numpy_dtype_promotion
from numjet.scipy.special.complex_bessel import order_and_point
from numjet.scipy.special.complex_hypergeometric import whole_below_1
from numjet.scipy.special.fixed_orders import fixed_orders
from numjet.scipy.special.gamma_values import gamma_of_double, reciprocal_of_double

_NEAR, _MOST_TERMS, _TAYLOR = 0.75, 3000, 64     # the power series' disc; terms of a Taylor series at half of its radius
_HIGHEST_DEGREE, _LARGEST = 20000, 1e300         # of polynomials; of points, whose reciprocals are no subnormal numbers
_CONNECTED, _SPLIT, _CANCELS = 0.75, 0.05, 10.0   # DLMF 15.8.2 and 15.8.4: radius, distance to whole numbers, lost digit
_SMALL, _CANCELS_BEYOND = 4.0, 1e8                # of larger parameters Taylor series may lose more than this
_MODERATE = 80.0                                  # parameters whose gamma functions may be multiplied
_CORNER = complex(0.5, 0.5 * math.sqrt(3))
_MIXED = numpy_dtype_promotion("standard")        # parameters are real and points complex, whatever programs may mix


def _series(a: Any, b: Any, c: Any, z: Any) -> Any:
    """The sum of (a)_n (b)_n / (c)_n z^n / n!, until its terms no longer matter."""
    def step(state: Any) -> Any:
        n, term, total = state
        term = term * ((a + n) / (c + n) * ((b + n) / (n + 1))) * z
        return n + 1, term, total + term

    def active(state: Any) -> Any:
        n, term, total = state
        falls = (jnp.abs(z) * jnp.abs((a + n) * (b + n)) < 0.95 * jnp.abs((c + n) * (n + 1))) & (n > -c)
        done = falls & (jnp.abs(term) <= 1e-18 * jnp.abs(total)) | (term == 0)
        return ~done & jnp.isfinite(total)
    return _summed(active, step, z, _MOST_TERMS)


def _summed(active: Any, step: Any, z: Any, most: int) -> Any:
    """The sum of a series from the term 1 on, NaN where it goes on after the most terms."""
    one = jnp.ones_like(z)
    state = while_loop(lambda state: (state[0] < most) & jnp.any(active(state)), step, (jnp.zeros((), z.real.dtype), one, one))
    return jnp.where(active(state), jnp.nan, state[2])


def _polynomial(a: Any, b: Any, c: Any, z: Any) -> Any:
    """The finite sum where a or b is 0, -1, ..."""
    def step(state: Any) -> Any:
        n, term, total = state
        top = (a + n) * (b + n)
        term = jnp.where(top == 0, 0, term * (top / jnp.where(top == 0, 1, (c + n) * (n + 1)))) * z
        return n + 1, term, total + term
    return _summed(lambda state: (state[1] != 0) & jnp.isfinite(state[2]), step, z, _HIGHEST_DEGREE)


def _taylor(a: Any, b: Any, c: Any, gap: Any, value: Any, slope: Any, h: Any) -> tuple[Any, Any]:
    """Value and slope at z + h by the Taylor series about z = 1 - gap, whose terms are scaled by powers of h."""
    z = 1 - gap
    scale = h / (z * gap)

    def term(n: Any, state: Any) -> Any:
        u, following, total, change = state
        n = jnp.astype(n, a.dtype)
        middle = (1 - 2 * z) * n + c - (a + b + 1) * z
        new = ((n + a) * (n + b) * u * h - (n + 1) * middle * following) * scale / ((n + 2) * (n + 1))
        return following, new, total + new, change + (n + 2) * new
    first = slope * h
    _, _, total, change = fori_loop(0, _TAYLOR, term, (value, first, value + first, first))
    return total, change / jnp.where(h == 0, 1, h)


def _walk(a: Any, b: Any, c: Any, start: Any, goal: Any, value: Any, slope: Any) -> tuple[Any, Any]:
    """Value and slope at 1 - goal from those at 1 - start, along the line between."""
    def step(state: Any) -> Any:
        here, value, slope = state
        rest = goal - here
        distance = jnp.abs(rest)
        stride = jnp.minimum(1, 0.5 * jnp.minimum(jnp.abs(here), jnp.abs(1 - here)) / jnp.where(distance == 0, 1, distance))
        moves = distance > 0
        h = rest * jnp.where(moves, stride, 0)
        new, new_slope = _taylor(a, b, c, here, value, slope, -h)
        following = jnp.where(stride == 1, goal, here + h)
        return jnp.where(moves, following, here), jnp.where(moves, new, value), jnp.where(moves, new_slope, slope)
    return while_loop(lambda state: jnp.any(state[0] != goal), step, (start, value, slope))[1:]


def _beside_1(a: Any, b: Any, c: Any, gap: Any) -> Any:
    """2F1 at 1 - gap in the upper half plane, |gap| <= 1, by way of exp(pi i / 3)."""
    first = jnp.full_like(gap, 0.5 * _CORNER)
    value, slope = _series(a, b, c, first), a * b / c * _series(a + 1, b + 1, c + 1, first)
    corner = jnp.full_like(gap, 1 - _CORNER)
    value, slope = _walk(a, b, c, 1 - first, corner, value, slope)
    return _walk(a, b, c, corner, gap, value, slope)[0]


def _in_plane(a: Any, b: Any, c: Any, z: Any) -> Any:
    """2F1 at z in the upper half plane, not 1: Pfaff's transformation takes it to the lower one."""
    turned = jnp.abs(z - 1) > 1
    power, other = jnp.minimum(a, b), jnp.maximum(a, b)
    base = 1 - z
    gap = jnp.where(turned, jnp.conj(1 / base), base)
    point = jnp.where(turned, jnp.conj(-z / base), z)
    second = jnp.where(turned, c - other, other)
    near = jnp.abs(point) <= _NEAR
    series = _series(power, jnp.where(near, second, 1), c, jnp.where(near, point, 0))
    connected, value = _connected(a, b, c, z, jnp.abs(z) > _NEAR)
    found = jnp.where(near, series, _beside_1(power, second, c, jnp.where(near | connected, 1 - _CORNER, gap)))
    return jnp.where(connected, value, jnp.where(turned, _power_of_base(z, -power) * jnp.conj(found), found))


def _connected(a: Any, b: Any, c: Any, z: Any, active: Any) -> tuple[Any, Any]:
    """(Where it holds, 2F1 in the upper half plane by series about infinity or 1): DLMF 15.8.2 and 15.8.4.

    Two terms that have poles where b - a, or c - a - b, is whole; elsewhere they keep the digits which Taylor series from
    about 0 lose where parameters are large."""
    inverse = 1 / jnp.where(active, z, 2)
    outer = jnp.abs(inverse) < jnp.abs(1 - z)
    point, gap = jnp.where(outer, inverse, 1 - z), jnp.where(outer, b - a, c - a - b)
    sizes = jnp.maximum(jnp.maximum(jnp.abs(a), jnp.abs(b)), jnp.maximum(jnp.abs(c), jnp.abs(gap)))
    holds = active & (jnp.abs(point) <= _CONNECTED) & (jnp.abs(gap - jnp.round(gap)) >= _SPLIT) & (sizes < _MODERATE)
    p, q, r, gap = (jnp.where(holds, v, 0.25) for v in (a, b, c, gap))
    point = jnp.where(holds, point, 0)
    pick = lambda v, w: jnp.where(outer, v, w)
    first = _series(p, pick(p - r + 1, q), 1 - gap, point)
    second = _series(pick(q, r - p), pick(q - r + 1, r - q), 1 + gap, point)
    log = jnp.log(jnp.where(holds, pick(z, 1 - z), 1))
    log = lax.complex(log.real, pick(log.imag - math.pi, -jnp.abs(log.imag)))   # of -z or of 1 - z, below the cut
    over, scale = reciprocal_of_double, gamma_of_double(r)
    shares = [scale * over(v) * gamma_of_double(way) * over(w) * jnp.exp(power * log)
              for v, w, way, power in ((pick(q, r - p), pick(r - p, r - q), gap, pick(-p, 0)),
                                       (p, pick(r - q, q), -gap, pick(-q, gap)))]
    one, other = shares[0] * first, shares[1] * second
    total = one + other
    most = jnp.where(sizes <= _SMALL, _CANCELS, _CANCELS_BEYOND)
    return holds & (jnp.abs(one) + jnp.abs(other) <= most * jnp.abs(total)), total


def _power_of_base(z: Any, exponent: Any) -> Any:
    """(1 - z)^exponent for z in the upper half plane, so that 1 - z is below the cut."""
    base = 1 - z
    log = lax.complex(jnp.log(jnp.abs(base)), -jnp.atan2(jnp.abs(base.imag), base.real))
    return jnp.exp(exponent * log)


@_MIXED
def _value(a: Any, b: Any, c: Any, z: Any) -> Any:
    """After Euler's transformation (DLMF 15.8.1) where it leads to a finite sum or to smaller parameters."""
    pole = whole_below_1(c)
    ends = (whole_below_1(a) & ((a > c) | ~pole)) | (whole_below_1(b) & ((b > c) | ~pole))
    known = jnp.isfinite(a) & jnp.isfinite(b) & jnp.isfinite(c) & (jnp.abs(z) < _LARGEST)
    usable = known & (~pole | ends) & ((z != 1) | ends)
    p, q, r, upper = (jnp.where(usable, v, 0.25) for v in (a, b, c, lax.complex(z.real, jnp.abs(z.imag))))
    whole = whole_below_1(r - p) | whole_below_1(r - q)
    smaller = jnp.abs(r - p) + jnp.abs(r - q) < jnp.abs(p) + jnp.abs(q)
    euler = ~pole & (upper != 1) & (whole | smaller & ~ends)
    rest = r - p - q
    p, q = jnp.where(euler, r - p, p), jnp.where(euler, r - q, q)
    finite = whole_below_1(p) | whole_below_1(q)
    polynomial = _polynomial(*(jnp.where(finite, v, w) for v, w in ((p, 0), (q, 0), (r, 1), (upper, 0))))
    plane = _in_plane(*(jnp.where(finite, 0.25, v) for v in (p, q, r, upper)))
    found = jnp.where(finite, polynomial, plane)
    found = jnp.where(euler, _power_of_base(jnp.where(euler, upper, 0), rest) * found, found)
    found = jnp.where(jnp.signbit(z.imag), jnp.conj(found), found)
    real = (z.imag == 0) & ((z.real < 1) | finite & ~euler)
    found = lax.complex(found.real, jnp.where(real, 0, found.imag))
    at_1 = _gauss_sum(*(jnp.where(known & ~pole, v, w) for v, w in ((a, 0), (b, 0), (c, 1))))
    found = jnp.where(usable, found, jnp.where(pole, jnp.where(z == 0, 1, jnp.inf), at_1))
    return jnp.where(known, found, jnp.nan)


def _gauss_sum(a: Any, b: Any, c: Any) -> Any:
    """2F1 at 1, DLMF 15.4.20; infinite where the sum diverges."""
    rest = c - a - b
    gammas = gamma_of_double(c) * gamma_of_double(jnp.where(rest > 0, rest, 1))
    return jnp.where(rest > 0, gammas * reciprocal_of_double(c - a) * reciprocal_of_double(c - b), jnp.inf)


_2f1: Callable[..., Any] = fixed_orders(
    "hyp2f1", _value, _MIXED(lambda out, a, b, c, z: a * (b / c) * _2f1(a + 1, b + 1, c + 1, z)))


def hyp2f1(a: Any, b: Any, c: Any, z: Any) -> Any:
    """2F1(a, b; c; z) of real a, b and c and complex z, on the cut beyond 1 as above it.

    >>> complex(hyp2f1(1.0, 1.0, 2.0, jnp.array(1j))).real.__round__(4)
    0.7854
    """
    _, point = order_and_point("hyp2f1", a, z)
    parameters = [order_and_point("hyp2f1", v, z)[0] for v in (a, b, c)]
    return _2f1(*jnp.broadcast_arrays(*parameters, point))
