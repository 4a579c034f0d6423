"""Targets of foreign calls: C functions by name and platform."""
from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from ctypes import POINTER, c_char_p, c_int64, c_void_p, cast, py_object
from pathlib import Path
from typing import Any

from numjet.api.ffi import c_api, host_api
from numjet.foundation.errors import JaxRuntimeError
from numjet.foundation.record import Record

_NAME = b"xla._CUSTOM_CALL_TARGET"
_FUNCTION: Any = ctypes.CFUNCTYPE(None).__base__  # of all functions of ctypes
_PLATFORMS = {"cpu": "cpu", "host": "cpu"}


def _capsule_function(name: str, result: Any, *arguments: Any) -> Callable[..., Any]:
    return ctypes.PYFUNCTYPE(result, *arguments)((name, ctypes.pythonapi))


_capsule_new = _capsule_function("PyCapsule_New", py_object, c_void_p, c_char_p, c_void_p)
_capsule_name = _capsule_function("PyCapsule_GetName", c_char_p, py_object)
_capsule_pointer = _capsule_function("PyCapsule_GetPointer", c_void_p, py_object, c_char_p)


class Target(Record):
    """A registered function: the address of each of its stages. api_version 1: handlers of XLA's FFI; 0: `f(out, ins)`."""
    name: str
    stages: dict[str, int]
    api_version: int


_alive: list[Any] = []  # capsules and functions of Python, whose memory the addresses are
_targets: dict[tuple[str, str], Target] = {}
_batch_partitionable: set[str] = set()


def pycapsule(funcptr: Any) -> Any:
    """A PyCapsule of a C function, for `register_ffi_target`.

    funcptr: a function of a library that ctypes loaded, or its address.

    >>> import ctypes
    >>> type(pycapsule(ctypes.CDLL(None).abs)).__name__
    'PyCapsule'
    """
    return _capsule_new(address_of(funcptr), _NAME, None)


def address_of(fn: Any) -> int:
    """The address of a PyCapsule, of a function of ctypes, or an int. TypeError for others."""
    if isinstance(fn, int) and not isinstance(fn, bool) and fn > 0:
        return fn
    found = _kept_address(fn)
    if found is None:
        raise TypeError("a foreign function must be a PyCapsule (see numjet.ffi.pycapsule), a function of ctypes or an address,"
                        f" got {fn!r} of type {type(fn).__name__}")
    return found


def _kept_address(fn: Any) -> int | None:
    """The address in an object that says that it is one: a PyCapsule or a function of ctypes. None for others."""
    if type(fn).__name__ == "PyCapsule":
        return _capsule_pointer(fn, _capsule_name(fn))
    return cast(fn, c_void_p).value if isinstance(fn, _FUNCTION) else None


def _registered_address(what: str, fn: Any) -> int:
    """The address of what is registered. JaxRuntimeError for what is none: programs would jump there, so no bare numbers."""
    found = _kept_address(fn)
    if not found:
        raise JaxRuntimeError(f"INVALID_ARGUMENT: {what} must be a PyCapsule (see numjet.ffi.pycapsule) or a function of "
                              f"ctypes, got {fn!r} of type {type(fn).__name__}")
    return found


def register_ffi_target(name: str, fn: Any, platform: str = "cpu", api_version: int = 1, **kwargs: Any) -> None:
    """Registers a C function that `ffi_call` calls by this name.

    fn: a PyCapsule (or what `pycapsule` takes), or a dictionary with one for each stage: "execute", and perhaps "instantiate",
    which runs once, "prepare" and "initialize", which run before each call.
    platform: functions for "cpu" are called; others are kept, and no device of numjet's own calls them.
    api_version: 1: handlers of XLA's typed FFI, `XLA_FFI_Error* f(XLA_FFI_CallFrame*)`; 0: `void f(void* out, void** ins)`,
    where `out` is the result's memory, or that of an array of pointers if there are several.
    Raises ValueError for another function under a name that is taken, JaxRuntimeError for what is no function, other stages
    and versions, and TypeError for extra arguments, which are XLA's own.
    """
    if kwargs:
        raise TypeError(f"register_ffi_target: the arguments {sorted(kwargs)} are XLA's own; leave them out")
    if api_version not in (0, 1):
        raise JaxRuntimeError(f"UNIMPLEMENTED: API version {api_version} is not supported: api_version must be 1 (typed FFI) "
                              "or 0 (untyped)")
    stages = _stages(str(name), fn, api_version)
    _alive.append(fn)
    key, made = (_platform(platform), str(name)), Target(str(name), stages, api_version)
    if _targets.setdefault(key, made) != made:
        raise ValueError(f"register_ffi_target: {name} is registered for {platform} as another function; choose another name")


def _stages(name: str, fn: Any, api_version: int) -> dict[str, int]:
    """The address of each stage of a target. JaxRuntimeError for others than there are."""
    stages = {stage: _registered_address(f"stage {stage} of {name}", f) for stage, f in fn.items()} if isinstance(fn, dict) \
        else {"execute": _registered_address(f"the function of {name}", fn)}
    if not stages.keys() <= c_api.STAGES.keys() or "execute" not in stages or (len(stages) > 1 and not api_version):
        raise JaxRuntimeError(f"INVALID_ARGUMENT: the stages of {name} must be execute and perhaps instantiate, prepare and "
                              f"initialize (execute alone for api_version 0), got {sorted(stages)}")
    return stages


def _platform(platform: str) -> str:
    return _PLATFORMS.get(platform.lower(), platform.lower())


def target(name: str) -> Target:
    """The function of that name on the CPU. JaxRuntimeError if there is none."""
    found = _targets.get(("cpu", name))
    if found is None:
        raise JaxRuntimeError(f"No registered implementation for FFI target {name!r} on platform cpu: call "
                              "numjet.ffi.register_ffi_target before the program runs")
    return found


def register_ffi_target_as_batch_partitionable(name: str) -> None:
    """Declares that a batch of calls may be split among devices. A hint: programs here run on one device."""
    _batch_partitionable.add(str(name))


def register_ffi_type(name: str, type_registration: dict[str, Any], platform: str = "cpu") -> None:
    """Registers a type of handlers' state.

    type_registration: `{"type_id": capsule, "type_info": capsule}`, pointers to an XLA_FFI_TypeId, which gets the number of
    the type, and to an XLA_FFI_TypeInfo. States live as long as the process. JaxRuntimeError for others.
    """
    if not isinstance(type_registration, dict) or "type_id" not in type_registration:
        raise JaxRuntimeError("INVALID_ARGUMENT: register_ffi_type takes a dictionary with a PyCapsule under 'type_id' (and "
                              f"'type_info'), got {type_registration!r}")
    number = cast(_registered_address(f"the type_id of {name}", type_registration["type_id"]), POINTER(c_int64))
    if not number[0]:
        number[0] = host_api.type_id(str(name).encode())


def include_dir() -> str:
    """The directory of the headers `xla/ffi/api/...`, which jaxlib brings. FileNotFoundError where it is not installed."""
    for place in sys.path:
        found = Path(place) / "jaxlib" / "include"
        if (found / "xla" / "ffi" / "api" / "c_api.h").is_file():
            return str(found)
    raise FileNotFoundError("ffi.include_dir: the headers of XLA's FFI come with jaxlib, which is not installed: pip install "
                            "jaxlib, or compile handlers against a copy of them. Calling handlers needs no header.")
