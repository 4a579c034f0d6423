"""Loads of small groups (points, pixels, rows of a few elements) that lie apart: whole groups by lane, then shuffles.

A loop that reads several neighbouring elements in each lane, while the lanes step far or anywhere, would gather each of them
by itself. A lane's group is one short vector in memory: it takes one load. Groups whose size is no power of two take two loads
that overlap. The vectors of all lanes, one after the other, are deinterleaved as interleaved elements are.
"""
from __future__ import annotations

from numjet.cpu.codegen.memory.addresses import Addresses, StridedLoad
from numjet.cpu.codegen.memory.instructions import loaded
from numjet.cpu.codegen.memory.interleaved import deinterleave
from numjet.cpu.codegen.memory.prefetch import fetch_ahead
from numjet.cpu.codegen.scopes import Value
from numjet.cpu.codegen.types import memory_type, wide
from numjet.cpu.ir.nodes import Buffer, Expr


def load_group(addresses: Addresses, request: StridedLoad) -> Value | None:
    """The elements of all lanes, of which the loop reads neighbours as well; None where it does not, or where some lanes or
    some elements may be outside of the buffer."""
    buffer, index, mask, context, w = request.buffer, request.start, request.mask, addresses.context, addresses.writer
    lanes = context.lanes
    if mask is not None or request.guarded or lanes & (lanes - 1) or context.vector is None:
        return None
    found = context.vector.neighbours().group(buffer, index)
    if found is None:
        return None
    member, size = found
    length = 1 << (size.bit_length() - 1)   # of a short vector
    if length > lanes:
        return None
    first = w.module.exprs.prim("sub", index, w.module.exprs.index(member))
    if not context.ranges.within(first, 0, buffer.certain - size):
        return None
    at = 0 if member < length else size - length
    return _member(addresses, request, first, at, length, member - at)


def _member(addresses: Addresses, request: StridedLoad, first: Expr, at: int, length: int, member: int) -> Value:
    """One element of the short vectors that begin `at` elements behind `first`."""
    w, buffer, step, lanes = addresses.writer, request.buffer, request.step, addresses.context.lanes
    address = addresses.elements(buffer, first) if step is None else addresses.element(buffer, first)
    scope = addresses.hoist_load(address.depth, buffer, first)
    reads = addresses.reads(buffer, address.reads)
    key = ("short", address.text, lanes, step, at, length)
    known = w.known.get((*key, member))
    if known is None or known.depth > scope.depth:
        if step is None and at == 0:   # once for all members
            fetch_ahead(addresses, buffer, first)
            addresses.hoist_load(address.depth, buffer, first)
        vectors = _groups(addresses, buffer, address.text, step, at, length)
        for k, text in enumerate(deinterleave(w, memory_type(buffer.dtype), lanes, vectors)):
            w.define((*key, k), text, lanes, reads)
    return loaded(w, buffer.dtype, lanes, w.known[(*key, member)].text, reads)


def _groups(addresses: Addresses, buffer: Buffer, address: str, step: int | None, at: int, length: int) -> list[str]:
    """The short vectors of all lanes, one after the other, in as many vectors as each of them has elements."""
    w, lanes, element = addresses.writer, addresses.context.lanes, memory_type(buffer.dtype)
    pieces = []
    for lane in range(lanes):
        pointer = address if step is not None else w.put(f"extractelement <{lanes} x ptr> {address}, i64 {lane}")
        offset = at if step is None else at + lane * step
        pointer = w.put(f"getelementptr {element}, ptr {pointer}, i64 {offset}")
        pieces.append(w.put(f"load {wide(element, length)}, ptr {pointer}, align {buffer.dtype.itemsize}"))
    size = length
    while size < lanes:
        pieces = [w.shuffle(element, size, a, b, range(2 * size)) for a, b in zip(pieces[::2], pieces[1::2], strict=True)]
        size *= 2
    return pieces
