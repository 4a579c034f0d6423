"""Elements of arrays in any state: memory is loaded, registers are named, deferred arrays are evaluated.

Evaluation composes the functions of deferred arrays, which fuses producers with consumers. Elements are memoized, so that a
graph of shared deferred arrays becomes code of linear size.
"""
from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from numjet.cpu.lowering.arrays.allocation import SMALL
from numjet.cpu.lowering.arrays.memory_access import MemoryAccess
from numjet.cpu.lowering.arrays.values import Deferred, LoweredArray, Registers, Storage, linear
from numjet.cpu.lowering.function_builder import FunctionBuilder
from numjet.cpu.lowering.scalars import Scalars

SELECTED = SMALL // 2   # elements among which selections choose; where there are more, registers become memory


class ArrayReads:
    """Reads elements of arrays by index and by row-major position."""

    def __init__(self, ir: FunctionBuilder, scalars: Scalars, memory: MemoryAccess):
        self.ir, self.scalars, self.memory = ir, scalars, memory
        self.checker, self._index = ir.checker, scalars.index
        self.tiles: dict[int, LoweredArray] = {}   # by id of a row: a tile of it, see row_tiles.py

    def read(self, x: LoweredArray, *index: Any) -> Any:
        """Element of an array by index."""
        if self.checker is not None:
            self.checker.read(x)
        index = tuple([i if type(i) is int else self._index(i) for i in index])
        content = x.content
        if type(content) is Storage:
            return self.memory.load(content, x.dtype, linear(x.shape, index))
        if type(content) is Registers:
            return self.read_register(x, content, linear(x.shape, index))
        return self._evaluate(x, self._key(index), index, "fn")

    def read_flat(self, x: LoweredArray, position: Any) -> Any:
        """Element by row-major position of an array that `has_positions`."""
        if self.checker is not None:
            self.checker.read(x)
        content = x.content
        if type(content) is Storage:
            return self.memory.load(content, x.dtype, position)
        if type(content) is Registers:
            return self.read_register(x, content, position)
        return self._evaluate(x, ("flat", *self._key((position,))), (position,), "flat")

    def read_tile(self, x: LoweredArray, position: Any, place: Any) -> Any:
        """Element by row-major position, and its place in a tile, of an array that repeats."""
        if x.content.period == 1:
            return self.read_flat(x, position)
        if self.checker is not None:
            self.checker.read(x)
        return self._evaluate(x, ("tile", *self._key((position, place))), (position, place), "tile")

    def read_row(self, row: LoweredArray, place: Any) -> Any:
        """Element of a row, of which a tile is in memory, by its place in the tile."""
        return self.read_flat(self.tiles[id(row)], place)

    def has_positions(self, x: LoweredArray) -> bool:
        """Whether elements can be read by row-major position."""
        return not x.lazy or x.content.flat is not None

    def alias(self, x: LoweredArray) -> LoweredArray:
        """The same array for a branch or loop: storing it there changes nothing outside."""
        if not x.lazy:
            return x
        flat = (lambda k: self.read_flat(x, k)) if x.content.flat is not None else None
        return LoweredArray(x.aval, Deferred(lambda *i: self.read(x, *i), flat=flat, parents=(x,),
                                             pieces=x.content.pieces, period=x.content.period, dilation=x.content.dilation,
                                             tile=lambda k, place: self.read_tile(x, k, place)))

    # ------------------------------------------------------------------------------------------ deferred arrays
    def _key(self, index: tuple[Any, ...]) -> tuple[Any, ...]:
        """What an element depends on: the index, and the conditions under which it is read."""
        return (*[i if isinstance(i, int) else (i.expr.id,) for i in index], *[-1 - g.expr.id for g in self.ir.guards])

    def _evaluate(self, x: LoweredArray, key: Any, index: tuple[Any, ...], how: str) -> Any:
        """An element of a deferred array, memoized, by its function of that name. Chains of pointwise arrays are evaluated
        without recursion."""
        content: Any = x.content
        memo = content.memo
        found = memo.get(key)
        if found is not None:
            return found
        stack = [x]
        while stack:
            a = stack[-1]
            content = a.content
            waiting = [p for p in content.parents if p.content.pointwise and p.shape == x.shape and key not in p.content.memo
                       and getattr(p.content, how) is not None] if content.pointwise else ()
            if waiting:
                stack.extend(waiting)
                continue
            if key not in content.memo:
                rule = getattr(content, how)
                content.memo[key] = self.scalars.scalar(
                    rule(*index) if self.checker is None else self.checker.define(a, partial(rule, *index)))
                if self.ir.recorder is not None:
                    self.ir.recorder.defined(a, self.ir.block)
            stack.pop()
        return memo[key]

    def evaluation(self, x: LoweredArray) -> Callable[..., Any]:
        """How to read a deferred array of which each element is read once, by constant indices. One that nobody read yet and
        that is made of no other deferred array needs no memo."""
        content: Any = x.content
        watched = self.checker is not None or self.ir.recorder is not None
        if watched or content.memo or any(p.lazy for p in content.parents):
            return lambda *index: self.read(x, *index)
        return lambda *index: self.scalars.scalar(content.fn(*index))

    # ------------------------------------------------------------------------------------------ registers
    def read_register(self, x: LoweredArray, registers: Registers, position: Any) -> Any:
        """Element of an array in registers: selections where the position is not constant, or memory where they are many."""
        if not registers.elems:  # an element of an empty array is read only where a selection discards it
            return self.scalars.const(0, x.dtype)
        if isinstance(position, int):
            return registers.elems[position]
        if not position.terms:
            return registers.elems[position.const]
        lo, hi = position.bounds
        lo, hi = max(lo, 0), min(hi, x.size - 1)
        if hi - lo >= SELECTED and not registers.mutable and not self.ir.guards:
            return self.memory.load(self.spill(x), x.dtype, position)
        value = registers.elems[hi]
        for k in range(hi - 1, lo - 1, -1):
            value = self.scalars.select(self.ir.terms.compare("eq", position, k), registers.elems[k], value)
        return value

    def spill(self, x: LoweredArray) -> Storage:
        """Moves an array from registers to memory, in the block where the registers were filled."""
        registers = x.registers
        assert registers is not None
        storage = self.ir.allocation.temporary(x.aval)
        with self.ir.inside(registers.block):
            for k, value in enumerate(registers.elems):
                self.memory.store(storage, k, value)
        x.content = storage
        self.ir.spills += 1
        return storage
