"""Placements: the devices that programs of several devices run on, and the shardings of what they take and give."""
from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any

from numjet.core.sharding.partition_spec import PartitionSpec
from numjet.core.sharding.shardings import NamedSharding, Sharding
from numjet.foundation.record import Record


class Several(Record):
    """The devices that a program runs on, in the order of its partitions."""
    devices: tuple[Any, ...]
    mesh: Any = None  # by whose axes the compiler's choices are told, where no operand has one

    @property
    def platform(self) -> str:
        return self.devices[0].platform

    def __repr__(self) -> str:
        return f"{len(self.devices)} devices of platform {self.platform}"


class Distribution(Record):
    """How a program runs on several devices. ins: shardings of its inputs, None for those that every device gets in whole.
    outs: shardings of its results, None where the compiler chooses; () for all."""
    devices: tuple[Any, ...]
    ins: tuple[Sharding | None, ...]
    outs: tuple[Sharding | None, ...] = ()
    mesh: Any = None  # by whose axes the compiler's choices are told

    @property
    def platform(self) -> str:
        return self.devices[0].platform

    def on(self, devices: Sequence[Any]) -> Distribution:
        """The same over other devices, one for each."""
        to = dict(zip(self.devices, devices, strict=True))
        moved = lambda s: s.update(mesh=_moved(s.mesh, to)) if isinstance(s, NamedSharding) else s
        return Distribution(tuple(devices), tuple(map(moved, self.ins)), tuple(map(moved, self.outs)),
                            self.mesh if self.mesh is None else _moved(self.mesh, to))


def _moved(mesh: Any, to: Mapping[Any, Any]) -> Any:
    """A mesh with other devices for its own."""
    grid = mesh.devices.copy()
    grid.flat = [to[d] for d in mesh.devices.flat]
    return mesh.update(devices=grid)


def devices_of(placement: Any) -> tuple[Any, ...]:
    """The devices of an array's placement (a Device or a Sharding), or of a program's, in order."""
    if isinstance(placement, (Several, Distribution)):
        return placement.devices
    return _assignment(placement) if isinstance(placement, Sharding) else (placement,)


@functools.lru_cache(maxsize=1024)
def _assignment(sharding: Sharding) -> tuple[Any, ...]:
    return sharding._device_assignment


@functools.lru_cache(maxsize=4096)
def canonical(sharding: Sharding) -> Any:
    """What arrays of a sharding have as their device: for one device that device, else one object for all equal shardings."""
    devices = _assignment(sharding)
    return devices[0] if len(devices) == 1 else sharding


@functools.lru_cache(maxsize=1024)
def everywhere(mesh: Any) -> NamedSharding:
    """The sharding of arrays that all devices of a mesh have."""
    return NamedSharding(mesh, PartitionSpec())


def mesh_of(shardings: Any) -> Any:
    """The mesh of the first of some shardings that has one of devices."""
    return next((s.mesh for s in shardings if isinstance(s, NamedSharding) and not s.mesh.is_abstract), None)
