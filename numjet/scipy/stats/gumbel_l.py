"""The Gumbel distribution of smallest values: the mirror image of that of largest ones."""
from __future__ import annotations

import math
from typing import Any

import numjet.numpy as jnp
from numjet import random
from numjet.scipy.stats.arguments import float_args, valid_scale
from numjet.scipy.stats.gumbel_r import decay, log_density, log_of_minus_log, log_of_minus_log1p, log_upper
from numjet.scipy.stats.publish import LocationScale, on_probabilities
from numjet.scipy.stats.variables import EULER, Variable

_gumbel = LocationScale(__name__)
logpdf, pdf = _gumbel.densities(lambda z, scale: log_density(-z) - jnp.log(scale), -1.727, 0.178)
cdf = _gumbel.probability("cdf", lambda z: -jnp.expm1(-decay(-z)), 0.723)
logcdf = _gumbel.probability("logcdf", lambda z: log_upper(-z), -0.324)
sf = _gumbel.probability("sf", lambda z: jnp.exp(-decay(-z)), 0.277)
logsf = _gumbel.probability("logsf", lambda z: -jnp.exp(z), -1.284)


def ppf(p: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The quantile function, the inverse of cdf; NaN for p outside [0, 1].

    >>> round(float(ppf(0.75, 0.5, 2.0)), 3)
    1.153
    """
    p, loc, scale = float_args("gumbel_l.ppf", p, loc, scale)
    return loc + valid_scale(scale) * on_probabilities(log_of_minus_log1p)(p)


def isf(q: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The inverse of sf; NaN for q outside [0, 1].

    >>> round(float(isf(0.75, 0.5, 2.0)), 3)
    -1.992
    """
    q, loc, scale = float_args("gumbel_l.isf", q, loc, scale)
    return loc + valid_scale(scale) * on_probabilities(log_of_minus_log)(q)


_variable = Variable(__name__)
rvs = _variable.samples(lambda key, shape, dtype: -random.gumbel(key, shape, dtype))
mean = _variable.moment("mean", lambda: -EULER, -0.654)
var = _variable.moment("var", lambda: math.pi ** 2 / 6, 6.58)
std = _variable.moment("std", lambda: math.pi ** 2 / 6, 2.565, root=True)
median = _variable.moment("median", lambda: math.log(math.log(2)), -0.233)
entropy = _variable.moment("entropy", lambda: 1 + EULER, 2.27)
