"""Common parts of the distributions: arguments of one dtype, masks of the support."""
from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numjet.numpy as jnp
from numjet import lax
from numjet.control.custom.custom_jvp import custom_jvp
from numjet.foundation import dtypes
from numjet.numpy.core.promotion import promote_args_inexact

LOG_2 = math.log(2.0)
# Whether results are weakly typed follows JAX's formulas, by distribution or function. Those that are not named here keep
# the promoted type of scalars, and have a type of their own when their first argument is an array.
_WEAK_AS_PROMOTED = frozenset((
    "binom", "expon", "gamma.logsf", "gamma.sf", "gennorm", "gumbel_l", "gumbel_r", "multivariate_normal", "pareto.logcdf",
    "poisson.logpmf", "uniform", "vonmises", "wrapcauchy"))
_WEAK_OF_SCALARS = frozenset(("betabinom", "dirichlet", "logistic.logpdf", "multinomial"))
_NEVER_WEAK = frozenset((
    "norm.cdf", "norm.isf", "norm.logcdf", "norm.logsf", "norm.ppf", "norm.sf", "truncnorm", "uniform.cdf"))
LOG_2PI = math.log(2.0 * math.pi)
_REAL = frozenset((
    "bernoulli", "beta", "binom", "chi2", "expon", "gamma", "gennorm", "geom", "gumbel_l", "gumbel_r", "laplace", "nbinom",
    "norm.cdf", "norm.logcdf", "norm.logsf", "norm.sf", "pareto", "poisson", "t", "uniform", "wrapcauchy"))


def float_args(name: str, *args: Any) -> list[Any]:
    """Arguments in one inexact dtype, weakly typed as in JAX.

    TypeError for complex arguments of distributions whose formulas compare their values.

    >>> [x.weak_type for x in (*float_args("norm.pdf", 1, 2.0), *float_args("norm.pdf", jnp.array([1]), 2))]
    [True, True, False, False]
    """
    found = promote_args_inexact(name, *args)
    family = name.partition(".")[0]
    if (family in _REAL or name in _REAL) and found[0].dtype in dtypes.COMPLEX:
        raise TypeError(f"{name} does not accept dtype {found[0].dtype}: complex numbers have no order")
    if _own_type(name, family, *(x.ndim for x in found)):
        return [lax.convert_element_type(x, x.dtype) for x in found]
    return found


def _own_type(name: str, family: str, rank: int, *ranks: int) -> bool:
    """Whether results of arguments of these ranks are never weakly typed."""
    def among(names: frozenset[str]) -> bool:
        return name in names or family in names
    if among(_NEVER_WEAK) or among(_WEAK_AS_PROMOTED):
        return among(_NEVER_WEAK)
    return any((rank, *ranks)) if among(_WEAK_OF_SCALARS) else rank > 0


Ends = tuple[float, float]


def standard(name: str, x: Any, *rest: Any, ends: Ends | None = None) -> list[Any]:
    """[(x - loc) / scale, parameters..., loc, scale] of arguments (x, parameters..., loc, scale), in one float dtype.
    NaN for scales that are not positive.

    ends: the limits at -inf and inf of what is computed from it. Where they are finite, slopes are 0: those of the quotient are
    infinite there, and their products with slopes of 0 would be NaN. So they are for infinite scales.

    >>> [float(v) for v in standard("norm.pdf", 3, 1, 2)]
    [1.0, 1.0, 2.0]
    """
    return _standardized(_quotient, name, (x, *rest), ends)


def standard_from_loc(name: str, x: Any, *rest: Any, ends: Ends | None = None) -> list[Any]:
    """As `standard`, of distributions on x >= loc: -1 for every x below loc, with derivatives of 0.

    The quotient would be -0 for an infinite scale, and infinite for an infinite loc: products of 0 and infinity in derivatives.

    >>> [float(v) for v in standard_from_loc("expon.pdf", 0.5, 1, jnp.inf)]
    [-1.0, 1.0, inf]
    """
    return _standardized(_quotient_from_loc, name, (x, *rest), ends)


def _quotient(x: Any, loc: Any, scale: Any) -> Any:
    return (x - loc) / scale


def _quotient_from_loc(x: Any, loc: Any, scale: Any) -> Any:
    below = (x < loc) & (scale > 0)
    return jnp.where(below, -1.0, x - loc) / jnp.where(below, 1.0, scale)


def _standardized(quotient: Callable[[Any, Any, Any], Any], name: str, args: tuple[Any, ...], ends: Ends | None) -> list[Any]:
    x, *params, loc, scale = float_args(name, *args)
    scale = valid_scale(scale)
    z = quotient(x, loc, scale)
    if ends is not None and z.dtype not in dtypes.COMPLEX:
        far = _at_ends(z, *ends) | (scale == math.inf)
        inner = quotient(jnp.where(far, 0.0, x), jnp.where(far, 0.0, loc), jnp.where(far, 1.0, scale))
        z = jnp.where(far, lax.stop_gradient(z), inner)
    return [z, *params, loc, scale]


def _at_ends(z: Any, below: float, above: float) -> Any:
    """Where z is infinite, on the sides of finite limits."""
    if math.isfinite(below) and math.isfinite(above):
        return jnp.abs(z) == math.inf
    return z == (math.inf if math.isfinite(above) else -math.inf)


def valid_scale(scale: Any) -> Any:
    """A scale, NaN where it is not positive; complex ones, which have no order, as they are.

    >>> float(valid_scale(jnp.array(-1.0)))
    nan
    """
    return scale if scale.dtype in dtypes.COMPLEX else where_valid(scale > 0, scale)


def where_valid(valid: Any, x: Any) -> Any:
    """x where the parameters are valid, else NaN, which every formula passes on to its result and derivatives.

    >>> float(where_valid(-1.0 > 0, 3.0))
    nan
    """
    return jnp.where(valid, x, math.nan)


def where_inside(outside: Any, inside_value: Any, x: Any, value: float) -> tuple[Any, Any]:
    """(x with `inside_value` outside of the support, a function that puts `value` there)."""
    return jnp.where(outside, inside_value, x), lambda out: jnp.where(outside, value, out)


def where_counted(x: Any, below: float, above: float) -> tuple[Any, Callable[[Any], Any]]:
    """Counts in place of x, and a function that puts `below` below 0 and `above` where x is infinite.

    >>> counts, set_outside = where_counted(jnp.array([-1.0, 2.0, jnp.inf]), 0.0, 1.0)
    >>> set_outside(counts + 5).tolist()
    [0.0, 7.0, 1.0]
    """
    x, set_below = where_inside(x < 0, 0.0, x, below)
    x, set_above = where_inside(x == math.inf, 0.0, x, above)
    return x, lambda out: set_below(set_above(out))


@custom_jvp
def power_of_zero(z: Any, exponent: Any) -> Any:
    """z**exponent for z = 0, with derivatives of any order to z: 0 for exponents that they have used up.

    The derivative to the exponent is 0, as the power is for positive exponents.

    >>> float(power_of_zero(jnp.array(0.0), jnp.array(2.0)))
    0.0
    """
    return jnp.where(exponent > 0, 0, jnp.where(exponent == 0, 1, jnp.inf)) + 0 * z


power_of_zero.defjvps(lambda t, out, z, e: t * jnp.where(e == 0, 0, e * power_of_zero(z, jnp.where(e == 0, 1, e - 1))), None)


def end_with_slope(steep: Any, x: Any, loc: Any, value: float, rise: float) -> Any:
    """`value` where `steep`, at x = loc, with an infinite slope to x of the sign of `rise`, and one of 0 to the scale: there
    the value is that of any scale, but the slope of the quotient would be 0 times infinity.

    >>> float(end_with_slope(True, jnp.array(2.0), 2.0, 0.5, 1.0))
    0.5
    """
    gap = jnp.where(steep, x - loc, 0.0)
    rising = rise * power_of_zero(jnp.where(gap == 0, gap, 0.0), jnp.asarray(0.5, gap.dtype))
    return value + jnp.where(gap == 0, rising, 0.0)


def factor_of_power(log_factor: Any, exponent: Any) -> Any:
    """The logarithm of what 0**exponent is multiplied by, so that no product of 0 and infinity comes out of rounding.

    0, with its derivatives, for negative exponents, where an infinity would meet a factor that underflows; else at most that of
    the largest float, where 0 would meet one that overflows, and of its root where two derivatives of the power are 0, too.

    >>> float(factor_of_power(jnp.array(-900.0), jnp.array(-0.5))), float(factor_of_power(jnp.array(2.0), jnp.array(1.0)))
    (0.0, 2.0)
    """
    most = math.log(float(jnp.finfo(log_factor.dtype).max)) * (1 - 2.0 ** -9)
    limited = jnp.minimum(log_factor, jnp.where(exponent > 2, 0.5 * most, most))
    return jnp.where(exponent < 0, log_factor - lax.stop_gradient(log_factor), limited)


def log1p_square(x: Any) -> Any:
    """log(1 + x^2), without overflow of the square.

    >>> float(log1p_square(1e30)) < 139
    True
    """
    x, = promote_args_inexact("log1p_square", x)
    size = jnp.abs(x)
    far = size > 2.0 ** (jnp.finfo(x.dtype).maxexp // 2 - 1)    # log(1 + x^2) is 2 log |x|
    out = jnp.log1p(jnp.where(far, size - 1, jnp.square(jnp.where(far, 0, x))))
    return jnp.where(far, 2 * out, out)
