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
from numjet.scipy.stats.arguments import float_args, where_counted, where_inside, where_valid
from numjet.scipy.stats.count_quantiles import CountQuantiles
from numjet.scipy.stats.publish import Counts, exp_of
from numjet.scipy.stats.tails import log_betainc, log_betaincc
from numjet.scipy.stats.variables import Variable


def logpmf(k: Any, n: Any, p: Any, loc: Any = 0) -> Any:
    """The logarithm of the probability of k; -inf for negative and infinite k - loc.

    >>> round(float(logpmf(2, 3, 0.25)), 3)
    -2.942
    """
    k, n, p, loc = float_args("nbinom.logpmf", k, n, p, loc)
    x = where_valid((n > 0) & (p > 0) & (p <= 1), k - loc)
    outside = (x < 0) | (x == math.inf)
    x, set_outside = where_inside(outside, 0.0, x, -math.inf)
    return set_outside(_log_term(*(jnp.where(outside, inner, v) for inner, v in ((1.0, n), (0.5, p))), x))


@smooth_by_precision
def _log_term(n: Any, p: Any, k: Any, precise: bool) -> Any:
    return log_binomial_term(n, k, p, precise) - jnp.log1p(k / n)


pmf = exp_of(logpmf, 0.053)


def _within(name: str, k: Any, n: Any, p: Any, loc: Any, below: float, above: float) -> tuple[Any, ...]:
    """(floor(k - loc), n, p, a function that puts `below` below 0 and `above` where k is infinite)."""
    k, n, p, loc = float_args(name, k, n, p, loc)
    x = where_valid((n > 0) & (p > 0) & (p <= 1), jnp.floor(k - loc))
    x, set_outside = where_counted(x, below, above)
    return x, n, p, set_outside


_counts = Counts(__name__, _within, "(2, 3, 0.25)")
cdf = _counts.probability("cdf", lambda x, n, p: betainc(n, x + 1, p), 0.104)
logcdf = _counts.probability("logcdf", lambda x, n, p: log_betainc(n, x + 1, p), -2.268)
sf = _counts.probability("sf", lambda x, n, p: betaincc(n, x + 1, p), 0.896)
logsf = _counts.probability("logsf", lambda x, n, p: log_betaincc(n, x + 1, p), -0.109)


def _mixed(key: Any, n: Any, p: Any, shape: Any, dtype: Any) -> Any:
    """Poisson variables of which the means are gamma variables."""
    first, second = random.split(key)
    means = random.gamma(first, jnp.broadcast_to(n, shape), shape, dtype) * (1 - p) / p
    return jnp.where(means == math.inf, math.inf, jnp.astype(random.poisson(second, means, shape), dtype))


_quantiles = CountQuantiles(__name__, ("n", "p"), "3, 0.25", lambda n, p: (n > 0) & (p > 0) & (p <= 1))
ppf = _quantiles.inverse("ppf", cdf, 12.0)
isf = _quantiles.inverse("isf", sf, 5.0)

_variable = Variable(__name__, ("n", "p"), (5.0, 0.3), lambda n, p: (n > 0) & (p > 0) & (p <= 1), scaled=False)
rvs = _variable.samples(_mixed)
mean = _variable.moment("mean", lambda n, p: n * (1 - p) / p, 12.167)
var = _variable.moment("var", lambda n, p: n * (1 - p) / (p * p), 38.889)
std = _variable.moment("std", lambda n, p: jnp.sqrt(n * (1 - p)) / p, 6.236)
