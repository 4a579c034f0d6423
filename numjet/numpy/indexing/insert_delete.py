"""Insertion and deletion of parts of arrays: insert, delete, trim_zeros."""
from __future__ import annotations

import operator
from typing import Any

import numpy as np

from numjet.foundation import dtypes
from numjet.lax import sort as lax_sort
from numjet.lax.elementwise import arithmetic, compare, convert
from numjet.lax.indexing import slicing
from numjet.lax.shape import create, join, rearrange
from numjet.numpy.core.arrays import asarray
from numjet.numpy.core.concrete import known, value_of
from numjet.numpy.core.promotion import check_arraylike, to_array
from numjet.numpy.indexing.plan import positions_where
from numjet.numpy.indexing.subscript import getitem
from numjet.numpy.indexing.where import choose_by
from numjet.numpy.reduction.reductions import axes_of, sum as total
from numjet.numpy.shaping.manipulation import broadcast_to, flattened, moveaxis, ravel

_INT32 = np.dtype(np.int32)
_FEW = 16   # known places at which an array is cut


def _as_array(name: str, obj: Any, n: Any) -> Any:
    """Indices of parts along an axis of size n, or a mask. TypeError for anything but integers and bools."""
    if isinstance(obj, slice):
        return np.arange(n)[obj]
    if isinstance(obj, (list, tuple)):
        obj = np.asarray(obj) if obj else np.zeros(0, int)
    check_arraylike(name, obj)
    found = np.asarray(obj) if isinstance(obj, (np.ndarray, np.generic, int, float, complex)) else to_array(obj)
    if dtypes.kind(found.dtype) not in "iub":
        raise TypeError(f"jnp.{name}: expected integers as indices, or a mask, got {obj!r} of dtype {found.dtype}")
    return found


def delete(arr: Any, obj: Any, axis: int | None = None, *, assume_unique_indices: bool = False) -> Any:
    """The array without the parts `obj` along `axis` (None: elements of the flattened array).

    obj: an int, a slice, integers or a mask. Traced ones work where the size of the result is known: one integer, or with
    assume_unique_indices several. TypeError for other indices, IndexError out of bounds.

    >>> import numjet.numpy as jnp
    >>> delete(jnp.array([10, 20, 30]), jnp.array([0, 2])).tolist()
    [20]
    """
    arr, dim = flattened("delete", arr, axis)
    n = arr.shape[dim]
    obj = _as_array("delete", obj, n)
    check_arraylike("delete", arr)
    values = value_of(obj)
    if values is not None:
        keep = np.ones(n, bool)
        if values.dtype == bool:
            if values.shape != (n,):
                raise ValueError(f"jnp.delete: mask must have the size of the axis, {n}, got shape {values.shape}")
            keep = ~values
        else:
            if values.size and (values.min() < -n or values.max() >= n):
                raise IndexError(f"index {values.min()} to {values.max()} is out of bounds for axis {dim} with size {n}")
            keep[values.reshape(-1)] = False
        return _kept_parts(arr, dim, keep)
    positions = ravel(to_array(obj))
    if positions.dtype == np.bool_ or not (assume_unique_indices or positions.size == 1):
        known("delete", positions, "how many parts stay (assume_unique_indices=True when no index is repeated)")
    return getitem(arr, (slice(None),) * dim + (_kept(positions, n),))


def _kept_parts(arr: Any, dim: int, keep: np.ndarray) -> Any:
    """The parts where a known mask is true: a few runs of them are joined, for which a program needs no table of indices."""
    edges = np.flatnonzero(np.diff(keep, prepend=False, append=False)).tolist()
    if len(edges) > 2 * _FEW:
        return getitem(arr, (slice(None),) * dim + positions_where(keep))
    runs = list(zip(edges[::2], edges[1::2], strict=True)) or [(0, 0)]
    parts = [getitem(arr, (slice(None),) * dim + (slice(start, stop),)) for start, stop in runs]
    return join.concatenate(parts, dim) if len(parts) > 1 else parts[0]


def _kept(positions: Any, n: int) -> Any:
    """The indices below n without k distinct ones: i plus the number of deleted indices at or below, in order."""
    positions = convert.convert_element_type(positions, _INT32)
    from_start = arithmetic.add(positions, np.int32(n))
    positions = lax_sort(choose_by("delete", compare.lt(positions, np.int32(0)), from_start, positions), 0)
    k = positions.shape[0]
    shifted = arithmetic.sub(positions, create.iota(_INT32, k))
    rest = create.iota(_INT32, n - k)
    both = (n - k, k)
    passed = compare.ge(rearrange.broadcast_in_dim(rest, both, (0,)), rearrange.broadcast_in_dim(shifted, both, (1,)))
    return arithmetic.add(rest, total(convert.convert_element_type(passed, _INT32), 1, _INT32))


def insert(arr: Any, obj: Any, values: Any, axis: int | None = None) -> Any:
    """The array with `values` inserted before the indices `obj` along `axis` (None: of the flattened array).

    obj: an int, a slice, integers or a mask; may be traced, but for a mask. values: broadcast to the shape of the inserted
    part. TypeError for other indices, IndexError out of bounds.

    >>> import numjet.numpy as jnp
    >>> insert(jnp.array([10, 20, 30]), 1, 15).tolist()
    [10, 15, 20, 30]
    """
    check_arraylike("insert", arr, values)
    arr, dim = flattened("insert", arr, axis)
    n = arr.shape[dim]
    obj = _as_array("insert", obj, n)
    if obj.dtype == np.bool_:
        obj = np.flatnonzero(known("insert", obj, "how many parts are inserted"))
    positions, values = to_array(obj), to_array(values)
    if values.ndim == 0:
        values = rearrange.expand_dims(values, (0,))
    if positions.ndim == 0:
        values = moveaxis(_ranked(values, arr.ndim), 0, dim)
    positions, values = ravel(positions), moveaxis(_ranked(values, arr.ndim), dim, 0)
    places = value_of(obj) if isinstance(n, int) else None
    if places is not None and places.size and (places.min() < -n or places.max() > n):
        raise IndexError(f"jnp.insert: index {places.min()} to {places.max()} is out of bounds for an axis of size {n}")
    front = moveaxis(arr, dim, 0)
    count = values.shape[0] if positions.shape[0] == 1 else positions.shape[0]
    values = convert.convert_dtype(broadcast_to(values, (count, *front.shape[1:])), front.dtype, front.weak_type)
    if places is not None and 0 < places.size <= _FEW:
        places = places.astype(np.int64).reshape(-1)
        out = _joined(front, np.where(places < 0, places + n, places), values)
    else:
        out = _interleaved(front, broadcast_to(_counted_from_end(positions, n), (count,)), values)
    return moveaxis(out, 0, dim)


def _ranked(x: Any, ndim: int) -> Any:
    return rearrange.expand_dims(x, range(ndim - x.ndim)) if x.ndim < ndim else x


def _counted_from_end(positions: Any, n: int) -> Any:
    positions = convert.convert_element_type(positions, _INT32)
    count = convert.size_constant(n, _INT32)
    positions = choose_by("insert", compare.lt(positions, np.int32(0)), arithmetic.add(positions, count), positions)
    return compare.clamp(np.int32(0), positions, count)


def _joined(arr: Any, places: np.ndarray, values: Any) -> Any:
    """The rows of arr and values in one array, for a few known places: the parts of arr between them, joined."""
    if places.size == 1:
        groups = [(int(places[0]), values)]
    else:
        groups = [(int(places[k]), slicing.slice_in_dim(values, k, k + 1)) for k in np.argsort(places, kind="stable").tolist()]
    parts, start = [], 0
    for place, rows in groups:
        parts += [slicing.slice_in_dim(arr, start, place), rows]
        start = place
    return join.concatenate([*parts, slicing.slice_in_dim(arr, start, arr.shape[0])], 0)


def _interleaved(arr: Any, positions: Any, values: Any) -> Any:
    """The rows of arr and values in one array: a stable sort by index, in which values come first."""
    n, k = arr.shape[0], values.shape[0]
    keys = join.concatenate([positions, create.iota(_INT32, n)], 0)
    order = lax_sort((keys, create.iota(_INT32, n + k)), 0, True, 1)[1]
    rows = join.concatenate([values, arr], 0)
    return getitem(rows, order)


def trim_zeros(filt: Any, trim: str = "fb", axis: Any = None) -> Any:
    """The array without the zeros in front ("f" in trim) and behind ("b"), along `axis` (an int, ints; None: all).

    The values must be known.

    >>> import numjet.numpy as jnp
    >>> trim_zeros(jnp.array([0, 0, 1, 0, 2, 0])).tolist()
    [1, 0, 2]
    """
    check_arraylike("trim_zeros", filt)
    arr = asarray(filt)
    values = known("trim_zeros", arr, "how many zeros there are")
    axes = axes_of(axis, arr.ndim)
    sides = trim.lower()
    bounds = [slice(None)] * arr.ndim
    for a in axes:
        found = np.nonzero(np.any(values != 0, axis=tuple(d for d in range(arr.ndim) if d != a)))[0]
        first, last = (found[0], found[-1] + 1) if found.size else (arr.shape[a], arr.shape[a])
        start = operator.index(first) if "f" in sides else 0
        stop = operator.index(last) if "b" in sides else arr.shape[a]
        bounds[a] = slice(start, max(start, stop) if found.size else start if "f" in sides else 0)
    return getitem(arr, tuple(bounds))

