"""Native loops and branches: how while, scan, cond and calls become statements.

Small state lives in registers (SSA values that the loop carries). Large state lives in a buffer, if possible that of its
first value: an update in place leaves it there; any other new value is stored where `settling` says. So nothing is copied
per iteration beyond what the body computes, and nothing where an inner loop begins and ends.
"""
from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from numjet.core.aval import ShapedArray
from numjet.core.ir import ClosedJaxpr
from numjet.cpu.ir.nodes import INT64, Buffer, Carry, Expr, For, If, Stmt, Switch, While
from numjet.cpu.lowering.carry_buffers import whole, words_of
from numjet.cpu.lowering.context import LONG
from numjet.cpu.lowering.index import Index
from numjet.cpu.lowering.reductions import words
from numjet.cpu.lowering.ring_buffers import Sliding, Window, sliding
from numjet.cpu.lowering.scalarization import most_elements
from numjet.cpu.lowering.values import LoweredArray, Storage

Place = tuple[Storage | None, bool]   # where branches leave a result, and whether all of them had it there


class SmallState:
    """A carried array in registers."""

    def __init__(self, b: Control, init: LoweredArray):
        self.b, self.aval = b, init.aval
        self.inits = list(b.in_registers(init))
        self.vars = [b._variable(self.aval.dtype) for _ in self.inits]
        self.outs = [b._variable(self.aval.dtype) for _ in self.inits]

    def current(self, block: list[Stmt]) -> LoweredArray:
        return LoweredArray(self.aval, elems=list(self.vars), block=block)

    shown = current

    def fixed(self) -> list[Stmt]:
        """Nothing that it needs comes before the loop."""
        return []

    def advance(self, new: LoweredArray) -> list[Carry]:
        values = self.b.in_registers(new)
        return [Carry(v.expr, i.expr, n.expr, o.expr) for parts in zip(self.vars, self.inits, values, self.outs, strict=True)
                for v, i, n, o in zip(*map(words, parts), strict=True)]

    def result(self, block: list[Stmt]) -> LoweredArray:
        return LoweredArray(self.aval, elems=list(self.outs), block=block)


class LargeState:
    """A carried array in memory: that of its first value, where nobody else wants that any more, else a copy."""

    def __init__(self, b: Control, init: LoweredArray):
        self.aval = init.aval
        self.place = b.taken_over(init) or self._filled(b, init)

    def _filled(self, b: Control, init: LoweredArray) -> Storage:
        """Memory that holds the first value."""
        storage = b.temporary(self.aval)
        b._copy_into(init, storage, "first value of an array that a loop carries")
        return storage

    def current(self, block: list[Stmt]) -> LoweredArray:
        return LoweredArray(self.aval, storage=self.place)

    def shown(self, block: list[Stmt]) -> LoweredArray:
        """The same for what may only read it, as a loop's condition."""
        return LoweredArray(self.aval, storage=Storage(self.place.buffer, self.place.base, False))

    result = current


class Control(Sliding):
    """Adds control flow to the builder."""

    def inline(self, jaxpr: ClosedJaxpr, args: Sequence[LoweredArray]) -> list[LoweredArray]:
        """The results of a program, lowered in place."""
        with self.consumed():
            return self.run(jaxpr, args)

    def in_registers(self, x: LoweredArray) -> list[Any]:
        """The elements of a small array as scalars, pinned."""
        if x.elems is None:
            return [self.let(self.read(x, *i)) for i in np.ndindex(*x.shape)]
        return [self.let(v) for v in x.elems]

    def _states(self, init: Sequence[LoweredArray], body: ClosedJaxpr, first: int) -> list[Any]:
        """How each array is carried whose place among the inputs of the body is `first` or later."""
        steps = sliding(body.jaxpr, first, len(init))
        return [SmallState(self, x) if x.size <= self.limit else Window(self, x, step) if step else LargeState(self, x)
                for x, step in zip(init, steps, strict=True)]

    def taken_over(self, x: LoweredArray) -> Storage | None:
        """The memory of x, for loop state that begins as x; None if it is no whole buffer, or somebody else wants what is
        there."""
        if whole(x) is None or not self._may_overwrite(x):
            return None
        self._detach(x)
        return x.storage

    def _invariant(self, arrays: Sequence[LoweredArray]) -> list[LoweredArray]:
        """Operands that a loop reads in every iteration: definitions that cost something are stored before."""
        return [self.materialize(x, "a loop or branch reads it") if x.lazy and (x.cost > 0 or x.size <= self.limit) else x
                for x in arrays]

    def _reads_once(self, x: LoweredArray) -> bool:
        """Whether slices of x need not be stored: elements that a step reads are computed there, each in one step only."""
        return not x.lazy or x.cost == 0 and x.size > self.limit or x.pointwise and x.cost <= LONG

    @contextmanager
    def _registers_for(self, *bodies: ClosedJaxpr) -> Iterator[None]:
        """While a loop with these programs is lowered, the size of arrays in registers is what suits it."""
        before = self.limit
        self.limit = min(before, most_elements(*bodies))
        try:
            yield
        finally:
            self.limit = before

    # ------------------------------------------------------------------------------------------ loops
    def while_loop(self, cond: ClosedJaxpr, cond_consts: Sequence[LoweredArray], body: ClosedJaxpr,
                   body_consts: Sequence[LoweredArray],
                   init: Sequence[LoweredArray]) -> list[LoweredArray]:
        with self._registers_for(cond, body):
            return self._while_loop(cond, cond_consts, body, body_consts, init)

    def _while_loop(self, cond: ClosedJaxpr, cond_consts: Sequence[LoweredArray], body: ClosedJaxpr,
                    body_consts: Sequence[LoweredArray],
                    init: Sequence[LoweredArray]) -> list[LoweredArray]:
        cond_consts, body_consts = self._invariant(cond_consts), self._invariant(body_consts)
        found = self.while_by_lanes(cond, body, body_consts, init) if not cond_consts else None
        if found is not None:
            return found
        states = self._states(init, body, len(body_consts))
        cond_block: list[Stmt] = []
        with self.consumed(pinned=(*cond_consts, *body_consts)):
            with self.inside(cond_block):
                (ok,) = self.run(cond, [*cond_consts, *[s.shown(cond_block) for s in states]], barrier=True)
                test = self.let(self.read(ok)).expr
            body_block: list[Stmt] = []
            with self.inside(body_block):
                news = self.run(body, [*body_consts, *[s.current(body_block) for s in states]], barrier=True)
                carries = self._advance(states, news, [])
        if self.recorder is not None:
            self.recorder.loop(test, None)
        self.emit(While(carries, cond_block, test, body_block))
        return [s.result(self.block) for s in states]

    def scan(self, jaxpr: ClosedJaxpr, consts: Sequence[LoweredArray], init: Sequence[LoweredArray],
             xs: Sequence[LoweredArray], length: int,
             reverse: bool) -> list[LoweredArray]:
        y_avals = jaxpr.out_avals[len(init):]
        if length == 0:
            return [*init, *[self.empty((0, *a.shape), a.dtype) for a in y_avals]]
        with self._registers_for(jaxpr):
            return self._scan(jaxpr, consts, init, xs, length, reverse)

    def _scan(self, jaxpr: ClosedJaxpr, consts: Sequence[LoweredArray], init: Sequence[LoweredArray],
              xs: Sequence[LoweredArray], length: int,
              reverse: bool) -> list[LoweredArray]:
        y_avals = jaxpr.out_avals[len(init):]
        consts, xs = self._invariant(consts), [x if self._reads_once(x) else self.materialize(x) for x in xs]
        found = self.scan_by_lanes(jaxpr, consts, init, xs, length, reverse)
        if found is not None:
            return found
        states = self._states(init, jaxpr, len(consts))
        stacks = [self.temporary(a.update(shape=(length, *a.shape))) for a in y_avals]
        var = self.table.var(INT64, "step")
        step = self.terms.variable(var, (0, length - 1))
        place = step * -1 + (length - 1) if reverse else step
        block: list[Stmt] = []
        with self.consumed(pinned=(*consts, *xs)), self.inside(block):
            slices = [self._slice(x, place) for x in xs]
            outs = self.run(jaxpr, [*consts, *[s.current(block) for s in states], *slices], barrier=True)
            ys = [(y, _at(stack, place, a)) for y, stack, a in zip(outs[len(init):], stacks, y_avals, strict=True)]
            carries = self._advance(states, outs[:len(init)], ys)
        if self.recorder is not None:
            self.recorder.loop(var, length)
        self.emit(For(var, self.table.index(0), self.table.index(length), block, carries, "serial"))
        ys_out = [LoweredArray(a.update(shape=(length, *a.shape)), storage=s) for a, s in zip(y_avals, stacks, strict=True)]
        return [*[s.result(self.block) for s in states], *ys_out]

    def _slice(self, x: LoweredArray, place: Index) -> LoweredArray:
        """x[place], sharing the memory of x."""
        aval = x.aval.update(shape=x.shape[1:])
        if x.storage is not None:
            return LoweredArray(aval, storage=_at(x.storage, place, aval))
        flat = (lambda k: self.read_flat(x, place * aval.size + k)) if x.flat is not None else None
        return LoweredArray(aval, lambda *i: self.read(x, place, *i), flat=flat, cost=x.cost, parents=(x,))

    def _advance(self, states: Sequence[Any], news: Sequence[LoweredArray], ys: Sequence[tuple[LoweredArray,
                                                                                               Storage]]) -> list[Carry]:
        """Stores the new values of large states and the results of this iteration; the carries of small states."""
        carries = [c for s, new in zip(states, news, strict=True) if isinstance(s, SmallState) for c in s.advance(new)]
        windows = [(s, new, s.kept(new)) for s, new in zip(states, news, strict=True) if isinstance(s, Window)]
        large = [(s.place, new) for s, new in zip(states, news, strict=True) if isinstance(s, LargeState)]
        self.settle([place for place, _ in large], [new for _, new in large], ys, "carried or stacked by a loop")
        return carries + [s.advance(new, held) for s, new, held in windows]

    # ------------------------------------------------------------------------------------------ branches
    def cond(self, index: LoweredArray, branches: Sequence[ClosedJaxpr],
             operands: Sequence[LoweredArray]) -> list[LoweredArray]:
        clamped = self._clamped(self.read(index), len(branches))
        if clamped.expr.op == "const":
            return self.inline(branches[int(clamped.expr.attr)], operands)
        operands = self._invariant(operands)
        choice = self.terms.index(self.let(clamped))
        avals = branches[0].out_avals
        blocks: list[list[Stmt]] = []
        outs: list[list[LoweredArray]] = []
        spare, first = self.spare, len(self.made)
        left: list[tuple[list[Buffer], int]] = []
        for branch in branches:
            blocks.append([])
            self.spare = [*spare, *self.made[first:]]  # that of other branches, too
            with self.consumed(), self.inside(blocks[-1]):
                outs.append(self.run(branch, [self.wrapped(x) for x in operands], barrier=True))
            left.append((self.spare, len(self.made)))
        self.spare = [b for b in spare if all(b in one for one, _ in left)]
        with self.consumed(), self.inside(blocks[-1]):
            places = self._places(list(zip(*outs, strict=True)), operands)
        values, unwanted = [], []
        for block, results, (one, later) in zip(blocks, outs, left, strict=True):
            self.spare = _without([*one, *self.made[later:]], places)
            values.append(self._end_of_branch(block, results, places))
            unwanted += self.spare
        self.spare = _without(unwanted, places)
        return self._branch(choice, blocks, outs, values, avals, [place for place, _ in places])

    def _end_of_branch(self, block: list[Stmt], results: Sequence[LoweredArray],
                       places: Sequence[Place]) -> list[list[Any]]:
        """Leaves results where all branches do; the elements of small ones."""
        moving = [(place, x) for x, (place, kept) in zip(results, places, strict=True) if place is not None and not kept]
        with self.consumed(), self.inside(block):
            values = [self.in_registers(x) if place is None else [] for x, (place, _) in zip(results, places, strict=True)]
            self.settle([place for place, _ in moving], [x for _, x in moving], [], "result of a branch",
                        [place.buffer for place, kept in places if place is not None and kept])
        return values

    def _places(self, results: Sequence[Sequence[LoweredArray]], operands: Sequence[LoweredArray]) -> list[Place]:
        """Where branches leave each of their results, and whether it is there already. Small ones have no place."""
        kept = [self._kept(ends, operands) if ends[0].size > self.limit else None for ends in results]
        taken = {storage.buffer for storage in kept if storage is not None}
        places: list[Place] = []
        for ends, storage in zip(results, kept, strict=True):
            place = storage
            if place is None and ends[0].size > self.limit:
                found = next((x.storage for x in ends if whole(x) is not None and x.storage.buffer not in taken
                              and self.unwanted(x.storage.buffer)), None)
                place = self._of_window(ends) or found or self.temporary(ends[0].aval)
                taken.add(place.buffer)
            places.append((place, storage is not None or place is not None and place.buffer in self.windows))
        return places

    def _of_window(self, ends: Sequence[LoweredArray]) -> Storage | None:
        """Where a window begins that branches leave at different places of its memory."""
        found = [self.window_of(x) for x in ends]
        first = found[0]
        if first is None or not all(w is not None and w.owned and w.buffer is first.buffer for w in found):
            return None
        at = self.terms.variable(self.table.var(INT64, "at"), (0, first.buffer.size - words_of(ends[0].aval)))
        return Storage(first.buffer, at, True)

    def _kept(self, results: Sequence[LoweredArray], operands: Sequence[LoweredArray]) -> Storage | None:
        """The memory of an operand in which all branches leave their result, as it was or updated in place."""
        found = results[0].storage
        if found is None or not all(found.same(r.storage) for r in results):
            return None
        return next((x.storage for x in operands if found.same(x.storage)), None)

    def _clamped(self, index: Any, count: int) -> Any:
        wide = self.convert(index, INT64)
        return self.prim("min", self.prim("max", wide, self.const(0, INT64)), self.const(count - 1, INT64))

    def _branch(self, choice: Index, blocks: list[list[Stmt]], ends: Sequence[Sequence[LoweredArray]],
                values: list[list[list[Any]]], avals: Sequence[ShapedArray],
                places: Sequence[Storage | None]) -> list[LoweredArray]:
        results: list[tuple[Expr, tuple[Expr, ...]]] = []
        outs: list[LoweredArray] = []
        for k, (aval, place) in enumerate(zip(avals, places, strict=True)):
            if place is not None:
                if place.buffer in self.windows and not place.same(ends[0][k].storage):
                    results.append((place.base.expr, tuple(end[k].storage.base.expr for end in ends)))
                outs.append(LoweredArray(aval, storage=place))
                continue
            elems = [self._variable(aval.dtype) for _ in range(aval.size)]
            for n, elem in enumerate(elems):
                choices = [words(v[k][n]) for v in values]
                results += [(w.expr, tuple(c[p].expr for c in choices)) for p, w in enumerate(words(elem))]
            outs.append(LoweredArray(aval, elems=elems, block=self.block))
        if len(blocks) == 2:
            test = self.compare("ne", self.scalar(choice), self.const(0, INT64)).expr
            self.emit(If(test, blocks[1], blocks[0], [(v, c[1], c[0]) for v, c in results]))
        else:
            self.emit(Switch(choice.expr, blocks, results))
        return outs


def _without(spare: Sequence[Buffer], places: Sequence[Place]) -> list[Buffer]:
    """Memory that nobody wants, each once, without that where branches leave results."""
    used = {place.buffer for place, _ in places if place is not None}
    return [b for b in dict.fromkeys(spare) if b not in used]


def _at(storage: Storage, place: Any, aval: ShapedArray) -> Storage:
    """The storage of one element of a stack."""
    return Storage(storage.buffer, storage.base + place * words_of(aval), False)


