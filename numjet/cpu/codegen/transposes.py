"""Operands that lie across the lanes: squares of elements, read by rows and transposed in registers.

Where n lanes step far through memory, and an unrolled loop of n iterations inside walks along it, the n x n elements that they
read are n vectors of neighbours. These are loaded once, and shuffled in log2(n) rounds, each of which exchanges the blocks
beside the diagonal (Eklundh, "A fast computer method for matrix transposing", 1972). Elements may be pairs of words.
"""
from __future__ import annotations

from numjet.cpu.codegen.interleaved import StrideEmitter
from numjet.cpu.codegen.scopes import Value
from numjet.cpu.codegen.types import memory_type, wide
from numjet.cpu.ir.nodes import Buffer, Expr


class SquareEmitter(StrideEmitter):
    """Writes loads of transposed operands."""

    def load_strided(self, buffer: Buffer, index: Expr, step: int) -> Value | None:
        """The elements at index, index + step, ...; None where a gather is needed."""
        return super().load_strided(buffer, index, step) or self._load_square(buffer, index, step)

    def _load_square(self, buffer: Buffer, index: Expr, step: int) -> Value | None:
        lanes, exprs = self.width, self.function.exprs
        terms = dict(self.sums.split(index).terms)
        found = [u for u in self.unrolled if u.trips == lanes and terms.get(u.var) in (1, 2)]
        if not found or self.mask is not None or lanes & (lanes - 1):
            return None
        words, (var, _, depth) = terms[found[0].var], found[0]
        word = self.sums.split(index).constant % words
        first = exprs.prim("sub", exprs.prim("sub", index, exprs.prim("mul", var, exprs.index(words))), exprs.index(word))
        address = self.address(buffer, first)
        home = self._home(address.depth, buffer, first)
        if home.depth > depth:  # not every iteration is sure to read its elements, or some of them are written meanwhile
            return None
        key = ("square", address.text, step, lanes, words)
        square = self.known.get(key)
        if square is None:
            rows = self._transposed(self._rows(buffer, address.text, step, words), memory_type(buffer.dtype), words)
            square = self.memory.define(key, Value(" ".join(rows), lanes, home.depth, self._reads(buffer, address.reads)), home)
        row = self.known[var.id]
        self.place(max(home.depth, row.depth))
        text = self._word(square.text.split()[int(row.text)], memory_type(buffer.dtype), words, word)
        return Value(self._from_memory(buffer, text, lanes), lanes, self.out.depth, square.reads)

    def _rows(self, buffer: Buffer, address: str, step: int, words: int) -> list[str]:
        element, align = memory_type(buffer.dtype), buffer.dtype.itemsize
        ty = wide(element, self.width * words)
        pointers = [self.put(f"getelementptr {element}, ptr {address}, i64 {lane * step}") for lane in range(self.width)]
        return [self.put(f"load {ty}, ptr {pointer}, align {align}") for pointer in pointers]

    def _transposed(self, rows: list[str], element: str, words: int) -> list[str]:
        """Vector r of the result holds element r of every row."""
        block = len(rows) // 2
        while block:
            for k in range(len(rows)):
                if not k & block:
                    pair = rows[k], rows[k + block]
                    rows[k], rows[k + block] = (self._exchanged(pair, element, words, block, upper) for upper in (True, False))
            block //= 2
        return rows

    def _exchanged(self, pair: tuple[str, str], element: str, words: int, block: int, upper: bool) -> str:
        lanes = self.width
        if upper:
            order = [k - block + lanes if k & block else k for k in range(lanes)]
        else:
            order = [k + lanes if k & block else k + block for k in range(lanes)]
        ty, count = wide(element, lanes * words), lanes * words
        numbers = ", ".join(f"i32 {k * words + w}" for k in order for w in range(words))
        return self.put(f"shufflevector {ty} {pair[0]}, {ty} {pair[1]}, <{count} x i32> <{numbers}>")

    def _word(self, row: str, element: str, words: int, word: int) -> str:
        """One word of each element of a row."""
        if words == 1:
            return row
        ty, numbers = wide(element, self.width * words), ", ".join(f"i32 {k * words + word}" for k in range(self.width))
        return self.put(f"shufflevector {ty} {row}, {ty} poison, <{self.width} x i32> <{numbers}>")
