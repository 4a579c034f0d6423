"""Hypergeometric functions 1F1 and 2F1 of real numbers.

Power series, asymptotic series and analytic continuation by Taylor series of the differential equation (J. Pearson, S. Olver
and M. Porter, "Numerical methods for the computation of the confluent and Gauss hypergeometric functions", 2017). All in 64
bits, whichever dtype the arguments have, as sums cancel. Derivatives of any order in each argument are made by forward mode
through the loops, in the rule of one function per order, so that reverse mode never transposes a loop. Functions here are of
numbers; arrays go lane by lane.
"""
from __future__ import annotations

import math
from typing import Any

import numpy as np

import numjet.numpy as jnp
from numjet.api.jit_when_eager import jit_when_eager
from numjet.control.loops.scan import scan
from numjet.control.loops.while_loop import fori_loop, while_loop
from numjet.numpy.core.promotion import strong_array
from numjet.scipy.special import complex_gauss, complex_hypergeometric
from numjet.scipy.special.gamma_family import _is_pole, floats, gamma
from numjet.scipy.special.wide_evaluation import smooth_in_64_bits

_TERMS = 3000     # of power series, at most
_TAYLOR = 110     # terms of a Taylor series at half of its radius
_FEWER, _SMALL = 72, 2.0   # as many do where no parameter is larger than the second
_EXPANSION = 40   # terms of an asymptotic series
_INFINITE = 1e4   # arguments from which on 1F1 is infinite, unless parameters are so large
_CANCELS = 1e3    # times its sum, the largest term from which on Taylor series replace the series of 1F1
_NO_DIGIT = 1e15  # the same where nothing is left of the sum
_NEAR = 2.0 ** -10  # an argument at which the series has few terms
_FAR = 500.0      # arguments of 1F1 from which on the asymptotic series is used


def _reciprocal_gamma(x: Any) -> Any:
    """1 / Gamma(x), smooth at the poles: by Euler's reflection formula."""
    low = x < 0.5
    reflected = jnp.sin(jnp.pi * jnp.where(low, x, 0.25)) * gamma(1 - jnp.where(low, x, 0.25)) / jnp.pi
    return jnp.where(low, reflected, 1 / gamma(jnp.where(low, 1.0, x)))


def _series(upper: tuple[Any, ...], lower: Any, z: Any) -> Any:
    return _series_and_size(upper, lower, z)[0]


def _series_and_size(upper: tuple[Any, ...], lower: Any, z: Any) -> tuple[Any, Any]:
    """The sum of products of (u)_n over (lower)_n n!, times z^n, and its largest term's size; upper: one or two parameters.

    A majorant decides about the end: terms whose upper parameters count as 1 at least, as derivatives go on where a factor
    is zero."""
    def step(v: Any) -> Any:
        n, term, total, size_of_term, bound, largest = v
        below = (lower + n) * (n + 1)
        ratio, size = z / below, jnp.abs(z / below)
        for u in upper:
            ratio, size = ratio * (u + n), size * jnp.maximum(jnp.abs(u + n), 1)
        term, bound = term * ratio, bound * size
        return n + 1, term, total + term, jnp.maximum(size_of_term, jnp.abs(term)), bound, jnp.maximum(largest, bound)

    def unfinished(v: Any) -> Any:
        n, _, total, _, bound, largest = v
        done = _shrink_from_here(n, upper, lower, jnp.abs(z)) & ((bound <= 1e-20 * jnp.abs(total)) | (bound <= 1e-40 * largest))
        return (n < _TERMS) & ~done & jnp.isfinite(total)
    one = jnp.ones_like(z)
    found: tuple[Any, Any] = while_loop(unfinished, step, (jnp.zeros((), z.dtype), one, one, one, one, one))[2:4]
    return found


def _shrink_from_here(n: Any, upper: tuple[Any, ...], lower: Any, size: Any) -> Any:
    """Whether each term is smaller than the one before, from the n-th on. With one upper parameter u, later quotients are at
    most z (|u + n| + k) / (lower + n + k) / (n + 1 + k), of which k has its largest part below 1 / (lower + 2 n + 1)."""
    above = jnp.abs(upper[-1] + n)
    if len(upper) == 2:
        return size * above < 0.95 * (n + 1)
    below = lower + n
    return (below > 0) & (size * (above / (below * (n + 1)) + 1 / (below + n + 1)) < 0.95)


def _polynomial(a: Any, b: Any, c: Any, z: Any) -> Any:
    """2F1 where a or b is a non-positive integer: its finite sum."""
    def step(n: Any, v: Any) -> Any:
        term, total = v
        k = n.astype(z.dtype)
        top = (a + k) * (b + k)
        term = jnp.where(top == 0, 0, term * top / jnp.where(top == 0, 1, (c + k) * (k + 1)) * z)
        return term, total + term
    degree = jnp.minimum(jnp.where(_is_pole(a), -a, jnp.inf), jnp.where(_is_pole(b), -b, jnp.inf))
    count = jnp.where(jnp.isfinite(degree), degree, 0).astype(np.int32)
    one = jnp.ones_like(z)
    return while_loop(lambda v: v[0] <= count, lambda v: (v[0] + 1, *step(v[0], v[1:])), (jnp.int32(0), one, one))[2]


# -------------------------------------------------------------------------------------------- 1F1

def _kummer_far(a: Any, b: Any, x: Any, far: Any) -> Any:
    """exp(-x) 1F1(a, b, x) for large x > 0: DLMF 13.7.2, without the part smaller by exp(-x). Any number unless `far`."""
    def step(v: Any) -> Any:
        k, term, total = v
        following = term * (b - a + k) * (1 - a + k) / ((k + 1) * x)
        following = jnp.where(jnp.abs(following) < jnp.abs(term), following, 0)
        return k + 1, following, total + following
    one = jnp.ones_like(x)
    first = jnp.where(far, jnp.zeros_like(x), _EXPANSION)
    total = while_loop(lambda v: v[0] < _EXPANSION, step, (first, one, one))[2]
    return gamma(b) * _reciprocal_gamma(a) * x ** (a - b) * total


def _confluent(a: Any, b: Any, x: Any) -> Any:
    """1F1 of numbers by its series, after Kummer's transformation for x < 0, so that terms agree in their signs. What another
    method is for has no or few terms."""
    size, negative = jnp.abs(x), x < 0
    top = jnp.where(negative, b - a, a)
    safe_b = jnp.where(_is_pole(b), 1.5, b)
    far = (size > _FAR) & ~_is_pole(top)
    near_sum, largest = _series_and_size((top,), safe_b, jnp.where(far, 1, size))
    loss = complex_hypergeometric.loss_along_ray(top, safe_b)
    oscillates = (top < 0) & (size < 1.1 * (2 * safe_b - 4 * top)) & (safe_b > complex_hypergeometric.LOWEST)
    cancels = ~far & oscillates & (largest > _CANCELS * loss * jnp.abs(near_sum))
    p, q, y = (jnp.where(cancels, v, w) for v, w in ((top, 0), (safe_b, 1), (size, _NEAR)))
    walked = complex_hypergeometric.along_ray(p, q, y, lambda a, b, x: _series((a,), b, x))
    kept = jnp.where(largest > _NO_DIGIT * jnp.abs(near_sum), jnp.nan, 1) * near_sum
    near_sum = jnp.where(cancels, walked, kept)
    near = jnp.where(negative, jnp.exp(-size) * near_sum, near_sum)
    far_size = jnp.where(negative, size, jnp.minimum(size, _INFINITE))
    far_sum, half = _kummer_far(top, safe_b, jnp.where(far, far_size, 600.0), far), jnp.exp(far_size / 2)
    far_sum = jnp.where(negative, far_sum, half * far_sum * half)
    value = jnp.where(far, far_sum, near)
    ends = _is_pole(a) & (a >= b)
    summed = _is_pole(a) & jnp.where(_is_pole(b), a >= b, size > _FAR)
    polynomial = _confluent_polynomial(jnp.where(summed, a, 0), jnp.where(summed & ends, b, safe_b), x)
    value = jnp.where(summed, polynomial, jnp.where(_is_pole(b), jnp.where(x == 0, 1, jnp.inf), value))
    return jnp.where(oscillates & ~_is_pole(b) & jnp.isinf(value), value * jnp.nan, value)   # terms overflow and cancel


def _confluent_polynomial(a: Any, b: Any, x: Any) -> Any:
    """1F1 of a number a that is 0 or a negative integer, until its terms overflow or vanish."""
    def step(v: Any) -> Any:
        k, term, total = v
        top = a + k
        term = jnp.where(top >= 0, 0, term * top / jnp.where(top >= 0, 1, (b + k) * (k + 1)) * x)
        return k + 1, term, total + term
    one = jnp.ones_like(x)
    goes_on = lambda v: (v[0] < -a) & jnp.isfinite(v[1]) & (v[1] != 0)
    return while_loop(goes_on, step, (jnp.zeros_like(x), one, one))[2]


def _derivative(value: Any, upper: tuple[Any, ...], lower: Any, x: Any, order: int) -> Any:
    """The derivative of an order to x: the function of parameters larger by that, times a quotient (DLMF 13.3.16, 15.5.2)."""
    top, bottom = jnp.ones_like(x), jnp.ones_like(x)
    for k in range(order):
        top, bottom = top * math.prod((u + k for u in upper), start=1), bottom * (lower + k)
    found = value(*(u + order for u in upper), lower + order, x)
    ends = (top == 0) & ~jnp.isnan(found)
    return jnp.where(ends & (jnp.isinf(found) | (bottom == 0)), 0, top / jnp.where(ends & (bottom == 0), 1, bottom) * found)


def _hyp1f1_value(a: Any, b: Any, x: Any) -> Any:
    constant = jnp.isinf(b) & jnp.isfinite(a) & jnp.isfinite(x)
    bad, nothing = jnp.isnan(a + b + x) | jnp.isinf(a) | jnp.isinf(b) & ~constant, (a + b + x) * jnp.nan
    a, b, y = (jnp.where(bad | constant, 1, v) for v in (a, b, x))
    y = jnp.clip(y, -1e300, 1e300)  # where 1F1 is infinite or 0 already
    value = _confluent(a, b, y)
    value = jnp.where((x == -jnp.inf) & (a > 0) & ~_is_pole(b), 0, value)
    value = jnp.where(jnp.isinf(x) & (jnp.abs(value) > 1e200), value * jnp.inf, value)
    return jnp.where(bad, nothing, jnp.where(constant, 1, value))


_hyp1f1 = smooth_in_64_bits(_hyp1f1_value, lambda order, a, b, x: _derivative(_hyp1f1_value, (a,), b, x, order), by_lane=True)


@jit_when_eager()
def hyp1f1(a: Any, b: Any, x: Any) -> Any:
    """Kummer's confluent hypergeometric function 1F1(a, b, x) of real a and b, and real or complex x.

    inf where b is a non-positive integer, unless a is one that ends the sum first. Derivatives of any order, for complex x to x
    alone. Digits are lost for |x| > 500 with |a| or |b| above 20, and where b < -8; NaN where none is left.
    For complex x with |a| and |b| up to 8 the error is 1e-12, times the condition of the problem; beyond, NaN where a series
    does not converge, for b < -18 where its terms cancel, and where more than 4000 steps would lead to x.

    >>> round(float(hyp1f1(1.0, 2.0, 1.0)), 4)
    1.7183
    """
    if complex_hypergeometric.is_complex(x):
        return complex_hypergeometric.hyp1f1(a, b, x)
    return strong_array(_hyp1f1(*jnp.broadcast_arrays(*floats("hyp1f1", a, b, x))))


# -------------------------------------------------------------------------------------------- 2F1

def _gauss_sum(a: Any, b: Any, c: Any) -> Any:
    """2F1 at 1. DLMF 15.4.20; infinite where the sum diverges."""
    rest = c - a - b
    safe = jnp.where(rest > 0, rest, 1)
    value = gamma(c) * gamma(safe) * _reciprocal_gamma(c - a) * _reciprocal_gamma(c - b)
    return jnp.where(rest > 0, value, jnp.inf)


def _continued(a: Any, b: Any, c: Any, value: Any, gap: Any) -> Any:
    """2F1 at 1 - gap, 0 < gap <= 1/2, given its value at 1/2: Taylor series from there on, each of which halves the distance to
    the singularity at 1."""
    start = jnp.full_like(gap, 0.5)
    slope = a * b / c * _series((a + 1, b + 1), c + 1, jnp.where(gap < start, 0.5, 0))

    largest = jnp.maximum(jnp.abs(a), jnp.maximum(jnp.abs(b), jnp.abs(c)))
    count = jnp.where(largest <= _SMALL, _FEWER, _TAYLOR)

    def taylor(here: Any, value: Any, slope: Any, h: Any) -> tuple[Any, Any]:
        """From the distance `here` to 1, h further; terms are scaled by powers of h."""
        z = 1 - here
        scale = h / (z * here)

        def term(n: Any, v: Any) -> Any:
            u, following, total, change = v
            k = n.astype(u.dtype)
            middle = (1 - 2 * z) * k + c - (a + b + 1) * z
            new = ((k + a) * (k + b) * u * h - (k + 1) * middle * following) * scale / ((k + 2) * (k + 1))
            return following, new, total + new, change + (k + 2) * new
        first = slope * h
        # Without a counter in the state, each lane of a vector runs the whole loop for one element.
        begun = scan(lambda v, n: (term(n, v), None), (value, first, value + first, first), jnp.arange(_FEWER))[0]
        _, _, total, change = fori_loop(_FEWER, count, term, begun)
        return total, change / jnp.where(h == 0, 1, h)

    def step(v: Any) -> Any:
        here, value, slope = v
        target = jnp.maximum(0.5 * here, gap)
        return target, *taylor(here, value, slope, here - target)
    return while_loop(lambda v: v[0] > gap, step, (start, value, slope))[1]


def _inside(a: Any, b: Any, c: Any, z: Any, gap: Any) -> Any:
    """2F1 at -1/2 <= z = 1 - gap < 1."""
    near = jnp.abs(z) <= 0.5
    value, largest = _series_and_size((a, b), c, jnp.where(near, z, 0.5))
    value = jnp.where(largest > _NO_DIGIT * jnp.maximum(jnp.abs(value), 1), value * jnp.nan, value)
    return jnp.where(near, value, _continued(a, b, c, value, jnp.where(near, 0.5, gap)))


def _gauss(a: Any, b: Any, c: Any, x: Any) -> Any:
    """2F1 below 1; after Pfaff's transformation, DLMF 15.8.1, for x < -1/2, and for x < 0 where all terms become positive."""
    power, other = jnp.where(b < a, b, a), jnp.where(b < a, a, b)  # the smaller power of 1 - x: less cancels
    turned = (x < -0.5) | ((x < 0) & (power > 0) & (c > other))
    z = jnp.where(turned, x / (x - 1), x)
    gap = jnp.where(turned, 1 / (1 - x), 1 - x)
    value = _inside(power, jnp.where(turned, c - other, other), c, z, gap)
    return jnp.where(turned, (1 - x) ** -power, 1) * value


def _hyp2f1_value(a: Any, b: Any, c: Any, x: Any) -> Any:
    bad, nothing = jnp.isnan(a + b + c + x) | jnp.isinf(a) | jnp.isinf(b) | jnp.isinf(c), (a + b + c + x) * jnp.nan
    a, b, c, y = (jnp.where(bad, 0.25, v) for v in (a, b, c, x))
    ends = (_is_pole(a) & ((a > c) | ~_is_pole(c))) | (_is_pole(b) & ((b > c) | ~_is_pole(c)))
    pole = _is_pole(c)
    inner = (y < 1) & ~pole & (y > -1e300)
    value = _gauss(*(jnp.where(inner, v, 0.25) for v in (a, b, c, y)))
    finite = ends & ~inner
    polynomial = _polynomial(jnp.where(finite, a, 0), jnp.where(finite, b, 0), jnp.where(finite, c, 1), jnp.where(finite, y, 0))
    equal = (a == c) | (b == c)
    plain, power = jnp.where(equal & ~inner, y, 0.0), jnp.where(a == c, b, a)
    binomial = jnp.where((plain > 1) & (power != jnp.round(power)), jnp.inf, (1 - plain) ** -power)
    outside = jnp.where(pole, jnp.inf, jnp.where(y == 1, _gauss_sum(a, b, jnp.where(pole, 0.25, c)), jnp.inf))
    outside = jnp.where(y == -jnp.inf, jnp.where(jnp.minimum(a, b) > 0, 0, jnp.nan), outside)
    special_case = jnp.where(finite, polynomial, jnp.where(equal, binomial, outside))
    value = jnp.where((y == 0) | (a == 0) | (b == 0), jnp.where(inner, value, 1), jnp.where(inner, value, special_case))
    return jnp.where(bad, nothing, value)


_hyp2f1 = smooth_in_64_bits(_hyp2f1_value, lambda order, a, b, c, x: _derivative(_hyp2f1_value, (a, b), c, x, order),
                            by_lane=True)


@jit_when_eager()
def hyp2f1(a: Any, b: Any, c: Any, x: Any) -> Any:
    """Gauss's hypergeometric function 2F1(a, b, c, x) of real a, b and c, and real or complex x.

    Real x > 1: infinite, but for polynomials (a or b is a non-positive integer) and for c equal to a or b; at 1 Gauss's sum,
    infinite for c <= a + b. inf where c is a non-positive integer, unless a or b ends the sum first. Derivatives of any
    order for x < 1. Digits are lost where parameters are large and of several signs, NaN where none is left.
    Complex x have their cut there, on which the value is that above it, or for an imaginary part of -0.0 below; derivatives to
    x alone. Their error is mostly 1e-14 for parameters up to 30, of any signs, times the condition of the problem. NaN for
    |x| >= 1e300, for parameters beyond 500 where the power series does not do, and where more than 25 digits cancel.

    >>> round(float(hyp2f1(1.0, 1.0, 2.0, 0.5)), 4)
    1.3863
    """
    if complex_hypergeometric.is_complex(x):
        return complex_gauss.hyp2f1(a, b, c, x)
    return strong_array(_hyp2f1(*jnp.broadcast_arrays(*floats("hyp2f1", a, b, c, x))))
