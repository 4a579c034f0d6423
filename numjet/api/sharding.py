"""Shardings: how arrays are distributed over devices. Arrays are on one device here, so the devices of a mesh that programs
use are one; specifications are checked against the mesh and replicate.
"""
from __future__ import annotations

import collections
import enum
import functools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from numjet.foundation.record import Record
from numjet.foundation.tree import tree_leaves
from numjet.runtime.device import Device, devices as _all_devices

Index = tuple[slice, ...]


class AxisType(enum.Enum):
    """Who decides how arrays are distributed along an axis of a mesh."""

    Auto = enum.auto()
    Explicit = enum.auto()
    Manual = enum.auto()

    def __repr__(self) -> str:
        return self.name


class _Unconstrained:
    def __repr__(self) -> str:
        return "UNCONSTRAINED"

    def __reduce__(self) -> str:
        return "UNCONSTRAINED"


UNCONSTRAINED = _Unconstrained()


class PartitionSpec:
    """Along which axes of a mesh each dimension of an array is divided: a name, a tuple of names, or None.

    >>> PartitionSpec("x", None)
    P('x', None)
    """

    __slots__ = ("partitions", "unreduced", "reduced")
    UNCONSTRAINED = UNCONSTRAINED

    def __init__(self, *partitions: Any, unreduced: Any = frozenset(), reduced: Any = frozenset()):
        self.partitions = tuple(tuple(p) if isinstance(p, list) else p for p in partitions)
        self.unreduced, self.reduced = frozenset(unreduced), frozenset(reduced)

    def _key(self) -> tuple[Any, ...]:
        return self.partitions, self.unreduced, self.reduced

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PartitionSpec) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __repr__(self) -> str:
        sets = [f"{name}={set(s)}" for name in ("unreduced", "reduced") if (s := getattr(self, name))]
        return f"P({', '.join([*map(repr, self.partitions), *sets])}{',' if len(self.partitions) == 1 and not sets else ''})"

    def __reduce__(self) -> Any:
        return functools.partial(PartitionSpec, unreduced=self.unreduced, reduced=self.reduced), self.partitions

    def __iter__(self) -> Iterator[Any]:
        return iter(self.partitions)

    def __len__(self) -> int:
        return len(self.partitions)

    def __getitem__(self, index: Any) -> Any:
        return self.partitions[index]

    def __add__(self, other: Any) -> PartitionSpec:
        return PartitionSpec(*self.partitions, *other, unreduced=self.unreduced, reduced=self.reduced)

    def __radd__(self, other: Any) -> PartitionSpec:
        return PartitionSpec(*other, *self.partitions, unreduced=self.unreduced, reduced=self.reduced)

    def index(self, value: Any) -> int:
        """The position of a partition. Raises ValueError if there is none."""
        return self.partitions.index(value)

    def count(self, value: Any) -> int:
        """How often a partition occurs."""
        return self.partitions.count(value)

    def update(self, **changes: Any) -> PartitionSpec:
        """A copy with other partitions, unreduced or reduced."""
        new = {"partitions": self.partitions, "unreduced": self.unreduced, "reduced": self.reduced, **changes}
        return PartitionSpec(*new.pop("partitions"), **new)


class Mesh:
    """An array of devices with named axes.

    >>> import numjet as nj
    >>> Mesh(nj.devices(), ("x",))
    Mesh(axis_sizes=(1,), axis_names=('x',), axis_types=(Auto,))
    """

    def __init__(self, devices: Any, axis_names: str | Sequence[Any], axis_types: Sequence[AxisType] | AxisType | None = None):
        self.devices = np.asarray(devices, object)
        self.axis_names = (axis_names,) if isinstance(axis_names, str) else tuple(axis_names)
        if self.devices.ndim != len(self.axis_names):
            raise ValueError("Mesh requires the ndim of its first argument (`devices`) to equal the length of its second "
                             f"argument (`axis_names`), but got devices.ndim == {self.devices.ndim} and "
                             f"len(axis_names) == {len(self.axis_names)}.")
        kind = AxisType.Auto if axis_types is None else axis_types
        self.axis_types = (kind,) * self.devices.ndim if isinstance(kind, AxisType) else tuple(kind)
        if len(self.axis_types) != self.devices.ndim:
            raise ValueError(f"Mesh: expected an axis type for each of {self.axis_names}, got {self.axis_types}")

    axis_sizes = property(lambda self: self.devices.shape)
    shape = property(lambda self: collections.OrderedDict(self.shape_tuple))
    shape_tuple = property(lambda self: tuple(zip(self.axis_names, self.axis_sizes, strict=True)))
    size = property(lambda self: self.devices.size)
    empty = property(lambda self: self.devices.ndim == 0)
    device_ids = property(lambda self: np.vectorize(lambda d: d.id, otypes=[int])(self.devices))
    local_devices = property(lambda self: list(self.devices.flat))
    local_mesh = property(lambda self: self)
    is_multi_process = property(lambda self: False)

    def _key(self) -> tuple[Any, ...]:
        return tuple(self.devices.flat), self.axis_sizes, self.axis_names, self.axis_types

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Mesh) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __repr__(self) -> str:
        return f"Mesh(axis_sizes={self.axis_sizes}, axis_names={self.axis_names}, axis_types={self.axis_types})"

    def __enter__(self) -> Mesh:
        return self

    def __exit__(self, *error: object) -> None:
        return None


class Sharding:
    """Base of shardings: how an array's elements are distributed over devices. Here every device has the whole array."""

    memory_kind = "device"
    is_fully_addressable = True
    is_fully_replicated = True

    @property
    def device_set(self) -> frozenset[Device]:
        """The devices."""
        raise NotImplementedError

    addressable_devices = property(lambda self: self.device_set)
    num_devices = property(lambda self: len(self.device_set))

    def devices_indices_map(self, global_shape: Sequence[int]) -> dict[Device, Index]:
        """Which part of an array of a shape each device has."""
        self.shard_shape(global_shape)
        return dict.fromkeys(self.device_set, (slice(None),) * len(global_shape))

    def addressable_devices_indices_map(self, global_shape: Sequence[int]) -> dict[Device, Index]:
        """devices_indices_map of this process's devices: all."""
        return self.devices_indices_map(global_shape)

    def shard_shape(self, global_shape: Sequence[int]) -> tuple[int, ...]:
        """The shape of each device's part."""
        return tuple(global_shape)

    def is_equivalent_to(self, other: Sharding, ndim: int) -> bool:
        """Whether both put the same parts of arrays of `ndim` dimensions on the same devices."""
        del ndim
        return self.device_set == other.device_set

    def with_memory_kind(self, kind: str) -> Sharding:
        """This sharding in a kind of memory: "device" is the only one. ValueError for others."""
        if kind != "device":
            raise ValueError(f"memory kinds: expected 'device', got {kind!r}")
        return self


class SingleDeviceSharding(Record, Sharding):
    """An array on one device."""
    device: Device

    @property
    def device_set(self) -> frozenset[Device]:
        """The device."""
        return frozenset({self.device})


class NamedSharding(Sharding):
    """An array whose dimensions are divided along axes of a mesh."""

    def __init__(self, mesh: Mesh, spec: PartitionSpec, *, memory_kind: str | None = None):
        _check_spec(mesh, spec)
        if len(set(mesh.devices.flat)) > 1:
            raise NotImplementedError(f"NamedSharding: arrays are on one device, got a mesh of {mesh.size}: {mesh}")
        self.mesh, self.spec = mesh, spec
        self.with_memory_kind(memory_kind or "device")

    @property
    def device_set(self) -> frozenset[Device]:
        """The mesh's devices."""
        return frozenset(self.mesh.devices.flat)

    def shard_shape(self, global_shape: Sequence[int]) -> tuple[int, ...]:
        """The shape of each device's part. ValueError for arrays of fewer dimensions than the specification has."""
        if len(global_shape) < len(self.spec):
            raise ValueError(f"Sharding {self} is only valid for values of rank at least {len(self.spec)}, but was applied "
                             f"to a value of rank {len(global_shape)}")
        return tuple(global_shape)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, NamedSharding) and (self.mesh, self.spec) == (other.mesh, other.spec)

    def __hash__(self) -> int:
        return hash((self.mesh, self.spec))

    def __repr__(self) -> str:
        return f"NamedSharding(mesh={self.mesh}, spec={self.spec}, memory_kind={self.memory_kind})"


def _check_spec(mesh: Any, spec: Any) -> None:
    """Raises TypeError for what is no mesh and specification, ValueError for axes that the mesh lacks or that occur twice."""
    if not isinstance(mesh, Mesh) or not isinstance(spec, PartitionSpec):
        raise TypeError(f"NamedSharding: expected a Mesh and a PartitionSpec, got {mesh!r} and {spec!r}")
    parts = [p for p in spec if p is not None and p is not UNCONSTRAINED]
    axes = [a for p in parts for a in (p if isinstance(p, tuple) else (p,))]
    for axis in axes:
        if axis not in mesh.axis_names:
            raise ValueError(f"Resource axis: {axis} of {spec} is not found in mesh: {mesh.axis_names}.")
        if axes.count(axis) > 1:
            raise ValueError(f"A single NamedSharding spec specification can map every mesh axis to at most one positional "
                             f"dimension, but {spec} has duplicate entries for `{axis}`")


def make_mesh(axis_shapes: Sequence[int], axis_names: Sequence[Any], axis_types: Sequence[AxisType] | None = None, *,
              devices: Sequence[Device] | None = None) -> Mesh:
    """A mesh of devices, default: all of them. Raises ValueError if there are too few.

    >>> make_mesh((1,), ("x",)).shape_tuple
    (('x', 1),)
    """
    found = list(_all_devices() if devices is None else devices)
    size = int(np.prod(axis_shapes))
    if size > len(found):
        raise ValueError(f"Number of devices {len(found)} must be >= the product of mesh_shape {tuple(axis_shapes)}")
    types = (AxisType.Explicit,) * len(axis_names) if axis_types is None else axis_types
    return Mesh(np.array(found[:size], object).reshape(tuple(axis_shapes)), tuple(axis_names), types)


def device_of(what: str, placement: Any) -> Any:
    """The device of a sharding; other placements as they are. NotImplementedError for several devices."""
    if not isinstance(placement, Sharding):
        return placement
    if placement.num_devices != 1:
        raise NotImplementedError(f"{what}: arrays are on one device, got {placement}")
    return next(iter(placement.device_set))


def common_device(what: str, shardings: Any) -> Device | None:
    """The device of all shardings of a pytree; None where there are none. Raises for several devices, and for what is none."""
    found = {device_of(what, s) for s in tree_leaves(shardings)}
    for other in found:
        if not isinstance(other, Device):
            raise TypeError(f"{what}: expected shardings, got {other!r}")
    if len(found) > 1:
        raise NotImplementedError(f"{what}: programs run on one device, got shardings over {sorted(map(str, found))}")
    return found.pop() if found else None
