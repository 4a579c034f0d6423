"""Arrays of devices for meshes."""
from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from numjet.api.transfer import devices as all_devices


def create_device_mesh(mesh_shape: Sequence[int], devices: Sequence[Any] | None = None, *, contiguous_submeshes: bool = False,
                       allow_split_physical_axes: bool = False) -> np.ndarray:
    """An array of devices of a shape, for Mesh. The two flags are about the wiring of TPUs. ValueError for another number.

    >>> create_device_mesh((1, 1)).shape
    (1, 1)
    """
    del contiguous_submeshes, allow_split_physical_axes
    found = list(all_devices() if devices is None else devices)
    if prod(mesh_shape) != len(found):
        raise ValueError(f"Number of devices {len(found)} must equal the product of mesh_shape {tuple(mesh_shape)}")
    return np.array(found, object).reshape(tuple(mesh_shape))


def create_hybrid_device_mesh(mesh_shape: Sequence[int], dcn_mesh_shape: Sequence[int], devices: Sequence[Any] | None = None, *,
                              process_is_granule: bool = False, should_sort_granules_by_key: bool = True,
                              allow_split_physical_axes: bool = False) -> np.ndarray:
    """An array of devices for two networks: the devices of one host or slice, a granule, stand together along every axis.

    mesh_shape: how many devices of a granule there are along each axis; dcn_mesh_shape: how many granules. A granule has one
    slice_index, or one process_index where process_is_granule. ValueError for another number of either.

    >>> create_hybrid_device_mesh((1,), (1,), process_is_granule=True).shape
    (1,)
    """
    found = list(all_devices() if devices is None else devices)
    granules = _granules(found, "process_index" if process_is_granule else "slice_index")
    shape, outer = tuple(mesh_shape), tuple(dcn_mesh_shape)
    if len(shape) != len(outer):
        raise ValueError(f"mesh_shape {shape} and dcn_mesh_shape {outer} must have as many dimensions as each other")
    if prod(outer) != len(granules):
        raise ValueError(f"Number of slices {len(granules)} must equal the product of dcn_mesh_shape {outer}")
    keys = sorted(granules) if should_sort_granules_by_key else [*granules]
    meshes = [create_device_mesh(shape, granules[k], allow_split_physical_axes=allow_split_physical_axes) for k in keys]
    together = np.array(meshes, object).reshape(outer + shape)
    axes = [axis for pair in zip(range(len(outer)), range(len(outer), 2 * len(outer)), strict=True) for axis in pair]
    return together.transpose(axes).reshape([a * b for a, b in zip(outer, shape, strict=True)])


def _granules(devices: Sequence[Any], attribute: str) -> dict[int, list[Any]]:
    """The devices of each host or slice, as an attribute tells them apart, in the order in which they come."""
    if not hasattr(devices[0], attribute):
        raise ValueError(f"Device {devices[0]} does not have attribute {attribute}, which tells slices apart: "
                         "pass process_is_granule=True to tell processes apart")
    found: dict[int, list[Any]] = {}
    for device in devices:
        found.setdefault(getattr(device, attribute), []).append(device)
    return found
