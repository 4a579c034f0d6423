"""Serialization of compiled programs, as the programs that they were compiled from.

Machine code is not written: code from a file would run unchecked, and only on processors like the one that wrote it. Loading
compiles the program, or takes its code from the disk cache of this machine.
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from numjet.api import aot
from numjet.api.export.codec import Corrupt, Reader, Writer
from numjet.api.export.exported import arrays_only, over_devices, without_devices
from numjet.api.export.files import READ_ERRORS, opened, sealed
from numjet.api.export.placements import read_shardings, write_shardings
from numjet.api.export.programs import read_program, write_program
from numjet.core.sharding.distribution import Distribution
from numjet.core.sharding.partition_spec import PartitionSpec
from numjet.core.sharding.shardings import NamedSharding
from numjet.foundation.record import Record
from numjet.foundation.tree import PyTreeDef
from numjet.runtime import dispatch
from numjet.runtime.device import Device, devices

_MAGIC = b"\x93numjetE"


def serialize(compiled: aot.Compiled) -> tuple[bytes, PyTreeDef, PyTreeDef]:
    """A compiled function as bytes, with the structures of its arguments and result: what `deserialize_and_load` takes.

    The structures can be pickled. TypeError for what is not compiled; ValueError for programs that call Python or
    close over mutable references.

    >>> import numjet as nj
    >>> from numjet.experimental import serialize_executable
    >>> data = serialize_executable.serialize(nj.jit(lambda x: x + 1).lower(1.0).compile())
    >>> float(serialize_executable.deserialize_and_load(*data)(2.0))
    3.0
    """
    if not isinstance(compiled, aot.Compiled):
        raise TypeError(f"serialize takes what jit(f).lower(...).compile() returns, got {compiled!r}")
    call, w = compiled.signature, Writer()
    if call.refs.touched:
        raise ValueError(f"can't serialize with a closed-over mutable array ref: {call.fun_name} closes over "
                         f"{len(call.refs.touched)} of this process. Pass its value as an argument, and return the new one.")
    w.text(call.device.platform)
    _write_devices(w, call.device)
    w.text(call.fun_name)
    for avals in (arrays_only(call.in_avals), arrays_only(call.out_avals)):
        w.count(len(avals))
        for aval in avals:
            w.aval(aval)
    for gives, name in zip(call.donated, call.names, strict=True):
        w.data.append(gives)
        w.text(name)
    w.count(len(compiled.traced.kept))
    for k in compiled.traced.kept:
        w.count(k)
    write_program(w, compiled.jaxpr)
    return sealed(_MAGIC, bytes(w.data)), call.in_tree, call.out_tree


def deserialize_and_load(serialized: bytes, in_tree: PyTreeDef, out_tree: PyTreeDef, backend: str | None = None,
                         execution_devices: Sequence[Device] | None = None) -> aot.Compiled:
    """The compiled function that `serialize` wrote, ready to be called.

    backend: the platform that runs it; default: the one it was compiled for. execution_devices: the devices instead, as many as
    it was compiled for. Raises ValueError for other bytes, damaged ones, programs that are not well typed, structures with
    another number of leaves, and other numbers of devices.
    """
    r = Reader(opened(_MAGIC, serialized, "deserialize_and_load"))
    try:
        platform, several, name = r.text(), _read_devices(r), r.text()
        in_avals, out_avals = tuple(r.several(r.aval)), tuple(r.several(r.aval))
        flags = [(r.flag(), r.text()) for _ in in_avals]
        kept, program = r.several(r.count), read_program(r)
        if [in_avals[k] for k in kept] != program.in_avals or r.at != len(r.data):
            raise Corrupt("arguments that are not those of the program")
        if [(a.shape, a.dtype) for a in out_avals] != [(a.shape, a.dtype) for a in program.out_avals]:
            raise Corrupt("results that are not those of the program")
        if several is not None:
            several.check(in_avals, out_avals)
    except READ_ERRORS as error:
        raise ValueError(f"deserialize_and_load: cannot read the compiled function: {type(error).__name__}: {error}. Serialize "
                         "it again.") from error
    for what, tree, avals in (("in_tree", in_tree, in_avals), ("out_tree", out_tree, out_avals)):
        if tree.num_leaves != len(avals):
            raise ValueError(f"deserialize_and_load: {what} has {tree.num_leaves} leaves, the function has {len(avals)}: pass "
                             "the structures that serialize returned")
    donated = [gives for gives, _ in flags]
    call = aot.Signature(name, in_tree, in_avals, donated, tuple(n for _, n in flags), out_tree, out_avals,
                         _devices(platform, backend, execution_devices, several))
    traced = aot.Traced(call, program, program, kept)
    over = aot.inputs_on(call.device, kept)
    return aot.Compiled(traced, dispatch.compile_closed(program, name, traced.consumed, over), program)


class _Several(Record):
    """How a program was divided over several devices: their ids, and shardings over meshes without devices."""
    ids: tuple[int, ...]
    ins: tuple[Any, ...]
    outs: tuple[Any, ...]
    mesh: tuple[Any, ...]

    def check(self, in_avals: Sequence[Any], out_avals: Sequence[Any]) -> None:
        """Corrupt, or ValueError, where they are not those of a program of these types."""
        if len({*self.ids}) != len(self.ids) or len(self.mesh) != 1 or len(self.ins) != len(in_avals) or (
                len(self.outs) not in (0, len(out_avals))):
            raise Corrupt("devices or shardings that are not those of the program")
        for sharding, aval in [*zip(self.ins, in_avals, strict=True), *zip(self.outs, out_avals, strict=False)]:
            if sharding is not None:
                sharding.check_compatible_aval(aval.shape)


def _write_devices(w: Writer, device: Device | Distribution) -> None:
    """Appends the ids of several devices, with the shardings of arguments and results; of one, that it is one."""
    ids = [d.id for d in device.devices] if isinstance(device, Distribution) else []
    w.count(len(ids))
    if isinstance(device, Distribution):
        for k in ids:
            w.count(k)
        other = next((s for s in (*device.ins, *device.outs) if s is not None and not isinstance(s, NamedSharding)), None)
        if other is not None:
            raise ValueError(f"serialize: only shardings over meshes can be written, got {other}: pass NamedSharding")
        whole = None if device.mesh is None else NamedSharding(device.mesh, PartitionSpec())
        for shardings in (device.ins, device.outs, (whole,)):
            write_shardings(w, without_devices(shardings, device))


def _read_devices(r: Reader) -> _Several | None:
    ids = r.several(r.count)
    return _Several(tuple(ids), *[read_shardings(r, len(ids)) for _ in range(3)]) if ids else None


def _devices(platform: str, backend: str | None, given: Sequence[Any] | None, several: _Several | None
             ) -> Device | Distribution:
    """Where a loaded program runs: on one device, or divided as it was over several."""
    if several is None:
        return _device(platform, backend, given)
    known = {d.id: d for d in devices(backend or platform)}
    found = [known.get(k) for k in several.ids] if given is None else list(given)
    if len(found) != len(several.ids) or not all(isinstance(d, Device) for d in found):
        raise ValueError(f"deserialize_and_load: the function was compiled for {len(several.ids)} devices, of ids "
                         f"{list(several.ids)}, got {given if given is not None else list(known.values())}: pass as many as "
                         "execution_devices")
    ins, outs, mesh = ([over_devices(found, s) for s in side] for side in (several.ins, several.outs, several.mesh))
    return Distribution(tuple(found), tuple(ins), tuple(outs), mesh[0].mesh if mesh and mesh[0] is not None else None)


def _device(platform: str, backend: str | None, given: Sequence[Any] | None) -> Device:
    """The device that a loaded program runs on."""
    if given is None:
        try:
            return devices(backend or platform)[0]
        except RuntimeError as error:
            if backend is not None:
                raise
            raise ValueError(f"deserialize_and_load: the function was compiled for {platform!r}: {error}") from error
    if len(given) != 1 or not isinstance(given[0], Device):
        raise ValueError(f"deserialize_and_load: a program runs on one device: execution_devices must hold one, got {given!r}")
    found: Device = given[0]
    return found
