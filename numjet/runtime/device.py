"""Devices: where arrays live and programs run."""
from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Device:
    """One device of a platform. `platform` is "cpu" for numjet's own machine."""
    platform: str
    id: int = 0
    device_kind: str = "cpu"
    process_index: int = 0

    def __repr__(self) -> str:
        return f"{self.platform.capitalize() if self.platform != 'cpu' else 'Cpu'}Device(id={self.id})"

    def __str__(self) -> str:
        return f"{self.platform.upper()}_{self.id}"


CPU = Device("cpu")


def devices(backend: str | None = None) -> list[Device]:
    """The devices of a platform (default: cpu).

    Raises RuntimeError for a platform that is not there.
    """
    if backend in (None, "cpu"):
        return [CPU]
    raise RuntimeError(f"Unknown backend {backend!r}: this installation has 'cpu' only.")
