"""Shardings over meshes of one device, as labels of arrays. Programs run as on any device; results take over the label of the
first argument that has one, as they would be divided alike if the mesh had more devices."""
from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from numjet import _native
from numjet.foundation import lazy_import
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
    new = _native.rewrap(array, committed=True)
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


def labels_like(label: tuple[Any, tuple[int, ...]], shapes: Sequence[tuple[int, ...]]) -> list[NamedSharding]:
    """The shardings of results beside an argument with a label: its own for the same shape, else a replicated one."""
    sharding, shape = label
    whole = shardings.NamedSharding(sharding.mesh, partition_spec.PartitionSpec())
    return [sharding if s == shape else whole for s in shapes]


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
