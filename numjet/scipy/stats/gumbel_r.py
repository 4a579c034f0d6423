"""The Gumbel distribution of largest values."""
from __future__ import annotations

import math
from typing import Any

import numjet.numpy as jnp
from numjet.numpy.core.promotion import promote_args_inexact
from numjet.scipy.stats.arguments import log1mexp, quantile, standard, where_inside

_FLAT = 40.0      # beyond it log(1 - exp(-exp(-z))) is -z to the last place


def log_density(z: Any) -> Any:
    """-z - exp(-z); -inf also where exp(-z) overflows.

    >>> float(log_density(0.0))
    -1.0
    """
    z, set_far = where_inside(jnp.isinf(jnp.exp(-z)), 0.0, z, -math.inf)
    return set_far(-z - jnp.exp(-z))


def log_upper(z: Any) -> Any:
    """log(1 - exp(-exp(-z))).

    >>> float(log_upper(50.0))
    -50.0
    """
    far = z > _FLAT
    return jnp.where(far, -z, log1mexp(jnp.exp(-jnp.where(far, 0.0, z))))


def logpdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the density.

    >>> round(float(logpdf(1.0, 0.5, 2.0)), 3)
    -1.722
    """
    z, _, scale = standard("gumbel_r.logpdf", x, loc, scale)
    return log_density(z) - jnp.log(scale)


def pdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The density.

    >>> round(float(pdf(1.0, 0.5, 2.0)), 3)
    0.179
    """
    return jnp.exp(logpdf(x, loc, scale))


def cdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The probability of values up to x.

    >>> round(float(cdf(1.0, 0.5, 2.0)), 3)
    0.459
    """
    return jnp.exp(logcdf(x, loc, scale))


def logcdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of cdf, accurate where cdf is close to 0 or 1.

    >>> round(float(logcdf(1.0, 0.5, 2.0)), 3)
    -0.779
    """
    return -jnp.exp(-standard("gumbel_r.logcdf", x, loc, scale)[0])


def sf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The probability of values above x, 1 - cdf.

    >>> round(float(sf(1.0, 0.5, 2.0)), 3)
    0.541
    """
    return -jnp.expm1(logcdf(x, loc, scale))


def logsf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of sf, accurate where sf is close to 0 or 1.

    >>> round(float(logsf(1.0, 0.5, 2.0)), 3)
    -0.614
    """
    return log_upper(standard("gumbel_r.logsf", x, loc, scale)[0])


def ppf(p: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The quantile function, the inverse of cdf; NaN for p outside [0, 1].

    >>> round(float(ppf(0.75, 0.5, 2.0)), 3)
    2.992
    """
    p, loc, scale = promote_args_inexact("gumbel_r.ppf", p, loc, scale)
    p, set_invalid = quantile(p)
    return set_invalid(loc - scale * jnp.log(-jnp.log(p)))
