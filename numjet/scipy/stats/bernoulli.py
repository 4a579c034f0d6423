"""The Bernoulli distribution: 1 with probability p, else 0."""
from __future__ import annotations

import math
from typing import Any

import numjet.numpy as jnp
from numjet import random
from numjet.scipy.special.probability import xlog1py, xlogy
from numjet.scipy.stats.arguments import float_args, where_inside, where_valid
from numjet.scipy.stats.publish import Formula, exp_of
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


def _stepwise(name: str, k: Any, p: Any, loc: Any, below: float, formula: Formula, above: float) -> Any:
    """`below` for k - loc < 0, the formula of p up to 1, `above` from 1 on."""
    k, p, loc = float_args(name, k, p, loc)
    x = where_valid((p >= 0) & (p <= 1), k - loc)
    p, set_nan = where_inside(jnp.isnan(x), 0.5, p, math.nan)
    between = (x >= 0) & (x < 1)
    inner = formula(jnp.where(between, p, 0.5))
    return set_nan(jnp.where(between, inner, jnp.where(x < 0, below, above)))


def cdf(k: Any, p: Any, loc: Any = 0) -> Any:
    """The probability of values up to k. NaN for p outside [0, 1].

    >>> round(float(cdf(0, 0.25)), 3)
    0.75
    """
    return _stepwise("bernoulli.cdf", k, p, loc, 0.0, lambda p: 1 - p, 1.0)


def logcdf(k: Any, p: Any, loc: Any = 0) -> Any:
    """The logarithm of cdf, accurate where cdf is close to 0 or 1. NaN for p outside [0, 1].

    >>> round(float(logcdf(0, 0.25)), 3)
    -0.288
    """
    return _stepwise("bernoulli.logcdf", k, p, loc, -math.inf, lambda p: jnp.log1p(-p), 0.0)


def sf(k: Any, p: Any, loc: Any = 0) -> Any:
    """The probability of values above k, 1 - cdf. NaN for p outside [0, 1].

    >>> round(float(sf(0, 0.25)), 3)
    0.25
    """
    return _stepwise("bernoulli.sf", k, p, loc, 1.0, lambda p: p, 0.0)


def logsf(k: Any, p: Any, loc: Any = 0) -> Any:
    """The logarithm of sf, accurate where sf is close to 0 or 1. NaN for p outside [0, 1].

    >>> round(float(logsf(0, 0.25)), 3)
    -1.386
    """
    return _stepwise("bernoulli.logsf", k, p, loc, 0.0, lambda p: jnp.log(p), -math.inf)


def ppf(q: Any, p: Any) -> Any:
    """The smaller of 0 and 1 with cdf >= q; NaN for q or p outside [0, 1].

    >>> float(ppf(0.8, 0.25))
    1.0
    """
    q, p = float_args("bernoulli.ppf", q, p)
    valid = (q >= 0) & (q <= 1) & (p >= 0) & (p <= 1)
    return where_valid(valid, jnp.where(q <= 1 - p, jnp.zeros_like(q), jnp.ones_like(q)))


def isf(q: Any, p: Any) -> Any:
    """The smaller of 0 and 1 with sf <= q; NaN for q or p outside [0, 1].

    >>> float(isf(0.2, 0.25))
    1.0
    """
    q, p = float_args("bernoulli.isf", q, p)
    valid = (q >= 0) & (q <= 1) & (p >= 0) & (p <= 1)
    return where_valid(valid, jnp.where(q >= p, jnp.zeros_like(q), jnp.ones_like(q)))

_variable = Variable(__name__, ("p",), (0.3,), probability, scaled=False)
rvs = _variable.samples(counts(lambda key, p, shape: random.bernoulli(key, p, shape)))
mean = _variable.moment("mean", lambda p: p, 0.8)
var = _variable.moment("var", lambda p: p * (1 - p), 0.21)
std = _variable.moment("std", lambda p: p * (1 - p), 0.458, root=True)
entropy = _variable.moment("entropy", lambda p: -xlogy(p, p) - xlog1py(1 - p, -p), 0.611)
