"""Interface of the XLA backend to `runtime`: devices, transfer of arrays, compilation of programs."""
from __future__ import annotations

import weakref
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from numjet import _native
from numjet.core.aval import ShapedArray
from numjet.core.ir import ClosedJaxpr
from numjet.core.sharding.distribution import Distribution
from numjet.core.sharding.memory import DEVICE
from numjet.foundation.errors import JaxRuntimeError
from numjet.xla import buffers, libraries, plugin
from numjet.xla.builder import HostCall
from numjet.xla.lower import Module, lower

_executables: weakref.WeakSet[Executable] = weakref.WeakSet()
running: deque[Any] = deque(maxlen=64)  # tokens of programs that call Python; older ones end before newer ones


def device_records(platform: str, every: bool = False) -> list[tuple[int, str, int]]:
    """(id, kind, process index) of the devices of a platform that this process has, or every process."""
    client = plugin.client(platform)
    return [(d.id, d.device_kind, d.process_index) for d in (client.devices() if every else client.local_devices())]


def memory_kinds(platform: str, number: int) -> list[str]:
    """The kinds of memory that a device has, its own first."""
    device = buffers.place(platform, number)[0]
    own = device.default_memory().kind
    return [DEVICE, *[m.kind for m in device.addressable_memories() if m.kind not in (own, DEVICE)]]


def put(value: np.ndarray, aval: ShapedArray, device: Any, committed: bool) -> Any:
    """An Array on a device with a copy of a host value."""
    return _native.from_remote(buffers.put(value, aval, device), aval, device, committed)


def as_text(closed: ClosedJaxpr, name: str, platform: str, donated: Sequence[bool] = (), *, locations: bool = False,
            over: Distribution | None = None) -> str:
    """A program as StableHLO, for which no device and no jaxlib is needed. over: the devices of a program of several."""
    return lower(closed, name, plugin.program_platform(platform), donated, locations=locations, paths=True, over=over).text


def printed(text: str) -> str:
    """A program in StableHLO as MLIR prints it, the operations in their short forms, where jaxlib is installed."""
    return str(plugin.parsed(text)) if plugin.installed() else text


def module_of(text: str, dialect: str) -> Any:
    """A program in StableHLO as an object of jaxlib: an MLIR module, or for dialect "hlo" an XlaComputation."""
    if dialect == "stablehlo":
        return plugin.parsed(text)
    return plugin.hlo(text)


def hlo_text(text: str, *, metadata: bool) -> str:
    """A program in StableHLO as HLO text. metadata: with names of scopes and the user's lines."""
    return plugin.hlo_text(text, metadata)


def wait_for_effects() -> None:
    """Waits until the Python callbacks of all started programs have returned."""
    plugin.check_fork()
    try:
        while running:
            with buffers.new_failures():
                running.popleft().block_until_ready()
    finally:
        if not running:
            buffers.raised.clear()


class LoadedProgram:
    """What programs for one device and for several have in common: XLA runs them, and tells of them.

    module: the program as text, with its callbacks. loaded: XLA's executable. `_handlers` make jaxlib's arrays of the results.
    """

    module: Module
    loaded: Any
    _handlers: list[Any]

    def _execute(self, given: list[Any]) -> list[Any]:
        if not self.module.callbacks:
            return self.loaded.execute_sharded(given).consume_with_handlers(self._handlers)
        started = self.loaded.execute_sharded(given, with_tokens=True)
        running.append(started.consume_token())
        return started.consume_with_handlers(self._handlers)

    def cost_analysis(self) -> dict[str, float]:
        """XLA's estimates for one device: flops, bytes accessed, and so on."""
        return dict(self.loaded.cost_analysis())

    def memory_stats(self) -> dict[str, int]:
        """XLA's memory plan, in bytes."""
        found = self.loaded.get_compiled_memory_stats()
        kinds = ("argument", "output", "alias", "temp", "generated_code")
        names = [f"{side}{kind}_size_in_bytes" for side in ("", "host_") for kind in kinds]
        sizes = {name: getattr(found, name) for name in names}
        new = sizes["output_size_in_bytes"] - sizes["alias_size_in_bytes"] + sizes["temp_size_in_bytes"]
        return {**sizes, "workspace_size_in_bytes": 0, "extra_memory_in_bytes": new}

    @property
    def text(self) -> str:
        """The program of each device, after XLA's optimisations, as HLO."""
        return self.loaded.get_hlo_text()


class Executable(LoadedProgram):
    """A program compiled for one device. Takes Arrays, moves those on other devices, and gives Arrays."""

    def __init__(self, module: Module, loaded: Any, closed: ClosedJaxpr, device: Any, name: str):
        xla = plugin.library()
        self.module, self.loaded, self.device, self.name = module, loaded, device, name
        self.in_avals, self.out_avals = tuple(closed.in_avals), tuple(closed.out_avals)
        constants = [ShapedArray(c.shape, c.dtype) for c in module.constants]
        self._constants = [buffers.put(c, a, device).buffer for c, a in zip(module.constants, constants, strict=True)]
        self._handlers = [xla.array_result_handler(buffers.stored(a), buffers.sharding_of_type(a, device), _skip_checks=True,
                                                   committed=True) for a in self.out_avals]
        self.call_count = 0
        _executables.add(self)

    def __call__(self, arrays: Sequence[Any], donated: Sequence[bool] | None = None,
                 committed: bool | None = None) -> list[Any]:
        """Starts the program; reading a result waits for it. Donated arrays are deleted."""
        plugin.check_fork()
        flags = donated or [False] * len(arrays)
        given = [*self._constants, *[self._buffer(a, v, g) for a, v, g in zip(arrays, self.in_avals, flags, strict=True)]]
        stays = any(a.committed for a in arrays) if committed is None else committed
        with buffers.failures():
            results = self._execute(given)
        self.call_count += 1
        for array, gives in zip(arrays, flags, strict=True):
            if gives:
                array.delete()
        return [_native.from_remote(buffers.Remote(r, a), a, self.device, stays)
                for r, a in zip(results, self.out_avals, strict=True)]

    def _buffer(self, array: Any, aval: ShapedArray, donated: bool) -> Any:
        """The array's buffer; for donation a copy where another handle refers to the same buffer."""
        shared = donated and _native.shares_remote(array)
        remote = array._remote
        if remote is not None and array.device == self.device and not shared and array.aval.memory_space is aval.memory_space:
            return remote.buffer
        return buffers.put(array._value, aval, self.device).buffer


def host_function(call: HostCall) -> Callable[..., tuple[np.ndarray, ...]]:
    """A callback for XLA, which passes arrays of the device's buffers."""
    def run(*given: np.ndarray) -> tuple[np.ndarray, ...]:
        token, args = (given[:1], given[1:]) if call.ordered else ((), given)
        avals = call.in_avals
        if call.partitioned:
            avals = tuple(a.update(shape=np.shape(x)[:a.ndim]) for x, a in zip(args, avals, strict=True))
        try:
            outs = call.fun(*[buffers.from_stored(np.asarray(x), a) for x, a in zip(args, avals, strict=True)])
        except JaxRuntimeError as error:
            buffers.failed_calls.append(error)
            raise
        return (*token, *[buffers.to_stored(np.asarray(x), a) for x, a in zip(outs, call.out_avals, strict=True)])
    return run


def compile_program(closed: ClosedJaxpr, name: str, donated: Sequence[bool], device: Any,
                    settings: Mapping[str, Any] | None = None) -> Executable:
    """Compiles a program for a device, with settings of XLA.

    Raises NotImplementedError for an operation that has no lowering.
    """
    xla = plugin.library()
    module = lower(closed, name, plugin.program_platform(device.platform), donated, locations=True)
    libraries.prepare(module.text)
    options = xla.CompileOptions()
    options.num_replicas = options.num_partitions = 1
    options.device_assignment = xla.DeviceAssignment.create(np.array([[device.id]]))
    plugin.apply_settings(options, settings)
    theirs = buffers.place(device.platform, device.id)[0]
    there = xla.DeviceList((theirs,))
    with buffers.failures():
        if module.callbacks:
            loaded = plugin.client(device.platform).compile_and_load(plugin.parsed(module.text), there, options,
                                                                     [host_function(c) for c in module.callbacks])
        else:
            loaded = plugin.client(device.platform).compile_and_load(module.text, there, options)
    return Executable(module, loaded, closed, device, name)


plugin.keep_at_fork(lambda: [*_executables, *running])
