"""Shards: the parts of an array on each device, and arrays made of them."""
from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from numjet import _native
from numjet.api.sharding.mesh import get_mesh
from numjet.api.sharding.placement import check_parts, location
from numjet.api.transfer import device_put
from numjet.core.aval import ShapedArray
from numjet.core.sharding.layouts import Format, check_concrete
from numjet.core.sharding.memory import DEVICE
from numjet.core.sharding.partition_spec import PartitionSpec
from numjet.core.sharding.shardings import Index, NamedSharding, Sharding, SingleDeviceSharding
from numjet.core.trace import Tracer
from numjet.foundation import errors
from numjet.foundation.dtypes import canonicalize_dtype, long_name
from numjet.foundation.record import Record
from numjet.foundation.tree import tree_flatten, tree_map, tree_structure, tree_unflatten
from numjet.foundation.tree.prefix import broadcast_prefix
from numjet.runtime import backends, one_device
from numjet.runtime.device import CPU, Device
from numjet.runtime.dispatch import as_array


class Shard(Record):
    """The part of an array on one device: its index in the whole, and which of several equal copies it is."""

    device: Device
    index: Index
    replica_id: int
    data: Any

    def __repr__(self) -> str:
        return (f"Shard(device={self.device!r}, index={self.index}, replica_id={self.replica_id}, "
                f"data={self.data})")


def sharding_of(array: Any) -> Sharding:
    """How an array is distributed."""
    if isinstance(array.device, Sharding):
        return array.device
    return one_device.sharding_of(array)


def parts_of(array: Any) -> list[Any]:
    """The parts of an array on this process's devices, in the order of its sharding's devices."""
    if not isinstance(array.device, Sharding):
        return [array]
    parts, kind = array._remote.parts(), array.device.memory_kind
    return list(parts) if kind == DEVICE else [one_device.labelled(p, SingleDeviceSharding(p.device, kind)) for p in parts]


def check_not_deleted(array: Any) -> None:
    """DeletedArrayError for a deleted array."""
    if array.is_deleted():
        raise errors.DeletedArrayError(f"Array has been deleted with shape={array.aval.str_short()}. Buffer has been deleted "
                                       "or donated.")


def shards_of(array: Any) -> list[Shard]:
    """The parts of an array on this process's devices."""
    if not isinstance(array.device, Sharding):
        return [Shard(array.device, (slice(None),) * array.ndim, 0, array)]
    return [s for s in global_shards_of(array) if s.data is not None]


def global_shards_of(array: Any) -> list[Shard]:
    """The parts of an array on all devices; those of other processes have no data."""
    if not isinstance(array.device, Sharding):
        return shards_of(array)
    mine = {part.device: part for part in parts_of(array)}
    seen: Counter[Any] = Counter()
    found = []
    for device, index in array.device.devices_indices_map(array.shape).items():
        key = tuple((part.start, part.stop) for part in index)
        found.append(Shard(device, index, seen[key], mine.get(device)))
        seen[key] += 1
    return found


def make_array_from_callback(shape: Sequence[int], sharding: Sharding | Device, data_callback: Callable[[Index], Any],
                             dtype: Any = None) -> Any:
    """An array of whose parts `data_callback(index)` gives the values, index being a tuple of slices.

    Raises TypeError without a sharding, ValueError where it gives a part of another shape, UnexpectedTracerError while a
    function is traced.

    >>> from numjet.runtime.device import CPU
    >>> make_array_from_callback((2, 2), CPU, lambda index: np.eye(2)[index]).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    check_concrete("when calling `jax.make_array_from_callback`", sharding)
    if sharding is None or isinstance(sharding, Format) and sharding.sharding is None:
        raise TypeError(f"sharding should be an instance of `jax.sharding`. Got None of type {type(None)}: make_array_from_"
                        "callback takes a Sharding, a Format with one, or a device")
    there = location("make_array_from_callback", sharding)
    placed = SingleDeviceSharding(there) if isinstance(there, Device) else there
    check_parts("One of make_array_from_callback args", placed, shape)
    parts, known = [], {}
    for index in placed.addressable_devices_indices_map(shape).values():
        key = tuple((part.start, part.stop) for part in index)
        if key not in known:
            known[key] = _part(data_callback(index), dtype)
        parts.append(known[key])
    for part in parts:
        if part.shape != placed.shard_shape(shape):
            raise ValueError(f"make_array_from_callback: Expected shard shape {placed.shard_shape(shape)} doesn't match the "
                             f"single device array shape {part.shape}. Shape of Array is {_type_text(part, shape)} with "
                             f"sharding {sharding}")
    if isinstance(there, Device):
        return device_put(parts[0], sharding)
    aval = parts[0].aval.update(shape=tuple(shape))
    parts = [device_put(p, CPU) if isinstance(p.device, Sharding) else p for p in parts]
    return backends.load_partitioned().from_parts(parts, aval, there)


def _type_text(part: Any, shape: Sequence[int]) -> str:
    """The type of an array of a shape that has a part's dtype."""
    return str(part.aval.update(shape=tuple(shape)))


def _part(value: Any, dtype: Any) -> Any:
    """A part of an array as an Array."""
    if isinstance(value, Tracer):
        raise errors.UnexpectedTracerError("jax.make_array_from_callback cannot be called within a traced context: its "
                                           "callback gave a traced value. Call it outside, and pass the array.")
    part = as_array(value if isinstance(value, _native.Array) else np.asarray(value))
    if dtype is not None and part.dtype != canonicalize_dtype(dtype):
        raise ValueError("If `dtype` is provided to `jax.make_array_from_callback`, it must match the dtype of the addressable "
                         f"shards. Got dtype={dtype} and shard dtype={part.dtype}: convert them in the callback")
    return part


def make_array_from_process_local_data(sharding: Any, local_data: Any, global_shape: Any = None) -> Any:
    """Arrays of the data of all processes: a pytree of arrays on the devices of a sharding, each process giving the parts of
    its own devices.

    sharding: a Sharding, a Device, or a PartitionSpec for the mesh in use. global_shape: shapes, or a prefix of the pytree
    with them; default: as if all processes had data of the same shape. Along a dimension of the global size the data are
    the whole. ValueError for data of a size that is neither the whole nor this process's part, and for parts that are not
    equal.

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
    placed = broadcast_prefix(tree_map(_sharding, sharding), local_data)
    return tree_unflatten(tree, [_of_processes(x, s, shape) for x, s, shape in zip(leaves, placed, shapes, strict=True)])


def _of_processes(data: Any, sharding: Any, shape: Any) -> Any:
    """The array of which this process has `data`."""
    if isinstance(sharding, Device) or sharding.is_fully_addressable:
        if shape is not None and tuple(shape) != np.shape(data):
            raise ValueError(f"make_array_from_process_local_data: expected global_shape {np.shape(data)}, the shape of the "
                             f"data of the only process, got {shape}")
        return device_put(data, sharding)
    data = np.asarray(data)
    parts = sharding._parts(data.ndim)
    own = _own_parts(sharding, parts)
    if shape is None:
        shape = tuple(n * count // len(mine) for n, count, mine in zip(data.shape, parts, own, strict=True))
    if len(shape) != data.ndim:
        raise ValueError(f"make_array_from_process_local_data: expected a global_shape of rank {data.ndim}, got {shape}")
    check_parts("One of make_array_from_process_local_data args", sharding, shape)
    for d, (n, size, count, mine) in enumerate(zip(data.shape, shape, parts, own, strict=True)):
        if n not in (size, size // count * len(mine)):
            raise ValueError("Invalid host data, each dimension should match either global or process shape. In dimension "
                             f"{d}, the process data has {n} elements. Process addresses {size // count * len(mine)} elements "
                             f"and global_shape={tuple(shape)}.")

    def local(index: Index) -> Any:
        found = []
        for n, size, count, mine, part in zip(data.shape, shape, parts, own, index, strict=True):
            step = size // count
            number = (part.start or 0) // step if step else 0
            at = number if n == size else mine.index(number)
            found.append(slice(at * step, (at + 1) * step))
        return data[tuple(found)]
    return make_array_from_callback(shape, sharding, local)


def _own_parts(sharding: Sharding, parts: Sequence[int]) -> list[list[int]]:
    """The numbers of the parts of each dimension that this process has."""
    indices = sharding.addressable_devices_indices_map(tuple(parts)).values()
    return [sorted({index[d].start or 0 for index in indices}) for d in range(len(parts))]


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
    other = next((a for a in arrays if not isinstance(a, _native.Array)), None)
    if other is not None:
        raise TypeError(f"Unsupported type for elements in `arrays`: {type(other)}. {name} takes arrays on their devices: "
                        "device_put(x, device)")
    if not arrays:
        raise ValueError("If the Array has no addressable shards, `dtype` must be provided via the `dtype` argument to "
                         f"`{name}`." if dtype is None else f"{name}: expected a part for {sharding}, got none")
    if dtype is not None and any(a.dtype != dtype for a in arrays):
        raise ValueError(f"If `dtype` is provided to `{name}`, it must match the dtype of the addressable shards. Got "
                         f"dtype={dtype} and {[a.dtype.name for a in arrays]}.")
    return _joined(name, shape, sharding, arrays)


def array_of_parts(cls: type, aval: ShapedArray, sharding: Sharding, arrays: Sequence[Any], committed: bool = True,
                   _skip_checks: bool = False) -> Any:
    """The constructor of the class of arrays: the array of a type whose parts are `arrays`.

    It makes what make_array_from_single_device_arrays makes. Parts are always checked: `_skip_checks` is a permission.

    Raises TypeError for parts that are no arrays; ValueError for those that do not fit the type and the sharding;
    NotImplementedError for committed=False, as arrays of parts are committed to their devices.

    >>> x = device_put(np.ones(2, np.float32))
    >>> type(x)(x.aval, x.sharding, [x], committed=True).tolist()
    [1.0, 1.0]
    """
    if not committed:
        raise NotImplementedError(f"{cls.__name__}(committed=False): arrays of parts are committed to their devices. Pass "
                                  "committed=True, or make an uncommitted array by jnp.asarray.")
    other = next((a for a in arrays if not isinstance(a, _native.Array)), None)
    if other is not None:
        raise TypeError(f"{cls.__name__}: expected arrays on their devices as parts, got {type(other)}")
    wrong = next((a.dtype for a in arrays if a.dtype != aval.dtype), None)
    if wrong is not None:
        raise ValueError("Input buffers to `Array` must have matching dtypes. Got "
                         f"{long_name(wrong)}, expected {long_name(aval.dtype)} for buffers of {aval.str_short()}")
    return _joined(cls.__name__, aval.shape, sharding, arrays)


def _joined(name: str, shape: Sequence[int], sharding: Sharding, arrays: Sequence[Any]) -> Any:
    """The array of parts, for a function of a name that checked that they are arrays."""
    there = location(name, sharding)
    placed = SingleDeviceSharding(there) if isinstance(there, Device) else there
    wanted = list(placed.addressable_devices_indices_map(shape))
    for part in arrays:
        if not isinstance(part.device, Device):
            raise ValueError("When making an array from single-device arrays the input arrays must have one shard each. An "
                             f"argument array had {len(part.addressable_shards)} shard(s).")
    if len(arrays) != len(wanted):
        raise ValueError(f"Expected {len(wanted)} per-device arrays (this is how many devices are addressable by the "
                         f"sharding), but got {len(arrays)}")
    if len({a.device for a in arrays}) < len(arrays):
        raise ValueError("When making an array from single-device arrays, the input arrays must be from distinct devices, but "
                         f"got device IDs {[a.device.id for a in arrays]}")
    _check_devices(wanted, [a.device for a in arrays])
    part_shape = placed.shard_shape(shape)
    for part in arrays:
        if part.shape != part_shape or part.dtype != arrays[0].dtype:
            raise ValueError(f"Expected shard shape {part_shape} doesn't match the single device array shape {part.shape}. "
                             f"Shape of Array is {_type_text(arrays[0], shape)} with sharding {sharding}: expected parts of "
                             f"shape {part_shape} and dtype {arrays[0].dtype}, got {part.aval.str_short()}")
    if isinstance(there, Device):
        (part,) = arrays
        return device_put(part, sharding)
    on = {a.device: a for a in arrays}
    return backends.load_partitioned().from_parts([on[d] for d in wanted], arrays[0].aval.update(shape=tuple(shape)), there)


def _check_devices(wanted: Sequence[Any], given: Sequence[Any]) -> None:
    """ValueError for parts on other devices than a sharding has."""
    missing, others = ({d.id for d in one} - {d.id for d in two} for one, two in ((wanted, given), (given, wanted)))
    if set(wanted) != set(given):
        raise ValueError("Addressable devices and per-device arrays devices do not match. Sharding contains devices "
                         f"{missing} that are not present in per-device arrays. Per-device arrays contain devices {others} "
                         "that are not present in the sharding.")
