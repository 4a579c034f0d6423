"""Device buffers of PJRT clients: copies to and from devices."""
from __future__ import annotations

import functools
from collections import deque
from typing import Any

import numpy as np

from numjet import _native
from numjet.core import transfers
from numjet.core.aval import ShapedArray
from numjet.core.sharding.memory import DEVICE, kind_of
from numjet.foundation import dtypes
from numjet.foundation.errors import JaxRuntimeError
from numjet.xla import plugin, text

_WORD, _HALF = np.dtype(np.uint64), np.dtype(np.uint32)


class Remote:
    """A buffer on a device, held by a native Array."""

    __slots__ = ("aval", "buffer")

    def __init__(self, buffer: Any, aval: ShapedArray):
        self.buffer, self.aval = buffer, aval

    def block_until_ready(self) -> None:
        """Waits; raises the error of the computation, if any."""
        plugin.check_fork()
        with failures():
            self.buffer.block_until_ready()

    def is_ready(self) -> bool:
        plugin.check_fork()
        return self.buffer.is_ready()

    def unsafe_buffer_pointer(self) -> int:
        plugin.check_fork()
        return self.buffer.unsafe_buffer_pointer()

    def fetch(self) -> np.ndarray:
        """The value in the host's memory."""
        plugin.check_fork()
        transfers.check_reading(self.aval)
        with failures():
            value = np.ascontiguousarray(self.buffer._single_device_array_to_np_array_did_copy()[0])
        return from_stored(value, self.aval)


failed_calls: deque[JaxRuntimeError] = deque(maxlen=64)  # errors of Python callbacks, newest last
raised: deque[str] = deque(maxlen=64)  # texts of those that were raised by reading results since effects were waited for


def _as_ours(error: Any) -> tuple[JaxRuntimeError, BaseException | None] | None:
    """numjet's error for one of XLA's runtime, and its cause: of a callback's error that of the callback."""
    if type(error).__name__ not in ("XlaRuntimeError", "JaxRuntimeError") or isinstance(error, JaxRuntimeError):
        return None
    text = str(error)
    for call in reversed(failed_calls):
        if str(call) in text:
            return JaxRuntimeError(str(call)), call.__cause__
    return JaxRuntimeError(text), error


class failures:
    """Turns errors of XLA's runtime into numjet's, which have the same base class; those of callbacks into their causes."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: Any, error: Any, traceback: Any) -> None:
        ours = _as_ours(error)
        if ours is not None:
            raised.append(str(ours[0]))
            raise ours[0] from ours[1]


class new_failures:
    """As `failures`, without those that were raised before: a program's results and its token have the same error."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: Any, error: Any, traceback: Any) -> bool:
        ours = _as_ours(error)
        if ours is not None and str(ours[0]) not in raised:
            raise ours[0] from ours[1]
        return ours is not None


@functools.cache
def _sharding_class() -> type:
    xla: Any = plugin.library()

    class OneDevice(xla.SingleDeviceSharding):
        """Sharding of an array on one device, in jaxlib's protocol."""

        memory_kind = property(lambda self: self._memory_kind)

        def _to_xla_hlo_sharding(self, num_dimensions: int) -> Any:
            return xla.HloSharding.replicate()
    return OneDevice


@functools.cache
def place(platform: str, number: int, kind: str = DEVICE) -> tuple[Any, Any]:
    """jaxlib's device and sharding for a device of ours, in its memory of a kind. RuntimeError for one that is not there."""
    found = {d.id: d for d in plugin.client(platform).devices()}
    if number not in found:
        count = f"{len(found)} device{'s' * (len(found) > 1)}"
        raise RuntimeError(f"device {number} of a mesh or placement does not exist: platform {platform} has {count}. For more "
                           "devices of the CPU set jax_num_cpu_devices before the first array is made.")
    return found[number], _sharding_class()(found[number], memory_kind=kind_there(found[number], kind))


def kind_there(device: Any, kind: str | None) -> str | None:
    """What jaxlib calls the memory of a kind of one of its devices: None for the device's own, whatever the client names it."""
    return None if kind in (None, DEVICE) or kind == device.default_memory().kind else kind


def sharding_of_type(aval: ShapedArray, device: Any) -> Any:
    """jaxlib's sharding of arrays of a type on one device."""
    kind = DEVICE if aval.placement is None else kind_of(aval.memory_space)
    return place(device.platform, device.id, kind)[1]


def stored(aval: ShapedArray) -> ShapedArray:
    """The aval of the device's buffer: keys are 64-bit words, or have an axis of 32-bit words; float0 is booleans."""
    if dtypes.is_extended(aval.dtype):
        words = text.word_count(aval.dtype)
        return ShapedArray((*aval.shape, words), _HALF) if words else ShapedArray(aval.shape, _WORD)
    return ShapedArray(aval.shape, np.dtype(np.bool_)) if aval.dtype == dtypes.float0 else aval


def to_stored(value: np.ndarray, aval: ShapedArray) -> np.ndarray:
    """A host value of an aval as the device's buffer has it."""
    held = stored(aval)
    if aval.dtype == dtypes.float0:
        value = np.zeros(aval.shape, held.dtype)
    elif held.dtype != aval.dtype:
        value = np.ascontiguousarray(value).view(held.dtype)
    return value.reshape(held.shape)


def from_stored(value: np.ndarray, aval: ShapedArray) -> np.ndarray:
    """The inverse of to_stored."""
    if aval.dtype == dtypes.float0:
        return np.zeros(aval.shape, aval.dtype)
    return (value if value.dtype == aval.dtype else np.ascontiguousarray(value).view(aval.dtype)).reshape(aval.shape)


def put(value: np.ndarray, aval: ShapedArray, device: Any) -> Remote:
    """Copies a host array to a device."""
    plugin.check_fork()
    xla = plugin.library()
    theirs, sharding = place(device.platform, device.id)[0], sharding_of_type(aval, device)
    with failures():
        buffer = xla.batched_device_put(stored(aval), sharding, [to_stored(value, aval)], [theirs], True, enable_x64=True,
                                        host_buffer_semantics=xla.HostBufferSemantics.IMMUTABLE_UNTIL_TRANSFER_COMPLETES)
    return Remote(buffer, aval)


_native.set_hook("fetch", lambda remote: remote.fetch())
plugin.keep_at_fork(lambda: [a._remote.buffer for a in _native.live_arrays() if a._remote is not None])
