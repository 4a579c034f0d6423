"""Histograms: bincount, histogram and its relatives."""
from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from numjet.api.jit_when_eager import jit_when_eager
from numjet.core.trace import Array
from numjet.foundation import dtypes
from numjet.foundation.dimension import as_integer, as_static_size
from numjet.lax.elementwise import arithmetic, bitwise, compare, convert
from numjet.lax.indexing import slicing
from numjet.lax.shape import create, rearrange
from numjet.lax.shape.rearrange import check_unsharded
from numjet.numpy.core.concrete import known
from numjet.numpy.core.creation import linspace
from numjet.numpy.core.promotion import (
    as_dtype,
    as_named_dtype,
    check_arraylike,
    literal,
    promote_dtypes_inexact,
    to_array,
)
from numjet.numpy.indexing.subscript import getitem, scatter_update
from numjet.numpy.indexing.where import choose_by
from numjet.numpy.reduction.reductions import max as largest, min as smallest, sum as total
from numjet.numpy.reduction.searching import searchsorted
from numjet.numpy.shaping.joining import stack
from numjet.numpy.shaping.manipulation import broadcast_to, ravel
from numjet.numpy.signal.calculus import diff

_INT32 = np.dtype(np.int32)


def bincount(x: Any, weights: Any = None, minlength: int = 0, *, length: int | None = None, out_sharding: Any = None) -> Any:
    """The number of occurrences of each of 0, 1, ... in the vector x; with weights, the sum of their weights.

    length: the size of the result, needed under jit: larger numbers are not counted, negative ones count as 0. Without it
    the size follows from the largest number and minlength.

    >>> import numjet.numpy as jnp
    >>> bincount(jnp.array([1, 3, 1])).tolist()
    [0, 2, 0, 1]
    """
    check_unsharded("bincount", out_sharding)
    check_arraylike("bincount", x)
    x = to_array(x)
    if dtypes.kind(x.dtype) not in "iub":
        raise TypeError(f"x argument to bincount must have an integer type; got {x.dtype.name}")
    if x.ndim != 1:
        raise ValueError(f"only 1-dimensional input supported: bincount got shape {x.shape}")
    least = as_integer(minlength, "jnp.bincount: minlength")
    if length is None:
        values = known("bincount", x, "how many numbers to count (pass length= under jit)")
        size = max(least, max(int(values.max()), 0) + 1 if values.size else 0)  # negative numbers count as 0
    else:
        size = as_static_size(length, "jnp.bincount: length")
    if weights is None:
        counted = create.full((), np.ones((), dtypes.canonicalize_dtype(np.int64))[()])
    else:
        check_arraylike("bincount", weights)
        counted = to_array(weights)
        if counted.shape != x.shape:
            raise ValueError("shape of weights must match shape of x.")
    positions = convert.convert_element_type(x, _INT32) if x.dtype == np.bool_ else x
    positions = compare.max(positions, broadcast_to(np.zeros((), positions.dtype)[()], positions.shape))
    start = create.full((size,), np.zeros((), counted.dtype)[()])
    return scatter_update(start, positions, counted, "add", mode="drop")


# -------------------------------------------------------------------------------------------- edges

@jit_when_eager("bins", "range")
def histogram_bin_edges(a: Any, bins: Any = 10, range: Any = None, weights: Any = None) -> Any:
    """The edges of the bins of a histogram: `bins` of equal width over the range (low, high), default that of a.

    bins: a number, or the edges themselves. Names of rules ("auto") are not supported: NotImplementedError.

    >>> import numjet.numpy as jnp
    >>> histogram_bin_edges(jnp.array([0.0, 4.0]), 2).tolist()
    [0.0, 2.0, 4.0]
    """
    del weights  # NumPy's rules that use them are those with names
    if isinstance(bins, str):
        raise NotImplementedError("string values for `bins` not implemented: pass a number or the edges")
    check_arraylike("histogram_bin_edges", a, bins)
    a = to_array(a)
    dtype = dtypes.to_inexact_dtype(dtypes.result_type(a, *(() if range is None else tuple(range))))
    edges = to_array(bins)
    if edges.ndim == 1:
        return as_dtype(edges, dtypes.result_type(edges, dtype) if dtypes.kind(edges.dtype) in "fc" else dtype)
    count = as_integer(bins, "bins")
    if count < 1:
        raise ValueError(f"`bins` must be positive, got {count}")
    if range is not None and len(range) != 2:
        raise ValueError(f"`range` must be either None or a sequence of scalars, got {range}")
    if range is not None:
        low, high = (as_named_dtype("histogram_bin_edges", v, dtype) for v in range)
    elif not a.size:
        low, high = as_dtype(0.0, dtype), as_dtype(1.0, dtype)
        low, high = create.full((), low), create.full((), high)
    else:
        low, high = (as_dtype(f(a), dtype) for f in (smallest, largest))
    half = literal(0.5, dtype)
    same = compare.eq(low, high)
    low, high = (choose_by("histogram", same, shifted, x) for shifted, x in
                 ((arithmetic.sub(low, half), low), (arithmetic.add(high, half), high)))
    return linspace(low, high, count + 1, dtype=dtype)


@jit_when_eager(small=False)
def _bins_of(x: Any, edges: Any) -> Any:
    """The number of the bin of each element, -1 outside; the last bin contains its right edge."""
    count = edges.shape[0] - 1
    position = searchsorted(edges, x, "right")
    last = compare.eq(x, broadcast_to(getitem(edges, count), x.shape))
    position = choose_by("histogram", last, np.asarray(count, position.dtype)[()], position)
    outside = compare.gt(position, broadcast_to(np.asarray(count, position.dtype)[()], position.shape))
    position = arithmetic.sub(position, np.asarray(1, position.dtype)[()])
    return choose_by("histogram", outside, np.asarray(-1, position.dtype)[()], position)


def histogram(a: Any, bins: Any = 10, range: Any = None, weights: Any = None, density: bool | None = None) -> tuple[Any, Any]:
    """The number of elements in each bin, and the edges of the bins.

    bins, range: as of histogram_bin_edges; a bin contains its left edge, the last one its right edge as well. weights: of the
    shape of a, summed instead. density: divided so that the integral is 1.

    >>> import numjet.numpy as jnp
    >>> histogram(jnp.array([0.0, 1.0, 4.0]), 2)[0].tolist()
    [2.0, 1.0]
    """
    by_edges = isinstance(bins, (Array, np.ndarray)) and bins.ndim
    return (_by_edges if by_edges else _by_number)(a, bins, range, weights, density)


def _histogram(a: Any, bins: Any, range: Any, weights: Any, density: bool | None) -> tuple[Any, Any]:
    check_arraylike("histogram", a, *(() if weights is None else (weights,)))
    if weights is None:
        x, = promote_dtypes_inexact(a)
        w = create.full(x.shape, np.ones((), x.dtype)[()])
    else:
        if to_array(weights).shape != to_array(a).shape:
            raise ValueError("weights should have the same shape as a.")
        x, w = promote_dtypes_inexact(a, weights)
    edges = histogram_bin_edges(x, bins, range)  # of the dtype of the weights, too: those of halves would be rounded
    x, edges = promote_dtypes_inexact(x, edges)
    return _counts_of(x, edges, w, bool(density)), edges


_by_edges = jit_when_eager("range", "density")(_histogram)
_by_number = jit_when_eager("bins", "range", "density")(_histogram)


@jit_when_eager("density")
def _counts_of(x: Any, edges: Any, weights: Any, density: bool) -> Any:
    counts = _counted(_bins_of(ravel(x), edges), ravel(weights), edges.shape[0] - 1)
    if not density:
        return counts
    counts, widths = promote_dtypes_inexact(counts, diff(edges))
    return arithmetic.div(arithmetic.div(counts, widths), broadcast_to(total(counts), counts.shape))


def _counted(positions: Any, weights: Any, size: int) -> Any:
    start = create.full((size,), np.zeros((), weights.dtype)[()])
    return scatter_update(start, positions, weights, "add", mode="one_hot", wrap_negative_indices=False)


# -------------------------------------------------------------------------------------------- several dimensions

def histogramdd(sample: Any, bins: Any = 10, range: Any = None, weights: Any = None,
                density: bool | None = None) -> tuple[Any, list[Any]]:
    """The number of points (the N rows of `sample`, (N, D)) in each box, and the edges along each axis.

    bins: a number for all axes, or one number or edges for each; range: None or one for each axis; others as of histogram.

    >>> import numjet.numpy as jnp
    >>> histogramdd(jnp.array([[0.0, 0.0], [1.0, 1.0]]), 2)[0].tolist()
    [[1, 0], [0, 1]]
    """
    check_arraylike("histogramdd", sample, *(() if weights is None else (weights,)))
    sample, *weighted = promote_dtypes_inexact(sample, *(() if weights is None else (weights,)))
    if sample.ndim != 2:
        raise ValueError(f"sample must have shape (N, D), got {sample.shape}")
    n, rank = sample.shape
    several = list(bins) if isinstance(bins, (tuple, list)) or getattr(bins, "ndim", 0) > 0 else [bins] * rank
    if len(several) != rank:
        raise ValueError(f"should be a bin for each dimension: got {len(several)} for {rank} dimensions")
    ranges = [None] * rank if range is None else list(range)
    if len(ranges) != rank:
        raise ValueError(f"For sample.shape={sample.shape} expected {rank} ranges, got {len(ranges)}")
    columns = [slicing.index_in_dim(sample, d, 1, keepdims=False) for d in _upto(rank)]
    edges = [histogram_bin_edges(c, b, r) for c, b, r in zip(columns, several, ranges, strict=True)]
    w = create.full((n,), np.ones((), dtypes.canonicalize_dtype(np.int64))[()]) if weights is None else weighted[0]
    if w.shape != (n,):
        raise ValueError("should have one weight for each sample.")
    return _counts_in_boxes(tuple(columns), tuple(edges), w, bool(density)), edges


@jit_when_eager("density")
def _counts_in_boxes(columns: Sequence[Any], edges: Sequence[Any], weights: Any, density: bool) -> Any:
    sizes = [e.shape[0] - 1 for e in edges]
    position, outside = _box_numbers(columns, edges, sizes)
    position = choose_by("histogramdd", outside, np.int32(-1), position)
    counts = rearrange.reshape(_counted(position, weights, prod(sizes)), sizes)
    if density:
        counts = as_dtype(counts, dtypes.common_dtype(counts.dtype, columns[0].dtype))
        counts = arithmetic.div(counts, broadcast_to(total(counts), counts.shape))
        for d, e in enumerate(edges):
            counts = arithmetic.div(counts, rearrange.broadcast_in_dim(as_dtype(diff(e), counts.dtype), counts.shape, (d,)))
    return counts


def _upto(n: int) -> Sequence[int]:
    return list(range(n))  # `range` is an argument's name in the functions above


def _box_numbers(columns: Sequence[Any], edges: Sequence[Any], sizes: Sequence[int]) -> tuple[Any, Any]:
    """The index of each point's box in row-major order, and whether it lies in none."""
    position = create.full(columns[0].shape, np.int32(0))
    outside = create.full(columns[0].shape, np.False_)
    for column, e, size in zip(columns, edges, sizes, strict=True):
        one = convert.convert_element_type(_bins_of(column, e), _INT32)
        outside = bitwise.bitwise_or(outside, compare.lt(one, np.int32(0)))
        position = arithmetic.add(arithmetic.mul(position, np.int32(size)), one)
    return position, outside


def histogram2d(x: Any, y: Any, bins: Any = 10, range: Any = None, weights: Any = None,
                density: bool | None = None) -> tuple[Any, Any, Any]:
    """The number of points (x, y) in each box, and the edges along both axes; arguments as of histogramdd.

    >>> import numjet.numpy as jnp
    >>> histogram2d(jnp.array([0.0, 1.0]), jnp.array([0.0, 1.0]), 2)[0].tolist()
    [[1, 0], [0, 1]]
    """
    check_arraylike("histogram2d", x, y)
    x, y = to_array(x), to_array(y)
    if x.shape != y.shape or x.ndim != 1:
        raise ValueError(f"x and y must be vectors of the same length, got shapes {x.shape} and {y.shape}")
    several = isinstance(bins, (tuple, list)) or bool(getattr(bins, "ndim", 0))
    if several and len(bins) not in (1, 2):
        bins = [bins, bins]
    elif several and len(bins) == 1:
        bins = [bins[0], bins[0]]
    counts, edges = histogramdd(stack([x, y], 1), bins, range, weights, density)
    return counts, edges[0], edges[1]


