"""Special matrices: block diagonal, Toeplitz, Hankel, circulant, companion, Hilbert, DFT."""
from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from numjet.foundation import dtypes
from numjet.lax.elementwise import compare
from numjet.lax.elementwise.convert import cast
from numjet.lax.indexing import dynamic_slicing
from numjet.lax.linalg import matrix as mx
from numjet.lax.operands import real_dtype
from numjet.lax.shape import create, join, rearrange
from numjet.numpy.core.creation import arange
from numjet.numpy.core.promotion import broadcast_to, check_arraylike, promote_args, promote_args_inexact
from numjet.numpy.indexing.selection import take
from numjet.numpy.indexing.subscript import getitem
from numjet.numpy.shaping.manipulation import atleast_1d
from numjet.numpy.ufuncs.transcendental import exp

_INDEX = np.dtype(np.int32)


def block_diag(*arrs: Any) -> Any:
    """The matrices (vectors count as rows) along the diagonal of one, zeros elsewhere.

    >>> import numjet.numpy as jnp
    >>> block_diag(jnp.ones((1, 2)), 3.0).tolist()
    [[1.0, 1.0, 0.0], [0.0, 0.0, 3.0]]
    """
    blocks = promote_args("scipy.linalg.block_diag", *(arrs or (np.zeros((1, 0), np.float32),)))
    bad = [k for k, x in enumerate(blocks) if x.ndim > 2]
    if bad:
        raise ValueError(f"Arguments to jax.scipy.linalg.block_diag must have at most 2 dimensions, got {arrs[bad[0]]} at "
                         f"argument {bad[0]}.")
    blocks = [rearrange.reshape(x, (1, x.size)) if x.ndim < 2 else x for x in blocks]
    shape = sum(x.shape[0] for x in blocks), sum(x.shape[1] for x in blocks)
    out, top, left = create.full(shape, mx.scalar(0, blocks[0].dtype)), 0, 0
    for x in blocks:
        out = dynamic_slicing.dynamic_update_slice(out, x, (np.int32(top), np.int32(left)))
        top, left = top + x.shape[0], left + x.shape[1]
    return out


def _by_index(values: Any, shape: tuple[int, int], index: Callable[[Any, Any], Any]) -> Any:
    """values[..., index(row, column)] as matrices of that shape; the program computes the indices, and holds no table."""
    row, column = (create.broadcasted_iota(_INDEX, shape, axis) for axis in range(2))
    return take(values, index(row, column), values.ndim - 1, mode="promise_in_bounds")


def toeplitz(c: Any, r: Any = None) -> Any:
    """The matrices with constant diagonals, of the first columns c[..., m] and the first rows r[..., n] (default: conj(c)).

    >>> import numjet.numpy as jnp
    >>> toeplitz(jnp.array([1, 2, 3])).tolist()
    [[1, 2, 3], [2, 1, 2], [3, 2, 1]]
    """
    if r is None:
        check_arraylike("scipy.linalg.toeplitz", c)
        (c,) = promote_args("scipy.linalg.toeplitz", c)
        r = mx.conj(c)
    c, r = (x if x.ndim else rearrange.reshape(x, (1,)) for x in promote_args("scipy.linalg.toeplitz", c, r))
    m, n = c.shape[-1], r.shape[-1]
    batch = np.broadcast_shapes(c.shape[:-1], r.shape[:-1])
    c, r = (mx.broadcast_in_dim_p.bind(x, shape=(*batch, x.shape[-1]), broadcast_dimensions=tuple(
        range(len(batch) + 1 - x.ndim, len(batch) + 1))) for x in (c, r))
    both = join.concatenate([rearrange.rev(c, (len(batch),)), getitem(r, (..., slice(1, None)))], len(batch))
    return _by_index(both, (m, n), lambda row, column: column - row + np.int32(m - 1))


def hankel(c: Any, r: Any = None) -> Any:
    """The matrix with constant antidiagonals, of the first column c[..., n] and the last row r[..., m] (default: zeros).

    >>> import numjet.numpy as jnp
    >>> hankel(jnp.array([1, 2])).tolist()
    [[1, 2], [2, 0]]
    """
    check_arraylike("scipy.linalg.hankel", c)
    (c,) = promote_args("scipy.linalg.hankel", c)
    r = create.full_like(c, 0) if r is None else r
    c, r = (atleast_1d(x) for x in promote_args("scipy.linalg.hankel", c, r))
    batch = rearrange.broadcast_shapes(c.shape[:-1], r.shape[:-1])
    c, r = (broadcast_to(x, (*batch, x.shape[-1])) for x in (c, r))
    both = join.concatenate([c, getitem(r, (..., slice(1, None)))], len(batch))
    return _by_index(both, (c.shape[-1], r.shape[-1]), lambda row, column: row + column)


def circulant(c: Any) -> Any:
    """The circulant matrices: column k is c[..., n] rotated by k.

    >>> import numjet.numpy as jnp
    >>> circulant(jnp.array([1, 2, 3])).tolist()
    [[1, 3, 2], [2, 1, 3], [3, 2, 1]]
    """
    check_arraylike("scipy.linalg.circulant", c)
    c = atleast_1d(*promote_args("scipy.linalg.circulant", c))
    n = c.shape[-1]
    return _by_index(c, (n, n), lambda row, column: compare.select(row < column, row - column + np.int32(n), row - column))


def companion(a: Any) -> Any:
    """The companion matrices of the polynomials with coefficients a[..., 0], a[..., 1], ..., the leading one first.

    >>> import numjet.numpy as jnp
    >>> companion(jnp.array([1.0, 2.0, 3.0])).tolist()
    [[-2.0, -3.0], [1.0, 0.0]]
    """
    (a,) = promote_args_inexact("scipy.linalg.companion", a)
    if a.ndim < 1 or a.shape[-1] < 2:
        raise ValueError(f"The length of `a` along the last axis must be at least 2, got shape {a.shape}")
    n, batch = a.shape[-1] - 1, a.shape[:-1]
    top = -getitem(a, (..., slice(1, None))) / getitem(a, (..., slice(0, 1)))
    return join.concatenate([rearrange.reshape(top, (*batch, 1, n)), mx.eye((*batch, n - 1, n), a.dtype)], len(batch))


def hilbert(n: int) -> Any:
    """The Hilbert matrix, 1 / (i + j + 1).

    >>> hilbert(2).round(3).tolist()
    [[1.0, 0.5], [0.5, 0.3330000042915344]]
    """
    k = arange(operator.index(n), dtype=dtypes.canonicalize_dtype(np.float64))
    return 1 / (rearrange.expand_dims(k, (1,)) + rearrange.expand_dims(k, (0,)) + 1)


def dft(n: int, scale: str | None = None, *, dtype: Any = None) -> Any:
    """The matrix of the discrete Fourier transform; scale: None, "sqrtn" or "n", by which it is divided.

    >>> dft(2).real.round(3).tolist()
    [[1.0, 1.0], [1.0, -1.0]]
    """
    if scale not in (None, "sqrtn", "n"):
        raise ValueError(f"scale must be None, 'sqrtn', or 'n'; got {scale!r}")
    n = operator.index(n)
    k = np.arange(n)
    dtype = dtypes.canonicalize_dtype(np.complex128 if dtype is None else dtype)
    if dtype not in dtypes.COMPLEX:
        raise ValueError(f"dft: dtype must be complex, got {dtype.name}")
    angles = (np.outer(k, k) % max(n, 1)).astype(real_dtype(dtype)) * (2 * np.pi / max(n, 1))
    out = exp(-1j * cast(angles.astype(real_dtype(dtype)), dtype))
    return out / {None: 1.0, "sqrtn": float(np.sqrt(n)), "n": float(n)}[scale]
