"""Shardings over meshes of one device, as labels of arrays. Programs run as on any device; results take over the label of the
first argument that has one, as they would be divided alike if the mesh had more devices."""
from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from numjet import _native
from numjet.core.aval import explicit, placements_in_use
from numjet.core.sharding.memory import DEVICE, UNPINNED, Space, kind_of, space_of
from numjet.foundation import lazy_import
from numjet.foundation.config import config
from numjet.runtime.device import labels_in_use

if TYPE_CHECKING:
    from numjet.core.sharding import partition_spec, shardings
    from numjet.core.sharding.shardings import NamedSharding, Sharding
else:
    partition_spec = lazy_import.Module("numjet.core.sharding.partition_spec")
    shardings = lazy_import.Module("numjet.core.sharding.shardings")


@functools.lru_cache(maxsize=4096)
def _one_object(sharding: Sharding | None) -> Sharding | None:
    """The same object for equal shardings: caches compare them by identity."""
    return sharding


def labelled(array: Any, sharding: Sharding | None) -> Any:
    """The array, which is on the one device of a sharding, committed and with that as its sharding; None for no label, and
    the device's own memory."""
    wanted = _one_object(sharding) if sharding is not None and _is_label(sharding) else None
    plain = array.aval.placement is None and (sharding is None or (wanted is None and sharding.memory_kind == DEVICE))
    typed = array.aval if plain else explicit.typed(array.aval, sharding)
    if array.committed and array._sharding is wanted and typed is array.aval:
        return array
    new = _native.rewrap(array, aval=None if typed is array.aval else typed, committed=True)
    new._sharding = wanted
    if wanted is not None and not labels_in_use:
        labels_in_use.append(True)
    return new


def _is_label(sharding: Sharding) -> bool:
    """Whether an array keeps a sharding: its device and its type do not say all that it says."""
    return isinstance(sharding, shardings.NamedSharding) or sharding.memory_kind == UNPINNED


def sharding_of(array: Any) -> Sharding:
    """How an array on one device is placed: as it was told, or as its device and its type say."""
    if array._sharding is not None:
        return array._sharding
    placed = placements_in_use and getattr(array.aval, "placement", None) is not None
    kind = kind_of(array.aval.memory_space) if placed else DEVICE
    return shardings.SingleDeviceSharding(array.device, kind)


def label_of(arrays: Sequence[Any]) -> tuple[Any, tuple[int, ...]] | None:
    """The sharding and shape of the first committed array, if that is one over a mesh."""
    for x in arrays:
        if type(x) is _native.Array and x.committed:
            return (x._sharding, x.shape) if isinstance(x._sharding, shardings.NamedSharding) else None
    return None


def label_of_types(avals: Sequence[Any], mesh: Any) -> tuple[Any, tuple[int, ...]] | None:
    """A label for results whose types are divided along Explicit axes of a mesh of one device, which no argument has."""
    if not any(map(explicit.divides, avals)):
        return None
    found = config.numjet_mesh if mesh == "none" or mesh.is_abstract else mesh
    return shardings.NamedSharding(found, partition_spec.PartitionSpec()), ()


def in_memory_of_type(sharding: Sharding | None, aval: Any) -> Sharding | None:
    """A sharding in the memory that a type names."""
    if sharding is None or space_of(sharding.memory_kind) is aval.memory_space:
        return sharding
    return sharding.with_memory_kind(kind_of(aval.memory_space))


def labels_like(label: tuple[Any, tuple[int, ...]], avals: Sequence[Any]) -> list[NamedSharding]:
    """The shardings of results beside an argument with a label: its own for the same shape, else a replicated one; those that
    types say where axes are Explicit. Types say in which memory they are."""
    sharding, shape = label
    whole = shardings.NamedSharding(sharding.mesh, partition_spec.PartitionSpec())
    if sharding.mesh.explicit_axes:
        return [whole if a.placement is None else explicit.concrete(a.placement, sharding.mesh) for a in avals]
    return [(sharding if a.shape == shape else whole).with_memory_kind(kind_of(a.memory_space)) for a in avals]


class Labelling:
    """A program of one device whose results have shardings."""

    def __init__(self, program: Any, wanted: Sequence[Sharding | None]):
        self.program = program
        self.in_avals, self.out_avals, self.device = program.in_avals, program.out_avals, program.device
        self.shardings = [_one_object(in_memory_of_type(self._own(k) if s is None else s, self.out_avals[k]))
                          for k, s in enumerate(wanted)]

    def _own(self, k: int) -> Sharding | None:
        """The sharding of a result that gets none: None for one in the device's own memory."""
        own = self.out_avals[k].memory_space is Space.Device
        return None if own else shardings.SingleDeviceSharding(self.device)

    def __call__(self, arrays: Sequence[Any], donated: Sequence[bool] | None = None,
                 committed: bool | None = None) -> list[Any]:
        return self.label(self.program(arrays, donated))

    def label(self, outs: list[Any]) -> list[Any]:
        """The results, with their shardings."""
        return [labelled(x, s) for x, s in zip(outs, self.shardings, strict=True)]
