"""Shardings in the text of programs: meshes and attributes of the dialect sdy, which XLA's partitioner reads."""
from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from numjet.core.named_axes import unbound
from numjet.core.sharding.mesh import AbstractMesh, Mesh
from numjet.core.sharding.partition_spec import UNCONSTRAINED, PartitionSpec, entries_of, parts_of
from numjet.core.sharding.shardings import NamedSharding
from numjet.xla import text


class Partitions:
    """The devices of a program, and the meshes that its text names."""

    def __init__(self, devices: Sequence[Any], mesh: Mesh | AbstractMesh | None):
        self.devices, self.given_mesh = tuple(devices), mesh
        self._own = AbstractMesh((len(self.devices),), ("_0",)) if mesh is None else mesh
        self._numbers = {d: k for k, d in enumerate(self.devices)}
        self._meshes: dict[tuple[Any, ...], str] = {}
        self._single: dict[int, str] = {}
        self.lines: list[str] = []

    def mesh(self, mesh: Mesh | AbstractMesh) -> str:
        """The name of a mesh in the text. ValueError for a mesh of other devices."""
        order = tuple(range(len(self.devices)))
        given = self.given_mesh
        if mesh.is_abstract and isinstance(given, Mesh) and given.shape_tuple == mesh.shape_tuple:
            mesh = given
        if isinstance(mesh, Mesh):
            if set(mesh.devices.flat) != self._numbers.keys():
                raise ValueError(f"Received incompatible devices for jitted computation: {mesh} has device ids "
                                 f"{mesh.device_ids.ravel().tolist()}, the program runs on {[d.id for d in self.devices]}. "
                                 "Use one mesh in a program, or meshes of the same devices.")
            order = tuple(self._numbers[d] for d in mesh.devices.flat)
        elif mesh.size != len(self.devices):
            raise ValueError(f"Received incompatible devices for jitted computation: {mesh} has {mesh.size} devices, the "
                             f"program runs on {len(self.devices)}.")
        key = (mesh.axis_sizes, mesh.axis_names, order)
        if key not in self._meshes:
            name = self._meshes[key] = f"@mesh{len(self._meshes) or ''}"
            axes = ", ".join(f"{axis_text(n)}={s}" for n, s in mesh.shape_tuple)
            ids = "" if order == tuple(range(len(order))) else f", device_ids={list(order)}"
            self.lines.append(f"  sdy.mesh {name} = <[{axes}]{ids}>")
        return self._meshes[key]

    def numbers(self, mesh: Mesh | AbstractMesh) -> np.ndarray:
        """The partition of each device of a mesh."""
        if isinstance(mesh, Mesh):
            return np.array([self._numbers[d] for d in mesh.devices.flat])
        return np.arange(len(self.devices))

    def sharding(self, mesh: Mesh | AbstractMesh, spec: PartitionSpec, ndim: int, is_open: bool = False) -> str:
        """A sharding as an attribute's parameters: <@mesh, [{"x"}, {}]>. is_open: dimensions may be divided further."""
        parts = entries_of(spec, ndim)
        more = ["?"] if is_open else []
        dims = ", ".join("{?}" if p is UNCONSTRAINED else f"{{{', '.join([*map(axis_text, parts_of(p)), *more])}}}"
                         for p in parts)
        unreduced = [a for a in mesh.axis_names if a in spec.unreduced]
        rest = f", unreduced={{{', '.join(map(axis_text, unreduced))}}}" if unreduced else ""
        return f"<{self.mesh(mesh)}, [{dims}]{rest}>"

    def axis(self, name: Any) -> str:
        """An axis name in the text."""
        return axis_text(name)

    def on_one(self, count: int, device: Any = None) -> str:
        """The attribute of an operation with `count` results that one device runs; default: the first. ValueError for a device
        that the program does not run on."""
        number = 0 if device is None else self._numbers.get(device)
        if number is None:
            raise ValueError(f"{device!r} is not among the devices that the program runs on: {list(self.devices)}")
        if number not in self._single:
            self._single[number] = f"@maximal_mesh_{number}"
            self.lines.append(f"  sdy.mesh {self._single[number]} = <[], device_ids=[{number}]>")
        return f"#sdy.sharding_per_value<[{', '.join([f'<{self._single[number]}, []>'] * count)}]>"

    def attribute(self, sharding: NamedSharding, ndim: int) -> str:
        """The attribute of a value's sharding."""
        return f"#sdy.sharding{self.sharding(sharding.mesh, sharding.spec, ndim)}"

    def chosen(self, ndim: int) -> str:
        """The attribute of a value that the compiler divides as it likes, but along one more axis."""
        free = ", ".join(["{?}"] * ndim + ["{}"])
        return f"#sdy.sharding<{self.mesh(self._own)}, [{free}]>"

    def whole(self, ndim: int) -> str:
        """The attribute of a value that every device has."""
        return f"#sdy.sharding{self.sharding(self._own, PartitionSpec(), ndim)}"


class Shards:
    """The text of a shard_map: who takes part in exchanges along axes of its mesh, and the shard's number along each."""

    def __init__(self, mesh: Mesh | AbstractMesh, partitions: Partitions, indices: dict[Any, Any], manual: frozenset[Any]):
        self.mesh, self.indices, self.manual = mesh, indices, manual
        self.is_whole = manual >= set(mesh.axis_names)  # no axis is left to XLA
        self._numbers = partitions.numbers(mesh).reshape(mesh.axis_sizes)

    def along(self, axes: Sequence[Any]) -> np.ndarray:
        """The numbers of the partitions along axes, the last running fastest: a row for each place along the other axes."""
        names = self.mesh.axis_names
        for axis in axes:
            if axis not in names:
                raise unbound(axis)
        order = [*[k for k, n in enumerate(names) if n not in axes], *[names.index(a) for a in axes]]
        return self._numbers.transpose(order).reshape(-1, prod(self.mesh.shape[a] for a in axes))

    def index(self, axis: Any) -> Any:
        """The shard's number along an axis."""
        if axis not in self.indices:
            raise unbound(axis)
        return self.indices[axis]


def axis_text(name: Any) -> str:
    """An axis name as a string of the text."""
    return text.quoted(name if isinstance(name, str) else repr(name))
