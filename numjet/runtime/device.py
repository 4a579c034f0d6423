"""Devices, where arrays live and programs run, and the choice of one when none is named."""
from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from typing import Any

from numjet import _native
from numjet.foundation.config import config
from numjet.foundation.record import Record
from numjet.runtime import backends

_NAMES = {"cpu": "Cpu", "gpu": "Cuda", "tpu": "Tpu", "xla_cpu": "XlaCpu"}


class Device(Record):
    """One device of a platform: "cpu" is numjet's own backend; "xla_cpu", "gpu" and "tpu" run programs by XLA."""
    platform: str
    id: int = 0
    device_kind: str = "cpu"
    process_index: int = 0

    def __repr__(self) -> str:
        return f"{_NAMES[self.platform]}Device(id={self.id})"

    def __str__(self) -> str:
        return f"{self.platform.upper()}_{self.id}"


CPU = Device("cpu")
other_platforms: set[str] = set()  # those whose devices were listed


@functools.cache
def _devices(platform: str) -> tuple[Device, ...]:
    if platform == "cpu":
        return (CPU,)
    found = tuple(Device(platform, *record) for record in backends.load_backend(platform).device_records(platform))
    other_platforms.add(platform)
    return found


def devices(backend: str | None = None) -> list[Device]:
    """The devices of a platform: cpu, xla_cpu, gpu (or cuda), tpu; default: the default backend's.

    Raises RuntimeError for a platform that is unknown or not installed, with the remedy.
    """
    return list(_devices(default_backend() if backend is None else backends.canonical(backend)))


def default_backend() -> str:
    """The platform used where no device is named: the first of jax_platforms, else cpu."""
    wanted = config.platforms or config.platform_name
    return backends.canonical(wanted.split(",")[0].strip()) if wanted else "cpu"


def default_device() -> Device:
    """The device of results that no argument pins: jax_default_device, else the first of the default backend."""
    wanted = config.default_device
    if wanted is None:
        return devices()[0]
    return wanted if isinstance(wanted, Device) else devices(wanted)[0]


def elsewhere() -> bool:
    """Whether arrays may be on, or results be meant for, another device than numjet's own CPU."""
    return bool(other_platforms) or default_elsewhere()


def default_elsewhere() -> bool:
    """Whether results that no argument pins may be meant for another device than numjet's own CPU."""
    return bool(config.platforms or config.platform_name or config.default_device)


def on_host(x: Any) -> bool:
    """Whether an Array is in the host's memory."""
    return not other_platforms or x._remote is None


def choose(values: Iterable[Any], what: str, given: Device | None = None, names: Sequence[str] = ()) -> Device:
    """The device of a computation: the one that its operands are committed to, else `given` or the default.

    Raises ValueError when operands are committed to several devices.
    """
    found: tuple[int, Any] | None = None
    for k, x in enumerate(values):
        if type(x) is not _native.Array or not x.committed or (found is not None and found[1].device == x.device):
            continue
        if found is not None:
            raise _incompatible(what, found, (k, x), names)
        found = k, x
    if found is None:
        return given or default_device()
    if given is not None and found[1].device != given:
        raise ValueError(f"{what} is to run on {given}, but {_argument(found, names)} is committed to {found[1].device}. "
                         f"Move it with device_put(x, {given!r}), or leave the device to the arguments.")
    return found[1].device


def _argument(numbered: tuple[int, Any], names: Sequence[str]) -> str:
    k, x = numbered
    return f"argument {names[k] if k < len(names) else k} of shape {x.aval.str_short()}"


def _incompatible(what: str, first: tuple[int, Any], second: tuple[int, Any], names: Sequence[str]) -> ValueError:
    return ValueError(f"Received incompatible devices for {what}. Got {_argument(first, names)} on device {first[1].device}, "
                      f"and {_argument(second, names)} on device {second[1].device}. Move one of them with device_put.")
