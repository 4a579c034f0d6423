"""Native loops: while and scan become statements, whose bodies are lowered in place.

Small state is carried in registers. Large state stays in a buffer, if possible that of its first value: an update in place
leaves it there, any other new value goes where the assignment of carry buffers says. So an iteration copies nothing beyond
what the body computes, and neither does the beginning or end of an inner loop.
"""
from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np

from numjet.core.aval import ShapedArray
from numjet.core.ir import ClosedJaxpr, JaxprEqn, Literal, Var
from numjet.core.nan_checks import STEPS_BACK
from numjet.cpu.ir.nodes import INT64, For, Stmt, While
from numjet.cpu.lowering.arrays.scalarization import most_elements
from numjet.cpu.lowering.arrays.values import Deferred, LoweredArray, Storage, words_of
from numjet.cpu.lowering.batch_vectorization import BatchVectorization
from numjet.cpu.lowering.early_stores import LONG
from numjet.cpu.lowering.index import Index, Scalar
from numjet.cpu.lowering.loops.checked_loops import CheckedLoop
from numjet.cpu.lowering.loops.loop_state import LoopStates
from numjet.cpu.lowering.walk import JaxprWalk


class Loops:
    """Lowers loops."""

    def __init__(self, walk: JaxprWalk, states: LoopStates, lanes: BatchVectorization):
        self.walk, self.states, self.lanes = walk, states, lanes
        self.ir, self.liveness, self.reads, self.materialization = walk.ir, walk.liveness, walk.reads, lanes.materialization

    def while_loop(self, cond: ClosedJaxpr, cond_consts: Sequence[LoweredArray], body: ClosedJaxpr,
                   body_consts: Sequence[LoweredArray], init: Sequence[LoweredArray]) -> list[LoweredArray]:
        """Runs body while cond holds: state -> state."""
        with self._register_limit(cond, body):
            cond_consts, body_consts = self.invariant(cond_consts), self.invariant(body_consts)
            apart = cond_consts or self.walk.nans is not None  # lanes have no iterations in common that a record could name
            found = self.lanes.while_loop(cond, body, body_consts, init) if not apart else None
            return found or self._while_loop(cond, cond_consts, body, body_consts, init)

    def _while_loop(self, cond: ClosedJaxpr, cond_consts: Sequence[LoweredArray], body: ClosedJaxpr,
                    body_consts: Sequence[LoweredArray], init: Sequence[LoweredArray]) -> list[LoweredArray]:
        ir = self.ir
        states = self.states.choose(init, body.jaxpr, len(body_consts))
        cond_block: list[Stmt] = []
        body_block: list[Stmt] = []
        debug = body.jaxpr.debug
        checked = CheckedLoop(self.walk.nans, ir, None, debug is not None and debug.name == STEPS_BACK)
        with self.liveness.operands_consumed(pinned=(*cond_consts, *body_consts)):
            with ir.inside(cond_block), self._unchecked():
                (ok,) = self.walk.run(cond, [*cond_consts, *[s.read_only(cond_block) for s in states]], barrier=True)
                test = ir.let(self.reads.read(ok)).expr
            with ir.inside(body_block), checked.body(checked.counter):
                state = checked.carried([s.current(body_block) for s in states], init)
                news = self.walk.run(body, [*body_consts, *state], barrier=True)
                checked.end(news)
                carries = [*self.states.advance(states, news, []), *checked.count()]
        if ir.recorder is not None:
            ir.recorder.loop(test, None)
        ir.emit(While(carries, cond_block, test, body_block))
        return [s.result(ir.block) for s in states]

    def scan(self, jaxpr: ClosedJaxpr, consts: Sequence[LoweredArray], init: Sequence[LoweredArray],
             xs: Sequence[LoweredArray], length: int, reverse: bool) -> list[LoweredArray]:
        """jaxpr(*consts, *carry, *x) -> (*carry, *y); results: carries, then stacked ys."""
        if length == 0:
            return [*init, *[self.walk.arrays.empty((0, *a.shape), a.dtype) for a in jaxpr.out_avals[len(init):]]]
        with self._register_limit(jaxpr):
            consts = self.invariant(consts)
            xs = [x if self._is_read_in_place(x) else self.materialization.materialize(x) for x in xs]
            found = self.lanes.scan(jaxpr, consts, init, xs, length, reverse) if self.walk.nans is None else None
            return found or self._scan(jaxpr, consts, init, xs, length, reverse)

    def _scan(self, jaxpr: ClosedJaxpr, consts: Sequence[LoweredArray], init: Sequence[LoweredArray],
              xs: Sequence[LoweredArray], length: int, reverse: bool) -> list[LoweredArray]:
        ir = self.ir
        y_avals = jaxpr.out_avals[len(init):]
        states = self.states.choose(init, jaxpr.jaxpr, len(consts))
        stacks = [a.update(shape=(length, *a.shape)) for a in y_avals]
        storages = [ir.allocation.temporary(a) for a in stacks]
        var = ir.table.var(INT64, "step")
        step = ir.terms.variable(var, (0, length - 1))
        row = step * -1 + (length - 1) if reverse else step
        block: list[Stmt] = []
        checked = CheckedLoop(self.walk.nans, ir, length, reverse)
        with self.liveness.operands_consumed(pinned=(*consts, *xs)), ir.inside(block), checked.body(Scalar(ir.terms, var)):
            slices = checked.rows([self._row(x, row) for x in xs], xs)
            state = checked.carried([s.current(block) for s in states], init)
            self._know_counters(jaxpr, state, init, len(consts), step)
            outs = self.walk.run(jaxpr, [*consts, *state, *slices], barrier=True)
            checked.end(outs[:len(init)], outs[len(init):])
            ys = [(y, _row_storage(s, row, a)) for y, s, a in zip(outs[len(init):], storages, y_avals, strict=True)]
            carries = self.states.advance(states, outs[:len(init)], ys)
        if ir.recorder is not None:
            ir.recorder.loop(var, length)
        ir.emit(For(var, ir.table.index(0), ir.table.index(length), block, carries, "serial"))
        return [*[s.result(ir.block) for s in states], *[LoweredArray(a, s) for a, s in zip(stacks, storages, strict=True)]]

    def _know_counters(self, closed: ClosedJaxpr, state: Sequence[LoweredArray], init: Sequence[LoweredArray], first: int,
                       step: Index) -> None:
        """Integers to which each step adds a number, from a known one on, are the same indices as sums with the step."""
        makers = {v: e for e in closed.jaxpr.eqns for v in e.outvars}
        for carry, x, start, out in zip(closed.jaxpr.invars[first:], state, init, closed.jaxpr.outvars, strict=False):
            more = _added(carry, None if isinstance(out, Literal) else makers.get(out))
            value = None if more is None or start.shape else self.reads.read(start).expr
            if more is None or value is None or value.op != "const":
                continue
            index, info = step * more + int(value.attr), np.iinfo(x.dtype)
            if info.min <= index.bounds[0] and index.bounds[1] <= info.max:
                self.ir.terms.equal[self.reads.read(x).expr] = index

    @contextmanager
    def _unchecked(self) -> Iterator[None]:
        """Without checks for invalid values, which a condition does not pass on."""
        nans, self.walk.nans = self.walk.nans, None
        try:
            yield
        finally:
            self.walk.nans = nans

    def invariant(self, arrays: Sequence[LoweredArray], rare: bool = False) -> list[LoweredArray]:
        """Operands that a loop reads in every iteration: deferred ones that cost something are stored before it. rare: not what
        a branch reads that is hardly ever taken."""
        limit = self.ir.memory.register_limit
        return [self.materialization.materialize(x, "a loop or branch reads it")
                if x.cost > 0 and not rare or x.size <= limit else x for x in arrays]

    def _is_read_in_place(self, x: LoweredArray) -> bool:
        """Whether slices of x need not be stored: elements that a step reads are computed there, each in one step only."""
        return not x.lazy or x.cost == 0 and x.size > self.ir.memory.register_limit or x.pointwise and x.cost <= LONG

    def _row(self, x: LoweredArray, row: Index) -> LoweredArray:
        """x[row], sharing the memory of x."""
        aval = x.aval.update(shape=x.shape[1:])
        if x.storage is not None:
            return LoweredArray(aval, _row_storage(x.storage, row, aval))
        flat = (lambda k: self.reads.read_flat(x, row * aval.size + k)) if x.content.flat is not None else None
        return LoweredArray(aval, Deferred(lambda *i: self.reads.read(x, row, *i), flat=flat, parents=(x,)))

    @contextmanager
    def _register_limit(self, *bodies: ClosedJaxpr) -> Iterator[None]:
        """While a loop with these programs is lowered, arrays in registers are no larger than suits it."""
        memory = self.ir.memory
        before = memory.register_limit
        memory.register_limit = min(before, most_elements(*bodies))
        try:
            yield
        finally:
            memory.register_limit = before


def _row_storage(storage: Storage, row: Index, aval: ShapedArray) -> Storage:
    """The storage of one row of a stack."""
    return Storage(storage.buffer, storage.base + row * words_of(aval), False)


def _added(carry: Var, eqn: JaxprEqn | None) -> int | None:
    """The number that an equation adds to an integer, if it does that."""
    if eqn is None or eqn.primitive.function != "add" or carry not in eqn.invars or carry.aval.dtype.kind not in "iu":
        return None
    other = next((a for a in eqn.invars if isinstance(a, Literal)), None)
    return None if other is None else int(other.val)
