"""The Cauchy distribution with median loc and half width scale."""
from __future__ import annotations

import math
from typing import Any

import numjet.numpy as jnp
from numjet.numpy.core.promotion import promote_args_inexact
from numjet.scipy.stats.arguments import quantile, standard

_LOG_PI = math.log(math.pi)


def _upper(z: Any) -> Any:
    """The probability of standard values above z: an angle, without cancellation in either tail."""
    return jnp.arctan2(jnp.ones_like(z), z) / math.pi


def _log_upper(z: Any) -> Any:
    negative = z < 0
    far = jnp.where(negative, -z, z)
    tail = _upper(far)
    return jnp.where(negative, jnp.log1p(-tail), jnp.log(tail))


def _quantile(q: Any) -> Any:
    """-cot(pi q), as tan(pi (q - 1/2)) in the middle; both are accurate where they are used."""
    middle = jnp.abs(q - 0.5) < 0.25
    rest = jnp.where(middle, 0.25, jnp.where(q > 0.5, 1 - q, q))
    tail = 1 / jnp.tan(math.pi * rest)
    near = jnp.tan(math.pi * (jnp.where(middle, q, 0.5) - 0.5))
    return jnp.where(middle, near, jnp.where(q > 0.5, tail, -tail))


def logpdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the density.

    >>> round(float(logpdf(1.0, 0.5, 2.0)), 3)
    -1.899
    """
    z, _, scale = standard("cauchy.logpdf", x, loc, scale)
    return -_LOG_PI - jnp.log1p(jnp.square(z)) - jnp.log(scale)


def pdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The density.

    >>> round(float(pdf(1.0, 0.5, 2.0)), 3)
    0.15
    """
    return jnp.exp(logpdf(x, loc, scale))


def cdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The probability of values up to x.

    >>> round(float(cdf(1.0, 0.5, 2.0)), 3)
    0.578
    """
    return _upper(-standard("cauchy.cdf", x, loc, scale)[0])


def logcdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of cdf, accurate where cdf is close to 0 or 1.

    >>> round(float(logcdf(1.0, 0.5, 2.0)), 3)
    -0.548
    """
    return _log_upper(-standard("cauchy.logcdf", x, loc, scale)[0])


def sf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The probability of values above x, 1 - cdf.

    >>> round(float(sf(1.0, 0.5, 2.0)), 3)
    0.422
    """
    return _upper(standard("cauchy.sf", x, loc, scale)[0])


def logsf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of sf, accurate where sf is close to 0 or 1.

    >>> round(float(logsf(1.0, 0.5, 2.0)), 3)
    -0.863
    """
    return _log_upper(standard("cauchy.logsf", x, loc, scale)[0])


def ppf(q: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The quantile function, the inverse of cdf; NaN for q outside [0, 1].

    >>> round(float(ppf(0.75, 0.5, 2.0)), 3)
    2.5
    """
    q, loc, scale = promote_args_inexact("cauchy.ppf", q, loc, scale)
    q, set_invalid = quantile(q)
    return set_invalid(loc + scale * _quantile(q))


def isf(q: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The inverse of sf; NaN for q outside [0, 1].

    >>> round(float(isf(0.75, 0.5, 2.0)), 3)
    -1.5
    """
    q, loc, scale = promote_args_inexact("cauchy.isf", q, loc, scale)
    q, set_invalid = quantile(q)
    return set_invalid(loc - scale * _quantile(q))
