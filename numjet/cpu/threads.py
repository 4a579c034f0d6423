"""How many threads compiled programs share their loops among: what the flag `numjet_num_threads` says.

The number belongs to the process: a change in one thread, `with`-blocks included, holds for all.
"""
from __future__ import annotations

from numjet import _native
from numjet.foundation.config import config

_AS_MANY_AS_PROCESSORS = 1 << 20
_applied: list[int | None] = [None]


def follow_flag() -> None:
    """Gives the pool as many threads as the flag says now; none says: one per processor."""
    count = config.numjet_num_threads
    if count != _applied[0]:
        _native.set_num_threads(_AS_MANY_AS_PROCESSORS if count is None else count)
        _applied[0] = count


config.on_change(follow_flag)
