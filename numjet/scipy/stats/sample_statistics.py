"""Sample statistics: the most frequent value, ranks, the standard error of the mean."""
from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

import numjet.numpy as jnp
from numjet.foundation import dtypes
from numjet.lax.reduction.cumulative import cummax, cummin
from numjet.numpy.core.promotion import array_arg

_POLICIES = ("propagate", "omit", "raise")
_METHODS = ("average", "min", "max", "dense", "ordinal")


class ModeResult(NamedTuple):
    """The most frequent values, and their counts."""
    mode: Any
    count: Any


def _check_policy(nan_policy: str, name: str) -> None:
    if nan_policy not in _POLICIES:
        raise ValueError(f"Illegal nan_policy value {nan_policy!r}; expected one of {{'propagate', 'omit', 'raise'}}")
    if nan_policy == "raise":
        raise NotImplementedError(f"In order to best JIT compile `{name}`, we cannot know whether `x` contains nans. Look for "
                                  "them before, with jnp.isnan, and leave nan_policy out.")
    if nan_policy != "propagate":
        raise NotImplementedError(f"Logic for `nan_policy` of {nan_policy} is not implemented: only 'propagate' is")


def _axis_of(axis: int, ndim: int) -> int:
    if not -ndim <= axis < ndim:
        raise ValueError(f"axis {axis} is out of bounds for array of dimension {ndim}")
    return axis % ndim


def _positions(x: Any) -> Any:
    """0, 1, ... along the last axis."""
    return jnp.broadcast_to(jnp.arange(x.shape[-1]), x.shape)


def _starts(ordered: Any) -> Any:
    """Whether an element of the last axis differs from the one before; NaNs are equal."""
    before, after = ordered[..., :-1], ordered[..., 1:]
    new = (before != after) & ~(jnp.isnan(before) & jnp.isnan(after))
    return jnp.concatenate([jnp.ones_like(ordered[..., :1], dtype=bool), new], axis=-1)


def mode(a: Any, axis: int | None = 0, nan_policy: str = "propagate", keepdims: bool = False) -> ModeResult:
    """The most frequent value along an axis (None: of all elements) and its count; the smallest one of equally frequent.

    Of no elements: NaN and 0. NotImplementedError for a nan_policy other than "propagate", ValueError for unknown ones.

    >>> import numjet.numpy as jnp
    >>> found = mode(jnp.array([3, 1, 3, 2]))
    >>> int(found.mode), int(found.count)
    (3, 2)
    """
    _check_policy(nan_policy, "mode")
    a = array_arg("mode", a)
    kept = (1,) * max(a.ndim, 1)  # a scalar counts as a vector
    if axis is None or not a.ndim:
        a, axis = a.reshape(-1), 0
    else:
        axis = _axis_of(axis, a.ndim)
        kept = (*a.shape[:axis], 1, *a.shape[axis + 1:])
    a = jnp.moveaxis(a, axis, -1)
    found, count = _no_mode(a) if not a.shape[-1] else _mode(a)
    return ModeResult(found.reshape(kept), count.reshape(kept)) if keepdims else ModeResult(found, count)


def _no_mode(a: Any) -> tuple[Any, Any]:
    dtype = dtypes.to_inexact_dtype(a.dtype)
    return jnp.full(a.shape[:-1], jnp.nan, dtype), jnp.zeros(a.shape[:-1], dtype)


def _mode(a: Any) -> tuple[Any, Any]:
    """The mode of the last axis: the first of the longest runs in the sorted array."""
    ordered = jnp.sort(a, axis=-1)
    positions = _positions(ordered)
    starts = jnp.where(_starts(ordered), positions, 0)
    lengths = positions - cummax(starts, axis=starts.ndim - 1) + 1
    best = jnp.argmax(lengths, axis=-1, keepdims=True)
    return jnp.take_along_axis(ordered, best, axis=-1)[..., 0], jnp.take_along_axis(lengths, best, axis=-1)[..., 0]


def rankdata(a: Any, method: str = "average", *, axis: int | None = None, nan_policy: str = "propagate") -> Any:
    """Ranks from 1 on along an axis (None: of all elements, as a vector), as default floats; NaN along with any NaN.

    method, for equal elements: "average", "min" or "max" of their ranks, "dense": "min" without gaps, "ordinal": in order.
    ValueError for other methods; NotImplementedError for a nan_policy other than "propagate".

    >>> import numjet.numpy as jnp
    >>> rankdata(jnp.array([30, 10, 30])).tolist()
    [2.5, 1.0, 2.5]
    """
    _check_policy(nan_policy, "rankdata")
    if method not in _METHODS:
        raise ValueError(f"unknown method {method!r}: expected one of {', '.join(_METHODS)}")
    a = array_arg("rankdata", a)
    if axis is None:
        a, axis = a.reshape(-1), 0
    axis = _axis_of(axis, a.ndim)
    a = jnp.moveaxis(a, axis, -1)
    dtype = dtypes.canonicalize_dtype(np.float64)  # halves do not hold the ranks of long vectors
    ranks = jnp.zeros(a.shape, dtype) if not a.size else _ranks(a, method).astype(dtype)
    ranks = jnp.where(jnp.any(jnp.isnan(a), axis=-1, keepdims=True), jnp.nan, ranks)
    return jnp.moveaxis(ranks, -1, axis)


def _ranks(a: Any, method: str) -> Any:
    """Ranks of the last axis."""
    order = jnp.argsort(a, axis=-1, stable=True)
    position = jnp.argsort(order, axis=-1)
    if method == "ordinal":
        return position + 1
    found = _sorted_ranks(jnp.take_along_axis(a, order, axis=-1), method)
    return jnp.take_along_axis(found, position, axis=-1)


def _sorted_ranks(ordered: Any, method: str) -> Any:
    new, positions, axis = _starts(ordered), _positions(ordered), ordered.ndim - 1
    if method == "dense":
        return jnp.cumsum(new, axis=-1)
    low = cummax(jnp.where(new, positions, 0), axis=axis) + 1
    last = jnp.concatenate([new[..., 1:], jnp.ones_like(new[..., :1])], axis=-1)
    high = cummin(jnp.where(last, positions, ordered.shape[-1]), axis=axis, reverse=True) + 1
    return low if method == "min" else high if method == "max" else (low + high) / 2


def sem(a: Any, axis: int | None = 0, ddof: int = 1, nan_policy: str = "propagate", *, keepdims: bool = False) -> Any:
    """The standard error of the mean along an axis (None: of all elements): the deviation over the root of the size.

    Of complex numbers it is complex, without an imaginary part. ddof: subtracted from the size in the deviation. nan_policy:
    "propagate", or "omit": without NaNs; else ValueError.

    >>> import numjet.numpy as jnp
    >>> round(float(sem(jnp.array([1.0, 3.0, 2.0, 2.0]))), 3)
    0.408
    """
    if nan_policy not in ("propagate", "omit"):
        raise ValueError(f"{nan_policy} is not supported: nan_policy is 'propagate' or 'omit'")
    a = array_arg("sem", a)
    dtype = dtypes.to_inexact_dtype(a.dtype)
    if nan_policy == "omit":
        count = jnp.sum(~jnp.isnan(a), axis=axis, keepdims=keepdims)
        return jnp.nanstd(a, axis=axis, ddof=ddof, keepdims=keepdims) / jnp.sqrt(count.astype(dtype))
    size = a.size if axis is None else a.shape[_axis_of(axis, a.ndim)]
    return (jnp.std(a, axis=axis, ddof=ddof, keepdims=keepdims) / size ** 0.5).astype(dtype)
