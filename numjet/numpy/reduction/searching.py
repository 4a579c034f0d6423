"""Search in sorted arrays: searchsorted, digitize."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from numjet import lax
from numjet.api.jit_when_eager import jit_when_eager
from numjet.core.intervals import largest
from numjet.core.trace import Tracer
from numjet.foundation import dtypes
from numjet.foundation.dimension import Dimension, may_exceed
from numjet.lax import sort as lax_sort
from numjet.lax.elementwise import arithmetic, bits, bitwise, compare, convert
from numjet.lax.indexing import slicing
from numjet.lax.reduction.reduce import reduce_sum
from numjet.lax.shape import create, join, rearrange
from numjet.numpy.core.promotion import check_arraylike, promote_dtypes, to_array
from numjet.numpy.indexing.selection import take
from numjet.numpy.indexing.subscript import getitem, scatter_update
from numjet.numpy.indexing.where import choose_by
from numjet.numpy.shaping.manipulation import ravel
from numjet.numpy.shaping.repeating import flip

_INT32 = np.dtype(np.int32)
_LARGEST = 2 ** 31 - 1  # index of an array whose size is not known
_SHORT = 64  # array sizes for which comparing all pairs, one operation at a time, is faster than a search
METHODS = ("scan", "scan_unrolled", "sort", "compare_all", "default")


def _less(x: Any, y: Any) -> Any:
    """x before y in sorted order: NaN last, complex numbers by real, then imaginary part."""
    kind = dtypes.kind(x.dtype)
    if kind == "c":
        a, b = convert.real(x), convert.real(y)
        first = _less(a, b)
        level = bitwise.bitwise_not(bitwise.bitwise_or(first, _less(b, a)))
        return bitwise.bitwise_or(first, bitwise.bitwise_and(level, _less(convert.imag(x), convert.imag(y))))
    if kind != "f":
        return compare.lt(x, y)
    return bitwise.bitwise_or(compare.lt(x, y), bitwise.bitwise_and(compare.ne(y, y), compare.eq(x, x)))


def _is_before(side: str) -> Callable[[Any, Any], Any]:
    """Whether an element of the array comes before the insertion index of a query."""
    return _less if side == "left" else lambda x, v: bitwise.bitwise_not(_less(v, x))


def _bisect(a: Any, v: Any, side: str, unroll: bool) -> Any:
    """Binary search of all queries at once: invariant a[:low] before v, a[high:] not."""
    before, size = _is_before(side), a.shape[0]
    steps = int(min(largest(size), _LARGEST)).bit_length()  # for the largest size; further steps change nothing
    end = convert.convert_element_type(to_array(size), _INT32) if isinstance(size, Dimension) else np.int32(size)
    mode = "one_hot" if isinstance(size, Dimension) else "clip"  # also of an empty array, which gives 0
    full = lambda n: rearrange.broadcast_in_dim(n, v.shape, ())

    def step(_: Any, state: tuple[Any, Any]) -> tuple[Any, Any]:
        low, high = state
        middle = arithmetic.add(low, arithmetic.div(arithmetic.sub(high, low), np.int32(2)))
        right = before(getitem(a, middle, mode=mode), v)
        right = bitwise.bitwise_and(right, compare.lt(low, high))
        return compare.select(right, arithmetic.add(middle, np.int32(1)), low), compare.select(right, high, middle)
    state = (full(np.int32(0)), full(end))
    if not unroll:
        return lax.fori_loop(0, steps, step, state)[0]
    for i in range(steps):
        state = step(i, state)
    return state[0]


def _compare_all(a: Any, v: Any, side: str) -> Any:
    whole = (*v.shape, a.shape[0])
    wide = rearrange.broadcast_in_dim(v, whole, range(v.ndim))
    found = _is_before(side)(rearrange.broadcast_in_dim(a, whole, (v.ndim,)), wide)
    return reduce_sum(convert.convert_element_type(found, _INT32), (v.ndim,))


def _by_sorting(a: Any, v: Any, side: str) -> Any:
    """The insertion index of each query: its rank when both are sorted together, less the number of queries before it.

    The sort is stable: queries come before the array for "left", after it for "right".
    """
    flat, size, count = ravel(v), a.shape[0], v.size
    parts = [flat, a] if side == "left" else [a, flat]
    first = 0 if side == "left" else size
    positions = create.iota(_INT32, size + count)
    order = lax_sort((join.concatenate(parts, 0), positions), 0, True, 1)[1]
    rank = scatter_update(positions, order, positions, "set", unique_indices=True)
    queries = order_of(flat)
    rank = slicing.slice_in_dim(rank, first, first + count)
    return rearrange.reshape(arithmetic.sub(rank, queries), v.shape)


def order_of(flat: Any) -> Any:
    """The rank of each element among all of a vector; equal ones rank in their order."""
    positions = create.iota(_INT32, flat.shape[0])
    order = lax_sort((flat, positions), 0, True, 1)[1]
    return scatter_update(positions, order, positions, "set", unique_indices=True)


@jit_when_eager("side", "method")
def searchsorted(a: Any, v: Any, side: str = "left", sorter: Any = None, *, method: str = "scan") -> Any:
    """For each element of v its insertion index in the sorted vector a.

    side: "left": before equal elements, "right": behind them. sorter: indices that sort a. method: "scan" (binary search
    in a loop), "scan_unrolled", "sort" or "compare_all" (all pairs; fast for short a). NaN is the greatest.

    >>> import numjet.numpy as jnp
    >>> searchsorted(jnp.array([1, 3, 5]), jnp.array([0, 3, 9])).tolist()
    [0, 1, 3]
    """
    if side not in ("left", "right"):
        raise ValueError(f"{side!r} is an invalid value for keyword 'side'. Expected one of ['left', 'right'].")
    if method not in METHODS:
        raise ValueError(f"{method!r} is an invalid value for keyword 'method'. Expected one of {list(METHODS[:-1])}.")
    check_arraylike("searchsorted", a, v, *(() if sorter is None else (sorter,)))
    a, v = (bits.stop_gradient(x) for x in promote_dtypes(a, v))
    if a.ndim != 1:
        raise ValueError(f"a should be 1-dimensional, got shape {a.shape}")
    if sorter is not None:
        sorter = to_array(sorter)
        if sorter.shape != a.shape:
            raise ValueError(f"sorter must have the shape of a: got {sorter.shape} and {a.shape}")
        a = take(a, sorter)
    index = dtypes.canonicalize_dtype(np.int64 if may_exceed(a.shape[0], 2 ** 31 - 1) else np.int32)
    if a.shape[0] == 0:
        return create.full(v.shape, np.zeros((), index)[()])
    eager = not isinstance(a, Tracer) and not isinstance(v, Tracer)
    if method == "compare_all" or (eager and a.shape[0] <= _SHORT and method != "sort"):
        found = _compare_all(a, v, side)
    elif method == "sort":
        found = _by_sorting(a, v, side)
    else:
        found = _bisect(a, v, side, eager or method == "scan_unrolled")
    return found if found.dtype == index else convert.convert_element_type(found, index)


@jit_when_eager("right", "method")
def digitize(x: Any, bins: Any, right: bool = False, *, method: str | None = None) -> Any:
    """For each element of x the index of its bin: i where bins[i - 1] <= x < bins[i].

    bins: a vector, ascending or descending. right: the bins contain their right end instead. method: as of searchsorted.

    >>> import numjet.numpy as jnp
    >>> digitize(jnp.array([0.5, 1.0, 9.0]), jnp.array([1.0, 2.0])).tolist()
    [0, 1, 2]
    """
    check_arraylike("digitize", x, bins)
    x, bins = to_array(x), to_array(bins)
    if bins.ndim != 1:
        raise ValueError(f"digitize: bins must be a 1-dimensional array; got shape {bins.shape}")
    size = bins.shape[0]
    if not size:
        return create.full(x.shape, np.int32(0))
    how = "scan" if method is None else method
    descending = _less(getitem(bins, size - 1), getitem(bins, 0))
    ascending = choose_by("digitize", descending, flip(bins), bins)
    found = searchsorted(ascending, x, "left" if right else "right", method=how)
    return choose_by("digitize", descending, arithmetic.sub(np.asarray(size, found.dtype)[()], found), found)

