"""The exponential distribution with rate 1 / scale, from loc on."""
from __future__ import annotations

import math
from typing import Any

import numjet.numpy as jnp
from numjet.numpy.core.promotion import promote_args_inexact
from numjet.scipy.stats.arguments import log1mexp, quantile, standard, where_inside


def _below(name: str, x: Any, loc: Any, scale: Any, value: float) -> tuple[Any, Any]:
    """The standardized argument, 1 below the support; and a function that puts `value` there."""
    z = standard(name, x, loc, scale)[0]
    return where_inside(z < 0, 1.0, z, value)


def logpdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the density.

    >>> round(float(logpdf(1.0, 0.5, 2.0)), 3)
    -0.943
    """
    z, _, scale = standard("expon.logpdf", x, loc, scale)
    return jnp.where(z < 0, -jnp.inf, -z - jnp.log(scale))


def pdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The density.

    >>> round(float(pdf(1.0, 0.5, 2.0)), 3)
    0.389
    """
    return jnp.exp(logpdf(x, loc, scale))


def cdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The probability of values up to x.

    >>> round(float(cdf(1.0, 0.5, 2.0)), 3)
    0.221
    """
    z, set_below = _below("expon.cdf", x, loc, scale, 0.0)
    return set_below(-jnp.expm1(-z))


def logcdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of cdf, accurate where cdf is close to 0 or 1.

    >>> round(float(logcdf(1.0, 0.5, 2.0)), 3)
    -1.509
    """
    z, set_below = _below("expon.logcdf", x, loc, scale, -math.inf)
    return set_below(log1mexp(z))


def sf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The probability of values above x, 1 - cdf.

    >>> round(float(sf(1.0, 0.5, 2.0)), 3)
    0.779
    """
    z, set_below = _below("expon.sf", x, loc, scale, 1.0)
    return set_below(jnp.exp(-z))


def logsf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of sf, accurate where sf is close to 0 or 1.

    >>> round(float(logsf(1.0, 0.5, 2.0)), 3)
    -0.25
    """
    z, set_below = _below("expon.logsf", x, loc, scale, 0.0)
    return set_below(-z)


def ppf(q: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The quantile function, the inverse of cdf; NaN for q outside [0, 1].

    >>> round(float(ppf(0.75, 0.5, 2.0)), 3)
    3.273
    """
    q, loc, scale = promote_args_inexact("expon.ppf", q, loc, scale)
    q, set_invalid = quantile(q)
    return set_invalid(loc - scale * jnp.log1p(-q))
