"""In-register transposition of strided operands: tiles of elements are loaded by rows and shuffled into columns.

Where n lanes step far through memory, and an unrolled loop of n iterations inside walks along it, the n x n elements that they
read are n vectors of consecutive ones. These are loaded once, and shuffled in log2(n) rounds, each of which exchanges the
blocks beside the diagonal (Eklundh, "A fast computer method for matrix transposing", 1972). An element may be a pair of
numbers, such as a complex one.
"""
from __future__ import annotations

from numjet.cpu.codegen.addresses import Addresses, StridedLoad
from numjet.cpu.codegen.memory import from_memory
from numjet.cpu.codegen.scopes import Value
from numjet.cpu.codegen.types import memory_type, wide
from numjet.cpu.ir.nodes import Buffer


class TransposedTiles:
    """Writes loads of transposed operands."""

    def __init__(self, addresses: Addresses):
        self.addresses = addresses
        self.writer, self.context = addresses.writer, addresses.context

    def load(self, load: StridedLoad) -> Value | None:
        """The elements of one column; None where no unrolled loop reads whole tiles."""
        buffer, index, step, mask, guarded = load
        w, lanes, exprs = self.writer, self.context.lanes, self.writer.module.exprs
        if step is None or guarded or mask is not None or lanes & (lanes - 1):
            return None
        total = self.context.affine.split(index)
        terms = dict(total.terms)
        loop = next((u for u in self.context.unrolled if u.trips == lanes and terms.get(u.var) in (1, 2)), None)
        if loop is None:
            return None
        parts = terms[loop.var]   # of an element
        part = total.constant % parts
        first = exprs.prim("sub", exprs.prim("sub", index, exprs.prim("mul", loop.var, exprs.index(parts))), exprs.index(part))
        address = self.addresses.element(buffer, first)
        scope = self.addresses.hoist_load(address.depth, buffer, first)
        if scope.depth > loop.depth:  # not every iteration is sure to read its elements, or some of them are written meanwhile
            return None
        key = ("tile", address.text, step, lanes, parts)
        tile = w.known.get(key)
        if tile is None:
            rows = self._transposed(self._rows(buffer, address.text, step, parts), memory_type(buffer.dtype), parts)
            tile = w.define(key, " ".join(rows), lanes, self.addresses.reads(buffer, address.reads))
        row = w.known[loop.var.id]
        w.hoist(max(scope.depth, row.depth))
        text = self._part(tile.text.split()[int(row.text)], memory_type(buffer.dtype), parts, part)
        return Value(from_memory(w, buffer.dtype, text, lanes), lanes, w.insertion.depth, tile.reads)

    def _rows(self, buffer: Buffer, address: str, step: int, parts: int) -> list[str]:
        w, lanes, element, align = self.writer, self.context.lanes, memory_type(buffer.dtype), buffer.dtype.itemsize
        pointers = [w.put(f"getelementptr {element}, ptr {address}, i64 {lane * step}") for lane in range(lanes)]
        return [w.put(f"load {wide(element, lanes * parts)}, ptr {pointer}, align {align}") for pointer in pointers]

    def _transposed(self, rows: list[str], element: str, parts: int) -> list[str]:
        """Vector r of the result holds element r of every row."""
        block = len(rows) // 2
        while block:
            for k in range(len(rows)):
                if not k & block:
                    pair = rows[k], rows[k + block]
                    rows[k], rows[k + block] = (self._exchanged(pair, element, parts, block, upper) for upper in (True, False))
            block //= 2
        return rows

    def _exchanged(self, pair: tuple[str, str], element: str, parts: int, block: int, upper: bool) -> str:
        lanes = self.context.lanes
        if upper:
            order = [k - block + lanes if k & block else k for k in range(lanes)]
        else:
            order = [k + lanes if k & block else k + block for k in range(lanes)]
        return self.writer.shuffle(element, lanes * parts, *pair, (k * parts + part for k in order for part in range(parts)))

    def _part(self, row: str, element: str, parts: int, part: int) -> str:
        """One part of each element of a row."""
        if parts == 1:
            return row
        lanes = self.context.lanes
        return self.writer.shuffle(element, lanes * parts, row, "poison", (k * parts + part for k in range(lanes)))
