"""Interpolation of values on a grid: RegularGridInterpolator."""
from __future__ import annotations

import functools
import itertools
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

import numjet.numpy as jnp
from numjet.api.jit_when_eager import jit_when_eager
from numjet.api.vmap import vmap
from numjet.core.trace import Tracer
from numjet.foundation import dtypes
from numjet.numpy.core.promotion import check_arraylike, promote_args_inexact, promote_kinds_inexact
from numjet.scipy.interpolate.bsplines import make_interp_spline
from numjet.scipy.interpolate.piecewise import PchipInterpolator
from numjet.tree_util import register_pytree_node

_METHODS = ("linear", "nearest", "slinear", "cubic", "quintic", "pchip")
_DEGREES = {"slinear": 1, "cubic": 3, "quintic": 5, "pchip": 3}


class RegularGridInterpolator:
    """Interpolation of values on a rectilinear grid, at any points: by multilinear functions, splines, or the nearest values.

    points: for each axis of the grid a vector of positions, increasing or decreasing (tracers must increase). values: an
    array with these axes in front; those behind are carried along. method: "linear", "nearest", or splines along one axis
    after the other: "slinear", "cubic", "quintic" (not-a-knot) or "pchip". fill_value: the value of
    points outside of the grid; None extrapolates. An interpolator is a pytree: it may be passed to `jit`, `vmap` and `grad`.

    Calling it with points[..., d] for a grid of d axes, or a tuple of d arrays of positions, gives values[..., *carried]; a
    tuple of one array is that array of points. A point with a NaN gives NaN. NotImplementedError for bounds_error=True, which
    cannot be known under jit; ValueError for other methods, positions that are not monotonic, and numbers that do not fit the
    shape of values.

    >>> import numjet.numpy as jnp
    >>> grid = RegularGridInterpolator((jnp.arange(2.0), jnp.arange(3.0)), jnp.arange(6.0).reshape(2, 3))
    >>> grid(jnp.array([[0.5, 1.0], [1.0, 1.5]])).tolist()
    [2.5, 4.5]
    """

    method: str
    bounds_error: bool
    grid: tuple[Any, ...]
    values: Any
    fill_value: Any

    def __init__(self, points: Sequence[Any], values: Any, method: str = "linear", bounds_error: bool = False,
                 fill_value: Any = np.nan) -> None:
        _check_method(method)
        if bounds_error:
            raise NotImplementedError("`bounds_error` takes no effect under JIT: use fill_value")
        check_arraylike("RegularGridInterpolator", values, *points)
        (values,) = promote_args_inexact("RegularGridInterpolator", values)
        if len(points) > values.ndim:
            raise ValueError(f"there are {len(points)} point arrays, but values has {values.ndim} dimensions")
        kind = fill_value.dtype if isinstance(fill_value, Tracer) else np.asarray(fill_value).dtype
        if fill_value is not None and not np.can_cast(kind, _reference(values.dtype), "same_kind"):
            raise ValueError("fill_value must be either 'None' or of a type compatible with values")
        self.method, self.bounds_error, self.fill_value = method, bounds_error, fill_value
        grid = []
        for d, p in enumerate(points):
            p, values = _increasing(d, jnp.asarray(p), values)
            grid.append(p)
        self.grid, self.values = tuple(grid), values

    def __call__(self, xi: Any, method: str | None = None) -> Any:
        method = self.method if method is None else method
        _check_method(method)
        xi = _as_points(xi, len(self.grid))
        if xi.shape[-1] != len(self.grid):
            raise ValueError(f"the requested sample points xi have dimension {xi.shape[-1]}, but this "
                             f"RegularGridInterpolator has dimension {len(self.grid)}")
        flat = xi.reshape(-1, xi.shape[-1])
        known = type(self) is RegularGridInterpolator   # and so a pytree
        out = _evaluated(self, flat, method) if known else self._evaluated(flat, method)
        return out.reshape(*xi.shape[:-1], *self.values.shape[len(self.grid):])

    def _evaluated(self, flat: Any, method: str) -> Any:
        if method in _DEGREES:
            return self._masked(self._splined(flat, method), flat, method)
        position = [self._position(flat[:, d], p) for d, p in enumerate(self.grid)]
        tall = lambda v: v.reshape(-1, *[1] * (self.values.ndim - len(self.grid)))
        out = _nearest(self.values, position) if method == "nearest" else _linear(self.values, position, tall)
        return self._masked(out, flat, method)

    def _splined(self, flat: Any, method: str) -> Any:
        """Splines along the last axis of the grid at each point, then along the one before of what these give, and so on."""
        degree = _DEGREES[method]
        for d, p in enumerate(self.grid):
            if p.shape[0] <= degree:
                raise ValueError(f"There are {p.shape[0]} points in dimension {d}, but method {method} requires at least "
                                 f"{degree + 1} points per dimension.")
        make = PchipInterpolator if method == "pchip" else lambda x, y, axis: make_interp_spline(x, y, degree, axis=axis)

        def at(point: Any) -> Any:
            values = self.values
            for d in range(len(self.grid) - 1, -1, -1):
                values = make(self.grid[d], values, axis=d)(point[d])
            return values
        return vmap(at)(flat)

    def _masked(self, out: Any, flat: Any, method: str) -> Any:
        """Values, those outside replaced, in the dtype of values and points; the nearest ones keep theirs."""
        tall = lambda v: v.reshape(-1, *[1] * (self.values.ndim - len(self.grid)))
        if method != "nearest":
            out = jnp.astype(out, dtypes.common_dtype(out.dtype, flat.dtype))
        if self.fill_value is not None:
            outside = [_beyond(flat[:, d], p) for d, p in enumerate(self.grid)]
            out = jnp.where(tall(functools.reduce(operator.or_, outside)), jnp.astype(self.fill_value, out.dtype), out)
        return jnp.where(tall(jnp.isnan(flat).any(-1)), jnp.nan, out)

    def _position(self, x: Any, p: Any) -> tuple[Any, Any]:
        """The index of the interval, and where in it, as a share of its length."""
        p, x = promote_kinds_inexact("RegularGridInterpolator", p, x)
        index = jnp.clip(jnp.searchsorted(p, x, side="right") - 1, 0, p.shape[0] - 2)
        left = p[index]
        return index, (x - left) / (p[index + 1] - left)


def _beyond(x: Any, p: Any) -> Any:
    """Whether points lie before the first or behind the last position."""
    p, x = promote_kinds_inexact("RegularGridInterpolator", p, x)
    return (x < p[0]) | (x > p[-1])


def _check_method(method: str) -> None:
    if method not in _METHODS:
        raise ValueError(f"method {method!r} is not defined; expected one of {_METHODS}")


def _reference(dtype: np.dtype) -> np.dtype:
    """NumPy's dtype of the kind."""
    return np.dtype(np.complex128 if dtype in dtypes.COMPLEX else np.float64)


def _increasing(d: int, p: Any, values: Any) -> tuple[Any, Any]:
    """Positions, and values in their order; both are reversed when they decrease."""
    if p.ndim != 1 or p.shape[0] < 2:
        raise ValueError(f"The points in dimension {d} must be 1-dimensional, of at least two, got shape {p.shape}")
    if p.shape[0] != values.shape[d]:
        raise ValueError(f"There are {p.shape[0]} points and {values.shape[d]} values in dimension {d}")
    if p.dtype not in dtypes.INTEGRAL:  # integers take the dtype of the points that they meet
        (p,) = promote_args_inexact("RegularGridInterpolator", p)
    if isinstance(p, Tracer):
        return p, values
    steps = np.diff(np.asarray(p).astype(np.float64))
    if (steps > 0).all():
        return p, values
    if not (steps < 0).all():
        raise ValueError(f"The points in dimension {d} must be strictly ascending or descending")
    return jnp.flip(p), jnp.flip(values, d)


def _as_points(xi: Any, ndim: int) -> Any:
    """Points along the last axis: of an array, or of a tuple of arrays."""
    if isinstance(xi, tuple) and len(xi) == 1:  # that array of points, in SciPy and JAX
        xi = xi[0]
    if isinstance(xi, tuple):
        found = promote_args_inexact("RegularGridInterpolator", *(jnp.asarray(x) for x in xi))
        return jnp.stack(jnp.broadcast_arrays(*found), -1)
    (points,) = promote_args_inexact("RegularGridInterpolator", jnp.asarray(xi))
    if points.ndim == 0 or (points.ndim == 1 and ndim == 1):
        return points.reshape(-1, 1)
    return points.reshape(1, -1) if points.ndim == 1 else points


def _linear(values: Any, position: Sequence[tuple[Any, Any]], tall: Any) -> Any:
    """The sum over the corners of the cell, times the share of the cell opposite to each."""
    total: Any = None
    for corner in itertools.product((0, 1), repeat=len(position)):
        sides = list(zip(corner, position, strict=True))
        weight = functools.reduce(operator.mul, [share if k else 1 - share for k, (_, share) in sides])
        at = values[tuple(index + k for k, (index, _) in sides)]
        mixed = dtypes.common_dtype(at.dtype, weight.dtype)
        term = at.astype(mixed) * tall(weight).astype(mixed)
        total = term if total is None else total + term
    return total


def _nearest(values: Any, position: Sequence[tuple[Any, Any]]) -> Any:
    return values[tuple(jnp.where(share <= 0.5, index, index + 1) for index, share in position)]


def _flatten(x: RegularGridInterpolator) -> tuple[tuple[Any, ...], tuple[str, bool]]:
    return (x.grid, x.values, x.fill_value), (x.method, x.bounds_error)


def _unflatten(static: tuple[str, bool], parts: Sequence[Any]) -> RegularGridInterpolator:
    out = object.__new__(RegularGridInterpolator)
    out.method, out.bounds_error = static
    out.grid, out.values, out.fill_value = parts
    return out


register_pytree_node(RegularGridInterpolator, _flatten, _unflatten)


@jit_when_eager("method")
def _evaluated(interpolator: RegularGridInterpolator, flat: Any, method: str) -> Any:
    """The values at points, by one program outside of transformations."""
    return interpolator._evaluated(flat, method)
