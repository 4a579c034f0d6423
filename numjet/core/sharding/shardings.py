"""Shardings: which part of an array each device has."""
from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from math import prod
from typing import Any, NoReturn

import numpy as np

from numjet.core import hooks
from numjet.core.sharding.memory import DEVICE, checked_kind, known_kind
from numjet.core.sharding.mesh import AbstractMesh, AxisType, Mesh
from numjet.core.sharding.partition_spec import UNCONSTRAINED, PartitionSpec, axes_of, entries_of, parts_of
from numjet.foundation.processes import state as processes
from numjet.foundation.record import Record

Index = tuple[slice, ...]


class DuplicateSpecError(ValueError):
    """A specification names an axis of the mesh more than once."""


class IndivisibleError(ValueError):
    """A dimension of an array cannot be divided evenly among the devices of an axis."""


def _is_mine(device: Any) -> bool:
    """Whether a device is of this process."""
    return getattr(device, "process_index", 0) == processes.index


class Sharding:
    """Base of shardings: how an array's elements are distributed over devices, and in which of their memories they are."""

    memory_kind: str | None = DEVICE

    @property
    def device_set(self) -> frozenset[Any]:
        """The devices."""
        raise NotImplementedError

    @property
    def addressable_devices(self) -> frozenset[Any]:
        """The devices of this process."""
        return self.device_set if processes.count == 1 else frozenset(filter(_is_mine, self.device_set))

    @property
    def is_fully_addressable(self) -> bool:
        """Whether all devices are this process's."""
        return processes.count == 1 or all(map(_is_mine, self.device_set))

    has_addressable_devices = property(lambda self: bool(self.addressable_devices))
    num_devices = property(lambda self: len(self.device_set))
    _device_assignment = property(lambda self: tuple(self.devices_indices_map(())), doc="The devices, in order.")
    _addressable_device_assignment = property(
        lambda self: tuple(d for d in self._device_assignment if d in self.addressable_devices),
        doc="Those of this process, in the same order: what libraries that store arrays ask for.")

    @property
    def is_fully_replicated(self) -> bool:
        """Whether every device has the whole array."""
        return True

    def devices_indices_map(self, global_shape: Sequence[int]) -> dict[Any, Index]:
        """Which part of an array of a shape each device has."""
        raise NotImplementedError

    def _to_xla_hlo_sharding(self, num_dimensions: int) -> Any:
        """jaxlib's HloSharding of arrays of that many dimensions. RuntimeError without jaxlib."""
        return hooks.hlo_sharding(self, num_dimensions)

    def addressable_devices_indices_map(self, global_shape: Sequence[int]) -> dict[Any, Index]:
        """devices_indices_map of this process's devices."""
        found = self.devices_indices_map(global_shape)
        return found if processes.count == 1 else {d: index for d, index in found.items() if _is_mine(d)}

    def check_compatible_aval(self, aval_shape: Sequence[int]) -> None:
        """Raises ValueError for shapes that the sharding cannot divide."""
        self.shard_shape(aval_shape)

    def shard_shape(self, global_shape: Sequence[int]) -> tuple[int, ...]:
        """The shape of each device's part."""
        return tuple(global_shape)

    def is_equivalent_to(self, other: Sharding, ndim: int) -> bool:
        """Whether both put the same parts of arrays of `ndim` dimensions into the same memories of the same devices."""
        return self.has_kind(other.memory_kind) and self._layout(ndim) == other._layout(ndim)

    def has_kind(self, kind: str | None) -> bool:
        """Whether arrays are in memory of a kind; None is the devices' own."""
        return (self.memory_kind or DEVICE) == (kind or DEVICE)

    def _layout(self, ndim: int) -> Any:
        """The same for shardings that are equivalent for `ndim` dimensions."""
        del ndim
        return tuple(self.device_set)

    def with_memory_kind(self, kind: str) -> Sharding:
        """This sharding in memory of another kind. ValueError for a kind that the devices do not have."""
        raise NotImplementedError(f"{type(self).__name__}.with_memory_kind")


class SingleDeviceSharding(Record, Sharding):
    """An array on one device. memory_kind: the kind of its memory, default: the device's own. ValueError for a kind that the
    device does not have."""
    device: Any
    memory_kind: str | None = DEVICE

    def __post_init__(self) -> None:
        if self.memory_kind != DEVICE:
            object.__setattr__(self, "memory_kind", checked_kind(self.device, self.memory_kind))

    def __eq__(self, other: object) -> bool:
        return (isinstance(other, SingleDeviceSharding) and self.device == other.device
                and self.memory_kind == other.memory_kind)

    def __hash__(self) -> int:
        return hash(self.device)

    def __repr__(self) -> str:
        return f"SingleDeviceSharding(device={self.device!r}, memory_kind={self.memory_kind})"

    def with_memory_kind(self, kind: str) -> SingleDeviceSharding:
        return SingleDeviceSharding(self.device, kind)

    _device_assignment = property(lambda self: (self.device,))

    def devices_indices_map(self, global_shape: Sequence[int]) -> dict[Any, Index]:
        return {self.device: (slice(None),) * len(global_shape)}

    @property
    def device_set(self) -> frozenset[Any]:
        """The device."""
        return frozenset({self.device})


def make_single_device_sharding(device: Any, *, memory_kind: str | None = None) -> SingleDeviceSharding:
    """The sharding of arrays on one device. ValueError for a kind of memory that the device does not have."""
    return SingleDeviceSharding(device, memory_kind)


class NamedSharding(Sharding):
    """An array whose dimensions are divided along axes of a mesh, or an abstract mesh.

    >>> s = NamedSharding(AbstractMesh((4, 2), ("x", "y")), PartitionSpec("x", None))
    >>> s.shard_shape((8, 3)), s.is_fully_replicated
    ((2, 3), False)
    """

    def __init__(self, mesh: Mesh | AbstractMesh, spec: PartitionSpec, *, memory_kind: str | None = None):
        _check_spec(mesh, spec)
        self._mesh, self._spec = mesh, spec
        self._hash: int | None = None  # known once it was asked for
        self.memory_kind = _kind_on(mesh, memory_kind)

    def with_memory_kind(self, kind: str) -> NamedSharding:
        return self if kind == self.memory_kind else self.update(memory_kind=kind)

    @property
    def mesh(self) -> Mesh | AbstractMesh:
        """The mesh."""
        return self._mesh

    @property
    def spec(self) -> PartitionSpec:
        """Which dimensions are divided along which axes."""
        return self._spec

    _device_assignment = property(lambda self: tuple(self.mesh.devices.flat))

    @property
    def replicated_axes(self) -> frozenset[Any]:
        """The axes along which arrays are not divided: every device along them has a copy."""
        return frozenset(self.mesh.axis_names) - set(axes_of(self.spec)) - self.spec.unreduced

    @property
    def device_set(self) -> frozenset[Any]:
        """The mesh's devices. ValueError for an abstract mesh."""
        return frozenset(self.mesh.devices.flat)

    @property
    def num_devices(self) -> int:
        """The size of the mesh."""
        return int(self.mesh.size)

    @property
    def is_fully_replicated(self) -> bool:
        """Whether no dimension is divided into more than one part, and no sum is still to be made."""
        return all(self.mesh.shape[axis] == 1 for axis in (*axes_of(self.spec), *self.spec.unreduced))

    def _has_first_summands(self, device: Any) -> bool:
        """Whether a device is the first along the axes whose devices have summands."""
        place = np.argwhere(self.mesh.devices == device)[0]
        return not any(place[self.mesh.axis_names.index(axis)] for axis in self.spec.unreduced)

    def entries(self, ndim: int) -> list[Any]:
        """What each of `ndim` dimensions is divided along."""
        return entries_of(self.spec, ndim)

    def _parts(self, ndim: int) -> list[int]:
        """Into how many parts each dimension is divided."""
        return [prod(self.mesh.shape[axis] for axis in parts_of(part)) for part in self.entries(ndim)]

    def check_compatible_aval(self, aval_shape: Sequence[int]) -> None:
        """As of every sharding; specifications that are longer than the shape are refused, too."""
        if len(aval_shape) < len(self.spec):
            self._refuse_rank(len(aval_shape))
        self.shard_shape(aval_shape)

    def _refuse_rank(self, ndim: int) -> NoReturn:
        scalars = " For scalars the PartitionSpec should be P()." if ndim == 0 else ""
        raise ValueError(f"Sharding {self} is only valid for values of rank at least {len(self.spec)}, but was applied "
                         f"to a value of rank {ndim}.{scalars}")

    def shard_shape(self, global_shape: Sequence[int]) -> tuple[int, ...]:
        """The shape of each device's part. ValueError for arrays of fewer dimensions than the specification divides, and for
        dimensions that cannot be divided evenly."""
        ndim = len(global_shape)
        if any(map(parts_of, list(self.spec)[ndim:])):
            self._refuse_rank(ndim)
        parts = self._parts(ndim)
        for d, (size, count) in enumerate(zip(global_shape, parts, strict=True)):
            if size % count:
                raise IndivisibleError(f"Sharding {self} implies that array axis {d} is partitioned {count} times, but the "
                                       f"dimension size is {size} (full shape: {tuple(global_shape)}, per-dimension tiling "
                                       f"factors: {parts} should evenly divide the shape)")
        return tuple(size // count for size, count in zip(global_shape, parts, strict=True))

    def devices_indices_map(self, global_shape: Sequence[int]) -> dict[Any, Index]:
        """Which part of an array of a shape each device has."""
        sizes, parts = self.shard_shape(global_shape), self._parts(len(global_shape))
        names = self.mesh.axis_names
        found: dict[Any, Index] = {}
        for place in product(*map(range, self.mesh.axis_sizes)):
            at = dict(zip(names, place, strict=True))
            index = [self._slice(at, d, size, parts[d]) for d, size in enumerate(sizes)]
            found[self.mesh.devices[place]] = tuple(index)
        return found

    def _slice(self, at: dict[Any, int], d: int, size: int, count: int) -> slice:
        """The part of dimension `d` of the device at a place of the mesh."""
        if count == 1:
            return slice(None)
        number = 0
        for axis in parts_of(self.spec[d]):
            number = number * self.mesh.shape[axis] + at[axis]
        return slice(number * size, (number + 1) * size)

    def _layout(self, ndim: int) -> Any:
        if self.num_devices == 1 and isinstance(self.mesh, Mesh):
            return tuple(self.device_set)
        divided = [tuple(a for a in parts_of(p) if self.mesh.shape[a] > 1) for p in self.entries(ndim)]
        return self.mesh._devices_key(), tuple(divided), self.spec.unreduced

    def update(self, **changes: Any) -> NamedSharding:
        """A copy with another mesh, spec or memory_kind."""
        new = {"mesh": self.mesh, "spec": self.spec, "memory_kind": self.memory_kind, **changes}
        return NamedSharding(new["mesh"], new["spec"], memory_kind=new["memory_kind"])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, NamedSharding) and self._key() == other._key()

    def _key(self) -> tuple[Any, ...]:
        return self.mesh, self.spec, self.memory_kind

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash(self._key())
        return self._hash

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_hash": None}  # hashes of names differ between processes

    def __repr__(self) -> str:
        memory = "" if self.memory_kind is None else f", memory_kind={self.memory_kind}"
        return f"NamedSharding(mesh={self.mesh}, spec={self.spec}{memory})"


def _kind_on(mesh: Mesh | AbstractMesh, kind: str | None) -> str | None:
    """The kind of memory of a sharding over a mesh. ValueError for one that its devices do not have."""
    if isinstance(mesh, AbstractMesh):
        return None if kind is None else known_kind(kind)
    return DEVICE if kind is None or mesh.empty else checked_kind(mesh.devices.flat[0], kind)


def _check_spec(mesh: Any, spec: Any) -> None:
    """Raises TypeError for what is no mesh and specification, ValueError for axes that the mesh lacks or that occur twice."""
    if not isinstance(mesh, (Mesh, AbstractMesh)) or not isinstance(spec, PartitionSpec):
        raise TypeError(f"NamedSharding: expected a Mesh and a PartitionSpec, got {mesh!r} and {spec!r}")
    axes = axes_of(spec)
    for axis in axes:
        if axis not in mesh.axis_names:
            raise ValueError(f"Resource axis: {axis} of {spec} is not found in mesh: {mesh.axis_names}.")
        if axes.count(axis) > 1:
            raise DuplicateSpecError(f"A single NamedSharding spec specification can map every mesh axis to at most one "
                                     f"positional "
                                     f"dimension, but {spec} has duplicate entries for `{axis}`")
    if UNCONSTRAINED in spec.partitions and not (mesh.empty or mesh.auto_axes):
        raise ValueError(f"{spec} cannot contain `P.UNCONSTRAINED` when no mesh axis_types are `Auto`. Got mesh axis_types: "
                         f"{mesh.axis_types}. Write None for dimensions that are not divided.")
    types = dict(zip(mesh.axis_names, mesh.axis_types, strict=True))
    for kind in ("unreduced", "reduced"):
        for axis in getattr(spec, kind):
            if axis not in types:
                raise ValueError(f"{kind.capitalize()} axes {set(getattr(spec, kind))} not found in mesh: {mesh.axis_names}.")
            if types[axis] not in (AxisType.Explicit, AxisType.Manual):
                raise ValueError(f"{kind.capitalize()} axes can only refer to mesh axes that are of type `Explicit` or "
                                 f"`Manual`. Got {kind} axes: {set(getattr(spec, kind))} and mesh: {mesh}")

