"""Fork-safe locks: the forking thread holds all of them during the fork, so in the child no lock belongs to a thread that
does not exist there, and no state behind one is half written.

All are reentrant: a signal handler or a finalizer may run in the middle of a section of its own thread. A section must be
bounded, for forks wait for it: no lock is held while a user's function runs. Locks are for modules and other objects that
live as long: the registry never drops one.
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
    """Registers an existing reentrant lock to be held across forks; returns it."""
    return _native.guard_at_fork(other)


def import_module(name: str) -> ModuleType:
    """Imports a module; forks in other threads wait, for a child could never finish a half-done import."""
    return _native.call_whole(importlib.import_module, name)
