"""Kernel density estimation with Gaussian kernels."""
from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numjet.numpy as jnp
from numjet import lax, random
from numjet.foundation import dtypes
from numjet.foundation.tree import register_pytree_node_class
from numjet.lax.linalg.triangular import cholesky, triangular_solve
from numjet.numpy.core.promotion import array_arg, promote_args_inexact
from numjet.scipy.special.probability import ndtr
from numjet.scipy.stats.arguments import LOG_2PI


@register_pytree_node_class
class gaussian_kde:
    """The mean of normal densities around the points of a data set.

    dataset: shape (n,) or (d, n), n > 1 points of d coordinates; weights: shape (n,), default equal. bw_method: the ratio of
    the kernels' deviations to those of the data: "scott" (default) or "silverman", rules for normal data, a number, or a
    function of this object. Attributes: dataset (d, n), d, n, weights (of sum 1), neff: the number of points that equal
    weights would need, covariance and inv_cov (d, d) of a kernel. A pytree of its arrays.

    >>> import numjet.numpy as jnp
    >>> kde = gaussian_kde(jnp.array([1.0, 2.0, 4.0]), bw_method=0.5)
    >>> round(float(kde.pdf(2.0)[0]), 3)
    0.254
    """
    dataset: Any
    weights: Any
    neff: Any
    covariance: Any
    inv_cov: Any

    def __init__(self, dataset: Any, bw_method: str | float | Callable[[Any], Any] | None = None, weights: Any = None) -> None:
        array_arg("gaussian_kde", dataset)
        dataset, *given = promote_args_inexact("gaussian_kde", *(x for x in (dataset, weights) if x is not None))
        if dataset.dtype in dtypes.COMPLEX:
            raise NotImplementedError("gaussian_kde does not support complex data")
        if dataset.size <= 1:
            raise ValueError("`dataset` input should have multiple elements.")
        if dataset.ndim > 2:
            raise ValueError(f"`dataset` input should have shape (n,) or (d, n), got {dataset.shape}")
        self.dataset = jnp.atleast_2d(dataset)
        self.weights = self._checked_weights(*given)
        self.neff = 1 / jnp.sum(jnp.square(self.weights))
        scale = jnp.square(self._factor(bw_method))
        spread = jnp.atleast_2d(jnp.cov(self.dataset, rowvar=True, bias=False, aweights=self.weights))
        self.covariance, self.inv_cov = spread * scale, jnp.linalg.inv(spread) / scale

    def _checked_weights(self, weights: Any = None) -> Any:
        if weights is None:
            return jnp.full(self.n, 1 / self.n, self.dataset.dtype)
        if weights.ndim != 1:
            raise ValueError("`weights` input should be one-dimensional.")
        if len(weights) != self.n:
            raise ValueError("`weights` input should be of length n")
        return weights / jnp.sum(weights)

    def _factor(self, bw_method: Any) -> Any:
        if bw_method is None or (isinstance(bw_method, str) and bw_method == "scott"):
            return self.neff ** (-1 / (self.d + 4))
        if isinstance(bw_method, str) and bw_method == "silverman":
            return (self.neff * (self.d + 2) / 4) ** (-1 / (self.d + 4))
        if callable(bw_method):
            return jnp.asarray(bw_method(self), self.dataset.dtype)
        if not isinstance(bw_method, (str, list, tuple)) and not jnp.shape(bw_method):
            return jnp.asarray(bw_method, self.dataset.dtype)
        raise ValueError("`bw_method` should be 'scott', 'silverman', a scalar, or a callable.")

    @property
    def d(self) -> int:
        """The number of coordinates."""
        return self.dataset.shape[0]

    @property
    def n(self) -> int:
        """The number of points."""
        return self.dataset.shape[1]

    def tree_flatten(self) -> tuple[tuple[Any, ...], None]:
        """The arrays; no static part."""
        return (self.neff, self.dataset, self.weights, self.covariance, self.inv_cov), None

    @classmethod
    def tree_unflatten(cls, aux_data: None, children: Any) -> gaussian_kde:
        """The object of these arrays."""
        kde = cls.__new__(cls)
        kde.neff, kde.dataset, kde.weights, kde.covariance, kde.inv_cov = children
        return kde

    # ---------------------------------------------------------------------------------------- densities

    def evaluate(self, points: Any) -> Any:
        """The density at points of shape (d, m) (one coordinate: also (m,)), of shape (m,). ValueError for other shapes."""
        return _product(*self._mixture("evaluate", points))

    def __call__(self, points: Any) -> Any:
        """evaluate(points)."""
        return self.evaluate(points)

    def pdf(self, x: Any) -> Any:
        """evaluate(x)."""
        return self.evaluate(x)

    def logpdf(self, x: Any) -> Any:
        """The logarithm of the density at points as of evaluate."""
        total, shift = self._mixture("logpdf", x)
        return jnp.log(total) + shift

    def _mixture(self, name: str, x: Any) -> tuple[Any, Any]:
        if array_arg(f"gaussian_kde.{name}", x).dtype in dtypes.COMPLEX:
            raise NotImplementedError("gaussian_kde does not support complex points")
        return _mixture(self.dataset, self.weights, self._points(x), self.covariance)

    def _points(self, x: Any) -> Any:
        points = jnp.atleast_2d(x)
        if points.ndim != 2:
            raise ValueError(f"expected points of shape (d, m), got {points.shape}")
        if points.shape[0] == self.d:
            return points
        if points.shape == (1, self.d):
            return points.reshape((self.d, 1))
        raise ValueError(f"points have dimension {points.shape[0]}, dataset has dimension {self.d}")

    # ---------------------------------------------------------------------------------------- integrals

    def integrate_gaussian(self, mean: Any, cov: Any) -> Any:
        """The integral of the density times the normal density of mean (d,) and covariance (d, d). ValueError for others."""
        mean, cov = jnp.atleast_1d(jnp.squeeze(mean)), jnp.atleast_2d(cov)
        if mean.shape != (self.d,):
            raise ValueError(f"mean does not have dimension {self.d}")
        if cov.shape != (self.d, self.d):
            raise ValueError(f"covariance does not have dimension {self.d}")
        return _product(*_mixture(self.dataset, self.weights, mean[:, None], self.covariance + cov))[0]

    def integrate_box_1d(self, low: Any, high: Any) -> Any:
        """The probability of the interval from low to high. ValueError unless d is 1."""
        if self.d != 1:
            raise ValueError("integrate_box_1d() only handles 1D pdfs")
        deviation = jnp.sqrt(self.covariance[0, 0])
        parts = ndtr((high - self.dataset[0]) / deviation) - ndtr((low - self.dataset[0]) / deviation)
        return jnp.sum(self.weights * parts)

    def integrate_kde(self, other: gaussian_kde) -> Any:
        """The integral of the product of two densities. ValueError unless they have the same d."""
        if not isinstance(other, gaussian_kde):
            raise TypeError(f"integrate_kde: expected a gaussian_kde, got {type(other)}")
        if other.d != self.d:
            raise ValueError("KDEs are not the same dimensionality")
        parts = _mixture(self.dataset, self.weights, other.dataset, self.covariance + other.covariance)
        return jnp.sum(other.weights * _product(*parts))

    def integrate_box(self, low_bounds: Any, high_bounds: Any, maxpts: Any = None) -> Any:
        """NotImplementedError: see integrate_box_1d."""
        raise NotImplementedError("only 1D box integrations are supported; use `integrate_box_1d`")

    def set_bandwidth(self, bw_method: Any = None) -> Any:
        """NotImplementedError: make another gaussian_kde."""
        raise NotImplementedError("dynamically changing the bandwidth method is not supported; make another gaussian_kde")

    def resample(self, key: Any, shape: tuple[int, ...] = ()) -> Any:
        """Random points of the density, of shape (d, *shape)."""
        which, around = random.split(key)
        index = random.choice(which, self.n, shape, p=self.weights)
        root = cholesky(self.covariance)
        noise = random.normal(around, (math.prod(shape), self.d), self.dataset.dtype)
        return self.dataset[:, index] + (root @ noise.T).reshape((self.d, *shape))


def _product(total: Any, shift: Any) -> Any:
    return total * jnp.exp(shift)


def _mixture(data: Any, weights: Any, points: Any, cov: Any) -> tuple[Any, Any]:
    """sum_i w_i N(point_j; data_i, cov) for every point, the columns of data and points: (total, the logarithm of its factor).

    The sum is that of quotients by the largest term with a weight. Other terms have slopes to their weights, too."""
    data, weights, points, cov = promote_args_inexact("gaussian_kde", data, weights, points, cov)
    root = cholesky(cov)
    size = data.shape[0]
    data, points = (triangular_solve(root, v, left_side=True, lower=True) for v in (data, points))
    squares = jnp.sum(jnp.square(data[:, :, None] - points[:, None, :]), axis=0)
    log_norm = 0.5 * size * LOG_2PI + jnp.sum(jnp.log(jnp.diagonal(root)))
    logs, weights = -0.5 * squares, weights[:, None]
    largest = lax.stop_gradient(jnp.max(jnp.where(weights == 0, -math.inf, logs), axis=0))
    largest = jnp.where(jnp.isinf(largest), 0.0, largest)
    most = math.log(float(jnp.finfo(logs.dtype).max)) * (1 - 2.0 ** -9)
    return jnp.sum(weights * jnp.exp(jnp.minimum(logs - largest[None], most)), axis=0), largest - log_norm
