"""Locks that survive a fork: the thread that forks holds all of them meanwhile, so a child finds none in the hands of a
thread that it does not have, and nothing half written behind one.

All are reentrant: a signal handler, or a finalizer, may run in the middle of a section of its own thread. A section must be
bounded, for forks wait for it: no lock is held while a user's function runs. Locks are for modules and what lives as long as
they do: none is ever forgotten.
"""
from __future__ import annotations

import importlib
import threading
from types import ModuleType
from typing import Any

from numjet import _native


def lock() -> threading.RLock:
    """A reentrant lock that is held across forks."""
    return held_at_fork(threading.RLock())


def condition() -> threading.Condition:
    """A condition variable with such a lock."""
    return threading.Condition(lock())


def held_at_fork(other: Any) -> Any:
    """Has a reentrant lock of somebody else held across forks; returns it."""
    return _native.guard_at_fork(other)


def import_module(name: str) -> ModuleType:
    """Imports a module on demand; forks in other threads wait, for a child could never import what is half imported."""
    return _native.call_whole(importlib.import_module, name)
