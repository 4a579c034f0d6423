"""Shardings in XLA's terms: which tile of an array each partition has, and back to specifications."""
from __future__ import annotations

import functools
from collections.abc import Sequence
from itertools import permutations
from math import prod
from typing import Any

import numpy as np

from numjet.core.sharding.mesh import Mesh
from numjet.core.sharding.partition_spec import PartitionSpec, parts_of
from numjet.core.sharding.shardings import NamedSharding, Sharding
from numjet.xla import plugin


@functools.cache
def _replicated() -> Any:
    return plugin.library().HloSharding.replicate()


@functools.lru_cache(maxsize=4096)
def hlo_sharding(sharding: Sharding | None, ndim: int, devices: tuple[Any, ...]) -> Any:
    """The HloSharding of arrays of `ndim` dimensions, with devices numbered by their position in `devices`."""
    if sharding is None or sharding.is_fully_replicated or not isinstance(sharding, NamedSharding):
        return _replicated()
    numbers = {d: k for k, d in enumerate(devices)}
    tiles = tile_numbers(sharding, ndim, np.array([numbers[d] for d in sharding.mesh.devices.flat]))
    xla = plugin.library()
    kinds = [kind for kind, count in zip((xla.OpSharding.Type.UNREDUCED, xla.OpSharding.Type.REPLICATED), tiles.shape[-2:],
                                         strict=True) if count > 1]
    tiles = tiles.reshape(*tiles.shape[:-2], *[n for n in tiles.shape[-2:] if n > 1])
    return xla.HloSharding.subgroup_with_device_ordering(np.ascontiguousarray(tiles, np.int64), kinds)


def tile_numbers(sharding: NamedSharding, ndim: int, numbers: np.ndarray) -> np.ndarray:
    """The numbers of the devices that have each tile, along two more axes: those of summands of it, and of copies. numbers:
    those of the mesh's devices."""
    mesh = sharding.mesh
    groups = [list(parts_of(part)) for part in sharding.entries(ndim)]
    used = {axis for group in groups for axis in group}
    summands = [axis for axis in mesh.axis_names if axis in sharding.spec.unreduced]
    rest = [axis for axis in mesh.axis_names if axis not in used and axis not in summands]
    order = [mesh.axis_names.index(axis) for group in [*groups, summands, rest] for axis in group]
    shape = [prod(mesh.shape[axis] for axis in group) for group in [*groups, summands, rest]]
    return numbers.reshape(mesh.axis_sizes).transpose(order).reshape(shape)


@functools.lru_cache(maxsize=4096)
def _spec_of_tiles(tiles: bytes, shape: tuple[int, ...], mesh: Mesh, numbers: tuple[int, ...]) -> PartitionSpec | None:
    """The specification of an assignment of tiles (the last axis: copies), or None if the mesh's axes do not give it."""
    given = np.frombuffer(tiles, np.int64).reshape(shape)
    place = {number: position for position, number in enumerate(numbers)}
    coordinates = np.array(np.unravel_index([place[n] for n in range(len(numbers))], mesh.axis_sizes))  # axis, number
    parts: list[Any] = []
    for d, count in enumerate(shape[:-1]):
        index = np.empty(len(numbers), np.int64)  # of the tile of each device along dimension d
        index[given.ravel()] = np.broadcast_to(np.arange(count).reshape((-1,) + (1,) * (len(shape) - 1 - d)), shape).ravel()
        found = _axes_giving(index, count, coordinates, mesh)
        if found is None:
            return None
        parts.append(found)
    while parts and parts[-1] == ():
        parts.pop()
    return PartitionSpec(*parts)


def _axes_giving(index: np.ndarray, count: int, coordinates: np.ndarray, mesh: Mesh) -> tuple[Any, ...] | None:
    """The axes, the slowest first, whose coordinates number the tiles along one dimension."""
    if count == 1:
        return ()
    sizes = mesh.axis_sizes
    for length in range(1, len(sizes) + 1):
        for axes in permutations(range(len(sizes)), length):
            if prod(sizes[a] for a in axes) != count or any(sizes[a] == 1 for a in axes):
                continue
            number = np.zeros_like(index)
            for a in axes:
                number = number * sizes[a] + coordinates[a]
            if (number == index).all():
                return tuple(mesh.axis_names[a] for a in axes)
    return None


def sharding_of(proto: Any, ndim: int, devices: Sequence[Any], mesh: Mesh | None) -> NamedSharding:
    """The sharding that XLA chose for a result, by the axes of a mesh if they can say it, else by those of one made for it."""
    return named(plugin.library().HloSharding.from_proto(proto), ndim, devices, mesh)


def named(given: Any, ndim: int, devices: Sequence[Any], mesh: Mesh | None) -> NamedSharding:
    """An HloSharding by the axes of a mesh, as `sharding_of`."""
    if mesh is None or mesh.is_abstract or set(mesh.devices.flat) != set(devices):
        mesh = _plain_mesh(devices)
    if given.is_replicated() or given.is_maximal() or not ndim:
        return NamedSharding(mesh, PartitionSpec())
    shape = tuple(given.tile_assignment_dimensions())
    tiles = np.array(given.tile_assignment_devices(), np.int64).reshape(*shape[:ndim], -1)
    numbers = {d: k for k, d in enumerate(devices)}
    spec = _spec_of_tiles(tiles.tobytes(), tiles.shape, mesh, tuple(numbers[d] for d in mesh.devices.flat))
    if spec is not None:
        return NamedSharding(mesh, spec)
    names = [f"_{d}" for d in range(tiles.ndim)]
    grid = np.array([*devices, None], object)[:-1][tiles]
    return NamedSharding(Mesh(grid, names), PartitionSpec(*names[:-1]))


def _plain_mesh(devices: Sequence[Any]) -> Mesh:
    grid = np.empty(len(devices), object)
    grid[:] = devices
    return Mesh(grid, ("_0",))
