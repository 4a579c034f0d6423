"""Matrices of known numbers: Hadamard, Helmert, Pascal, inverses of Pascal and Hilbert matrices."""
from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

import numjet.numpy as jnp
from numjet.foundation import dtypes

_KINDS = ("symmetric", "lower", "upper")


def hadamard(n: int, dtype: Any = int) -> Any:
    """The Hadamard matrix of order n, a power of 2, by Sylvester's construction. ValueError for other n.

    >>> hadamard(2).tolist()
    [[1, 1], [1, -1]]
    """
    n = operator.index(n)
    if n < 1 or n & (n - 1):
        raise ValueError(f"n must be a positive power of 2; got {n}.")
    found = np.ones((1, 1), np.int8)
    while found.shape[0] < n:
        found = np.block([[found, found], [found, -found]])
    return jnp.asarray(found, dtypes.canonicalize_dtype(np.dtype(dtype)))


def helmert(n: int, full: bool = False) -> Any:
    """The Helmert matrix of order n, orthonormal contrasts of each element with those in front; full: with the row of means.

    >>> helmert(2).round(3).tolist()
    [[0.7070000171661377, -0.7070000171661377]]
    """
    n = operator.index(n)
    if n < 1:
        raise ValueError(f"n must be a positive integer; got {n}.")
    row, column = np.arange(n)[:, None], np.arange(n)[None, :]
    found = np.where(column < row, 1.0, np.where(column == row, -row, 0.0)) / np.sqrt(np.maximum(row * (row + 1.0), 1))
    found[0] = 1 / math.sqrt(n)
    return _floats(found if full else found[1:])


def invhilbert(n: int) -> Any:
    """The inverse of the Hilbert matrix of order n: whole numbers, in floats.

    >>> invhilbert(2).tolist()
    [[4.0, -6.0], [-6.0, 12.0]]
    """
    n = _order("invhilbert", n)
    factors = np.array([_as_float((-1) ** i * math.factorial(n + i) // (math.factorial(i) ** 2 * math.factorial(n - 1 - i)))
                        for i in range(n)])
    k = np.arange(n)
    with np.errstate(over="ignore"):
        return _floats(np.outer(factors, factors) / (k[:, None] + k[None, :] + 1.0))


def pascal(n: int, kind: str | None = None) -> Any:
    """The Pascal matrix of order n: binomial coefficients (i + j over i), or with kind "lower" or "upper" its triangular
    factors, in floats.

    >>> pascal(3).tolist()
    [[1.0, 1.0, 1.0], [1.0, 2.0, 3.0], [1.0, 3.0, 6.0]]
    """
    kind, n = _kind(kind), _order("pascal", n)
    with np.errstate(over="ignore"):
        return _floats(_symmetric(n) if kind == "symmetric" else _triangle(n, kind))


def invpascal(n: int, kind: str | None = None) -> Any:
    """The inverse of pascal(n, kind).

    >>> invpascal(2).tolist()
    [[2.0, -1.0], [-1.0, 1.0]]
    """
    kind, n = _kind(kind), _order("invpascal", n)
    k = np.arange(n)
    signs = np.where((k[:, None] + k[None, :]) % 2, -1.0, 1.0)
    with np.errstate(over="ignore", invalid="ignore"):
        lower = _triangle(n, "lower")
        return _floats(signs * (lower.T @ lower if kind == "symmetric" else _triangle(n, kind)))


def _floats(x: np.ndarray) -> Any:
    return jnp.asarray(x, dtypes.canonicalize_dtype(np.float64))


def _as_float(x: int) -> float:
    return float(x) if abs(x) < 1 << 1023 else math.copysign(math.inf, x)


def _order(name: str, n: int) -> int:
    found = int(operator.index(n))
    if found < 0:
        raise ValueError(f"{name}: n must be a non-negative integer; got {n}.")
    return found


def _kind(kind: str | None) -> str:
    if kind is not None and kind not in _KINDS:
        raise ValueError(f"Expected kind to be one of: {list(_KINDS)}; got {kind}")
    return kind or "symmetric"


def _symmetric(n: int) -> np.ndarray:
    """Each row holds the sums of the one above."""
    rows = [np.ones(n)]
    for _ in range(1, n):
        rows.append(np.cumsum(rows[-1]))
    return np.array(rows).reshape(n, n)


def _triangle(n: int, kind: str) -> np.ndarray:
    i, j = np.arange(n)[:, None], np.arange(n)[None, :]
    lower = np.where(i >= j, _symmetric(n)[np.maximum(i - j, 0), j], 0.0)
    return lower if kind == "lower" else lower.T
