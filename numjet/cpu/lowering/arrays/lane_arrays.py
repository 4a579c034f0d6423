"""Arrays in one lane of a vector: the elements of each array that belong to one of many independent systems.

Arrays have common first axes along which the lanes go. In a lane, only the element at the lane's own index along these axes
may be read; the rest of the array is written out in registers. Whatever needs an element of another lane, or memory, raises
`NotVectorizable`.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from numjet.core.aval import ShapedArray
from numjet.core.ir import JaxprEqn
from numjet.cpu.ir.nodes import Carry, Stmt
from numjet.cpu.lowering.arrays.allocation import NotVectorizable
from numjet.cpu.lowering.arrays.array_updates import ArrayUpdates
from numjet.cpu.lowering.arrays.materialization import Item
from numjet.cpu.lowering.arrays.values import Deferred, LoweredArray, Registers, Storage, linear
from numjet.cpu.lowering.index import Index
from numjet.cpu.lowering.liveness import Frame
from numjet.cpu.lowering.loops.loop_nests import carries_of
from numjet.cpu.lowering.loops.loop_state import CarriedArray

LARGEST = 64   # elements of one system in an array that an equation makes: code size, and registers


class LaneArrays:
    """The array strategy (walk.py) in a lane. lane, lane_shape: its index along the common first axes, and their lengths."""

    def __init__(self, updates: ArrayUpdates, lane: tuple[Index, ...], lane_shape: tuple[int, ...]):
        self.updates, self.lane, self.lane_shape = updates, lane, lane_shape
        self.ir, self.scalars, self.reads = updates.ir, updates.scalars, updates.reads
        self._rows: dict[int, tuple[LoweredArray, LoweredArray]] = {}   # by id: writable arrays, and this lane's part of them

    # ------------------------------------------------------------------------------------------ elements of a lane
    def rest(self, shape: Sequence[int]) -> tuple[int, ...]:
        """The shape of what an array holds for one lane."""
        return tuple(shape[len(self.lane_shape):])

    def elements(self, x: LoweredArray) -> list[Any]:
        """The elements of an array that belong to this lane, evaluated here."""
        return [self.ir.let(self.reads.read(x, *self.lane, *i)) for i in np.ndindex(*self.rest(x.shape))]

    def array(self, aval: ShapedArray, elems: Sequence[Any]) -> LoweredArray:
        """The array whose elements in this lane are known."""
        row = LoweredArray(aval.update(shape=self.rest(aval.shape)), Registers(list(elems), self.ir.block))
        return self._with_row(aval, row)

    def _with_row(self, aval: ShapedArray, row: LoweredArray) -> LoweredArray:
        """The array that is `row`, in registers, in this lane."""
        def at(*index: Any) -> Any:
            assert row.registers is not None
            return self.reads.read_register(row, row.registers, linear(row.shape, self._own_index(index)))
        return LoweredArray(aval, Deferred(at))

    def _own_index(self, index: Sequence[Any]) -> tuple[Any, ...]:
        """The rest of an index that is in this lane."""
        k = len(self.lane)
        if not all(isinstance(i, Index) and i.expr is own.expr for i, own in zip(index[:k], self.lane, strict=True)):
            raise NotVectorizable
        return tuple(index[k:])

    def write(self, storage: Storage, x: LoweredArray, start: Any) -> None:
        """Stores this lane's elements of an array that begins at `start`."""
        for index, value in zip(np.ndindex(*self.rest(x.shape)), self.elements(x), strict=True):
            position = self.ir.terms.index(start) + linear(x.shape, (*self.lane, *index))
            self.updates.memory.store(storage, position, value)

    def _has_lanes(self, shape: Sequence[int]) -> bool:
        return tuple(shape[:len(self.lane_shape)]) == self.lane_shape

    def _require_small(self, shape: Sequence[int]) -> None:
        if not self._has_lanes(shape) or prod(self.rest(shape)) > LARGEST:
            raise NotVectorizable

    # ------------------------------------------------------------------------------------------ the strategy
    def before_equation(self, frame: Frame, eqn: JaxprEqn, args: Sequence[LoweredArray]) -> None:
        """Stores nothing: a lane has no memory."""

    def after_equation(self, frame: Frame, eqn: JaxprEqn) -> None:
        """Keeps the results in registers."""
        for v in eqn.outvars:
            x = frame.environment.get(v)
            if x is not None and x.lazy and self._has_lanes(x.shape) and prod(self.rest(x.shape)) <= LARGEST:
                frame.bind(v, self.array(x.aval, self.elements(x)))

    def own(self, x: LoweredArray) -> LoweredArray:
        """A writable array with the elements of x."""
        self._require_small(x.shape)
        row = self.updates.empty_registers(x.aval.update(shape=self.rest(x.shape)))
        assert row.registers is not None
        row.registers.elems = self.elements(x)
        return self._writable(x.aval, row)

    def empty(self, shape: Sequence[int], dtype: Any) -> LoweredArray:
        """A writable array with undefined elements."""
        if not self._has_lanes(shape):
            return self.updates.empty(shape, dtype)
        self._require_small(shape)
        aval = ShapedArray(tuple(shape), np.dtype(dtype))
        return self._writable(aval, self.updates.empty_registers(aval.update(shape=self.rest(shape))))

    def _writable(self, aval: ShapedArray, row: LoweredArray) -> LoweredArray:
        out = self._with_row(aval, row)
        self._rows[id(out)] = out, row
        return out

    def store(self, x: LoweredArray, index: Sequence[Any], value: Any) -> None:
        """x[index] = value."""
        if id(x) not in self._rows:
            self.updates.store(x, index, value)
        else:
            self.updates.store(self._rows[id(x)][1], self._own_index(index), value)
            content: Any = x.content
            content.memo.clear()

    def loop(self, shape: Sequence[int], body: Callable[..., None], *, ordered: bool = False) -> None:
        """body(i, j, ...) for every index in this lane, written out."""
        if not self._has_lanes(shape):
            self.updates.loop(shape, body, ordered=ordered)
        else:
            for index in np.ndindex(*self.rest(shape)):
                body(*self.lane, *index)

    def copies(self, shape: Sequence[int]) -> int:
        """How often `loop` writes its body out."""
        return prod(self.rest(shape))

    def prefix(self, kind: str, x: LoweredArray, axis: int, reverse: bool = False) -> LoweredArray:
        """Inclusive cumulative reduction along an axis, written out."""
        self._require_small(x.shape)
        if axis < len(self.lane) or x.dtype.itemsize == 2:
            raise NotVectorizable
        rest, along = self.rest(x.shape), axis - len(self.lane)
        elems = dict(zip(np.ndindex(*rest), self.elements(x), strict=True))
        for index in reversed(elems) if reverse else elems:
            before = (*index[:along], index[along] + (1 if reverse else -1), *index[along + 1:])
            if before in elems:
                elems[index] = self.ir.let(self.scalars.combine(kind, elems[before], elems[index]))
        return self.array(x.aval, list(elems.values()))


class CarriedLane(CarriedArray):
    """Loop state (loop_state.py) in a lane: the elements of one system, carried in registers. storage: where all lanes leave
    them after the loop."""

    def __init__(self, arrays: LaneArrays, init: LoweredArray, storage: Storage):
        self.arrays, self.aval, self.storage = arrays, init.aval, storage
        self.inits = arrays.elements(init)
        variable = arrays.scalars.variable
        self.inside, self.outs = ([variable(v.dtype) for v in self.inits] for _ in range(2))

    def current(self, block: list[Stmt]) -> LoweredArray:
        return self.arrays.array(self.aval, self.inside)

    def advance(self, new: LoweredArray, assigned: list[Item]) -> list[Carry]:
        return carries_of(self.inside, self.inits, self.arrays.elements(new), self.outs)

    def result(self, block: list[Stmt]) -> LoweredArray:
        self.arrays.write(self.storage, self.arrays.array(self.aval, self.outs), 0)
        return LoweredArray(self.aval, self.storage)
