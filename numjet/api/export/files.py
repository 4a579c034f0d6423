"""The file format of exported functions: a version, a checksum, and plain data.

    magic (8 bytes)  version (2)  length of the content (8)  SHA-256 of version, length and content (32)  content

The content holds numbers, text and programs (see codec and programs). Reading it imports nothing, calls no function named by
it, and checks types, so a file from elsewhere raises an error or gives a program of numjet's own operations.
"""
from __future__ import annotations

import hashlib
import struct
from typing import Any

from numjet.api.export.codec import Corrupt, Reader, Writer
from numjet.api.export.exported import (
    DisabledSafetyCheck,
    Exported,
    maximum_supported_calling_convention_version as NEWEST,
    minimum_supported_calling_convention_version as OLDEST,
    set_serializer,
)
from numjet.api.export.placements import read_shardings, write_shardings
from numjet.api.export.programs import read_program, write_program
from numjet.api.export.scopes import read_scope, write_scope
from numjet.api.export.trees import read_tree, write_tree
from numjet.core.ir import ClosedJaxpr

_MAGIC = b"\x93numjetX"
_VERSION = 2   # 1 lost bits of 64-bit constants
_HEAD = struct.Struct("<8sHQ32s")
_MOST_VJPS = 64

# What reading bytes that are no function may raise: reading itself, and the rules of operations that check types.
READ_ERRORS = (ValueError, TypeError, LookupError, AttributeError, ArithmeticError, AssertionError, NotImplementedError,
                RecursionError, MemoryError)


def serialize(exported: Exported, vjp_order: int = 0) -> bytearray:
    """An exported function as bytes, with derivatives up to an order."""
    if vjp_order < 0:
        raise ValueError(f"serialize: vjp_order must be 0 or more, got {vjp_order}")
    w = Writer()
    _write(w, exported, vjp_order)
    return bytearray(sealed(_MAGIC, bytes(w.data)))


def deserialize(blob: bytes | bytearray) -> Exported:
    """The exported function that `Exported.serialize` wrote.

    Raises ValueError for anything else: bytes of another format or version, damaged ones, programs that are not well typed,
    and nodes of pytrees whose types were not registered. The checksum finds damage; it does not prove who wrote the file.
    """
    r = Reader(opened(_MAGIC, blob, "deserialize"))
    try:
        found = _read(r, 0)
        if r.at != len(r.data):
            raise Corrupt(f"{len(r.data) - r.at} bytes too many")
    except READ_ERRORS as error:
        raise ValueError(f"deserialize: cannot read the exported function: {type(error).__name__}: {error}. Export the "
                         "function again.") from error
    return found


def _digest(version: int, content: bytes) -> bytes:
    return hashlib.sha256(struct.pack("<HQ", version, len(content)) + content).digest()


def sealed(magic: bytes, content: bytes) -> bytes:
    """Content behind its header. magic: eight bytes that say of what kind the file is."""
    return _HEAD.pack(magic, _VERSION, len(content), _digest(_VERSION, content)) + content


def opened(magic: bytes, blob: bytes | bytearray, caller: str) -> bytes:
    """What the header stands in front of, checked against it. ValueError, naming the caller, for other bytes."""
    if not isinstance(blob, (bytes, bytearray, memoryview)):
        raise TypeError(f"{caller} takes the bytes that numjet serialized, got {type(blob).__name__}")
    data = bytes(blob)
    if len(data) < _HEAD.size or data[:len(magic)] != magic:
        raise ValueError(f"{caller}: these bytes are no function that numjet wrote for it")
    _, version, length, digest = _HEAD.unpack(data[:_HEAD.size])
    content = data[_HEAD.size:]
    if version != _VERSION:
        raise ValueError(f"{caller}: the file has format version {version}, this numjet reads version {_VERSION}: serialize "
                         "the function again with this version")
    if len(content) != length or _digest(version, content) != digest:
        raise ValueError(f"{caller}: the file is damaged: its checksum or length is wrong. Copy or serialize it again.")
    return content


def _write(w: Writer, e: Exported, vjp_order: int) -> None:
    w.count(e.calling_convention_version)
    if e.calling_convention_version > 1:
        w.data.append(e.uses_global_constants)
        write_scope(w, e.scope)
    w.text(e.fun_name)
    for tree, avals in ((e.in_tree, e.in_avals), (e.out_tree, e.out_avals)):
        write_tree(w, tree)
        w.count(len(avals))
        for aval in avals:
            w.aval(aval)
    for names in (e.platforms, [c._impl for c in e.disabled_safety_checks]):
        w.count(len(names))
        for name in names:
            w.text(name)
    if e.calling_convention_version > 2:
        w.count(e.nr_devices)
        write_shardings(w, e.in_shardings)
        write_shardings(w, e.out_shardings)
    w.count(len(e.module_kept_var_idx))
    for k in e.module_kept_var_idx:
        w.count(k)
    write_program(w, e.program)
    w.data.append(vjp_order > 0)
    if vjp_order > 0:
        _write(w, e.vjp(), vjp_order - 1)


def _read(r: Reader, order: int) -> Exported:
    if order > _MOST_VJPS:
        raise Corrupt(f"derivatives of an order above {_MOST_VJPS}")
    convention = r.count()
    if not OLDEST <= convention <= NEWEST:
        raise Corrupt(f"calling convention version {convention}; this numjet reads versions {OLDEST} to {NEWEST}")
    general = convention > 1 and r.flag()
    r.scope = read_scope(r) if convention > 1 else None
    name = r.text()
    in_tree, in_avals = read_tree(r), tuple(r.several(r.aval))
    out_tree, out_avals = read_tree(r), tuple(r.several(r.aval))
    platforms, checks = tuple(r.several(r.text)), tuple(DisabledSafetyCheck(c) for c in r.several(r.text))
    count = r.count() if convention > 2 else 1
    ins, outs = (read_shardings(r, count) if convention > 2 else (None,) * len(avals) for avals in (in_avals, out_avals))
    kept, program = tuple(r.several(r.count)), read_program(r)
    found = Exported(name, in_tree, in_avals, out_tree, out_avals, platforms, checks, convention, kept, program, None,
                     nr_devices=count, uses_global_constants=general, scope=r.scope, in_shardings=ins, out_shardings=outs)
    _check(found, program)
    if not r.flag():
        return found
    derivative = _read(r, order + 1)
    _check_derivative(found, derivative)
    return found.replace(_get_vjp=lambda primal: derivative, _orders=1 + derivative._orders)


def _check(e: Exported, program: ClosedJaxpr) -> None:
    """Raises Corrupt where the fields contradict each other."""
    _agree("leaves of the arguments", e.in_tree.num_leaves, len(e.in_avals))
    _agree("leaves of the result", e.out_tree.num_leaves, len(e.out_avals))
    for side, avals, shardings in (("arguments", e.in_avals, e.in_shardings), ("results", e.out_avals, e.out_shardings)):
        _agree(f"shardings of {side}", len(shardings), len(avals))
        for s, aval in zip(shardings, avals, strict=True):
            if s is not None:
                s.check_compatible_aval(aval.shape)
    if list(e.module_kept_var_idx) != sorted({k for k in e.module_kept_var_idx if k < len(e.in_avals)}):
        raise Corrupt(f"leaves {e.module_kept_var_idx} of {len(e.in_avals)}")
    _agree("arguments", [e.in_avals[k] for k in e.module_kept_var_idx], program.in_avals)
    _agree("results", [(a.shape, a.dtype) for a in e.out_avals], [(a.shape, a.dtype) for a in program.out_avals])
    if not e.platforms:
        raise Corrupt("no platform")
    if program.effects:
        raise Corrupt(f"a program with effects {set(program.effects)}")


def _check_derivative(e: Exported, derivative: Exported) -> None:
    cotangents = [a.to_tangent_aval() for a in e.out_avals]
    shapes = lambda avals: [(a.shape, a.dtype) for a in avals]
    _agree("arguments of the derivative", shapes(derivative.in_avals), shapes([*e.in_avals, *cotangents]))
    _agree("results of the derivative", shapes(derivative.out_avals), shapes([a.to_tangent_aval() for a in e.in_avals]))


def _agree(what: str, one: Any, other: Any) -> None:
    if one != other:
        raise Corrupt(f"{what}: {one} and {other}")


set_serializer(serialize, deserialize)
