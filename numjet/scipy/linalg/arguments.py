"""Promotion of the arguments of scipy.linalg."""
from __future__ import annotations

from typing import Any

from numjet.numpy.core.promotion import promote_args_inexact


def inexact(name: str, *xs: Any) -> list[Any]:
    """Arguments as floats of one dtype; `name` stands in errors."""
    return list(promote_args_inexact(f"scipy.linalg.{name}", *xs))
