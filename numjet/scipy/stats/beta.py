"""The beta distribution on [loc, loc + scale], with exponents a - 1 and b - 1."""
from __future__ import annotations

import math
from typing import Any

import numjet.numpy as jnp
from numjet import random
from numjet.scipy.special.distribution_functions import betaincc
from numjet.scipy.special.factorial_terms import log_beta
from numjet.scipy.special.gamma_family import betainc
from numjet.scipy.special.probability import xlog1py, xlogy
from numjet.scipy.special.quantiles import betainccinv, betaincinv
from numjet.scipy.special.wide_evaluation import smooth_by_precision
from numjet.scipy.stats.arguments import (
    end_with_slope,
    factor_of_power,
    float_args,
    power_of_zero,
    standard_from_loc,
    valid_scale,
    where_inside,
    where_valid,
)
from numjet.scipy.stats.entropies import beta_entropy
from numjet.scipy.stats.tails import log_betainc, log_betaincc
from numjet.scipy.stats.variables import Variable, positive


def _inside(name: str, x: Any, a: Any, b: Any, loc: Any, scale: Any, below: float, above: float,
            rise: float) -> tuple[Any, ...]:
    """(a, b, the standardized argument, 0.5 outside [0, 1], a function that puts `below` below, `above` above).

    The function also puts in `below` at 0 where the slope is infinite, with the sign of `rise`, see end_with_slope."""
    z, a, b, loc, scale = standard_from_loc(name, x, a, b, loc, scale, ends=(0.0, 0.0))
    single = (a == math.inf) ^ (b == math.inf)        # all mass is at an end
    z = where_valid((a > 0) & (b > 0), z)
    over = (z > 1) | single & (z > 0) & ((b == math.inf) | (z == 1))
    under = (z < 0) | (z == 0) & (scale == math.inf) | single & ~over & (z == z)
    steep = (z == 0) & ((a < 1) | (below == -math.inf)) & ~under & ~over
    end = end_with_slope(steep, x, loc, below, rise)
    z, set_below = where_inside(under | steep, 0.5, z, below)
    z, set_above = where_inside(over, 0.5, z, above)
    return (jnp.where(single, 1.0, a), jnp.where(single, 1.0, b), z,
            lambda out: jnp.where(steep, end, set_below(set_above(out))))


def logpdf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the density.

    >>> round(float(logpdf(1.0, 2.0, 3.0, 0.5, 2.0)), 3)
    -0.17
    """
    z, a, b, _, scale = standard_from_loc("beta.logpdf", x, a, b, loc, scale)
    z = where_valid((a > 0) & (b > 0), z)
    z, set_outside = where_inside((z < 0) | (z > 1), 0.5, z, -math.inf)
    return set_outside(xlogy(a - 1, z) + xlog1py(b - 1, -z) - _log_beta(a, b) - jnp.log(scale))


_log_beta = smooth_by_precision(log_beta)


def pdf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The density.

    >>> round(float(pdf(1.0, 2.0, 3.0, 0.5, 2.0)), 3)
    0.844
    """
    z, a, b, loc, scale = standard_from_loc("beta.pdf", x, a, b, loc, scale)
    # at an end the derivatives of the exponential are products of 0 and infinity
    at_0 = (z == 0) & (a != 1)
    at_end = (a > 0) & (b > 0) & (at_0 | (z == 1) & (b != 1))
    vanishing = jnp.where(at_end, jnp.where(at_0, z, 1 - z), 0.0)
    exponent, other = jnp.where(at_end, jnp.where(at_0, a, b) - 1, 1.0), jnp.where(at_0, b, a) - 1
    inside = logpdf(jnp.where(at_end, loc + 0.5 * scale, x), a, b, loc, scale)
    # the slope of the other factor, which an infinite power multiplies, too, must not be against that of the power
    rest = jnp.where(exponent < 0, -vanishing, other * jnp.log1p(-vanishing))
    at_ends = rest - _log_beta(a, b) - jnp.log(scale)
    density = jnp.exp(jnp.where(at_end, factor_of_power(at_ends, exponent), inside))
    return jnp.where(at_end, density * power_of_zero(vanishing, exponent), density)


def cdf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The probability of values up to x.

    >>> round(float(cdf(1.0, 2.0, 3.0, 0.5, 2.0)), 3)
    0.262
    """
    a, b, z, set_outside = _inside("beta.cdf", x, a, b, loc, scale, 0.0, 1.0, 1.0)
    return set_outside(betainc(a, b, z))


def logcdf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of cdf, accurate where cdf is close to 0 or 1.

    >>> round(float(logcdf(1.0, 2.0, 3.0, 0.5, 2.0)), 3)
    -1.34
    """
    a, b, z, set_outside = _inside("beta.logcdf", x, a, b, loc, scale, -math.inf, 0.0, 1.0)
    return set_outside(log_betainc(a, b, z))


def sf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The probability of values above x, 1 - cdf.

    >>> round(float(sf(1.0, 2.0, 3.0, 0.5, 2.0)), 3)
    0.738
    """
    a, b, z, set_outside = _inside("beta.sf", x, a, b, loc, scale, 1.0, 0.0, -1.0)
    return set_outside(betaincc(a, b, z))


def logsf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of sf, accurate where sf is close to 0 or 1.

    >>> round(float(logsf(1.0, 2.0, 3.0, 0.5, 2.0)), 3)
    -0.303
    """
    a, b, z, set_outside = _inside("beta.logsf", x, a, b, loc, scale, 0.0, -math.inf, -1.0)
    return set_outside(log_betaincc(a, b, z))

def ppf(q: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The quantile function, the inverse of cdf; NaN for q outside [0, 1].

    >>> round(float(ppf(0.75, 2.0, 3.0, 0.5, 2.0)), 3)
    1.587
    """
    q, a, b, loc, scale = float_args("beta.ppf", q, a, b, loc, scale)
    return loc + valid_scale(scale) * betaincinv(a, b, q)


def isf(q: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The inverse of sf; NaN for q outside [0, 1].

    >>> round(float(isf(0.75, 2.0, 3.0, 0.5, 2.0)), 3)
    0.986
    """
    q, a, b, loc, scale = float_args("beta.isf", q, a, b, loc, scale)
    return loc + valid_scale(scale) * betainccinv(a, b, q)

_variable = Variable(__name__, ("a", "b"), (2.0, 3.0), positive)


def _sample(key: Any, a: Any, b: Any, shape: Any, dtype: Any) -> Any:
    """Also from the limits where a or b alone is infinite, which have all mass at 1 or at 0."""
    endless = (a == math.inf) ^ (b == math.inf)
    found = random.beta(key, jnp.where(endless, 1.0, a), jnp.where(endless, 1.0, b), shape, dtype)
    return jnp.where(endless, jnp.where(a == math.inf, 1.0, 0.0), found)


rvs = _variable.samples(_sample)
mean = _variable.moment("mean", lambda a, b: a / (a + b), 1.3)


def _variance(a: Any, b: Any) -> Any:
    """By shares of a + b, whose products neither overflow nor underflow."""
    return a / (a + b) * (b / (a + b)) / (a + b + 1)


var = _variable.moment("var", _variance, 0.16)
std = _variable.moment("std", _variance, 0.4, root=True)
entropy = _variable.moment("entropy", beta_entropy, 0.458)
