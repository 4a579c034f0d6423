"""The functions that XLA's FFI C API gives to handlers: errors, states, and a pool of one thread.

Handlers may call them from any thread. Streams, device memory and futures belong to accelerators and get an error.
"""
from __future__ import annotations

import ctypes
import itertools
from collections.abc import Callable
from ctypes import POINTER, addressof, c_void_p, cast
from typing import Any

from numjet.api.ffi import c_api

_FUNCTION = ctypes.CFUNCTYPE(c_void_p, c_void_p)
_errors: dict[int, tuple[int, Any]] = {}  # by address: code, and the message that keeps the address alive
_type_ids = itertools.count(1)
_types: dict[bytes, int] = {}
states: dict[tuple[int, int], int] = {}  # by context and stage


def make_error(code: int, message: bytes) -> int:
    """A new error, as the address that stands for it."""
    text = ctypes.create_string_buffer(message)
    _errors[addressof(text)] = code, text
    return addressof(text)


def take_error(address: int) -> tuple[int, str]:
    """The code and message of an error, which is destroyed."""
    code, text = _errors.pop(address)
    return code, text.value.decode(errors="replace")


def _read(kind: type, address: int) -> Any:
    return cast(address, POINTER(kind)).contents


def _error_create(address: int) -> int:
    args = _read(c_api.ErrorCreate, address)
    return make_error(args.code, args.message or b"")


def _error_message(address: int) -> int:
    args = _read(c_api.ErrorGetMessage, address)
    args.message = args.error
    return 0


def _error_destroy(address: int) -> int:
    _errors.pop(_read(c_api.ErrorDestroy, address).error, None)
    return 0


def type_id(name: bytes) -> int:
    """The number of a type, by its name."""
    return _types.setdefault(name, next(_type_ids))


def _type_register(address: int) -> int:
    args = _read(c_api.TypeRegister, address)
    if not args.type_id[0]:
        args.type_id[0] = type_id(ctypes.string_at(args.name.ptr, args.name.len))
    return 0


def _state_set(address: int) -> int:
    args = _read(c_api.StateSet, address)
    states[args.ctx, args.stage] = args.state
    return 0


def _state_get(address: int) -> int:
    args = _read(c_api.StateSet, address)
    found = states.get((args.ctx, args.stage))
    if found is None:
        return make_error(c_api.NOT_FOUND, b"no state was set in this stage")
    args.state = found
    return 0


def _schedule(address: int) -> int:
    args = _read(c_api.Schedule, address)
    args.task(args.data)
    return 0


def _num_threads(address: int) -> int:
    _read(c_api.NumThreads, address).count[0] = 1
    return 0


def _run_id(address: int) -> int:
    _read(c_api.RunId, address).run_id = 0
    return 0


def _device_ordinal(address: int) -> int:
    _read(c_api.DeviceOrdinal, address).ordinal = 0
    return 0


def _refused(name: str) -> Callable[[int], int]:
    message = f"XLA_FFI_{name} is not available on numjet's CPU backend".encode()
    return lambda address: make_error(c_api.UNIMPLEMENTED, message)


_GIVEN: dict[str, Callable[[int], int]] = {
    "Error_Create": _error_create, "Error_GetMessage": _error_message, "Error_Destroy": _error_destroy,
    "Type_Register": _type_register, "State_Set": _state_set, "State_Get": _state_get, "ThreadPool_Schedule": _schedule,
    "ThreadPool_NumThreads": _num_threads, "RunId_Get": _run_id, "DeviceOrdinal_Get": _device_ordinal}
_functions = {name: _FUNCTION(_GIVEN.get(name) or _refused(name)) for name in c_api.FUNCTIONS}  # alive as long as the module


def _api() -> c_api.Api:
    made = c_api.sized(c_api.Api())
    c_api.sized(made.version)
    made.version.major, made.version.minor = 0, 3
    for name, function in _functions.items():
        setattr(made, name, cast(function, c_void_p))
    return made


API = _api()
