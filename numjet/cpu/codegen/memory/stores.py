"""Stores: scalar, consecutive, by a scatter, and of whole groups of interleaved elements."""
from __future__ import annotations

from collections.abc import Hashable

from numjet.cpu.codegen.memory.addresses import Addresses
from numjet.cpu.codegen.memory.instructions import ALL_LANES, scatter, store_vector, to_memory
from numjet.cpu.codegen.scopes import Value
from numjet.cpu.codegen.types import memory_type
from numjet.cpu.ir.nodes import Buffer, Expr, Store


def store(addresses: Addresses, stmt: Store) -> None:
    """Writes a value now; afterwards it is known as the load of that element (store-to-load forwarding).

    In lanes that a mask excludes it differs from what a load gives, which nothing reads there. The CPU itself forwards no
    masked store: a load behind one waits until it is in the cache.
    """
    w, buffer, index = addresses.writer, stmt.buffer, stmt.index
    value = addresses.value(stmt.value)
    addresses.evaluate_terms(index)
    step = addresses.context.stride(index)
    key = None
    if step == 0:
        _scalar(addresses, buffer, index, value)
    elif step == 1 or step == -1:
        key = _consecutive(addresses, stmt, value, step)
    else:
        _scatter(addresses, stmt, value)
    w.values.invalidate([buffer])
    load = w.module.exprs.load(buffer, index)
    w.define(load.id, value.text, value.lanes, frozenset([buffer]), value.literal)
    if key is not None:
        w.define_in_line(key, Value(value.text, value.lanes, 0, frozenset([buffer]), value.literal))


def _scalar(addresses: Addresses, buffer: Buffer, index: Expr, value: Value) -> None:
    w = addresses.writer
    if value.lanes > 1 or addresses.context.mask is not None:
        raise ValueError(f"the lanes of a vector loop all store to {buffer!r}[{index!r}]: they are not independent")
    address = addresses.element(buffer, index)
    w.here()
    text = to_memory(w, buffer.dtype, value.text, 1)
    w.line(f"store {memory_type(buffer.dtype)} {text}, ptr {address.text}, align {buffer.dtype.itemsize}")


def _consecutive(addresses: Addresses, stmt: Store, value: Value, step: int) -> Hashable:
    """Writes a vector. Returns the key by which loops behind this one, in the same code, find it."""
    w, lanes, dtype = addresses.writer, addresses.context.lanes, stmt.buffer.dtype
    address = addresses.run(stmt.buffer, stmt.index, step)
    mask = addresses.context.in_memory_order(addresses.context.mask, step)
    text = _vector(addresses, stmt, value)
    if step < 0:
        text = w.reverse(text, memory_type(dtype), lanes)
    store_vector(addresses.context, dtype, text, address.text, mask.text if mask else None)
    return addresses.run_key(stmt.buffer, address, step, addresses.context.mask)


def _scatter(addresses: Addresses, stmt: Store, value: Value) -> None:
    pointers = addresses.elements(stmt.buffer, stmt.index)
    text = _vector(addresses, stmt, value)
    mask = addresses.context.mask.text if addresses.context.mask else ALL_LANES
    scatter(addresses.writer, stmt.buffer.dtype, addresses.context.lanes, text, pointers.text, mask)


def _vector(addresses: Addresses, stmt: Store, value: Value) -> str:
    """What is stored in all lanes, in its form in memory."""
    w, lanes = addresses.writer, addresses.context.lanes
    w.here()
    return to_memory(w, stmt.buffer.dtype, w.fit(value, stmt.value, lanes), lanes)
