"""Selection of elements by index or mask: take, take_along_axis, choose, compress, extract."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from numjet.api.jit_when_eager import jit_when_eager
from numjet.core.trace import aval_of
from numjet.foundation import dtypes
from numjet.foundation.dimension import as_static_size
from numjet.lax import GatherDimensionNumbers, GatherScatterMode
from numjet.lax.axes import as_axis
from numjet.lax.elementwise import compare, convert
from numjet.lax.indexing.gather import gather
from numjet.lax.reduction.reduce import reduce_sum
from numjet.lax.shape import create, rearrange
from numjet.numpy.core.concrete import known, value_of
from numjet.numpy.core.promotion import (
    array_arg,
    as_dtype,
    check_arraylike,
    check_out,
    operand,
    promote_dtypes,
    strong_array,
    to_array,
)
from numjet.numpy.indexing.nonzero import nonzero
from numjet.numpy.indexing.subscript import getitem
from numjet.numpy.indexing.where import choose_by, truth
from numjet.numpy.shaping.joining import stack
from numjet.numpy.shaping.manipulation import broadcast_to, flattened, moveaxis, ravel
from numjet.numpy.ufuncs.arithmetic import remainder

_INT32 = np.dtype(np.int32)
_SELECTED_CHOICES = 16  # of so few choices, all that lie at a place cost less to read than the one that an index names


def check_integers(name: str, x: Any) -> None:
    """TypeError when x is no array of integers."""
    if dtypes.kind(aval_of(x).dtype) not in "iu":
        raise TypeError(f"{name} indices must be of integer type, got {aval_of(x).dtype.name}")


def _clipped(indices: Any, size: int) -> Any:
    """Indices limited to [0, size - 1]; negative numbers do not count from the end."""
    dtype = indices.dtype
    top = min(max(size - 1, 0), int(dtypes.iinfo(dtype).max))
    return compare.clamp(np.zeros((), dtype)[()], indices, np.asarray(top, dtype)[()])


@jit_when_eager("axis", "out", "mode", "unique_indices", "indices_are_sorted", "fill_value", small=False)
def take(a: Any, indices: Any, axis: int | None = None, out: None = None, mode: Any = None, unique_indices: bool = False,
         indices_are_sorted: bool = False, fill_value: Any = None) -> Any:
    """Elements of a at `indices` along `axis` (None: of the flattened array); the axes of `indices` replace it.

    indices: an array of integers, negative ones count from the end. mode: what happens out of bounds: "fill" (default)
    gives fill_value (default NaN; the least integer), "clip" the nearest element (0 for negative numbers), "wrap" counts
    round. unique_indices, indices_are_sorted: promises.

    >>> import numjet.numpy as jnp
    >>> take(jnp.array([10, 20, 30]), jnp.array([[2, 0]])).tolist()
    [[30, 10]]
    """
    check_out("take", out)
    check_arraylike("take", a, indices)
    a, indices = to_array(a), to_array(indices)
    if axis is None:
        a, axis = ravel(a), 0
    dim = as_axis(axis, a.ndim)
    if dtypes.kind(indices.dtype) not in "biu":
        raise ValueError(f"jnp.take: indices must have an integer type, got {indices.dtype.name}")
    indices = as_dtype(indices, np.dtype(np.int32)) if indices.dtype == np.bool_ else indices
    size = a.shape[dim]
    if size == 0 and indices.size:
        raise IndexError(f"Cannot do a non-empty jnp.take() from an empty axis: axis {dim} of shape {a.shape}.")
    how: Any = "fill" if mode is None else mode
    if how == "raise":
        raise NotImplementedError("The 'raise' mode to jnp.take is not supported: values are not known under jit.")
    if how == "wrap":
        indices, how = remainder(indices, np.asarray(size, indices.dtype)[()]), "promise_in_bounds"
    elif how == "clip":
        indices, how = _clipped(indices, size), "promise_in_bounds"
    return getitem(a, (slice(None),) * dim + (indices,), mode=how, unique_indices=unique_indices,
                   indices_are_sorted=indices_are_sorted, fill_value=fill_value)


# -------------------------------------------------------------------------------------------- along an axis

def aligned(name: str, arr: Any, indices: Any, dim: int) -> tuple[Any, Any]:
    """An array and indices of equal shape but for the axis `dim`. ValueError when they don't broadcast."""
    if arr.ndim != indices.ndim:
        raise ValueError(f"indices and arr must have the same number of dimensions; {indices.ndim} vs. {arr.ndim}")
    ones = lambda x: (*x.shape[:dim], 1, *x.shape[dim + 1:])
    if ones(arr) == ones(indices):
        return arr, indices
    whole = rearrange.broadcast_shapes(ones(indices), ones(arr))
    fit = lambda x: broadcast_to(x, (*whole[:dim], x.shape[dim], *whole[dim + 1:]))
    return fit(arr), fit(indices)


def from_end(indices: Any, size: int) -> Any:
    """Indices as int32, negative ones counted from the end."""
    if dtypes.kind(indices.dtype) == "u":
        return convert.convert_element_type(indices, _INT32)
    indices = indices if indices.dtype == _INT32 else convert.convert_element_type(indices, _INT32)
    wrapped = indices + convert.size_constant(size, _INT32)
    return choose_by("take_along_axis", compare.lt(indices, np.int32(0)), wrapped, indices)


@jit_when_eager("axis", "mode", "fill_value", "wrap_negative_indices", small=False)
def take_along_axis(arr: Any, indices: Any, axis: int | None = -1, mode: Any = None, fill_value: Any = None, *,
                    wrap_negative_indices: bool | None = None) -> Any:
    """For each position on the other axes, the elements at its own indices along `axis`, as given by argsort and argmax.

    indices: integers, of the rank of arr; axes but `axis` broadcast. None: arr is flattened first. mode, fill_value: as of
    take ("fill", "clip", "promise_in_bounds"). wrap_negative_indices: False when negative numbers lie out of bounds, which is
    the default for "promise_in_bounds".

    >>> import numjet.numpy as jnp
    >>> x = jnp.array([[3, 1], [5, 9]])
    >>> take_along_axis(x, jnp.array([[1], [0]]), axis=1).tolist()
    [[1], [5]]
    """
    check_arraylike("take_along_axis", arr, indices)
    arr, indices = to_array(arr), to_array(indices)
    check_integers("take_along_axis", indices)
    if axis is None:
        if indices.ndim != 1:
            raise ValueError(f"take_along_axis indices must be 1D if axis=None, got shape {indices.shape}")
        arr, axis = ravel(arr), 0
    dim = as_axis(axis, arr.ndim)
    arr, indices = aligned("take_along_axis", arr, indices, dim)
    how = GatherScatterMode.FILL_OR_DROP if mode is None else GatherScatterMode.from_any(mode)
    if wrap_negative_indices is None:
        wrap_negative_indices = how != GatherScatterMode.PROMISE_IN_BOUNDS
    if wrap_negative_indices:
        indices = from_end(indices, arr.shape[dim])
    batch = tuple(d for d in range(arr.ndim) if d != dim)
    numbers = GatherDimensionNumbers((), (dim,), (dim,), operand_batching_dims=batch, start_indices_batching_dims=batch)
    if 0 in indices.shape or not arr.shape[dim]:  # there is nothing to fill with but zeros, as in JAX
        return as_dtype(broadcast_to(np.zeros((), arr.dtype), indices.shape), arr.dtype)
    starts = rearrange.expand_dims(indices, (indices.ndim,))
    return gather(arr, starts, numbers, (1,) * arr.ndim, mode=how, fill_value=fill_value)


# -------------------------------------------------------------------------------------------- by mask or choice

def choose(a: Any, choices: Sequence[Any] | Any, out: None = None, mode: str = "raise") -> Any:
    """For each index the element of choices[a] there; a and the choices broadcast.

    mode: for numbers out of bounds: "clip" or "wrap"; "raise" needs known values (ValueError when one is out of bounds).

    >>> import numjet.numpy as jnp
    >>> choose(jnp.array([1, 0]), [jnp.array([1, 2]), jnp.array([3, 4])]).tolist()
    [3, 2]
    """
    check_out("choose", out)
    a = array_arg("choose", a)
    check_integers("choose", a)
    cases = promote_dtypes(*(list(choices) if isinstance(choices, (list, tuple)) else list(to_array(choices))))
    count = len(cases)
    if mode == "raise":
        values = known("choose", a, "which choice is meant", checked="jnp.choose")
        if values.size and (values.min() < 0 or values.max() >= count):
            raise ValueError(f"invalid entry in choice array: expected 0 to {count - 1}, got {values.min()} to {values.max()}")
    elif mode == "wrap":
        a = remainder(a, np.asarray(count, a.dtype)[()])
    elif mode == "clip":
        a = _clipped(a, count)
    else:
        raise ValueError(f"mode={mode!r} not understood. Must be 'raise', 'wrap', or 'clip'")
    shape = rearrange.broadcast_shapes(a.shape, *(c.shape for c in cases))   # of any ranks, whatever the flag says
    a, *cases = (broadcast_to(x, shape) for x in (convert.convert_element_type(a, _INT32), *cases))
    if 1 < count <= _SELECTED_CHOICES:
        return strong_array(compare.select_n(a, *cases))
    found = take_along_axis(stack(cases), rearrange.expand_dims(a, (0,)), 0, mode="promise_in_bounds")
    return strong_array(rearrange.squeeze(found, (0,)))


def compress(condition: Any, a: Any, axis: int | None = None, *, size: int | None = None, fill_value: Any = 0,
             out: None = None) -> Any:
    """The parts of a along `axis` (None: elements of the flattened array) where the vector `condition` is true.

    size: the number of parts in the result, needed under jit; missing ones are fill_value. A shorter condition ends with
    False.

    >>> import numjet.numpy as jnp
    >>> compress(jnp.array([True, False, True]), jnp.array([1, 2, 3])).tolist()
    [1, 3]
    """
    check_out("compress", out)
    check_arraylike("compress", condition, a, fill_value)
    condition = truth(operand("compress", to_array(condition)))
    if condition.ndim != 1:
        raise ValueError(f"condition must be a 1D array, got shape {condition.shape}")
    arr, dim = flattened("compress", a, axis)
    length = arr.shape[dim]
    if condition.shape[0] > length:
        surplus = value_of(condition)
        if surplus is None or surplus[length:].any():
            raise ValueError("condition contains entries that are out of bounds: it is longer than the axis "
                             f"({condition.shape[0]} against {length})")
        condition = getitem(condition, slice(0, length))
    if size is None:
        positions = nonzero(condition)[0]
        return getitem(arr, (slice(None),) * dim + (positions,))
    size = as_static_size(size, "size")
    positions = nonzero(condition, size=size)[0]
    picked = getitem(moveaxis(arr, dim, 0), (positions,), mode="fill", fill_value=0)
    count = reduce_sum(convert.convert_element_type(condition, np.int32), (0,))
    inside = compare.lt(create.iota(np.int32, size), broadcast_to(count, (size,)))
    inside = rearrange.broadcast_in_dim(inside, picked.shape, (0,))
    return moveaxis(choose_by("compress", inside, picked, as_dtype(fill_value, picked.dtype)), 0, dim)


def extract(condition: Any, arr: Any, *, size: int | None = None, fill_value: Any = 0) -> Any:
    """The elements of the flattened array where `condition` (flattened) is true; size, fill_value as of compress.

    >>> import numjet.numpy as jnp
    >>> x = jnp.arange(4)
    >>> extract(x % 2 == 1, x).tolist()
    [1, 3]
    """
    condition, arr = array_arg("extract", condition), array_arg("extract", arr, 1)
    return compress(ravel(condition), ravel(arr), size=size, fill_value=fill_value)
