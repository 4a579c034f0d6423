"""The functions that XLA's FFI C API gives to handlers, which the native core has (`native/runtime/foreign/host_api.cpp`).

Handlers may call them from any thread, at any time. Streams, device memory and futures belong to accelerators and get an error.
"""
from __future__ import annotations

import ctypes
from ctypes import c_char_p, c_int64, c_void_p
from typing import Any

from numjet import _native
from numjet.api.ffi import c_api


def _function(name: str, result: Any, *arguments: Any) -> Any:
    return ctypes.CFUNCTYPE(result, *arguments)(_native.kernel_address(name))


_type_number = _function("nj_ffi_type_number", c_int64, c_char_p, c_int64)
_destroy_error = _function("nj_ffi_destroy_error", None, c_void_p)
API: int = _function("nj_ffi_api", c_void_p)()


def take_error(address: int) -> tuple[int, str]:
    """The code and message of an error, which is destroyed."""
    found = c_api.Error.from_address(address)
    code, message = found.code, found.message.decode(errors="replace")
    _destroy_error(address)
    return code, message


def type_id(name: bytes) -> int:
    """The number of a type, by its name. MemoryError without memory."""
    found = _type_number(name, len(name))
    if not found:
        raise MemoryError(f"ffi: no memory for the type {name!r}")
    return int(found)
