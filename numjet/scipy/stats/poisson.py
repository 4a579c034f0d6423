"""The Poisson distribution of counts with mean mu."""
from __future__ import annotations

import math
from typing import Any

import numjet.numpy as jnp
from numjet import random
from numjet.api.jit_when_eager import jit_when_eager
from numjet.control.loops.while_loop import fori_loop
from numjet.foundation import dtypes
from numjet.scipy.special.factorial_terms import log_poisson_term
from numjet.scipy.special.gamma_family import gammainc, gammaincc, gammaln
from numjet.scipy.special.wide_evaluation import smooth_by_precision
from numjet.scipy.stats.arguments import LOG_2PI, float_args, where_counted, where_inside, where_valid
from numjet.scipy.stats.count_quantiles import CountQuantiles
from numjet.scipy.stats.publish import example_of, publish
from numjet.scipy.stats.tails import log_gammainc, log_gammaincc
from numjet.scipy.stats.variables import Variable, counts

# Where the asymptotic series is exact to the last places of 64 and 32 bits.
_LARGE, _LARGE_32 = 100.0, 12.0
_TERMS = 320        # counts beyond are more than twenty standard deviations above the mean
# Coefficients of 1 / mu, 1 / mu**2, ... in the asymptotic series of the entropy less log(2 pi e mu) / 2 (Evans, Boersma 1988).
_ENTROPY = (-1 / 12, -1 / 24, -19 / 360, -9 / 80)


def logpmf(k: Any, mu: Any, loc: Any = 0) -> Any:
    """The logarithm of the probability of k; -inf for negative and fractional k - loc.

    >>> round(float(logpmf(2, 3.0)), 3)
    -1.496
    """
    k, mu, loc = float_args("poisson.logpmf", k, mu, loc)
    x = where_valid(mu >= 0, k - loc)
    outside = (x < 0) | (x > jnp.floor(x)) | (x == math.inf) & (mu < math.inf)
    x, set_outside = where_inside(outside, 0.0, x, -math.inf)
    return set_outside(_log_term(x, jnp.where(outside, 1.0, mu)))


_log_term = smooth_by_precision(log_poisson_term)


def _probability(k: Any, mu: Any, loc: Any = 0) -> Any:
    """exp(logpmf); 0, with its slopes, where that of the logarithm, k / mu, overflows."""
    k, mu, loc = float_args("poisson.logpmf", k, mu, loc)
    x = k - loc
    vanishes = (mu >= 0) & (x >= 2) & (x > mu * float(jnp.finfo(mu.dtype).max))
    return jnp.where(vanishes, 0.0, jnp.exp(logpmf(jnp.where(vanishes, loc, k), jnp.where(vanishes, 1.0, mu), loc)))


pmf = publish(_probability, __name__, "pmf", example_of(logpmf), 0.224)


def _within(name: str, k: Any, mu: Any, loc: Any, below: float, above: float) -> tuple[Any, ...]:
    """(floor(k - loc), mu, a function that puts `below` below 0 and `above` where k is infinite)."""
    k, mu, loc = float_args(name, k, mu, loc)
    x = where_valid(mu >= 0, jnp.floor(k - loc))
    x, set_outside = where_counted(x, below, above)
    return x, mu, set_outside


def cdf(k: Any, mu: Any, loc: Any = 0) -> Any:
    """The probability of counts up to k.

    >>> round(float(cdf(2, 3.0)), 3)
    0.423
    """
    x, mu, set_outside = _within("poisson.cdf", k, mu, loc, 0.0, 1.0)
    return set_outside(gammaincc(x + 1, mu))


def logcdf(k: Any, mu: Any, loc: Any = 0) -> Any:
    """The logarithm of cdf, accurate where cdf is close to 0 or 1.

    >>> round(float(logcdf(2, 3.0)), 3)
    -0.86
    """
    x, mu, set_outside = _within("poisson.logcdf", k, mu, loc, -math.inf, 0.0)
    return set_outside(log_gammaincc(x + 1, mu))


def sf(k: Any, mu: Any, loc: Any = 0) -> Any:
    """The probability of counts above k, 1 - cdf.

    >>> round(float(sf(2, 3.0)), 3)
    0.577
    """
    x, mu, set_outside = _within("poisson.sf", k, mu, loc, 1.0, 0.0)
    return set_outside(gammainc(x + 1, mu))


def logsf(k: Any, mu: Any, loc: Any = 0) -> Any:
    """The logarithm of sf, accurate where sf is close to 0 or 1.

    >>> round(float(logsf(2, 3.0)), 3)
    -0.55
    """
    x, mu, set_outside = _within("poisson.logsf", k, mu, loc, 0.0, -math.inf)
    return set_outside(log_gammainc(x + 1, mu))


def _summed_entropy(mu: Any) -> Any:
    """mu (1 - log(mu)) + the mean of log(k!), for 0 < mu <= _LARGE."""
    log_mu = jnp.log(mu)

    def add(i: Any, total: Any) -> Any:
        k = jnp.astype(i, mu.dtype)
        log_factorial = gammaln(k + 1)
        return total + jnp.exp(k * log_mu - mu - log_factorial) * log_factorial
    return mu * (1 - log_mu) + fori_loop(0, _TERMS, add, jnp.zeros_like(mu))


def _asymptotic_entropy(mu: Any) -> Any:
    series = jnp.zeros_like(mu)
    for coefficient in reversed(_ENTROPY):
        series = (series + coefficient) / mu
    return 0.5 * (LOG_2PI + 1 + jnp.log(mu)) + series


@jit_when_eager()
def entropy(mu: Any, loc: Any = 0) -> Any:
    """The entropy in nats, which does not depend on loc; 0 for mu = 0, NaN for negative mu.

    >>> round(float(entropy(3.0)), 3)
    1.931
    """
    mu, loc = float_args("poisson.entropy", mu, loc)
    start = _LARGE if mu.dtype == dtypes.float64 else _LARGE_32
    large, positive = mu > start, mu > 0
    small = _summed_entropy(jnp.where(positive & ~large, mu, 1.0))
    out = jnp.where(large, _asymptotic_entropy(jnp.where(large, mu, start)), small)
    out = jnp.where(positive, out, jnp.where(mu == 0, 0.0, jnp.nan))
    return jnp.broadcast_to(out, jnp.broadcast_shapes(mu.shape, loc.shape))


_quantiles = CountQuantiles(__name__, ("mu",), "3.0", lambda mu: mu >= 0)
ppf = _quantiles.inverse("ppf", cdf, 4.0)
isf = _quantiles.inverse("isf", sf, 2.0)

_variable = Variable(__name__, ("mu",), (3.0,), lambda mu: mu >= 0, scaled=False)


def _sample(key: Any, mu: Any, shape: Any, dtype: Any) -> Any:
    """Counts as floats; infinite ones of an infinite mean."""
    found = counts(lambda key, mu, shape: random.poisson(key, mu, shape))(key, mu, shape, dtype)
    return jnp.where(mu == math.inf, math.inf, found)


rvs = _variable.samples(_sample)
mean = _variable.moment("mean", lambda mu: mu, 3.5)
var = _variable.moment("var", lambda mu: mu, 3.0)
std = _variable.moment("std", lambda mu: mu, 1.732, root=True)
