"""Copies of arrays with some elements replaced: put, put_along_axis, place, fill_diagonal."""
from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from numjet.lax import GatherScatterMode, ScatterDimensionNumbers, scatter
from numjet.lax.axes import as_axis
from numjet.lax.elementwise import arithmetic, compare, convert
from numjet.lax.reduction import cumulative
from numjet.lax.shape import rearrange
from numjet.numpy.core.promotion import check_arraylike, to_array
from numjet.numpy.indexing.selection import _clipped, aligned, check_integers, from_end, take
from numjet.numpy.indexing.subscript import scatter_update
from numjet.numpy.indexing.where import choose_by, truth
from numjet.numpy.shaping.manipulation import broadcast_to, ravel
from numjet.numpy.shaping.repeating import resize
from numjet.numpy.ufuncs.arithmetic import remainder

_INT32 = np.dtype(np.int32)


def _refuse_inplace(name: str, inplace: bool) -> None:
    if inplace:
        raise ValueError(f"jax.numpy.{name} cannot modify arrays in-place, because arrays are immutable. Pass "
                         "inplace=False, which returns a changed copy.")


def put(a: Any, ind: Any, v: Any, mode: str | None = None, *, inplace: bool = True) -> Any:
    """A copy of a in which the elements at `ind`, of the flattened array, are v (repeated when shorter).

    mode: indices out of bounds are "clip"ped or "wrap"ped; by default negative ones count from the end, then
    they are clipped. ValueError unless inplace=False.

    >>> import numjet.numpy as jnp
    >>> put(jnp.arange(4), jnp.array([0, 2]), jnp.array([7, 8]), inplace=False).tolist()
    [7, 1, 8, 3]
    """
    _refuse_inplace("put", inplace)
    check_arraylike("put", a, ind, v)
    a, ind, v = to_array(a), ravel(to_array(ind)), ravel(to_array(v))
    if not a.size or not ind.size or not v.size:
        return a
    if mode is None:  # negative indices count from the end, unlike those that are clipped
        ind = _clipped(from_end(ind, a.size), a.size)
    elif mode == "clip":
        ind = _clipped(ind, a.size)
    elif mode == "wrap":
        ind = remainder(ind, np.asarray(a.size, ind.dtype)[()])
    else:
        raise ValueError(f"mode should be one of 'wrap' or 'clip'; got mode={mode!r}")
    v = v if v.size == ind.size else resize(v, ind.size)
    return rearrange.reshape(scatter_update(ravel(a), ind, v, "set", mode="drop"), a.shape)


def put_along_axis(arr: Any, indices: Any, values: Any, axis: int | None, inplace: bool = True, *, mode: Any = None) -> Any:
    """A copy of arr in which, for each position on the other axes, the elements at its own indices along `axis` are values.

    indices as of take_along_axis; values broadcast to their shape. ValueError unless inplace=False.

    >>> import numjet.numpy as jnp
    >>> put_along_axis(jnp.zeros((2, 2)), jnp.array([[1], [0]]), 5.0, axis=1, inplace=False).tolist()
    [[0.0, 5.0], [5.0, 0.0]]
    """
    _refuse_inplace("put_along_axis", inplace)
    check_arraylike("put_along_axis", arr, indices, values)
    arr, indices, values = to_array(arr), to_array(indices), to_array(values)
    check_integers("put_along_axis", indices)
    original = arr.shape
    if axis is None:
        arr, axis = ravel(arr), 0
    dim = as_axis(axis, arr.ndim)
    arr, indices = aligned("put_along_axis", arr, indices, dim)
    values = convert.convert_element_type(broadcast_to(values, indices.shape), arr.dtype)
    batch = tuple(d for d in range(arr.ndim) if d != dim)
    numbers = ScatterDimensionNumbers((), (dim,), (dim,), operand_batching_dims=batch, scatter_indices_batching_dims=batch)
    starts = rearrange.expand_dims(from_end(indices, arr.shape[dim]), (indices.ndim,))
    how = GatherScatterMode.FILL_OR_DROP if mode is None else GatherScatterMode.from_any(mode)
    out = scatter(arr, starts, values, numbers, mode=how)
    return rearrange.reshape(out, original) if out.size == prod(original) else out


def _masked(name: str, first: str, inplace: bool, array: Any, mask: Any, values: Any) -> tuple[Any, Any, Any]:
    """The array, the mask as booleans, and the values in one row. first: the parameter that the array is."""
    _refuse_inplace(name, inplace)
    check_arraylike(name, array, mask, values)
    array, mask = to_array(array), truth(to_array(mask))
    if array.size != mask.size:
        raise ValueError(f"{name}: {first} and mask must be the same size, got {array.size} and {mask.size}")
    return array, mask, ravel(to_array(values))


def place(arr: Any, mask: Any, vals: Any, *, inplace: bool = True) -> Any:
    """A copy of arr in which the elements where `mask` is true are vals, in order, repeated when shorter.

    ValueError unless inplace=False, and when sizes don't fit.

    >>> import numjet.numpy as jnp
    >>> place(jnp.arange(4), jnp.array([True, False, True, True]), jnp.array([7, 8]), inplace=False).tolist()
    [7, 1, 8, 7]
    """
    arr, mask, vals = _masked("place", "arr", inplace, arr, mask, vals)
    if not vals.size:
        raise ValueError("Cannot place values from an empty array")
    if not arr.size:
        return arr
    mask = ravel(mask)
    earlier = arithmetic.sub(cumulative.cumsum(convert.convert_element_type(mask, _INT32), 0), np.int32(1))
    which = arithmetic.rem(compare.max(earlier, np.int32(0)), np.int32(vals.size))
    values = take(convert.convert_element_type(vals, arr.dtype), which, mode="clip")
    return rearrange.reshape(choose_by("place", mask, values, ravel(arr)), arr.shape)


def putmask(a: Any, mask: Any, values: Any, *, inplace: bool = True) -> Any:
    """A copy of a in which element k, where `mask` is true, is element k of values, repeated when shorter.

    ValueError unless inplace=False, and when the sizes of a and mask differ.

    >>> import numjet.numpy as jnp
    >>> putmask(jnp.arange(4), jnp.array([True, False, True, True]), jnp.array([7, 8]), inplace=False).tolist()
    [7, 1, 7, 8]
    """
    a, mask, values = _masked("putmask", "a", inplace, a, mask, values)
    if not a.size or not values.size:
        return a
    repeated = convert.convert_element_type(resize(values, a.size), a.dtype)
    return rearrange.reshape(choose_by("putmask", ravel(mask), repeated, ravel(a)), a.shape)


def fill_diagonal(a: Any, val: Any, wrap: bool = False, *, inplace: bool = True) -> Any:
    """A copy of a in which the main diagonal is val: a number, or an array repeated along it.

    wrap: in tall matrices, the diagonal begins again below. ValueError unless inplace=False, and for axes of different sizes
    when there are more than two.

    >>> import numjet.numpy as jnp
    >>> fill_diagonal(jnp.zeros((2, 2)), 3.0, inplace=False).tolist()
    [[3.0, 0.0], [0.0, 3.0]]
    """
    _refuse_inplace("fill_diagonal", inplace)
    check_arraylike("fill_diagonal", a, val)
    a, val = to_array(a), ravel(to_array(val))
    if a.ndim < 2:
        raise ValueError("array must be at least 2-d")
    if wrap and a.ndim == 2:
        positions = np.arange(0, a.size, a.shape[1] + 1)
    elif a.ndim == 2:
        positions = np.arange(min(a.shape)) * (a.shape[1] + 1)
    elif len(set(a.shape)) > 1:
        raise ValueError("All dimensions of input must be of equal length")
    else:
        positions = np.arange(a.shape[0]) * sum(a.shape[0] ** k for k in range(a.ndim))
    if not positions.size:
        return a
    values = broadcast_to(val, (positions.size,)) if val.size == 1 else resize(val, positions.size)
    values = convert.convert_element_type(values, a.dtype)
    out = scatter_update(ravel(a), positions.astype(np.int32), values, "set", unique_indices=True, indices_are_sorted=True)
    return rearrange.reshape(out, a.shape)
