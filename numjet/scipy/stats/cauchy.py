"""The Cauchy distribution with median loc and half width scale."""
from __future__ import annotations

import math
from typing import Any

import numjet.numpy as jnp
from numjet import random
from numjet.control.custom.custom_jvp import custom_jvp
from numjet.scipy.stats.arguments import log1p_square
from numjet.scipy.stats.publish import LocationScale, on_probabilities
from numjet.scipy.stats.variables import Variable

_LOG_PI = math.log(math.pi)


def _upper(z: Any) -> Any:
    """The probability of standard values above z: an angle, without cancellation in either tail."""
    return jnp.arctan2(jnp.ones_like(z), z) / math.pi


def _log_upper(z: Any) -> Any:
    negative = z < 0
    far = jnp.where(negative, -z, z)
    tail = _upper(far)
    return jnp.where(negative, jnp.log1p(-tail), jnp.log(jnp.where(negative, 1.0, tail)))    # a tail of 0 has no slope


@custom_jvp
def _cotangent(x: Any) -> Any:
    """cot(pi x), with infinite derivatives at 0."""
    return 1 / jnp.tan(math.pi * x)


_cotangent.defjvps(lambda t, out, x: -math.pi * t * (1 + out * out))


def _quantile(q: Any) -> Any:
    """-cot(pi q), as tan(pi (q - 1/2)) in the middle; both are accurate where they are used."""
    middle = jnp.abs(q - 0.5) < 0.25
    rest = jnp.where(middle, 0.25, jnp.where(q > 0.5, 1 - q, q + 0.0))     # 0 for -0
    tail = _cotangent(rest)
    near = jnp.tan(math.pi * (jnp.where(middle, q, 0.5) - 0.5))
    return jnp.where(middle, near, jnp.where(q > 0.5, tail, -tail))


_cauchy = LocationScale(__name__)
logpdf, pdf = _cauchy.densities(lambda z, scale: -_LOG_PI - log1p_square(z) - jnp.log(scale), -1.899, 0.15)
cdf = _cauchy.probability("cdf", lambda z: _upper(-z), 0.578)
logcdf = _cauchy.probability("logcdf", lambda z: _log_upper(-z), -0.548)
sf = _cauchy.probability("sf", _upper, 0.422)
logsf = _cauchy.probability("logsf", _log_upper, -0.863)
ppf = _cauchy.quantile("ppf", on_probabilities(_quantile), 2.5)
isf = _cauchy.quantile("isf", on_probabilities(lambda q: -_quantile(q)), -1.5)

_variable = Variable(__name__)
rvs = _variable.samples(lambda key, shape, dtype: random.cauchy(key, shape, dtype))
mean = _variable.moment("mean", lambda: math.nan, math.nan)
var = _variable.moment("var", lambda: math.nan, math.nan)
std = _variable.moment("std", lambda: math.nan, math.nan, root=True)
median = _variable.moment("median", lambda: 0.0, 0.5)
entropy = _variable.moment("entropy", lambda: math.log(4 * math.pi), 3.224)
