"""The Dirichlet distribution of points of a simplex: positive numbers whose sum is 1."""
from __future__ import annotations

from typing import Any

import numjet.numpy as jnp
from numjet import random
from numjet.scipy.special.gamma_family import gammaln
from numjet.scipy.special.probability import xlogy
from numjet.scipy.stats.arguments import float_args
from numjet.scipy.stats.variables import key_of, shape_of

_TOLERANCE = 1e-6       # of the sum of a point, which is 1


def logpdf(x: Any, alpha: Any) -> Any:
    """The logarithm of the density at x; -inf for points that are not positive or whose sum is not 1 to 1e-6.

    alpha: concentrations of shape (k,); x: shape (k, ...), or (k - 1, ...), where the last coordinate is the rest to 1.
    Result: shape (...). ValueError for other shapes.

    >>> import numjet.numpy as jnp
    >>> round(float(logpdf(jnp.array([0.25, 0.75]), jnp.array([2.0, 3.0]))), 3)
    0.523
    """
    x, alpha = float_args("dirichlet.logpdf", x, alpha)
    if alpha.ndim != 1:
        raise ValueError(f"`alpha` must be one-dimensional; got alpha.shape={alpha.shape}")
    if x.ndim == 0 or x.shape[0] not in (alpha.shape[0], alpha.shape[0] - 1):
        raise ValueError("`x` must have either the same number of entries as `alpha` or one entry fewer; "
                         f"got x.shape={x.shape}, alpha.shape={alpha.shape}")
    if x.shape[0] != alpha.shape[0]:
        x = jnp.concatenate([x, 1 - jnp.sum(x, axis=0, keepdims=True)])
    outside = jnp.any(x <= 0, axis=0) | (jnp.abs(jnp.sum(x, axis=0) - 1) > _TOLERANCE)
    weights = alpha.reshape(alpha.shape + (1,) * (x.ndim - 1))
    log_beta = jnp.sum(gammaln(alpha)) - gammaln(jnp.sum(alpha))
    out = jnp.sum(xlogy(weights - 1, jnp.where(x <= 0, 1.0, x)), axis=0) - log_beta
    return jnp.where(outside, -jnp.inf, out)


def pdf(x: Any, alpha: Any) -> Any:
    """The density at x; arguments as of logpdf.

    >>> import numjet.numpy as jnp
    >>> round(float(pdf(jnp.array([0.25, 0.75]), jnp.array([2.0, 3.0]))), 3)
    1.688
    """
    return jnp.exp(logpdf(x, alpha))


def rvs(alpha: Any, size: Any = 1, random_state: Any = None) -> Any:
    """Independent points of shape (*size, k) for alpha of shape (k,); size is static.

    random_state: a key, as of numjet.random.key; TypeError for others. ValueError for alpha of another rank.

    >>> import numjet.numpy as jnp
    >>> from numjet import random
    >>> rvs(jnp.array([2.0, 3.0]), (5,), random.key(0)).shape
    (5, 2)
    """
    key = key_of("dirichlet.rvs", random_state)
    alpha, = float_args("dirichlet.rvs", alpha)
    if alpha.ndim != 1:
        raise ValueError(f"`alpha` must be one-dimensional; got alpha.shape={alpha.shape}")
    return random.dirichlet(key, alpha, shape_of(size), alpha.dtype)
