"""Native loops and branches: how while, scan, cond and calls become statements.

Small state lives in registers (SSA values that the loop carries). Large state lives in a buffer: an update in place
leaves it there; any other new value is written to the second half of the buffer, and a carried parity says which half
is current. So nothing is copied per iteration beyond what the body computes.
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from numjet.core.aval import ShapedArray
from numjet.core.ir import ClosedJaxpr
from numjet.cpu.builder import SMALL
from numjet.cpu.frames import LONG
from numjet.cpu.index import Index
from numjet.cpu.lanewise import Lanewise
from numjet.cpu.loop_ir import INT64, Carry, Expr, For, If, Stmt, Switch, While
from numjet.cpu.reductions import words
from numjet.cpu.values import Arr, Storage, parts_dtype


class SmallState:
    """A carried array in registers."""

    def __init__(self, b: Control, init: Arr):
        self.b, self.aval = b, init.aval
        self.inits = list(b.in_registers(init))
        self.vars = [b._variable(self.aval.dtype) for _ in self.inits]
        self.outs = [b._variable(self.aval.dtype) for _ in self.inits]

    def current(self, block: list[Stmt]) -> Arr:
        return Arr(self.aval, elems=list(self.vars), block=block)

    def advance(self, new: Arr) -> list[Carry]:
        values = self.b.in_registers(new)
        return [Carry(v.expr, i.expr, n.expr, o.expr) for parts in zip(self.vars, self.inits, values, self.outs, strict=True)
                for v, i, n, o in zip(*map(words, parts), strict=True)]

    def result(self, block: list[Stmt]) -> Arr:
        return Arr(self.aval, elems=list(self.outs), block=block)


class LargeState:
    """A carried array in memory: one half of a buffer, chosen by a carried parity."""

    def __init__(self, b: Control, init: Arr):
        self.b, self.aval = b, init.aval
        self.words = self.aval.size * (2 if parts_dtype(self.aval.dtype) is not None else 1)
        self.buffer = b.buffer(self.aval.dtype, self.aval.size, hint="state")
        b._copy_into(init, Storage(self.buffer, b.terms.index(0), True), "first value of an array that a loop carries")
        self.parity, self.out = b.table.var(INT64, "half"), b.table.var(INT64, "half")
        self.here = self._half(b.terms.variable(self.parity, (0, 1)))
        self.flips = False
        self.there: Storage | None = None

    def _half(self, parity: Index) -> Storage:
        return Storage(self.buffer, parity * self.words, True)

    def current(self, block: list[Stmt]) -> Arr:
        return Arr(self.aval, storage=self.here)

    def stays(self, new: Arr) -> bool:
        """Whether the new value already is where the current one is."""
        return (new.storage is not None and new.storage.buffer is self.buffer
                and new.storage.base.expr is self.here.base.expr)

    def moved(self, new: Arr) -> bool:
        """Whether the new value is in the other half already."""
        return new.storage is not None and new.storage is self.there

    def target(self) -> Storage:
        """Where a new value goes that is not computed in place."""
        self.flips = True
        self.buffer.size = 2 * self.words
        self.there = self._half(self.b.terms.index(self.parity) * -1 + 1)
        return self.there

    def advance(self) -> Carry:
        parity = self.b.terms.index(self.parity)
        following = (parity * -1 + 1).expr if self.flips else parity.expr
        return Carry(self.parity, self.b.table.index(0), following, self.out)

    def result(self, block: list[Stmt]) -> Arr:
        return Arr(self.aval, storage=self._half(self.b.terms.variable(self.out, (0, 1))))


class Control(Lanewise):
    """Adds control flow to the builder."""

    def inline(self, jaxpr: ClosedJaxpr, args: Sequence[Arr]) -> list[Arr]:
        """The results of a program, lowered in place."""
        with self.consumed():
            return self.run(jaxpr, args)

    def in_registers(self, x: Arr) -> list[Any]:
        """The elements of a small array as scalars, pinned."""
        if x.elems is None:
            return [self.let(self.read(x, *i)) for i in np.ndindex(*x.shape)]
        return [self.let(v) for v in x.elems]

    def _states(self, init: Sequence[Arr]) -> list[Any]:
        return [SmallState(self, x) if x.size <= SMALL else LargeState(self, x) for x in init]

    def _invariant(self, arrays: Sequence[Arr]) -> list[Arr]:
        """Operands that a loop reads in every iteration: definitions that cost something are stored before."""
        return [self.materialize(x, "a loop or branch reads it") if x.lazy and (x.cost > 0 or x.size <= SMALL) else x
                for x in arrays]

    def _reads_once(self, x: Arr) -> bool:
        """Whether slices of x need not be stored: elements that a step reads are computed there, each in one step only."""
        return not x.lazy or x.cost == 0 and x.size > SMALL or x.pointwise and x.cost <= LONG

    # ------------------------------------------------------------------------------------------ loops
    def while_loop(self, cond: ClosedJaxpr, cond_consts: Sequence[Arr], body: ClosedJaxpr, body_consts: Sequence[Arr],
                   init: Sequence[Arr]) -> list[Arr]:
        cond_consts, body_consts = self._invariant(cond_consts), self._invariant(body_consts)
        found = self.while_by_lanes(cond, body, body_consts, init) if not cond_consts else None
        if found is not None:
            return found
        states = self._states(init)
        cond_block: list[Stmt] = []
        with self.consumed(pinned=(*cond_consts, *body_consts)):
            with self.inside(cond_block):
                (ok,) = self.run(cond, [*cond_consts, *[s.current(cond_block) for s in states]], barrier=True)
                test = self.let(self.read(ok)).expr
            body_block: list[Stmt] = []
            with self.inside(body_block):
                news = self.run(body, [*body_consts, *[s.current(body_block) for s in states]], barrier=True,
                                homes=_homes(states))
                carries = self._advance(states, news, [])
        if self.recorder is not None:
            self.recorder.loop(test, None)
        self.emit(While(carries, cond_block, test, body_block))
        return [s.result(self.block) for s in states]

    def scan(self, jaxpr: ClosedJaxpr, consts: Sequence[Arr], init: Sequence[Arr], xs: Sequence[Arr], length: int,
             reverse: bool) -> list[Arr]:
        y_avals = jaxpr.out_avals[len(init):]
        if length == 0:
            return [*init, *[self.empty((0, *a.shape), a.dtype) for a in y_avals]]
        consts, xs = self._invariant(consts), [x if self._reads_once(x) else self.materialize(x) for x in xs]
        found = self.scan_by_lanes(jaxpr, consts, init, xs, length, reverse)
        if found is not None:
            return found
        states = self._states(init)
        stacks = [self.temporary(a.update(shape=(length, *a.shape))) for a in y_avals]
        var = self.table.var(INT64, "step")
        step = self.terms.variable(var, (0, length - 1))
        place = step * -1 + (length - 1) if reverse else step
        block: list[Stmt] = []
        with self.consumed(pinned=(*consts, *xs)), self.inside(block):
            slices = [self._slice(x, place) for x in xs]
            outs = self.run(jaxpr, [*consts, *[s.current(block) for s in states], *slices], barrier=True, homes=_homes(states))
            ys = [(y, _at(stack, place, a)) for y, stack, a in zip(outs[len(init):], stacks, y_avals, strict=True)]
            carries = self._advance(states, outs[:len(init)], ys)
        if self.recorder is not None:
            self.recorder.loop(var, length)
        self.emit(For(var, self.table.index(0), self.table.index(length), block, carries, "serial"))
        ys_out = [Arr(a.update(shape=(length, *a.shape)), storage=s) for a, s in zip(y_avals, stacks, strict=True)]
        return [*[s.result(self.block) for s in states], *ys_out]

    def _slice(self, x: Arr, place: Index) -> Arr:
        """x[place], sharing the memory of x."""
        aval = x.aval.update(shape=x.shape[1:])
        if x.storage is not None:
            return Arr(aval, storage=_at(x.storage, place, aval))
        flat = (lambda k: self.read_flat(x, place * aval.size + k)) if x.flat is not None else None
        return Arr(aval, lambda *i: self.read(x, place, *i), flat=flat, cost=x.cost, parents=(x,))

    def _advance(self, states: Sequence[Any], news: Sequence[Arr], ys: Sequence[tuple[Arr, Storage]]) -> list[Carry]:
        """Stores the new values of large states and the results of this iteration; the carries of all states."""
        carries: list[Carry] = []
        for s, new in zip(states, news, strict=True):
            if isinstance(s, SmallState):
                carries += s.advance(new)
        items = list(ys)
        for s, new in zip(states, news, strict=True):
            if isinstance(s, LargeState):
                if not s.stays(new) and not s.moved(new):
                    items.append((new, s.target()))
                carries.append(s.advance())
        self.put_all(items, "carried or stacked by a loop")
        return carries

    # ------------------------------------------------------------------------------------------ branches
    def cond(self, index: Arr, branches: Sequence[ClosedJaxpr], operands: Sequence[Arr]) -> list[Arr]:
        clamped = self._clamped(self.read(index), len(branches))
        if clamped.expr.op == "const":
            return self.inline(branches[int(clamped.expr.attr)], operands)
        operands = self._invariant(operands)
        choice = self.terms.index(self.let(clamped))
        avals = branches[0].out_avals
        targets = [None if a.size <= SMALL else self.temporary(a) for a in avals]
        blocks: list[list[Stmt]] = []
        values: list[list[list[Any]]] = []
        for branch in branches:
            block: list[Stmt] = []
            with self.consumed(), self.inside(block):
                outs = self.run(branch, [self.wrapped(x) for x in operands], barrier=True)
                values.append([[] if t is not None else self.in_registers(o) for o, t in zip(outs, targets, strict=True)])
                self.put_all([(o, t) for o, t in zip(outs, targets, strict=True) if t is not None], "result of a branch")
            blocks.append(block)
        return self._branch(choice, blocks, values, avals, targets)

    def _clamped(self, index: Any, count: int) -> Any:
        wide = self.convert(index, INT64)
        return self.prim("min", self.prim("max", wide, self.const(0, INT64)), self.const(count - 1, INT64))

    def _branch(self, choice: Index, blocks: list[list[Stmt]], values: list[list[list[Any]]], avals: Sequence[ShapedArray],
                targets: Sequence[Storage | None]) -> list[Arr]:
        results: list[tuple[Expr, tuple[Expr, ...]]] = []
        outs: list[Arr] = []
        for k, (aval, target) in enumerate(zip(avals, targets, strict=True)):
            if target is not None:
                outs.append(Arr(aval, storage=target))
                continue
            elems = [self._variable(aval.dtype) for _ in range(aval.size)]
            for n, elem in enumerate(elems):
                choices = [words(v[k][n]) for v in values]
                results += [(w.expr, tuple(c[p].expr for c in choices)) for p, w in enumerate(words(elem))]
            outs.append(Arr(aval, elems=elems, block=self.block))
        if len(blocks) == 2:
            test = self.compare("ne", self.scalar(choice), self.const(0, INT64)).expr
            self.emit(If(test, blocks[1], blocks[0], [(v, c[1], c[0]) for v, c in results]))
        else:
            self.emit(Switch(choice.expr, blocks, results))
        return outs


def _homes(states: Sequence[Any]) -> list[Any]:
    """Where the next values of large states go."""
    return [s.target if isinstance(s, LargeState) else None for s in states]


def _at(storage: Storage, place: Any, aval: ShapedArray) -> Storage:
    """The storage of one element of a stack."""
    width = aval.size * (2 if parts_dtype(aval.dtype) is not None else 1)
    return Storage(storage.buffer, storage.base + place * width, False)


