"""The normal distribution with mean loc and standard deviation scale."""
from __future__ import annotations

from typing import Any

import numjet.numpy as jnp
from numjet.numpy.core.promotion import promote_args_inexact
from numjet.scipy.special_probability import log_ndtr, ndtr, ndtri
from numjet.scipy.stats.arguments import LOG_2PI, standard


def logpdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the density.

    >>> round(float(logpdf(1.0, 0.5, 2.0)), 3)
    -1.643
    """
    z, _, scale = standard("norm.logpdf", x, loc, scale)
    return -0.5 * (jnp.square(z) + LOG_2PI) - jnp.log(scale)


def pdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The density.

    >>> round(float(pdf(1.0, 0.5, 2.0)), 3)
    0.193
    """
    return jnp.exp(logpdf(x, loc, scale))


def cdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The probability of values up to x.

    >>> round(float(cdf(1.0, 0.5, 2.0)), 3)
    0.599
    """
    return ndtr(standard("norm.cdf", x, loc, scale)[0])


def logcdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of cdf, accurate where cdf is close to 0 or 1.

    >>> round(float(logcdf(1.0, 0.5, 2.0)), 3)
    -0.513
    """
    return log_ndtr(standard("norm.logcdf", x, loc, scale)[0])


def sf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The probability of values above x, 1 - cdf.

    >>> round(float(sf(1.0, 0.5, 2.0)), 3)
    0.401
    """
    return ndtr(-standard("norm.sf", x, loc, scale)[0])


def logsf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of sf, accurate where sf is close to 0 or 1.

    >>> round(float(logsf(1.0, 0.5, 2.0)), 3)
    -0.913
    """
    return log_ndtr(-standard("norm.logsf", x, loc, scale)[0])


def ppf(q: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The quantile function, the inverse of cdf; NaN for q outside [0, 1].

    >>> round(float(ppf(0.75, 0.5, 2.0)), 3)
    1.849
    """
    q, loc, scale = promote_args_inexact("norm.ppf", q, loc, scale)
    return loc + scale * ndtri(q)


def isf(q: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The inverse of sf; NaN for q outside [0, 1].

    >>> round(float(isf(0.75, 0.5, 2.0)), 3)
    -0.849
    """
    q, loc, scale = promote_args_inexact("norm.isf", q, loc, scale)
    return loc - scale * ndtri(q)
