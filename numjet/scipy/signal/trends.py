"""Removal of trends from samples."""
from __future__ import annotations

import itertools
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

import numjet.numpy as jnp
from numjet.api.jit_when_eager import jit_when_eager
from numjet.lax.axes import as_axis
from numjet.numpy.core.promotion import promote_args_inexact


def detrend(data: Any, axis: int = -1, type: str = "linear", bp: int | Sequence[int] = 0, overwrite_data: None = None) -> Any:
    """Samples less their mean (type "constant") or the straight line of least squares ("linear") along `axis`.

    bp: where a new line begins; static. ValueError for other types and for break points outside of the data.
    NotImplementedError for overwrite_data: arrays are never overwritten.

    >>> import numjet.numpy as jnp
    >>> detrend(jnp.array([1.0, 3.0, 5.0])).tolist()
    [0.0, 0.0, 0.0]
    """
    if overwrite_data is not None:
        raise NotImplementedError("overwrite_data argument not implemented.")
    if type not in ("constant", "linear"):
        raise ValueError(f"Trend type must be 'linear' or 'constant'. Got {type!r}.")
    return _detrended(jnp.asarray(data), operator.index(axis), type, tuple(operator.index(b) for b in np.atleast_1d(bp)))


@jit_when_eager("axis", "kind", "breaks")
def _detrended(data: Any, axis: int, kind: str, breaks: tuple[int, ...]) -> Any:
    (x,) = promote_args_inexact("detrend", data)
    if kind == "constant":
        return x - jnp.mean(x, axis, keepdims=True)
    at = as_axis(axis, x.ndim)
    n = x.shape[at]
    if any(not 0 <= b <= n for b in breaks):
        raise ValueError("Breakpoints must be non-negative and less than length of data along given axis. "
                         f"Got {breaks} for length {n}.")
    ends = sorted({0, *breaks, n})
    x = jnp.moveaxis(x, at, -1)
    parts = [_less_line(x[..., start:end]) for start, end in itertools.pairwise(ends)]
    return jnp.moveaxis(jnp.concatenate(parts, -1) if parts else x, -1, at)


def _less_line(x: Any) -> Any:
    """x less the line of least squares along the last axis: mean and slope are independent about the middle."""
    n = x.shape[-1]
    x = x - jnp.mean(x, -1, keepdims=True)
    if n < 2:
        return x
    place = (jnp.arange(n, dtype=jnp.finfo(x.dtype).dtype) - (n - 1) / 2).reshape((1,) * (x.ndim - 1) + (n,)).astype(x.dtype)
    slope = jnp.sum(x * place, -1, keepdims=True) / (n * (n * n - 1) / 12)
    return x - slope * place
