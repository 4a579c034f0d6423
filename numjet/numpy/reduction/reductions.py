"""Reductions along axes: sum, prod, max, min, any, all, count_nonzero, ptp, argmax, argmin."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from numjet.api.jit_when_eager import whole_when_checked
from numjet.foundation import dtypes
from numjet.foundation.dimension import is_empty
from numjet.lax.axes import as_axes, as_axis, listed, without
from numjet.lax.collective.reductions import pmax, pmin, psum
from numjet.lax.elementwise import arithmetic, bitwise, compare
from numjet.lax.reduction import argreduce
from numjet.lax.reduction.reduce import (
    reduce_and_p,
    reduce_max_p,
    reduce_min_p,
    reduce_or_p,
    reduce_prod_p,
    reduce_sum_p,
)
from numjet.lax.shape import rearrange
from numjet.numpy.core import promotion
from numjet.numpy.core.promotion import array_arg, as_dtype, check_out, literal, strong_array
from numjet.numpy.indexing.where import choose_by, truth

Axis = Any
_BOOL = np.dtype(np.bool_)
_INEXACT = frozenset(dtypes.INEXACT)
_OVER_NAMES = {"sum": psum, "max": pmax, "min": pmin}
_DEFAULT_INT = {"i": np.dtype(np.int64), "u": np.dtype(np.uint64), "b": np.dtype(np.int64)}


# -------------------------------------------------------------------------------------------- shared

def axes_of(axis: Axis, ndim: int) -> tuple[int, ...]:
    """The axes that `axis` (None: all; an int; a sequence of ints) means, in range(ndim) and in their order.

    ValueError when out of bounds or repeated.

    >>> axes_of((-1, 0), 3)
    (2, 0)
    """
    if axis is None:
        return tuple(range(ndim))
    found = as_axes(listed(axis), ndim)
    if len(set(found)) != len(found):
        raise ValueError(f"duplicate value in 'axis': {axis}")
    return found


def split_names(axis: Axis, ndim: int) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """The axes of the array that `axis` means, as axes_of gives them, and the named axes of enclosing maps among them.

    >>> split_names(("batch", -1), 2), split_names(None, 2)
    (((1,), ('batch',)), ((0, 1), ()))
    """
    if axis is None or type(axis) is int:
        return axes_of(axis, ndim), ()
    entries = (axis,) if isinstance(axis, str) else listed(axis)
    names = tuple(a for a in entries if isinstance(a, str))
    if len(set(names)) != len(names):
        raise ValueError(f"duplicate value in 'axis': {axis}")
    return axes_of(axis if not names else tuple(a for a in entries if not isinstance(a, str)), ndim), names


def _over_names(name: str, x: Any, names: tuple[str, ...]) -> Any:
    """The reduction `name` of x over named axes. NotImplementedError for one that has no collective."""
    if name not in _OVER_NAMES:
        raise NotImplementedError(f"Named reductions not implemented for jnp.{name}(): sum, max, min, mean, var and std take "
                                  f"axis names, and axis has {names}. lax.all_gather gives an axis that is reduced by number.")
    return _OVER_NAMES[name](x, names)


def put_back(x: Any, full: tuple[int, ...], axes: tuple[int, ...]) -> Any:
    """A reduced array with the reduced axes restored as axes of size 1."""
    if not axes:
        return x
    kept = without(range(len(full)), axes)
    return rearrange.broadcast_in_dim(x, tuple(1 if i in axes else n for i, n in enumerate(full)), kept)


def wide_integer(dtype: np.dtype) -> np.dtype:
    """The dtype of sums of integers and bools: the default width of their sign, or wider where they are."""
    if dtype in _INEXACT:
        return dtype
    kind = dtypes.kind(dtype)
    if kind not in _DEFAULT_INT:
        return dtype
    default = dtypes.canonicalize_dtype(_DEFAULT_INT[kind])
    return default if default.itemsize > dtype.itemsize or kind == "b" else dtype


def mask(name: str, where: Any, x: Any, otherwise: Any) -> Any:
    """x where the mask `where` holds, else `otherwise`, a number of the dtype of x."""
    return choose_by(name, mask_arg(name, where), x, literal(otherwise, x.aval.dtype))


def mask_arg(name: str, where: Any, shape: tuple[int, ...] | None = None) -> Any:
    """The argument `where` of a reduction as an operand. ValueError where it is not of bools, or is larger than the array's
    `shape` that it must broadcast to."""
    promotion.check_arraylike(name, where)
    chosen = promotion.operand(name, where)
    if chosen.aval.dtype != _BOOL:
        raise ValueError(f"jnp.{name}: where must be None or a boolean array, got dtype {chosen.aval.dtype.name}")
    if shape is not None and rearrange.broadcast_shapes(chosen.aval.shape, shape) != shape:
        raise ValueError(f"jnp.{name}: where of shape {chosen.aval.shape} does not broadcast to the array's shape {shape}; "
                         "broadcast the array first")
    return chosen


def _with_initial(name: str, op: Any, out: Any, initial: Any) -> Any:
    promotion.check_arraylike(name, initial)
    start = promotion.operand(name, initial)
    if start.aval.shape != ():
        raise ValueError(f"jnp.{name}: initial value must be a scalar. Got array of shape {start.aval.shape}")
    return op.bind(as_dtype(start, out.aval.dtype), out)


def _reduce(name: str, a: Any, axis: Axis, op: Any, dtype: np.dtype, identity: Any, keepdims: bool, initial: Any,
            where: Any, combine: Any) -> Any:
    """The plain reduction of an array after conversion to `dtype`."""
    x = as_dtype(a, dtype)
    if where is None:
        return _reduce_all(name, x, axis, op, dtype, keepdims, initial, combine)
    promotion.check_arraylike(name, where)
    masked = lambda x, chosen: _reduce_all(name, mask(name, chosen, x, identity), axis, op, dtype, keepdims, initial, combine)
    return whole_when_checked(masked, x, where)


def _reduce_all(name: str, x: Any, axis: Axis, op: Any, dtype: np.dtype, keepdims: bool, initial: Any, combine: Any) -> Any:
    """The reduction of all elements along an axis."""
    full = x.aval.shape
    axes, names = split_names(axis, len(full))
    out = strong_array(op.bind(x, axes=axes) if axes or not names else x)
    if names:
        out = as_dtype(_over_names(name, out, names), dtype)
    if initial is not None:
        out = _with_initial(name, combine, out, initial)
    return put_back(out, full, axes) if keepdims else out


# -------------------------------------------------------------------------------------------- sums and products

def _result_dtype(name: str, dtype: Any, a: Any, promote_integers: bool) -> np.dtype:
    if dtype is not None:
        return dtypes.check_user_dtype(dtype, name)
    if promote_integers:
        return wide_integer(a.dtype)
    return dtypes.int32 if a.dtype == bool else a.dtype


def sum(a: Any, axis: Axis = None, dtype: Any = None, out: None = None, keepdims: bool = False, initial: Any = None,
        where: Any = None, promote_integers: bool = True) -> Any:
    """The sum of the elements along `axis` (an int, a tuple of ints; None: all). An axis may be a string: the name of one
    that an enclosing vmap or shard_map has.

    dtype: that of the result and of the sum; by default that of a, but at least the default width for integers and bools
    (unless promote_integers is False). keepdims: reduced axes stay with size 1. initial: a number added to the sum.
    where: a bool array that broadcasts with a; only elements where it holds count. out: only None.

    >>> import numjet.numpy as jnp
    >>> sum(jnp.array([[1, 2], [3, 4]]), axis=0).tolist()
    [4, 6]
    """
    check_out("sum", out)
    a = array_arg("sum", a)
    kind = _result_dtype("sum", dtype, a, promote_integers)
    if kind == _BOOL:
        return _reduce("sum", a, axis, reduce_or_p, kind, False, keepdims, initial, where, bitwise.or_p)
    return _reduce("sum", a, axis, reduce_sum_p, kind, 0, keepdims, initial, where, arithmetic.add_p)


def prod(a: Any, axis: Axis = None, dtype: Any = None, out: None = None, keepdims: bool = False, initial: Any = None,
         where: Any = None, promote_integers: bool = True) -> Any:
    """The product of the elements along `axis`; arguments as of `sum`.

    >>> import numjet.numpy as jnp
    >>> prod(jnp.array([1.0, 2.0, 3.0]))
    Array(6., dtype=float32)
    """
    check_out("prod", out)
    a = array_arg("prod", a)
    kind = _result_dtype("prod", dtype, a, promote_integers)
    if kind == _BOOL:
        return _reduce("prod", a, axis, reduce_and_p, kind, True, keepdims, initial, where, bitwise.and_p)
    return _reduce("prod", a, axis, reduce_prod_p, kind, 1, keepdims, initial, where, arithmetic.mul_p)


# -------------------------------------------------------------------------------------------- max, min

def _extreme(name: str, a: Any, axis: Axis, out: None, keepdims: bool, initial: Any, where: Any, op: Any,
             combine: Any, lowest: Callable[[np.dtype], Any]) -> Any:
    check_out(name, out)
    a = array_arg(name, a)
    if where is not None:
        promotion.check_arraylike(name, where)
    if where is not None and initial is None:
        raise ValueError(f"reduction operation {name} does not have an identity, so to use a where mask one has to specify "
                         "'initial'")
    if initial is None and True in [is_empty(a.shape[i]) for i in split_names(axis, a.ndim)[0]]:
        raise ValueError(f"zero-size array to reduction operation {name} which has no identity. Pass initial=.")
    identity = None if where is None else lowest(a.dtype)
    return _reduce(name, a, axis, op, a.dtype, identity, keepdims, initial, where, combine)


def lowest(dtype: np.dtype) -> Any:
    """The least value of a dtype: -inf, the smallest integer, False."""
    kind = dtypes.kind(dtype)
    return False if kind == "b" else int(dtypes.iinfo(dtype).min) if kind in "iu" else _extreme_float(dtype, -1)


def highest(dtype: np.dtype) -> Any:
    """The largest value of a dtype: inf, the largest integer, True."""
    kind = dtypes.kind(dtype)
    return True if kind == "b" else int(dtypes.iinfo(dtype).max) if kind in "iu" else _extreme_float(dtype, 1)


def _extreme_float(dtype: np.dtype, sign: int) -> Any:
    if dtypes.kind(dtype) == "c":
        return complex(sign * float("inf"), sign * float("inf"))
    value = np.asarray(sign * float("inf")).astype(dtype)
    return value[()] if np.isinf(value) else (dtypes.finfo(dtype).max if sign > 0 else dtypes.finfo(dtype).min)


def max(a: Any, axis: Axis = None, out: None = None, keepdims: bool = False, initial: Any = None, where: Any = None) -> Any:
    """The largest element along `axis`; NaN when there is one. Complex numbers: by real, then imaginary part.

    Ties share the derivative equally. ValueError for no elements without `initial`; other arguments as of `sum`.

    >>> import numjet.numpy as jnp
    >>> max(jnp.array([1.0, 3.0, 2.0]))
    Array(3., dtype=float32)
    """
    return _extreme("max", a, axis, out, keepdims, initial, where, reduce_max_p, compare.max_p, lowest)


def min(a: Any, axis: Axis = None, out: None = None, keepdims: bool = False, initial: Any = None, where: Any = None) -> Any:
    """The smallest element along `axis`; NaN when there is one. Complex numbers: by real, then imaginary part.

    Ties share the derivative equally. ValueError for no elements without `initial`; other arguments as of `sum`.

    >>> import numjet.numpy as jnp
    >>> min(jnp.array([1.0, 3.0, 2.0]))
    Array(1., dtype=float32)
    """
    return _extreme("min", a, axis, out, keepdims, initial, where, reduce_min_p, compare.min_p, highest)


def amax(a: Any, axis: Axis = None, out: None = None, keepdims: bool = False, initial: Any = None, where: Any = None) -> Any:
    """The largest element along `axis`, as `max`.

    >>> import numjet.numpy as jnp
    >>> amax(jnp.arange(3))
    Array(2, dtype=int32)
    """
    return max(a, axis, out, keepdims, initial, where)


def amin(a: Any, axis: Axis = None, out: None = None, keepdims: bool = False, initial: Any = None, where: Any = None) -> Any:
    """The smallest element along `axis`, as `min`.

    >>> import numjet.numpy as jnp
    >>> amin(jnp.arange(3))
    Array(0, dtype=int32)
    """
    return min(a, axis, out, keepdims, initial, where)


def ptp(a: Any, axis: Axis = None, out: None = None, keepdims: bool = False) -> Any:
    """The largest less the smallest element along `axis`.

    >>> import numjet.numpy as jnp
    >>> ptp(jnp.array([1, 4, 2]))
    Array(3, dtype=int32)
    """
    check_out("ptp", out)
    a = array_arg("ptp", a)
    return arithmetic.sub_p.bind(max(a, axis, None, keepdims), min(a, axis, None, keepdims))


# -------------------------------------------------------------------------------------------- any, all, counts

def all(a: Any, axis: Axis = None, out: None = None, keepdims: bool = False, *, where: Any = None) -> Any:
    """Whether all elements along `axis` are true (not 0).

    >>> import numjet.numpy as jnp
    >>> all(jnp.array([True, False]))
    Array(False, dtype=bool)
    """
    check_out("all", out)
    a = truth(array_arg("all", a))
    return _reduce("all", a, axis, reduce_and_p, _BOOL, True, keepdims, None, where, None)


def any(a: Any, axis: Axis = None, out: None = None, keepdims: bool = False, *, where: Any = None) -> Any:
    """Whether one element along `axis` is true (not 0).

    >>> import numjet.numpy as jnp
    >>> any(jnp.array([True, False]))
    Array(True, dtype=bool)
    """
    check_out("any", out)
    a = truth(array_arg("any", a))
    return _reduce("any", a, axis, reduce_or_p, _BOOL, False, keepdims, None, where, None)


def count_nonzero(a: Any, axis: Axis = None, keepdims: bool = False) -> Any:
    """The number of elements along `axis` that are not 0.

    >>> import numjet.numpy as jnp
    >>> count_nonzero(jnp.array([0, 5, 7]))
    Array(2, dtype=int32)
    """
    return sum(truth(array_arg("count_nonzero", a)), axis, keepdims=keepdims)


# -------------------------------------------------------------------------------------------- positions

def _position(name: str, a: Any, axis: Axis, out: None, keepdims: bool | None, op: Any) -> Any:
    check_out(name, out)
    a = array_arg(name, a)
    full, keep = a.shape, bool(keepdims)
    if axis is None:
        flat, along, axes = rearrange.reshape(a, (a.size,)), 0, tuple(range(a.ndim))
    else:
        along = as_axis(axis, a.ndim, name)
        flat, axes = a, (along,)
    if not flat.shape[along]:
        raise ValueError(f"attempt to get {name} of an empty sequence")
    found = op(flat, along, dtypes.canonicalize_dtype(np.int64))
    return put_back(found, full, axes) if keep else found


def argmax(a: Any, axis: int | None = None, out: None = None, keepdims: bool | None = None) -> Any:
    """The index of the first largest element along `axis` (None: in the flattened array); of the first NaN, if any.

    >>> import numjet.numpy as jnp
    >>> argmax(jnp.array([1, 3, 2]))
    Array(1, dtype=int32)
    """
    return _position("argmax", a, axis, out, keepdims, argreduce.argmax)


def argmin(a: Any, axis: int | None = None, out: None = None, keepdims: bool | None = None) -> Any:
    """The index of the first smallest element along `axis` (None: in the flattened array); of the first NaN, if any.

    >>> import numjet.numpy as jnp
    >>> argmin(jnp.array([1, 3, 2]))
    Array(0, dtype=int32)
    """
    return _position("argmin", a, axis, out, keepdims, argreduce.argmin)
