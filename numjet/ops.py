"""Segment reductions: elements with the same segment id are reduced together."""
from __future__ import annotations

from typing import Any

import numpy as np

import numjet.numpy as jnp
from numjet.foundation.dimension import as_size, is_symbolic
from numjet.lax.indexing.dimension_numbers import GatherScatterMode
from numjet.lax.reduction.reduce import highest, lowest
from numjet.lax.shape import create
from numjet.lax.shape.rearrange import check_unsharded
from numjet.numpy.core.promotion import array_arg

__all__ = ["segment_max", "segment_min", "segment_prod", "segment_sum"]

_NEUTRAL = {"add": 0, "mul": 1}


# -------------------------------------------------------------------------------------------- shared

def _count(ids: Any, num_segments: Any) -> int:
    """The number of segments: as given, or one more than the largest number. ValueError for negative ones."""
    if num_segments is None:
        return max(int(jnp.max(ids)) + 1, 0) if ids.size else 0
    num_segments = as_size(num_segments)
    if num_segments < 0:
        raise ValueError("num_segments must be non-negative.")
    return num_segments


def _initial(method: str, dtype: np.dtype) -> Any:
    if method in _NEUTRAL:
        return _NEUTRAL[method]
    if dtype == np.bool_:
        return method == "min"
    return lowest(dtype) if method == "max" else highest(dtype)


def _scatter(method: str, data: Any, ids: Any, count: int, is_sorted: bool, unique: bool, mode: Any,
             buckets: tuple[Any, ...] = ()) -> Any:
    """One update per segment number: data[i] joins the result's row ids[i]; one number or row joins several. buckets: how many
    there are, and the one of each element, where each has segments of its own."""
    target = (*buckets[:1], count, *data.shape[ids.ndim:])
    start = create.full(target, np.asarray(_initial(method, data.dtype)).astype(data.dtype)[()])
    where = start.at[(*buckets[1:], ids)]
    update = {"add": where.add, "mul": where.multiply, "min": where.min, "max": where.max}[method]
    return update(data, indices_are_sorted=is_sorted, unique_indices=unique, mode=mode, wrap_negative_indices=False)


_NAMES = {"add": "segment_sum", "mul": "segment_prod", "min": "segment_min", "max": "segment_max"}
_JOIN: dict[str, Any] = {"add": jnp.sum, "mul": jnp.prod, "min": jnp.min, "max": jnp.max}


def _segment(method: str, data: Any, segment_ids: Any, num_segments: Any, is_sorted: bool, unique: bool, bucket_size: Any,
             mode: Any, out_sharding: Any) -> Any:
    check_unsharded(_NAMES[method], out_sharding)
    mode = GatherScatterMode.FILL_OR_DROP if mode is None else mode
    data, ids = array_arg(_NAMES[method], data), array_arg(_NAMES[method], segment_ids, 1)
    if bucket_size is not None and bucket_size < 1:
        raise ValueError(f"{_NAMES[method]}: bucket_size must be None or at least 1, got {bucket_size}")
    try:
        data = jnp.broadcast_to(data, (*ids.shape, *data.shape[1:]))
    except ValueError as error:
        raise ValueError(f"expected segment_ids of shape (n,) for data of shape (n, ...), got {ids.shape} and "
                         f"{data.shape}") from error
    count = _count(ids, num_segments)
    if bucket_size is None or ids.ndim == 0:
        return _scatter(method, data, ids, count, is_sorted, unique, mode)
    if is_symbolic((*ids.shape, bucket_size)):
        bucket = jnp.reshape(jnp.arange(ids.shape[0]) // bucket_size, (ids.shape[0], *(1,) * (ids.ndim - 1)))
        whole = _scatter(method, data, ids, count, is_sorted, unique, mode, (-(-ids.shape[0] // bucket_size), bucket))
        return jnp.astype(_JOIN[method](whole, axis=0), data.dtype)
    parts = [_scatter(method, data[i:i + bucket_size], ids[i:i + bucket_size], count, is_sorted, unique, mode)
             for i in range(0, ids.shape[0], bucket_size)]
    if not parts:
        return _scatter(method, data, ids, count, is_sorted, unique, mode)
    whole = jnp.stack(parts)
    return jnp.astype(_JOIN[method](whole, axis=0), data.dtype)


# -------------------------------------------------------------------------------------------- public

def segment_sum(data: Any, segment_ids: Any, num_segments: int | None = None, indices_are_sorted: bool = False,
                unique_indices: bool = False, bucket_size: int | None = None, mode: Any = None,
                out_sharding: Any = None) -> Any:
    """The sums of the data of each segment: (num_segments, ...).

    data: (n, ...); segment_ids: n integers, not necessarily sorted; those out of range are left out. With numbers of
    another shape, every one adds a row of data, which is broadcast to (*segment_ids.shape, ...), as `.at[ids].add` does.
    num_segments: default the largest id + 1, which must be given under jit. indices_are_sorted, unique_indices:
    promises. bucket_size: sums in parts of that many elements, which rounds less. mode: of the scatter.

    >>> import numjet.numpy as jnp
    >>> segment_sum(jnp.arange(4), jnp.array([0, 0, 1, 1])).tolist()
    [1, 5]
    """
    return _segment("add", data, segment_ids, num_segments, indices_are_sorted, unique_indices, bucket_size,
                    mode, out_sharding)


def segment_prod(data: Any, segment_ids: Any, num_segments: int | None = None, indices_are_sorted: bool = False,
                 unique_indices: bool = False, bucket_size: int | None = None, mode: Any = None,
                 out_sharding: Any = None) -> Any:
    """The products of the data of each segment, 1 for empty ones; arguments as of segment_sum.

    >>> import numjet.numpy as jnp
    >>> segment_prod(jnp.arange(4), jnp.array([0, 0, 1, 1])).tolist()
    [0, 6]
    """
    return _segment("mul", data, segment_ids, num_segments, indices_are_sorted, unique_indices, bucket_size,
                    mode, out_sharding)


def segment_max(data: Any, segment_ids: Any, num_segments: int | None = None, indices_are_sorted: bool = False,
                unique_indices: bool = False, bucket_size: int | None = None, mode: Any = None,
                out_sharding: Any = None) -> Any:
    """The largest of the data of each segment, the dtype's lowest value (-inf) for empty ones; arguments as of segment_sum.

    >>> import numjet.numpy as jnp
    >>> segment_max(jnp.arange(4), jnp.array([0, 0, 1, 1])).tolist()
    [1, 3]
    """
    return _segment("max", data, segment_ids, num_segments, indices_are_sorted, unique_indices, bucket_size,
                    mode, out_sharding)


def segment_min(data: Any, segment_ids: Any, num_segments: int | None = None, indices_are_sorted: bool = False,
                unique_indices: bool = False, bucket_size: int | None = None, mode: Any = None,
                out_sharding: Any = None) -> Any:
    """The smallest of the data of each segment, the dtype's highest value (inf) for empty ones; arguments as of segment_sum.

    >>> import numjet.numpy as jnp
    >>> segment_min(jnp.arange(4), jnp.array([0, 0, 1, 1])).tolist()
    [0, 2]
    """
    return _segment("min", data, segment_ids, num_segments, indices_are_sorted, unique_indices, bucket_size,
                    mode, out_sharding)
