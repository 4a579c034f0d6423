"""Arrays over several devices: their parts in the devices' memory, put there and read back."""
from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from numjet import _native
from numjet.core import transfers
from numjet.core.aval import ShapedArray
from numjet.core.sharding import explicit
from numjet.core.sharding.distribution import canonical, devices_of
from numjet.core.sharding.memory import space_of
from numjet.core.sharding.shardings import NamedSharding, Sharding
from numjet.xla import buffers, host_moves, layouts, plugin, text


class Sharded(_native.Parts):
    """The parts of an array on several devices, held by a native Array. `buffer` is jaxlib's array of them."""

    __slots__ = ("__weakref__",)

    @staticmethod
    def wait_for(all_parts: Sequence[Sharded]) -> None:
        """Waits for the parts of several arrays; raises the error of a computation, if any."""
        plugin.check_fork()
        with buffers.failures():
            plugin.library().batched_block_until_ready([parts.buffer for parts in all_parts])

    def block_until_ready(self) -> None:
        self.wait_for([self])

    def is_ready(self) -> bool:
        plugin.check_fork()
        return self.buffer.is_ready()

    def unsafe_buffer_pointer(self) -> int:
        raise ValueError("unsafe_buffer_pointer() is supported only for unsharded arrays: this one has parts on "
                         f"{len(devices_of(self.sharding))} devices; ask one of x.addressable_shards for its data")

    def indices(self) -> list[tuple[Any, tuple[slice, ...]]]:
        """The devices of this process that hold parts, each with the index of its part."""
        return list(self.sharding.addressable_devices_indices_map(self.aval.shape).items())

    def parts(self) -> list[Any]:
        """An Array for each device of this process, in the order of the sharding's devices."""
        if self.shown is None:
            shape = self.sharding.shard_shape(self.aval.shape)
            space = space_of(self.sharding.memory_kind)
            aval = self.aval.update(shape=shape, placement=explicit.in_memory(None, len(shape), space))
            self.shown = [_part(b, aval, d) for b, (d, _) in zip(self.buffer._arrays, self.indices(), strict=True)]
        return self.shown

    def _sum(self) -> np.ndarray:
        """The value, of which devices have summands."""
        value, seen = np.zeros(self.aval.shape, self.aval.dtype), set()
        assert isinstance(self.sharding, NamedSharding)
        mesh, axes = self.sharding.mesh, _unreduced(self.sharding)
        for part, (device, index) in zip(self.parts(), self.indices(), strict=True):
            place = np.argwhere(mesh.devices == device)[0]
            key = _key(index), tuple(int(p) for p, name in zip(place, mesh.axis_names, strict=True) if name in axes)
            if key not in seen:  # of copies of a summand, that of the first device
                seen.add(key)
                value[index] += part._value
        return value

    def fetch(self) -> np.ndarray:
        """The value in the host's memory."""
        plugin.check_fork()
        transfers.check_reading(self.aval)
        if not self.sharding.is_fully_addressable and not self.sharding.is_fully_replicated:
            raise RuntimeError("Fetching value for `jax.Array` that spans non-addressable (non process local) devices is not "
                               "possible. You can use `jax.experimental.multihost_utils.process_allgather` to print the "
                               "global array or use `.addressable_shards` method of jax.Array to inspect the addressable "
                               "(process local) shards.")
        if self.sharding.is_fully_replicated:
            return self.parts()[0]._value
        if _unreduced(self.sharding):
            return self._sum()
        value = np.empty(self.aval.shape, self.aval.dtype)
        found = [*zip(self.parts(), self.indices(), strict=True)]
        firsts = {_key(index): (part, index) for part, (_, index) in reversed(found)}
        for part, index in firsts.values():  # of copies, that of the first device
            value[index] = part._value
        return value


def _unreduced(sharding: Sharding) -> frozenset[Any]:
    """The axes whose devices have summands of arrays."""
    return sharding.spec.unreduced if isinstance(sharding, NamedSharding) else frozenset()


def _key(index: tuple[slice, ...]) -> tuple[Any, ...]:
    """The same for the same part of an array."""
    return tuple((s.start, s.stop) for s in index)


def _part(buffer: Any, aval: ShapedArray, device: Any) -> Any:
    """One part as an Array: in the host's memory as a view of it."""
    if device.platform != "cpu":
        return _native.from_remote(buffers.Remote(buffer, aval), aval, device, True)
    with buffers.failures():
        value = buffer._single_device_array_to_np_array_did_copy()[0]
    return _native.from_numpy(np.require(buffers.from_stored(value, aval), requirements="C"), aval, device, True)


@functools.cache
def _sharding_class() -> type:
    xla: Any = plugin.library()

    class Tiles(xla.GSPMDSharding):
        """Sharding of an array over several devices, in jaxlib's protocol."""

        memory_kind = property(lambda self: self._memory_kind)

        def _to_xla_hlo_sharding(self, num_dimensions: int) -> Any:
            return self._hlo_sharding
    return Tiles


@functools.lru_cache(maxsize=1024)
def device_list(devices: tuple[Any, ...]) -> tuple[list[Any], Any]:
    """jaxlib's devices for ours, and its list of them."""
    found = [buffers.place(plugin.client_platform(d.platform), d.id)[0] for d in devices]
    return found, plugin.library().DeviceList(tuple(found))


@functools.lru_cache(maxsize=4096)
def theirs(sharding: Sharding | None, ndim: int, devices: tuple[Any, ...]) -> Any:
    """jaxlib's sharding for ours, with the devices in an order."""
    found, listed = device_list(devices)
    kind = None if sharding is None else buffers.kind_there(found[0], sharding.memory_kind)
    return _sharding_class()(listed, layouts.hlo_sharding(sharding, ndim, devices), memory_kind=kind)


def ordered(buffer: Any, aval: ShapedArray, sharding: Sharding, given: tuple[Any, ...], wanted: tuple[Any, ...]) -> Any:
    """jaxlib's array with its devices in another order: programs have them in one, meshes perhaps in others."""
    if given is wanted or given == wanted:
        return buffer
    mine = sharding.addressable_devices
    numbers = {d: k for k, d in enumerate(d for d in given if d in mine)}
    parts = buffer._arrays
    return plugin.library().ArrayImpl(buffers.stored(aval), theirs(sharding, text.rank(aval), wanted),
                                      [parts[numbers[d]] for d in wanted if d in numbers], committed=True, _skip_checks=True)


def put(array: Any, sharding: Sharding) -> Any:
    """An Array with the value of another, in parts on the devices of a sharding. Memory of the host is shared where it fits."""
    plugin.check_fork()
    aval, remote = array.aval, array._remote
    if isinstance(remote, Sharded) and remote.sharding.is_equivalent_to(sharding, aval.ndim):
        return wrap(remote.buffer, aval, sharding)
    summands = _unreduced(sharding) or (type(remote) is Sharded and _unreduced(remote.sharding))
    if type(remote) is Sharded and _in_host_memory(remote.sharding, sharding) and not summands:
        return _moved(remote, aval, sharding)
    value = buffers.to_stored(array._value, aval)
    indices = sharding.addressable_devices_indices_map(aval.shape)
    if not _unreduced(sharding):
        return assembled([_contiguous(value[index]) for index in indices.values()], aval, sharding)
    first, zeros = sharding._has_first_summands, np.zeros_like(value)  # type: ignore[attr-defined]
    return assembled([_contiguous((value if first(d) else zeros)[index]) for d, index in indices.items()], aval, sharding)


def _in_host_memory(*given: Sharding) -> bool:
    """Whether all parts of arrays under shardings are in this process's memory."""
    return all(s.is_fully_addressable and devices_of(s)[0].platform == "cpu" for s in given)


def _moved(remote: Sharded, aval: ShapedArray, sharding: Sharding) -> Any:
    """As `put`, of parts in the host's memory."""
    parts = remote.parts()
    values = [buffers.to_stored(p._value, p.aval) for p in parts]
    indices = [index for _, index in remote.indices()]
    wanted = sharding.addressable_devices_indices_map(aval.shape).values()
    return assembled(host_moves.redistributed(values, indices, list(wanted), aval, parts[0].device), aval, sharding)


def _contiguous(part: np.ndarray) -> np.ndarray:
    return part if part.flags.c_contiguous else np.ascontiguousarray(part)


def assembled(parts: Sequence[Any], aval: ShapedArray, sharding: Sharding) -> Any:
    """An Array of parts in the dtype of the device's buffer (NumPy arrays), one for each device of this process."""
    devices = devices_of(sharding)
    local = [d for d in devices if d in sharding.addressable_devices]
    xla = plugin.library()
    with buffers.failures():
        buffer = xla.batched_device_put(buffers.stored(aval), theirs(sharding, text.rank(aval), devices), list(parts),
                                        device_list(tuple(local))[0], True, enable_x64=True)
    return wrap(buffer, aval, sharding)


def from_parts(parts: Sequence[Any], aval: ShapedArray, sharding: Sharding) -> Any:
    """An Array of Arrays, one for each device of this process."""
    values = [p._remote.buffer if p._remote is not None else buffers.to_stored(p._value, p.aval) for p in parts]
    return assembled(values, aval, sharding)


def wrap(buffer: Any, aval: ShapedArray, sharding: Sharding) -> Any:
    """An Array of jaxlib's array, whose devices are in the order of the sharding."""
    there = canonical(sharding)
    aval = explicit.typed(aval, sharding)
    return _native.from_remote(Sharded(buffer, aval, there), aval, there, True)
