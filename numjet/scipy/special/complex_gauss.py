"""Gauss's hypergeometric function 2F1 of complex numbers, with real parameters.

By Pfaff's transformation (DLMF 15.8.1) every point is in the disc of radius 1 about 1, or near 0, where the power series
converges fast. In the disc, Taylor series of the differential equation lead there from exp(pi i / 3), which is as far from 0
as from 1, each by half of the distance to the nearer one, or by less for larger parameters (J. Pearson, S. Olver and M. Porter,
"Numerical methods for the computation of the confluent and Gauss hypergeometric functions", 2017). All in double-double
arithmetic where digits cancel. Errors are measured against mpmath in tests/scipy/test_special_complex_hypergeometric.py.
"""
from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numjet.numpy as jnp
from numjet import lax
from numjet.control.loops.while_loop import while_loop
from numjet.foundation import tree
from numjet.foundation.config import numpy_dtype_promotion
from numjet.scipy.special.complex_bessel import order_and_point
from numjet.scipy.special.double_double import DoubleDouble, alike, double_double, nearest, select
from numjet.scipy.special.fixed_orders import fixed_orders
from numjet.scipy.special.gamma_values import gamma_of_double, reciprocal_of_double
from numjet.scipy.special.summation import summed
from numjet.scipy.special.whole_numbers import whole_below_1

_NEAR, _MOST_TERMS, _TAYLOR = 0.75, 3000, 500    # the power series' disc; terms of series, at most
_HIGHEST_DEGREE, _LARGEST = 20000, 1e300         # of polynomials; of points, whose reciprocals are no subnormal numbers
_CONNECTED, _SPLIT, _CANCELS = 0.75, 0.05, 10.0   # DLMF 15.8.2 and 15.8.4: radius, distance to whole numbers, lost digit
_MODERATE = 80.0                                  # parameters whose gamma functions may be multiplied
_MOST_LOST = 3.5                                  # the logarithm of what terms of Taylor series may exceed the value by
_SMALL, _WIDEST = 4.0, 500.0                      # parameters of which float64 does, and of which there are too many steps
_SMALLER, _SMALL_BESIDE = 0.8, 1e-3               # what Euler's transformation is for; what Pfaff's loses 3 digits of
_MOST_CHANGED = 1e8                               # by twice the digits: double the digits of that are lost, of 32
_CORNER = complex(0.5, 0.5 * math.sqrt(3))
_MIXED = numpy_dtype_promotion("standard")        # parameters are real and points complex, whatever programs may mix


def _least(x: Any) -> float:
    """Sizes of terms that no longer matter beside 1, in arithmetic of the type of x."""
    return 1e-33 if isinstance(x, DoubleDouble) else 1e-18


def _series(a: Any, b: Any, c: Any, z: Any) -> tuple[Any, Any, Any]:
    """(The sum of (a)_n (b)_n / (c)_n z^n / n!, until its terms no longer matter; z times its derivative; the sum of sizes)."""
    least = _least(z)
    p, q, r, size = nearest(a), nearest(b), nearest(c), jnp.abs(nearest(z))

    def step(state: Any) -> Any:
        n, term, total, change, sizes = state
        term = term * ((a + n) / (c + n) * ((b + n) / (n + 1))) * z
        return n + 1, term, total + term, change + term * (n + 1), sizes + jnp.abs(nearest(term))

    def active(state: Any) -> Any:
        n, term, total = state[0], nearest(state[1]), nearest(state[2])
        falls = (size * jnp.abs((p + n) * (q + n)) < 0.95 * jnp.abs((r + n) * (n + 1))) & (n > -r)
        done = falls & (jnp.abs(term) <= least * jnp.abs(total)) | (term == 0)
        return ~done & jnp.isfinite(total)
    one = alike(jnp.ones_like(nearest(z)), z)
    found: tuple[Any, Any, Any] = summed(active, step, (one, one, one - one, jnp.ones_like(size)), _MOST_TERMS)
    return found


def _polynomial(a: Any, b: Any, c: Any, z: Any) -> Any:
    """The finite sum where a or b is 0, -1, ..."""
    a, b, c, z = (double_double(v) for v in (a, b, c, z))

    def step(state: Any) -> Any:
        n, term, total = state
        top = (a + n) * (b + n)
        ends = top.high == 0
        bottom = tree.tree_map(lambda v: jnp.where(ends, 1, v), (c + n) * (n + 1))
        term = term * (top / bottom) * z
        return n + 1, term, total + term
    one = double_double(jnp.ones_like(z.high))
    active = lambda state: (state[1].high != 0) & jnp.isfinite(state[2].high)
    return summed(active, step, (one, one), _HIGHEST_DEGREE)[0].high


def _taylor(a: Any, b: Any, c: Any, gap: Any, value: Any, slope: Any, h: Any) -> tuple[Any, Any]:
    """Value and slope at z + h by the Taylor series about z = 1 - gap, whose terms are scaled by powers of h."""
    least = _least(h)
    z = -gap + 1
    scale = h / (z * gap)
    curve, rise, level = h * scale, (gap - z) * scale, (c - z * (a + b + 1)) * scale
    moves = nearest(h) != 0

    def term(state: Any) -> Any:
        n, u, following, total, change, largest = state
        new = (u * curve * ((a + n) * (b + n)) - following * (rise * n + level) * (n + 1)) / ((n + 2) * (n + 1))
        largest = jnp.maximum(largest, jnp.abs(nearest(new)))
        return n + 1, following, new, total + new, change + new * (n + 2), largest

    def unfinished(state: Any) -> Any:
        n, u, following, *_, largest = state
        return (n < _TAYLOR) & jnp.any(moves & (jnp.abs(nearest(u)) + jnp.abs(nearest(following)) > least * largest))
    first = slope * h
    start = (jnp.zeros((), nearest(a).dtype), value, first, value + first, first, jnp.abs(nearest(value)))
    *_, total, change, _ = while_loop(unfinished, term, start)
    return total, change / jnp.where(moves, nearest(h), 1)


def _walk(a: Any, b: Any, c: Any, points: Any, start: Any, value: Any, slope: Any) -> Any:
    """The value at 1 less the last one of two points, from value and slope at 1 - start, by way of the first of them."""
    sizes = (jnp.abs(nearest(v)) for v in (a, b, c, c - a, c - b))
    share = jnp.minimum(0.5, 1 - jnp.exp(-_MOST_LOST / (functools.reduce(jnp.maximum, sizes) + 1)))

    def step(state: Any) -> Any:
        here, passed, value, slope = state
        goal = jnp.where(passed, points[1], points[0])
        rest = goal - here
        reach, distance = share * jnp.minimum(jnp.abs(here), jnp.abs(1 - here)), jnp.abs(rest)
        arrives = reach >= distance
        following = jnp.where(arrives, goal, here + rest * (reach / jnp.where(arrives, 1, distance)))
        center = alike(here, value)
        value, slope = _taylor(a, b, c, center, value, slope, center - following)
        return following, passed | arrives, value, slope
    unfinished = lambda state: jnp.any(~state[1] | (state[0] != points[1]))
    return while_loop(unfinished, step, (start, jnp.zeros(start.shape, bool), value, slope))[2]


def _beside_1(a: Any, b: Any, c: Any, z: Any, gap: Any) -> Any:
    """2F1 at z = 1 - gap in the upper half plane, |gap| <= 1, by way of exp(pi i / 3), or of its series near 0; in arithmetic
    of the parameters' type."""
    near = jnp.abs(z) <= _NEAR
    start = jnp.where(near, gap, 1 - 0.5 * _CORNER)
    first = select(near, alike(z, a), -alike(start, a) + 1)
    value, change, _ = _series(a, b, c, first)
    slope = change / jnp.where(nearest(first) == 0, 1, nearest(first))
    points = jnp.where(near, gap, 1 - _CORNER), gap
    return nearest(_walk(a, b, c, points, start, value, slope))


def _accurately(a: Any, b: Any, c: Any, z: Any, gap: Any, wide: Any) -> Any:
    """The same where digits cancel: where `wide` in double-double arithmetic, of which b is a number.

    The change that this makes tells how many digits are lost; NaN where it leaves too few."""
    largest = functools.reduce(jnp.maximum, (jnp.abs(v) for v in (a, b.high, c)))
    wide, usable = wide | (largest > _SMALL), largest < _WIDEST
    a, c = jnp.where(usable, a, 0), jnp.where(usable, c, 1)
    narrow = _beside_1(a, b.high, c, z, gap)
    p, q, r = (select(wide, double_double(v), double_double(jnp.full_like(c, w))) for v, w in ((a, 0), (b, 0), (c, 1)))
    value = _beside_1(p, q, r, jnp.where(wide, z, 0), jnp.where(wide, gap, 1))
    lost = jnp.abs(value - narrow) > _MOST_CHANGED * jnp.abs(value)
    return jnp.where(usable, jnp.where(wide, jnp.where(lost, jnp.nan, value), narrow), jnp.nan)


def _in_plane(a: Any, b: Any, c: Any, z: Any) -> Any:
    """2F1 at z in the upper half plane, not 1: Pfaff's transformation takes it to the lower one.

    It makes a parameter c - b, which loses digits where b is small beside c, and is a double-double number therefore."""
    turned = jnp.abs(z - 1) > 1
    power, other = jnp.minimum(a, b), jnp.maximum(a, b)
    base = 1 - z
    gap = jnp.where(turned, jnp.conj(1 / base), base)
    point = jnp.where(turned, jnp.conj(-z / base), z)
    second = select(turned, double_double(c) - other, double_double(other))
    rounded = turned & (jnp.abs(other) < _SMALL_BESIDE * jnp.abs(c))
    near = (jnp.abs(point) <= _NEAR) & ~rounded
    series, _, sizes = _series(power, jnp.where(near, second.high, 1), c, jnp.where(near, point, 0))
    near = near & (sizes <= _CANCELS * jnp.abs(series))
    connected, value = _connected(a, b, c, z, ~near)
    rest = ~(near | connected)
    power_of_rest, c, point, gap = (jnp.where(rest, v, w) for v, w in ((power, 0), (c, 1), (point, 0), (gap, 1)))
    found = _accurately(power_of_rest, select(rest, second, second - second), c, point, gap, rounded)
    found = jnp.where(near, series, found)
    return jnp.where(connected, value, jnp.where(turned, _power_of_base(z, -power) * jnp.conj(found), found))


def _connected(a: Any, b: Any, c: Any, z: Any, active: Any) -> tuple[Any, Any]:
    """(Where it holds, 2F1 in the upper half plane by series about infinity or 1): DLMF 15.8.2 and 15.8.4.

    Two terms that have poles where b - a, or c - a - b, is whole, and that may cancel."""
    inverse = 1 / jnp.where(active, z, 2)
    outer = jnp.abs(inverse) < jnp.abs(1 - z)
    point, gap = jnp.where(outer, inverse, 1 - z), jnp.where(outer, b - a, c - a - b)
    sizes = jnp.maximum(jnp.maximum(jnp.abs(a), jnp.abs(b)), jnp.maximum(jnp.abs(c), jnp.abs(gap)))
    holds = active & (jnp.abs(point) <= _CONNECTED) & (jnp.abs(gap - jnp.round(gap)) >= _SPLIT) & (sizes < _MODERATE)
    p, q, r, gap = (jnp.where(holds, v, 0.25) for v in (a, b, c, gap))
    point = jnp.where(holds, point, 0)
    pick = lambda v, w: jnp.where(outer, v, w)
    first, _, sizes_of_first = _series(p, pick(p - r + 1, q), 1 - gap, point)
    second, _, sizes_of_second = _series(pick(q, r - p), pick(q - r + 1, r - q), 1 + gap, point)
    log = jnp.log(jnp.where(holds, pick(z, 1 - z), 1))
    log = lax.complex(log.real, pick(log.imag - math.pi, -jnp.abs(log.imag)))   # of -z or of 1 - z, below the cut
    over, scale = reciprocal_of_double, gamma_of_double(r)
    shares = [scale * over(v) * gamma_of_double(way) * over(w) * jnp.exp(power * log)
              for v, w, way, power in ((pick(q, r - p), pick(r - p, r - q), gap, pick(-p, 0)),
                                       (p, pick(r - q, q), -gap, pick(-q, gap)))]
    total = shares[0] * first + shares[1] * second
    terms = jnp.abs(shares[0]) * sizes_of_first + jnp.abs(shares[1]) * sizes_of_second
    return holds & (terms <= _CANCELS * jnp.abs(total)), total


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
    smaller = jnp.abs(r - p) + jnp.abs(r - q) < _SMALLER * (jnp.abs(p) + jnp.abs(q))
    euler = ~pole & (upper != 1) & (whole & ~ends | smaller & (whole | ~ends))
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
