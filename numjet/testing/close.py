"""Comparison of arrays: tolerances by dtype, distances in ulps."""
from __future__ import annotations

from typing import Any

import numpy as np

from numjet.foundation import dtypes

RTOL = {"float16": 2e-3, "bfloat16": 2e-2, "float32": 2e-5, "float64": 1e-11, "complex64": 2e-5, "complex128": 1e-11}


def ulps_apart(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Distance in ulps: the number of representable values from a to b, elementwise; 0 where both are NaN. Complex: the
    larger part, in ulps of the modulus."""
    if a.dtype.kind == "c":
        size = np.maximum(np.abs(a), np.abs(b))
        gap = np.maximum(np.abs(a.real - b.real), np.abs(a.imag - b.imag))
        same = (a == b) | (np.isnan(a) & np.isnan(b))
        with np.errstate(all="ignore"):
            apart = gap / np.maximum(size * np.finfo(a.dtype).eps, np.finfo(a.dtype).tiny)
        return np.where(same, 0.0, np.where(np.isnan(apart), np.inf, apart))
    if a.dtype.itemsize == 2 or a.dtype.kind == "V":
        eps = float(dtypes.finfo(a.dtype).eps)
        wide = lambda x: x.astype(np.float64)
        with np.errstate(all="ignore"):
            gap = np.abs(wide(a) - wide(b)) / np.maximum(np.abs(wide(a)) * eps, float(dtypes.finfo(a.dtype).tiny))
        return np.where((a == b) | ((a != a) & (b != b)), 0.0, np.where(np.isnan(gap), np.inf, gap))
    bits = np.dtype(f"i{a.dtype.itemsize}")
    order = lambda x: np.where(x.view(bits) < 0, np.iinfo(bits).min - x.view(bits), x.view(bits)).astype(np.float64)
    both_nan = np.isnan(a) & np.isnan(b)
    one_nan = np.isnan(a) ^ np.isnan(b)
    return np.where(both_nan, 0.0, np.where(one_nan, np.inf, np.abs(order(a) - order(b))))


def _largest_in_matrix(x: np.ndarray) -> np.ndarray:
    size = np.where(np.isfinite(x), np.abs(x), 0.0)
    return np.max(size, axis=tuple(range(-min(2, x.ndim), 0)), keepdims=True, initial=0.0)


def assert_close(got: Any, want: Any, *, ulps: float = 4, rtol: float | None = None, atol: float = 0.0, sums: bool = False,
                 note: str = "") -> None:
    """Same shape, same dtype, and values that are equal (exact dtypes) or at most `ulps` apart, or within rtol + atol.

    sums: values are sums whose terms may cancel, so rtol is of the largest finite magnitude in the same matrix (the last two
    axes), as error bounds of linear algebra are.
    """
    got, want = np.asarray(got), np.asarray(want)
    assert got.shape == want.shape, f"{note}: shape {got.shape}, expected {want.shape}"
    assert got.dtype == want.dtype, f"{note}: dtype {got.dtype}, expected {want.dtype}"
    if dtypes.kind(want.dtype) not in "fc":
        assert got.tobytes() == want.tobytes() or np.array_equal(got, want), f"{note}: {got} != {want}"
        return
    got, want = np.atleast_1d(got), np.atleast_1d(want)
    apart = ulps_apart(got, want)
    fine = apart <= ulps
    if rtol is not None or atol:
        wide = np.complex128 if want.dtype.kind == "c" else np.float64
        with np.errstate(all="ignore"):
            size = _largest_in_matrix(want.astype(wide)) if sums else np.abs(want.astype(wide))
            fine |= np.abs(got.astype(wide) - want.astype(wide)) <= atol + (rtol or 0.0) * size
    if not fine.all():
        worst = np.unravel_index(np.argmax(np.where(fine, -1, apart)), apart.shape)
        raise AssertionError(f"{note}: {(~fine).sum()} of {fine.size} differ, worst {got[worst]!r} against {want[worst]!r} "
                             f"({apart[worst]:.3g} ulps) at {worst}")
