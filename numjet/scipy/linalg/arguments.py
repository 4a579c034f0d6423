"""Promotion and shapes of the arguments of scipy.linalg."""
from __future__ import annotations

from typing import Any

from numjet.numpy.core.creation import asarray
from numjet.numpy.core.promotion import promote_args_inexact


def inexact(name: str, *xs: Any) -> list[Any]:
    """Arguments as floats of one dtype, also lists of numbers, as SciPy takes them; `name` stands in errors."""
    arrays = [asarray(x) if isinstance(x, (list, tuple)) else x for x in xs]
    return list(promote_args_inexact(f"scipy.linalg.{name}", *arrays))


def check_matrices(name: str, *arrays: Any, square: bool = True) -> None:
    """ValueError unless the last two axes of all arrays are (square) matrices: before sizes of these axes are read."""
    for x in arrays:
        if x.ndim < 2 or (square and x.shape[-1] != x.shape[-2]):
            raise ValueError(f"{name}: expected {'square array_like input' if square else 'matrices'}, got shape {x.shape}")
