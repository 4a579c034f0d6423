"""The gamma distribution with shape a, from loc on."""
from __future__ import annotations

import math
from typing import Any

import numjet.numpy as jnp
from numjet import random
from numjet.scipy.special.gamma_family import gammainc, gammaincc, gammaln
from numjet.scipy.special.probability import xlogy
from numjet.scipy.special.quantiles import gammainccinv, gammaincinv
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
from numjet.scipy.stats.entropies import gamma_entropy
from numjet.scipy.stats.tails import log_gammainc, log_gammaincc
from numjet.scipy.stats.variables import Variable, positive


def _above(name: str, x: Any, a: Any, loc: Any, scale: Any, below: float, above: float, rise: float) -> tuple[Any, Any, Any]:
    """(a, standardized argument with 1 below the support, a function that puts `below` there, and `above` at infinity).

    All values are below the mass of an infinite a, which is at infinity. A finite `above` is an end with slopes of 0.

    The function also puts in `below` where the standardized argument is 0 and the slope to x infinite, with the sign of `rise`:
    for a < 1, and for logarithms of 0. At loc itself the value is that of any scale, whose derivative must not become 0 times
    infinity; above loc the scale is infinite, and all slopes are 0.
    """
    z, a, loc, scale = standard_from_loc(name, x, a, loc, scale, ends=(0.0, above))
    z = where_valid(a > 0, z)
    endless = z == math.inf
    less = (z < 0) | ~endless & (a == math.inf) & (z == z)
    steep = (z == 0) & ((a < 1) | (below == -math.inf)) & ~less
    end = end_with_slope(steep, x, loc, below, rise)
    a = jnp.where(less | endless & (a == math.inf), 1.0, a)
    z, set_above = where_inside(endless & math.isfinite(above), 1.0, z, above)
    z, set_below = where_inside(less | steep, 1.0, z, below)
    return a, z, lambda out: jnp.where(steep, end, set_below(set_above(out)))


def logpdf(x: Any, a: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the density.

    >>> round(float(logpdf(3.0, 2.0, 0.5, 2.0)), 3)
    -1.72
    """
    z, a, _, scale = standard_from_loc("gamma.logpdf", x, a, loc, scale)
    z = where_valid(a > 0, z)
    z, set_outside = where_inside(z < 0, 1.0, z, -math.inf)
    return set_outside(xlogy(a - 1, z) - z - gammaln(a) - jnp.log(scale))


def pdf(x: Any, a: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The density.

    >>> round(float(pdf(3.0, 2.0, 0.5, 2.0)), 3)
    0.179
    """
    z, a, loc, scale = standard_from_loc("gamma.pdf", x, a, loc, scale, ends=(-math.inf, 0.0))
    at_end = (z == 0) & (a > 0) & (a != 1)    # where the derivatives of the exponential are products of 0 and infinity
    far = (z == math.inf) & (0 < a) & (a < math.inf) & ((x < math.inf) | (a <= 1))    # else infinity less infinity
    z, exponent = jnp.where(at_end, z, 0.0), jnp.where(at_end, a - 1, 1.0)
    inside = logpdf(jnp.where(at_end | far, loc + scale, x), a, loc, scale)
    density = jnp.exp(jnp.where(at_end, factor_of_power(-z - gammaln(a) - jnp.log(scale), exponent), inside))
    return jnp.where(at_end, density * power_of_zero(z, exponent), jnp.where(far, 0.0, density))


def cdf(x: Any, a: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The probability of values up to x.

    >>> round(float(cdf(3.0, 2.0, 0.5, 2.0)), 3)
    0.355
    """
    a, z, set_below = _above("gamma.cdf", x, a, loc, scale, 0.0, 1.0, 1.0)
    return set_below(gammainc(a, z))


def logcdf(x: Any, a: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of cdf, accurate where cdf is close to 0 or 1.

    >>> round(float(logcdf(3.0, 2.0, 0.5, 2.0)), 3)
    -1.035
    """
    a, z, set_below = _above("gamma.logcdf", x, a, loc, scale, -math.inf, 0.0, 1.0)
    return set_below(log_gammainc(a, z))


def sf(x: Any, a: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The probability of values above x, 1 - cdf.

    >>> round(float(sf(3.0, 2.0, 0.5, 2.0)), 3)
    0.645
    """
    a, z, set_below = _above("gamma.sf", x, a, loc, scale, 1.0, 0.0, -1.0)
    return set_below(gammaincc(a, z))


def logsf(x: Any, a: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of sf, accurate where sf is close to 0 or 1.

    >>> round(float(logsf(3.0, 2.0, 0.5, 2.0)), 3)
    -0.439
    """
    a, z, set_below = _above("gamma.logsf", x, a, loc, scale, 0.0, -math.inf, -1.0)
    return set_below(log_gammaincc(a, z))

def ppf(q: Any, a: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The quantile function, the inverse of cdf; NaN for q outside [0, 1].

    >>> round(float(ppf(0.75, 2.0, 0.5, 2.0)), 3)
    5.885
    """
    q, a, loc, scale = float_args("gamma.ppf", q, a, loc, scale)
    return loc + valid_scale(scale) * gammaincinv(where_valid(a > 0, a), q)


def isf(q: Any, a: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The inverse of sf; NaN for q outside [0, 1].

    >>> round(float(isf(0.75, 2.0, 0.5, 2.0)), 3)
    2.423
    """
    q, a, loc, scale = float_args("gamma.isf", q, a, loc, scale)
    return loc + valid_scale(scale) * gammainccinv(where_valid(a > 0, a), q)

_variable = Variable(__name__, ("a",), (2.0,), positive)
rvs = _variable.samples(lambda key, a, shape, dtype: random.gamma(key, a, shape, dtype))
mean = _variable.moment("mean", lambda a: a, 4.5)
var = _variable.moment("var", lambda a: a, 8.0)
std = _variable.moment("std", lambda a: a, 2.828, root=True)
entropy = _variable.moment("entropy", gamma_entropy, 2.27)
