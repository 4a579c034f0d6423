"""The Pareto distribution with exponent b, from loc + scale on."""
from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numjet.numpy as jnp
from numjet import random
from numjet.nn.activations import log1mexp
from numjet.scipy.stats.arguments import Ends, float_args, standard_from_loc, valid_scale, where_inside, where_valid
from numjet.scipy.stats.publish import ENDS, exp_of, on_probabilities
from numjet.scipy.stats.variables import INFINITE, Variable, positive


def _standard(name: str, x: Any, b: Any, loc: Any, scale: Any,
              ends: Ends | None = None) -> tuple[Any, Any, Any, Callable[[Any], Any]]:
    """(z = (x - loc) / scale, b, scale, the logarithm of what z becomes). Where the quotient overflows, it is 2 in its place,
    and the logarithm that of the quotient."""
    x, b, loc, scale = float_args(name, x, b, loc, scale)
    far = (x - loc < math.inf) & (scale > 0) & ((x - loc) / scale == math.inf)
    log_far = jnp.log(jnp.where(far, x - loc, 1.0)) - jnp.log(jnp.where(far, scale, 1.0))
    inner = (jnp.where(far, other, v) for other, v in ((2.0, x), (0.0, loc), (1.0, scale)))
    z, _, _ = standard_from_loc(name, *inner, ends=ends)
    return z, b, valid_scale(scale), lambda z: jnp.where(far, log_far, jnp.log(z))


def _hazard(name: str, x: Any, b: Any, loc: Any, scale: Any) -> tuple[Any, Any]:
    """(-log of the survival function, a function that puts the values below the support and at infinity there)."""
    below, above = ENDS[name]
    z, b, _, log = _standard(f"pareto.{name}", x, b, loc, scale, (below, above))
    z = where_valid(b > 0, z)
    z, set_above = where_inside((z == math.inf) & math.isfinite(above), 2.0, z, above)
    outside = z < 1
    z, set_below = where_inside(outside, 2.0, z, below)
    hazard = jnp.where((outside | (z == 1)) & (b == math.inf), 1.0, b) * log(z)
    return hazard, lambda out: set_below(set_above(out))


def logpdf(x: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the density.

    >>> round(float(logpdf(4.0, 2.0, 0.5, 2.0)), 3)
    -1.679
    """
    z, b, scale, log = _standard("pareto.logpdf", x, b, loc, scale)
    z = where_valid(b > 0, z)
    z, set_outside = where_inside(z < 1, 2.0, z, -math.inf)
    return set_outside(jnp.log(b) - jnp.log(scale) - (b + 1) * log(z))


pdf = exp_of(logpdf, 0.187)


def cdf(x: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The probability of values up to x.

    >>> round(float(cdf(4.0, 2.0, 0.5, 2.0)), 3)
    0.673
    """
    hazard, set_outside = _hazard("cdf", x, b, loc, scale)
    return set_outside(-jnp.expm1(-hazard))


def logcdf(x: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of cdf, accurate where cdf is close to 0 or 1.

    >>> round(float(logcdf(4.0, 2.0, 0.5, 2.0)), 3)
    -0.395
    """
    hazard, set_outside = _hazard("logcdf", x, b, loc, scale)
    return set_outside(log1mexp(hazard))


def sf(x: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The probability of values above x, 1 - cdf.

    >>> round(float(sf(4.0, 2.0, 0.5, 2.0)), 3)
    0.327
    """
    hazard, set_outside = _hazard("sf", x, b, loc, scale)
    return set_outside(jnp.exp(-hazard))


def logsf(x: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of sf, accurate where sf is close to 0 or 1.

    >>> round(float(logsf(4.0, 2.0, 0.5, 2.0)), 3)
    -1.119
    """
    hazard, set_outside = _hazard("logsf", x, b, loc, scale)
    return set_outside(-hazard)


def ppf(q: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The quantile function, the inverse of cdf; NaN for q outside [0, 1].

    >>> round(float(ppf(0.75, 2.0, 0.5, 2.0)), 3)
    4.5
    """
    q, b, loc, scale = float_args("pareto.ppf", q, b, loc, scale)
    scale = where_valid((scale > 0) & (b > 0), scale)
    return loc + scale * on_probabilities(lambda q: jnp.exp(-jnp.log1p(-jnp.where(b == math.inf, 0.0, q)) / b))(q)


def isf(q: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The inverse of sf; NaN for q outside [0, 1].

    >>> round(float(isf(0.75, 2.0, 0.5, 2.0)), 3)
    2.809
    """
    q, b, loc, scale = float_args("pareto.isf", q, b, loc, scale)
    scale = where_valid((scale > 0) & (b > 0), scale)
    return loc + scale * on_probabilities(lambda q: jnp.exp(-jnp.log(jnp.where(b == math.inf, 1.0, q)) / b))(q)


_variable = Variable(__name__, ("b",), (3.0,), positive)
rvs = _variable.samples(lambda key, b, shape, dtype: random.pareto(key, b, shape, dtype))
mean = _variable.moment("mean", lambda b: jnp.where(b > 1, b / jnp.where(b > 1, b - 1, 1), INFINITE), 3.5)
var = _variable.moment("var", lambda b: jnp.where(
    b > 2, b / jnp.where(b > 2, (b - 1) * (b - 1) * (b - 2), 1), INFINITE), 3.0)
std = _variable.moment("std", lambda b: jnp.where(
    b > 2, b / jnp.where(b > 2, (b - 1) * (b - 1) * (b - 2), 1), INFINITE), 1.732, root=True)
median = _variable.moment("median", lambda b: jnp.exp2(1 / b), 3.02)
entropy = _variable.moment("entropy", lambda b: 1 + 1 / b - jnp.log(b), 0.928)
