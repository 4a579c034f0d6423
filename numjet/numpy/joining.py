"""Joining and splitting: concatenate, stack, split and their kin."""
from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from numjet.foundation.util import canonicalize_axis
from numjet.lax import join
from numjet.lax.slicing import slice_in_dim
from numjet.numpy.arrays import astype
from numjet.numpy.manipulation import expand_dims, moveaxis, ravel
from numjet.numpy.promote import array_arg, promote_dtypes


def _arrays(name: str, arrays: Any) -> list[Any]:
    """The operands of a join, as arrays of one dtype. TypeError for a single scalar, ValueError for none."""
    if not hasattr(arrays, "__len__") and not hasattr(arrays, "__iter__"):
        raise TypeError(f"{name} requires a sequence of arrays, got {type(arrays)}")
    found = [array_arg(name, a, k) for k, a in enumerate(arrays)]
    if not found:
        raise ValueError(f"Need at least one array to {name}.")
    return promote_dtypes(*found) if any(a.dtype != found[0].dtype for a in found) else found


def concatenate(arrays: Any, axis: int | None = 0, dtype: Any = None) -> Any:
    """Arrays one behind the other along an axis (None: all flattened).

    >>> concatenate([np.ones(1), np.zeros(2)]).tolist()
    [1.0, 0.0, 0.0]
    """
    found = _arrays("concatenate", arrays)
    if axis is None:
        found, axis = [ravel(a) for a in found], 0
    if found[0].ndim == 0:
        raise ValueError("Zero-dimensional arrays cannot be concatenated.")
    axis = canonicalize_axis(axis, found[0].ndim)
    if dtype is not None:
        found = [astype(a, dtype) for a in found]
    return found[0] if len(found) == 1 else join.concatenate(found, axis)


def concat(arrays: Sequence[Any], /, *, axis: int | None = 0) -> Any:
    """As concatenate.

    >>> concat([np.ones(1), np.zeros(1)]).tolist()
    [1.0, 0.0]
    """
    return concatenate(arrays, axis)


def stack(arrays: Any, axis: int = 0, out: None = None, dtype: Any = None) -> Any:
    """Arrays of one shape side by side along a new axis. ValueError for different shapes.

    >>> stack([np.zeros(2), np.ones(2)], axis=1).tolist()
    [[0.0, 1.0], [0.0, 1.0]]
    """
    if out is not None:
        raise NotImplementedError("The 'out' argument to jnp.stack is not supported.")
    found = _arrays("stack", arrays)
    if any(a.shape != found[0].shape for a in found):
        raise ValueError(f"All input arrays must have the same shape, got {[a.shape for a in found]}.")
    axis = canonicalize_axis(axis, found[0].ndim + 1)
    return concatenate([expand_dims(a, axis) for a in found], axis, dtype)


def unstack(x: Any, /, *, axis: int = 0) -> tuple[Any, ...]:
    """The slices along an axis.

    >>> [float(v) for v in unstack(np.arange(2.0))]
    [0.0, 1.0]
    """
    x = array_arg("unstack", x)
    if x.ndim == 0:
        raise ValueError("Unstack requires arrays with rank > 0, however a scalar array was passed.")
    x = moveaxis(x, axis, 0)
    return tuple(x[k] for k in range(x.shape[0]))


def _at_least(x: Any, ndim: int) -> Any:
    if x.ndim == 0:
        return x.reshape((1,) * ndim)
    if ndim == 2:
        return expand_dims(x, 0) if x.ndim == 1 else x
    if ndim == 3:
        return expand_dims(x, (0, 2)) if x.ndim == 1 else expand_dims(x, 2) if x.ndim == 2 else x
    return x


def atleast_1d(*arys: Any) -> Any:
    """Scalars as vectors of one element.

    >>> atleast_1d(1.0).shape
    (1,)
    """
    return _each("atleast_1d", arys, 1)


def atleast_2d(*arys: Any) -> Any:
    """Vectors as matrices of one row.

    >>> atleast_2d(np.ones(3)).shape
    (1, 3)
    """
    return _each("atleast_2d", arys, 2)


def atleast_3d(*arys: Any) -> Any:
    """Arrays of at least three axes.

    >>> atleast_3d(np.ones(3)).shape
    (1, 3, 1)
    """
    return _each("atleast_3d", arys, 3)


def _each(name: str, arys: tuple[Any, ...], ndim: int) -> Any:
    found = [_at_least(array_arg(name, a, k), ndim) for k, a in enumerate(arys)]
    return found[0] if len(found) == 1 else found


def vstack(tup: Any, dtype: Any = None) -> Any:
    """Rows on top of one another.

    >>> vstack([np.zeros(2), np.ones(2)]).shape
    (2, 2)
    """
    return concatenate([_at_least(a, 2) for a in _arrays("vstack", tup)], 0, dtype)


def hstack(tup: Any, dtype: Any = None) -> Any:
    """Side by side: along axis 1, vectors along axis 0.

    >>> hstack([np.zeros(2), np.ones(1)]).shape
    (3,)
    """
    found = [_at_least(a, 1) for a in _arrays("hstack", tup)]
    return concatenate(found, 0 if found[0].ndim == 1 else 1, dtype)


def dstack(tup: Any, dtype: Any = None) -> Any:
    """Along the third axis.

    >>> dstack([np.zeros(2), np.ones(2)]).shape
    (1, 2, 2)
    """
    return concatenate([_at_least(a, 3) for a in _arrays("dstack", tup)], 2, dtype)


def column_stack(tup: Any) -> Any:
    """Vectors as the columns of a matrix.

    >>> column_stack([np.zeros(2), np.ones(2)]).tolist()
    [[0.0, 1.0], [0.0, 1.0]]
    """
    found = [expand_dims(a, 1) if a.ndim == 1 else _at_least(a, 2).T if a.ndim == 0 else a for a in _arrays("column_stack", tup)]
    return concatenate(found, 1)


def append(arr: Any, values: Any, axis: int | None = None) -> Any:
    """values behind arr.

    >>> append(np.zeros(1), 1.0).tolist()
    [0.0, 1.0]
    """
    return concatenate([arr, values], axis)


def split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Any]:
    """Equal parts (their number given), or the parts between indices. ValueError when equal parts don't come out.

    >>> [x.tolist() for x in split(np.arange(4), 2)]
    [[0, 1], [2, 3]]
    """
    return _split("split", ary, indices_or_sections, axis)


def array_split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Any]:
    """As split, with parts that may differ by one element.

    >>> [x.tolist() for x in array_split(np.arange(3), 2)]
    [[0, 1], [2]]
    """
    return _split("array_split", ary, indices_or_sections, axis)


def _split(name: str, ary: Any, where: Any, axis: int) -> list[Any]:
    ary = array_arg(name, ary)
    axis = canonicalize_axis(axis, ary.ndim)
    n = ary.shape[axis]
    if np.ndim(where) == 0:
        parts = operator.index(where)
        if name == "split" and n % parts:
            raise ValueError(f"array split does not result in an equal division: size {n} along axis {axis} into {parts} parts")
        small, more = divmod(n, parts)
        edges = np.cumsum([0] + [small + 1] * more + [small] * (parts - more)).tolist()
    else:
        edges = [0, *[_clip_edge(operator.index(i), n) for i in where], n]
    return [slice_in_dim(ary, lo, max(lo, hi), axis=axis) for lo, hi in zip(edges, edges[1:], strict=False)]


def _clip_edge(i: int, n: int) -> int:
    return min(max(i + n if i < 0 else i, 0), n)


def vsplit(ary: Any, indices_or_sections: Any) -> list[Any]:
    """Split along axis 0.

    >>> len(vsplit(np.ones((4, 2)), 2))
    2
    """
    return split(ary, indices_or_sections, 0)


def hsplit(ary: Any, indices_or_sections: Any) -> list[Any]:
    """Split along axis 1 (vectors: 0).

    >>> len(hsplit(np.ones((2, 4)), 2))
    2
    """
    return split(ary, indices_or_sections, 0 if np.ndim(ary) == 1 else 1)


def dsplit(ary: Any, indices_or_sections: Any) -> list[Any]:
    """Split along axis 2.

    >>> len(dsplit(np.ones((1, 1, 4)), 2))
    2
    """
    return split(ary, indices_or_sections, 2)


