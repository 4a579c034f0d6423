"""The Laplace distribution: two exponential distributions back to back at loc."""
from __future__ import annotations

from typing import Any

import numjet.numpy as jnp
from numjet.scipy.stats.arguments import LOG_2, standard


def logpdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the density.

    >>> round(float(logpdf(1.0, 0.5, 2.0)), 3)
    -1.636
    """
    z, _, scale = standard("laplace.logpdf", x, loc, scale)
    return -jnp.abs(z) - LOG_2 - jnp.log(scale)


def pdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The density.

    >>> round(float(pdf(1.0, 0.5, 2.0)), 3)
    0.195
    """
    return jnp.exp(logpdf(x, loc, scale))


def cdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The probability of values up to x.

    >>> round(float(cdf(1.0, 0.5, 2.0)), 3)
    0.611
    """
    z = standard("laplace.cdf", x, loc, scale)[0]
    negative = z < 0
    tail = 0.5 * jnp.exp(jnp.where(negative, z, -z))
    return jnp.where(negative, tail, 1 - tail)
