"""Shapes and orders of axes: reshape, transpose, squeeze, roll, flip, repeat, tile and their kin."""
from __future__ import annotations

import operator
from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from numjet.foundation.util import canonicalize_axis
from numjet.lax import join, shape as lax_shape
from numjet.lax.gather import index_take
from numjet.lax.slicing import slice_in_dim
from numjet.numpy.promote import array_arg, broadcast_to as broadcast_array, common_shape

Axes = int | Sequence[int] | None


def _ints(values: Any) -> tuple[int, ...]:
    if hasattr(values, "__index__") and getattr(values, "ndim", 0) == 0:
        return (operator.index(values),)
    return tuple(operator.index(v) for v in values)


def axis_tuple(axis: Axes, ndim: int) -> tuple[int, ...]:
    """Axes as non-negative ints; all of them for None. ValueError for axes out of range or given twice."""
    if axis is None:
        return tuple(range(ndim))
    found = tuple(canonicalize_axis(a, ndim) for a in _ints(axis))
    if len(set(found)) != len(found):
        raise ValueError(f"duplicate value in axis: {axis}")
    return found


def reshape(a: Any, shape: Any, order: str = "C", *, copy: bool | None = None, out_sharding: Any = None) -> Any:
    """The same elements in another shape; one size may be -1. order: "C" (rows first) or "F" (columns first).

    TypeError for a shape of another size. Shapes may be computed while tracing, from shapes.

    >>> reshape(np.arange(4), (2, -1)).tolist()
    [[0, 1], [2, 3]]
    """
    del out_sharding
    if copy is False:
        raise NotImplementedError("jnp.reshape: copy=False is not supported; pass None or True")
    a = array_arg("reshape", a)
    sizes = fill_shape(a.shape, _ints(shape))
    if order == "F":
        dims = tuple(range(a.ndim))[::-1]
        flipped = lax_shape.reshape(transpose(a, dims), sizes[::-1])
        return transpose(flipped, tuple(range(len(sizes)))[::-1])
    if order not in ("C", "K"):
        raise NotImplementedError(f"jnp.reshape: order must be 'C' or 'F', got {order!r}")
    return a if sizes == a.shape else lax_shape.reshape(a, sizes)


def fill_shape(old: tuple[int, ...], new: tuple[int, ...]) -> tuple[int, ...]:
    """The new shape with its -1 computed. TypeError when the sizes don't fit."""
    size = prod(old)
    if new.count(-1) > 1:
        raise ValueError(f"can only specify one unknown dimension (-1) in reshape, got {new}")
    if -1 in new:
        rest = prod(n for n in new if n != -1)
        if rest == 0 or size % rest:
            raise TypeError(f"cannot reshape array of shape {old} (size {size}) into shape {new}")
        return tuple(size // rest if n == -1 else n for n in new)
    if prod(new) != size:
        raise TypeError(f"cannot reshape array of shape {old} (size {size}) into shape {new} (size {prod(new)})")
    return new


def ravel(a: Any, order: str = "C", *, out_sharding: Any = None) -> Any:
    """All elements as a vector.

    >>> ravel(np.ones((2, 2))).shape
    (4,)
    """
    del out_sharding
    return reshape(a, -1, "C" if order == "K" else order)


def transpose(a: Any, axes: Sequence[int] | None = None) -> Any:
    """The axes in another order (default: reversed).

    >>> transpose(np.ones((2, 3))).shape
    (3, 2)
    """
    a = array_arg("transpose", a)
    order = tuple(range(a.ndim))[::-1] if axes is None else tuple(canonicalize_axis(i, a.ndim) for i in axes)
    if sorted(order) != list(range(a.ndim)):
        raise ValueError(f"axes {axes} don't match an array of {a.ndim} dimensions")
    return a if order == tuple(range(a.ndim)) else lax_shape.transpose(a, order)


def permute_dims(a: Any, /, axes: tuple[int, ...]) -> Any:
    """As transpose, with the axes required.

    >>> permute_dims(np.ones((2, 3)), (1, 0)).shape
    (3, 2)
    """
    return transpose(a, axes)


def matrix_transpose(x: Any, /) -> Any:
    """The last two axes swapped. ValueError for fewer than two.

    >>> matrix_transpose(np.ones((4, 2, 3))).shape
    (4, 3, 2)
    """
    x = array_arg("matrix_transpose", x)
    if x.ndim < 2:
        raise ValueError(f"x must be at least two-dimensional for matrix_transpose; got shape {x.shape}")
    return swapaxes(x, -1, -2)


def swapaxes(a: Any, axis1: int, axis2: int) -> Any:
    """Two axes exchanged.

    >>> swapaxes(np.ones((2, 3, 4)), 0, 2).shape
    (4, 3, 2)
    """
    a = array_arg("swapaxes", a)
    order = list(range(a.ndim))
    i, j = canonicalize_axis(axis1, a.ndim), canonicalize_axis(axis2, a.ndim)
    order[i], order[j] = order[j], order[i]
    return transpose(a, order)


def moveaxis(a: Any, source: int | Sequence[int], destination: int | Sequence[int]) -> Any:
    """Some axes moved to other places, the others kept in order.

    >>> moveaxis(np.ones((2, 3, 4)), 0, -1).shape
    (3, 4, 2)
    """
    a = array_arg("moveaxis", a)
    old, new = axis_tuple(source, a.ndim), axis_tuple(destination, a.ndim)
    if len(old) != len(new):
        raise ValueError(f"Inconsistent number of elements: {len(old)} vs {len(new)}")
    order = [i for i in range(a.ndim) if i not in old]
    for d, s in sorted(zip(new, old, strict=True)):
        order.insert(d, s)
    return transpose(a, order)


def rollaxis(a: Any, axis: int, start: int = 0) -> Any:
    """One axis moved to stand before another.

    >>> rollaxis(np.ones((2, 3, 4)), 2).shape
    (4, 2, 3)
    """
    a = array_arg("rollaxis", a)
    axis = canonicalize_axis(axis, a.ndim)
    if not -a.ndim <= start <= a.ndim:
        raise ValueError(f"start={start} must satisfy {-a.ndim} <= start <= {a.ndim}")
    start = start + a.ndim if start < 0 else start
    return moveaxis(a, axis, start - 1 if start > axis else start)


def squeeze(a: Any, axis: Axes = None) -> Any:
    """Without axes of size 1: all of them, or those named. ValueError when a named one is longer.

    >>> squeeze(np.ones((1, 3, 1)), 0).shape
    (3, 1)
    """
    a = array_arg("squeeze", a)
    dims = tuple(i for i, n in enumerate(a.shape) if n == 1) if axis is None else axis_tuple(axis, a.ndim)
    return lax_shape.squeeze(a, dims) if dims else a


def expand_dims(a: Any, axis: int | Sequence[int]) -> Any:
    """With axes of size 1 at the places named.

    >>> expand_dims(np.ones(3), (0, 2)).shape
    (1, 3, 1)
    """
    return lax_shape.expand_dims(array_arg("expand_dims", a), _ints(axis))


def broadcast_to(array: Any, shape: Any, *, out_sharding: Any = None) -> Any:
    """The array repeated along new axes and axes of size 1. ValueError when the shapes don't fit.

    >>> broadcast_to(np.ones(3), (2, 3)).shape
    (2, 3)
    """
    del out_sharding
    array = array_arg("broadcast_to", array)
    sizes = _ints(shape)
    tail = sizes[len(sizes) - array.ndim:]
    if array.ndim > len(sizes) or any(n not in (1, m) for n, m in zip(array.shape, tail, strict=True)):
        raise ValueError(f"Incompatible shapes for broadcasting: {array.shape} and requested shape {sizes}")
    return broadcast_array(array, sizes)


def broadcast_arrays(*args: Any) -> list[Any]:
    """All arrays in their common shape.

    >>> [x.shape for x in broadcast_arrays(np.ones(3), np.ones((2, 1)))]
    [(2, 3), (2, 3)]
    """
    arrays = [array_arg("broadcast_arrays", a, k) for k, a in enumerate(args)]
    shape = common_shape("broadcast_arrays", [a.shape for a in arrays])
    return [broadcast_array(a, shape) for a in arrays]


def flip(m: Any, axis: Axes = None) -> Any:
    """The elements in reverse order along axes (default: all).

    >>> flip(np.arange(3)).tolist()
    [2, 1, 0]
    """
    m = array_arg("flip", m)
    return lax_shape.rev(m, axis_tuple(axis, m.ndim))


def fliplr(m: Any) -> Any:
    """Reversed along axis 1.

    >>> fliplr(np.array([[1, 2]])).tolist()
    [[2, 1]]
    """
    return flip(m, 1)


def flipud(m: Any) -> Any:
    """Reversed along axis 0.

    >>> flipud(np.array([1, 2])).tolist()
    [2, 1]
    """
    return flip(m, 0)


def roll(a: Any, shift: Any, axis: Axes = None) -> Any:
    """The elements moved by `shift` places along axes, around the end (default: of the flattened array).

    Static shifts become two slices; computed ones a gather.

    >>> roll(np.arange(4), 1).tolist()
    [3, 0, 1, 2]
    """
    a = array_arg("roll", a)
    if axis is None:
        return reshape(roll(ravel(a), shift, 0), a.shape)
    axes = _ints(axis)
    shifts = [shift] * len(axes) if np.ndim(shift) == 0 else list(shift)
    axes = axes * len(shifts) if len(axes) == 1 else axes
    if len(shifts) != len(axes):
        raise ValueError(f"roll: shift of length {len(shifts)} does not fit {len(axes)} axes")
    for s, i in zip(shifts, axes, strict=True):
        a = _roll(a, s, canonicalize_axis(i, a.ndim))
    return a


def _roll(a: Any, shift: Any, axis: int) -> Any:
    n = a.shape[axis]
    if n == 0:
        return a
    if isinstance(shift, (int, np.integer)):
        k = int(shift) % n
        if k == 0:
            return a
        return join.concatenate([slice_in_dim(a, n - k, n, axis=axis), slice_in_dim(a, 0, n - k, axis=axis)], axis)
    places = (np.arange(n) - array_arg("roll", shift)) % n
    return index_take(a, (places,), (axis,)) if axis == 0 else moveaxis(index_take(moveaxis(a, axis, 0), (places,), (0,)), 0, axis)


def tile(A: Any, reps: Any) -> Any:
    """The array repeated as a block, `reps` times along each axis.

    >>> tile(np.arange(2), 2).tolist()
    [0, 1, 0, 1]
    """
    A = array_arg("tile", A)
    counts = _ints(reps)
    ndim = max(len(counts), A.ndim)
    A = reshape(A, (1,) * (ndim - A.ndim) + A.shape)
    return join.tile(A, (1,) * (ndim - len(counts)) + counts)


