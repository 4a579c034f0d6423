"""The Gumbel distribution of smallest values: the mirror image of that of largest ones."""
from __future__ import annotations

from typing import Any

import numjet.numpy as jnp
from numjet.numpy.core.promotion import promote_args_inexact
from numjet.scipy.stats.arguments import quantile, standard
from numjet.scipy.stats.gumbel_r import log_density, log_upper


def logpdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the density.

    >>> round(float(logpdf(1.0, 0.5, 2.0)), 3)
    -1.727
    """
    z, _, scale = standard("gumbel_l.logpdf", x, loc, scale)
    return log_density(-z) - jnp.log(scale)


def pdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The density.

    >>> round(float(pdf(1.0, 0.5, 2.0)), 3)
    0.178
    """
    return jnp.exp(logpdf(x, loc, scale))


def cdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The probability of values up to x.

    >>> round(float(cdf(1.0, 0.5, 2.0)), 3)
    0.723
    """
    return -jnp.expm1(logsf(x, loc, scale))


def logcdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of cdf, accurate where cdf is close to 0 or 1.

    >>> round(float(logcdf(1.0, 0.5, 2.0)), 3)
    -0.324
    """
    return log_upper(-standard("gumbel_l.logcdf", x, loc, scale)[0])


def sf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The probability of values above x, 1 - cdf.

    >>> round(float(sf(1.0, 0.5, 2.0)), 3)
    0.277
    """
    return jnp.exp(logsf(x, loc, scale))


def logsf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of sf, accurate where sf is close to 0 or 1.

    >>> round(float(logsf(1.0, 0.5, 2.0)), 3)
    -1.284
    """
    return -jnp.exp(standard("gumbel_l.logsf", x, loc, scale)[0])


def ppf(p: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The quantile function, the inverse of cdf; NaN for p outside [0, 1].

    >>> round(float(ppf(0.75, 0.5, 2.0)), 3)
    1.153
    """
    p, loc, scale = promote_args_inexact("gumbel_l.ppf", p, loc, scale)
    p, set_invalid = quantile(p)
    return set_invalid(loc + scale * jnp.log(-jnp.log1p(-p)))
