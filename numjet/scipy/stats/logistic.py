"""The logistic distribution, whose distribution function is 1 / (1 + exp(-(x - loc) / scale))."""
from __future__ import annotations

import math
from typing import Any

import numjet.numpy as jnp
from numjet import random
from numjet.scipy.special.probability import expit, logit
from numjet.scipy.stats.arguments import float_args, valid_scale
from numjet.scipy.stats.publish import LocationScale
from numjet.scipy.stats.variables import Variable


def _log_density(z: Any, scale: Any) -> Any:
    size = jnp.where(jnp.real(z) < 0, -z, z)
    return -size - 2 * jnp.log1p(jnp.exp(-size)) - jnp.log(scale)


_logistic = LocationScale(__name__)
logpdf, pdf = _logistic.densities(_log_density, -2.095, 0.123)
cdf = _logistic.probability("cdf", expit, 0.562)
sf = _logistic.probability("sf", lambda z: expit(-z), 0.438)
logcdf = _logistic.probability("logcdf", lambda z: -jnp.logaddexp(-z, 0.0), -0.576)
logsf = _logistic.probability("logsf", lambda z: -jnp.logaddexp(z, 0.0), -0.826)


def ppf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The quantile function, the inverse of cdf; NaN for x outside [0, 1].

    >>> round(float(ppf(0.75, 0.5, 2.0)), 3)
    2.697
    """
    x, loc, scale = float_args("logistic.ppf", x, loc, scale)
    return loc + valid_scale(scale) * logit(x)


def isf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The inverse of sf; NaN for x outside [0, 1].

    >>> round(float(isf(0.75, 0.5, 2.0)), 3)
    -1.697
    """
    x, loc, scale = float_args("logistic.isf", x, loc, scale)
    return loc - valid_scale(scale) * logit(x)

_variable = Variable(__name__)
rvs = _variable.samples(lambda key, shape, dtype: random.logistic(key, shape, dtype))
mean = _variable.moment("mean", lambda: 0.0, 0.5)
var = _variable.moment("var", lambda: math.pi ** 2 / 3, 13.159)
std = _variable.moment("std", lambda: math.pi ** 2 / 3, 3.628, root=True)
median = _variable.moment("median", lambda: 0.0, 0.5)
entropy = _variable.moment("entropy", lambda: 2.0, 2.693)
