"""GC pause: fewer collections of cyclic garbage while programs are traced and compiled.

Tracing makes very many objects that all stay in use. Python's collector would scan them, and everything else in the
process, again and again, and find nothing.
"""
from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

from numjet.foundation import locks

_RARE = (200_000, 20, 100)

_lock = locks.lock()
_depth = 0
_before = gc.get_threshold()


@contextmanager
def rare_collections() -> Iterator[None]:
    """Raises the thresholds of the garbage collector for a block, in whatever thread; blocks may be nested."""
    global _depth, _before
    with _lock:
        if _depth == 0:
            _before = gc.get_threshold()
            if 0 < _before[0] < _RARE[0]:
                gc.set_threshold(*_RARE)
        _depth += 1
    try:
        yield
    finally:
        with _lock:
            _depth -= 1
            if _depth == 0 and gc.get_threshold() == _RARE:
                gc.set_threshold(*_before)
