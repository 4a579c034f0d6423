"""The gamma distribution with shape a, from loc on."""
from __future__ import annotations

import math
from typing import Any

import numjet.numpy as jnp
from numjet.scipy.special.gamma_family import gammainc, gammaincc, gammaln
from numjet.scipy.special.probability import xlogy
from numjet.scipy.stats.arguments import standard, where_inside, where_valid
from numjet.scipy.stats.publish import exp_of
from numjet.scipy.stats.tails import log_gammainc, log_gammaincc


def _above(name: str, x: Any, a: Any, loc: Any, scale: Any, below: float) -> tuple[Any, Any, Any]:
    """(a, standardized argument with 1 below the support, a function that puts `below` there)."""
    z, a, _, _ = standard(name, x, a, loc, scale)
    z = where_valid(a > 0, z)
    z, set_below = where_inside(z < 0, 1.0, z, below)
    return a, z, set_below


def logpdf(x: Any, a: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the density.

    >>> round(float(logpdf(3.0, 2.0, 0.5, 2.0)), 3)
    -1.72
    """
    z, a, _, scale = standard("gamma.logpdf", x, a, loc, scale)
    z = where_valid(a > 0, z)
    z, set_outside = where_inside(z < 0, 1.0, z, -math.inf)
    return set_outside(xlogy(a - 1, z) - z - gammaln(a) - jnp.log(scale))


pdf = exp_of(logpdf, 0.179)


def cdf(x: Any, a: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The probability of values up to x.

    >>> round(float(cdf(3.0, 2.0, 0.5, 2.0)), 3)
    0.355
    """
    a, z, set_below = _above("gamma.cdf", x, a, loc, scale, 0.0)
    return set_below(gammainc(a, z))


def logcdf(x: Any, a: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of cdf, accurate where cdf is close to 0 or 1.

    >>> round(float(logcdf(3.0, 2.0, 0.5, 2.0)), 3)
    -1.035
    """
    a, z, set_below = _above("gamma.logcdf", x, a, loc, scale, -math.inf)
    return set_below(log_gammainc(a, z))


def sf(x: Any, a: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The probability of values above x, 1 - cdf.

    >>> round(float(sf(3.0, 2.0, 0.5, 2.0)), 3)
    0.645
    """
    a, z, set_below = _above("gamma.sf", x, a, loc, scale, 1.0)
    return set_below(gammaincc(a, z))


def logsf(x: Any, a: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of sf, accurate where sf is close to 0 or 1.

    >>> round(float(logsf(3.0, 2.0, 0.5, 2.0)), 3)
    -0.439
    """
    a, z, set_below = _above("gamma.logsf", x, a, loc, scale, 0.0)
    return set_below(log_gammaincc(a, z))
