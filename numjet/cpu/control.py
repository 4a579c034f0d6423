"""Native loops and branches: how while, scan, cond and calls become statements.

Small state lives in registers (SSA values that the loop carries). Large state lives in a buffer, if possible that of its
first value: an update in place leaves it there; any other new value is written to the second half of the buffer, and a
carried parity says which half is current. So nothing is copied per iteration beyond what the body computes, and nothing
where an inner loop begins and ends.
"""
from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from numjet.core.aval import ShapedArray
from numjet.core.ir import ClosedJaxpr
from numjet.cpu.frames import LONG, Home
from numjet.cpu.index import Index
from numjet.cpu.lanewise import Lanewise
from numjet.cpu.loop_ir import INT64, Buffer, Carry, Expr, For, If, Let, Stmt, Switch, While
from numjet.cpu.recorder import Recorder
from numjet.cpu.reductions import words
from numjet.cpu.registers import most_elements
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

    shown = current

    def fixed(self) -> list[Stmt]:
        """Nothing that it needs comes before the loop."""
        return []

    def advance(self, new: Arr) -> list[Carry]:
        values = self.b.in_registers(new)
        return [Carry(v.expr, i.expr, n.expr, o.expr) for parts in zip(self.vars, self.inits, values, self.outs, strict=True)
                for v, i, n, o in zip(*map(words, parts), strict=True)]

    def result(self, block: list[Stmt]) -> Arr:
        return Arr(self.aval, elems=list(self.outs), block=block)


class LargeState:
    """A carried array in memory: one half of a buffer, chosen by a carried parity.

    The buffer is the one that holds the first value, where nobody else wants that any more, else a new one. It gets its
    second half when a new value is written there; as long as none is, there is no parity to carry.
    """

    def __init__(self, b: Control, init: Arr):
        self.b, self.aval = b, init.aval
        self.words = _words(self.aval)
        self.first = b.taken_over(init, self.words) or self._filled(init)
        self.buffer = self.first.buffer
        assert self.first.half is not None
        self.start = self.first.half
        self.parity, self.out = b.table.var(INT64, "half"), b.table.var(INT64, "half")
        self.here = self._half(b.terms.variable(self.parity, (0, 1)))
        self.next: Index = b.terms.index(self.parity)
        self.flips = False
        b.current[self.buffer] = self.next

    def _filled(self, init: Arr) -> Storage:
        """A new buffer that holds the first value."""
        zero = self.b.terms.index(0)
        storage = Storage(self.b.buffer(self.aval.dtype, self.aval.size, hint="state"), zero, True, zero)
        self.b._copy_into(init, storage, "first value of an array that a loop carries")
        return storage

    def _half(self, parity: Index) -> Storage:
        return _half(self.buffer, self.aval, parity)

    def current(self, block: list[Stmt]) -> Arr:
        return Arr(self.aval, storage=self.here)

    def shown(self, block: list[Stmt]) -> Arr:
        """The same for what may only read it, as a loop's condition."""
        return Arr(self.aval, storage=Storage(self.buffer, self.here.base, False))

    def holds(self, new: Arr) -> bool:
        """Whether the new value is in one of the two halves already."""
        return new.storage is not None and new.storage.buffer is self.buffer and new.storage.half is not None

    def target(self) -> Storage:
        """Where a new value goes that is not computed in place: beside the latest one, which a loop inside may have left
        in either half."""
        self.buffer.size = 2 * self.words
        return self._half(self.b.current[self.buffer] * -1 + 1)

    def goes_on(self, new: Storage) -> None:
        """`new` holds the value of the next iteration."""
        assert new.half is not None
        self.next = new.half
        self.flips = self.next.expr is not self.parity

    def advance(self) -> list[Carry]:
        return [Carry(self.parity, self.start.expr, self.next.expr, self.out)] if self.flips else []

    def fixed(self) -> list[Stmt]:
        """What comes before the loop: the parity, if it never changes."""
        return [] if self.flips else [Let(self.parity, self.start.expr)]

    def result(self, block: list[Stmt]) -> Arr:
        storage = self._half(self.b.terms.variable(self.out, (0, 1))) if self.flips else self.first
        assert storage.half is not None
        self.b.current[self.buffer] = storage.half
        return Arr(self.aval, storage=storage)


class Control(Lanewise):
    """Adds control flow to the builder.

    current: of buffers with loop state, the half with the latest value.
    """

    def __init__(self, name: str, notes: bool = True, recorder: Recorder | None = None):
        super().__init__(name, notes, recorder)
        self.current: dict[Buffer, Index] = {}

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
        return [SmallState(self, x) if x.size <= self.limit else LargeState(self, x) for x in init]

    def taken_over(self, x: Arr, words: int) -> Storage | None:
        """The memory of x, for loop state of so many words that begins as x; None if it is no whole buffer or half of one, or
        somebody else wants what is there."""
        found = x.storage
        if found is None or not self._may_overwrite(x):
            return None
        if found.half is None:
            if found.base.terms or found.base.const or found.buffer.size != words:
                return None
            found = Storage(found.buffer, found.base, True, found.base)
        self._detach(x)
        return found

    def _invariant(self, arrays: Sequence[Arr]) -> list[Arr]:
        """Operands that a loop reads in every iteration: definitions that cost something are stored before."""
        return [self.materialize(x, "a loop or branch reads it") if x.lazy and (x.cost > 0 or x.size <= self.limit) else x
                for x in arrays]

    def _reads_once(self, x: Arr) -> bool:
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
    def while_loop(self, cond: ClosedJaxpr, cond_consts: Sequence[Arr], body: ClosedJaxpr, body_consts: Sequence[Arr],
                   init: Sequence[Arr]) -> list[Arr]:
        with self._registers_for(cond, body):
            return self._while_loop(cond, cond_consts, body, body_consts, init)

    def _while_loop(self, cond: ClosedJaxpr, cond_consts: Sequence[Arr], body: ClosedJaxpr, body_consts: Sequence[Arr],
                    init: Sequence[Arr]) -> list[Arr]:
        cond_consts, body_consts = self._invariant(cond_consts), self._invariant(body_consts)
        found = self.while_by_lanes(cond, body, body_consts, init) if not cond_consts else None
        if found is not None:
            return found
        states = self._states(init)
        cond_block: list[Stmt] = []
        with self.consumed(pinned=(*cond_consts, *body_consts)):
            with self.inside(cond_block):
                (ok,) = self.run(cond, [*cond_consts, *[s.shown(cond_block) for s in states]], barrier=True)
                test = self.let(self.read(ok)).expr
            body_block: list[Stmt] = []
            with self.inside(body_block):
                news = self.run(body, [*body_consts, *[s.current(body_block) for s in states]], barrier=True,
                                homes=_homes(states))
                carries = self._advance(states, news, [])
        if self.recorder is not None:
            self.recorder.loop(test, None)
        self._emit_loop(While(carries, cond_block, test, body_block), states)
        return [s.result(self.block) for s in states]

    def scan(self, jaxpr: ClosedJaxpr, consts: Sequence[Arr], init: Sequence[Arr], xs: Sequence[Arr], length: int,
             reverse: bool) -> list[Arr]:
        y_avals = jaxpr.out_avals[len(init):]
        if length == 0:
            return [*init, *[self.empty((0, *a.shape), a.dtype) for a in y_avals]]
        with self._registers_for(jaxpr):
            return self._scan(jaxpr, consts, init, xs, length, reverse)

    def _scan(self, jaxpr: ClosedJaxpr, consts: Sequence[Arr], init: Sequence[Arr], xs: Sequence[Arr], length: int,
              reverse: bool) -> list[Arr]:
        y_avals = jaxpr.out_avals[len(init):]
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
        self._emit_loop(For(var, self.table.index(0), self.table.index(length), block, carries, "serial"), states)
        ys_out = [Arr(a.update(shape=(length, *a.shape)), storage=s) for a, s in zip(y_avals, stacks, strict=True)]
        return [*[s.result(self.block) for s in states], *ys_out]

    def _emit_loop(self, loop: For | While, states: Sequence[Any]) -> None:
        for s in states:
            self.block.extend(s.fixed())
        self.emit(loop)

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
                place = new.storage if s.holds(new) else s.target()
                if place is not new.storage:
                    items.append((new, place))
                s.goes_on(place)
                carries += s.advance()
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
        homes = self._homes_of_results()
        blocks: list[list[Stmt]] = []
        outs: list[list[Arr]] = []
        latest: list[dict[Buffer, Index]] = []
        current = self.current
        for branch in branches:
            block: list[Stmt] = []
            self.current = dict(current)
            with self.consumed(), self.inside(block):
                outs.append(self.run(branch, [self.wrapped(x) for x in operands], barrier=True,
                                     homes=[homes.get(k) for k in range(len(avals))]))
            blocks.append(block)
            latest.append(self.current)
        self.current = current
        places = [self._places([o[k] for o in outs], operands, homes.get(k), latest) for k in range(len(avals))]
        values: list[list[list[Any]]] = []
        for n, (block, results) in enumerate(zip(blocks, outs, strict=True)):
            here = [p[n] for p in places]
            with self.consumed(), self.inside(block):
                values.append([[] if t is not None else self.in_registers(o) for o, t in zip(results, here, strict=True)])
                self.put_all([(o, t) for o, t in zip(results, here, strict=True) if t is not None and not t.same(o.storage)],
                             "result of a branch")
        return self._branch(choice, blocks, values, avals, places)

    def _homes_of_results(self) -> dict[int, Home]:
        """By result of the current equation: where it goes as the next value of a loop's state, which is settled with this."""
        frame = self.frames[-1]
        results = [] if frame.eqn is None else frame.eqn.outvars
        return {k: frame.homes.pop(v) for k, v in enumerate(results) if v in frame.homes}

    def _places(self, results: Sequence[Arr], operands: Sequence[Arr], home: Home | None,
                latest: Sequence[dict[Buffer, Index]]) -> list[Storage | None]:
        """Where the branches of a `cond` leave one large result: all in one place, or in either half of a loop's state. Small
        ones have none.

        latest: `current` at the end of each branch.
        """
        if results[0].size <= self.limit:
            return [None] * len(results)
        kept = self._kept(results, operands)
        if kept is not None:
            return [kept] * len(results)
        if home is None or len(results) == 1:
            return [self.temporary(results[0].aval)] * len(results)
        current = self.current
        places: list[Storage | None] = []
        for x, at_end in zip(results, latest, strict=True):
            self.current = at_end
            beside = home()
            stays = x.storage is not None and x.storage.buffer is beside.buffer and x.storage.half is not None
            places.append(x.storage if stays else beside)
        self.current = current
        return places

    def _kept(self, results: Sequence[Arr], operands: Sequence[Arr]) -> Storage | None:
        """The memory of an operand in which all branches leave their result, as it was or updated in place."""
        found = results[0].storage
        if found is None or not all(found.same(r.storage) for r in results):
            return None
        return next((x.storage for x in operands if found.same(x.storage)), None)

    def _clamped(self, index: Any, count: int) -> Any:
        wide = self.convert(index, INT64)
        return self.prim("min", self.prim("max", wide, self.const(0, INT64)), self.const(count - 1, INT64))

    def _branch(self, choice: Index, blocks: list[list[Stmt]], values: list[list[list[Any]]], avals: Sequence[ShapedArray],
                places: Sequence[Sequence[Storage | None]]) -> list[Arr]:
        results: list[tuple[Expr, tuple[Expr, ...]]] = []
        outs: list[Arr] = []
        for k, (aval, (first, *others)) in enumerate(zip(avals, places, strict=True)):
            if first is not None:
                chosen = first
                if not all(first.same(p) for p in others):
                    half = self.table.var(INT64, "half")
                    results.append((half, tuple(p.half.expr for p in places[k] if p is not None and p.half is not None)))
                    chosen = _half(first.buffer, aval, self.terms.variable(half, (0, 1)))
                if chosen.half is not None:
                    self.current[chosen.buffer] = chosen.half
                outs.append(Arr(aval, storage=chosen))
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


def _words(aval: ShapedArray) -> int:
    return aval.size * (2 if parts_dtype(aval.dtype) is not None else 1)


def _half(buffer: Buffer, aval: ShapedArray, parity: Index) -> Storage:
    """One half of the buffer of a loop's state."""
    return Storage(buffer, parity * _words(aval), True, parity)


def _at(storage: Storage, place: Any, aval: ShapedArray) -> Storage:
    """The storage of one element of a stack."""
    return Storage(storage.buffer, storage.base + place * _words(aval), False)


