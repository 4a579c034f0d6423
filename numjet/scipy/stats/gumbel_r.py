"""The Gumbel distribution of largest values."""
from __future__ import annotations

import math
from typing import Any

import numjet.numpy as jnp
from numjet import random
from numjet.control.custom.custom_jvp import custom_jvp
from numjet.nn.activations import log1mexp
from numjet.scipy.special.probability import entr, xlog1py
from numjet.scipy.stats.arguments import float_args, valid_scale, where_inside
from numjet.scipy.stats.publish import LocationScale, on_probabilities
from numjet.scipy.stats.variables import EULER, Variable

_FLAT = 40.0      # beyond it log(1 - exp(-exp(-z))) is -z to the last place
_STEEP = -20.0    # below it exp(-exp(-z)) is 0 in every dtype, and so is its slope, a product with exp(-z), which overflows


def log_density(z: Any) -> Any:
    """-z - exp(-z); -inf also where exp(-z) overflows.

    >>> float(log_density(jnp.float32(0.0)))
    -1.0
    """
    z, set_far = where_inside(-z > math.log(jnp.finfo(z.dtype).max), 0.0, z, -math.inf)
    return set_far(-z - jnp.exp(-z))


def log_upper(z: Any) -> Any:
    """log(1 - exp(-exp(-z))).

    >>> float(log_upper(50.0))
    -50.0
    """
    far = z > _FLAT
    return jnp.where(far, -z, log1mexp(decay(jnp.where(far, 0.0, z))))


def decay(z: Any) -> Any:
    """exp(-z), constant far below 0, where exp(-decay(z)) is 0.

    >>> float(decay(jnp.float32(0.0)))
    1.0
    """
    return jnp.exp(-jnp.maximum(z, _STEEP))


@custom_jvp
def log_of_minus_log(p: Any) -> Any:
    """log(-log(p)) for 0 <= p <= 1; its slope is infinite at both ends.

    >>> float(log_of_minus_log(jnp.float32(1.0)))
    -inf
    """
    return jnp.log(-jnp.log(p))


log_of_minus_log.defjvps(lambda t, out, p: -t / abs(entr(p)))


@custom_jvp
def log_of_minus_log1p(q: Any) -> Any:
    """log(-log(1 - q)) for 0 <= q <= 1, precise for small q; its slope is infinite at both ends.

    >>> float(log_of_minus_log1p(jnp.float32(0.0)))
    -inf
    """
    return jnp.log(-jnp.log1p(-q))


@custom_jvp
def _slope_of_minus_log1p(q: Any) -> Any:
    return 1 / abs(xlog1py(1 - q, -q))


_slope_of_minus_log1p.defjvps(lambda t, out, q: -t * (out * (out * (1 + jnp.log1p(-q)))))
log_of_minus_log1p.defjvps(lambda t, out, q: t * _slope_of_minus_log1p(q))


_gumbel = LocationScale(__name__)
logpdf, pdf = _gumbel.densities(lambda z, scale: log_density(z) - jnp.log(scale), -1.722, 0.179)
cdf = _gumbel.probability("cdf", lambda z: jnp.exp(-decay(z)), 0.459)
logcdf = _gumbel.probability("logcdf", lambda z: -jnp.exp(-z), -0.779)
sf = _gumbel.probability("sf", lambda z: -jnp.expm1(-decay(z)), 0.541)
logsf = _gumbel.probability("logsf", log_upper, -0.614)


def ppf(p: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The quantile function, the inverse of cdf; NaN for p outside [0, 1].

    >>> round(float(ppf(0.75, 0.5, 2.0)), 3)
    2.992
    """
    p, loc, scale = float_args("gumbel_r.ppf", p, loc, scale)
    return loc - valid_scale(scale) * on_probabilities(log_of_minus_log)(p)


def isf(q: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The inverse of sf; NaN for q outside [0, 1].

    >>> round(float(isf(0.75, 0.5, 2.0)), 3)
    -0.153
    """
    q, loc, scale = float_args("gumbel_r.isf", q, loc, scale)
    return loc - valid_scale(scale) * on_probabilities(log_of_minus_log1p)(q)


_variable = Variable(__name__)
rvs = _variable.samples(lambda key, shape, dtype: random.gumbel(key, shape, dtype))
mean = _variable.moment("mean", lambda: EULER, 1.654)
var = _variable.moment("var", lambda: math.pi ** 2 / 6, 6.58)
std = _variable.moment("std", lambda: math.pi ** 2 / 6, 2.565, root=True)
median = _variable.moment("median", lambda: -math.log(math.log(2)), 1.233)
entropy = _variable.moment("entropy", lambda: 1 + EULER, 2.27)
