"""Helpers for programs of several processes, which run here in one: what is gathered or broadcast is the process's own."""
from __future__ import annotations

from typing import Any

import numpy as np

from numjet.api.transfer import device_get, device_put, effects_barrier
from numjet.core.sharding.mesh import Mesh
from numjet.core.sharding.partition_spec import PartitionSpec
from numjet.core.sharding.shardings import NamedSharding
from numjet.foundation.tree import tree_flatten, tree_map, tree_unflatten
from numjet.foundation.tree.prefix import broadcast_prefix


def process_allgather(in_tree: Any, tiled: bool = False) -> Any:
    """NumPy arrays with the values of all processes: one after the other along a new first axis, or if `tiled` along the first.

    >>> process_allgather(np.arange(3)).shape, process_allgather(np.arange(3), tiled=True).shape
    ((1, 3), (3,))
    """
    return tree_map(lambda x: np.asarray(x) if tiled and np.ndim(x) else np.asarray(x)[None], device_get(in_tree))


def broadcast_one_to_all(in_tree: Any, is_source: bool | None = None) -> Any:
    """NumPy arrays with the values of the source process. ValueError if the only process is not to be the source.

    >>> broadcast_one_to_all(np.arange(2)).tolist()
    [0, 1]
    """
    if is_source is not None and not is_source:
        raise ValueError("broadcast_one_to_all: no process is the source, as there is one and its is_source is False")
    return tree_map(np.asarray, device_get(in_tree))


def sync_global_devices(name: str) -> None:
    """Waits for the devices of all processes."""
    del name
    effects_barrier()


def assert_equal(in_tree: Any, fail_message: str = "") -> None:
    """Raises AssertionError if values differ between processes: of one they do not. TypeError for what is no array."""
    del fail_message
    device_get(tree_map(np.asarray, in_tree))


def host_local_array_to_global_array(local_inputs: Any, global_mesh: Mesh, pspecs: Any) -> Any:
    """Arrays on all devices of a mesh, made of those of each process: here the arrays themselves.

    >>> import numjet as nj
    >>> mesh = nj.make_mesh((1,), ("x",))
    >>> host_local_array_to_global_array(np.ones(2), mesh, nj.P("x")).shape
    (2,)
    """
    leaves, tree = tree_flatten(local_inputs)
    specs = broadcast_prefix(pspecs, local_inputs, is_leaf=lambda x: x is None or isinstance(x, PartitionSpec))
    placed = [NamedSharding(global_mesh, PartitionSpec() if s is None else s) for s in specs]
    for leaf, sharding in zip(leaves, placed, strict=True):
        sharding.check_compatible_aval(np.shape(leaf))
    return tree_unflatten(tree, [device_put(leaf, s) for leaf, s in zip(leaves, placed, strict=True)])


def global_array_to_host_local_array(global_inputs: Any, global_mesh: Mesh, pspecs: Any) -> Any:
    """The inverse of host_local_array_to_global_array."""
    return host_local_array_to_global_array(global_inputs, global_mesh, pspecs)
