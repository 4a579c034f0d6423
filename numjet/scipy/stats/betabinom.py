"""The beta-binomial distribution: the number of successes in n trials, whose probability is drawn from beta(a, b)."""
from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numjet.numpy as jnp
from numjet import random
from numjet.control.loops.while_loop import while_loop
from numjet.nn.activations import log1mexp
from numjet.scipy.special.factorial_terms import log_beta, log_choices
from numjet.scipy.special.wide_evaluation import smooth_by_precision
from numjet.scipy.stats.arguments import float_args, where_inside, where_valid
from numjet.scipy.stats.publish import exp_of, publish
from numjet.scipy.stats.variables import Variable

_NEGLIGIBLE = 1e-18     # share of a sum


def logpmf(k: Any, n: Any, a: Any, b: Any, loc: Any = 0) -> Any:
    """The logarithm of the probability of k; -inf for k - loc outside 0, ..., n. NaN for n < 0, a <= 0 or b <= 0.

    k - loc is rounded down to a whole number.

    >>> round(float(logpmf(2, 5, 2.0, 3.0)), 3)
    -1.435
    """
    k, n, a, b, loc = float_args("betabinom.logpmf", k, n, a, b, loc)
    x = where_valid((n >= 0) & (a > 0) & (b > 0), jnp.floor(k - loc))
    single, least, most = _single(n, a, b)
    x, set_outside = where_inside((x < least) | (x > most), least, x, -math.inf)
    out = _log_term(n, jnp.where(single, 1.0, a), jnp.where(single, 1.0, b), x)
    return set_outside(jnp.where(single & (x == x), 0.0, out))


def _single(n: Any, a: Any, b: Any) -> tuple[Any, Any, Any]:
    """(whether one count is left: a or b alone is infinite, or both for n = 0; the least and the largest count)."""
    all_of_them, none = a == math.inf, b == math.inf
    single = all_of_them ^ none | all_of_them & none & (n == 0)
    return single, jnp.where(single & all_of_them, n, 0.0), jnp.where(single & none, 0.0, n)


def _log_of_term(n: Any, a: Any, b: Any, k: Any, precise: bool) -> Any:
    return log_choices(k, n - k, precise) + log_beta(k + a, n - k + b, precise) - log_beta(a, b, precise)


_log_term = smooth_by_precision(_log_of_term)
pmf = exp_of(logpmf, 0.238)


@smooth_by_precision
def _log_sum(n: Any, a: Any, b: Any, k: Any, precise: bool) -> Any:
    """log of the probability of counts up to k: the terms from k downwards, as multiples of the first one."""
    def more(state: Any) -> Any:
        j, term, total = state
        return jnp.any((j >= 1) & (term > _NEGLIGIBLE * total))

    def add(state: Any) -> Any:
        j, term, total = state
        going = j >= 1
        i = jnp.where(going, j, 1.0)
        term = jnp.where(going, term * (i / (n - i + 1)) * ((b + n - i) / (a + i - 1)), 0.0)
        return j - 1, term, total + term
    one = jnp.ones_like(n + a + b + k)
    return _log_of_term(n, a, b, k, precise) + jnp.log(while_loop(more, add, (k * one, one, one))[2])


def _shorter_tail(name: str, k: Any, n: Any, a: Any, b: Any, loc: Any) -> tuple[Any, ...]:
    """(whether counts up to k are the shorter tail, the logarithm of that tail, k below 0, n and above)."""
    k, n, a, b, loc = float_args(name, k, n, a, b, loc)
    x = jnp.floor(k - loc)
    valid = (n >= 0) & (a > 0) & (b > 0) & ~jnp.isnan(x)
    n, a, b = (jnp.where(valid, v, w) for v, w in ((n, 1.0), (a, 1.0), (b, 1.0)))
    single, least, most = _single(n, a, b)
    a, b = jnp.where(single, 1.0, a), jnp.where(single, 1.0, b)
    under, over = x < least, x >= most
    x = jnp.where(under | over | ~valid, 0.0, x)
    n = jnp.where(n > x, n, x + 1)
    lower = (x + 0.5) * (a + b) <= n * a
    log = _log_sum(n, jnp.where(lower, a, b), jnp.where(lower, b, a), jnp.where(lower, x, n - x - 1))
    return lower, jnp.minimum(log, 0.0), under, over, valid


def _probability(name: str, value: float) -> Callable[..., Any]:
    """cdf, sf, logcdf or logsf."""
    upper, logarithm = name.endswith("sf"), name.startswith("log")
    low, high = (-math.inf, 0.0) if logarithm else (0.0, 1.0)

    def function(k: Any, n: Any, a: Any, b: Any, loc: Any = 0) -> Any:
        lower, log, under, over, valid = _shorter_tail(f"betabinom.{name}", k, n, a, b, loc)
        this, rest = (log, log1mexp(-log)) if logarithm else (jnp.exp(log), -jnp.expm1(log))
        inside = jnp.where(lower != upper, this, rest)
        ends = (high, low) if upper else (low, high)
        return jnp.where(valid, jnp.where(under, ends[0], jnp.where(over, ends[1], inside)), jnp.nan)
    return publish(function, __name__, name, "(2, 5, 2.0, 3.0)", value,
                   {"cdf": "The probability of counts up to k.", "sf": "The probability of counts above k, 1 - cdf."}.get(name))


cdf = _probability("cdf", 0.643)
logcdf = _probability("logcdf", -0.442)
sf = _probability("sf", 0.357)
logsf = _probability("logsf", -1.03)


def _sample(key: Any, n: Any, a: Any, b: Any, shape: Any, dtype: Any) -> Any:
    """A binomial count of a probability from the beta distribution."""
    of_probability, of_count = random.split(key)
    return random.binomial(of_count, n, random.beta(of_probability, a, b, shape, dtype), shape, dtype)


def _variance(n: Any, a: Any, b: Any) -> Any:
    whole = a + b
    return n * (a / whole) * (b / whole) * ((whole + n) / (whole + 1))


_variable = Variable(__name__, ("n", "a", "b"), (5.0, 2.0, 3.0), lambda n, a, b: (n >= 0) & (a > 0) & (b > 0), scaled=False)
rvs = _variable.samples(_sample)
mean = _variable.moment("mean", lambda n, a, b: n * (a / (a + b)), 2.5)
var = _variable.moment("var", _variance, 2.0)
std = _variable.moment("std", _variance, 1.414, root=True)
