"""Fork-safe locks: the forking thread holds all of them during the fork. So in the child no lock belongs to a thread that
does not exist there, and no state under a lock is half written.

All are reentrant, as a signal handler or a finalizer may interrupt a critical section of its own thread. Forks wait for
critical sections, so these must be short: no lock is held while a user's function runs. The registry never drops a lock;
make them only for modules and objects that live as long.
"""
from __future__ import annotations

import importlib
import re
import threading
import time
from collections.abc import Callable
from types import ModuleType
from typing import Any

from numjet import _native

_NO_MEMORY = 12   # errno.ENOMEM of all systems
_INCOMPLETE_NODE = re.compile(r"field '\w+' is required for \w+")   # what Python's parser says of a node without a part
_PAUSE = 1e-3     # seconds, in which another thread ends an import that this one was in the way of

_importing = threading.local()   # .depth: how many calls of import_module this thread is inside of

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

    Threads may import at once. Packages are imported before their modules: Python itself locks the module first, then waits
    for its package, while another thread may have locked the package and wait for the module. Where Python finds such a circle
    of other origin, this thread gives up its locks and tries again. Raises MemoryError where there is no memory for reading or
    parsing a file, which Python reports as an OSError or a ValueError.
    """
    while True:
        try:
            return _imported(name)
        except RuntimeError as error:
            if type(error).__name__ != "_DeadlockError" or getattr(_importing, "depth", 0) > 0:
                raise
        time.sleep(_PAUSE)


def _imported(name: str) -> ModuleType:
    _importing.depth = getattr(_importing, "depth", 0) + 1
    try:
        for end, character in enumerate(name):
            if character == ".":
                _native.call_whole(importer, name[:end])
        return _native.call_whole(importer, name)
    except (OSError, ValueError) as error:
        if not _is_out_of_memory(error):
            raise
        raise MemoryError(f"no memory left for importing {name}") from error
    finally:
        _importing.depth -= 1


def _is_out_of_memory(error: OSError | ValueError) -> bool:
    """Whether an import failed for want of memory: Python's parser, out of memory, builds nodes without their parts."""
    if isinstance(error, OSError):
        return error.errno == _NO_MEMORY
    return _INCOMPLETE_NODE.fullmatch(str(error)) is not None
