"""Updates of arrays in place: in memory where no other array needs the old value, in registers where they are small."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from math import prod
from typing import Any

import numpy as np

from numjet.core.aval import ShapedArray
from numjet.cpu.ir.nodes import If, Stmt
from numjet.cpu.lowering.arrays.materialization import Materialization
from numjet.cpu.lowering.arrays.values import LoweredArray, Pair, Registers, Storage, linear
from numjet.cpu.lowering.index import Index
from numjet.cpu.lowering.liveness import Liveness

MOST_PIECES = 16   # of a loop whose iterations need memory of their own: threads share them


class ArrayUpdates:
    """Makes writable arrays and writes their elements."""

    def __init__(self, materialization: Materialization, liveness: Liveness):
        self.materialization, self.liveness = materialization, liveness
        self.reads, self.memory, self.nests = materialization.reads, materialization.memory, materialization.nests
        self.ir, self.scalars = self.reads.ir, self.reads.scalars

    # ------------------------------------------------------------------------------------------ writable arrays
    def own(self, x: LoweredArray) -> LoweredArray:
        """A writable array with the elements of x: in place when x is not read later, else a copy."""
        if x.lazy and (x.content.source is not None or x.size <= self.ir.small):
            self.materialization.materialize(x)
        if x.registers is not None:
            return self._writable(x.aval, list(x.registers.elems))
        if x.storage is not None and self.liveness.may_overwrite(x):
            self.store_readers(x)
            return LoweredArray(x.aval, x.storage)
        storage = self.ir.allocation.temporary(x.aval)
        self.materialization.copy_into(x, storage, _why_copied(x))
        return LoweredArray(x.aval, storage)

    def own_around(self, x: LoweredArray, starts: Sequence[Any], sizes: Sequence[int],
                   new: LoweredArray) -> LoweredArray | None:
        """A new writable array with the elements of x around a window; None where x itself is to be updated."""
        corner = [self.ir.terms.index(s) for s in starts]
        if x.storage is None or x.size <= self.ir.small or any(i.terms for i in corner) or 2 * prod(sizes) < x.size:
            return None
        first = [i.const for i in corner]
        if any(k < 0 or k + n > whole for k, n, whole in zip(first, sizes, x.shape, strict=True)):
            return None
        if x.storage.owned and (x.storage.base.terms
                                or not new.reads(x.storage.buffer) and self.liveness.may_overwrite(x)):
            return None
        storage = self.ir.allocation.temporary(x.aval)
        for axis, (low, n, whole) in enumerate(zip(first, sizes, x.shape, strict=True)):
            for begin, count in ((0, low), (low + n, whole - low - n)):
                self._copy_block(x, storage, (*first[:axis], begin), (*sizes[:axis], count, *x.shape[axis + 1:]))
        return LoweredArray(x.aval, storage)

    def _copy_block(self, x: LoweredArray, storage: Storage, starts: tuple[int, ...], sizes: tuple[int, ...]) -> None:
        """Copies a block of an array to the same indices of another one."""
        def body(*index: Any) -> None:
            at = tuple(i + s for i, s in zip(index, (*starts, *[0] * (len(sizes) - len(starts))), strict=True))
            self.memory.store(storage, linear(x.shape, at), self.reads.read(x, *at))
        self.nests.nest(sizes, body)

    def store_readers(self, x: LoweredArray) -> None:
        """Stores the live deferred arrays that read the memory of x, before it is overwritten."""
        for a in list(self.liveness.here()):
            if a.lazy and a.reads(x.storage.buffer):
                self.materialization.materialize(a, "the memory that it reads is updated in place")

    def empty(self, shape: Sequence[int], dtype: Any) -> LoweredArray:
        """A writable array with undefined elements."""
        aval = ShapedArray(tuple(shape), np.dtype(dtype))
        if aval.size <= self.ir.small:
            return self.empty_registers(aval)
        return LoweredArray(aval, self.ir.allocation.temporary(aval))

    def empty_registers(self, aval: ShapedArray) -> LoweredArray:
        """A writable array in registers."""
        return self._writable(aval, [self.scalars.const(np.zeros((), aval.dtype)[()], aval.dtype)] * aval.size)

    def _writable(self, aval: ShapedArray, elems: list[Any]) -> LoweredArray:
        out = LoweredArray(aval, Registers(elems, self.ir.block, mutable=True))
        self.ir.open_registers.append(out)
        return out

    def close_registers(self) -> None:
        """Moves writable arrays in registers to memory, before a loop that may write them."""
        for x in self.ir.open_registers:
            if x.registers is not None:
                x.content = Registers(x.registers.elems, self.ir.block)
                self.reads.spill(x)
        self.ir.open_registers = []

    # ------------------------------------------------------------------------------------------ loops over updates
    def loop(self, shape: Sequence[int], body: Callable[..., None], *, ordered: bool = False) -> None:
        """body(i, j, ...) for every index."""
        if ordered and prod(shape) <= self.ir.allocation.written_out and self.ir.in_loop:
            for index in product(*map(range, shape)):
                body(*index)
            return
        if prod(shape) > self.ir.small:
            self.close_registers()
        self.nests.nest(tuple(shape), body, mode="serial" if ordered else "vector")

    def copies(self, shape: Sequence[int]) -> int:
        """How often `loop` writes its body out."""
        return prod(shape) if prod(shape) <= self.ir.small else 1

    def chunks(self, count: int, body: Callable[[Index], None]) -> None:
        """body(c) for every c, at the same time where threads are free; arrays made by `body` are not seen outside."""
        self.close_registers()
        allocation, pieces = self.ir.memory, min(count, MOST_PIECES)
        around = allocation.pieces
        with self.ir.loop(pieces, "parallel") as piece:
            allocation.pieces = (pieces, piece)
            if pieces == count:
                body(piece)
            else:
                first, stop = piece * count // pieces, (piece + 1) * count // pieces
                with self.ir.loop(stop, "serial", start=first) as c:
                    body(c)
            allocation.pieces = around

    # ------------------------------------------------------------------------------------------ elements
    def store(self, x: LoweredArray, index: Sequence[Any], value: Any) -> None:
        """x[index] = value, where the conditions of `when` hold."""
        position = linear(x.shape, tuple(self.scalars.index(i) for i in index))
        if x.registers is not None:
            self._store_register(x.registers.elems, position, self.ir.let(value))
            return
        value = self.ir.let(value) if isinstance(value, Pair) else value  # both halves, before either is overwritten
        block: list[Stmt] = []
        with self.ir.inside(block):
            self.memory.store(x.storage, position, value)
        for g in reversed(self.ir.guards):
            block = [If(g.expr, block, [])]
        self.ir.block.extend(block)

    def _store_register(self, elems: list[Any], position: Any, value: Any) -> None:
        """elems[position] = value, by selections where position or guards are not constant."""
        for k in [position] if isinstance(position, int) else range(len(elems)):
            conditions = [*self.ir.guards]
            if not isinstance(position, int):
                conditions.append(self.ir.terms.compare("eq", position, k))
            new = value
            for g in conditions:
                new = self.scalars.select(g, new, elems[k])
            elems[k] = self.ir.let(new)

    def when(self, cond: Any, then: Callable[[], None]) -> None:
        """Runs `then` (stores) only where cond holds."""
        if cond.expr.op == "const":
            if cond.expr.attr:
                then()
            return
        if any(x.registers is not None for x in self.ir.open_registers):
            with self.ir.guarded(cond):
                then()
            return
        block: list[Stmt] = []
        with self.ir.inside(block):
            then()
        self.ir.emit(If(cond.expr, block, []))


def _why_copied(x: LoweredArray) -> str:
    """Why an update cannot be made in place."""
    if x.storage is None:
        return "first value of an array that is updated in place"
    if x.storage.owned:
        return "updated while its old value is still read later"
    if x.storage.buffer.kind == "input":
        return "updates an argument, which belongs to the caller: donate it (donate_argnums), and it is updated in place"
    return "updates memory that is read again: a constant, or a part of an array that stays"
