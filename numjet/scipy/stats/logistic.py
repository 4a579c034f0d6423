"""The logistic distribution, whose distribution function is 1 / (1 + exp(-(x - loc) / scale))."""
from __future__ import annotations

from typing import Any

import numjet.numpy as jnp
from numjet.numpy.core.promotion import promote_args_inexact
from numjet.scipy.special_probability import expit, logit
from numjet.scipy.stats.arguments import standard


def logpdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the density.

    >>> round(float(logpdf(1.0, 0.5, 2.0)), 3)
    -2.095
    """
    z, _, scale = standard("logistic.logpdf", x, loc, scale)
    size = jnp.abs(z)
    return -size - 2 * jnp.log1p(jnp.exp(-size)) - jnp.log(scale)


def pdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The density.

    >>> round(float(pdf(1.0, 0.5, 2.0)), 3)
    0.123
    """
    return jnp.exp(logpdf(x, loc, scale))


def cdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The probability of values up to x.

    >>> round(float(cdf(1.0, 0.5, 2.0)), 3)
    0.562
    """
    return expit(standard("logistic.cdf", x, loc, scale)[0])


def sf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The probability of values above x, 1 - cdf.

    >>> round(float(sf(1.0, 0.5, 2.0)), 3)
    0.438
    """
    return expit(-standard("logistic.sf", x, loc, scale)[0])


def ppf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The quantile function, the inverse of cdf; NaN for x outside [0, 1].

    >>> round(float(ppf(0.75, 0.5, 2.0)), 3)
    2.697
    """
    x, loc, scale = promote_args_inexact("logistic.ppf", x, loc, scale)
    return loc + scale * logit(x)


def isf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The inverse of sf; NaN for x outside [0, 1].

    >>> round(float(isf(0.75, 0.5, 2.0)), 3)
    -1.697
    """
    x, loc, scale = promote_args_inexact("logistic.isf", x, loc, scale)
    return loc - scale * logit(x)
