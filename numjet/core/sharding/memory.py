"""Memory spaces: in which of a device's memories a value is, as types say it, and the kinds by which devices name them.

The space Device is the default, of which types say nothing. On the CPU all memory is the host's, so there a space is a part
of types and shardings, and a move between two changes nothing else.
"""
from __future__ import annotations

from enum import Enum
from typing import Any

DEVICE, PINNED, UNPINNED = "device", "pinned_host", "unpinned_host"
CPU_KINDS = (DEVICE, PINNED, UNPINNED)


class MemorySpace(Enum):
    """A memory space: the device's own memory, or memory of the host that devices reach.

    >>> Space.Host
    MemorySpace.Host
    """

    Device = 1
    Host = 2
    Any = 3

    def __repr__(self) -> str:
        return f"MemorySpace.{self.name}"

    __str__ = __repr__


Space = MemorySpace  # under JAX's name


def kind_of(space: Space) -> str:
    """The kind of memory that stands for a space. ValueError for Any, which leaves it open."""
    if space is Space.Any:
        raise ValueError("MemorySpace.Any names no memory that an array can be in: expected MemorySpace.Device or "
                         "MemorySpace.Host")
    return PINNED if space is Space.Host else DEVICE


def space_of(kind: str | None) -> Space:
    """The space that types name for a kind of memory."""
    return Space.Host if kind == PINNED else Space.Device


def known_kind(kind: str) -> str:
    """A kind of memory that a program names. ValueError for an unknown one."""
    if kind not in CPU_KINDS:
        raise ValueError(f"Got invalid memory kind: {kind}. Valid memory kinds are: {', '.join(CPU_KINDS)}")
    return kind


def checked_kind(device: Any, kind: str | None) -> str:
    """The kind of memory of a sharding on a device, default: the device's own. ValueError for one that it does not have."""
    if kind is None or kind == DEVICE:
        return DEVICE
    if hasattr(device, "memory"):  # a stand-in for devices has none
        device.memory(kind)
    return kind


def no_such_memory(device_kind: str, kinds: tuple[str, ...], kind: str) -> ValueError:
    """The error for a kind of memory that a device does not have."""
    return ValueError(f"Could not find memory addressable by device {device_kind}. Device {device_kind} can address the "
                      f"following memory kinds: {', '.join(kinds)}. Got memory kind: {kind}")
