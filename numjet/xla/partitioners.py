"""Calls that XLA asks about while it divides a program: what a user's function makes of a call, and who is told a sharding."""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable, Sequence
from typing import Any

from numjet.xla import layouts, plugin

TARGET = "numjet_partitioning"  # a name of our own: where JAX is imported, too, CustomSPMDPartitioning is its
INSPECT = "InspectSharding"


class PartitionedCall:
    """One call in a program, with the partitioner that knows how it is divided. Alive as long as the program is compiled."""

    def __init__(self, partitioner: Any, devices: Sequence[Any], lower: Callable[[Any], str]):
        self.partitioner, self.devices, self.lower = partitioner, tuple(devices), lower
        self.key = str(id(self))
        _calls[self.key] = self

    def _named(self, hlo: Any, aval: Any) -> Any:
        return layouts.named(hlo, aval.ndim, self.devices, self.partitioner.mesh)

    def _hlo(self, sharding: Any, aval: Any) -> Any:
        return layouts.hlo_sharding(sharding, aval.ndim, self.devices)

    def partition(self, arg_shapes: Any, ins: Sequence[Any], shape: Any, out: Any) -> tuple[bytes, list[Any], Any]:
        asked = self.partitioner
        outs = [out] if len(asked.out_avals) == 1 else out.tuple_elements()
        program, wanted, given = asked.divide(
            [self._named(s, a) for s, a in zip(ins, asked.in_avals, strict=True)],
            [self._named(s, a) for s, a in zip(outs, asked.out_avals, strict=True)],
        )
        operands = [self._hlo(s, a) for s, a in zip(wanted, asked.in_avals, strict=True)]
        return self.lower(program).encode(), operands, self._packed(given, shape)

    def _packed(self, shardings: Sequence[Any], shape: Any) -> Any:
        found = [self._hlo(s, a) for s, a in zip(shardings, self.partitioner.out_avals, strict=True)]
        return found[0] if len(found) == 1 else plugin.library().HloSharding.tuple_sharding(shape, found)

    def infer(self, arg_shapes: Any, ins: Sequence[Any], shape: Any) -> Any:
        asked = self.partitioner
        return self._packed(asked.results([self._named(s, a) for s, a in zip(ins, asked.in_avals, strict=True)]), shape)


_calls: weakref.WeakValueDictionary[str, PartitionedCall] = weakref.WeakValueDictionary()


def _call_of(config: bytes) -> PartitionedCall:
    return _calls[config.decode()]


@functools.cache
def register() -> None:
    """Makes the calls known to XLA."""
    plugin.library().register_custom_call_partitioner(
        TARGET,
        lambda sharding, shape, config: sharding,
        lambda *args: _call_of(args[4]).partition(*args[:4]),
        lambda *args: _call_of(args[3]).infer(*args[:3]),
        True,
    )


class Inspection:
    """A user's function that XLA calls with the sharding of a value. Alive as long as the program is compiled."""

    def __init__(self, callback: Callable[[Any], Any], ndim: int, devices: Sequence[Any], mesh: Any):
        self.callback, self.ndim, self.devices, self.mesh = callback, ndim, tuple(devices), mesh
        self.called = self._call  # the object whose address XLA gets
        self.config: bytes = plugin.bindings().encode_inspect_sharding_callback(self.called)

    def _call(self, hlo: Any) -> None:
        self.callback(layouts.named(hlo, self.ndim, self.devices, self.mesh))


def escaped(config: bytes) -> str:
    """Bytes as a string of the text."""
    return '"' + "".join(f"\\{byte:02X}" for byte in config) + '"'
