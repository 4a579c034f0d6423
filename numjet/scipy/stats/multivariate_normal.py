"""The multivariate normal distribution."""
from __future__ import annotations

from typing import Any

import numjet.numpy as jnp
from numjet import random
from numjet.lax.linalg.triangular import cholesky, triangular_solve
from numjet.scipy.stats.arguments import LOG_2PI, float_args
from numjet.scipy.stats.variables import key_of, shape_of


def logpdf(x: Any, mean: Any, cov: Any, allow_singular: None = None) -> Any:
    """The logarithm of the density at x; NaN when cov is not positive definite.

    x: shape (..., k), mean: (..., k), cov: (..., k, k); batch shapes broadcast. With a scalar mean: the normal density of every
    element, of variance cov. ValueError for other shapes, NotImplementedError for allow_singular.

    >>> import numjet.numpy as jnp
    >>> round(float(logpdf(jnp.ones(2), jnp.zeros(2), jnp.eye(2))), 3)
    -2.838
    """
    if allow_singular is not None:
        raise NotImplementedError("allow_singular argument of multivariate_normal.logpdf: only positive definite covariances "
                                  "are supported; leave it out")
    x, mean, cov = float_args("multivariate_normal.logpdf", x, mean, cov)
    if not mean.ndim:
        return -0.5 * (jnp.square(x - mean) / cov + LOG_2PI + jnp.log(cov))
    size = mean.shape[-1]
    if not cov.ndim:
        return -0.5 * (jnp.sum(jnp.square(x - mean) / cov, axis=-1) + size * (LOG_2PI + jnp.log(cov)))
    if cov.ndim < 2 or cov.shape[-2:] != (size, size) or (x.ndim and x.shape[-1] not in (1, size)):
        raise ValueError("multivariate_normal.logpdf got incompatible shapes: expected x (..., k), mean (..., k) and cov "
                         f"(..., k, k), got x {x.shape}, mean {mean.shape}, cov {cov.shape}")
    root = cholesky(cov)
    deviations = x - mean
    batch = jnp.broadcast_shapes(deviations.shape[:-1], cov.shape[:-2])
    solved = _solve(root, deviations, batch)
    log_det = jnp.sum(jnp.log(jnp.diagonal(root, axis1=-2, axis2=-1)), axis=-1)
    return -0.5 * (jnp.sum(jnp.square(solved), axis=-1) + size * LOG_2PI) - log_det


def _solve(root: Any, deviations: Any, batch: tuple[int, ...]) -> Any:
    """root**-1 @ each deviation; with one matrix for all, by one call."""
    size = root.shape[-1]
    if root.ndim == 2:
        rows = deviations.reshape((-1, size))
        return triangular_solve(root, rows, lower=True, transpose_a=True).reshape(deviations.shape)
    root = jnp.broadcast_to(root, (*batch, size, size))
    columns = jnp.broadcast_to(deviations, (*batch, size))[..., None]
    return triangular_solve(root, columns, left_side=True, lower=True)[..., 0]


def pdf(x: Any, mean: Any, cov: Any) -> Any:
    """The density at x; arguments as of logpdf.

    >>> import numjet.numpy as jnp
    >>> round(float(pdf(jnp.ones(2), jnp.zeros(2), jnp.eye(2))), 3)
    0.059
    """
    return jnp.exp(logpdf(x, mean, cov))


def rvs(mean: Any = 0, cov: Any = 1, size: Any = 1, random_state: Any = None) -> Any:
    """Independent points of shape (*size, k) without axes of size 1, as in SciPy. Covariances may be singular.

    mean: shape (k,), or a number for all coordinates; cov: (k, k), (k,) for variances, or one variance for all. size: static.
    random_state: a key, as of numjet.random.key; TypeError for others. ValueError for shapes that do not fit.

    >>> import numjet.numpy as jnp
    >>> from numjet import random
    >>> rvs(jnp.zeros(2), jnp.eye(2), (5,), random.key(0)).shape
    (5, 2)
    """
    key = key_of("multivariate_normal.rvs", random_state)
    mean, cov = float_args("multivariate_normal.rvs", mean, cov)
    count = max(mean.size, cov.shape[-1] if cov.ndim else 1)
    fits = mean.ndim <= 1 and mean.size in (1, count) and cov.shape in ((), (count,), (count, count))
    if not fits:
        raise ValueError("multivariate_normal.rvs got incompatible shapes: expected mean (k,) or () and cov (k, k), (k,) or "
                         f"(), got mean {mean.shape} and cov {cov.shape}")
    matrix = cov if cov.ndim == 2 else jnp.diag(jnp.broadcast_to(cov, (count,)))
    found = random.multivariate_normal(key, jnp.broadcast_to(mean, (count,)), matrix, shape_of(size), cov.dtype, "svd")
    return jnp.squeeze(found)
