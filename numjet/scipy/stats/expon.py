"""The exponential distribution with rate 1 / scale, from loc on."""
from __future__ import annotations

import math
from typing import Any

import numjet.numpy as jnp
from numjet import random
from numjet.nn.activations import log1mexp
from numjet.scipy.stats.arguments import where_inside
from numjet.scipy.stats.publish import Formula, LocationScale, on_probabilities
from numjet.scipy.stats.variables import Variable


def _from_0(formula: Formula, below: float) -> Formula:
    """The formula for z >= 0, and the value `below` for negative z, where the formula is not evaluated."""
    def function(z: Any) -> Any:
        z, set_below = where_inside(z < 0, 1.0, z, below)
        return set_below(formula(z))
    return function


_exponential = LocationScale(__name__, from_loc=True)
logpdf, pdf = _exponential.densities(lambda z, scale: jnp.where(z < 0, -jnp.inf, -z - jnp.log(scale)), -0.943, 0.389)
cdf = _exponential.probability("cdf", _from_0(lambda z: -jnp.expm1(-z), 0.0), 0.221)
logcdf = _exponential.probability("logcdf", _from_0(log1mexp, -math.inf), -1.509)
sf = _exponential.probability("sf", _from_0(lambda z: jnp.exp(-z), 1.0), 0.779)
logsf = _exponential.probability("logsf", _from_0(lambda z: -z, 0.0), -0.25)
ppf = _exponential.quantile("ppf", on_probabilities(lambda q: -jnp.log1p(-q)), 3.273)
isf = _exponential.quantile("isf", on_probabilities(lambda q: -jnp.log(q)), 1.075)

_variable = Variable(__name__)
rvs = _variable.samples(lambda key, shape, dtype: random.exponential(key, shape, dtype))
mean = _variable.moment("mean", lambda: 1.0, 2.5)
var = _variable.moment("var", lambda: 1.0, 4.0)
std = _variable.moment("std", lambda: 1.0, 2.0, root=True)
median = _variable.moment("median", lambda: math.log(2), 1.886)
entropy = _variable.moment("entropy", lambda: 1.0, 1.693)
