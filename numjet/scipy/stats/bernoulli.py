"""The Bernoulli distribution: 1 with probability p, else 0."""
from __future__ import annotations

import math
from typing import Any

import numjet.numpy as jnp
from numjet import random
from numjet.scipy.special.probability import xlog1py, xlogy
from numjet.scipy.stats.arguments import float_args, where_inside, where_valid
from numjet.scipy.stats.publish import exp_of
from numjet.scipy.stats.variables import Variable, counts, probability


def logpmf(k: Any, p: Any, loc: Any = 0) -> Any:
    """The logarithm of the probability of k; -inf for k - loc outside [0, 1], linear in it between.

    >>> round(float(logpmf(1, 0.25)), 3)
    -1.386
    """
    k, p, loc = float_args("bernoulli.logpmf", k, p, loc)
    x = where_valid((p >= 0) & (p <= 1), k - loc)
    x, set_outside = where_inside((x < 0) | (x > 1), 0.0, x, -math.inf)
    return set_outside(xlogy(x, p) + xlog1py(1 - x, -p))


pmf = exp_of(logpmf, 0.25)


def cdf(k: Any, p: Any) -> Any:
    """The probability of values up to k; NaN for p outside [0, 1].

    >>> round(float(cdf(0, 0.25)), 3)
    0.75
    """
    k, p = float_args("bernoulli.cdf", k, p)
    invalid = jnp.isnan(k) | jnp.isnan(p) | (p < 0) | (p > 1)
    return jnp.where(invalid, jnp.nan, jnp.where(k < 0, 0.0, jnp.where(k < 1, 1 - p, 1.0)))


def ppf(q: Any, p: Any) -> Any:
    """The smaller of 0 and 1 with cdf >= q; NaN for q or p outside [0, 1].

    >>> float(ppf(0.8, 0.25))
    1.0
    """
    q, p = float_args("bernoulli.ppf", q, p)
    valid = (q >= 0) & (q <= 1) & (p >= 0) & (p <= 1)
    return where_valid(valid, jnp.where(q <= 1 - p, jnp.zeros_like(q), jnp.ones_like(q)))

_variable = Variable(__name__, ("p",), (0.3,), probability, scaled=False)
rvs = _variable.samples(counts(lambda key, p, shape: random.bernoulli(key, p, shape)))
mean = _variable.moment("mean", lambda p: p, 0.8)
var = _variable.moment("var", lambda p: p * (1 - p), 0.21)
std = _variable.moment("std", lambda p: p * (1 - p), 0.458, root=True)
entropy = _variable.moment("entropy", lambda p: -xlogy(p, p) - xlog1py(1 - p, -p), 0.611)
