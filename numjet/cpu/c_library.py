"""Functions of the C and maths libraries, by name."""
from __future__ import annotations

import ctypes
import ctypes.util
import functools
import platform
from typing import Any


def c_function(name: str) -> Any | None:
    """The function as a ctypes object; None where there is none.

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
    """The address of a C function; None where there is none."""
    function = c_function(name)
    return None if function is None else ctypes.cast(function, ctypes.c_void_p).value


@functools.cache
def _libraries() -> tuple[ctypes.CDLL, ...]:
    names = [ctypes.util.find_library("m"), ctypes.util.find_library("c")]
    if platform.system() == "Windows":
        names = ["ucrtbase", "msvcrt"]
    return tuple(ctypes.CDLL(name) for name in names if name)
