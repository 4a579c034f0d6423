"""The Gumbel distribution of smallest values: the mirror image of that of largest ones."""
from __future__ import annotations

from typing import Any

import numjet.numpy as jnp
from numjet.numpy.core.promotion import promote_args_inexact
from numjet.scipy.stats.arguments import where_valid
from numjet.scipy.stats.gumbel_r import log_density, log_upper
from numjet.scipy.stats.publish import LocationScale, exp_of, on_probabilities

_gumbel = LocationScale(__name__)
logpdf = _gumbel.density(lambda z, scale: log_density(-z) - jnp.log(scale), -1.727)
pdf = exp_of(logpdf, 0.178)
cdf = _gumbel.probability("cdf", lambda z: -jnp.expm1(-jnp.exp(z)), 0.723)
logcdf = _gumbel.probability("logcdf", lambda z: log_upper(-z), -0.324)
sf = _gumbel.probability("sf", lambda z: jnp.exp(-jnp.exp(z)), 0.277)
logsf = _gumbel.probability("logsf", lambda z: -jnp.exp(z), -1.284)


def ppf(p: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The quantile function, the inverse of cdf; NaN for p outside [0, 1].

    >>> round(float(ppf(0.75, 0.5, 2.0)), 3)
    1.153
    """
    p, loc, scale = promote_args_inexact("gumbel_l.ppf", p, loc, scale)
    return loc + where_valid(scale > 0, scale) * on_probabilities(lambda p: jnp.log(-jnp.log1p(-p)))(p)
