"""Indices of diagonals, triangles and grids, and their flat numbers: ix_, diag_indices, ravel_multi_index, ..."""
from __future__ import annotations

import functools
from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from numjet.core.trace import Tracer, aval_of
from numjet.foundation import dtypes
from numjet.foundation.dimension import as_integer, exceeds
from numjet.lax.axes import as_shape
from numjet.lax.elementwise import arithmetic, compare, convert
from numjet.lax.shape import create, rearrange
from numjet.numpy.core.arrays import asarray
from numjet.numpy.core.concrete import known
from numjet.numpy.core.promotion import (
    array_arg,
    as_dtype,
    broadcast_to,
    check_arraylike,
    promote_dtypes,
    promote_shapes,
    to_array,
)
from numjet.numpy.indexing.nonzero import nonzero
from numjet.numpy.indexing.where import choose_by
from numjet.numpy.shaping.grids import coordinates
from numjet.numpy.shaping.joining import concatenate
from numjet.numpy.ufuncs.arithmetic import floor_divide, remainder

_INT32 = np.dtype(np.int32)


def _index_dtype() -> np.dtype:
    return dtypes.canonicalize_dtype(np.int64)


def ix_(*args: Any) -> tuple[Any, ...]:
    """Vectors as indices of all their combinations: x[ix_(rows, columns)]. Masks stand for the indices where they hold.

    >>> import numjet.numpy as jnp
    >>> jnp.arange(9).reshape(3, 3)[ix_(jnp.array([0, 2]), jnp.array([1, 2]))].tolist()
    [[1, 2], [7, 8]]
    """
    vectors = [array_arg("ix_", a, i) for i, a in enumerate(args)]
    out = []
    for i, v in enumerate(vectors):
        if v.ndim != 1:
            raise ValueError(f"Arguments to jax.numpy.ix_ must be 1-dimensional, got shape {v.shape} at position {i}")
        if v.dtype == np.bool_:
            raise NotImplementedError("Boolean arguments to jax.numpy.ix_ are not implemented; pass jnp.nonzero(mask)[0]")
        if not v.shape[0]:
            v = create.full((0,), np.zeros((), _index_dtype())[()])
        out.append(rearrange.reshape(v, [v.shape[0] if d == i else 1 for d in range(len(vectors))]))
    return tuple(out)


# -------------------------------------------------------------------------------------------- diagonals, triangles

def diag_indices(n: int, ndim: int = 2) -> tuple[Any, ...]:
    """The indices of the main diagonal of an array of `ndim` axes of size n.

    >>> [i.tolist() for i in diag_indices(2)]
    [[0, 1], [0, 1]]
    """
    size, rank = as_integer(n, "n"), as_integer(ndim, "ndim")
    if size < 0 or rank < 0:
        raise ValueError(f"n and ndim must be nonnegative, got {size} and {rank}")
    return (create.iota(_index_dtype(), size),) * rank


def diag_indices_from(arr: Any) -> tuple[Any, ...]:
    """The indices of the main diagonal of an array with equal axes, at least two. ValueError for others.

    >>> import numjet.numpy as jnp
    >>> [i.tolist() for i in diag_indices_from(jnp.ones((2, 2)))]
    [[0, 1], [0, 1]]
    """
    sizes = array_arg("diag_indices_from", arr).shape
    if len(sizes) < 2:
        raise ValueError("input array must be at least 2-d")
    if len(set(sizes)) > 1:
        raise ValueError(f"All dimensions of input must be of equal length, got shape {sizes}")
    return diag_indices(sizes[0], len(sizes))


def _triangle(n: Any, k: Any, m: Any, upper: bool) -> tuple[Any, Any]:
    rows, columns = as_integer(n, "n"), as_integer(n if m is None else m, "m")
    mask = np.tri(rows, columns, as_integer(k, "k") - upper, bool)
    i, j = np.nonzero(~mask if upper else mask)
    return asarray(i.astype(_index_dtype())), asarray(j.astype(_index_dtype()))


def tril_indices(n: int, k: int = 0, m: int | None = None) -> tuple[Any, Any]:
    """The indices of the elements on and below diagonal k of an (n, m) matrix (m: default n).

    >>> [i.tolist() for i in tril_indices(2)]
    [[0, 1, 1], [0, 0, 1]]
    """
    return _triangle(n, k, m, False)


def triu_indices(n: int, k: int = 0, m: int | None = None) -> tuple[Any, Any]:
    """The indices of the elements on and above diagonal k of an (n, m) matrix (m: default n).

    >>> [i.tolist() for i in triu_indices(2)]
    [[0, 0, 1], [0, 1, 1]]
    """
    return _triangle(n, k, m, True)


def _matrix_shape(arr: Any) -> tuple[int, int]:
    shape = tuple(np.shape(arr) if isinstance(arr, (list, tuple)) else aval_of(arr).shape)
    if len(shape) != 2:
        raise ValueError(f"Only 2-D inputs are accepted: got shape {shape}")
    return shape


def tril_indices_from(arr: Any, k: int = 0) -> tuple[Any, Any]:
    """tril_indices for the shape of a matrix.

    >>> import numjet.numpy as jnp
    >>> len(tril_indices_from(jnp.ones((2, 2)))[0])
    3
    """
    n, m = _matrix_shape(arr)
    return tril_indices(n, k, m)


def triu_indices_from(arr: Any, k: int = 0) -> tuple[Any, Any]:
    """triu_indices for the shape of a matrix.

    >>> import numjet.numpy as jnp
    >>> len(triu_indices_from(jnp.ones((2, 2)))[0])
    3
    """
    n, m = _matrix_shape(arr)
    return triu_indices(n, k, m)


def mask_indices(n: int, mask_func: Callable[[Any, int], Any], k: int = 0, *, size: int | None = None) -> tuple[Any, ...]:
    """The indices of the elements of an (n, n) matrix of ones that mask_func(matrix, k) leaves. size as of nonzero.

    >>> import numjet.numpy as jnp
    >>> [i.tolist() for i in mask_indices(2, jnp.tril)]
    [[0, 1, 1], [0, 0, 1]]
    """
    return nonzero(mask_func(create.full((n, n), np.int32(1)), k), size=size)


# -------------------------------------------------------------------------------------------- flat numbers

def ravel_multi_index(multi_index: Any, dims: Any, mode: str = "raise", order: str = "C", *, dtype: Any = None) -> Any:
    """The positions in a flattened array of shape `dims` of elements with the given indices, one array per axis.

    mode: indices out of bounds are "clip"ped or "wrap"ped; "raise" checks known values (ValueError); "ignore"
    checks none. order: "C" or "F". dtype: of the result, default that of the indices; ValueError if it cannot hold all
    positions.

    >>> import numjet.numpy as jnp
    >>> ravel_multi_index((jnp.array([0, 1]), jnp.array([1, 0])), (2, 3)).tolist()
    [1, 3]
    """
    sizes = as_shape(dims)
    if len(multi_index) != len(sizes):
        raise ValueError(f"len(multi_index)={len(multi_index)} != len(dims)={len(sizes)}")
    check_arraylike("ravel_multi_index", *multi_index)
    if order not in ("C", "F"):
        raise ValueError(f"invalid order={order!r}. Expected 'C' or 'F'")
    for index in multi_index:
        if dtypes.kind(to_array(index).dtype) not in "iu":
            raise TypeError("only int indices permitted: ravel_multi_index got dtype " + to_array(index).dtype.name)
    indices = promote_shapes("ravel_multi_index", *promote_dtypes(*multi_index))
    default = indices[0].dtype if indices else _index_dtype()
    wanted = default if dtype is None else dtypes.check_user_dtype(dtype, "ravel_multi_index")
    if exceeds(prod(sizes) - 1, dtypes.iinfo(wanted).max):
        raise ValueError(f"jnp.ravel_multi_index: dtype={wanted.name} is not large enough to hold the flattened index for "
                         f"{dims=}. Use the dtype argument to pass a suitable dtype, for example dtype=jnp.int32.")
    total = create.full(indices[0].shape if indices else (), np.zeros((), wanted)[()])
    strides = [prod(sizes[i + 1:]) if order == "C" else prod(sizes[:i]) for i in range(len(sizes))]
    for index, size, stride in zip(indices, sizes, strides, strict=True):
        fits = not exceeds(size, dtypes.iinfo(index.dtype).max)
        bounded = convert.convert_element_type(_bounded(index if fits else as_dtype(index, wanted), size, mode), wanted)
        total = arithmetic.add(total, arithmetic.mul(bounded, convert.size_constant(stride, wanted)))
    return total


def _bounded(index: Any, size: int, mode: str) -> Any:
    n = convert.size_constant(size, index.dtype)
    if mode == "raise":
        values = known("ravel_multi_index", index, "an index", checked="ravel_multi_index")
        if values.size and (values.min() < 0 or values.max() >= size):
            raise ValueError(f"invalid entry in coords array: expected 0 to {size - 1}, got {values.min()} to {values.max()}")
        return index
    if mode == "ignore":
        return index
    if mode == "clip":
        return compare.clamp(np.zeros((), index.dtype)[()], index, convert.size_constant(size - 1, index.dtype))
    if mode == "wrap":
        return remainder(index, n)
    raise ValueError(f"invalid mode={mode!r}. Expected 'raise', 'wrap', 'clip', or 'ignore'.")


def unravel_index(indices: Any, shape: Any) -> tuple[Any, ...]:
    """The indices in an array of `shape`, one array per axis, of positions in the flattened array.

    Negative positions count from the end; those out of bounds are clipped. The sizes may be traced. Positions may be floats,
    whose fraction the last index keeps.

    >>> import numjet.numpy as jnp
    >>> [i.tolist() for i in unravel_index(jnp.array([1, 3]), (2, 3))]
    [[0, 1], [1, 0]]
    """
    indices = array_arg("unravel_index", indices)
    if dtypes.kind(indices.dtype) == "c":
        raise TypeError(f"unravel_index: indices must be real numbers, got {indices.dtype.name}")
    truth = dtypes.kind(indices.dtype) == "b"
    wanted, weak = (_INT32, True) if truth else (indices.dtype, aval_of(indices).weak_type)
    if indices.dtype.itemsize < _INT32.itemsize:  # sizes need not fit into narrow indices
        indices = convert.convert_element_type(indices, np.float32 if dtypes.kind(wanted) == "f" else _INT32)
    if _is_beyond(shape, indices.dtype):
        found = _unravelled_by_floor(indices, as_shape(shape))
        return tuple(convert.convert_dtype(i, wanted, weak) for i in found)
    sizes, size = _sizes_as_numbers(shape, indices.dtype)
    one = convert.size_constant(1, indices.dtype)
    last = arithmetic.sub(compare.max(size, one), one)
    if dtypes.kind(indices.dtype) in "if":
        zero = convert.size_constant(0, indices.dtype)
        indices = choose_by("unravel_index", compare.lt(indices, zero), arithmetic.add(indices, size), indices)
        indices = compare.clamp(zero, indices, last)
    else:
        indices = compare.min(indices, broadcast_to(last, indices.shape))
    out: list[Any] = []
    for n in reversed(sizes[1:]):
        out.append(arithmetic.rem(indices, compare.max(n, one)))
        indices = floor_divide(indices, compare.max(n, one))
    return tuple(convert.convert_dtype(i, wanted, weak) for i in [indices, *reversed(out)][:len(sizes)])


def _is_beyond(shape: Any, dtype: np.dtype) -> bool:
    """Whether an array has more elements than the integers of a dtype count, so that no position is out of bounds."""
    return (dtypes.kind(dtype) in "iu" and hasattr(shape, "__iter__") and all(isinstance(n, int) for n in shape)
            and prod(shape) > dtypes.iinfo(dtype).max)


def _unravelled_by_floor(indices: Any, shape: tuple[int, ...]) -> list[Any]:
    """Quotients and remainders by floor division: negative positions count from the end without the number of elements."""
    out: list[Any] = []
    for n in shape[:0:-1]:
        size = convert.size_constant(n, indices.dtype)
        out.append(remainder(indices, size))
        indices = floor_divide(indices, size)
    if dtypes.kind(indices.dtype) == "i":
        zero = convert.size_constant(0, indices.dtype)
        from_end = arithmetic.add(indices, convert.size_constant(shape[0], indices.dtype))
        indices = choose_by("unravel_index", compare.lt(indices, zero), from_end, indices)
    return [indices, *reversed(out)]


def _sizes_as_numbers(shape: Any, dtype: np.dtype) -> tuple[list[Any], Any]:
    """The sizes of a shape, which may be traced, and their product, as operands of a dtype."""
    given = shape if hasattr(shape, "__iter__") else (shape,)
    if any(isinstance(n, Tracer) and n.concrete() is None for n in given):
        sizes = [as_dtype(array_arg("unravel_index", n, 1), dtype) for n in given]
        return sizes, functools.reduce(arithmetic.mul, sizes)
    known_sizes = as_shape(given)
    return [convert.size_constant(n, dtype) for n in known_sizes], convert.size_constant(prod(known_sizes), dtype)


# -------------------------------------------------------------------------------------------- r_, c_, s_

class _IndexExpression:
    """`index_exp[1:2, ...]` and `s_[1:2, ...]`: the index in the brackets as an object."""

    def __init__(self, as_tuple: bool):
        self._as_tuple = as_tuple

    def __getitem__(self, item: Any) -> Any:
        return (item,) if self._as_tuple and not isinstance(item, tuple) else item


class _Joiner:
    """`r_[1:4, 0, x]`, `c_[x, y]`: ranges, numbers and arrays joined along an axis.

    A text in front says the axis, the least rank and where axes are added, as in NumPy; "r" and "c" make a vector a row or a
    column.
    """

    _name: str
    _axis: int
    _ndmin: int
    _trans1d: int

    def __getitem__(self, key: Any) -> Any:
        items = list(key) if isinstance(key, tuple) else [key]
        axis, ndmin, trans1d = self._axis, self._ndmin, self._trans1d
        matrix = items.pop(0) if items and isinstance(items[0], str) and items[0] in ("r", "c") else None
        if items and isinstance(items[0], str):
            axis, ndmin, trans1d = _directive(items.pop(0), axis, ndmin, trans1d)
        if not items:
            raise ValueError("need at least one array to concatenate")
        out = concatenate([_ranked(self._name, x, ndmin, trans1d) for x in items], axis=axis)
        return out if matrix is None or out.ndim > 1 else rearrange.expand_dims(out, (int(matrix == "c"),))


def _directive(text: str, axis: int, ndmin: int, trans1d: int) -> tuple[int, int, int]:
    try:
        numbers = [int(v) for v in text.split(",")]
    except ValueError:
        raise ValueError(f"could not understand directive {text!r}") from None
    return (*numbers, *(axis, ndmin, trans1d)[len(numbers):])[:3]  # type: ignore[return-value]


def _ranked(name: str, item: Any, ndmin: int, trans1d: int) -> Any:
    """A slice as a range, a number as a vector; with axes of size 1 added up to ndmin axes."""
    x = coordinates(name, item) if isinstance(item, slice) else asarray(item)
    if x.ndim == 0:
        x = rearrange.reshape(x, (1,))
    missing = ndmin - x.ndim
    if missing <= 0:
        return x
    front = max(trans1d + missing + 1, 0) if trans1d < 0 else min(trans1d, missing)
    return rearrange.expand_dims(x, [*range(front), *range(front + x.ndim, ndmin)])


class RClass(_Joiner):
    """What r_ is: joined along the first axis."""

    _name, _axis, _ndmin, _trans1d = "r_", 0, 1, -1


class CClass(_Joiner):
    """What c_ is: vectors joined as columns."""

    _name, _axis, _ndmin, _trans1d = "c_", -1, 2, 0


r_ = RClass()
c_ = CClass()
s_ = _IndexExpression(False)
index_exp = _IndexExpression(True)
