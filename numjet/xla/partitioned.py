"""Programs over several devices: compiled once with the shardings of what they take, divided by XLA's partitioner."""
from __future__ import annotations

import weakref
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from numjet import _native
from numjet.core.aval import ShapedArray
from numjet.core.ir import ClosedJaxpr
from numjet.core.sharding import explicit
from numjet.core.sharding.distribution import Distribution, canonical, devices_of
from numjet.core.sharding.memory import kind_of
from numjet.core.sharding.mesh import Mesh
from numjet.core.sharding.partition_spec import PartitionSpec
from numjet.core.sharding.shardings import NamedSharding
from numjet.foundation.errors import JaxRuntimeError
from numjet.xla import buffers, layouts, libraries, partitioners, plugin, sharded, text
from numjet.xla.backend import LoadedProgram, host_function
from numjet.xla.lower import Module, lower

_executables: weakref.WeakSet[Executable] = weakref.WeakSet()


class Executable(LoadedProgram):
    """A program compiled for several devices. Takes Arrays, distributes those that are not, and gives Arrays."""

    def __init__(self, module: Module, loaded: Any, closed: ClosedJaxpr, over: Distribution, name: str,
                 host: Any):
        xla = plugin.library()
        self.module, self.loaded, self.name, self.over = module, loaded, name, over
        self.in_avals, self.out_avals = tuple(closed.in_avals), tuple(closed.out_avals)
        whole = self._whole()
        self.in_shardings = tuple(_in_memory(whole, a) if s is None else canonical(s)
                                  for s, a in zip(over.ins, self.in_avals, strict=True))
        self.out_shardings = self._results()
        in_order = lambda s: devices_of(s) == over.devices
        self._taken = tuple(s if in_order(s) else None for s in self.in_shardings)  # of arrays that are taken as they are
        self._typed = tuple(explicit.typed(a, s) for a, s in zip(self.out_avals, self.out_shardings, strict=True))
        self._orders = None if all(map(in_order, self.out_shardings)) else tuple(map(devices_of, self.out_shardings))
        self.device = host
        self._constants = [sharded.assembled([c] * len(over.devices), ShapedArray(c.shape, c.dtype), whole)._remote.buffer
                           for c in module.constants]
        self._handlers = [xla.array_result_handler(buffers.stored(a), sharded.theirs(s, text.rank(a), over.devices),
                                                   _skip_checks=True, committed=True)
                          for a, s in zip(self.out_avals, self.out_shardings, strict=True)]
        self.call_count = 0
        _executables.add(self)

    def _whole(self) -> NamedSharding:
        """The sharding of values that all devices have."""
        mesh = self.over.mesh
        if mesh is None or mesh.is_abstract or tuple(mesh.devices.flat) != self.over.devices:
            grid = np.empty(len(self.over.devices), object)
            grid[:] = self.over.devices
            mesh = Mesh(grid, ("_0",))
        return canonical(NamedSharding(mesh, PartitionSpec()))

    def _results(self) -> tuple[Any, ...]:
        """The shardings of the results: those asked for, where any is, else those that XLA chose."""
        if not self.out_avals:  # XLA names a sharding for the empty tuple, too
            return ()
        wanted = self.over.outs or (None,) * len(self.out_avals)
        chosen = self.loaded.get_output_shardings() or [None] * len(self.out_avals)
        found = [self._as_taken(_in_memory(layouts.sharding_of(c, a.ndim, self.over.devices, self.over.mesh), a), a.ndim)
                 if w is None else w for w, c, a in zip(wanted, chosen, self.out_avals, strict=True)]
        return tuple(map(canonical, found))

    def _as_taken(self, chosen: NamedSharding, ndim: int) -> Any:
        """The sharding of an input that divides arrays as a chosen one does, as equal ones are one object; else that."""
        return next((s for s in self.in_shardings if isinstance(s, NamedSharding) and len(s.spec) <= ndim
                     and s.is_equivalent_to(chosen, ndim)), chosen)

    def __call__(self, arrays: Sequence[Any], donated: Sequence[bool] | None = None,
                 committed: bool | None = None) -> list[Any]:
        """Starts the program; reading a result waits for it. Donated arrays are deleted where XLA took their memory."""
        plugin.check_fork()
        taken = _native.divided_buffers(list(arrays), self._taken, self._buffer)
        if donated is not None and True in donated:
            self._check_donated(arrays, taken, donated)
        given = [*self._constants, *taken]
        with buffers.failures():
            results = self._execute(given)
        self.call_count += 1
        if donated is not None and True in donated:
            for array, gives, buffer in zip(arrays, donated, taken, strict=True):
                if gives and buffer.is_deleted():
                    array.delete()
        if self._orders is not None:
            results = [sharded.ordered(r, a, s, self.over.devices, order) for r, a, s, order in zip(
                results, self._typed, self.out_shardings, self._orders, strict=True)]
        return _native.divided_arrays(sharded.Sharded, results, self._typed, self.out_shardings)

    def _check_donated(self, arrays: Sequence[Any], taken: Sequence[Any], donated: Sequence[bool]) -> None:
        """Refuses donated parts that are passed twice: XLA would notice when some devices run already, and end the process."""
        seen: dict[int, bool] = {}
        for k, (array, buffer, gives) in enumerate(zip(arrays, taken, donated, strict=True)):
            reordered = self._taken[k] is None and array._remote is not None  # so `buffer` is another object
            holder = array._remote.buffer if reordered else buffer
            if seen.get(id(holder), False) or (gives and id(holder) in seen):
                both = gives and seen[id(holder)]
                twice = "donate the same buffer twice in Execute(): it was" if both else "use a buffer that was"
                raise JaxRuntimeError(f"Attempt to {twice} previously donated in the same call (argument "
                                      f"{k} of the executable). A donated array may be passed once only: f(donated(x), x) has "
                                      "to copy one of them.")
            seen[id(holder)] = gives

    def _buffer(self, array: Any, k: int) -> Any:
        """jaxlib's array of input k, distributed as the program takes it."""
        sharding = self.in_shardings[k]
        remote = array._remote
        if not isinstance(remote, sharded.Sharded) or (
                remote.sharding is not sharding and not remote.sharding.is_equivalent_to(sharding, array.ndim)):
            remote = sharded.put(array, sharding)._remote
        return sharded.ordered(remote.buffer, remote.aval, remote.sharding, devices_of(remote.sharding), self.over.devices)


def _in_memory(sharding: NamedSharding, aval: ShapedArray) -> NamedSharding:
    """A sharding in the memory that a type names."""
    return sharding if aval.placement is None else canonical(sharding.with_memory_kind(kind_of(aval.memory_space)))


def compile_program(closed: ClosedJaxpr, name: str, donated: Sequence[bool], over: Distribution, host: Any,
                    settings: Mapping[str, Any] | None = None) -> Executable:
    """Compiles a program for several devices. host: the device of arrays in the host's memory.

    Raises NotImplementedError for an operation that has no lowering, RuntimeError without jaxlib.
    """
    module = lower(closed, name, plugin.program_platform(plugin.client_platform(over.platform)), donated, locations=True,
                   over=over)
    libraries.prepare(module.text)
    if partitioners.TARGET in module.text:
        partitioners.register()
    client = plugin.client(plugin.client_platform(over.platform))
    there = sharded.device_list(over.devices)[1]
    with buffers.failures():
        if module.callbacks:
            loaded = client.compile_and_load(plugin.parsed(module.text), there, _options(over, len(closed.out_avals), settings),
                                             [host_function(c) for c in module.callbacks])
        else:
            loaded = client.compile_and_load(module.text, there, _options(over, len(closed.out_avals), settings))
    return Executable(module, loaded, closed, over, name, host)


def _options(over: Distribution, results: int, settings: Mapping[str, Any] | None) -> Any:
    """What makes XLA divide a program."""
    xla = plugin.library()
    options = xla.CompileOptions()
    build = options.executable_build_options
    options.num_replicas = build.num_replicas = 1
    options.num_partitions = build.num_partitions = len(over.devices)
    build.use_spmd_partitioning = build.use_shardy_partitioner = True
    wanted = over.outs or (None,) * results
    build.allow_spmd_sharding_propagation_to_output = [s is None for s in wanted]
    options.device_assignment = xla.DeviceAssignment.create(np.array([[d.id for d in over.devices]]))
    plugin.apply_settings(options, settings)
    return options


def as_hlo(sharding: Any, ndim: int) -> Any:
    """jaxlib's HloSharding of a sharding."""
    return layouts.hlo_sharding(sharding, ndim, devices_of(sharding))


put, from_parts = sharded.put, sharded.from_parts
plugin.keep_at_fork(lambda: [*_executables])
