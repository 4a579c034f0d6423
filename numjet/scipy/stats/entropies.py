"""Entropies of the gamma family by asymptotic series, without the cancellation of their large terms."""
from __future__ import annotations

from typing import Any

import numjet.numpy as jnp
from numjet.scipy.special.gamma_family import betaln, digamma, gammaln
from numjet.scipy.special.gamma_values import stirling_series
from numjet.scipy.special.horner import horner
from numjet.scipy.stats.arguments import LOG_2PI

# B(2 k) / (2 k) for k = 1, ..., 7, by DLMF 5.11.2; the next term is below eps / 2 of 64 bits from _FAR on.
_DIGAMMA = (1 / 12, -1 / 120, 1 / 252, -1 / 240, 1 / 132, -691 / 32760, 1 / 12)
_FAR = 10.0
_NORMAL = 1e18    # from here on a t distribution is a normal one


def _digamma_gap(inverse: Any) -> Any:
    """x (log(x) - digamma(x)) for 1 / x <= 1 / 10: 1 / 2 and more."""
    return 0.5 + inverse * horner(_DIGAMMA, inverse * inverse)


def gamma_entropy(a: Any) -> Any:
    """The entropy a + log(Gamma(a)) + (1 - a) digamma(a) of the gamma distribution.

    >>> round(float(gamma_entropy(jnp.array(1e30))), 4)
    35.9577
    """
    far = a >= _FAR
    near, inverse = jnp.where(far, 1, a), 1 / jnp.where(far, a, _FAR)
    series = 0.5 * (LOG_2PI - jnp.log(inverse)) + stirling_series(inverse) + _digamma_gap(inverse) * (1 - inverse)
    return jnp.where(far, series, near + gammaln(near) + (1 - near) * digamma(near))


def beta_entropy(a: Any, b: Any) -> Any:
    """The entropy of the beta distribution, by those of the gamma distribution.

    >>> round(float(beta_entropy(jnp.array(2.0), jnp.array(3.0))), 4)
    -0.2349
    """
    return gamma_entropy(a) + gamma_entropy(b) - gamma_entropy(a + b) - digamma(a + b)


def t_entropy(df: Any) -> Any:
    """The entropy of Student's distribution, which goes to that of the normal distribution.

    >>> round(float(t_entropy(jnp.array(1e30))), 4)
    1.4189
    """
    n = jnp.minimum(0.5 * df, _NORMAL)
    far = n >= _FAR
    near, large = jnp.where(far, 1, n), jnp.where(far, n, _FAR)
    step = 0.5 / large
    gaps = _digamma_gap(1 / large) * (1 + step) - _digamma_gap(1 / (large + 0.5))
    slope = jnp.where(far, (large + 0.5) * jnp.log1p(step) + gaps, (near + 0.5) * (digamma(near + 0.5) - digamma(near)))
    return slope + 0.5 * jnp.log(2 * n) + betaln(n, 0.5)
