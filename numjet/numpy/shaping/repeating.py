"""Repetition, rotation and reversal: tile, repeat, roll, flip, rot90, resize."""
from __future__ import annotations

import functools
import operator
from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from numjet.api.jit_when_eager import jit_when_eager
from numjet.core.aval import explicit
from numjet.core.trace import Tracer, aval_of
from numjet.foundation import dtypes, errors
from numjet.foundation.dimension import Dimension, as_integer, as_size, computed_sizes, exceeds
from numjet.lax.axes import as_axis, as_shape, listed
from numjet.lax.elementwise import arithmetic, bitwise, compare, convert
from numjet.lax.indexing import dynamic_slicing, slicing
from numjet.lax.reduction import cumulative
from numjet.lax.reduction.reduce import reduce_or, reduce_sum
from numjet.lax.shape import create, join, rearrange
from numjet.numpy.core.concrete import value_of
from numjet.numpy.core.promotion import array_arg, check_arraylike, to_array
from numjet.numpy.indexing.subscript import getitem, scatter_update
from numjet.numpy.reduction.reductions import axes_of
from numjet.numpy.shaping.manipulation import ravel, swapaxes

_INT32 = np.dtype(np.int32)
_TOTAL = ("When jit-compiling jnp.repeat, the total number of repeats must be static: it is the size of the result. Pass "
          "total_repeat_length=, the size wanted: what is too long is cut, what is too short ends with the last element "
          "repeated. Or jit with dynamic_shapes=True, and the result has its true size.")


# -------------------------------------------------------------------------------------------- repeat

@jit_when_eager("reps", small=False)
def tile(A: Any, reps: Any) -> Any:
    """The array repeated reps[i] times along axis i. The shorter of shape and reps is filled up with 1 in front.

    >>> import numjet.numpy as jnp
    >>> tile(jnp.arange(2), (2, 2)).tolist()
    [[0, 1, 0, 1], [0, 1, 0, 1]]
    """
    A = array_arg("tile", A)
    times = as_shape(reps) if np.iterable(reps) else (as_integer(reps, "reps"),)
    times = (1,) * (A.ndim - len(times)) + times
    A = rearrange.broadcast_to_rank(A, len(times))
    return join.tile(A, times) if any(r != 1 for r in times) else A


def repeat(a: Any, repeats: Any, axis: int | None = None, *, total_repeat_length: int | None = None,
           out_sharding: Any = None) -> Any:
    """Each element repeated along `axis` (None: of the flattened array).

    repeats: a number, or one per element. Under jit, traced repeats need total_repeat_length: the size of the result, which
    is cut, or filled up with the last element.

    >>> import numjet.numpy as jnp
    >>> repeat(jnp.arange(3), jnp.array([1, 0, 2])).tolist()
    [0, 2, 2]
    """
    check_arraylike("repeat", a) if isinstance(repeats, (list, tuple, Dimension)) else check_arraylike("repeat", a, repeats)
    a = to_array(a)
    if out_sharding is not None:
        plain = functools.partial(repeat, axis=axis, total_repeat_length=total_repeat_length)
        return rearrange.divided("repeat", plain, out_sharding, a, repeats)
    if axis is None:
        a, axis = ravel(a), 0
    if not a.ndim:   # as NumPy: a vector of one element
        a = rearrange.expand_dims(a, (0,))
    dim = as_axis(axis, a.ndim)
    if total_repeat_length is not None and exceeds(0, total_repeat_length := as_size(total_repeat_length)):
        raise ValueError(f"jnp.repeat: expected total_repeat_length >= 0, got {total_repeat_length}")
    if isinstance(repeats, Dimension):
        if total_repeat_length is not None:
            raise ValueError("jnp.repeat with a non-constant `repeats` is supported only when `total_repeat_length` is None, "
                             f"got {repeats=} and {total_repeat_length=}. Leave it out: the size of the result is known.")
        return _repeat_each(a, repeats, dim)
    counts = value_of(repeats)
    kind = aval_of(repeats).dtype if counts is None else counts.dtype
    if not dtypes.issubdtype(kind, np.integer) and kind != np.bool_:
        raise TypeError(f"jnp.repeat: repeats must be integers, got {kind.name}")
    if counts is None and total_repeat_length is None and computed_sizes.maker is not None:
        total_repeat_length = as_size(_total(repeats, a.shape[dim]))
    if counts is None and total_repeat_length is None:
        raise errors.ConcretizationTypeError(repeats, _TOTAL)
    divided = explicit.divides(a.aval)
    whole = not divided or explicit.parts(a.aval)[dim] is None
    if counts is not None and counts.ndim == 0 and total_repeat_length is None and whole:
        return _repeat_each(a, int(counts[()]), dim)
    if divided:
        raise ValueError("Please pass sharding to `jnp.repeat` via `out_sharding` parameter.")
    if counts is not None:
        if counts.size not in (1, a.shape[dim]):
            raise ValueError(f"jnp.repeat: operands could not be broadcast together with shapes ({a.shape[dim]},) and "
                             f"{counts.shape}: expected one number of repeats, or one for each element along axis {dim}")
        counts = np.broadcast_to(counts.reshape(-1), (a.shape[dim],)).astype(np.int64)
        where = np.repeat(np.arange(a.shape[dim], dtype=np.int32), counts)
        if total_repeat_length is not None:
            short = total_repeat_length - where.size
            where = np.pad(where, (0, short), mode="edge") if short > 0 and where.size else where[:total_repeat_length]
        return getitem(a, (slice(None),) * dim + (where,))
    assert total_repeat_length is not None  # else an error was raised above
    return getitem(a, (slice(None),) * dim + (_traced_positions(repeats, a.shape[dim], total_repeat_length),))


def _total(repeats: Any, size: int) -> Any:
    """The sum of traced counts, of one for each of `size` elements if there is one."""
    counts = rearrange.reshape(convert.convert_element_type(repeats, _INT32), (repeats.size,))
    negative = reduce_or(compare.lt(counts, np.int32(0)), (0,))
    computed_sizes.maker.require(bitwise.bitwise_not(negative), "jnp.repeat: expected repeats >= 0")
    counts = compare.max(counts, np.int32(0))
    return reduce_sum(rearrange.broadcast_in_dim(counts, (size,), (0,)), (0,))


def _repeat_each(a: Any, count: Any, dim: int) -> Any:
    if exceeds(0, count):
        raise ValueError(f"jnp.repeat: expected repeats >= 0, got {count}")
    sizes = a.shape
    if count == 1:
        return a
    wide = (*sizes[:dim + 1], count, *sizes[dim + 1:])
    spread = rearrange.broadcast_in_dim(a, wide, [d for d in range(len(wide)) if d != dim + 1])
    return rearrange.reshape(spread, (*sizes[:dim], sizes[dim] * count, *sizes[dim + 1:]))


def _traced_positions(repeats: Any, size: int, total: int) -> Any:
    """positions of the result, a[positions[i]]: the number of runs that have begun by i, less one."""
    counts = convert.convert_element_type(repeats, _INT32)
    counts = rearrange.broadcast_in_dim(rearrange.reshape(counts, (counts.size,)), (size,), (0,))
    starts = arithmetic.sub(cumulative.cumsum(counts, 0), counts)
    begun = scatter_update(create.full((total,), np.int32(0)), starts, np.int32(1), "add", mode="drop")
    return arithmetic.sub(cumulative.cumsum(begun, 0), np.int32(1))


# -------------------------------------------------------------------------------------------- roll, flip

@jit_when_eager("shift", "axis", small=False)
def roll(a: Any, shift: Any, axis: Any = None) -> Any:
    """Elements rotated by `shift` positions along `axis`; None: of the flattened array.

    shift: an int or ints, one per axis; may be traced.

    >>> import numjet.numpy as jnp
    >>> roll(jnp.arange(4), 1).tolist()
    [3, 0, 1, 2]
    """
    check_arraylike("roll", a)
    a = to_array(a)
    if axis is None:
        return rearrange.reshape(roll(ravel(a), shift, 0), a.shape)
    dims = [as_axis(d, a.ndim) for d in listed(axis)]
    shifts = _shifts(shift)
    if len(shifts) == 1:
        shifts = shifts * len(dims)
    if len(dims) == 1 and len(shifts) > 1:
        dims = dims * len(shifts)
    if len(dims) != len(shifts):
        raise ValueError(f"jnp.roll: expected one shift, or one for each of the {len(dims)} axes, got {len(shifts)}")
    for dim, by in zip(dims, shifts, strict=True):
        a = _roll_one(a, by, dim)
    return a


def _shifts(shift: Any) -> list[Any]:
    """A shift, or several, as a list of ints and traced scalars. Numbers that are no integers are cut, as by int()."""
    if isinstance(shift, (tuple, list, range)):
        return [s for one in shift for s in _shifts(one)]
    value = value_of(shift)
    if value is None:
        shift = to_array(shift)
        if not dtypes.issubdtype(shift.dtype, np.integer):
            shift = convert.convert_element_type(shift, _INT32)
        return [shift[i] for i in range(shift.shape[0])] if shift.ndim else [shift]
    cut = int if value.dtype == bool or dtypes.issubdtype(value.dtype, np.floating) else operator.index
    return [cut(s) for s in value.reshape(-1)]


def _roll_one(a: Any, by: Any, dim: int) -> Any:
    size = a.shape[dim]
    if size == 0:
        return a
    if isinstance(by, Tracer) or (isinstance(size, Dimension) and computed_sizes.maker is not None):
        by = to_array(by)
        n = convert.size_constant(size, by.dtype)
        rest = arithmetic.rem(by, n)
        start = arithmetic.sub(n, compare.select(compare.lt(rest, np.zeros((), by.dtype)[()]), arithmetic.add(rest, n), rest))
        return dynamic_slicing.dynamic_slice_in_dim(join.concatenate([a, a], dim), start, size, dim)
    by %= size
    if by == 0:
        return a
    return join.concatenate([slicing.slice_in_dim(a, size - by, size, axis=dim),
                             slicing.slice_in_dim(a, 0, size - by, axis=dim)], dim)


def flip(m: Any, axis: Any = None) -> Any:
    """The array with its elements in reverse order along `axis` (an int, ints; None: all).

    >>> import numjet.numpy as jnp
    >>> flip(jnp.arange(3)).tolist()
    [2, 1, 0]
    """
    m = array_arg("flip", m)
    dims = axes_of(axis, m.ndim)
    return rearrange.rev(m, dims) if dims else m


def flipud(m: Any) -> Any:
    """The array upside down: reversed along the first axis.

    >>> import numjet.numpy as jnp
    >>> flipud(jnp.array([[1, 2], [3, 4]])).tolist()
    [[3, 4], [1, 2]]
    """
    return flip(array_arg("flipud", m), 0)


def fliplr(m: Any) -> Any:
    """The array reversed along the second axis.

    >>> import numjet.numpy as jnp
    >>> fliplr(jnp.array([[1, 2], [3, 4]])).tolist()
    [[2, 1], [4, 3]]
    """
    return flip(array_arg("fliplr", m), 1)


def rot90(m: Any, k: int = 1, axes: Sequence[int] = (0, 1)) -> Any:
    """The array turned k times by 90 degrees in the plane of two axes, from the first towards the second.

    >>> import numjet.numpy as jnp
    >>> rot90(jnp.array([[1, 2], [3, 4]])).tolist()
    [[2, 4], [1, 3]]
    """
    m = array_arg("rot90", m)
    if len(axes) != 2:
        raise ValueError(f"jnp.rot90: expected two axes, got {axes}")
    if m.ndim < 2:
        raise ValueError("rot90 requires its first argument to have ndim at least two, but got first argument of shape "
                         f"{m.shape}")
    i, j = (as_axis(a, m.ndim) for a in axes)
    if i == j:
        raise ValueError("Axes must be different: jnp.rot90 turns a plane")
    turns = as_integer(k, "jnp.rot90: k") % 4
    if turns == 0:
        return m
    if turns == 2:
        return flip(m, (i, j))
    return swapaxes(flip(m, j), i, j) if turns == 1 else flip(swapaxes(m, i, j), j)


def resize(a: Any, new_shape: Any) -> Any:
    """The elements of the array, cut or repeated until they fill `new_shape`. ValueError for negative sizes.

    >>> import numjet.numpy as jnp
    >>> resize(jnp.arange(3), (2, 2)).tolist()
    [[0, 1], [2, 0]]
    """
    a = ravel(array_arg("resize", a))
    target = as_shape(new_shape if hasattr(new_shape, "__iter__") else (new_shape,))
    if any(n < 0 for n in target):
        raise ValueError(f"all elements of `new_shape` must be non-negative, got {target}")
    size = prod(target)
    if size == 0 or a.size == 0:
        return create.full(target, np.zeros((), a.dtype)[()])
    times = -(-size // a.size)
    a = rearrange.reshape(rearrange.broadcast_in_dim(a, (times, a.size), (1,)), (times * a.size,)) if times > 1 else a
    return rearrange.reshape(slicing.slice_in_dim(a, 0, size), target)
