"""The uniform distribution on [loc, loc + scale]."""
from __future__ import annotations

import math
from typing import Any

import numjet.numpy as jnp
from numjet import lax, random
from numjet.scipy.stats.arguments import where_inside
from numjet.scipy.stats.publish import Formula, LocationScale, on_probabilities
from numjet.scipy.stats.variables import Variable


def _log_density(z: Any, scale: Any) -> Any:
    z = lax.stop_gradient(z)    # compared alone: no derivative passes it, also not one that is 0 times inf
    return jnp.where((z < 0) | (z > 1), -jnp.inf, jnp.where(jnp.isnan(z), z, -jnp.log(scale)))


def _at_ends(formula: Formula, below: float, above: float) -> Formula:
    """The formula for 0 <= z <= 1, and values below and above, where the formula is not evaluated."""
    def function(z: Any) -> Any:
        inside, set_below = where_inside((z < 0) | (z > 1), 0.5, z, below)
        return jnp.where(z > 1, above, set_below(formula(inside)))
    return function


_uniform = LocationScale(__name__, from_loc=True)
logpdf, pdf = _uniform.densities(_log_density, -0.693, 0.5)
cdf = _uniform.probability("cdf", lambda z: jnp.where(z < 0, 0.0, jnp.where(z > 1, 1.0, z)), 0.25)
logcdf = _uniform.probability("logcdf", _at_ends(jnp.log, -math.inf, 0.0), -1.386)
sf = _uniform.probability("sf", _at_ends(lambda z: 1 - z, 1.0, 0.0), 0.75)
logsf = _uniform.probability("logsf", _at_ends(lambda z: jnp.log1p(-z), 0.0, -math.inf), -0.288)
ppf = _uniform.quantile("ppf", on_probabilities(lambda q: q), 2.0)
isf = _uniform.quantile("isf", on_probabilities(lambda q: 1 - q), 1.0)

_variable = Variable(__name__)
rvs = _variable.samples(lambda key, shape, dtype: random.uniform(key, shape, dtype))
mean = _variable.moment("mean", lambda: 0.5, 1.5)
var = _variable.moment("var", lambda: 1 / 12, 0.333)
std = _variable.moment("std", lambda: 1 / 12, 0.577, root=True)
median = _variable.moment("median", lambda: 0.5, 1.5)
entropy = _variable.moment("entropy", lambda: 0.0, 0.693)
