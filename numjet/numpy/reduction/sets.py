"""Distinct elements and sets: unique and its family, union1d, intersect1d, setdiff1d, setxor1d, isin.

The size of a result depends on the values, so these functions need known values or `size=`.
"""
from __future__ import annotations

from math import prod
from typing import Any, NamedTuple

import numpy as np

from numjet.foundation import dtypes
from numjet.foundation.dimension import Dimension, as_static_size, computed_sizes
from numjet.lax import sort as lax_sort
from numjet.lax.axes import as_axis
from numjet.lax.elementwise import arithmetic, bits, bitwise, compare, convert
from numjet.lax.indexing import slicing
from numjet.lax.reduction import cumulative
from numjet.lax.reduction.reduce import reduce_or
from numjet.lax.shape import create, join, rearrange
from numjet.numpy.core.concrete import known_for_size
from numjet.numpy.core.promotion import array_arg, as_dtype, check_arraylike, promote_dtypes, strong_array, to_array
from numjet.numpy.indexing.nonzero import nonzero
from numjet.numpy.indexing.subscript import getitem, scatter_update
from numjet.numpy.indexing.where import choose_by
from numjet.numpy.reduction.reductions import sum as total
from numjet.numpy.reduction.searching import searchsorted
from numjet.numpy.shaping.joining import concatenate
from numjet.numpy.shaping.manipulation import broadcast_to, moveaxis, ravel

_INT32 = np.dtype(np.int32)


class UniqueAll(NamedTuple):
    """The result of unique_all."""

    values: Any
    indices: Any
    inverse_indices: Any
    counts: Any


class UniqueCounts(NamedTuple):
    """The result of unique_counts."""

    values: Any
    counts: Any


class UniqueInverse(NamedTuple):
    """The result of unique_inverse."""

    values: Any
    inverse_indices: Any


# -------------------------------------------------------------------------------------------- unique

def _index_dtype() -> np.dtype:
    return dtypes.canonicalize_dtype(np.int64)


def _sorted_rows(rows: Any, permutation: bool) -> tuple[Any, Any]:
    """Rows (n, m) in lexicographic order, and the permutation that sorts them; None for it where nobody wants it and elements
    are sorted faster alone."""
    if rows.shape[1] == 1 and not permutation:
        return rearrange.expand_dims(lax_sort(rearrange.reshape(rows, (rows.shape[0],)), 0), (1,)), None
    positions = create.iota(_index_dtype(), rows.shape[0])
    if rows.shape[1] == 1:
        values, order = lax_sort((rearrange.reshape(rows, (rows.shape[0],)), positions), 0, True, 1)
        return rearrange.expand_dims(values, (1,)), order
    if not rows.shape[1]:
        return rows, positions
    keys = [slicing.index_in_dim(rows, k, 1, keepdims=False) for k in range(rows.shape[1])]
    order = lax_sort((*keys, positions), 0, True, len(keys))[-1]
    return getitem(rows, order), order


def _is_new(rows: Any, equal_nan: bool) -> Any:
    """For each of the sorted rows whether it differs from the one before; the first does."""
    n = rows.shape[0]
    if n == 0:
        return create.full((0,), np.False_)
    if isinstance(n, Dimension):  # the row in front of the first one is any
        before, after = getitem(rows, compare.max(arithmetic.sub(create.iota(_INT32, n), np.int32(1)), np.int32(0))), rows
    else:
        before, after = slicing.slice_in_dim(rows, 0, n - 1), slicing.slice_in_dim(rows, 1, n)
    differ = compare.ne(before, after)
    if equal_nan and dtypes.kind(rows.dtype) in "fc":
        both = bitwise.bitwise_and(compare.ne(before, before), compare.ne(after, after))
        differ = bitwise.bitwise_and(differ, bitwise.bitwise_not(both))
    differ = reduce_or(differ, (1,))
    if isinstance(n, Dimension):
        return bitwise.bitwise_or(differ, compare.eq(create.iota(_INT32, n), np.int32(0)))
    return join.concatenate([create.full((1,), np.True_), differ], 0)


def _unique(rows: Any, size: int | None, fill_value: Any, equal_nan: bool, indices: bool,
            inverses: bool) -> tuple[Any, Any, Any, Any]:
    """The distinct rows, the index of their first occurrence if `indices`, the inverse index of each row if `inverses`, and
    the counts."""
    n, index = rows.shape[0], _index_dtype()
    values, order = _sorted_rows(rows, indices or inverses)
    new = _is_new(bits.stop_gradient(values), equal_nan)
    starts = nonzero(new, size=size + 1, fill_value=n)[0] if size is not None else true_indices("unique", new)
    count = starts.shape[0] if size is None else size
    firsts = slicing.slice_in_dim(starts, 0, count)
    inverse = _inverse(new, order) if inverses else None
    if size is None:
        starts = join.concatenate([starts, create.full((1,), convert.size_constant(n, index))], 0)
    ends = slicing.slice_in_dim(starts, 1, starts.shape[0])
    counts = arithmetic.sub(ends, firsts)
    if size is None:
        return getitem(values, firsts), getitem(order, firsts) if indices else None, inverse, counts
    missing = compare.ge(firsts, convert.size_constant(n, index))
    found = getitem(values, firsts, mode="clip") if n else create.full((count, rows.shape[1]), np.zeros((), rows.dtype)[()])
    if fill_value is None:
        filler = getitem(found, slice(0, 1)) if count else found
    else:
        filler = as_dtype(to_array(fill_value), rows.dtype)
    wide = rearrange.broadcast_in_dim(missing, found.shape, (0,))
    found = choose_by("unique", wide, filler, found)
    where = None
    if indices:
        where = getitem(order, firsts, mode="clip") if n else firsts
        where = choose_by("unique", missing, getitem(where, slice(0, 1)) if count else where, where)
    return found, where, inverse, counts


def _inverse(new: Any, order: Any) -> Any:
    """The number of each row's group, from where groups begin in sorted order."""
    index = _index_dtype()
    groups = arithmetic.sub(cumulative.cumsum(convert.convert_element_type(new, index), 0), np.asarray(1, index)[()])
    return scatter_update(create.full(order.shape, np.zeros((), index)[()]), order, groups, "set", unique_indices=True)


def _filler(fill_value: Any, shape: tuple[int, ...], width: int) -> Any:
    """A fill value for rows of that width: a number, or what broadcasts to the shape of all distinct parts, as rows."""
    filler = to_array(fill_value)
    return rearrange.reshape(broadcast_to(filler, shape), (shape[0], width)) if filler.ndim else filler


def true_indices(name: str, mask: Any) -> Any:
    """The indices where a vector of bools holds. ConcretizationTypeError, which recommends size=, where their number must be
    known and is not."""
    if computed_sizes.maker is None:
        known_for_size(name, mask)
    return nonzero(mask)[0]


def unique(ar: Any, return_index: bool = False, return_inverse: bool = False, return_counts: bool = False,
           axis: int | None = None, *, equal_nan: bool = True, size: int | None = None, fill_value: Any = None,
           sorted: bool = True) -> Any:
    """The distinct elements (axis=None), or distinct parts along `axis`, in ascending order.

    return_index: also the indices of first occurrences; return_inverse: the index of each element among the distinct ones, in
    the shape of ar; return_counts: the counts. equal_nan: NaNs are one. size: the size of the result, needed under jit: more
    are cut (inverse indices count these, too), missing ones are fill_value (what broadcasts to the result; default the least).
    sorted: has no effect; ConcretizationTypeError for traced values without size.

    >>> import numjet.numpy as jnp
    >>> values, counts = unique(jnp.array([3, 1, 3]), return_counts=True)
    >>> values.tolist(), counts.tolist()
    ([1, 3], [1, 2])
    """
    del sorted  # sorted results are allowed in either case
    ar = array_arg("unique", ar)
    if ar.dtype in dtypes.COMPLEX:  # NaN in either part sorts behind all numbers
        ar = choose_by("unique", compare.ne(ar, ar), np.asarray(np.nan, ar.dtype)[()], ar)
    size = None if size is None else as_static_size(size, "size")
    if axis is None:
        rows, moved = rearrange.reshape(ar, (ar.size, 1)), None
    else:
        moved = moveaxis(ar, as_axis(axis, ar.ndim), 0)
        rows = rearrange.reshape(moved, (moved.shape[0], prod(moved.shape[1:])))
    if size and not rows.shape[0] and fill_value is None:
        raise ValueError("jnp.unique: for zero-sized input with nonzero size argument, fill_value must be specified; "
                         f"got {size=}")
    if size is not None and fill_value is not None:
        fill_value = _filler(fill_value, (size, *(() if moved is None else moved.shape[1:])), rows.shape[1])
    values, first, inverse, counts = _unique(rows, size, fill_value, equal_nan, return_index, return_inverse)
    if moved is None:
        values = rearrange.reshape(values, (values.shape[0],))
        inverse = rearrange.reshape(inverse, ar.shape) if return_inverse else None
    else:
        values = moveaxis(rearrange.reshape(values, (values.shape[0], *moved.shape[1:])), 0, as_axis(axis, ar.ndim))
    wanted = [x for x, yes in ((first, return_index), (inverse, return_inverse), (counts, return_counts)) if yes]
    return (values, *wanted) if wanted else values


def unique_all(x: Any, /, *, size: int | None = None, fill_value: Any = None) -> UniqueAll:
    """The distinct elements, their first indices, the inverse indices, and their counts. size as of unique.

    >>> import numjet.numpy as jnp
    >>> unique_all(jnp.array([3, 1, 3])).inverse_indices.tolist()
    [1, 0, 1]
    """
    return UniqueAll(*unique(x, True, True, True, equal_nan=False, size=size, fill_value=fill_value))


def unique_counts(x: Any, /, *, size: int | None = None, fill_value: Any = None) -> UniqueCounts:
    """The distinct elements and their counts. size as of unique.

    >>> import numjet.numpy as jnp
    >>> unique_counts(jnp.array([3, 1, 3])).counts.tolist()
    [1, 2]
    """
    return UniqueCounts(*unique(x, return_counts=True, equal_nan=False, size=size, fill_value=fill_value))


def unique_inverse(x: Any, /, *, size: int | None = None, fill_value: Any = None) -> UniqueInverse:
    """The distinct elements and the inverse indices. size as of unique.

    >>> import numjet.numpy as jnp
    >>> unique_inverse(jnp.array([3, 1, 3])).inverse_indices.tolist()
    [1, 0, 1]
    """
    return UniqueInverse(*unique(x, return_inverse=True, equal_nan=False, size=size, fill_value=fill_value))


def unique_values(x: Any, /, *, size: int | None = None, fill_value: Any = None) -> Any:
    """The distinct elements. size as of unique.

    >>> import numjet.numpy as jnp
    >>> unique_values(jnp.array([3, 1, 3])).tolist()
    [1, 3]
    """
    return unique(x, equal_nan=False, size=size, fill_value=fill_value)


# -------------------------------------------------------------------------------------------- sets

def _two(name: str, ar1: Any, ar2: Any) -> tuple[Any, Any]:
    check_arraylike(name, ar1, ar2)
    a, b = promote_dtypes(ar1, ar2)
    return ravel(a), ravel(b)


def isin(element: Any, test_elements: Any, assume_unique: bool = False, invert: bool = False, *, method: str = "auto") -> Any:
    """For each element whether it is among test_elements. invert: whether it is not.

    method: "compare_all", "binary_search", "sort" or "auto"; assume_unique has no effect. NaN is in no set.

    >>> import numjet.numpy as jnp
    >>> isin(jnp.array([1, 2]), jnp.array([2, 3])).tolist()
    [False, True]
    """
    del assume_unique
    if method not in ("auto", "compare_all", "binary_search", "sort"):
        raise ValueError(f"isin: method must be 'auto', 'compare_all', 'binary_search', or 'sort'. Got {method!r}")
    check_arraylike("isin", element, test_elements)
    whole = to_array(element).shape
    a, b = _two("isin", element, test_elements)
    if a.size == 0 or b.size == 0:
        return create.full(whole, np.bool_(invert))
    if isinstance(b.size, Dimension):
        ordered = lax_sort(b, 0, True)
        found = compare.lt(searchsorted(ordered, a), searchsorted(ordered, a, "right"))
        found = bitwise.bitwise_and(found, compare.eq(a, a))  # a NaN equals none
    elif method == "compare_all" or (method == "auto" and b.size <= 32):
        both = (a.size, b.size)
        rows, columns = rearrange.broadcast_in_dim(a, both, (0,)), rearrange.broadcast_in_dim(b, both, (1,))
        found = reduce_or(compare.eq(rows, columns), (1,))
    else:
        ordered = lax_sort(b, 0, True)
        found = compare.eq(getitem(ordered, searchsorted(ordered, a), mode="clip"), a)
    found = rearrange.reshape(found, whole)
    return bitwise.bitwise_not(found) if invert else found


def union1d(ar1: Any, ar2: Any, *, size: int | None = None, fill_value: Any = None) -> Any:
    """The distinct elements of both arrays, in ascending order. size, fill_value as of unique.

    >>> import numjet.numpy as jnp
    >>> union1d(jnp.array([1, 2]), jnp.array([2, 3])).tolist()
    [1, 2, 3]
    """
    return unique(concatenate(list(_two("union1d", ar1, ar2))), size=size, fill_value=fill_value)


def _chosen(name: str, values: Any, mask: Any, size: int | None, fill_value: Any, *, least: bool = False,
            widens: bool = False) -> Any:
    """The elements where a mask holds; with a size, cut or filled up to it.

    least: the default filler is the first element, else 0. widens: the dtype may become that of the filler.
    """
    if size is None:
        return getitem(values, true_indices(name, mask))
    n = values.shape[0]
    positions = nonzero(mask, size=as_static_size(size, "size"), fill_value=n)[0]
    found = getitem(values, positions, mode="clip") if n else create.full((positions.shape[0],), np.zeros((), values.dtype)[()])
    missing = compare.ge(positions, np.asarray(n, positions.dtype)[()])
    if fill_value is None and least and positions.shape[0]:
        zero = np.zeros((), values.dtype)[()]
        fill_value = choose_by(name, getitem(missing, 0), zero, getitem(found, 0))
    filler = to_array(0 if fill_value is None else fill_value)
    found, filler = promote_dtypes(found, filler) if widens else (found, as_dtype(filler, values.dtype))
    return choose_by(name, missing, filler, found)


def setdiff1d(ar1: Any, ar2: Any, assume_unique: bool = False, *, size: int | None = None, fill_value: Any = None) -> Any:
    """The distinct elements of the first array that are not in the second. size, fill_value (default 0) as of unique.

    assume_unique: the elements of ar1 are distinct already; they keep their order.

    >>> import numjet.numpy as jnp
    >>> setdiff1d(jnp.array([1, 2, 1]), jnp.array([2, 3])).tolist()
    [1]
    """
    check_arraylike("setdiff1d", ar1, ar2)
    a, b = ravel(to_array(ar1)), ravel(to_array(ar2))
    mask = isin(a, b, invert=True)
    if assume_unique or size is None:
        picked = _chosen("setdiff1d", a, mask, size, fill_value)
        return picked if assume_unique else unique(picked)
    values, new = _distinct(a)
    return _chosen("setdiff1d", values, bitwise.bitwise_and(new, isin(values, b, invert=True)), size, fill_value)


def _distinct(a: Any) -> tuple[Any, Any]:
    """The elements in ascending order, and for each whether it is the first of its kind."""
    values = lax_sort(a, 0, True)
    return values, _is_new(rearrange.expand_dims(values, (1,)), True)


def setxor1d(ar1: Any, ar2: Any, assume_unique: bool = False, *, size: int | None = None, fill_value: Any = None) -> Any:
    """The elements that are in exactly one of the arrays, in ascending order. size, fill_value as of unique.

    >>> import numjet.numpy as jnp
    >>> setxor1d(jnp.array([1, 2]), jnp.array([2, 3])).tolist()
    [1, 3]
    """
    a, b = _two("setxor1d", ar1, ar2)
    values, new = _distinct(join.concatenate([a, b], 0))
    one = bitwise.bitwise_and(new, bitwise.bitwise_xor(isin(values, a), isin(values, b)))
    if a.dtype in dtypes.INEXACT:
        nan = compare.ne(values, values)
        one = bitwise.bitwise_or(one, nan if assume_unique else bitwise.bitwise_and(nan, _as_many_as_hold_nan(nan, a, b)))
    return _chosen("setxor1d", values, one, size, fill_value, least=True, widens=True)


def _as_many_as_hold_nan(marked: Any, *arrays: Any) -> Any:
    """The first k that are marked, and what lies between, for k arrays that hold a NaN."""
    held = total(join.concatenate([rearrange.reshape(reduce_or(compare.ne(x, x), (0,)), (1,)) for x in arrays], 0))
    numbers = cumulative.cumsum(as_dtype(marked, held.dtype), 0)
    return compare.le(numbers, broadcast_to(held, numbers.shape))


def intersect1d(ar1: Any, ar2: Any, assume_unique: bool = False, return_indices: bool = False, *, size: int | None = None,
                fill_value: Any = None) -> Any:
    """The elements that are in both arrays, in ascending order; with return_indices also their first indices in both.

    size, fill_value (default the least element found) as of unique.

    >>> import numjet.numpy as jnp
    >>> intersect1d(jnp.array([1, 2]), jnp.array([2, 3])).tolist()
    [2]
    """
    del assume_unique
    a, b = _two("intersect1d", ar1, ar2)
    if a.size == 0 or b.size == 0:
        none = create.full((size or 0,), strong_array(as_dtype(to_array(0 if fill_value is None else fill_value), a.dtype)))
        lost = [create.full((size or 0,), np.asarray(x.size, _index_dtype())[()]) for x in (a, b)]
        return (none, *lost) if return_indices else none
    values, new = _distinct(a)
    mask = bitwise.bitwise_and(new, isin(values, b))
    if fill_value is None and size is not None:
        fill_value = getitem(_chosen("intersect1d", values, mask, 1, 0), 0)
    common = _chosen("intersect1d", values, mask, size, fill_value, widens=True)
    if not return_indices:
        return common
    positions = [_first_indices(x, common) for x in (a, b)]
    if size is not None:
        held = compare.lt(create.iota(_index_dtype(), common.shape[0]), total(mask))
        positions = [choose_by("intersect1d", held, p, np.asarray(x.size, p.dtype)[()])
                  for p, x in zip(positions, (a, b), strict=True)]
    return common, *positions


def _first_indices(x: Any, values: Any) -> Any:
    """The index of the first occurrence of each value in x."""
    ordered, order = lax_sort((x, create.iota(_index_dtype(), x.shape[0])), 0, True, 1)
    return getitem(order, searchsorted(ordered, values), mode="clip")


