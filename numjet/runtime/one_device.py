"""Shardings over meshes of one device, as labels of arrays. Programs run as on any device; results take over the label of the
first argument that has one, as they would be divided alike if the mesh had more devices."""
from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from numjet import _native
from numjet.core.aval import explicit
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
def _one_object(sharding: NamedSharding) -> NamedSharding:
    """The same object for equal shardings: caches compare them by identity."""
    return sharding


def labelled(array: Any, sharding: Sharding | None) -> Any:
    """The array, which is on the one device of a sharding, committed and with that as its sharding; None for no label."""
    wanted = _one_object(sharding) if sharding is not None and isinstance(sharding, shardings.NamedSharding) else None
    if array.committed and array._sharding is wanted:
        return array
    typed = array.aval if wanted is None and array.aval.placement is None else explicit.typed(array.aval, wanted)
    new = _native.rewrap(array, aval=None if typed is array.aval else typed, committed=True)
    new._sharding = wanted
    if wanted is not None and not labels_in_use:
        labels_in_use.append(True)
    return new


def label_of(arrays: Sequence[Any]) -> tuple[Any, tuple[int, ...]] | None:
    """The sharding and shape of the first committed array, if that has a label."""
    for x in arrays:
        if type(x) is _native.Array and x.committed:
            return (x._sharding, x.shape) if x._sharding is not None else None
    return None


def label_of_types(avals: Sequence[Any], mesh: Any) -> tuple[Any, tuple[int, ...]] | None:
    """A label for results whose types are divided along Explicit axes of a mesh of one device, which no argument has."""
    if all(a.placement is None for a in avals):
        return None
    found = config.numjet_mesh if mesh == "none" or mesh.is_abstract else mesh
    return shardings.NamedSharding(found, partition_spec.PartitionSpec()), ()


def labels_like(label: tuple[Any, tuple[int, ...]], avals: Sequence[Any]) -> list[NamedSharding]:
    """The shardings of results beside an argument with a label: its own for the same shape, else a replicated one; those that
    types say where axes are Explicit."""
    sharding, shape = label
    whole = shardings.NamedSharding(sharding.mesh, partition_spec.PartitionSpec())
    if sharding.mesh.explicit_axes:
        return [whole if a.placement is None else explicit.concrete(a.placement, sharding.mesh) for a in avals]
    return [sharding if a.shape == shape else whole for a in avals]


class Labelling:
    """A program of one device whose results have shardings."""

    def __init__(self, program: Any, wanted: Sequence[NamedSharding | None]):
        self.program, self.shardings = program, [None if s is None else _one_object(s) for s in wanted]
        self.in_avals, self.out_avals, self.device = program.in_avals, program.out_avals, program.device

    def __call__(self, arrays: Sequence[Any], donated: Sequence[bool] | None = None,
                 committed: bool | None = None) -> list[Any]:
        return self.label(self.program(arrays, donated))

    def label(self, outs: list[Any]) -> list[Any]:
        """The results, with their shardings."""
        return [labelled(x, s) for x, s in zip(outs, self.shardings, strict=True)]
