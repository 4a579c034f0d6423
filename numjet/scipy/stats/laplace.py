"""The Laplace distribution: two exponential distributions back to back at loc."""
from __future__ import annotations

from typing import Any

import numjet.numpy as jnp
from numjet.scipy.stats.arguments import LOG_2
from numjet.scipy.stats.publish import LocationScale, exp_of


def _lower(z: Any) -> Any:
    """The probability of standard values up to z."""
    negative = z < 0
    tail = 0.5 * jnp.exp(jnp.where(negative, z, -z))
    return jnp.where(negative, tail, 1 - tail)


_laplace = LocationScale(__name__)
logpdf = _laplace.density(lambda z, scale: -jnp.abs(z) - LOG_2 - jnp.log(scale), -1.636)
pdf = exp_of(logpdf, 0.195)
cdf = _laplace.probability("cdf", _lower, 0.611)
