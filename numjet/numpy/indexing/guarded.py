"""Transfer guards of indices: `x[1]` gives the device a number, as every operand from Python does, unless slices say it all."""
from __future__ import annotations

from typing import Any

from numjet import _native
from numjet.core import transfers
from numjet.core.aval import ShapedArray
from numjet.foundation import dtypes
from numjet.foundation.config import config
from numjet.runtime.device import CPU


def check_index(x: Any, idx: Any) -> None:
    """Asks the guard of transfers for the indices of an Array. New axes, `...`, and slices of whole axes or with another step
    than 1 are part of an operation, and no values."""
    if not (config.transfer_guard or config.transfer_guard_host_to_device) or type(x) is not _native.Array:
        return
    if any(_is_value(entry) for entry in (idx if isinstance(idx, tuple) else (idx,))):
        transfers.check_number(ShapedArray((), dtypes.canonicalize_dtype(int)), CPU)


def _is_value(entry: Any) -> bool:
    if isinstance(entry, slice):
        return entry.step in (None, 1) and not (entry.start is None and entry.stop is None)
    return entry is not None and entry is not Ellipsis
