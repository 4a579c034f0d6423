"""The generalized normal distribution, with a density proportional to exp(-|x|**beta)."""
from __future__ import annotations

from typing import Any

import numjet.numpy as jnp
from numjet import random
from numjet.scipy.special.gamma_family import gammaincc, gammaln
from numjet.scipy.special.quantiles import gammainccinv, gammaincinv
from numjet.scipy.stats.arguments import LOG_2, float_args, where_valid
from numjet.scipy.stats.publish import exp_of, on_probabilities
from numjet.scipy.stats.tails import log_gammaincc
from numjet.scipy.stats.variables import Variable, positive


def logpdf(x: Any, beta: Any) -> Any:
    """The logarithm of the density.

    >>> round(float(logpdf(1.0, 1.5)), 3)
    -1.591
    """
    x, beta = float_args("gennorm.logpdf", x, beta)
    beta = where_valid(beta > 0, beta)
    return jnp.log(beta) - LOG_2 - gammaln(1 / beta) - jnp.abs(x) ** beta


pdf = exp_of(logpdf, 0.204)


def cdf(x: Any, beta: Any) -> Any:
    """The probability of values up to x.

    >>> round(float(cdf(1.0, 1.5)), 3)
    0.888
    """
    x, beta = float_args("gennorm.cdf", x, beta)
    beta = where_valid(beta > 0, beta)
    centre = jnp.abs(x) ** beta == 0      # where the power underflows, the density is constant
    tail = 0.5 * gammaincc(1 / beta, jnp.where(centre, 1.0, jnp.abs(x)) ** beta)
    return jnp.where(centre, 0.5 + x * pdf(0.0, beta), jnp.where(x < 0, tail, 1 - tail))


def sf(x: Any, beta: Any) -> Any:
    """The probability of values above x, 1 - cdf.

    >>> round(float(sf(1.0, 1.5)), 3)
    0.112
    """
    x, beta = float_args("gennorm.sf", x, beta)
    return cdf(-x, beta)


def logcdf(x: Any, beta: Any) -> Any:
    """The logarithm of cdf, accurate where cdf is close to 0 or 1.

    >>> round(float(logcdf(1.0, 1.5)), 3)
    -0.119
    """
    x, beta = float_args("gennorm.logcdf", x, beta)
    return _log_lower(x, where_valid(beta > 0, beta))


def logsf(x: Any, beta: Any) -> Any:
    """The logarithm of sf, accurate where sf is close to 0 or 1.

    >>> round(float(logsf(1.0, 1.5)), 3)
    -2.186
    """
    x, beta = float_args("gennorm.logsf", x, beta)
    return _log_lower(-x, where_valid(beta > 0, beta))


def _log_lower(x: Any, beta: Any) -> Any:
    lower = (x < 0) & (jnp.abs(x) ** beta > 0)
    tail = log_gammaincc(1 / beta, jnp.where(lower, -x, 1.0) ** beta) - LOG_2
    return jnp.where(lower, tail, jnp.log1p(-cdf(-jnp.where(lower, 0.0, x), beta)))


def ppf(q: Any, beta: Any) -> Any:
    """The quantile function, the inverse of cdf; NaN for q outside [0, 1].

    >>> round(float(ppf(0.75, 1.5)), 3)
    0.521
    """
    q, beta = float_args("gennorm.ppf", q, beta)
    return on_probabilities(lambda q: _quantile(q, where_valid(beta > 0, beta)))(q)


def isf(q: Any, beta: Any) -> Any:
    """The inverse of sf; NaN for q outside [0, 1].

    >>> round(float(isf(0.75, 1.5)), 3)
    -0.521
    """
    q, beta = float_args("gennorm.isf", q, beta)
    return on_probabilities(lambda q: -_quantile(q, where_valid(beta > 0, beta)))(q)


def _quantile(q: Any, beta: Any) -> Any:
    """The power 1 / beta of gamma's quantile: by the probability of the middle or of the tail, where each is accurate."""
    share, upper = 2 * q - 1, q > 0.5
    slope = jnp.exp(gammaln(1 + 1 / beta))
    centre = jnp.abs(slope * share) ** beta < jnp.finfo(q.dtype).eps      # where the density is constant
    middle = (jnp.abs(share) < 0.5) & ~centre
    near = gammaincinv(1 / beta, jnp.where(middle, jnp.abs(share), 0.5))
    far = gammainccinv(1 / beta, jnp.where(middle | centre, 0.5, 2 * jnp.where(upper, 1 - q, q)))
    size = jnp.where(middle, near, far) ** (1 / beta)
    return jnp.where(centre, slope * share, jnp.where(upper, size, -size))


_NEARLY_UNIFORM = 1e30     # beta of which no float differs from that of the uniform limit


def _sample(key: Any, beta: Any, shape: Any, dtype: Any) -> Any:
    """The power 1 / beta of a gamma variate, by its logarithm, which does not underflow for large beta, with a random sign."""
    of_size, of_sign = random.split(key)
    beta = jnp.minimum(beta, _NEARLY_UNIFORM)
    size = jnp.exp(random.loggamma(of_size, 1 / beta, shape, dtype) / beta)
    return size * random.rademacher(of_sign, shape, dtype)


def _variance(beta: Any) -> Any:
    return jnp.exp(gammaln(3 / beta) - gammaln(1 / beta))


_variable = Variable(__name__, ("beta",), (1.5,), positive)
rvs = _variable.samples(_sample)
mean = _variable.moment("mean", lambda beta: 0.0, 0.5)
var = _variable.moment("var", _variance, 2.954)
std = _variable.moment("std", _variance, 1.719, root=True)
median = _variable.moment("median", lambda beta: 0.0, 0.5)
entropy = _variable.moment("entropy", lambda beta: 1 / beta + LOG_2 + gammaln(1 / beta) - jnp.log(beta), 1.951)
