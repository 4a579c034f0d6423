"""The negative binomial distribution: the number of failures before the n-th success, of probability p each."""
from __future__ import annotations

import math
from typing import Any

import numjet.numpy as jnp
from numjet import random
from numjet.scipy.special.distribution_functions import betaincc
from numjet.scipy.special.factorial_terms import log_binomial_term
from numjet.scipy.special.gamma_family import betainc
from numjet.scipy.special.wide_evaluation import smooth_by_precision
from numjet.scipy.stats.arguments import float_args, where_inside, where_valid
from numjet.scipy.stats.publish import exp_of
from numjet.scipy.stats.tails import log_betainc, log_betaincc
from numjet.scipy.stats.variables import Variable


def logpmf(k: Any, n: Any, p: Any, loc: Any = 0) -> Any:
    """The logarithm of the probability of k; -inf for negative k - loc.

    >>> round(float(logpmf(2, 3, 0.25)), 3)
    -2.942
    """
    k, n, p, loc = float_args("nbinom.logpmf", k, n, p, loc)
    x = where_valid((n > 0) & (p > 0) & (p <= 1), k - loc)
    x, set_outside = where_inside(x < 0, 0.0, x, -math.inf)
    return set_outside(_log_term(n, p, x))


@smooth_by_precision
def _log_term(n: Any, p: Any, k: Any, precise: bool) -> Any:
    return log_binomial_term(n, k, p, precise) - jnp.log1p(k / n)


pmf = exp_of(logpmf, 0.053)


def _within(name: str, k: Any, n: Any, p: Any, loc: Any, below: float, above: float) -> tuple[Any, ...]:
    """(floor(k - loc), n, p, a function that puts `below` below 0 and `above` where k is infinite)."""
    k, n, p, loc = float_args(name, k, n, p, loc)
    x = where_valid((n > 0) & (p > 0) & (p <= 1), jnp.floor(k - loc))
    x, set_below = where_inside(x < 0, 0.0, x, below)
    x, set_above = where_inside(x == math.inf, 0.0, x, above)
    return x, n, p, lambda out: set_below(set_above(out))


def cdf(k: Any, n: Any, p: Any, loc: Any = 0) -> Any:
    """The probability of counts up to k.

    >>> round(float(cdf(2, 3, 0.25)), 3)
    0.104
    """
    x, n, p, set_outside = _within("nbinom.cdf", k, n, p, loc, 0.0, 1.0)
    return set_outside(betainc(n, x + 1, p))


def logcdf(k: Any, n: Any, p: Any, loc: Any = 0) -> Any:
    """The logarithm of cdf, accurate where cdf is close to 0 or 1.

    >>> round(float(logcdf(2, 3, 0.25)), 3)
    -2.268
    """
    x, n, p, set_outside = _within("nbinom.logcdf", k, n, p, loc, -math.inf, 0.0)
    return set_outside(log_betainc(n, x + 1, p))


def sf(k: Any, n: Any, p: Any, loc: Any = 0) -> Any:
    """The probability of counts above k, 1 - cdf.

    >>> round(float(sf(2, 3, 0.25)), 3)
    0.896
    """
    x, n, p, set_outside = _within("nbinom.sf", k, n, p, loc, 1.0, 0.0)
    return set_outside(betaincc(n, x + 1, p))


def logsf(k: Any, n: Any, p: Any, loc: Any = 0) -> Any:
    """The logarithm of sf, accurate where sf is close to 0 or 1.

    >>> round(float(logsf(2, 3, 0.25)), 3)
    -0.109
    """
    x, n, p, set_outside = _within("nbinom.logsf", k, n, p, loc, 0.0, -math.inf)
    return set_outside(log_betaincc(n, x + 1, p))


def _mixed(key: Any, n: Any, p: Any, shape: Any, dtype: Any) -> Any:
    """Poisson variables of which the means are gamma variables."""
    first, second = random.split(key)
    means = random.gamma(first, jnp.broadcast_to(n, shape), shape, dtype) * (1 - p) / p
    return jnp.astype(random.poisson(second, means, shape), dtype)


_variable = Variable(__name__, ("n", "p"), (5.0, 0.3), lambda n, p: (n > 0) & (p > 0) & (p <= 1), scaled=False)
rvs = _variable.samples(_mixed)
mean = _variable.moment("mean", lambda n, p: n * (1 - p) / p, 12.167)
var = _variable.moment("var", lambda n, p: n * (1 - p) / (p * p), 38.889)
std = _variable.moment("std", lambda n, p: n * (1 - p) / (p * p), 6.236, root=True)
