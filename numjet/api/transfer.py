"""Data transfer: device_put, device_get, waiting, and the list of live arrays."""
from __future__ import annotations

import atexit
from typing import Any

import numpy as np

from numjet import _native
from numjet.api.arguments import check_arrays
from numjet.api.eager_plans import taped
from numjet.core import transfers
from numjet.core.effects import failures
from numjet.core.sharding.layouts import check_placed
from numjet.core.sharding.memory import Space, kind_of
from numjet.core.trace import EVAL, Tracer, aval_of, current_trace
from numjet.foundation import lazy_import
from numjet.foundation.dtypes import is_key
from numjet.foundation.processes import state as processes
from numjet.foundation.tree import PyTreeDef, tree_flatten, tree_leaves, tree_map, tree_unflatten
from numjet.foundation.tree.prefix import flatten_axes
from numjet.runtime import dispatch
from numjet.runtime.backends import canonical, load_backend
from numjet.runtime.device import (
    CPU,
    Device,
    default_backend as runtime_backend,
    default_device,
    devices as runtime_devices,
    local,
    mesh_of_several,
    other_platforms,
)

placement = lazy_import.Module("numjet.api.sharding.placement")
sharding = lazy_import.Module("numjet.lax.sharding")
traceback = lazy_import.Module("traceback")


def device_put(x: Any, device: Any = None, *, src: Any = None, donate: Any = False, may_alias: Any = None) -> Any:
    """Copies a pytree of arrays and scalars to a device, to which they are then committed: computations with them run there.

    device: a Device, a sharding, a memory space (`jax.memory.Space`) of the devices that have the array, or a pytree of them.
    Without one arrays stay where they are, and everything else goes to the default device, uncommitted. src: where traced
    values are, and their cotangents go to.
    may_alias: False makes a copy of arrays that are in place already. donate: True deletes those that are moved. Both may be
    pytrees of bools, for parts of x.
    The result never shares memory that the caller can still write. Raises ValueError for anything that is no device. A program
    runs on the devices that it runs on: in one, a device changes nothing, a sharding is a constraint, and a memory is part of
    the type of the result.

    >>> import numpy as np, numjet as nj
    >>> nj.device_put({"a": np.ones(2)})["a"].shape
    (2,)
    """
    if device is None and type(x) is np.ndarray:   # NumPy arrays are copied in any case
        return _put_host_array(x)
    if device is None and type(x) is _native.Array and may_alias is None:
        return x
    leaves, tree = tree_flatten(x)
    aliased, donated = (_for_leaves(f"device_put {name}", tree, given) for name, given in (("may_alias", may_alias),
                                                                                            ("donate", donate)))
    if any(a and d for a, d in zip(aliased, donated, strict=True)):
        raise ValueError("may_alias and donate cannot be True at the same time.")
    check_arrays(leaves, lambda: [f"leaf {k}" for k in range(len(leaves))], "device_put")
    same = device is None or isinstance(device, (Device, Space))
    placed = [device] * len(leaves) if same else flatten_axes("device_put device", tree, device)
    sources = [src] * len(leaves) if src is None or isinstance(src, Device) else flatten_axes("device_put src", tree, src)
    out = [_put(leaf, d, s) for leaf, d, s in zip(leaves, placed, sources, strict=True)]
    out = [dispatch.copied(new) if alias is False and new is leaf and isinstance(new, _native.Array) else new
           for leaf, new, alias in zip(leaves, out, aliased, strict=True)]
    for leaf, new, donate_it in zip(leaves, out, donated, strict=True):
        if donate_it and isinstance(leaf, _native.Array) and leaf is not new:
            leaf.delete()
    return tree_unflatten(tree, out)


def _for_leaves(name: str, tree: PyTreeDef, given: bool | Any | None) -> list[bool | None]:
    """An option for each leaf: one for all of them, or a pytree that is a prefix of theirs."""
    return [given] * tree.num_leaves if given is None or isinstance(given, bool) else flatten_axes(name, tree, given)


def _copy_to_default_device(x: Any) -> Any:
    check_arrays([x], lambda: ["leaf 0"], "device_put")
    return _put(x, None)


_put_host_array = taped(_copy_to_default_device, ("x",))


def _put(x: Any, device: Any, src: Any = None) -> Any:
    if isinstance(device, Space):
        return _put_in_space(x, device, src)
    if isinstance(device, Device) and getattr(current_trace(), "shards", None) is not None:
        raise ValueError("device_put with explicit device not allowed within shard_map-decorated functions, but got device "
                         f"{device}: each device of the mesh has its part. Leave the device out, or call the mapped function "
                         "in `jit`, where devices of values are ignored.")
    given = device
    if device is not None and not (isinstance(device, Device) and device == CPU):
        check_placed(device, aval_of(x).shape)
        device = placement.location("device_put", device)
    if isinstance(device, Device) and device.process_index != processes.index:
        raise ValueError(f"device_put: {device!r} belongs to process {device.process_index}, and this is process "
                         f"{processes.index}: put arrays on this process's devices, or on those of all by a sharding")
    several = device is not None and not isinstance(device, Device)
    if several:
        placement.check_parts("One of device_put args", device, aval_of(x).shape)
    if isinstance(x, Tracer) or (several and current_trace() is not EVAL):
        one = not several and not isinstance(given, Device)
        return x if device is None else sharding.put_traced(x, placement.resolved("device_put", given) if one else device,
                                                            _source(src))
    if device is None and isinstance(x, _native.Array):
        return x
    there = default_device() if device is None and mesh_of_several() is None else device
    array = dispatch.as_array(x, None, there, explicit=True)
    if device is None:
        return array
    label = None if several or isinstance(given, Device) else placement.label("device_put", given)
    return dispatch.move(array, device) if label is None else dispatch.put_under(array, label)


def _put_in_space(x: Any, space: Space, src: Any) -> Any:
    """A value in a memory of the devices that have it."""
    if isinstance(x, Tracer) or current_trace() is not EVAL:
        return sharding.put_traced(x, space, _source(src))
    array = dispatch.as_array(x, explicit=True)
    return _put(array, array.sharding.with_memory_kind(kind_of(space)))


def _source(src: Any) -> Any:
    """Where cotangents of a traced value go back to."""
    return src if src is None or isinstance(src, Space) else placement.location("device_put src", src)


def device_get(x: Any) -> Any:
    """A pytree of arrays as one of NumPy arrays, once they are computed; random keys stay as they are."""
    with transfers.meant():
        return tree_map(lambda leaf: np.array(leaf) if isinstance(leaf, _native.Array) and not is_key(leaf.dtype) else leaf, x)


def block_until_ready(x: Any) -> Any:
    """Waits until all arrays of a pytree are computed, and returns it. Raises the error of a computation that failed."""
    divided: list[Any] = []
    for leaf in tree_leaves(x):
        if isinstance(leaf, _native.Array) and isinstance(leaf._remote, _native.Parts):
            divided.append(leaf._remote)
        elif hasattr(leaf, "block_until_ready"):
            leaf.block_until_ready()
    if divided:
        divided[0].wait_for(divided)
    return x


def copy_to_host_async(x: Any) -> Any:
    """Starts copying a pytree to the host, where CPU arrays are already; leaves of other types may have such a method."""
    for leaf in tree_leaves(x):
        start = getattr(leaf, "copy_to_host_async", None)
        if start is not None:
            start()
    return x


def effects_barrier() -> None:
    """Waits until all started computations have had their effects: prints, callbacks.

    Raises JaxRuntimeError when a callback failed and its error was not raised yet.
    """
    _native.synchronize()
    for platform in other_platforms:
        load_backend(platform).wait_for_effects()
    unseen = failures.unseen()
    if unseen:
        raise unseen[0]


@atexit.register
def _report_unseen_failures() -> None:
    """Prints at exit the errors of callbacks that were never raised."""
    try:
        _native.close_queue()  # waits, and records where Ctrl-C ended the wait, so that there is no second wait
    except KeyboardInterrupt:
        return
    for error in failures.unseen():
        traceback.print_exception(error)


def live_arrays(platform: str | None = None) -> list[Any]:
    """All arrays that are alive and not deleted; with a platform, those on its devices."""
    return [x for x in _native.live_arrays() if platform is None or x.device.platform == canonical(platform)]


def devices(backend: str | None = None) -> list[Device]:
    """The devices of a platform: cpu (numjet's own), xla_cpu, gpu or tpu; default: the default backend's.

    Raises RuntimeError for a platform that is unknown or not installed.

    >>> import numjet as nj
    >>> nj.devices()
    [CpuDevice(id=0)]
    """
    return runtime_devices(backend)


def local_devices(process_index: int | None = None, backend: str | None = None, host_id: int | None = None) -> list[Device]:
    """The devices of this process, or of the process of a number. ValueError for a number that no process has."""
    wanted = host_id if process_index is None else process_index
    if wanted is not None and not 0 <= wanted < processes.count:
        raise ValueError(f"Unknown process_index {wanted}: there are {processes.count}")
    return local(runtime_devices(backend), wanted)


def device_count(backend: str | None = None) -> int:
    """The number of devices of all processes."""
    return len(runtime_devices(backend))


def local_device_count(backend: str | None = None) -> int:
    """The number of devices of this process."""
    return len(local(runtime_devices(backend)))


def default_backend() -> str:
    """The platform used where no device is named: the first of jax_platforms, else cpu."""
    return runtime_backend()


def process_index(backend: str | None = None) -> int:
    """The number of this process."""
    del backend
    return processes.index


def process_indices(backend: str | None = None) -> list[int]:
    """The numbers of all processes."""
    del backend
    return list(range(processes.count))


def process_count(backend: str | None = None) -> int:
    """The number of processes."""
    del backend
    return processes.count
