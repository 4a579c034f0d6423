"""Loads: scalar, and by the first strategy that fits: consecutive, interleaved, transposed, or a gather.

All of them hoist the load to the outermost scope where memory is sure to be the same.
"""
from __future__ import annotations

from numjet.cpu.codegen.addresses import Addresses, StridedLoad
from numjet.cpu.codegen.interleaved import InterleavedAccess
from numjet.cpu.codegen.memory import from_memory, gather, load_vector
from numjet.cpu.codegen.prefetch import GatherPrefetch
from numjet.cpu.codegen.scopes import NO_READS, Value
from numjet.cpu.codegen.transposes import TransposedTiles
from numjet.cpu.codegen.types import memory_type, scalar_type, wide
from numjet.cpu.ir.nodes import Buffer, Expr


class LoadEmitter:
    """Writes loads."""

    def __init__(self, addresses: Addresses):
        self.addresses = addresses
        self.writer, self.context = addresses.writer, addresses.context
        self._prefetch = GatherPrefetch(addresses)
        self._strategies = (self._consecutive, InterleavedAccess(addresses).load, TransposedTiles(addresses).load, self._gather)

    def load(self, expr: Expr) -> Value:
        """The value of a load whose index terms and guard are known."""
        w, buffer, index = self.writer, expr.attr, expr.args[0]
        guard = w.known[expr.args[1].id] if len(expr.args) > 1 else None
        step = self.context.stride(index)
        if guard is not None and guard.text == "true":
            guard = None
        if step != 0:
            value = self._by_lane(StridedLoad(buffer, index, step, self.context.masked(guard), guard is not None))
        elif guard is None or guard.lanes == 1:
            value = self._scalar(buffer, index, guard)
        else:
            value = self._scalar_for_some_lanes(buffer, index, guard)
        return w.values.define(expr.id, value, w.insertion)

    def _by_lane(self, load: StridedLoad) -> Value:
        """An element for each lane."""
        for strategy in self._strategies:
            value = strategy(load)
            if value is not None:
                return value
        raise AssertionError("a gather loads from anywhere")

    def _scalar(self, buffer: Buffer, index: Expr, guard: Value | None) -> Value:
        """One element. Where a guard does not hold, valid memory is read in its place, and the value is 0."""
        w = self.writer
        address = self.addresses.element(buffer, index)
        depth, reads = address.depth, self.addresses.reads(buffer, address.reads)
        if guard is not None:
            depth, reads = max(depth, guard.depth), reads | guard.reads
        scope = self.addresses.hoist_load(depth, buffer, index, guard is not None)
        element, pointer = memory_type(buffer.dtype), address.text
        if guard is not None:
            pointer = w.put(f"select i1 {guard.text}, ptr {pointer}, ptr %info")
        text = w.put(f"load {element}, ptr {pointer}, align {buffer.dtype.itemsize}")
        if guard is not None:
            zero = "0.0" if element in ("float", "double") else "0"
            text = w.put(f"select i1 {guard.text}, {element} {text}, {element} {zero}")
        return Value(from_memory(w, buffer.dtype, text, 1), 1, scope.depth, reads)

    def _scalar_for_some_lanes(self, buffer: Buffer, index: Expr, guard: Value) -> Value:
        """One element for the lanes whose guard holds, read if there is such a lane."""
        w, lanes, mask = self.writer, self.context.lanes, self.context.masked(guard)
        assert mask is not None
        w.hoist(mask.depth)
        wanted = Value(self.context.any_lane(mask), 1, w.insertion.depth, guard.reads)
        single, of = self._scalar(buffer, index, wanted), scalar_type(buffer.dtype)
        text = w.select(wide(of, lanes), mask.lanes, mask.text, w.splat(single, of, lanes), "zeroinitializer")
        return Value(text, lanes, w.insertion.depth, single.reads)

    # --- strategies ---

    def _consecutive(self, load: StridedLoad) -> Value | None:
        """Consecutive elements, in rising or falling order."""
        buffer, index, step, mask, guarded = load
        if step != 1 and step != -1:
            return None
        w, lanes = self.writer, self.context.lanes
        address = self.addresses.run(buffer, index, step)
        mask = self.context.in_memory_order(mask, step)
        reads = self.addresses.reads(buffer, address.reads) | (mask.reads if mask else NO_READS)
        scope = self.addresses.hoist_load(max(address.depth, mask.depth if mask else 0), buffer, index, guarded)
        text = load_vector(w, buffer.dtype, lanes, address.text, mask.text if mask else None)
        if step < 0:
            text = w.reverse(text, memory_type(buffer.dtype), lanes)
        return Value(from_memory(w, buffer.dtype, text, lanes), lanes, scope.depth, reads)

    def _gather(self, load: StridedLoad) -> Value:
        """Elements anywhere."""
        buffer, index, _, mask, guarded = load
        w, lanes = self.writer, self.context.lanes
        if mask is None and not guarded:
            self._prefetch.fetch_ahead(buffer, index)
        pointers = self.addresses.elements(buffer, index)
        reads = self.addresses.reads(buffer, pointers.reads) | (mask.reads if mask else NO_READS)
        scope = self.addresses.hoist_load(max(pointers.depth, mask.depth if mask else 0), buffer, index, guarded)
        text = gather(w, buffer.dtype, lanes, pointers.text, mask)
        return Value(from_memory(w, buffer.dtype, text, lanes), lanes, scope.depth, reads)
