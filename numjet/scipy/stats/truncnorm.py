"""The normal distribution cut off outside [loc + a scale, loc + b scale]."""
from __future__ import annotations

import math
from typing import Any

import numjet.numpy as jnp
from numjet import random
from numjet.lax.elementwise import special
from numjet.scipy.special.distribution_functions import ndtri_exp
from numjet.scipy.special.probability import log_ndtr
from numjet.scipy.stats.arguments import LOG_2PI, log1mexp, standard
from numjet.scipy.stats.publish import exp_of
from numjet.scipy.stats.variables import Variable

_ROOT_HALF = math.sqrt(0.5)


def _log_mass(a: Any, b: Any) -> Any:
    """log of the standard normal probability of (a, b), a < b. On the right of 0 the interval is mirrored to the left."""
    mirrored = a > 0
    a, b = jnp.where(mirrored, -b, a), jnp.where(mirrored, -a, b)
    tail = b <= 0
    log_b, log_a = log_ndtr(jnp.where(tail, b, -1.0)), log_ndtr(jnp.where(tail, a, -2.0))
    left = log_b + log1mexp(jnp.where(jnp.isinf(log_b), jnp.inf, log_b - log_a))   # both are -inf far out
    # around 0 both parts are positive: no cancellation
    parts = special.erf(_ROOT_HALF * jnp.where(tail, 1.0, b)) + special.erf(_ROOT_HALF * jnp.where(tail, 1.0, -a))
    return jnp.where(tail, left, jnp.log(0.5 * parts))


def _inner_point(a: Any, b: Any) -> Any:
    """A finite number between a and b."""
    low = jnp.where(jnp.isinf(a), jnp.where(jnp.isinf(b), -1.0, b - 2), a)
    return 0.5 * (low + jnp.where(jnp.isinf(b), low + 2, b))


def _moved_inside(name: str, x: Any, a: Any, b: Any, loc: Any, scale: Any) -> tuple[Any, ...]:
    """(z inside (a, b), a, b, where z was below or at a, where above or at b, a function that marks a >= b)."""
    z, a, b, _, _ = standard(name, x, a, b, loc, scale)
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


def _sample(key: Any, a: Any, b: Any, shape: Any, dtype: Any) -> Any:
    """Inversion of the logarithm of cdf, which is accurate far out, too: intervals on the right are mirrored to the left."""
    mirrored = a + b > 0
    low, high = jnp.where(mirrored, -b, a), jnp.where(mirrored, -a, b)
    share = jnp.log1p(-random.uniform(key, shape, dtype))
    found = ndtri_exp(jnp.logaddexp(log_ndtr(low), share + _log_mass(low, high)))
    return jnp.clip(jnp.where(mirrored, -found, found), a, b)


_variable = Variable(__name__, ("a", "b"), (-1.0, 2.0), lambda a, b: a < b)
rvs = _variable.samples(_sample)
