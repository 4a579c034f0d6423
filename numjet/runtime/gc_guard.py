"""Garbage collection guard: says when arrays were in reference cycles, so that their memory waited for Python's collector.

While the flag jax_array_garbage_collection_guard is "log", arrays are counted before and after each collection.
"""
from __future__ import annotations

import gc
from typing import Any

from numjet import _native
from numjet.foundation import events
from numjet.foundation.config import config

_before: list[int] = []


def _on_collection(phase: str, info: dict[str, Any]) -> None:
    if phase == "start":
        # A collection may begin while a new thread gets its flags, one by one.
        logs = config.__dict__.get("array_garbage_collection_guard") == "log"
        _before[:] = [len(_native.live_arrays())] if logs else []
    elif _before:
        freed = _before.pop() - len(_native.live_arrays())
        if freed > 0:
            events.logger().error(
                "%d array%s deleted by the Python garbage collector instead of reference counting. Break the reference cycle "
                "that delays the deletion, for example an object that refers to itself, to free the memory at once.",
                freed, " was" if freed == 1 else "s were")


def follow_flag() -> None:
    """Watches collections from when the flag first says so."""
    if config.array_garbage_collection_guard == "log" and _on_collection not in gc.callbacks:
        gc.callbacks.append(_on_collection)


config.on_change(follow_flag)
follow_flag()
