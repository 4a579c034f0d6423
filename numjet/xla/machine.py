"""The XLA machine as runtime sees it: devices, putting arrays on them, and compiling programs for them."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from numjet import _native
from numjet.core.aval import ShapedArray
from numjet.core.ir import ClosedJaxpr
from numjet.xla import buffers, libraries, plugin
from numjet.xla.lower import Module, lower


def device_records(platform: str) -> list[tuple[int, str, int]]:
    """(id, kind, process index) of the devices of a platform."""
    return [(d.id, d.device_kind, d.process_index) for d in plugin.client(platform).local_devices()]


def put(value: np.ndarray, aval: ShapedArray, device: Any, committed: bool) -> Any:
    """An Array on a device with a copy of a host value."""
    return _native.from_remote(buffers.put(value, aval, device), aval, device, committed)


def as_text(closed: ClosedJaxpr, name: str, platform: str = "cpu", donated: Sequence[bool] = (), *,
            locations: bool = False) -> str:
    """A program as StableHLO, for which no device is needed."""
    return lower(closed, name, platform, donated, locations=locations).text


class Executable:
    """A program compiled for one device. Takes Arrays, moves those that are elsewhere, and gives Arrays."""

    def __init__(self, module: Module, loaded: Any, closed: ClosedJaxpr, device: Any, name: str):
        xla = plugin.library()
        self.module, self.loaded, self.device, self.name = module, loaded, device, name
        self.in_avals, self.out_avals = tuple(closed.in_avals), tuple(closed.out_avals)
        constants = [ShapedArray(c.shape, c.dtype) for c in module.constants]
        self._constants = [buffers.put(c, a, device).buffer for c, a in zip(module.constants, constants, strict=True)]
        sharding = buffers.place(device.platform, device.id)[1]
        self._handlers = [xla.array_result_handler(buffers.stored(a), sharding, _skip_checks=True, committed=True)
                          for a in self.out_avals]
        self.call_count = 0

    def __call__(self, arrays: Sequence[Any], donated: Sequence[bool] | None = None,
                 committed: bool | None = None) -> list[Any]:
        """Starts the program; the results may be looked at when they are ready. Donated arrays become deleted."""
        given = [*self._constants, *[self._buffer(a, v) for a, v in zip(arrays, self.in_avals, strict=True)]]
        stays = any(a.committed for a in arrays) if committed is None else committed
        with buffers.failures():
            results = self.loaded.execute_sharded(given).consume_with_handlers(self._handlers)
        self.call_count += 1
        for array, gives in zip(arrays, donated or (), strict=False):
            if gives:
                array.delete()
        return [_native.from_remote(buffers.Remote(r, a), a, self.device, stays)
                for r, a in zip(results, self.out_avals, strict=True)]

    def _buffer(self, array: Any, aval: ShapedArray) -> Any:
        remote = array._remote
        if remote is not None and array.device == self.device:
            return remote.buffer
        return buffers.put(array._value, aval, self.device).buffer

    @property
    def text(self) -> str:
        """The program after XLA's optimisations, as HLO."""
        return self.loaded.get_hlo_text()


def compile_program(closed: ClosedJaxpr, name: str, donated: Sequence[bool], device: Any) -> Executable:
    """Compiles a program for a device. Raises NotImplementedError for an operation that has no lowering."""
    xla = plugin.library()
    module = lower(closed, name, plugin.program_platform(device.platform), donated, locations=True)
    libraries.prepare(module.text)
    options = xla.CompileOptions()
    options.num_replicas = options.num_partitions = 1
    options.device_assignment = xla.DeviceAssignment.create(np.array([[device.id]]))
    theirs = buffers.place(device.platform, device.id)[0]
    with buffers.failures():
        loaded = plugin.client(device.platform).compile_and_load(module.text, xla.DeviceList((theirs,)), options)
    return Executable(module, loaded, closed, device, name)
