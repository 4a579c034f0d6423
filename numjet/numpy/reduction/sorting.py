"""Sorting: sort, argsort, lexsort, partition, sort_complex."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from numjet.foundation import dtypes
from numjet.foundation.dimension import as_integer
from numjet.lax.axes import as_axis
from numjet.lax.elementwise import convert
from numjet.lax.reduction.sort import sort as lax_sort
from numjet.lax.shape import create, rearrange
from numjet.numpy.core.promotion import array_arg, as_dtype, check_arraylike, to_array
from numjet.numpy.fastpath import small
from numjet.numpy.shaping.manipulation import flattened


def _check_options(name: str, kind: Any, order: Any) -> None:
    if kind is not None:
        raise TypeError(f"'kind' argument to {name} is not supported. Use stable=True or stable=False to specify whether the "
                        "sort should be stable.")
    if order is not None:
        raise TypeError(f"'order' argument to {name} is not supported: there are no structured arrays.")


def sort(a: Any, axis: int | None = -1, *, kind: None = None, order: None = None, stable: bool = True,
         descending: bool = False) -> Any:
    """The elements in ascending order along `axis` (None: of the flattened array); NaN is the greatest.

    stable: equal elements keep their order. descending: the other way round. kind, order: only None.

    >>> import numjet.numpy as jnp
    >>> sort(jnp.array([3, 1, 2]), descending=True).tolist()
    [3, 2, 1]
    """
    _check_options("sort", kind, order)
    a, dim = flattened("sort", a, axis)
    out = lax_sort(a, dim, stable)
    return rearrange.rev(out, (dim,)) if descending else out


def argsort(a: Any, axis: int | None = -1, *, kind: None = None, order: None = None, stable: bool = True,
            descending: bool = False, dtype: Any = None) -> Any:
    """The indices that sort the array along `axis`; arguments as of sort. dtype: that of the indices.

    >>> import numjet.numpy as jnp
    >>> argsort(jnp.array([3, 1, 2])).tolist()
    [1, 2, 0]
    """
    _check_options("argsort", kind, order)
    a, dim = flattened("argsort", a, axis)
    wanted = dtypes.canonicalize_dtype(np.int64) if dtype is None else dtypes.check_user_dtype(dtype, "argsort")
    if not descending:
        found = small.order(a, dim, wanted)
        if found is not None:
            return found
    positions = create.broadcasted_iota(wanted, a.shape, dim)
    if not descending:
        return lax_sort((a, positions), dim, stable, 1)[1]
    # Both reversed, so that equal elements stand in their order once the result is reversed.
    order_up = lax_sort((rearrange.rev(a, (dim,)), rearrange.rev(positions, (dim,))), dim, stable, 1)[1]
    return rearrange.rev(order_up, (dim,))


def lexsort(keys: Sequence[Any] | Any, axis: int = -1) -> Any:
    """The indices that sort by several keys, of which the last counts first.

    >>> import numjet.numpy as jnp
    >>> lexsort((jnp.array([2, 1, 0]), jnp.array([1, 0, 1]))).tolist()
    [1, 2, 0]
    """
    given = tuple(keys)
    if not given:
        raise TypeError("need sequence of keys with len > 0 in lexsort")
    check_arraylike("lexsort", *given)
    arrays = [to_array(k) for k in given]
    if any(k.shape != arrays[0].shape for k in arrays):
        raise ValueError(f"all keys need to be the same shape, got {[k.shape for k in arrays]}")
    index = dtypes.canonicalize_dtype(np.int64)
    if arrays[0].ndim == 0:
        return create.full((), np.zeros((), index)[()])
    dim = as_axis(axis, arrays[0].ndim)
    positions = create.broadcasted_iota(index, arrays[0].shape, dim)
    return lax_sort((*arrays[::-1], positions), dim, True, len(arrays))[-1]


def partition(a: Any, kth: int, axis: int = -1) -> Any:
    """The array reordered along `axis` so that element kth is that of the sorted array, smaller ones before it.

    Here both parts are in ascending order, too. ValueError for kth out of bounds and complex numbers.

    >>> import numjet.numpy as jnp
    >>> partition(jnp.array([3, 1, 2]), 1)[1].tolist()
    2
    """
    a = _partitioned("partition", a, kth, axis)
    return lax_sort(a, as_axis(axis, a.ndim), True)


def argpartition(a: Any, kth: int, axis: int = -1) -> Any:
    """The indices that partition the array, as partition.

    >>> import numjet.numpy as jnp
    >>> argpartition(jnp.array([3, 1, 2]), 1)[1].tolist()
    2
    """
    return as_dtype(argsort(_partitioned("argpartition", a, kth, axis), axis), dtypes.int32)


def _partitioned(name: str, a: Any, kth: int, axis: int) -> Any:
    a = array_arg(name, a)
    if a.dtype in dtypes.COMPLEX:
        raise NotImplementedError(f"jnp.{name} for complex dtype is not implemented.")
    dim, position = as_axis(axis, a.ndim), as_integer(kth, f"jnp.{name}: kth")
    if not -a.shape[dim] <= position < a.shape[dim]:
        raise ValueError(f"kth={position} is out of bounds for axis {dim} with size {a.shape[dim]}")
    return a


def sort_complex(a: Any) -> Any:
    """The array sorted along its last axis by real, then imaginary part, as complex numbers.

    >>> import numjet.numpy as jnp
    >>> sort_complex(jnp.array([2.0, 1.0])).tolist()
    [(1+0j), (2+0j)]
    """
    a = array_arg("sort_complex", a)
    out = lax_sort(a, a.ndim - 1, True)
    if out.dtype in dtypes.COMPLEX:
        return out
    wide = out.dtype == np.float64 or (dtypes.kind(out.dtype) in "iu" and out.dtype.itemsize > 4)
    return convert.convert_element_type(out, dtypes.canonicalize_dtype(np.complex128 if wide else np.complex64))


