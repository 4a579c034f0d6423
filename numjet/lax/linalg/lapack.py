"""LAPACK for eager rules, by SciPy, which is imported when the first matrix is factored."""
from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from numjet.core.aval import ShapedArray
from numjet.foundation import lazy_import

blas, lapack = lazy_import.Module("scipy.linalg.blas"), lazy_import.Module("scipy.linalg.lapack")
CODES = {"float32": 0, "float64": 1, "complex64": 2, "complex128": 3}  # as native/kernels/linalg/lapack.h has them


@functools.cache
def routine(name: str, dtype: np.dtype) -> Callable[..., Any]:
    """A function of scipy.linalg.lapack or scipy.linalg.blas for a dtype; real names stand for the complex ones, too."""
    letter = "sdcz"[CODES[dtype.name]]
    if dtype.kind == "c":
        name = {"orgqr": "ungqr", "syevd": "heevd", "sytrd": "hetrd"}.get(name, name)
    return getattr(blas if name == "trsm" else lapack, letter + name)


def over_batch(fn: Callable[..., Sequence[np.ndarray]], outs: Sequence[ShapedArray], args: Sequence[tuple[np.ndarray, int]],
               ) -> list[np.ndarray]:
    """Applies fn to every element of a batch. args: (array, rank of an element); fn returns the elements of `outs`."""
    first, rank = args[0]
    batch = first.shape[:first.ndim - rank]
    results = [np.zeros(a.shape, a.dtype) for a in outs]
    if prod(batch) == 0:
        return results
    for index in np.ndindex(*batch):
        for out, value in zip(results, fn(*[x[index] for x, _ in args]), strict=True):
            out[index] = value
    return results
