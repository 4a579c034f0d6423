"""In-register transposition of strided operands: tiles of elements are loaded by rows and shuffled into columns.

Where n lanes step far through memory, and an unrolled loop of n iterations inside walks along it, the n x n elements that they
read are n vectors of consecutive ones. These are loaded once, and shuffled in log2(n) rounds, each of which exchanges the
blocks beside the diagonal (Eklundh, "A fast computer method for matrix transposing", 1972). An element may be a pair of
numbers, such as a complex one.
"""
from __future__ import annotations

from numjet.cpu.codegen.memory.addresses import Addresses, StridedLoad
from numjet.cpu.codegen.memory.instructions import loaded
from numjet.cpu.codegen.scopes import Value
from numjet.cpu.codegen.types import memory_type, wide
from numjet.cpu.codegen.writer import FunctionWriter
from numjet.cpu.ir.nodes import Buffer


def load_transposed(addresses: Addresses, request: StridedLoad) -> Value | None:
    """The elements of one column; None where no unrolled loop reads whole tiles."""
    buffer, index, step, mask, guarded, _ = request
    w, lanes, exprs = addresses.writer, addresses.context.lanes, addresses.writer.module.exprs
    if step is None or guarded or mask is not None or lanes & (lanes - 1):
        return None
    total = addresses.context.affine.split(index)
    terms = dict(total.terms)
    loop = next((u for u in addresses.context.unrolled if u.trips == lanes and terms.get(u.var) in (1, 2)), None)
    if loop is None:
        return None
    parts = terms[loop.var]   # of an element
    part = total.constant % parts
    first = exprs.prim("sub", exprs.prim("sub", index, exprs.prim("mul", loop.var, exprs.index(parts))), exprs.index(part))
    address = addresses.element(buffer, first)
    scope = addresses.hoist_load(address.depth, buffer, first)
    if scope.depth > loop.depth:  # not every iteration is sure to read its elements, or some of them are written meanwhile
        return None
    key = ("tile", address.text, step, lanes, parts)
    tile = w.known.get(key)
    if tile is None:
        rows = _transposed(addresses, buffer, address.text, step, parts)
        tile = w.define(key, " ".join(rows), lanes, addresses.reads(buffer, address.reads))
    row = w.known[loop.var.id]
    w.hoist(max(scope.depth, row.depth))
    text = _part(w, tile.text.split()[int(row.text)], memory_type(buffer.dtype), lanes, parts, part)
    return loaded(w, buffer.dtype, lanes, text, tile.reads)


def _transposed(addresses: Addresses, buffer: Buffer, address: str, step: int, parts: int) -> list[str]:
    """Loads the rows of a tile; vector r of the result holds element r of every row."""
    w, lanes, element, align = addresses.writer, addresses.context.lanes, memory_type(buffer.dtype), buffer.dtype.itemsize
    pointers = [w.put(f"getelementptr {element}, ptr {address}, i64 {lane * step}") for lane in range(lanes)]
    rows = [w.put(f"load {wide(element, lanes * parts)}, ptr {pointer}, align {align}") for pointer in pointers]
    block = lanes // 2
    while block:
        upper = [k - block + lanes if k & block else k for k in range(lanes)]
        orders = [[k * parts + part for k in order for part in range(parts)] for order in (upper, [k + block for k in upper])]
        for k in range(lanes):
            if not k & block:
                pair = rows[k], rows[k + block]
                rows[k], rows[k + block] = (w.shuffle(element, lanes * parts, *pair, order) for order in orders)
        block //= 2
    return rows


def _part(w: FunctionWriter, row: str, element: str, lanes: int, parts: int, part: int) -> str:
    """One part of each element of a row."""
    return row if parts == 1 else w.shuffle(element, lanes * parts, row, "poison", (k * parts + part for k in range(lanes)))
