"""Meshes: arrays of devices with named axes, abstract ones without devices, and the mesh in use."""
from __future__ import annotations

import collections
import contextlib
import enum
import functools
import threading
import weakref
from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from numjet import _native
from numjet.foundation.config import Override, mesh_in_use, mesh_names_only
from numjet.foundation.processes import state as processes
from numjet.foundation.record import Record


class AxisType(enum.Enum):
    """Who decides how arrays are distributed along an axis of a mesh."""

    Auto = enum.auto()
    Explicit = enum.auto()
    Manual = enum.auto()

    def __repr__(self) -> str:
        return self.name


class _Axes:
    """Names, sizes and types of a mesh's axes."""

    axis_names: tuple[Any, ...]
    axis_sizes: tuple[int, ...]
    axis_types: tuple[AxisType, ...]
    is_abstract = False

    shape_tuple = property(lambda self: tuple(zip(self.axis_names, self.axis_sizes, strict=True)))
    shape = property(lambda self: collections.OrderedDict(self.shape_tuple))
    size = property(lambda self: prod(self.axis_sizes) if self.axis_names else 0)
    empty = property(lambda self: not self.axis_names)
    auto_axes = property(lambda self: self._axes_of(AxisType.Auto))
    explicit_axes = property(lambda self: self._axes_of(AxisType.Explicit))
    manual_axes = property(lambda self: self._axes_of(AxisType.Manual))

    @property
    def are_all_axes_auto(self) -> bool:
        """Whether there are axes, all of them Auto."""
        return set(self.axis_types) == {AxisType.Auto}

    @property
    def are_all_axes_explicit(self) -> bool:
        """Whether there are axes, all of them Explicit."""
        return set(self.axis_types) == {AxisType.Explicit}

    @property
    def are_all_axes_manual(self) -> bool:
        """Whether there are axes, all of them Manual."""
        return set(self.axis_types) == {AxisType.Manual}

    _any_axis_auto = property(lambda self: AxisType.Auto in self.axis_types)
    _any_axis_explicit = property(lambda self: AxisType.Explicit in self.axis_types)
    _any_axis_manual = property(lambda self: AxisType.Manual in self.axis_types)

    def _axes_of(self, kind: AxisType) -> tuple[Any, ...]:
        return tuple(n for n, t in zip(self.axis_names, self.axis_types, strict=True) if t is kind)

    @property
    def is_scalar(self) -> bool:
        """Whether there are no axes, and one device."""
        return not self.axis_names and self.size == 1

    def _about_devices(self) -> str:
        """What is known of the devices, in texts."""
        return ""

    def __repr__(self) -> str:
        return (f"{type(self).__name__}(axis_sizes={self.axis_sizes}, axis_names={self.axis_names}, "
                f"axis_types={self.axis_types})")

    def __str__(self) -> str:
        sizes = "".join(f"{name!r}: {size}, " for name, size in self.shape_tuple)
        return f"{type(self).__name__}({sizes}axis_types={self.axis_types}{self._about_devices()})"


def _of_devices(name: str) -> Any:
    """A property that abstract meshes do not have."""
    def get(self: Any) -> Any:
        raise ValueError(f"AbstractMesh does not implement {name}")
    return property(get, doc="ValueError: an abstract mesh has no devices.")


class Mesh(_Axes, contextlib.ContextDecorator):
    """An array of devices with named axes.

    Args:
      devices: an array of Devices, with a dimension for each name.
      axis_names: one name or several.
      axis_types: one AxisType for each name; default: Auto.

    Equal meshes that are alive are one object.

    >>> import numjet as nj
    >>> Mesh(nj.devices()[:1], ("x",))
    Mesh(axis_sizes=(1,), axis_names=('x',), axis_types=(Auto,))
    """

    devices: np.ndarray

    def __new__(cls, devices: Any, axis_names: str | Sequence[Any],
                axis_types: Sequence[AxisType] | AxisType | None = None) -> Mesh:
        made = object.__new__(cls)
        made._fill(devices, axis_names, axis_types)
        return _alive.setdefault((cls, made._key()), made)

    def _fill(self, devices: Any, axis_names: str | Sequence[Any], axis_types: Sequence[AxisType] | AxisType | None) -> None:
        self.devices = np.array(devices, object)
        self.devices.flags.writeable = False
        self.axis_names = axis_names_of(axis_names)
        if self.devices.ndim != len(self.axis_names):
            raise ValueError("Mesh requires the ndim of its first argument (`devices`) to equal the length of its second "
                             f"argument (`axis_names`), but got devices.ndim == {self.devices.ndim} and "
                             f"len(axis_names) == {len(self.axis_names)}.")
        self.axis_sizes = self.devices.shape
        self.axis_types = _types(axis_types, self.axis_names)
        self._hash: int | None = None  # known once it was asked for
        self._abstract: AbstractMesh | None = None

    device_ids = property(lambda self: np.vectorize(lambda d: d.id, otypes=[int])(self.devices))
    local_devices = property(lambda self: [d for d in self.devices.flat if self._is_mine(d)])

    @staticmethod
    def _is_mine(device: Any) -> bool:
        return processes.count == 1 or device.process_index == processes.index

    @property
    def is_multi_process(self) -> bool:
        """Whether the devices are of several processes."""
        return processes.count > 1 and len({d.process_index for d in self.devices.flat}) > 1

    @property
    def local_mesh(self) -> Mesh:
        """The part of the mesh that this process has. ValueError where its devices are no block of the mesh."""
        if not self.is_multi_process:
            return self
        mine = np.vectorize(self._is_mine, otypes=[bool])(self.devices)
        block = tuple(slice(k.min(), k.max() + 1) for k in np.nonzero(mine)) if mine.any() else ()
        if not mine.any() or not mine[block].all():
            raise ValueError("When passing host local inputs to pjit or xmap, devices connected to a single host must form a "
                             f"contiguous subcube of the global device mesh: those of process {processes.index} do not in "
                             f"{self}, whose processes are {[d.process_index for d in self.devices.flat]}")
        return Mesh(self.devices[block], self.axis_names, self.axis_types)

    def update(self, devices: Any = None, axis_names: Any = None, axis_types: Any = None) -> Mesh:
        """A copy with other devices, names or types."""
        return Mesh(self.devices if devices is None else devices, self.axis_names if axis_names is None else axis_names,
                    self.axis_types if axis_types is None else axis_types)

    @property
    def abstract_mesh(self) -> AbstractMesh:
        """The mesh without its devices."""
        if self._abstract is None:
            self._abstract = AbstractMesh(self.axis_sizes, self.axis_names, self.axis_types)
        return self._abstract

    def _key(self) -> tuple[Any, ...]:
        return (*self._devices_key(), self.axis_types)

    def _devices_key(self) -> tuple[Any, ...]:
        """The same for meshes that differ in the types of their axes only."""
        return tuple(self.devices.flat), self.axis_sizes, self.axis_names

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Mesh) and self._key() == other._key()

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash(self._key())
        return self._hash

    def __reduce__(self) -> Any:
        return type(self), (self.devices, self.axis_names, self.axis_types)

    def _begin(self, steps: list[Any]) -> Mesh:
        for block in (using(self), mesh_names_only(True)):
            inner: list[Any] = []
            steps.append((block, inner))
            block.begin(inner)
        _open.blocks.append(steps)
        return self

    def _end(self, steps: list[Any]) -> None:
        if not steps:
            steps.extend(_open.blocks[-1])
        for block, inner in reversed(steps):
            if inner:
                block.end(inner)
        _open.blocks[:] = [block for block in _open.blocks if block[0] is not steps[0]]

    __enter__, __exit__ = _native.block_methods(_begin, _end)


_alive: weakref.WeakValueDictionary[tuple[Any, ...], Mesh] = weakref.WeakValueDictionary()


class _Open(threading.local):
    """The blocks of meshes that this thread is in, outermost first."""

    def __init__(self) -> None:
        self.blocks: list[list[Any]] = []


_open = _Open()


class AbstractDevice(Record):
    """What is known of the devices of an abstract mesh."""
    device_kind: str
    num_cores: int | None
    platform: str

    def __repr__(self) -> str:
        return f"AbstractDevice(device_kind={self.device_kind}, num_cores={self.num_cores}, platform={self.platform})"


class AbstractMesh(_Axes):
    """Named axes with sizes, and no devices.

    >>> AbstractMesh((4, 2), ("x", "y")).shape_tuple
    (('x', 4), ('y', 2))
    """

    def __init__(self, axis_sizes: Sequence[int], axis_names: str | Sequence[Any],
                 axis_types: Sequence[AxisType] | AxisType | None = None, *, abstract_device: Any = None):
        if not isinstance(abstract_device, AbstractDevice | None):
            raise TypeError(f"AbstractMesh: expected an AbstractDevice or None as abstract_device, got {abstract_device!r}")
        self.abstract_device = abstract_device
        self.axis_sizes, self.axis_names = tuple(axis_sizes), axis_names_of(axis_names)
        if len(self.axis_sizes) != len(self.axis_names):
            raise ValueError(f"Number of axis sizes and names should match. Got axis_sizes={self.axis_sizes} and "
                             f"axis_names={self.axis_names}")
        self.axis_types = _types(axis_types, self.axis_names)

    def _about_devices(self) -> str:
        about = self.abstract_device
        return "" if about is None else (f", device_kind={about.device_kind}, num_cores={about.num_cores}, "
                                         f"platform={about.platform}")

    def __repr__(self) -> str:
        return str(self)

    is_abstract = True
    abstract_mesh = property(lambda self: self)

    def _devices_key(self) -> tuple[Any, ...]:
        return self.shape_tuple, self.abstract_device

    def update_axis_types(self, name_to_type: dict[Any, AxisType]) -> AbstractMesh:
        """A copy with other types of some axes."""
        types = tuple(name_to_type.get(n, t) for n, t in zip(self.axis_names, self.axis_types, strict=True))
        return AbstractMesh(self.axis_sizes, self.axis_names, types, abstract_device=self.abstract_device)

    def update(self, axis_sizes: Any = None, axis_names: Any = None, axis_types: Any = None) -> AbstractMesh:
        """A copy with other sizes, names or types."""
        return AbstractMesh(self.axis_sizes if axis_sizes is None else axis_sizes,
                            self.axis_names if axis_names is None else axis_names,
                            self.axis_types if axis_types is None else axis_types, abstract_device=self.abstract_device)

    devices, device_ids, is_multi_process, local_devices, local_mesh = map(_of_devices, (
        "devices", "device_ids", "is_multi_process", "local_devices", "local_mesh"))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AbstractMesh) and self._identity() == other._identity()

    def __hash__(self) -> int:
        return hash(self._identity())

    def _identity(self) -> tuple[Any, ...]:
        return self.shape_tuple, self.axis_types, self.abstract_device


def axis_names_of(given: str | Sequence[Any]) -> tuple[Any, ...]:
    """The names as a tuple. ValueError for None, and for names that occur twice."""
    names = (given,) if isinstance(given, str) else tuple(given)
    if None in names:
        raise ValueError(f"Mesh axis names cannot be None. Got: {names}")
    if len(set(names)) != len(names):
        raise ValueError(f"Mesh axis names must be different, got {names}")
    return names


def _types(given: Any, names: tuple[Any, ...]) -> tuple[AxisType, ...]:
    """A type for each name; TypeError for what is none, ValueError for another number of them."""
    if given is None:
        return (AxisType.Auto,) * len(names)
    types = tuple(given) if isinstance(given, (tuple, list)) else (given,)
    if not all(isinstance(t, AxisType) for t in types):
        raise TypeError(f"axis_types passed to Mesh must be of type `jax.sharding.AxisType`, got {types}")
    if len(types) != len(names):
        raise ValueError(f"Number of axis names should match the number of axis_types. Got axis_names={names} and "
                         f"axis_types={types}")
    return types


# -------------------------------------------------------------------------------------------- the mesh in use

# It is a flag, so that programs traced under one mesh are not used under another.
EMPTY = Mesh(np.empty((), object), ())


def current_mesh() -> Mesh | AbstractMesh:
    """The mesh of this thread, perhaps an abstract one; an empty one without."""
    found = mesh_in_use.value
    return EMPTY if found is None else found


def using(mesh: Mesh | AbstractMesh) -> Override:
    """A block with a mesh in use."""
    return mesh_in_use(None if mesh.empty else mesh)


# -------------------------------------------------------------------------------------------- programs for no devices

NO_PLATFORM = "abstract"


class StandIn(Record):
    """A device of an abstract mesh, in programs that are only looked at: lowered, and exported."""
    id: int
    platform: str = NO_PLATFORM
    process_index: int = 0

    def __repr__(self) -> str:
        return f"abstract:{self.id}"


class _Lowering(threading.local):
    active: bool = False


_lowering = _Lowering()


def without_devices() -> _native.Scope:
    """A block in which programs may be made for abstract meshes, whose devices stand-ins are."""
    return _native.Scope(_lowering, "active", True)


def is_without_devices() -> bool:
    """Whether programs may be made for abstract meshes now."""
    return _lowering.active


def over_devices(mesh: Mesh | AbstractMesh) -> Mesh | None:
    """A mesh with devices: of an abstract one the mesh in use, if it has the same axes; where a program is only looked at, one
    of stand-ins. Else None."""
    if isinstance(mesh, Mesh):
        return mesh
    used = current_mesh()
    if isinstance(used, Mesh) and used.shape_tuple == mesh.shape_tuple:
        return used
    return _of_stand_ins(mesh) if _lowering.active else None


@functools.lru_cache(maxsize=256)
def _of_stand_ins(mesh: AbstractMesh) -> Mesh:
    grid = np.empty(mesh.size, object)
    grid[:] = [StandIn(k) for k in range(mesh.size)]
    return Mesh(grid.reshape(mesh.axis_sizes), mesh.axis_names, mesh.axis_types)
