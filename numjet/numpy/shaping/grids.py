"""Coordinates of grids: meshgrid, mgrid, ogrid, indices, fromfunction."""
from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from numjet.core.trace import Tracer
from numjet.foundation import dtypes, errors
from numjet.foundation.dimension import as_size
from numjet.lax.elementwise import convert
from numjet.lax.shape import create, join, rearrange
from numjet.numpy.core.creation import arange, linspace
from numjet.numpy.core.promotion import array_arg


def _along(x: Any, axis: int, rank: int) -> Any:
    """A vector along one of `rank` axes, the others of size 1."""
    return rearrange.reshape(x, tuple(x.shape[0] if i == axis else 1 for i in range(rank)))


def meshgrid(*xi: Any, copy: bool = True, sparse: bool = False, indexing: str = "xy") -> list[Any]:
    """Matrices of coordinates of the grid with coordinates xi, one-dimensional arrays, along its axes.

    indexing: "xy": the second axis of results is that of xi[0], the first that of xi[1]; "ij": in order. sparse: sizes of
    other axes are 1. ValueError for other ranks and names, and copy=False.

    >>> import numjet.numpy as jnp
    >>> [g.tolist() for g in meshgrid(jnp.arange(2), jnp.arange(3), indexing="ij")]
    [[[0, 0, 0], [1, 1, 1]], [[0, 1, 2], [0, 1, 2]]]
    """
    if not copy:
        raise ValueError("jnp.meshgrid only supports copy=True: arrays are immutable")
    if indexing not in ("xy", "ij"):
        raise ValueError(f"Valid values for indexing are 'xy' and 'ij', got {indexing!r}")
    arrays = [array_arg("meshgrid", x, i) for i, x in enumerate(xi)]
    if any(x.ndim > 1 for x in arrays):
        raise ValueError(f"Arguments to jax.numpy.meshgrid must be 1D, got shapes {[x.shape for x in arrays]}")
    vectors = [rearrange.reshape(x, (1,)) if x.ndim == 0 else x for x in arrays]
    positions = list(range(len(vectors)))
    if indexing == "xy" and len(vectors) >= 2:
        positions[0], positions[1] = 1, 0
    sizes = [0] * len(vectors)
    for x, position in zip(vectors, positions, strict=True):
        sizes[position] = x.shape[0]
    if sparse:
        return [_along(x, position, len(vectors)) for x, position in zip(vectors, positions, strict=True)]
    return [rearrange.broadcast_in_dim(x, sizes, (position,)) for x, position in zip(vectors, positions, strict=True)]


def coordinates(name: str, key: slice) -> Any:
    """The numbers of a slice; a complex step is their number. ConcretizationTypeError for limits that are not known."""
    for part in ("start", "stop", "step"):
        value = getattr(key, part)
        if isinstance(value, Tracer) and value.concrete() is None:
            raise errors.ConcretizationTypeError(value, f"It is the slice {part} of jnp.{name}, which decides the shape of the "
                                                        "result.")
    start, step = 0 if key.start is None else key.start, key.step
    if isinstance(step, complex):
        return linspace(start, key.stop, int(abs(step)))
    return arange(start, key.stop, 1 if step is None else step)


def _in_one_dtype(vectors: list[Any]) -> list[Any]:
    """Coordinates of integers and floats in their common dtype, which jax_numpy_dtype_promotion does not concern."""
    dtype = functools.reduce(dtypes.common_dtype, [v.dtype for v in vectors]) if vectors else None
    return [convert.convert_dtype(v, dtype) for v in vectors]


class _Dense:
    """`mgrid[0:2, 0:1:3j]`: coordinates of a grid, stacked along the first axis. A complex step is a number of points.

    >>> mgrid[0:2, 0:2].tolist()
    [[[0, 0], [1, 1]], [[0, 1], [0, 1]]]
    """

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, slice):
            return coordinates("mgrid", key)
        if not key:
            return create.full((0,), np.zeros((), dtypes.canonicalize_dtype(np.int64))[()])
        vectors = _in_one_dtype([coordinates("mgrid", k) for k in key])
        grids = meshgrid(*vectors, indexing="ij")
        return join.concatenate([rearrange.expand_dims(g, (0,)) for g in grids], 0)

    def __repr__(self) -> str:
        return "jnp.mgrid"


class _Open:
    """`ogrid[0:2, 0:1:3j]`: as mgrid, a list of arrays each of which runs along one axis.

    >>> [g.tolist() for g in ogrid[0:2, 0:2]]
    [[[0], [1]], [[0, 1]]]
    """

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, slice):
            return coordinates("ogrid", key)
        vectors = _in_one_dtype([coordinates("ogrid", k) for k in key])
        return meshgrid(*vectors, indexing="ij", sparse=True)

    def __repr__(self) -> str:
        return "jnp.ogrid"


mgrid, ogrid = _Dense(), _Open()


def indices(dimensions: Any, dtype: Any = None, sparse: bool = False) -> Any:
    """The indices of the elements of an array of that shape, stacked along the first axis; a tuple when sparse.

    >>> indices((2, 2)).tolist()
    [[[0, 0], [1, 1]], [[0, 1], [0, 1]]]
    """
    wanted = dtypes.check_user_dtype(int if dtype is None else dtype, "indices")
    sizes = tuple(map(as_size, dimensions))
    if sparse:
        return tuple(_along(create.iota(wanted, n), i, len(sizes)) for i, n in enumerate(sizes))
    if not sizes:
        return create.full((0,), np.zeros((), wanted)[()])
    return join.concatenate([create.broadcasted_iota(wanted, (1, *sizes), i + 1) for i in range(len(sizes))], 0)


def fromfunction(function: Callable[..., Any], shape: Any, *, dtype: Any = float, **kwargs: Any) -> Any:
    """function(i, j, ..., **kwargs) of the indices of an array of that shape, arrays of `dtype`.

    >>> fromfunction(lambda i, j: i + j, (2, 2), dtype=int).tolist()
    [[0, 1], [1, 2]]
    """
    wanted = dtypes.check_user_dtype(dtype, "fromfunction")
    sizes = tuple(map(as_size, shape))
    return function(*(create.broadcasted_iota(wanted, sizes, i) for i in range(len(sizes))), **kwargs)
