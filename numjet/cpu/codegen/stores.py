"""Stores: scalar, consecutive, by a scatter, and of whole groups of interleaved elements."""
from __future__ import annotations

from numjet.cpu.codegen.addresses import Addresses
from numjet.cpu.codegen.interleaved import InterleavedAccess
from numjet.cpu.codegen.memory import scatter, store_vector, to_memory
from numjet.cpu.codegen.scopes import Value
from numjet.cpu.codegen.types import memory_type
from numjet.cpu.ir.nodes import Buffer, Expr, Store


class StoreEmitter:
    """Writes stores."""

    def __init__(self, addresses: Addresses):
        self.addresses = addresses
        self.writer, self.context = addresses.writer, addresses.context
        self.store_group = InterleavedAccess(addresses).store_group

    def store(self, stmt: Store) -> None:
        """Writes a value now; afterwards it is known as the load of that element (store-to-load forwarding)."""
        w, buffer, index = self.writer, stmt.buffer, stmt.index
        value = self.addresses.value(stmt.value)
        self.addresses.evaluate_terms(index)
        step = self.context.stride(index)
        if step == 0:
            self._scalar(buffer, index, value)
        elif step == 1 or step == -1:
            self._consecutive(stmt, value, step)
        else:
            self._scatter(stmt, value)
        w.values.invalidate([buffer])
        if self.context.mask is None:
            load = w.module.exprs.load(buffer, index)
            w.define(load.id, value.text, value.lanes, frozenset([buffer]), value.literal)

    def _scalar(self, buffer: Buffer, index: Expr, value: Value) -> None:
        w = self.writer
        if value.lanes > 1 or self.context.mask is not None:
            raise ValueError(f"the lanes of a vector loop all store to {buffer!r}[{index!r}]: they are not independent")
        address = self.addresses.element(buffer, index)
        w.here()
        text = to_memory(w, buffer.dtype, value.text, 1)
        w.line(f"store {memory_type(buffer.dtype)} {text}, ptr {address.text}, align {buffer.dtype.itemsize}")

    def _consecutive(self, stmt: Store, value: Value, step: int) -> None:
        w, lanes, dtype = self.writer, self.context.lanes, stmt.buffer.dtype
        address = self.addresses.run(stmt.buffer, stmt.index, step)
        mask = self.context.in_memory_order(self.context.mask, step)
        text = self._vector(stmt, value)
        if step < 0:
            text = w.reverse(text, memory_type(dtype), lanes)
        store_vector(self.context, dtype, text, address.text, mask.text if mask else None)

    def _scatter(self, stmt: Store, value: Value) -> None:
        pointers = self.addresses.elements(stmt.buffer, stmt.index)
        text = self._vector(stmt, value)
        scatter(self.writer, stmt.buffer.dtype, self.context.lanes, text, pointers.text, self.context.mask)

    def _vector(self, stmt: Store, value: Value) -> str:
        """What is stored in all lanes, in its form in memory."""
        w, lanes = self.writer, self.context.lanes
        w.here()
        return to_memory(w, stmt.buffer.dtype, w.fit(value, stmt.value, lanes), lanes)
