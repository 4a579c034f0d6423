"""Student's t distribution with df degrees of freedom."""
from __future__ import annotations

import math
from typing import Any

import numjet.numpy as jnp
from numjet import random
from numjet.scipy.special.distribution_functions import log_stdtr, stdtr, stdtrit
from numjet.scipy.special.factorial_terms import log_beta
from numjet.scipy.special.wide_evaluation import smooth_by_precision
from numjet.scipy.stats.arguments import LOG_2PI, float_args, log1p_square, standard, valid_scale, where_valid
from numjet.scipy.stats.entropies import t_entropy
from numjet.scipy.stats.publish import ENDS, exp_of
from numjet.scipy.stats.variables import INFINITE, Variable, positive


def logpdf(x: Any, df: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the density.

    >>> round(float(logpdf(1.0, 3.0, 0.5, 2.0)), 3)
    -1.735
    """
    z, df, _, scale = standard("t.logpdf", x, df, loc, scale)
    df = where_valid(df > 0, df)
    normal = jnp.isinf(df)
    df = jnp.where(normal, 1.0, df)
    out = -_log_beta(0.5 * df, jnp.full_like(df, 0.5)) - 0.5 * (df + 1) * log1p_square(z / jnp.sqrt(df)) - 0.5 * jnp.log(df)
    return jnp.where(normal, -0.5 * (jnp.square(jnp.where(normal, z, 0)) + LOG_2PI), out) - jnp.log(scale)


_log_beta = smooth_by_precision(log_beta)
pdf = exp_of(logpdf, 0.176)

def cdf(x: Any, df: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The probability of values up to x.

    >>> round(float(cdf(1.0, 3.0, 0.5, 2.0)), 3)
    0.591
    """
    z, df, _, _ = standard("t.cdf", x, df, loc, scale, ends=ENDS["cdf"])
    return stdtr(df, z)


def logcdf(x: Any, df: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of cdf, accurate where cdf is close to 0 or 1.

    >>> round(float(logcdf(1.0, 3.0, 0.5, 2.0)), 3)
    -0.527
    """
    z, df, _, _ = standard("t.logcdf", x, df, loc, scale, ends=ENDS["logcdf"])
    return log_stdtr(df, z)


def sf(x: Any, df: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The probability of values above x, 1 - cdf.

    >>> round(float(sf(1.0, 3.0, 0.5, 2.0)), 3)
    0.409
    """
    z, df, _, _ = standard("t.sf", x, df, loc, scale, ends=ENDS["sf"])
    return stdtr(df, -z)


def logsf(x: Any, df: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of sf, accurate where sf is close to 0 or 1.

    >>> round(float(logsf(1.0, 3.0, 0.5, 2.0)), 3)
    -0.893
    """
    z, df, _, _ = standard("t.logsf", x, df, loc, scale, ends=ENDS["logsf"])
    return log_stdtr(df, -z)


def ppf(q: Any, df: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The quantile function, the inverse of cdf; NaN for q outside [0, 1].

    >>> round(float(ppf(0.75, 3.0, 0.5, 2.0)), 3)
    2.03
    """
    q, df, loc, scale = float_args("t.ppf", q, df, loc, scale)
    return loc + valid_scale(scale) * stdtrit(df, q)


def isf(q: Any, df: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The inverse of sf; NaN for q outside [0, 1].

    >>> round(float(isf(0.75, 3.0, 0.5, 2.0)), 3)
    -1.03
    """
    q, df, loc, scale = float_args("t.isf", q, df, loc, scale)
    return loc + valid_scale(scale) * -stdtrit(df, q)

_NORMAL = 1e30     # degrees of freedom of which samples are those of the normal limit, to the last place
_variable = Variable(__name__, ("df",), (3.0,), positive)
rvs = _variable.samples(lambda key, df, shape, dtype: random.t(key, jnp.minimum(df, _NORMAL), shape, dtype))
mean = _variable.moment("mean", lambda df: jnp.where(df > 1, 0.0, INFINITE), 0.5)


def _variance(df: Any) -> Any:
    """df / (df - 2), 1 in the limit, infinite for 1 < df <= 2, where the mean is finite, and else unknown."""
    found = 1 + 2 / jnp.where(df > 2, df - 2, 1)
    return jnp.where(df > 2, found, jnp.where(df > 1, INFINITE, math.nan))


var = _variable.moment("var", _variance, 12.0)
std = _variable.moment("std", _variance, 3.464, root=True)
median = _variable.moment("median", lambda df: 0.0, 0.5)
entropy = _variable.moment("entropy", t_entropy, 2.467)
