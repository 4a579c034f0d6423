"""Loads: scalar, and by the first strategy that fits: consecutive, interleaved, transposed, of groups, or a
gather.

All of them hoist the load to the outermost scope where memory is sure to be the same.
"""
from __future__ import annotations

from collections.abc import Callable

from numjet.cpu.codegen.memory.addresses import Addresses, StridedLoad
from numjet.cpu.codegen.memory.groups import load_group
from numjet.cpu.codegen.memory.instructions import ALL_LANES, gather, load_vector, loaded
from numjet.cpu.codegen.memory.interleaved import load_interleaved
from numjet.cpu.codegen.memory.prefetch import fetch_ahead
from numjet.cpu.codegen.memory.transposes import load_transposed
from numjet.cpu.codegen.scopes import Value
from numjet.cpu.codegen.types import memory_type, scalar_type, wide
from numjet.cpu.ir.nodes import Buffer, Expr


def load(addresses: Addresses, expr: Expr) -> Value:
    """The value of a load whose index terms and guard are known."""
    w, buffer, index = addresses.writer, expr.attr, expr.args[0]
    guard = w.known[expr.args[1].id] if len(expr.args) > 1 else None
    step = addresses.context.stride(index)
    if guard is not None and guard.text == "true":
        guard = None
    if step != 0:
        uniform = guard if guard is not None and guard.lanes == 1 else None
        request = StridedLoad(buffer, index, step, addresses.context.masked(guard), guard is not None, uniform)
        value = next(found for strategy in _STRATEGIES if (found := strategy(addresses, request)) is not None)
    elif guard is None or guard.lanes == 1:
        value = _scalar(addresses, buffer, index, guard)
    else:
        value = _scalar_for_some_lanes(addresses, buffer, index, guard)
    return w.values.define(expr.id, value, w.insertion)


def _scalar(addresses: Addresses, buffer: Buffer, index: Expr, guard: Value | None) -> Value:
    """One element. Where a guard does not hold, valid memory is read in its place, and the value is 0."""
    w = addresses.writer
    address = addresses.element(buffer, index)
    depth, reads = address.depth, addresses.reads(buffer, address.reads)
    if guard is not None:
        depth, reads = max(depth, guard.depth), reads | guard.reads
    addresses.hoist_load(depth, buffer, index, guard is not None)
    element, pointer = memory_type(buffer.dtype), address.text
    if guard is not None:
        pointer = w.put(f"select i1 {guard.text}, ptr {pointer}, ptr %info")
    text = w.put(f"load {element}, ptr {pointer}, align {buffer.dtype.itemsize}")
    if guard is not None:
        zero = "0.0" if element in ("float", "double") else "0"
        text = w.put(f"select i1 {guard.text}, {element} {text}, {element} {zero}")
    return loaded(w, buffer.dtype, 1, text, reads)


def _scalar_for_some_lanes(addresses: Addresses, buffer: Buffer, index: Expr, guard: Value) -> Value:
    """One element for the lanes whose guard holds, read if there is such a lane."""
    w, lanes, mask = addresses.writer, addresses.context.lanes, addresses.context.masked(guard)
    assert mask is not None
    w.hoist(mask.depth)
    wanted = Value(addresses.context.any_lane(mask), 1, w.insertion.depth, guard.reads)
    single, of = _scalar(addresses, buffer, index, wanted), scalar_type(buffer.dtype)
    text = w.select(wide(of, lanes), mask.lanes, mask.text, w.splat(single, of, lanes), "zeroinitializer")
    return Value(text, lanes, w.insertion.depth, single.reads)


# --- strategies ---

def _consecutive(addresses: Addresses, request: StridedLoad) -> Value | None:
    """Consecutive elements, in rising or falling order. Where a guard of all lanes does not hold, valid memory is accessed with
    an empty mask: CPUs take hundreds of cycles to ignore an address that is not mapped."""
    buffer, index, step, mask, guarded, uniform = request
    if step != 1 and step != -1:
        return None
    w, lanes = addresses.writer, addresses.context.lanes
    address = addresses.run(buffer, index, step)
    key = None if guarded else addresses.run_key(buffer, address, step, mask)
    assert addresses.context.vector is not None
    known = w.find_in_line(key, addresses.context.vector.first.depth) if key is not None else None
    if known is not None:
        return known
    mask = addresses.context.in_memory_order(mask, step)
    reads = addresses.hoist_masked_load(buffer, index, address, mask, guarded)
    pointer = address.text if uniform is None else w.put(f"select i1 {uniform.text}, ptr {address.text}, ptr %info")
    text = load_vector(w, buffer.dtype, lanes, pointer, mask.text if mask else None)
    if step < 0:
        text = w.reverse(text, memory_type(buffer.dtype), lanes)
    value = loaded(w, buffer.dtype, lanes, text, reads)
    if key is not None:
        w.define_in_line(key, value)
    return value


def _gather(addresses: Addresses, request: StridedLoad) -> Value:
    """Elements anywhere."""
    buffer, index, _, mask, guarded, _ = request
    w, lanes = addresses.writer, addresses.context.lanes
    if mask is None and not guarded:
        fetch_ahead(addresses, buffer, index)
    pointers = addresses.elements(buffer, index)
    reads = addresses.hoist_masked_load(buffer, index, pointers, mask, guarded)
    text = gather(w, buffer.dtype, lanes, pointers.text, mask.text if mask else ALL_LANES)
    return loaded(w, buffer.dtype, lanes, text, reads)


# Tried in this order; a gather always fits.
_STRATEGIES: tuple[Callable[[Addresses, StridedLoad], Value | None], ...] = (
    _consecutive, load_interleaved, load_transposed, load_group, _gather)
