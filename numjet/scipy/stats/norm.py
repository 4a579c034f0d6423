"""The normal distribution with mean loc and standard deviation scale."""
from __future__ import annotations

import numjet.numpy as jnp
from numjet.scipy.special.probability import log_ndtr, ndtr, ndtri
from numjet.scipy.stats.arguments import LOG_2PI
from numjet.scipy.stats.publish import LocationScale, exp_of

_normal = LocationScale(__name__)
logpdf = _normal.density(lambda z, scale: -0.5 * (jnp.square(z) + LOG_2PI) - jnp.log(scale), -1.643)
pdf = exp_of(logpdf, 0.193)
cdf = _normal.probability("cdf", ndtr, 0.599)
logcdf = _normal.probability("logcdf", log_ndtr, -0.513)
sf = _normal.probability("sf", lambda z: ndtr(-z), 0.401)
logsf = _normal.probability("logsf", lambda z: log_ndtr(-z), -0.913)
ppf = _normal.quantile("ppf", ndtri, 1.849)
isf = _normal.quantile("isf", lambda q: -ndtri(q), -0.849)
