"""Loop state: how the arrays that a loop carries go from one iteration to the next.

A strategy per array, chosen by `LoopStates.choose`. In each iteration, `current` is the value at its beginning; `advance` takes
the new value, either at once (then its carries are returned) or by the assignment of carry buffers; `finish` comes after that
assignment.
"""
from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from numjet.core.ir import Jaxpr
from numjet.cpu.ir.nodes import Carry, Stmt
from numjet.cpu.lowering.arrays.materialization import Item
from numjet.cpu.lowering.arrays.values import LoweredArray, Registers, Storage
from numjet.cpu.lowering.loops.carry_buffers import CarryBuffers, owned_buffer
from numjet.cpu.lowering.loops.loop_nests import carries_of
from numjet.cpu.lowering.loops.ring_buffers import RingBuffers, shifted_carries


class CarriedArray:
    """One array of a loop's state."""

    def current(self, block: list[Stmt]) -> LoweredArray:
        """The value at the beginning of an iteration, whose statements go to `block`."""
        raise NotImplementedError

    def read_only(self, block: list[Stmt]) -> LoweredArray:
        """The same for what may only read it, as a loop's condition."""
        return self.current(block)

    def advance(self, new: LoweredArray, assigned: list[Item]) -> list[Carry]:
        """Takes the value of the next iteration: by carries, or by a buffer that it appends to `assigned`."""
        raise NotImplementedError

    def finish(self) -> list[Carry]:
        """Ends the iteration, after all buffers are assigned."""
        return []

    def result(self, block: list[Stmt]) -> LoweredArray:
        """The value after the loop."""
        raise NotImplementedError


class CarriedRegisters(CarriedArray):
    """A small array: the loop carries its elements as scalars."""

    def __init__(self, states: LoopStates, init: LoweredArray):
        self.states, self.aval = states, init.aval
        self.inits = states.in_registers(init)
        variable = states.scalars.variable
        self.inside, self.outs = ([variable(self.aval.dtype) for _ in self.inits] for _ in range(2))

    def current(self, block: list[Stmt]) -> LoweredArray:
        return LoweredArray(self.aval, Registers(list(self.inside), block))

    def advance(self, new: LoweredArray, assigned: list[Item]) -> list[Carry]:
        return carries_of(self.inside, self.inits, self.states.in_registers(new), self.outs)

    def result(self, block: list[Stmt]) -> LoweredArray:
        return LoweredArray(self.aval, Registers(list(self.outs), block))


class CarriedBuffer(CarriedArray):
    """A large array: one buffer holds it at the beginning of every iteration. It is that of the first value, where no other
    array needs that, else a copy."""

    def __init__(self, states: LoopStates, init: LoweredArray):
        self.aval = init.aval
        self.storage = states.take_over(init) or states.copy_of(init)

    def current(self, block: list[Stmt]) -> LoweredArray:
        return LoweredArray(self.aval, self.storage)

    def read_only(self, block: list[Stmt]) -> LoweredArray:
        return LoweredArray(self.aval, Storage(self.storage.buffer, self.storage.base, False))

    def advance(self, new: LoweredArray, assigned: list[Item]) -> list[Carry]:
        assigned.append((new, self.storage))
        return []

    result = current


class CarriedWindow(CarriedArray):
    """A large array that the loop shifts: a window of a ring buffer, whose start is carried."""

    def __init__(self, states: LoopStates, init: LoweredArray, step: int):
        self.states, self.rings, self.aval = states, states.rings, init.aval
        window = self.rings.begin(init, step)
        self.buffer, self.first = window.buffer, window.base
        self.start = self.rings.start_of_iteration(self.buffer, self.aval)
        self.end = self.rings.unknown_start(self.buffer, self.aval)
        self.next = self.start
        self.aside: Storage | None = None   # memory with a new value that is no window

    def current(self, block: list[Stmt]) -> LoweredArray:
        return LoweredArray(self.aval, Storage(self.buffer, self.start, True))

    def read_only(self, block: list[Stmt]) -> LoweredArray:
        return LoweredArray(self.aval, Storage(self.buffer, self.start, False))

    def advance(self, new: LoweredArray, assigned: list[Item]) -> list[Carry]:
        """A new value that was not made by shifting waits in other memory until no array reads the window."""
        if new.uses(self.buffer):
            self.next = new.storage.base
        else:
            self.aside = self.states.ir.allocation.temporary(self.aval)
            self.states.copy(new, self.aside, "carried by a loop that shifts it, but not shifted")
        return []

    def finish(self) -> list[Carry]:
        if self.aside is not None:
            self.states.copy(LoweredArray(self.aval, self.aside), Storage(self.buffer, self.start, True),
                             "carried where it was shifted")
        return [Carry(self.start.expr, self.first.expr, self.next.expr, self.end.expr)]

    def result(self, block: list[Stmt]) -> LoweredArray:
        return LoweredArray(self.aval, Storage(self.buffer, self.end, True))


class LoopStates:
    """Chooses how loops carry arrays, and advances their state."""

    def __init__(self, buffers: CarryBuffers, rings: RingBuffers):
        self.buffers, self.rings = buffers, rings
        self.ir, self.scalars, self.liveness = rings.ir, rings.scalars, rings.liveness
        self.reads, self.copy = rings.updates.reads, rings.updates.materialization.copy_into

    def choose(self, init: Sequence[LoweredArray], body: Jaxpr, first: int) -> list[CarriedArray]:
        """The strategy for each carried array, whose inputs of the body begin at `first`: registers up to the limit of the loop
        (scalarization.py), a ring buffer for what the body returns shifted, a buffer for all others."""
        return [CarriedRegisters(self, x) if x.size <= self.ir.memory.register_limit
                else CarriedWindow(self, x, step) if step else CarriedBuffer(self, x)
                for x, step in zip(init, shifted_carries(body, first, len(init)), strict=True)]

    def advance(self, states: Sequence[CarriedArray], news: Sequence[LoweredArray], others: Sequence[Item]) -> list[Carry]:
        """Ends an iteration with the new values of the state, and stores its other results; returns the carries."""
        assigned: list[Item] = []
        carries = [c for state, new in zip(states, news, strict=True) for c in state.advance(new, assigned)]
        self.buffers.assign(assigned, others, "carried or stacked by a loop")
        return carries + [c for state in states for c in state.finish()]

    def in_registers(self, x: LoweredArray) -> list:
        """The elements of a small array as scalars, evaluated here."""
        if x.registers is None:
            return [self.ir.let(self.reads.read(x, *i)) for i in np.ndindex(*x.shape)]
        return [self.ir.let(v) for v in x.registers.elems]

    def take_over(self, x: LoweredArray) -> Storage | None:
        """The memory of x, for loop state that begins as x; None if it is no whole buffer, or another array needs its old
        elements."""
        if owned_buffer(x) is None or not self.liveness.may_overwrite(x):
            return None
        self.rings.updates.store_readers(x)
        return x.storage

    def copy_of(self, x: LoweredArray) -> Storage:
        """Other memory with the elements of x."""
        storage = self.ir.allocation.temporary(x.aval)
        self.copy(x, storage, "first value of an array that a loop carries")
        return storage
