"""Serialization of shardings over meshes without devices."""
from __future__ import annotations

from collections.abc import Sequence
from math import prod

from numjet.api.export.codec import Corrupt, Reader, Writer
from numjet.core.sharding.mesh import AbstractMesh, AxisType, Mesh
from numjet.core.sharding.partition_spec import PartitionSpec, parts_of
from numjet.core.sharding.shardings import NamedSharding

_TYPES = tuple(AxisType)


def write_shardings(w: Writer, shardings: Sequence[NamedSharding | None]) -> None:
    """Appends shardings, or that there is none, for each leaf. ValueError for axes whose names are no text, and for sums that
    are still to be made."""
    w.count(len(shardings))
    for s in shardings:
        w.data.append(s is not None)
        if s is not None:
            if s.spec.unreduced or s.spec.reduced:
                raise ValueError(f"cannot serialize a function with the sharding {s}, under which sums are still to be made or "
                                 "were just made. Reshard its arguments and results to a specification without unreduced and "
                                 "reduced axes.")
            _write_mesh(w, s.mesh)
            w.count(len(s.spec))
            for part in s.spec:
                _write_names(w, parts_of(part))


def _write_mesh(w: Writer, mesh: Mesh | AbstractMesh) -> None:
    if not all(isinstance(name, str) for name in mesh.axis_names):
        raise ValueError(f"cannot serialize a function with shardings over {mesh}: names of axes must be strings")
    _write_names(w, mesh.axis_names)
    for size, kind in zip(mesh.axis_sizes, mesh.axis_types, strict=True):
        w.count(size)
        w.count(_TYPES.index(kind))


def _write_names(w: Writer, names: Sequence[str]) -> None:
    w.count(len(names))
    for name in names:
        w.text(name)


def read_shardings(r: Reader, devices: int) -> tuple[NamedSharding | None, ...]:
    """The shardings at the reader's position, all of which are over a number of devices."""
    return tuple(r.several(lambda: _read_sharding(r, devices) if r.flag() else None))


def _read_sharding(r: Reader, devices: int) -> NamedSharding:
    names = r.several(r.text)
    axes = [(r.count(), r.count()) for _ in names]
    if prod(size for size, _ in axes) != devices or any(kind >= len(_TYPES) for _, kind in axes):
        raise Corrupt(f"a mesh of axes {axes} for {devices} devices")
    mesh = AbstractMesh(tuple(size for size, _ in axes), tuple(names), axis_types=tuple(_TYPES[kind] for _, kind in axes))
    return NamedSharding(mesh, PartitionSpec(*[tuple(part) or None for part in r.several(lambda: r.several(r.text))]))
