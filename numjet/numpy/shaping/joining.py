"""Joining arrays: concatenate, stack and their relatives, block, append."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from numjet.foundation import dtypes
from numjet.lax.axes import as_axis
from numjet.lax.shape import join, rearrange
from numjet.numpy.core.promotion import array_arg, as_dtype, check_out, promote_dtypes, to_array
from numjet.numpy.shaping.manipulation import _rank_1, _rank_2, _rank_3, as_list, ravel, reshape


def _in_dtype(name: str, items: Sequence[Any], dtype: Any) -> list[Any]:
    """The arrays in one dtype: the one given, or that to which they promote."""
    if dtype is None:
        first = getattr(items[0], "aval", None) if items else None
        if first is not None and not first.weak_type and all(getattr(x, "aval", None) is first for x in items):
            return list(items)
        return promote_dtypes(*items)
    wanted = dtypes.check_user_dtype(dtype, name)
    return [as_dtype(to_array(x), wanted) for x in items]


def _check_equal(name: str, arrays: Sequence[Any], axis: int) -> None:
    first = arrays[0].aval.shape
    for i, x in enumerate(arrays):
        if x.aval.ndim != len(first):
            raise TypeError(f"jnp.{name}: Cannot concatenate arrays with different numbers of dimensions: got "
                            f"{', '.join(str(y.aval.shape) for y in arrays)}: the one at position {i} has another rank than "
                            "the first.")
        if any(m != n for d, (m, n) in enumerate(zip(x.aval.shape, first, strict=True)) if d != axis):
            raise TypeError(f"jnp.{name}: Cannot concatenate arrays with shapes that differ in dimensions other than the one "
                            f"being concatenated: they must agree in all axes but {axis}; got shape {first} and, at position "
                            f"{i}, shape {x.aval.shape}")


def concatenate(arrays: Any, axis: int | None = 0, dtype: Any = None) -> Any:
    """Arrays one after the other along `axis`; None: each flattened first.

    arrays: a sequence of arrays that agree in all other axes, or one array, whose parts along its first axis are meant.
    dtype: default that to which they promote. ValueError without arrays and for arrays of rank 0, TypeError for shapes
    that don't fit.

    >>> import numjet.numpy as jnp
    >>> concatenate([jnp.arange(2), jnp.ones(1)]).tolist()
    [0.0, 1.0, 1.0]
    """
    items = as_list("concatenate", arrays)
    if not items:
        raise ValueError("Need at least one array to concatenate.")
    parts = _in_dtype("concatenate", items, dtype)
    if axis is None:
        parts, axis = [ravel(x) for x in parts], 0
    if parts[0].aval.ndim == 0:
        raise ValueError("Zero-dimensional arrays cannot be concatenated.")
    dim = as_axis(axis, parts[0].aval.ndim)
    _check_equal("concatenate", parts, dim)
    return join.concatenate(parts, dim) if len(parts) > 1 else parts[0]


def concat(arrays: Sequence[Any], /, *, axis: int | None = 0) -> Any:
    """Arrays one after the other along `axis`, as concatenate.

    >>> import numjet.numpy as jnp
    >>> concat([jnp.arange(2), jnp.arange(1)]).tolist()
    [0, 1, 0]
    """
    return concatenate(arrays, axis=axis)


def stack(arrays: Any, axis: int = 0, out: None = None, dtype: Any = None) -> Any:
    """Arrays of one shape side by side along a new axis. ValueError when their shapes differ.

    >>> import numjet.numpy as jnp
    >>> stack([jnp.arange(2), jnp.ones(2)], axis=-1).tolist()
    [[0.0, 1.0], [1.0, 1.0]]
    """
    check_out("stack", out)
    items = as_list("stack", arrays)
    if not items:
        raise ValueError("Need at least one array to stack.")
    parts = _in_dtype("stack", items, dtype)
    whole = parts[0].aval.shape
    for i, x in enumerate(parts):
        if x.aval.shape != whole:
            raise ValueError(f"All input arrays must have the same shape. Got {whole} and, at position {i}, {x.aval.shape}.")
    dim = as_axis(axis, len(whole) + 1)
    kept = [d for d in range(len(whole) + 1) if d != dim]
    slab = (*whole[:dim], 1, *whole[dim:])
    parts = [rearrange.broadcast_in_dim(x, slab, kept) for x in parts]
    return join.concatenate(parts, dim) if len(parts) > 1 else parts[0]


def _widened(name: str, tup: Any, widen: Callable[[Any], Any]) -> list[Any]:
    return [widen(to_array(x)) for x in as_list(name, tup)]


def vstack(tup: Any, dtype: Any = None) -> Any:
    """Arrays one below the other: along the first axis; vectors are rows.

    >>> import numjet.numpy as jnp
    >>> vstack([jnp.arange(2), jnp.arange(2)]).shape
    (2, 2)
    """
    return concatenate(_widened("vstack", tup, _rank_2), 0, dtype)


def row_stack(tup: Any, dtype: Any = None) -> Any:
    """As vstack: NumPy's older name.

    >>> import numjet.numpy as jnp
    >>> row_stack([jnp.arange(2), jnp.arange(2)]).shape
    (2, 2)
    """
    return vstack(tup, dtype)


def hstack(tup: Any, dtype: Any = None) -> Any:
    """Arrays side by side: along the second axis, vectors along their only one.

    >>> import numjet.numpy as jnp
    >>> hstack([jnp.arange(2), jnp.arange(1)]).tolist()
    [0, 1, 0]
    """
    parts = _widened("hstack", tup, _rank_1)
    return concatenate(parts, 0 if parts and parts[0].ndim == 1 else 1, dtype)


def dstack(tup: Any, dtype: Any = None) -> Any:
    """Arrays one behind the other: along the third axis, after atleast_3d.

    >>> import numjet.numpy as jnp
    >>> dstack([jnp.arange(2), jnp.arange(2)]).shape
    (1, 2, 2)
    """
    return concatenate(_widened("dstack", tup, _rank_3), 2, dtype)


def _column(x: Any) -> Any:
    return reshape(x, (-1, 1)) if x.ndim < 2 else x


def column_stack(tup: Any) -> Any:
    """Arrays side by side along the second axis; vectors are columns.

    >>> import numjet.numpy as jnp
    >>> column_stack([jnp.arange(2), jnp.arange(2)]).tolist()
    [[0, 0], [1, 1]]
    """
    return concatenate(_widened("column_stack", tup, _column), 1)


def append(arr: Any, values: Any, axis: int | None = None) -> Any:
    """The array and after it the values, along `axis`; None: both flattened.

    >>> import numjet.numpy as jnp
    >>> append(jnp.arange(2), 7).tolist()
    [0, 1, 7]
    """
    arr, values = array_arg("append", arr), array_arg("append", values, 1)
    return concatenate([ravel(arr), ravel(values)] if axis is None else [arr, values], 0 if axis is None else axis)


# -------------------------------------------------------------------------------------------- block

def _depth(nested: Any) -> int:
    """How deep lists are nested. TypeError for tuples, ValueError for empty or uneven lists."""
    if isinstance(nested, tuple):
        raise ValueError("jnp.block: expected lists of lists of arrays, got a tuple")
    if not isinstance(nested, list):
        return 0
    if not nested:
        raise ValueError("jnp.block does not allow empty list arguments")
    depths = {_depth(item) for item in nested}
    if len(depths) > 1:
        raise ValueError(f"jnp.block: expected lists that are all nested equally deep, got depths {sorted(depths)}")
    return 1 + depths.pop()


def _leaves(nested: Any) -> list[Any]:
    return [leaf for item in nested for leaf in _leaves(item)] if isinstance(nested, list) else [nested]


def _joined(nested: Any, depth: int, rank: int) -> Any:
    if not isinstance(nested, list):
        x = array_arg("block", nested)
        return rearrange.expand_dims(x, range(rank - x.ndim)) if x.ndim < rank else x
    return concatenate([_joined(item, depth - 1, rank) for item in nested], axis=-depth)


def block(arrays: Any) -> Any:
    """One array of blocks: the innermost lists are joined along the last axis, those around them along the one before.

    >>> import numjet.numpy as jnp
    >>> one = jnp.ones((1, 1))
    >>> block([[one, 0 * one], [2 * one, one]]).tolist()
    [[1.0, 0.0], [2.0, 1.0]]
    """
    depth = _depth(arrays)
    rank = max([depth, *(array_arg("block", x).ndim for x in _leaves(arrays))])
    return _joined(arrays, depth, rank)


