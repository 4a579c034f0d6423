"""Batch vectorization: loops over many independent systems, as vmap makes them, are turned inside out.

A scan or while whose state has common first axes, along which its body only reads the element at the same index, becomes a
loop over these axes around a scalar loop: each lane of a vector runs the whole loop in registers. That keeps the state out of
memory, and shares it among threads as a whole. Whether a body is of this kind is found out by speculation: it is lowered as if
it were, in a transaction. What needs an element of another lane, or memory, raises `NotVectorizable`; then the transaction is
rolled back, and the loop lowered the usual way.
"""
from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from math import prod
from typing import Any

from numjet.core.aval import ShapedArray
from numjet.core.ir import ClosedJaxpr, JaxprEqn, Literal, Var
from numjet.core.traits import BROADCASTS, LANES
from numjet.cpu.ir.nodes import INT64, Carry, For, Stmt, While
from numjet.cpu.lowering.arrays.allocation import NotVectorizable, RegisterAllocation
from numjet.cpu.lowering.arrays.array_updates import ArrayUpdates
from numjet.cpu.lowering.arrays.lane_arrays import CarriedLane, LaneArrays
from numjet.cpu.lowering.arrays.values import Deferred, LoweredArray, Storage
from numjet.cpu.lowering.transaction import Transaction
from numjet.cpu.lowering.walk import ArrayStrategy, JaxprWalk

FEWEST = 4          # systems from which lanes pay: half a vector register
COMFORTABLE = 48    # numbers of one system's state that registers hold, with some help of the nearest cache
STATE = 160         # numbers of one system's state from which the usual loop is faster: lanes would spill
WORK = 2000         # elements that a step computes for one system: code size

WriteLoop = Callable[[LaneArrays, Sequence[Storage]], None]   # of one lane, which leaves its results in storages


class BatchVectorization:
    """Lowers loops by lanes. parts: those whose state a failed attempt must not change."""

    def __init__(self, walk: JaxprWalk, updates: ArrayUpdates, parts: Sequence[Any]):
        self.walk, self.updates, self.parts = walk, updates, parts
        self.ir, self.liveness, self.materialization = walk.ir, walk.liveness, updates.materialization
        self.whole: ArrayStrategy = walk.arrays

    def scan(self, jaxpr: ClosedJaxpr, consts: Sequence[LoweredArray], init: Sequence[LoweredArray],
             xs: Sequence[LoweredArray], length: int, reverse: bool) -> list[LoweredArray] | None:
        """As `Loops.scan`; None where its steps don't go by lanes."""
        ir, count = self.ir, len(init)
        ys = jaxpr.out_avals[count:]

        def loop(arrays: LaneArrays, storages: Sequence[Storage]) -> None:
            states = [CarriedLane(arrays, x, s) for x, s in zip(init, storages, strict=False)]
            var = ir.table.var(INT64, "step")
            step = ir.terms.variable(var, (0, length - 1))
            row = step * -1 + (length - 1) if reverse else step
            block: list[Stmt] = []
            with ir.inside(block):
                slices = [LoweredArray(x.aval.update(shape=x.shape[1:]), Deferred(self._row(x, row), parents=(x,)))
                          for x in xs]
                outs = self.walk.run(jaxpr, [*consts, *[s.current(block) for s in states], *slices], barrier=True)
                carries = _advance(states, outs[:count])
                for y, stack in zip(outs[count:], storages[count:], strict=True):
                    arrays.write(stack, y, row * y.size)
            ir.emit(For(var, ir.table.index(0), ir.table.index(length), block, carries, "serial"))
            for state in states:
                state.result(ir.block)
        results = [*(x.aval for x in init), *(a.update(shape=(length, *a.shape)) for a in ys)]
        return self._first_success(self._lane_axes(jaxpr, init, ys, 2), loop, [*consts, *init, *xs], results)

    def while_loop(self, cond: ClosedJaxpr, body: ClosedJaxpr, consts: Sequence[LoweredArray],
                   init: Sequence[LoweredArray]) -> list[LoweredArray] | None:
        """As `Loops.while_loop`, for one that runs while any lane of a carried mask holds; None for others."""
        ir, mask = self.ir, carried_mask(cond, body, len(consts))
        if mask is None:
            return None

        def loop(arrays: LaneArrays, storages: Sequence[Storage]) -> None:
            states = [CarriedLane(arrays, x, s) for x, s in zip(init, storages, strict=True)]
            block: list[Stmt] = []
            with ir.inside(block):
                carries = _advance(states, self.walk.run(body, [*consts, *[s.current(block) for s in states]], barrier=True))
            ir.emit(While(carries, [], states[mask].inside[0].expr, block, idempotent_after_exit=True))
            for state in states:
                state.result(ir.block)
        return self._first_success(self._lane_axes(body, init, (), 1), loop, [*consts, *init], [x.aval for x in init])

    def _row(self, x: LoweredArray, row: Any) -> Callable[..., Any]:
        return lambda *i: self.walk.reads.read(x, row, *i)

    # ------------------------------------------------------------------------------------------ speculation
    def _lane_axes(self, jaxpr: ClosedJaxpr, init: Sequence[LoweredArray], ys: Sequence[ShapedArray],
                   most: int) -> list[tuple[int, ...]]:
        """The lengths of common first axes, `most` at most, that are worth an attempt: the most promising first."""
        avals = [*(x.aval for x in init), *ys]
        if self.walk.arrays is not self.whole or not init or not all(_may_run_in_lanes(e) for e in jaxpr.eqns):
            return []
        found: list[tuple[int, ...]] = []
        for k in range(1, most + 1):
            lane_shape = init[0].shape[:k]
            if len(lane_shape) < k or any(a.shape[:k] != lane_shape for a in avals):
                break
            if lane_shape[-1] < FEWEST:
                continue
            state = sum(prod(x.shape[k:]) for x in init)
            if state <= STATE and sum(prod(e.outvars[0].aval.shape[k:]) for e in jaxpr.eqns) <= WORK:
                found.append(lane_shape)
                if state <= COMFORTABLE:
                    return [lane_shape, *found[:-1]]
        return found

    def _first_success(self, choices: Sequence[tuple[int, ...]], loop: WriteLoop, reads: Sequence[LoweredArray],
                       results: Sequence[ShapedArray]) -> list[LoweredArray] | None:
        """The results of a loop over lanes along the first axes that permit one; None if none do."""
        for lane_shape in choices:
            storages = self._attempt(lane_shape, loop, reads, results)
            if storages is not None:
                return [LoweredArray(aval, storage) for aval, storage in zip(results, storages, strict=True)]
        return None

    def _attempt(self, lane_shape: tuple[int, ...], loop: WriteLoop, reads: Sequence[LoweredArray],
                 results: Sequence[ShapedArray]) -> list[Storage] | None:
        """Writes a loop over lanes, and returns where it leaves results; None, with nothing changed, if that cannot be."""
        ir = self.ir
        transaction = Transaction(ir, self.parts, reads)
        storages = [ir.allocation.temporary(aval) for aval in results]
        for x in reads:   # a lane reads its own elements from memory
            if x.registers is not None and set(x.shape[:len(lane_shape)]) & set(lane_shape):
                self.walk.reads.spill(x)
        variables = [ir.table.var(INT64, "lane") for _ in lane_shape]
        lane = tuple(ir.terms.variable(v, (0, n - 1)) for v, n in zip(variables, lane_shape, strict=True))
        block: list[Stmt] = []
        try:
            with self.liveness.operands_consumed(pinned=reads), self._in_lane(lane, lane_shape) as arrays, ir.inside(block):
                loop(arrays, storages)
        except NotVectorizable:
            transaction.rollback()
            return None
        finally:
            transaction.forget_elements()
        mode = "vector"
        for var, n in zip(reversed(variables), reversed(lane_shape), strict=True):
            block, mode = [For(var, ir.table.index(0), ir.table.index(n), block, [], mode)], "serial"
        ir.emit(block[0])
        return storages

    @contextmanager
    def _in_lane(self, lane: tuple[Any, ...], lane_shape: tuple[int, ...]) -> Iterator[LaneArrays]:
        """While one lane's code is written, arrays are those of the lane, and there is no memory."""
        arrays = LaneArrays(self.updates, lane, lane_shape)
        self.walk.arrays, self.ir.allocation = arrays, RegisterAllocation(self.ir.memory, lane_shape)
        try:
            yield arrays
        finally:
            self.walk.arrays, self.ir.allocation = self.whole, self.ir.memory


def _advance(states: Sequence[CarriedLane], news: Sequence[LoweredArray]) -> list[Carry]:
    return [c for state, new in zip(states, news, strict=True) for c in state.advance(new, [])]


def _may_run_in_lanes(eqn: JaxprEqn) -> bool:
    """Whether an equation calls no library and holds no loop."""
    op = eqn.primitive
    return not eqn.effects and (op.elementwise or LANES <= op.traits)


def carried_mask(cond: ClosedJaxpr, body: ClosedJaxpr, consts: int) -> int | None:
    """The number of the carry that masks the active lanes: the loop runs while any of its elements holds, and lanes where it
    is false do not change; None if there is none."""
    eqns, carries = cond.jaxpr.eqns, cond.jaxpr.invars
    if len(eqns) != 1 or eqns[0].primitive.reduces != "or" or eqns[0].invars[0] not in carries:
        return None
    k = carries.index(eqns[0].invars[0])
    olds, news = body.jaxpr.invars[consts:], body.jaxpr.outvars
    makers = {v: e for e in body.jaxpr.eqns for v in e.outvars}
    mask = olds[k]

    def keeps(old: Var, new: Any) -> bool:
        made = None if isinstance(new, Literal) else makers.get(new)
        if new is old:
            return True
        if made is None:
            return False
        if old is mask:
            return made.primitive.function == "and" and mask in made.invars
        chosen = made.invars[0]
        spread = makers.get(chosen) if isinstance(chosen, Var) else None
        by_mask = chosen is mask or (spread is not None and BROADCASTS <= spread.primitive.traits
                                     and spread.invars[0] is mask and spread.params["broadcast_dimensions"] == (0,))
        return made.primitive.function == "select" and by_mask and made.invars[1] is old
    return k if mask.aval.ndim == 1 and all(map(keeps, olds, news)) else None
