"""The Laplace distribution: two exponential distributions back to back at loc."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numjet.numpy as jnp
from numjet import random
from numjet.scipy.stats.arguments import LOG_2
from numjet.scipy.stats.publish import LocationScale, on_probabilities
from numjet.scipy.stats.variables import Variable


def _probability(upper: bool) -> Callable[[Any], Any]:
    """cdf, or sf, of standard values. At 0 its second derivative is that from below."""
    def of(z: Any) -> Any:
        negative = z <= 0
        tail = 0.5 * jnp.exp(jnp.where(negative, z, -z))
        return jnp.where(negative != upper, tail, 1 - tail)
    return of


def _logarithm(upper: bool) -> Callable[[Any], Any]:
    """logcdf, or logsf, of standard values."""
    def of(z: Any) -> Any:
        negative = z <= 0
        size, in_tail = jnp.where(negative, -z, z), negative != upper
        return jnp.where(in_tail, -size - LOG_2, jnp.log1p(-0.5 * jnp.exp(-jnp.where(in_tail, 0.0, size))))
    return of


def _quantile(q: Any) -> Any:
    lower = q < 0.5
    size = jnp.log(2 * jnp.where(lower, q, 1 - q))
    return jnp.where(lower, size, -size)


_laplace = LocationScale(__name__)
logpdf, pdf = _laplace.densities(lambda z, scale: -jnp.abs(z) - LOG_2 - jnp.log(scale), -1.636, 0.195)
cdf = _laplace.probability("cdf", _probability(False), 0.611)
logcdf = _laplace.probability("logcdf", _logarithm(False), -0.493)
sf = _laplace.probability("sf", _probability(True), 0.389)
logsf = _laplace.probability("logsf", _logarithm(True), -0.943)
ppf = _laplace.quantile("ppf", on_probabilities(_quantile), 1.886)
isf = _laplace.quantile("isf", on_probabilities(lambda q: -_quantile(q)), -0.886)

_variable = Variable(__name__)
rvs = _variable.samples(lambda key, shape, dtype: random.laplace(key, shape, dtype))
mean = _variable.moment("mean", lambda: 0.0, 0.5)
var = _variable.moment("var", lambda: 2.0, 8.0)
std = _variable.moment("std", lambda: 2.0, 2.828, root=True)
median = _variable.moment("median", lambda: 0.0, 0.5)
entropy = _variable.moment("entropy", lambda: 1 + LOG_2, 2.386)
