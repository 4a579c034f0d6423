"""Shardings in the text of programs: meshes and attributes of the dialect sdy, which XLA's partitioner reads."""
from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from numjet.core.sharding.mesh import AbstractMesh, Mesh
from numjet.core.sharding.partition_spec import UNCONSTRAINED, PartitionSpec, parts_of
from numjet.core.sharding.shardings import NamedSharding
from numjet.xla import text


class Partitions:
    """The devices of a program, and the meshes that its text names."""

    def __init__(self, devices: Sequence[Any], mesh: Mesh | AbstractMesh | None):
        self.devices = tuple(devices)
        self._own = AbstractMesh((len(self.devices),), ("_0",)) if mesh is None else mesh
        self._numbers = {d: k for k, d in enumerate(self.devices)}
        self._meshes: dict[tuple[Any, ...], str] = {}
        self.lines: list[str] = []

    def mesh(self, mesh: Mesh | AbstractMesh) -> str:
        """The name of a mesh in the text. ValueError for a mesh of other devices."""
        order = tuple(range(len(self.devices)))
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

    def sharding(self, mesh: Mesh | AbstractMesh, spec: PartitionSpec, ndim: int, manual: Iterable[Any] = ()) -> str:
        """A sharding as an attribute's parameters: <@mesh, [{"x"}, {}]>. Axes in `manual` are left out."""
        left_out = set(manual)
        parts = [*spec, *[None] * (ndim - len(spec))]
        dims = ", ".join("{?}" if p is UNCONSTRAINED else
                         f"{{{', '.join(axis_text(a) for a in parts_of(p) if a not in left_out)}}}" for p in parts)
        unreduced = [a for a in mesh.axis_names if a in spec.unreduced]
        more = f", unreduced={{{', '.join(map(axis_text, unreduced))}}}" if unreduced else ""
        return f"<{self.mesh(mesh)}, [{dims}]{more}>"

    def attribute(self, sharding: NamedSharding, ndim: int) -> str:
        """The attribute of a value's sharding."""
        return f"#sdy.sharding{self.sharding(sharding.mesh, sharding.spec, ndim)}"

    def whole(self, ndim: int) -> str:
        """The attribute of a value that every device has."""
        return f"#sdy.sharding{self.sharding(self._own, PartitionSpec(), ndim)}"


def axis_text(name: Any) -> str:
    """An axis name as a string of the text."""
    return text.quoted(name if isinstance(name, str) else repr(name))
