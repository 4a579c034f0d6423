"""Logarithms of beta functions and of binomial terms of positive numbers, from the small remainders of Stirling's formula.

Logarithms of factorials are large and cancel. What they differ by is a sum of small terms (C. Loader, "Fast and accurate
computation of binomial probabilities", 2000): remainders of Stirling's formula, and x log(x / m) + m - x, the deviance of x
from its mean m. Here both are taken at k + 1 instead of k, so that the formulas hold at 0, with their derivatives.

Arguments are float64. `precise` is False where the result will be rounded to float32: logarithms may cancel then.
"""
from __future__ import annotations

import math
from typing import Any

import numjet.numpy as jnp
from numjet import lax
from numjet.lax.elementwise.special_tables import LOG_GAMMA_STAR, LOG_GAMMA_STAR_SINGLE, PHI
from numjet.scipy.special.horner import horner

_SPREAD = 0.45          # of the table PHI
_HALF_LOG_2_PI = 0.5 * math.log(2 * math.pi)


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


def _product_with_log(k: Any, x: Any) -> Any:
    """k log(x), 0 where both are 0."""
    return k * jnp.log(jnp.where((k == 0) & (x == 0), 1, x))


def _deviance(k: Any, u: Any, ratio: Any) -> Any:
    """k (u - log(1 + u)) for 1 + u = ratio, without cancellation near u = 0. 0 where k and the ratio are 0."""
    ratio = jnp.where((k == 0) & (ratio == 0), 1, ratio)
    near = jnp.abs(u) < _SPREAD
    inner = jnp.where(near, u, 0)
    return k * jnp.where(near, inner * inner * horner(PHI, inner), u - jnp.log(jnp.where(near, 2, ratio)))


def _with_value(out: Any, where: Any, value: Any) -> Any:
    """out, which is known better in some places, with its derivatives."""
    known = where & jnp.isfinite(value)
    return out + lax.stop_gradient(jnp.where(known, value - jnp.where(known, out, 0), 0))


def log_factorial(k: Any, precise: bool = True) -> Any:
    """log(k!) for k >= 0.

    >>> import numjet.numpy as jnp
    >>> round(float(jnp.exp(log_factorial(jnp.array(4.0)))), 4)
    24.0
    """
    k_1 = k + 1
    return (k + 0.5) * jnp.log(k_1) - k_1 + _HALF_LOG_2_PI + stirling_remainder(k_1, precise)


def log_choices(k: Any, m: Any, precise: bool = True) -> Any:
    """log((k + m)! / (k! m!)) for k, m >= 0.

    >>> import numjet.numpy as jnp
    >>> round(float(jnp.exp(log_choices(jnp.array(2.0), jnp.array(3.0)))), 4)
    10.0
    """
    both, k_1, m_1 = k + m + 1, k + 1, m + 1
    root = 0.5 * jnp.log(both / k_1 / m_1) + (1 - _HALF_LOG_2_PI)
    return k * jnp.log1p(m / k_1) + m * jnp.log1p(k / m_1) + root + _remainders(k, m, precise)


def log_binomial_term(k: Any, m: Any, p: Any, precise: bool = True) -> Any:
    """log((k + m)! / (k! m!) p^k (1 - p)^m) for k, m >= 0 and 0 <= p <= 1.

    >>> import numjet.numpy as jnp
    >>> round(float(log_binomial_term(jnp.array(2.0), jnp.array(3.0), jnp.array(0.25))), 3)
    -1.333
    """
    both, k_1, m_1 = k + m + 1, k + 1, m + 1
    end, rest = (k == 0) | (m == 0), _remainders(k, m, precise) - _HALF_LOG_2_PI
    if not precise:
        first, second = _product_with_log(k, p), m * jnp.log1p(-jnp.where((m == 0) & (p == 1), 0, p))
        return _with_value(log_choices(k, m, False) + first + second, end, jnp.where(k == 0, second, first))
    u, v = (p * both - k_1) / k_1, (k - p * both) / m_1
    deviances = _deviance(k, u, p * both / k_1) + _deviance(m, v, (1 - p) * both / m_1)
    out = 0.5 * jnp.log(both / k_1 / m_1) + rest - deviances - u - v
    away = jnp.where(end & (k + m > 0), jnp.where(k == 0, -p, p - 1), 0)
    return _with_value(out, end, (k + m) * jnp.log1p(away))


def log_poisson_term(k: Any, mean: Any, precise: bool = True) -> Any:
    """log(mean^k exp(-mean) / k!) for k >= 0 and mean >= 0.

    >>> import numjet.numpy as jnp
    >>> round(float(log_poisson_term(jnp.array(2.0), jnp.array(3.0))), 3)
    -1.496
    """
    k_1 = k + 1
    rest = stirling_remainder(k_1, precise) + _HALF_LOG_2_PI
    if precise:
        u = (mean - k_1) / k_1
        out = -_deviance(k, u, mean / k_1) - u - 0.5 * jnp.log(k_1) - rest
    else:
        out = _product_with_log(k, mean) - (k + 0.5) * jnp.log(k_1) + (k_1 - mean) - rest
    return _with_value(out, k == 0, -mean)


def log_beta(a: Any, b: Any, precise: bool = True) -> Any:
    """log(B(a, b)) for a, b > 0.

    >>> import numjet.numpy as jnp
    >>> round(float(log_beta(jnp.array(2.0), jnp.array(3.0))), 4)
    -2.4849
    """
    a_1, b_1 = a + 1, b + 1
    size = (1 / a + 1 / b) * jnp.sqrt(2 * math.pi * a_1 * (b_1 / (a + b + 1)))
    return jnp.log(size) - a * jnp.log1p(b / a_1) - b * jnp.log1p(a / b_1) - 1 - _remainders(a, b, precise)
