"""Lazy import of scipy.special, with the first special function that is evaluated."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from numjet.foundation import lazy_import

scipy_special = lazy_import.Module("scipy.special")


def by_scipy(function: str | Callable[..., Any]) -> Any:
    """An eager rule: a function of scipy.special, or one made of such, in the dtype of the first operand, computed in
    float64 (SciPy's float32 versions lose up to 400 ulps)."""
    def eager(*xs: np.ndarray) -> np.ndarray:
        dtype = xs[0].dtype
        wide = [x.astype(np.float64) if x.dtype.itemsize < 8 else x for x in xs]
        fn = getattr(scipy_special, function) if isinstance(function, str) else function
        return fn(*wide).astype(dtype, copy=False)
    return eager
