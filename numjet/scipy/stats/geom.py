"""The geometric distribution: the number of trials, of probability p each, up to the first success."""
from __future__ import annotations

import math
from typing import Any

import numjet.numpy as jnp
from numjet import random
from numjet.nn.activations import log1mexp
from numjet.scipy.special.probability import xlog1py, xlogy
from numjet.scipy.stats.arguments import float_args, where_inside, where_valid
from numjet.scipy.stats.count_quantiles import CountQuantiles
from numjet.scipy.stats.publish import exp_of
from numjet.scipy.stats.variables import Variable, counts


def logpmf(k: Any, p: Any, loc: Any = 0) -> Any:
    """The logarithm of the probability of k; -inf for k - loc <= 0.

    >>> round(float(logpmf(2, 0.25)), 3)
    -1.674
    """
    k, p, loc = float_args("geom.logpmf", k, p, loc)
    x = where_valid((p > 0) & (p <= 1), k - loc)
    x, set_outside = where_inside(x <= 0, 1.0, x, -math.inf)
    return set_outside(xlog1py(x - 1, -p) + jnp.log(p))


pmf = exp_of(logpmf, 0.188)


def _hazard(name: str, k: Any, p: Any, loc: Any, below: float) -> tuple[Any, Any]:
    """(-log of the survival function, a function that puts `below` below 1)."""
    k, p, loc = float_args(name, k, p, loc)
    x = where_valid((p > 0) & (p <= 1), jnp.floor(k - loc))
    x, set_below = where_inside(x < 1, 1.0, x, below)
    return -xlog1py(x, -p), set_below


def cdf(k: Any, p: Any, loc: Any = 0) -> Any:
    """The probability of counts up to k.

    >>> round(float(cdf(2, 0.25)), 3)
    0.437
    """
    hazard, set_outside = _hazard("geom.cdf", k, p, loc, 0.0)
    return set_outside(-jnp.expm1(-hazard))


def logcdf(k: Any, p: Any, loc: Any = 0) -> Any:
    """The logarithm of cdf, accurate where cdf is close to 0 or 1.

    >>> round(float(logcdf(2, 0.25)), 3)
    -0.827
    """
    hazard, set_outside = _hazard("geom.logcdf", k, p, loc, -math.inf)
    return set_outside(log1mexp(hazard))


def sf(k: Any, p: Any, loc: Any = 0) -> Any:
    """The probability of counts above k, 1 - cdf.

    >>> round(float(sf(2, 0.25)), 3)
    0.562
    """
    hazard, set_outside = _hazard("geom.sf", k, p, loc, 1.0)
    return set_outside(jnp.exp(-hazard))


def logsf(k: Any, p: Any, loc: Any = 0) -> Any:
    """The logarithm of sf, accurate where sf is close to 0 or 1.

    >>> round(float(logsf(2, 0.25)), 3)
    -0.575
    """
    hazard, set_outside = _hazard("geom.logsf", k, p, loc, 0.0)
    return set_outside(-hazard)


_quantiles = CountQuantiles(__name__, ("p",), "0.25", lambda p: (p > 0) & (p <= 1), first=1.0)
ppf = _quantiles.inverse("ppf", cdf, 5.0)
isf = _quantiles.inverse("isf", sf, 1.0)

_variable = Variable(__name__, ("p",), (0.25,), lambda p: (p > 0) & (p <= 1), scaled=False)
rvs = _variable.samples(counts(lambda key, p, shape: random.geometric(key, p, shape)))
mean = _variable.moment("mean", lambda p: 1 / p, 4.5)
var = _variable.moment("var", lambda p: (1 - p) / (p * p), 12.0)
std = _variable.moment("std", lambda p: jnp.sqrt(1 - p) / p, 3.464)
entropy = _variable.moment("entropy", lambda p: -(xlogy(p, p) + xlog1py(1 - p, -p)) / p, 2.249)
