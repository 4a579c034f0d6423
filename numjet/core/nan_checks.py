"""NaN checks (the flags jax_debug_nans and jax_debug_infs): which values are invalid, and the error with their location."""
from __future__ import annotations

from typing import Any

import numpy as np

from numjet.core.aval import ShapedArray
from numjet.foundation import dtypes, source
from numjet.foundation.config import config


def checked_kinds() -> tuple[str, ...]:
    """The kinds of invalid values checked now: "nan", "inf", both or none."""
    return ("nan",) * config.debug_nans + ("inf",) * config.debug_infs


def can_be_invalid(aval: ShapedArray) -> bool:
    """Whether values of a type may be NaN or infinite."""
    return aval.size > 0 and aval.dtype.names is None and dtypes.issubdtype(aval.dtype, np.inexact)


def invalid_value(kind: str, operation: str, where: Any) -> FloatingPointError:
    """The error: kind is "nan" or "inf", `where` the user's frame or None."""
    frame = where.frame if isinstance(where, source.Source) else where
    found = f" at {frame.file}:{frame.line} in {frame.function}" if frame is not None else ""
    return FloatingPointError(f"invalid value ({kind}) encountered in {operation}{found}")


def check_value(value: np.ndarray, aval: ShapedArray, operation: str) -> None:
    """Raises FloatingPointError when the result of an operation holds an invalid value."""
    if not can_be_invalid(aval):
        return
    wide = value if value.dtype.kind in "fc" else value.astype(np.float32)
    for kind in checked_kinds():
        if (np.isnan(wide) if kind == "nan" else np.isinf(wide)).any():
            raise invalid_value(kind, operation, source.user_frame())
