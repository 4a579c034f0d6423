"""Matrices whose elements are those of vectors, in a pattern: convolution, Fiedler, Leslie, Fiedler's companion matrices."""
from __future__ import annotations

import operator
from typing import Any

import numpy as np

import numjet.numpy as jnp
from numjet.numpy.core.promotion import promote_args, promote_args_inexact


def convolution_matrix(a: Any, n: int, mode: str = "full") -> Any:
    """The matrices whose products with vectors of length n are convolutions with a[..., m]; mode: as in numpy.convolve.

    >>> import numjet.numpy as jnp
    >>> convolution_matrix(jnp.array([1, 2]), 2).tolist()
    [[1, 0], [2, 1], [0, 2]]
    """
    n = operator.index(n)
    if n < 1:
        raise ValueError(f"n must be a positive integer; got {n}.")
    if mode not in ("full", "valid", "same"):
        raise ValueError(f"mode must be one of 'full', 'valid', 'same'; got {mode!r}.")
    (a,) = promote_args("scipy.linalg.convolution_matrix", a)
    if a.ndim == 0:
        raise ValueError(f"convolution_matrix: a must be at least 1-dimensional; got shape {a.shape}.")
    m = a.shape[-1]
    if m == 0:
        raise ValueError(f"len(a) must be at least 1; got shape {a.shape}.")
    cut = {"full": 0, "same": min(m, n) - 1, "valid": 2 * (min(m, n) - 1)}[mode]
    source = jnp.arange(m + n - 1 - cut)[:, None] - jnp.arange(n)[None, :] + cut // 2
    inside = (source >= 0) & (source < m)
    return _chosen(inside, a[..., jnp.where(inside, source, 0)], 0)


def _chosen(mask: Any, x: Any, other: Any) -> Any:
    """x where a table of its last two axes says so."""
    return jnp.where(jnp.broadcast_to(mask, x.shape), x, jnp.asarray(other, x.dtype))


def fiedler(a: Any) -> Any:
    """The Fiedler matrices |a[..., i] - a[..., j]|.

    >>> import numjet.numpy as jnp
    >>> fiedler(jnp.array([1, 3])).tolist()
    [[0, 2], [2, 0]]
    """
    (a,) = promote_args("scipy.linalg.fiedler", a)
    a = jnp.atleast_1d(a)
    return jnp.abs(a[..., :, None] - a[..., None, :])


def fiedler_companion(a: Any) -> Any:
    """Fiedler's companion matrices, of five diagonals, of the polynomials with coefficients a[..., 0], ...

    M. Fiedler, "A note on companion matrices" (Linear Algebra Appl. 372, 2003). ValueError for no coefficients.

    >>> import numjet.numpy as jnp
    >>> fiedler_companion(jnp.array([1.0, 2.0, 3.0])).tolist()
    [[-2.0, -3.0], [1.0, 0.0]]
    """
    (a,) = promote_args_inexact("scipy.linalg.fiedler_companion", a)
    a = jnp.atleast_1d(a)
    if a.shape[-1] == 0:
        raise ValueError("fiedler_companion requires the last axis of 'a' to have nonzero length, but got an array of shape "
                         f"{a.shape}.")
    n = a.shape[-1] - 1
    source, ones = _fiedler_pattern(n)
    scaled = -a / a[..., :1]
    return _chosen(~ones, _chosen(source > 0, scaled[..., source], 0), 1)


def _fiedler_pattern(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Which coefficient stands where, and where ones are."""
    source, ones = np.zeros((n, n), int), np.zeros((n, n), bool)
    i, j = np.arange(n)[:, None], np.arange(n)[None, :]
    source = np.where((i % 2 == 0) & ((j == i + 1) | ((j == i - 1) & (i > 0))), np.where(j > i, i + 2, i + 1), source)
    ones |= ((i % 2 == 0) & (j == i + 2)) | ((i % 2 == 1) & (j == i - 2))
    if n:
        source[0, 0] = 1
    if n > 1:
        ones[1, 0] = True
    return source, ones


def leslie(f: Any, s: Any) -> Any:
    """The Leslie matrices of fecundities f[..., n], the first rows, and survival rates s[..., n - 1], below the diagonals.

    >>> import numjet.numpy as jnp
    >>> leslie(jnp.array([1, 2]), jnp.array([3])).tolist()
    [[1, 2], [3, 0]]
    """
    f, s = (jnp.atleast_1d(x) for x in promote_args("scipy.linalg.leslie", f, s))
    n = f.shape[-1]
    if n < 2:
        raise ValueError(f"The length of f along the last axis must be at least 2; got shape {f.shape}.")
    if s.shape[-1] != n - 1:
        raise ValueError("Incorrect lengths for f and s. The length of s along the last axis must be one less than the length "
                         f"of f; got f shape {f.shape} and s shape {s.shape}.")
    batch = np.broadcast_shapes(f.shape[:-1], s.shape[:-1])
    first = jnp.broadcast_to(f[..., None, :], (*batch, 1, n))
    below = _chosen(jnp.eye(n - 1, n, dtype=bool), jnp.broadcast_to(s[..., :, None], (*batch, n - 1, n)), 0)
    return jnp.concatenate([first, below], -2)
