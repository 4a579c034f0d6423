"""The beta-binomial distribution: the number of successes in n trials, whose probability is drawn from beta(a, b)."""
from __future__ import annotations

import math
from typing import Any

import numjet.numpy as jnp
from numjet import random
from numjet.scipy.special.factorial_terms import log_beta, log_choices
from numjet.scipy.special.wide_evaluation import smooth_by_precision
from numjet.scipy.stats.arguments import float_args, where_inside, where_valid
from numjet.scipy.stats.publish import exp_of
from numjet.scipy.stats.variables import Variable


def logpmf(k: Any, n: Any, a: Any, b: Any, loc: Any = 0) -> Any:
    """The logarithm of the probability of k; -inf for k - loc outside 0, ..., n. NaN for n < 0, a <= 0 or b <= 0.

    k - loc is rounded down to a whole number.

    >>> round(float(logpmf(2, 5, 2.0, 3.0)), 3)
    -1.435
    """
    k, n, a, b, loc = float_args("betabinom.logpmf", k, n, a, b, loc)
    x = where_valid((n >= 0) & (a > 0) & (b > 0), jnp.floor(k - loc))
    x, set_outside = where_inside((x < 0) | (x > n), 0.0, x, -math.inf)
    return set_outside(_log_term(n, a, b, x))


@smooth_by_precision
def _log_term(n: Any, a: Any, b: Any, k: Any, precise: bool) -> Any:
    return log_choices(k, n - k, precise) + log_beta(k + a, n - k + b, precise) - log_beta(a, b, precise)


pmf = exp_of(logpmf, 0.238)


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
