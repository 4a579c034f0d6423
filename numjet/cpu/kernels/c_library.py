"""Functions of the C and maths libraries, by name."""
from __future__ import annotations

import contextlib
import ctypes
import functools
import platform
from typing import Any

# By system; None stands for the libraries of this process. ctypes.util.find_library would start other programs to find them.
_NAMES: dict[str, tuple[str | None, ...]] = {
    "Linux": ("libm.so.6", "libc.so.6", None), "Darwin": ("libSystem.B.dylib", None), "Windows": ("ucrtbase", "msvcrt")}


def c_function(name: str) -> Any | None:
    """The function as a ctypes object; None if there is none.

    Example:
        >>> c_function("no_such_function") is None
        True
    """
    for library in _libraries():
        function = getattr(library, name, None)
        if function is not None:
            return function
    return None


@functools.cache
def c_symbol(name: str) -> int | None:
    """The address of a C function; None if there is none."""
    function = c_function(name)
    return None if function is None else ctypes.cast(function, ctypes.c_void_p).value


@functools.cache
def _libraries() -> tuple[ctypes.CDLL, ...]:
    found = []
    for name in _NAMES.get(platform.system(), (None,)):
        with contextlib.suppress(OSError):
            found.append(ctypes.CDLL(name))
    return tuple(found)
