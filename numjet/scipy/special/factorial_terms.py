"""Logarithms of beta functions and of binomial terms of positive numbers, from the small remainders of Stirling's formula.

Logarithms of factorials are large and cancel. What they differ by is a sum of small terms (C. Loader, "Fast and accurate
computation of binomial probabilities", 2000): remainders of Stirling's formula, and x log(x / m) + m - x, the deviance of x
from its mean m. Here both are taken at k + 1 instead of k, so that the formulas hold at 0, with their derivatives.

Arguments are float64. `precise` is False where the result will be rounded to float32: logarithms may cancel then.

Derivatives are those of the factorials, differences of logarithms and digamma functions: what the formulas of the values would
give by the chain rule is undefined where a probability is 0 or 1, and rounds off where quotients underflow.
"""
from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numjet.numpy as jnp
from numjet import lax
from numjet.api.grad import jvp
from numjet.control.custom.custom_jvp import custom_jvp
from numjet.lax.elementwise.special_tables import LOG_GAMMA_STAR, LOG_GAMMA_STAR_SINGLE, PHI
from numjet.scipy.special.horner import horner

_SPREAD = 0.45          # of the table PHI
_HALF_LOG_2_PI = 0.5 * math.log(2 * math.pi)
_LIFT = 2.0 ** 520      # numerators times this, and denominators by it, have quotients of normal size
_LOW = 2.0 ** -900


def stirling_remainder(a: Any, precise: bool = True) -> Any:
    """lgamma(a) less (a - 1/2) log(a) - a + log(2 pi) / 2, for a >= 1.

    >>> import numjet.numpy as jnp
    >>> round(float(stirling_remainder(jnp.array(10.0))), 7)
    0.0083306
    """
    inverse = 1 / a
    return inverse * horner(LOG_GAMMA_STAR if precise else LOG_GAMMA_STAR_SINGLE, inverse - 0.5)


def _remainders(k: Any, m: Any, precise: bool) -> Any:
    """Of the factorials of k, m and k + m."""
    rest = lambda x: stirling_remainder(x + 1, precise)
    return rest(k + m) - rest(k) - rest(m)


def _digamma_rest(k: Any, precise: bool) -> Any:
    """digamma(k + 1) less log(k + 1): the derivative of log(k!) but for the logarithm."""
    a = k + 1
    return jvp(lambda a: stirling_remainder(a, precise), (a,), (jnp.ones_like(a),))[1] - 0.5 / a


def _with_slopes(function: Callable[..., Any], *slopes: Callable[..., Any]) -> Callable[..., Any]:
    """A function of numbers and `precise`, with its partial derivatives."""
    def of_kind(precise: bool) -> Callable[..., Any]:
        smooth = custom_jvp(lambda *xs: function(*xs, precise))
        smooth.defjvps(*((lambda t, out, *xs, slope=slope: t * slope(*xs, precise)) for slope in slopes))
        return smooth
    kinds = {precise: of_kind(precise) for precise in (True, False)}
    return lambda *xs: kinds[xs[-1]](*xs[:-1])


def _product_with_log(k: Any, x: Any) -> Any:
    """k log(x), 0 where both are 0."""
    return k * jnp.log(jnp.where((k == 0) & (x == 0), 1, x))


def _log_quotient(x: Any, y: Any) -> Any:
    """log(x / y) for x >= 0 and y > 0, also where the quotient underflows."""
    low = x < y * _LOW
    quotient = jnp.where(low, x * _LIFT, x) / jnp.where(low, y / _LIFT, y)
    return jnp.log(quotient) - jnp.where(low, 2 * math.log(_LIFT), 0)


def _log_near(x: Any, y: Any, gap: Any) -> Any:
    """log(x / y), by gap = x - y where that is small."""
    u = gap / y
    near = jnp.abs(u) < _SPREAD
    return jnp.where(near, jnp.log1p(jnp.where(near, u, 0)), _log_quotient(jnp.where(near, 1, x), jnp.where(near, 1, y)))


def _deviance(k: Any, u: Any, x: Any, y: Any) -> Any:
    """k (u - log(1 + u)) for 1 + u = x / y, without cancellation near u = 0. 0 where k is 0."""
    near = jnp.abs(u) < _SPREAD
    inner, far = jnp.where(near, u, 0), ~near & (k > 0)
    log = _log_quotient(jnp.where(far, x, 1), jnp.where(far, y, 1))
    return k * jnp.where(near, inner * inner * horner(PHI, inner), u - log)


@custom_jvp
def _log_growth(k: Any, m: Any) -> Any:
    """log((k + m + 1) / (k + 1))."""
    return jnp.log1p(m / (k + 1))


_log_growth.defjvps(lambda t, out, k, m: -t * (m / (k + 1) / (k + m + 1)), lambda t, out, k, m: t / (k + m + 1))


@custom_jvp
def _log_excess(k: Any, m: Any, p: Any) -> Any:
    """log(p (k + m + 1) / (k + 1))."""
    mean = p * (k + m + 1)
    return _log_near(mean, k + 1, mean - (k + 1))


_log_excess.defjvps(
    lambda t, out, k, m, p: -t * (m / (k + 1) / (k + m + 1)), lambda t, out, k, m, p: t / (k + m + 1),
    lambda t, out, k, m, p: t / p)


@custom_jvp
def _log_lack(k: Any, m: Any, p: Any) -> Any:
    """log((1 - p) (k + m + 1) / (m + 1))."""
    both = k + m + 1
    return _log_near((1 - p) * both, m + 1, k - p * both)


_log_lack.defjvps(
    lambda t, out, k, m, p: t / (k + m + 1), lambda t, out, k, m, p: -t * (k / (m + 1) / (k + m + 1)),
    lambda t, out, k, m, p: -t / (1 - p))


@custom_jvp
def _log_share(k: Any, mean: Any) -> Any:
    """log(mean / (k + 1))."""
    return _log_near(mean, k + 1, mean - (k + 1))


_log_share.defjvps(lambda t, out, k, mean: -t / (k + 1), lambda t, out, k, mean: t / mean)


@custom_jvp
def _ratio(k: Any, p: Any) -> Any:
    """k / p, 0 where both are 0."""
    return k / jnp.where((k == 0) & (p == 0), 1, p)


_ratio.defjvps(lambda t, out, k, p: t * jnp.where((k == 0) & (p == 0), 0, 1 / p), lambda t, out, k, p: -t * _ratio(out, p))


def log_factorial(k: Any, precise: bool = True) -> Any:
    """log(k!) for k >= 0.

    >>> import numjet.numpy as jnp
    >>> round(float(jnp.exp(log_factorial(jnp.array(4.0)))), 4)
    24.0
    """
    k_1 = k + 1
    return (k + 0.5) * jnp.log(k_1) - k_1 + _HALF_LOG_2_PI + stirling_remainder(k_1, precise)


def _choices(k: Any, m: Any, precise: bool) -> Any:
    both, k_1, m_1 = k + m + 1, k + 1, m + 1
    root = 0.5 * jnp.log(both / k_1 / m_1) + (1 - _HALF_LOG_2_PI)
    return k * jnp.log1p(m / k_1) + m * jnp.log1p(k / m_1) + root + _remainders(k, m, precise)


def _slope_of_choices(k: Any, m: Any, precise: bool) -> Any:
    """digamma(k + m + 1) - digamma(k + 1)."""
    return _log_growth(k, m) + (_digamma_rest(k + m, precise) - _digamma_rest(k, precise))


_smooth_choices = _with_slopes(_choices, _slope_of_choices, lambda k, m, precise: _slope_of_choices(m, k, precise))


def log_choices(k: Any, m: Any, precise: bool = True) -> Any:
    """log((k + m)! / (k! m!)) for k, m >= 0.

    >>> import numjet.numpy as jnp
    >>> round(float(jnp.exp(log_choices(jnp.array(2.0), jnp.array(3.0)))), 4)
    10.0
    """
    return _smooth_choices(k, m, precise)


def _binomial_term(k: Any, m: Any, p: Any, precise: bool) -> Any:
    """-inf for one infinite number, of which any other one has no probability, unless p alone decides."""
    sure = (k == 0) & (p == 0) | (m == 0) & (p == 1)
    k, m, endless = jnp.where(k == math.inf, 1, k), jnp.where(m == math.inf, 1, m), (k == math.inf) | (m == math.inf)
    return jnp.where(endless, jnp.where(sure, 0, -math.inf), _finite_binomial_term(k, m, p, precise))


def _finite_binomial_term(k: Any, m: Any, p: Any, precise: bool) -> Any:
    both, k_1, m_1 = k + m + 1, k + 1, m + 1
    end, rest = (k == 0) | (m == 0), _remainders(k, m, precise) - _HALF_LOG_2_PI
    if not precise:
        first, second = _product_with_log(k, p), m * jnp.log1p(-jnp.where((m == 0) & (p == 1), 0, p))
        return jnp.where(end, 0, _choices(k, m, False)) + (first + second)
    mean = p * both
    u, v = (mean - k_1) / k_1, (k - mean) / m_1
    deviances = _deviance(k, u, mean, k_1) + _deviance(m, v, (1 - p) * both, m_1)
    out = 0.5 * jnp.log(both / k_1 / m_1) + rest - deviances - u - v
    away = jnp.where(end & (k + m > 0), jnp.where(k == 0, 0 - p, p - 1), 0)
    return jnp.where(end, (k + m) * jnp.log1p(away), out)


def _slope_to_k(k: Any, m: Any, p: Any, precise: bool) -> Any:
    p = jnp.where((k == 0) & (p == 0), 1, p)
    log = jnp.where(k == math.inf, jnp.log(p), _log_excess(jnp.where(k == math.inf, 1, k), m, p))
    return log + (_digamma_rest(k + m, precise) - _digamma_rest(k, precise))


def _slope_to_m(k: Any, m: Any, p: Any, precise: bool) -> Any:
    p = jnp.where((m == 0) & (p == 1), 0, p)
    log = jnp.where(m == math.inf, jnp.log1p(-p), _log_lack(k, jnp.where(m == math.inf, 1, m), p))
    return log + (_digamma_rest(k + m, precise) - _digamma_rest(m, precise))


def _slope_to_p(k: Any, m: Any, p: Any, precise: bool) -> Any:
    """k / p - m / (1 - p), as one quotient but for its derivatives."""
    out, between = _ratio(k, p) - _ratio(m, 1 - p), (k > 0) & (m > 0) & (p > 0) & (p < 1) & (k + m < math.inf)
    size = jnp.where(between, p * (1 - p), 1)
    return out + lax.stop_gradient(jnp.where(between, (k - p * (k + m)) / size - out, 0))


_smooth_binomial_term = _with_slopes(_binomial_term, _slope_to_k, _slope_to_m, _slope_to_p)


def log_binomial_term(k: Any, m: Any, p: Any, precise: bool = True) -> Any:
    """log((k + m)! / (k! m!) p^k (1 - p)^m) for k, m >= 0 and 0 <= p <= 1.

    >>> import numjet.numpy as jnp
    >>> round(float(log_binomial_term(jnp.array(2.0), jnp.array(3.0), jnp.array(0.25))), 3)
    -1.333
    """
    return _smooth_binomial_term(k, m, p, precise)


def _poisson_term(k: Any, mean: Any, precise: bool) -> Any:
    """-inf for an infinite mean, and NaN for an infinite k with it."""
    k_1 = k + 1
    rest = stirling_remainder(k_1, precise) + _HALF_LOG_2_PI
    if precise:
        u = (mean - k_1) / k_1
        out = -_deviance(k, u, mean, k_1) - u - 0.5 * jnp.log(k_1) - rest
    else:
        out = _product_with_log(k, mean) - (k + 0.5) * jnp.log(k_1) + (k_1 - mean) - rest
    return jnp.where((k == 0) | (mean == math.inf) & (k < math.inf), 0 - mean, out)


def _slope_to_mean(k: Any, mean: Any, precise: bool) -> Any:
    """k / mean - 1."""
    linear = (k == 0) | (mean == math.inf)
    mean = jnp.where(linear, 1, mean)
    return jnp.where(linear, -1, _ratio(k - mean, mean))


_smooth_poisson_term = _with_slopes(
    _poisson_term,
    lambda k, mean, precise: _log_share(k, jnp.where((k == 0) & (mean == 0), 1, mean)) - _digamma_rest(k, precise),
    _slope_to_mean)


def log_poisson_term(k: Any, mean: Any, precise: bool = True) -> Any:
    """log(mean^k exp(-mean) / k!) for k >= 0 and mean >= 0.

    >>> import numjet.numpy as jnp
    >>> round(float(log_poisson_term(jnp.array(2.0), jnp.array(3.0))), 3)
    -1.496
    """
    return _smooth_poisson_term(k, mean, precise)


def _beta(a: Any, b: Any, precise: bool) -> Any:
    a_1, b_1 = a + 1, b + 1
    size = (1 / a + 1 / b) * jnp.sqrt(2 * math.pi * a_1 * (b_1 / (a + b + 1)))
    return jnp.log(size) - a * jnp.log1p(b / a_1) - b * jnp.log1p(a / b_1) - 1 - _remainders(a, b, precise)


def _slope_of_beta(a: Any, b: Any, precise: bool) -> Any:
    """digamma(a) - digamma(a + b)."""
    return -(b / (a + b) / a) - _slope_of_choices(a, b, precise)


_smooth_beta = _with_slopes(_beta, _slope_of_beta, lambda a, b, precise: _slope_of_beta(b, a, precise))


def log_beta(a: Any, b: Any, precise: bool = True) -> Any:
    """log(B(a, b)) for a, b > 0.

    >>> import numjet.numpy as jnp
    >>> round(float(log_beta(jnp.array(2.0), jnp.array(3.0))), 4)
    -2.4849
    """
    return _smooth_beta(a, b, precise)
