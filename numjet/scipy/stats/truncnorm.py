"""The normal distribution cut off outside [loc + a scale, loc + b scale]."""
from __future__ import annotations

import math
from typing import Any

import numjet.numpy as jnp
from numjet import random
from numjet.control.custom.custom_jvp import custom_jvp
from numjet.lax.elementwise import special
from numjet.nn.activations import log1mexp
from numjet.scipy.special.distribution_functions import ndtri_exp
from numjet.scipy.special.probability import log_ndtr
from numjet.scipy.stats.arguments import LOG_2PI, float_args, standard, valid_scale
from numjet.scipy.stats.publish import exp_of
from numjet.scipy.stats.variables import Variable

_ROOT_HALF = math.sqrt(0.5)


def _log_mass(a: Any, b: Any) -> Any:
    """log of the standard normal probability of (a, b), a < b. On the right of 0 the interval is mirrored to the left."""
    mirrored = a > 0
    a, b = jnp.where(mirrored, -b, a), jnp.where(mirrored, -a, b)
    tail = b <= -0.5
    bounded = tail & (a > -math.inf)
    log_b, log_a = log_ndtr(jnp.where(tail, b, -1.0)), log_ndtr(jnp.where(bounded, a, -2.0))
    whole = (tail & ~bounded) | jnp.isinf(log_a)     # nothing is below a, and its slope may be infinite
    left = log_b + jnp.where(whole, 0.0, log1mexp(jnp.where(whole, 1.0, log_b - log_a)))
    # around 0 both parts are positive: no cancellation
    parts = special.erf(_ROOT_HALF * jnp.where(tail, 1.0, b)) + special.erf(_ROOT_HALF * jnp.where(tail, 1.0, -a))
    return jnp.where(tail, left, jnp.log(0.5 * parts))


def _inner_point(a: Any, b: Any) -> Any:
    """A finite number between a and b."""
    low = jnp.where(jnp.isinf(a), jnp.where(jnp.isinf(b), -1.0, b - 2), a)
    return 0.5 * (low + jnp.where(jnp.isinf(b), low + 2, b))


def _moved_inside(name: str, x: Any, a: Any, b: Any, loc: Any, scale: Any) -> tuple[Any, ...]:
    """(z inside (a, b), a, b, where z was below or at a, where above or at b, a function that marks a >= b)."""
    z, a, b, _, _ = standard(name, x, a, b, loc, scale, ends=(0.0, 0.0))
    invalid = ~(a < b) | jnp.isnan(z)
    a, b = jnp.where(invalid, -1.0, a), jnp.where(invalid, 1.0, b)
    below, above = z <= a, z >= b
    z = jnp.where(below | above, _inner_point(a, b), z)
    return z, a, b, below, above, lambda out: jnp.where(invalid, jnp.nan, out)


def _log_part(part: Any, rest: Any, whole: Any) -> Any:
    """log(part / whole) of logarithms, by the rest where that is small."""
    near = rest - whole < -2
    other = jnp.log1p(-jnp.exp(jnp.where(near, rest - whole, -2.0)))
    return jnp.where(near, other, jnp.where(near, 0.0, part - whole))


def logpdf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the density.

    >>> round(float(logpdf(1.0, -1.0, 2.0, 0.5, 2.0)), 3)
    -1.443
    """
    z, a, b, _, scale = standard("truncnorm.logpdf", x, a, b, loc, scale)
    outside, empty = (z < a) | (z > b), ~(a < b)
    invalid = empty | jnp.isnan(z)
    a, b = jnp.where(empty, -1.0, a), jnp.where(empty, 1.0, b)     # of their own shape: one mass for all z
    z = jnp.where(outside, 0.0, z)
    out = -0.5 * (jnp.square(z) + LOG_2PI) - jnp.log(scale) - _log_mass(a, b)
    return jnp.where(invalid, jnp.nan, jnp.where(outside, -jnp.inf, out))


pdf = exp_of(logpdf, 0.236)


def logcdf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of cdf, accurate where cdf is close to 0 or 1.

    >>> round(float(logcdf(1.0, -1.0, 2.0, 0.5, 2.0)), 3)
    -0.621
    """
    z, a, b, below, above, set_invalid = _moved_inside("truncnorm.logcdf", x, a, b, loc, scale)
    out = _log_part(_log_mass(a, z), _log_mass(z, b), _log_mass(a, b))
    return set_invalid(jnp.where(below, -jnp.inf, jnp.where(above, 0.0, out)))


def logsf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of sf, accurate where sf is close to 0 or 1.

    >>> round(float(logsf(1.0, -1.0, 2.0, 0.5, 2.0)), 3)
    -0.771
    """
    z, a, b, below, above, set_invalid = _moved_inside("truncnorm.logsf", x, a, b, loc, scale)
    out = _log_part(_log_mass(z, b), _log_mass(a, z), _log_mass(a, b))
    return set_invalid(jnp.where(above, -jnp.inf, jnp.where(below, 0.0, out)))


cdf = exp_of(logcdf, 0.538)
sf = exp_of(logsf, 0.462)


@custom_jvp
def _quantile(q: Any, a: Any, b: Any) -> Any:
    """The quantile within (a, b) of 0 <= q <= 1, from the end that is farther out, where logarithms are accurate."""
    mirrored, inside = a + b > 0, (q > 0) & (q < 1)
    low, high = jnp.where(mirrored, -b, a), jnp.where(mirrored, -a, b)
    q_inside = jnp.where(inside, q, 0.5)
    share = jnp.where(mirrored, jnp.log1p(-q_inside), jnp.log(q_inside))
    found = ndtri_exp(jnp.logaddexp(log_ndtr(low), share + _log_mass(low, high)))
    found = jnp.clip(jnp.where(mirrored, -found, found), a, b)
    return jnp.where(inside, found, jnp.where(q == 0, a, b))


def _density_quotient(x: Any, out: Any) -> Any:
    """The normal density at x divided by that at out; 0 for infinite x."""
    endless = jnp.isinf(x)
    x, out = jnp.where(endless, 0.0, x), jnp.where(endless, 0.0, out)
    return jnp.where(endless, 0.0, jnp.exp(0.5 * (out - x) * (out + x)))


_quantile.defjvps(
    lambda t, out, q, a, b: t * jnp.exp(_log_mass(a, b) + 0.5 * (jnp.square(out) + LOG_2PI)),
    lambda t, out, q, a, b: t * (1 - q) * _density_quotient(a, out),
    lambda t, out, q, a, b: t * q * _density_quotient(b, out))


def _quantile_of(name: str, q: Any, a: Any, b: Any, loc: Any, scale: Any, upper: bool) -> Any:
    """ppf, or isf, which is that of the mirror image."""
    q, a, b, loc, scale = float_args(name, q, a, b, loc, scale)
    invalid = ~(a < b) | ~((q >= 0) & (q <= 1))
    q, a, b = (jnp.where(invalid, v, x) for v, x in ((0.5, q), (-1.0, a), (1.0, b)))
    out = -_quantile(q, -b, -a) if upper else _quantile(q, a, b)
    return jnp.where(invalid, jnp.nan, loc + valid_scale(scale) * out)


def ppf(q: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The quantile function, the inverse of cdf; NaN for q outside [0, 1].

    >>> round(float(ppf(0.75, -1.0, 2.0, 0.5, 2.0)), 3)
    1.995
    """
    return _quantile_of("truncnorm.ppf", q, a, b, loc, scale, False)


def isf(q: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The inverse of sf; NaN for q outside [0, 1].

    >>> round(float(isf(0.75, -1.0, 2.0, 0.5, 2.0)), 3)
    -0.199
    """
    return _quantile_of("truncnorm.isf", q, a, b, loc, scale, True)


def _sample(key: Any, a: Any, b: Any, shape: Any, dtype: Any) -> Any:
    """The quantile of a uniform variable; on the right the mirror image's, so that the share of 0 is never on the far side."""
    mirrored = a + b > 0
    found = _quantile(1 - random.uniform(key, shape, dtype), jnp.where(mirrored, -b, a), jnp.where(mirrored, -a, b))
    return jnp.where(mirrored, -found, found)


_variable = Variable(__name__, ("a", "b"), (-1.0, 2.0), lambda a, b: a < b)
rvs = _variable.samples(_sample)
