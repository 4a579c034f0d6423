"""Transfer guards: what happens when values go between the host and a device, or from one device to another.

Python and NumPy values that programs take are transfers to the device, as on every backend, although the CPU's memory is the
host's; reading an array of the CPU is none. A guard for one direction goes before `jax_transfer_guard`, which is for all.
"""
from __future__ import annotations

import threading
from typing import Any

from numjet import _native
from numjet.foundation import events
from numjet.foundation.config import config
from numjet.foundation.errors import JaxRuntimeError

_MEANT = {"host_to_device": "device_put", "device_to_device": "device_put", "device_to_host": "device_get"}


class _Thread(threading.local):
    explicit = False   # whether the user has written device_get
    compiling = False  # whether a program's own numbers are computed


_thread = _Thread()


def meant() -> _native.Scope:
    """A block in which values are read because the user has asked for it."""
    return _native.Scope(_thread, "explicit", True)


def compiling() -> _native.Scope:
    """A block in which known values of a program are computed, which nobody transfers."""
    return _native.Scope(_thread, "compiling", True)


def check_number(aval: Any, device: Any) -> None:
    """check() of a number that an operation outside of programs takes."""
    if (config.transfer_guard or config.transfer_guard_host_to_device) and not _thread.compiling:
        check("host_to_device", False, aval, device)


def check_reading(aval: Any) -> None:
    """check() of an array of XLA's that is read."""
    check("device_to_host", _thread.explicit, aval, "one of XLA's")


def unguarded() -> bool:
    """Whether no guard is set."""
    return all(level in (None, "allow") for level in (config.transfer_guard, *map(_own, _MEANT)))


def check(direction: str, explicit: bool, aval: Any, device: Any) -> None:
    """Raises JaxRuntimeError, or logs, if the guard for a direction asks for it. explicit: the user wrote device_put."""
    level = _own(direction) or config.transfer_guard
    if level in (None, "allow") or (explicit and not level.endswith("_explicit")):
        return
    text = f"{direction.replace('_', '-')} transfer: aval={aval}, device={device}"
    if level.startswith("log"):
        events.logger().warning("%s", text)
        return
    remedy = "" if explicit else f" Write jax.{_MEANT[direction]}(x), which says that the transfer is meant."
    raise JaxRuntimeError(f"INVALID_ARGUMENT: Disallowed {text}; jax_transfer_guard is '{level}'.{remedy}")


def _own(direction: str) -> str | None:
    level: str | None = getattr(config, f"transfer_guard_{direction}")
    return level
