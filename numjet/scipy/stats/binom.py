"""The binomial distribution: the number of successes in n trials of probability p."""
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
from numjet.scipy.stats.count_quantiles import CountQuantiles
from numjet.scipy.stats.publish import Counts, exp_of
from numjet.scipy.stats.tails import log_betainc, log_betaincc
from numjet.scipy.stats.variables import Variable, counts, probability


def logpmf(k: Any, n: Any, p: Any, loc: Any = 0) -> Any:
    """The logarithm of the probability of k; -inf for k - loc outside 0, ..., n.

    >>> round(float(logpmf(2, 5, 0.25)), 3)
    -1.333
    """
    k, n, p, loc = float_args("binom.logpmf", k, n, p, loc)
    x = where_valid((n >= 0) & (p >= 0) & (p <= 1), k - loc)
    outside = (x < 0) | (x > n) | (x == math.inf)
    x, set_outside = where_inside(outside, 0.0, x, -math.inf)
    return set_outside(_log_term(*(jnp.where(outside, inner, v) for inner, v in ((1.0, n), (0.5, p))), x))


@smooth_by_precision
def _log_term(n: Any, p: Any, k: Any, precise: bool) -> Any:
    return log_binomial_term(k, n - k, p, precise)


pmf = exp_of(logpmf, 0.264)


def _within(name: str, k: Any, n: Any, p: Any, loc: Any, below: float, above: float) -> tuple[Any, ...]:
    """(floor(k - loc), n less that, p, a function that puts `below` below 0 and `above` from n on)."""
    k, n, p, loc = float_args(name, k, n, p, loc)
    x = where_valid((n >= 0) & (p >= 0) & (p <= 1), jnp.floor(k - loc))
    under, over = x < 0, x >= n
    p = where_valid(~jnp.isnan(x), p)
    x = jnp.where(under | over | jnp.isnan(x), 0.0, x)
    rest = jnp.where(n > x, n - x, 1.0)
    return x, rest, p, lambda out: jnp.where(jnp.isnan(p), p, jnp.where(under, below, jnp.where(over, above, out)))


_counts = Counts(__name__, _within, "(2, 5, 0.25)")
cdf = _counts.probability("cdf", lambda x, rest, p: betaincc(x + 1, rest, p), 0.896)
logcdf = _counts.probability("logcdf", lambda x, rest, p: log_betaincc(x + 1, rest, p), -0.109)
sf = _counts.probability("sf", lambda x, rest, p: betainc(x + 1, rest, p), 0.104)
logsf = _counts.probability("logsf", lambda x, rest, p: log_betainc(x + 1, rest, p), -2.268)

_quantiles = CountQuantiles(__name__, ("n", "p"), "5, 0.25", lambda n, p: (n >= 0) & probability(p), lambda n, p: n)
ppf = _quantiles.inverse("ppf", cdf, 2.0)
isf = _quantiles.inverse("isf", sf, 1.0)

_variable = Variable(__name__, ("n", "p"), (5.0, 0.3), lambda n, p: (n >= 0) & probability(p), scaled=False)
rvs = _variable.samples(counts(lambda key, n, p, shape: random.binomial(key, n, p, shape)))
mean = _variable.moment("mean", lambda n, p: n * p, 2.0)
var = _variable.moment("var", lambda n, p: n * p * (1 - p), 1.05)
std = _variable.moment("std", lambda n, p: n * p * (1 - p), 1.025, root=True)
