"""Interpolation in images: map_coordinates, under JAX's name."""
from __future__ import annotations

import functools
import itertools
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import numjet.numpy as jnp
from numjet.api.jit_when_eager import jit_when_eager
from numjet.foundation import dtypes
from numjet.lax import round as round_half_away
from numjet.lax.operands import real_dtype

__all__ = ["map_coordinates"]


def _mirrored(index: Any, size: int) -> Any:
    """Reflection about the centres of the first and the last element."""
    last = max(size - 1, 1)
    return jnp.abs((index + last) % (2 * last) - last) if size > 1 else jnp.zeros_like(index)


def _reflected(index: Any, size: int) -> Any:
    """Reflection about the edges of the first and the last element."""
    return jnp.floor_divide(_mirrored(2 * index + 1, 2 * size + 1), 2)


_INSIDE: dict[str, Callable[[Any, int], Any]] = {
    "constant": lambda index, size: jnp.clip(index, 0, size - 1),
    "nearest": lambda index, size: jnp.clip(index, 0, size - 1),
    "wrap": lambda index, size: index % size,
    "mirror": _mirrored,
    "reflect": _reflected,
}


def map_coordinates(input: Any, coordinates: Sequence[Any], order: int, mode: str = "constant", cval: Any = 0.0) -> Any:
    """The values of an array between its elements: at coordinates[d] along each axis d, arrays of one shape.

    order: 0 for the nearest element, 1 for linear interpolation. mode: what lies outside: "constant" (cval), "nearest" (the
    closest element), "wrap" (periodic), "mirror" (reflected about the centres of the outermost elements) or "reflect" (about
    their edges). The result has the input's dtype; integers are rounded, halves away from zero, and Booleans are true where
    the value is not 0. Differentiable with respect to input, and for order 1 to coordinates. ValueError unless there is one
    array per axis; NotImplementedError for other orders and modes.

    >>> import numjet.numpy as jnp
    >>> map_coordinates(jnp.array([0.0, 10.0, 20.0]), [jnp.array([0.5, 1.2])], order=1).tolist()
    [5.0, 12.0]
    """
    x = jnp.asarray(input)
    if len(coordinates) != x.ndim:
        raise ValueError(f"coordinates must be a sequence of length input.ndim, but {len(coordinates)} != {x.ndim}")
    where = tuple(jnp.asarray(c) for c in coordinates)
    if mode not in _INSIDE:
        raise NotImplementedError(f"jax.scipy.ndimage.map_coordinates does not yet support mode {mode}. Currently supported "
                                  f"modes are {set(_INSIDE)}.")
    order = operator.index(order)
    if order not in (0, 1):
        raise NotImplementedError(f"jax.scipy.ndimage.map_coordinates currently requires order<=1, got order={order}")
    return _interpolated(x, where, jnp.asarray(cval, x.dtype), order, mode)


@jit_when_eager("order", "mode")
def _interpolated(x: Any, where: tuple[Any, ...], fill: Any, order: int, mode: str) -> Any:
    where = tuple(_precise(c, x.dtype) for c in jnp.broadcast_arrays(*where)) if where else ()
    neighbours = [_nearest(c) if order == 0 else _two(c) for c in where]
    total: Any = None
    for corner in itertools.product(*neighbours):
        value = _value(x, [index for index, _ in corner], fill, mode)
        weights = [weight for _, weight in corner if weight is not None]
        if weights:
            weight = functools.reduce(operator.mul, weights)
            mixed = dtypes.common_dtype(weight.dtype, value.dtype)
            value = weight.astype(mixed) * value.astype(mixed)
        total = value if total is None else total + value
    if dtypes.issubdtype(x.dtype, np.integer) and dtypes.issubdtype(total.dtype, np.inexact):
        total = round_half_away(total)
    return jnp.astype(total, x.dtype)


def _precise(c: Any, dtype: Any) -> Any:
    """Coordinates with the precision of the array, so that weights do not round what they are multiplied with."""
    floats = dtypes.issubdtype(c.dtype, np.floating) and dtypes.issubdtype(dtype, np.inexact)
    return jnp.astype(c, dtypes.common_dtype(c.dtype, real_dtype(dtype))) if floats else c


def _nearest(c: Any) -> list[tuple[Any, Any]]:
    whole = round_half_away(c) if dtypes.issubdtype(c.dtype, np.inexact) else c
    return [(jnp.astype(whole, np.int32), None)]


def _two(c: Any) -> list[tuple[Any, Any]]:
    """The neighbours of coordinates and their weights."""
    if not dtypes.issubdtype(c.dtype, np.inexact):
        return [(jnp.astype(c, np.int32), None)]
    low = jnp.floor(c)
    share = c - low
    index = jnp.astype(low, np.int32)
    return [(index, 1 - share), (index + 1, share)]


def _value(x: Any, index: Sequence[Any], fill: Any, mode: str) -> Any:
    """The elements at an index, of which the parts may lie outside."""
    if not index:
        return x
    found = x[tuple(_INSIDE[mode](i, n) for i, n in zip(index, x.shape, strict=True))]
    if mode != "constant":
        return found
    inside = functools.reduce(operator.and_, [(i >= 0) & (i < n) for i, n in zip(index, x.shape, strict=True)])
    return jnp.where(inside, found, fill)
