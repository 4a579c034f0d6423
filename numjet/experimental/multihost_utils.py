"""Helpers for programs of several processes: waiting for each other, gathering and telling values, arrays of all of them.

All processes call them alike, in the same order.
"""
from __future__ import annotations

import contextlib
import zlib
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from numjet.api.jit import jit
from numjet.api.processes import is_initialized
from numjet.api.sharding.shards import make_array_from_single_device_arrays
from numjet.api.transfer import device_get, device_put, devices, effects_barrier, local_devices, process_count, process_index
from numjet.core.sharding.mesh import Mesh
from numjet.core.sharding.partition_spec import PartitionSpec, parts_of
from numjet.core.sharding.shardings import NamedSharding
from numjet.core.trace import Array
from numjet.foundation.tree import tree_flatten, tree_leaves, tree_map, tree_unflatten
from numjet.foundation.tree.prefix import broadcast_prefix


def _by_process() -> np.ndarray:
    """The devices: a row for each process."""
    mine = local_devices()
    rows: list[list[Any]] = [[] for _ in range(process_count())]
    for device in devices():
        rows[device.process_index].append(device)
    if any(len(row) != len(mine) for row in rows):
        raise ValueError("multihost_utils: expected as many devices in each process, got "
                         f"{[len(row) for row in rows]}: start all with the same jax_num_cpu_devices")
    grid = np.empty((len(rows), len(mine)), object)
    grid[:] = rows
    return grid


def _stacked(x: np.ndarray) -> Any:
    """The global array whose row k is the value of process k."""
    sharding = NamedSharding(Mesh(_by_process(), ("processes", "local")), PartitionSpec("processes"))
    parts = [device_put(x[None], d) for d in local_devices()]
    return make_array_from_single_device_arrays((process_count(), *x.shape), sharding, parts)


def _replicated(x: Any, mesh: Mesh) -> np.ndarray:
    """The value of a global array, in all processes."""
    return np.asarray(device_put(x, NamedSharding(mesh, PartitionSpec())).addressable_data(0))


def process_allgather(in_tree: Any, tiled: bool = False) -> Any:
    """NumPy arrays with the values of all processes: one after the other along a new first axis, or if `tiled` along the first.

    Arrays of parts in several processes are gathered as they are; ValueError without `tiled`.

    >>> process_allgather(np.arange(3)).shape, process_allgather(np.arange(3), tiled=True).shape
    ((1, 3), (3,))
    """
    leaves, tree = tree_flatten(in_tree)
    replicated = _replicated_together([x for x in leaves if _has_parts_elsewhere(x)]) if tiled else {}

    def gather(x: Any) -> np.ndarray:
        if id(x) in replicated:
            return replicated[id(x)]
        if isinstance(x, Array) and not x.is_fully_addressable:
            if not tiled:
                raise ValueError("Gathering global non-fully-addressable arrays only supports tiled=True")
            return np.asarray(x)
        value = np.asarray(device_get(x))
        if process_count() == 1:
            return value if tiled and value.ndim else value[None]
        stacked = _stacked(value)
        found = _replicated(stacked, stacked.sharding.mesh)
        return found.reshape(-1, *found.shape[2:]) if tiled and value.ndim else found
    return tree_unflatten(tree, list(map(gather, leaves)))


def _has_parts_elsewhere(x: Any) -> bool:
    """Whether other processes have parts of an array that this one has not."""
    return isinstance(x, Array) and not x.is_fully_addressable and not x.is_fully_replicated


def _replicated_together(arrays: list[Any]) -> dict[int, np.ndarray]:
    """The values of global arrays, by their ids: one program brings all of a mesh to all processes."""
    found: dict[int, np.ndarray] = {}
    for mesh in dict.fromkeys(x.sharding.mesh for x in arrays):
        of_mesh = [x for x in arrays if x.sharding.mesh == mesh]
        whole = jit(lambda xs: xs, out_shardings=NamedSharding(mesh, PartitionSpec()))(of_mesh)
        found.update({id(x): np.asarray(w.addressable_data(0)) for x, w in zip(of_mesh, whole, strict=True)})
    return found


def broadcast_one_to_all(in_tree: Any, is_source: bool | None = None) -> Any:
    """NumPy arrays with the values of the source process: that where is_source is True, default: process 0.

    ValueError where no process is the source, or several are.

    >>> broadcast_one_to_all(np.arange(2)).tolist()
    [0, 1]
    """
    if is_source is None:
        is_source = process_index() == 0
    sources = process_allgather(np.array(bool(is_source)))
    if sources.sum() != 1:
        raise ValueError(f"broadcast_one_to_all: expected one source, got processes {np.nonzero(sources)[0].tolist()}")
    if process_count() == 1:
        return tree_map(lambda x: np.asarray(device_get(x)), in_tree)
    source = int(np.argmax(sources))
    return tree_map(lambda x: process_allgather(np.asarray(device_get(x)))[source], in_tree)


def sync_global_devices(name: str) -> None:
    """Waits for the devices of all processes. AssertionError where these wait under different names.

    >>> sync_global_devices("after the first step")
    """
    effects_barrier()
    assert_equal(np.uint32(zlib.crc32(name.encode())), f"sync_global_devices name mismatch ('{name}')")


def reached_preemption_sync_point(step_id: int) -> bool:
    """Whether all processes are to save their state at this step, as one was told that it will end: False for a process that
    joined no others (`distributed.initialize`), where JAX hears of no notice either. NotImplementedError for one that did.

    >>> reached_preemption_sync_point(10)
    False
    """
    if is_initialized():
        raise NotImplementedError("reached_preemption_sync_point: processes here tell each other of no notice of preemption: "
                                  "save the state every few steps, or handle the signal, and agree by broadcast_one_to_all")
    return False


def assert_equal(in_tree: Any, fail_message: str = "") -> None:
    """Raises AssertionError if values differ between processes. TypeError for what is no array."""
    mine = [np.asarray(device_get(x)) for x in tree_leaves(in_tree)]
    if process_count() == 1:
        return
    for value in mine:
        every = process_allgather(value)
        if not all(np.array_equal(value, other, equal_nan=value.dtype.kind in "fc") for other in every):
            raise AssertionError(f"{fail_message}. Expected: {every[0]}; got: {value} in process {process_index()}.")


class ProcessFailureError(Exception):
    """A block of live_devices failed in other processes, whose devices are in `failed_devices`."""

    def __init__(self, message: str, failed_devices: set[Any]):
        super().__init__(message)
        self.failed_devices = failed_devices


@contextlib.contextmanager
def live_devices(devices: Sequence[Any]) -> Iterator[list[Any]]:
    """A block that all processes of the devices run, or none: it gets the devices, and waits for the other processes before
    and after. Where it raises in one process, it raises in all.

    A process that ends takes the others with it, so the devices of all processes are alive.
    Raises RuntimeError before distributed.initialize, ValueError without a device of this process, NotImplementedError for
    devices of some of the processes; ProcessFailureError where the block failed in others.

    >>> from numjet import distributed
    >>> distributed.initialize("localhost:12345", num_processes=1, process_id=0)
    >>> with live_devices(local_devices()) as alive:
    ...     len(alive) == len(local_devices())
    True
    >>> distributed.shutdown()
    """
    if not is_initialized():
        raise RuntimeError("Distributed JAX not initialized: live_devices is for programs that began with "
                           "distributed.initialize")
    if not any(d.process_index == process_index() for d in devices):
        raise ValueError(f"live_devices: none of the devices is one of process {process_index()}, got {list(devices)}")
    if {d.process_index for d in devices} != set(range(process_count())):
        raise NotImplementedError("live_devices: the devices must be of all processes, as a process that ends takes the others "
                                  "with it. Pass jax.devices().")
    sync_global_devices("live_devices")
    done = False
    try:
        yield list(devices)
        done = True
    finally:
        every = process_allgather(np.array(done))
    failed = set(np.nonzero(~every)[0].tolist())
    if failed:
        raise ProcessFailureError(f"live_devices: the block failed in processes {sorted(failed)}",
                                  {d for d in devices if d.process_index in failed})


def _specs(pspecs: Any, values: Any) -> list[PartitionSpec]:
    found = broadcast_prefix(pspecs, values, is_leaf=lambda x: x is None or isinstance(x, PartitionSpec))
    return [PartitionSpec() if s is None else s for s in found]


def _of_processes(mesh: Mesh, spec: PartitionSpec, ndim: int) -> list[int]:
    """Among how many processes each dimension is divided."""
    local = mesh.local_mesh.shape
    counts = [int(np.prod([mesh.shape[a] // local[a] for a in parts_of(part)])) for part in spec]
    return counts + [1] * (ndim - len(counts))


def host_local_array_to_global_array(local_inputs: Any, global_mesh: Mesh, pspecs: Any) -> Any:
    """Arrays on all devices of a mesh, made of those of each process: along axes of the mesh that go through several processes
    their values stand side by side; along others all processes have the same.

    ValueError for values that the specification cannot divide.

    >>> import numjet as nj
    >>> mesh = nj.make_mesh((1,), ("x",))
    >>> host_local_array_to_global_array(np.ones(2), mesh, nj.P("x")).shape
    (2,)
    """
    leaves, tree = tree_flatten(local_inputs)
    return tree_unflatten(tree, [_global(x, global_mesh, s) for x, s in zip(leaves, _specs(pspecs, local_inputs), strict=True)])


def _global(x: Any, mesh: Mesh, spec: PartitionSpec) -> Any:
    sharding = NamedSharding(mesh, spec)
    if isinstance(x, Array) and not x.is_fully_addressable:
        return x
    if not mesh.is_multi_process:
        sharding.check_compatible_aval(np.shape(x))
        return device_put(x, sharding)
    local = device_put(x, NamedSharding(mesh.local_mesh, spec))
    shape = tuple(n * k for n, k in zip(local.shape, _of_processes(mesh, spec, local.ndim), strict=True))
    on = {part.device: part for part in (s.data for s in local.addressable_shards)}
    wanted = sharding.addressable_devices_indices_map(shape)
    return make_array_from_single_device_arrays(shape, sharding, [on[d] for d in wanted])


def global_array_to_host_local_array(global_inputs: Any, global_mesh: Mesh, pspecs: Any) -> Any:
    """The inverse of host_local_array_to_global_array: arrays on this process's devices."""
    leaves, tree = tree_flatten(global_inputs)
    return tree_unflatten(tree, [_local(x, global_mesh, s) for x, s in zip(leaves, _specs(pspecs, global_inputs), strict=True)])


def _local(x: Any, mesh: Mesh, spec: PartitionSpec) -> Any:
    placed = device_put(x, NamedSharding(mesh, spec))
    if not mesh.is_multi_process:
        return placed
    sharding = NamedSharding(mesh.local_mesh, spec)
    shape = tuple(n // k for n, k in zip(placed.shape, _of_processes(mesh, spec, placed.ndim), strict=True))
    on = {part.device: part for part in (s.data for s in placed.addressable_shards)}
    return make_array_from_single_device_arrays(shape, sharding, [on[d] for d in sharding.devices_indices_map(shape)])
