"""Distances in units in the last place."""
from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from numjet.foundation import dtypes


@cache
def _values_of(dtype: np.dtype) -> np.ndarray:
    """All numbers of a float dtype of at most one byte, in ascending order, zeros once."""
    found = np.arange(2 ** dtypes.itemsize_bits(dtype), dtype=np.uint8).view(dtype).astype(np.float64)
    return np.unique(found[~np.isnan(found)])


def _ranks(x: np.ndarray) -> np.ndarray:
    """The positions of real numbers among those of their dtype, zeros at 0."""
    if x.dtype.itemsize == 1:
        values = _values_of(x.dtype)
        return np.searchsorted(values, x.astype(np.float64)) - np.searchsorted(values, 0.0)
    bits = np.ascontiguousarray(x).view(f"i{x.dtype.itemsize}").astype(np.int64).reshape(x.shape)
    lowest = np.iinfo(f"i{x.dtype.itemsize}").min
    return np.where(bits < 0, lowest - bits, bits)


def _of_real(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    ranks, others = _ranks(a), _ranks(b)
    same_side = (ranks < 0) == (others < 0)
    near = np.abs(np.where(same_side, ranks - others, 0)).astype(np.float64)
    apart = np.where(same_side, near, np.abs(ranks.astype(np.float64)) + np.abs(others.astype(np.float64)))
    nans = np.isnan(a).astype(int) + np.isnan(b)
    apart = np.where((np.isinf(a) | np.isinf(b)) & (a != b), np.inf, apart)
    return np.where(nans == 2, 0.0, np.where(nans == 1, np.inf, apart))


def ulps(actual: Any, desired: Any) -> np.ndarray:
    """The distance of floats or complex numbers of one dtype, elementwise: how many steps to the next number lead from one to
    the other.

    0 where both are NaN, infinity where one is NaN, or one is infinite and they differ. Zeros of both signs are equal. Complex
    numbers: the larger distance of their parts, each in the spacing of numbers at the modulus. TypeError for other dtypes, and
    for two dtypes.

    >>> import numpy as np
    >>> ulps(np.float32([1, 2, np.nan]), np.float32([np.nextafter(np.float32(1), np.float32(2)), 2, 0])).tolist()
    [1.0, 0.0, inf]
    """
    a, b = np.asarray(actual), np.asarray(desired)
    if a.dtype != b.dtype or dtypes.kind(a.dtype) not in "fc":
        raise TypeError(f"ulps: expected floats or complex numbers of one dtype, got {a.dtype.name} and {b.dtype.name}")
    with np.errstate(all="ignore"):
        if a.dtype.kind != "c":
            return _of_real(a, b)
        return _of_complex(a, b)


def _of_complex(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    finite = np.isfinite(a) & np.isfinite(b)
    spacing = np.spacing(np.maximum(np.abs(a), np.abs(b)))
    gap = np.maximum(np.abs(a.real - b.real), np.abs(a.imag - b.imag)) / spacing
    parts = np.maximum(_of_real(a.real, b.real), _of_real(a.imag, b.imag))
    return np.where(finite & np.isfinite(spacing), np.minimum(gap, parts), parts).astype(np.float64)
