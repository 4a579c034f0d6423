"""The mesh axes along which the batch of the vmap whose rules run is divided (spmd_axis_name), for rules of sharding."""
from __future__ import annotations

import threading
from typing import Any

from numjet import _native


class _Current(threading.local):
    spmd: tuple[Any, ...] = ()


current = _Current()


def along(axes: tuple[Any, ...]) -> _native.Scope:
    """A block in which rules of batches are of one that is divided along axes."""
    return _native.Scope(current, "spmd", axes)
