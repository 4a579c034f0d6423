"""The uniform distribution on [loc, loc + scale]."""
from __future__ import annotations

from typing import Any

import numjet.numpy as jnp
from numjet.numpy.core.promotion import promote_args_inexact
from numjet.scipy.stats.arguments import quantile, standard


def logpdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the density.

    >>> round(float(logpdf(1.0, 0.5, 2.0)), 3)
    -0.693
    """
    z, _, scale = standard("uniform.logpdf", x, loc, scale)
    return jnp.where((z < 0) | (z > 1), -jnp.inf, jnp.where(jnp.isnan(z), z, -jnp.log(scale)))


def pdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The density.

    >>> round(float(pdf(1.0, 0.5, 2.0)), 3)
    0.5
    """
    return jnp.exp(logpdf(x, loc, scale))


def cdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The probability of values up to x.

    >>> round(float(cdf(1.0, 0.5, 2.0)), 3)
    0.25
    """
    z = standard("uniform.cdf", x, loc, scale)[0]
    return jnp.where(z < 0, 0.0, jnp.where(z > 1, 1.0, z))


def ppf(q: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The quantile function, the inverse of cdf; NaN for q outside [0, 1].

    >>> round(float(ppf(0.75, 0.5, 2.0)), 3)
    2.0
    """
    q, loc, scale = promote_args_inexact("uniform.ppf", q, loc, scale)
    q, set_invalid = quantile(q)
    return set_invalid(loc + scale * q)
