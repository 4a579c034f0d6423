"""Indices of elements that are not 0: nonzero, flatnonzero, argwhere."""
from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from numjet.core.trace import aval_of
from numjet.foundation import dtypes
from numjet.foundation.dimension import Dimension, as_static_size, computed_sizes
from numjet.lax.axes import check_positions, in_64_bits, is_long, needs_64_bits
from numjet.lax.elementwise import arithmetic, compare, convert
from numjet.lax.indexing import slicing
from numjet.lax.reduction import cumulative
from numjet.lax.reduction.reduce import reduce_sum
from numjet.lax.shape import create, join, rearrange
from numjet.numpy.core.arrays import asarray, on_device_of
from numjet.numpy.core.concrete import known_for_size, value_of
from numjet.numpy.core.promotion import array_arg, promote_dtypes
from numjet.numpy.indexing.subscript import scatter_update

_BOOL = np.dtype(np.bool_)
_INT32 = np.dtype(np.int32)


def nonzero(a: Any, *, size: int | None = None, fill_value: Any = None) -> tuple[Any, ...]:
    """The indices of the elements that are not 0, one array per axis of a, in row-major order.

    size: the number of indices in the result, needed under jit; missing ones are fill_value (a number, or one per axis;
    default 0), with which the indices are promoted: NaN makes them floats. Without it the values must be known,
    ConcretizationTypeError otherwise, unless sizes may be computed (docs/dynamic-shapes.md). ValueError for rank 0.

    >>> import numjet.numpy as jnp
    >>> [i.tolist() for i in nonzero(jnp.array([0, 5, 7]), size=3, fill_value=-1)]
    [[1, 2, -1]]
    """
    a = array_arg("nonzero", a)
    if a.ndim == 0:
        raise ValueError("Calling nonzero on 0d arrays is not allowed. Use jnp.atleast_1d(scalar).nonzero() instead.")
    dtype = dtypes.canonicalize_dtype(np.int64)
    check_positions("nonzero", a.shape, dtype)
    if size is None and computed_sizes.maker is not None and value_of(a) is None:
        mask = a if a.dtype == _BOOL else compare.ne(a, np.zeros((), a.dtype)[()])
        return tuple(convert.convert_element_type(i, dtype) for i in computed_sizes.maker.true_positions(mask))
    if size is None:
        return tuple(on_device_of(asarray(i.astype(dtype)), a) for i in np.nonzero(known_for_size("nonzero", a)))
    size = as_static_size(size, "size")
    if prod(a.shape) == 0 or size == 0:
        index, missing = create.full((size,), np.zeros((), dtype)[()]), create.full((size,), np.True_)
        return tuple(_filled(index, missing, f, dtype) for f in _fills(fill_value, a.ndim))
    if needs_64_bits((a.size,)):
        return in_64_bits(_first_of_shape, a, size, fill_value, dtype)
    return _first_of_shape(a, size, fill_value, dtype)


def _first_of_shape(a: Any, size: int, fill_value: Any, dtype: np.dtype) -> tuple[Any, ...]:
    """The indices of the first `size` elements that are not 0, one array per axis."""
    flat, count = first_true(a, size)
    missing = compare.ge(create.iota(count.dtype, size), rearrange.broadcast_in_dim(count, (size,), ()))
    return tuple(_filled(i, missing, f, dtype)
                 for i, f in zip(_unraveled(flat, a.shape), _fills(fill_value, a.ndim), strict=True))


def first_true(a: Any, size: int) -> tuple[Any, Any]:
    """The flat positions of the first `size` elements that are not 0, and the number of all such elements, in int32 where that
    holds them, else in int64.

    Stream compaction: a running sum of the mask gives the index at which each position is written. There is one more element
    for those that are not wanted, so that no index is out of bounds, which checks of indices would report.
    """
    dtype = np.dtype(np.int64) if is_long((a.size,)) else _INT32
    x = rearrange.reshape(a, (a.size,))
    mask = x if x.dtype == _BOOL else compare.ne(x, np.zeros((), x.dtype)[()])
    ones = convert.convert_element_type(mask, dtype)
    target = arithmetic.sub(cumulative.cumsum(ones, 0), np.ones((), dtype)[()])
    nowhere = rearrange.broadcast_in_dim(convert.size_constant(size, dtype), target.shape, ())
    target = compare.select(mask, compare.min(target, nowhere), nowhere)
    none = create.full((size + 1,), np.zeros((), dtype)[()])
    found = scatter_update(none, target, create.iota(dtype, a.size), "set", mode="drop")
    found = slicing.slice_in_dim(found, 0, size)
    return found, reduce_sum(ones, (0,))


def _unraveled(flat: Any, sizes: Sequence[int]) -> list[Any]:
    out = []
    for n in reversed(sizes[1:]):
        out.append(arithmetic.rem(flat, convert.size_constant(n, flat.dtype)))
        flat = arithmetic.div(flat, convert.size_constant(n, flat.dtype))
    return [flat, *reversed(out)]


def _fills(fill_value: Any, ndim: int) -> list[Any]:
    if isinstance(fill_value, (tuple, list)):
        if len(fill_value) != ndim:
            raise ValueError(f"fill_value must be a scalar or a tuple of length {ndim}, got {fill_value}")
        return list(fill_value)
    return [0 if fill_value is None else fill_value] * ndim


def _filled(index: Any, missing: Any, value: Any, dtype: np.dtype) -> Any:
    index = index if index.dtype == dtype else convert.convert_element_type(index, dtype)
    if type(value) is int and value == 0:  # the search leaves unreached elements 0
        return index
    if aval_of(value).shape != ():
        raise ValueError(f"fill_value must be a scalar or a tuple of scalars, got shape {aval_of(value).shape}")
    fill = convert.size_constant(value, dtype) if isinstance(value, Dimension) else value
    index, fill = promote_dtypes(index, fill)
    return compare.select(missing, rearrange.broadcast_in_dim(fill, index.shape, ()), index)


def flatnonzero(a: Any, *, size: int | None = None, fill_value: Any = None) -> Any:
    """The positions in the flattened array of the elements that are not 0; arguments as of nonzero.

    >>> import numjet.numpy as jnp
    >>> flatnonzero(jnp.array([[0, 5], [7, 0]])).tolist()
    [1, 2]
    """
    a = array_arg("flatnonzero", a)
    return nonzero(rearrange.reshape(a, (a.size,)), size=size, fill_value=fill_value)[0]


def argwhere(a: Any, *, size: int | None = None, fill_value: Any = None) -> Any:
    """The indices of the elements that are not 0, one row each; arguments as of nonzero.

    >>> import numjet.numpy as jnp
    >>> argwhere(jnp.array([[0, 5], [7, 0]])).tolist()
    [[0, 1], [1, 0]]
    """
    a = array_arg("argwhere", a)
    if a.ndim == 0:
        count = nonzero(rearrange.reshape(a, (1,)), size=size, fill_value=fill_value)[0].shape[0]
        return create.full((count, 0), np.zeros((), dtypes.canonicalize_dtype(np.int64))[()])
    columns = promote_dtypes(*nonzero(a, size=size, fill_value=fill_value))
    return join.concatenate([rearrange.expand_dims(c, (1,)) for c in columns], 1)


