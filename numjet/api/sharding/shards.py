"""Shards: the parts of an array on each device, and arrays made of them."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from numjet import _native
from numjet.api.sharding.mesh import get_mesh
from numjet.api.sharding.partition_spec import PartitionSpec
from numjet.api.sharding.shardings import Index, NamedSharding, Sharding, device_of
from numjet.api.transfer import device_put
from numjet.core.trace import Tracer
from numjet.foundation import errors
from numjet.foundation.record import Record
from numjet.foundation.tree import tree_flatten, tree_map, tree_structure, tree_unflatten
from numjet.foundation.tree.prefix import broadcast_prefix
from numjet.runtime.device import Device


class Shard(Record):
    """The part of an array on one device: its index in the whole, and which of several equal copies it is."""

    device: Device
    index: Index
    replica_id: int
    data: Any


def shards_of(array: Any) -> list[Shard]:
    """The shards of an array, which is on one device: itself."""
    return [Shard(array.device, (slice(None),) * array.ndim, 0, array)]


def make_array_from_callback(shape: Sequence[int], sharding: Sharding | Device, data_callback: Callable[[Index], Any],
                             dtype: Any = None) -> Any:
    """An array of whose parts `data_callback(index)` gives the values, index being a tuple of slices.

    Raises ValueError where it gives a part of another shape, UnexpectedTracerError while a function is traced.

    >>> from numjet.runtime.device import CPU
    >>> make_array_from_callback((2, 2), CPU, lambda index: np.eye(2)[index]).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    device = device_of("make_array_from_callback", sharding)
    value = data_callback((slice(None),) * len(shape))
    if isinstance(value, Tracer):
        raise errors.UnexpectedTracerError("jax.make_array_from_callback cannot be called within a traced context: its "
                                           "callback gave a traced value. Call it outside, and pass the array.")
    value = value if isinstance(value, _native.Array) else np.asarray(value)
    if value.shape != tuple(shape):
        raise ValueError(f"make_array_from_callback: expected a part of shape {tuple(shape)}, got {value.shape}")
    return device_put(value if dtype is None else value.astype(dtype), device)


def make_array_from_process_local_data(sharding: Any, local_data: Any, global_shape: Any = None) -> Any:
    """Arrays of the data of all processes, of which there is one: a pytree of arrays on the devices of a sharding.

    sharding: a Sharding, a Device, or a PartitionSpec for the mesh in use. global_shape: shapes, or a prefix of the pytree with
    them: those of the data. ValueError for others.

    >>> from numjet.runtime.device import CPU
    >>> make_array_from_process_local_data(CPU, np.ones(3)).shape
    (3,)
    """
    leaves, tree = tree_flatten(local_data)
    is_shape = lambda x: x is None or (isinstance(x, tuple) and all(isinstance(n, int) for n in x))
    if isinstance(global_shape, tuple) or global_shape is None:
        shapes = [global_shape] * len(leaves)
    else:
        if tree_structure(global_shape, is_leaf=is_shape) != tree:
            raise ValueError(f"make_array_from_process_local_data: global_shape {global_shape} does not have the structure of "
                             f"the data, {tree}")
        shapes = tree_flatten(global_shape, is_leaf=is_shape)[0]
    for leaf, shape in zip(leaves, shapes, strict=True):
        if shape is not None and tuple(shape) != np.shape(leaf):
            raise ValueError(f"make_array_from_process_local_data: expected global_shape {np.shape(leaf)}, the shape of the "
                             f"data of the only process, got {shape}")
    placed = broadcast_prefix(tree_map(_sharding, sharding), local_data)
    return tree_unflatten(tree, [device_put(leaf, s) for leaf, s in zip(leaves, placed, strict=True)])


def _sharding(placement: Any) -> Any:
    return NamedSharding(get_mesh(), placement) if isinstance(placement, PartitionSpec) else placement


def make_array_from_single_device_arrays(shape: Sequence[int], sharding: Sharding, arrays: Sequence[Any], *, dtype: Any = None
                                         ) -> Any:
    """The array whose parts are `arrays`, each on its device.

    Raises TypeError for what is no sequence; ValueError for parts that are no arrays, whose number, shape or dtype differs
    from what shape, sharding and dtype say, or that are on other devices.

    >>> x = device_put(np.ones(2, np.float32))
    >>> make_array_from_single_device_arrays((2,), x.sharding, [x]).tolist()
    [1.0, 1.0]
    """
    name = "jax.make_array_from_single_device_arrays"
    if isinstance(arrays, Tracer) or not isinstance(arrays, Sequence):
        raise TypeError(f"{name} `arrays` argument should be a list or tuple, but got {type(arrays)}.")
    if any(isinstance(a, Tracer) for a in arrays):
        raise ValueError(f"{name} requires a list of concrete arrays as input, but got types {set(map(type, arrays))}")
    if not arrays:
        raise ValueError("If the Array has no addressable shards, `dtype` must be provided via the `dtype` argument to "
                         f"`{name}`." if dtype is None else f"{name}: expected a part for {sharding}, got none")
    if dtype is not None and any(a.dtype != dtype for a in arrays):
        raise ValueError(f"If `dtype` is provided to `{name}`, it must match the dtype of the addressable shards. Got "
                         f"dtype={dtype} and {[a.dtype.name for a in arrays]}.")
    device = device_of(name, sharding)
    (part, *more) = arrays
    if more or part.device != device:
        raise ValueError(f"{name}: expected one array on {device}, for {sharding}, got {len(arrays)} on "
                         f"{[str(a.device) for a in arrays]}")
    if part.shape != sharding.shard_shape(shape):
        raise ValueError(f"{name}: expected parts of shape {sharding.shard_shape(shape)}, for {sharding}, got {part.shape}")
    return part if part.committed else _native.rewrap(part, committed=True)
