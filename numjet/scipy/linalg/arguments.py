"""Promotion of the arguments of scipy.linalg."""
from __future__ import annotations

from typing import Any

from numjet.numpy.core.creation import asarray
from numjet.numpy.core.promotion import promote_args_inexact


def inexact(name: str, *xs: Any) -> list[Any]:
    """Arguments as floats of one dtype, also lists of numbers, as SciPy takes them; `name` stands in errors."""
    arrays = [asarray(x) if isinstance(x, (list, tuple)) else x for x in xs]
    return list(promote_args_inexact(f"scipy.linalg.{name}", *arrays))
