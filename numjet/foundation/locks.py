"""Fork-safe locks: the forking thread holds all of them during the fork. So in the child no lock belongs to a thread that
does not exist there, and no state under a lock is half written.

All are reentrant, as a signal handler or a finalizer may interrupt a critical section of its own thread. Forks wait for
critical sections, so these must be short: no lock is held while a user's function runs. The registry never drops a lock;
make them only for modules and objects that live as long.
"""
from __future__ import annotations

import importlib
import threading
from collections.abc import Callable
from types import ModuleType
from typing import Any

from numjet import _native

_NO_MEMORY = 12   # errno.ENOMEM of all systems

# What imports: numjet.as_jax replaces it, so that this package reaches the installed jaxlib where `import jaxlib` means numjet.
importer: Callable[[str], ModuleType] = importlib.import_module


def lock() -> threading.RLock:
    """A reentrant lock that is held across forks."""
    return held_at_fork(threading.RLock())


def condition() -> threading.Condition:
    """A condition variable with a fork-safe lock."""
    return threading.Condition(lock())


def held_at_fork(other: Any) -> Any:
    """Registers an existing reentrant lock to be held across forks; returns it."""
    return _native.guard_at_fork(other)


def import_module(name: str) -> ModuleType:
    """Imports a module; forks in other threads wait, as a child could never finish an interrupted import.

    Raises MemoryError where there is no memory for reading a file, which Python reports as an OSError.
    """
    try:
        return _native.call_whole(importer, name)
    except OSError as error:
        if error.errno != _NO_MEMORY:
            raise
        raise MemoryError(f"no memory left for importing {name}") from error
