"""What programs ask of a device's surroundings: the client that all devices of a platform belong to, and their memories."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from numjet import _native
from numjet.core.sharding.memory import CPU_KINDS, DEVICE, no_such_memory
from numjet.foundation.record import Record
from numjet.runtime import backends


class Memory(Record):
    """One of the memories that programs of a device read."""
    device: Any
    kind: str = DEVICE

    @property
    def platform(self) -> str:
        return self.device.platform

    @property
    def process_index(self) -> int:
        return self.device.process_index

    def addressable_by_devices(self) -> list[Any]:
        """The devices whose programs read it."""
        return [self.device]

    def __repr__(self) -> str:
        return f"DeviceMemory(device={self.device!r}, kind={self.kind!r})"


class Client:
    """All devices of a platform, of this process and others."""

    runtime_type = "numjet"

    def __init__(self, platform: str, every: Sequence[Any], process: int):
        self.platform, self._every, self._process = platform, tuple(every), process

    platform_version = property(lambda self: self.platform)

    def devices(self) -> list[Any]:
        """The devices of all processes."""
        return list(self._every)

    def local_devices(self) -> list[Any]:
        """The devices of this process."""
        return [d for d in self._every if d.process_index == self._process]

    def device_count(self) -> int:
        """How many devices all processes have."""
        return len(self._every)

    def local_device_count(self) -> int:
        """How many devices this process has."""
        return len(self.local_devices())

    def process_index(self) -> int:
        """The number of this process."""
        return self._process

    host_id = task_id = process_index

    def device_from_local_hardware_id(self, number: int) -> Any:
        """The device with a number in this process. RuntimeError for one that is not there."""
        found = self.local_devices()
        if not 0 <= number < len(found):
            raise RuntimeError(f"device {number} of this process does not exist: it has {len(found)} of platform "
                               f"{self.platform}")
        return found[number]

    def live_arrays(self) -> list[Any]:
        """The arrays on its devices that are alive and not deleted."""
        return [x for x in _native.live_arrays() if getattr(x.device, "platform", None) == self.platform]

    def __repr__(self) -> str:
        return f"Client(platform={self.platform!r}, process_index={self._process}, device_count={len(self._every)})"


def memory_of(device: Any, kind: str) -> Memory:
    """The memory of a device of a kind. ValueError for a kind that it does not have."""
    kinds = kinds_of(device)
    if kind not in kinds:
        raise no_such_memory(device.device_kind, kinds, kind)
    return Memory(device, kind)


def kinds_of(device: Any) -> tuple[str, ...]:
    """The kinds of memory of a device, its own first. Those of the CPU name the one memory that it has."""
    if device.platform == "cpu":
        return CPU_KINDS
    return tuple(backends.load_backend(device.platform).memory_kinds(device.platform, device.id))
