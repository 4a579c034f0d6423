"""Structured products (kron, cross), diagonals and traces."""
from __future__ import annotations

from typing import Any

import numpy as np

from numjet.api.jit_when_eager import jit_when_eager
from numjet.core.trace import Tracer
from numjet.foundation import dtypes
from numjet.foundation.dimension import Dimension, as_integer, largest, smallest
from numjet.lax.axes import as_axis
from numjet.lax.elementwise import arithmetic
from numjet.lax.shape import join, rearrange
from numjet.lax.shape.create import iota
from numjet.numpy.contraction.dot import _times
from numjet.numpy.core.promotion import array_arg, check_out, promote_args, strong_array
from numjet.numpy.indexing.subscript import getitem
from numjet.numpy.reduction.reductions import sum as reduce_sum
from numjet.numpy.shaping.manipulation import moveaxis
from numjet.numpy.shaping.matrices import eye


@jit_when_eager()
def kron(a: Any, b: Any) -> Any:
    """The Kronecker product: each element of a times the whole of b, as blocks.

    >>> import numjet.numpy as jnp
    >>> kron(jnp.array([1, 10]), jnp.array([1, 2])).tolist()
    [1, 2, 10, 20]
    """
    a, b = promote_args("kron", a, b)
    rank = max(a.ndim, b.ndim)
    a, b = rearrange.broadcast_to_rank(a, rank), rearrange.broadcast_to_rank(b, rank)
    out = _times(rearrange.expand_dims(a, range(1, 2 * rank, 2)), rearrange.expand_dims(b, range(0, 2 * rank, 2)))
    return rearrange.reshape(out, [m * n for m, n in zip(a.shape, b.shape, strict=True)])


@jit_when_eager("axisa", "axisb", "axisc", "axis")
def cross(a: Any, b: Any, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: int | None = None) -> Any:
    """The cross product of vectors of 3 (or 2: their third component is 0) elements; other axes broadcast.

    axisa, axisb: the axes of the vectors; axisc: theirs in the result; axis: all three. Two vectors of 2 give the third
    component alone. ValueError for other sizes.

    >>> import numjet.numpy as jnp
    >>> cross(jnp.array([1, 0, 0]), jnp.array([0, 1, 0])).tolist()
    [0, 0, 1]
    """
    if axis is not None:
        axisa = axisb = axisc = axis
    a, b = promote_args("cross", a, b)
    a, b = moveaxis(a, axisa, -1), moveaxis(b, axisb, -1)
    if a.shape[-1] not in (2, 3) or b.shape[-1] not in (2, 3):
        raise ValueError(f"Dimension must be either 2 or 3 for cross product: got vectors of {a.shape[-1]} and {b.shape[-1]}")
    (ax, ay, *az), (bx, by, *bz) = _components(a), _components(b)
    z = _difference(ax, by, ay, bx)
    if not az and not bz:
        return z
    if not az:
        x, y = _times(ay, bz[0]), arithmetic.neg(_times(ax, bz[0]))
    elif not bz:
        x, y = arithmetic.neg(_times(az[0], by)), _times(az[0], bx)
    else:
        x, y = _difference(ay, bz[0], az[0], by), _difference(az[0], bx, ax, bz[0])
    out = join.concatenate([rearrange.expand_dims(c, (-1,)) for c in map(strong_array, (x, y, z))], x.ndim)
    return moveaxis(out, -1, axisc)


def _components(v: Any) -> list[Any]:
    return [getitem(v, (..., i)) for i in range(v.shape[-1])]


def _difference(a: Any, b: Any, c: Any, d: Any) -> Any:
    return arithmetic.sub(_times(a, b), _times(c, d))


@jit_when_eager("offset", "axis1", "axis2")
def diagonal(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    """The elements whose index along axis2 is `offset` larger than along axis1; they lie along a new last axis.

    ValueError for less than two axes or equal ones.

    >>> import numjet.numpy as jnp
    >>> diagonal(jnp.array([[1, 2], [3, 4]]), 1).tolist()
    [2]
    """
    a = _as_matrices("diagonal", a, axis1, axis2)
    if not isinstance(offset, Dimension):
        offset = as_integer(offset, "diagonal: offset")
    count = largest(0, smallest(a.shape[-2] + min(offset, 0), a.shape[-1] - max(offset, 0)))
    position = iota(np.int32, count) if isinstance(count, Dimension) else np.arange(count, dtype=np.int32)
    return getitem(a, (..., position - min(offset, 0), position + max(offset, 0)))


def _as_matrices(name: str, a: Any, axis1: int, axis2: int) -> Any:
    """a, with these two axes last."""
    a = array_arg(name, a)
    if a.ndim < 2:
        raise ValueError(f"{name} requires an array of at least two dimensions.")
    i, j = as_axis(axis1, a.ndim), as_axis(axis2, a.ndim)
    if i == j:
        raise ValueError("axis1 and axis2 can not be same")
    return moveaxis(a, (i, j), (-2, -1))


@jit_when_eager("offset", "axis1", "axis2", "dtype", "out")
def trace(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None, out: None = None) -> Any:
    """The sum of a diagonal, whose offset may be traced. dtype: that of the sum; by default integers get at least the default
    width.

    >>> import numjet.numpy as jnp
    >>> trace(jnp.array([[1, 2], [3, 4]]))
    Array(5, dtype=int32)
    """
    check_out("trace", out)
    a = array_arg("trace", a)
    wanted = None if dtype is None else dtypes.check_user_dtype(dtype, "trace")
    if isinstance(offset, Tracer):
        a = _as_matrices("trace", a, axis1, axis2)
        on_it = eye(*a.shape[-2:], k=offset, dtype=bool)
        return reduce_sum(a, (-2, -1), wanted, where=on_it)
    if not isinstance(offset, Dimension):
        offset = as_integer(offset, "trace: offset")
    return reduce_sum(diagonal(a, offset, axis1, axis2), -1, wanted)
