"""The normal distribution with mean loc and standard deviation scale."""
from __future__ import annotations

import numjet.numpy as jnp
from numjet import random
from numjet.scipy.special.probability import log_ndtr, ndtr, ndtri
from numjet.scipy.stats.arguments import LOG_2PI
from numjet.scipy.stats.publish import LocationScale
from numjet.scipy.stats.variables import Variable

_normal = LocationScale(__name__)
logpdf, pdf = _normal.densities(lambda z, scale: -0.5 * (jnp.square(z) + LOG_2PI) - jnp.log(scale), -1.643, 0.193)
cdf = _normal.probability("cdf", ndtr, 0.599)
logcdf = _normal.probability("logcdf", log_ndtr, -0.513)
sf = _normal.probability("sf", lambda z: ndtr(-z), 0.401)
logsf = _normal.probability("logsf", lambda z: log_ndtr(-z), -0.913)
ppf = _normal.quantile("ppf", ndtri, 1.849)
isf = _normal.quantile("isf", lambda q: -ndtri(q), -0.849)

_variable = Variable(__name__)
rvs = _variable.samples(lambda key, shape, dtype: random.normal(key, shape, dtype))
mean = _variable.moment("mean", lambda: 0.0, 0.5)
var = _variable.moment("var", lambda: 1.0, 4.0)
std = _variable.moment("std", lambda: 1.0, 2.0, root=True)
median = _variable.moment("median", lambda: 0.0, 0.5)
entropy = _variable.moment("entropy", lambda: 0.5 * (1 + LOG_2PI), 2.112)
