"""Matrices with a pattern: eye, identity, tri, tril, triu, diag, diagflat."""
from __future__ import annotations

from typing import Any

import numpy as np

from numjet.api.jit_when_eager import jit_when_eager
from numjet.foundation import dtypes
from numjet.foundation.dimension import Dimension, as_integer, largest, smallest
from numjet.lax.axes import as_shape
from numjet.lax.elementwise import arithmetic, compare, convert
from numjet.lax.shape import create, join, rearrange
from numjet.numpy.core.arrays import to_device
from numjet.numpy.core.promotion import array_arg, literal, strong_array, to_array
from numjet.numpy.indexing.subscript import getitem
from numjet.numpy.indexing.where import choose_by

_INDEX = np.dtype(np.int32)


def _rows_and_columns(sizes: tuple[int, int]) -> tuple[Any, Any]:
    return create.broadcasted_iota(_INDEX, sizes, 0), create.broadcasted_iota(_INDEX, sizes, 1)


def _sizes(name: str, N: Any, M: Any) -> tuple[int, int]:
    n, m = as_shape((N, N if M is None else M))
    if n < 0 or m < 0:
        raise ValueError(f"jnp.{name}: negative dimensions are not allowed, got {N} and {M}")
    return n, m


_BEYOND = 2**30   # rows and columns are fewer; sums with them stay within int32


def _offset(rows: Any, k: Any) -> Any:
    """rows + k, for a number k that may be traced; a known one beyond what a matrix can have is as good as the largest."""
    if isinstance(k, (int, np.integer)):
        return rows if k == 0 else arithmetic.add(rows, min(max(int(k), -_BEYOND), _BEYOND))
    offset = array_arg("k", k)
    if offset.ndim or not dtypes.issubdtype(offset.dtype, np.integer):
        raise TypeError(f"diagonal offset k must be an integer, got {offset.aval}")
    return arithmetic.add_p.bind(rows, convert.convert_dtype(offset, _INDEX))


def eye(N: Any, M: Any = None, k: Any = 0, dtype: Any = None, *, device: Any = None) -> Any:
    """An N x M matrix (M: default N) with ones on diagonal k and zeros elsewhere.

    >>> eye(2, 3, k=1).tolist()
    [[0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    """
    wanted = dtypes.check_user_dtype(float if dtype is None else dtype, "eye")
    rows, columns = _rows_and_columns(_sizes("eye", N, M))
    return to_device("eye", convert.convert_dtype(compare.eq_p.bind(_offset(rows, k), columns), wanted), device)


def identity(n: Any, dtype: Any = None) -> Any:
    """The n x n matrix with ones on the diagonal.

    >>> identity(2).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    return eye(n, dtype=dtype)


def _lower(sizes: tuple[int, int], k: Any) -> Any:
    rows, columns = _rows_and_columns(sizes)
    return compare.ge_p.bind(_offset(rows, k), columns)


def tri(N: Any, M: Any = None, k: Any = 0, dtype: Any = None) -> Any:
    """An N x M matrix (M: default N) with ones on and below diagonal k; dtype: default float32.

    >>> tri(2).tolist()
    [[1.0, 0.0], [1.0, 1.0]]
    """
    wanted = dtypes.check_user_dtype(dtypes.float32 if dtype is None else dtype, "tri")
    return convert.convert_dtype(_lower(_sizes("tri", N, M), k), wanted)


def _masked(name: str, m: Any, k: Any, lower: bool) -> Any:
    m = array_arg(name, m)
    if m.ndim < 2:
        raise ValueError(f"Argument to jax.numpy.{name} must be at least 2D, got shape {m.shape}")
    inside = _lower(m.shape[-2:], k if lower else _less_one(k))
    if m.ndim > 2:
        inside = rearrange.broadcast_in_dim(inside, m.shape, (m.ndim - 2, m.ndim - 1))
    zero = literal(0, m.dtype, m.weak_type)
    return choose_by(name, inside, m, zero) if lower else choose_by(name, inside, zero, m)


def _less_one(k: Any) -> Any:
    return int(k) - 1 if isinstance(k, (int, np.integer)) else arithmetic.sub(array_arg("k", k), 1)


@jit_when_eager("k")
def tril(m: Any, k: Any = 0) -> Any:
    """m with zeros above diagonal k (of the last two axes).

    >>> import numjet.numpy as jnp
    >>> tril(jnp.ones((2, 2))).tolist()
    [[1.0, 0.0], [1.0, 1.0]]
    """
    return _masked("tril", m, k, True)


@jit_when_eager("k")
def triu(m: Any, k: Any = 0) -> Any:
    """m with zeros below diagonal k (of the last two axes).

    >>> import numjet.numpy as jnp
    >>> triu(jnp.ones((2, 2))).tolist()
    [[1.0, 1.0], [0.0, 1.0]]
    """
    return _masked("triu", m, k, False)


@jit_when_eager("k")
def diag(v: Any, k: int = 0) -> Any:
    """The matrix with the vector v on diagonal k; or diagonal k of a matrix v. ValueError for other ranks.

    >>> import numjet.numpy as jnp
    >>> diag(jnp.array([1, 2])).tolist(), diag(jnp.array([[1, 2], [3, 4]])).tolist()
    ([[1, 0], [0, 2]], [1, 4])
    """
    v, k = array_arg("diag", v), as_integer(k, "jnp.diag: k")
    if v.ndim == 1:
        return _on_diagonal(v, k)
    if v.ndim == 2:
        return _of_diagonal(v, k)
    raise ValueError(f"diag input must be 1d or 2d, got shape {v.shape}")


def _on_diagonal(v: Any, k: int) -> Any:
    n = v.shape[0] + abs(k)
    zero = literal(0, v.dtype, v.weak_type)
    padded = join.pad(v, to_array(zero), [(max(0, k), max(0, -k), 0)])
    rows, columns = _rows_and_columns((n, n))
    full = rearrange.broadcast_in_dim(padded, (n, n), (1,))
    return choose_by("diag", compare.eq_p.bind(_offset(rows, k), columns), full, zero)


def _of_diagonal(v: Any, k: int) -> Any:
    n = largest(0, smallest(v.shape[0] + min(k, 0), v.shape[1] - max(k, 0)))
    steps = create.iota(np.int32, n) if isinstance(n, Dimension) else np.arange(n)
    return getitem(v, (steps + max(0, -k), steps + max(0, k)))


def diagflat(v: Any, k: int = 0) -> Any:
    """The matrix with the elements of v, flattened, on diagonal k.

    >>> import numjet.numpy as jnp
    >>> diagflat(jnp.array([[1], [2]])).tolist()
    [[1, 0], [0, 2]]
    """
    v = array_arg("diagflat", v)
    return strong_array(_on_diagonal(rearrange.reshape(v, (v.size,)), as_integer(k, "jnp.diagflat: k")))
