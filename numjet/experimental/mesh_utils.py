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
    """create_device_mesh for several networks, here of one granule. ValueError for more.

    >>> create_hybrid_device_mesh((1,), (1,)).shape
    (1,)
    """
    del process_is_granule, should_sort_granules_by_key
    if prod(dcn_mesh_shape) != 1 or len(dcn_mesh_shape) != len(mesh_shape):
        raise ValueError(f"Number of slices 1 must equal the product of dcn_mesh_shape {tuple(dcn_mesh_shape)}, which has as "
                         f"many dimensions as mesh_shape {tuple(mesh_shape)}")
    return create_device_mesh(mesh_shape, devices, allow_split_physical_axes=allow_split_physical_axes)
