"""What programs ask of a device's surroundings: the client that all devices of a platform belong to, and their memories."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from numjet import _native
from numjet.foundation.record import Record


class Memory(Record):
    """The memory of a device. It has one, of kind "device"."""
    device: Any
    kind: str = "device"

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
    if kind != "device":
        raise ValueError(f"Could not find memory addressable by device {device}: it can address the following memory kinds: "
                         f"device. Got memory kind: {kind}")
    return Memory(device)
