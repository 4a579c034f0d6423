"""Arrays that a loop shifts in every iteration: a window that slides through twice the memory, so nothing is moved.

`concatenate([x[1:], new])`, or `roll(x, -1).at[-1].set(new)`, is the same memory seen from one element later, with `new`
written behind its end; shifts the other way and along other axes are alike. When the window has reached the end of its
memory, it is copied back to the beginning. That happens once in as many iterations as it has rows, so that an iteration
costs what is new in it.
"""
from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from numjet.core.aval import ShapedArray
from numjet.core.ir import Atom, Jaxpr, JaxprEqn, Var
from numjet.core.traits import BRANCHES
from numjet.cpu.ir.nodes import INT64, Buffer, Carry, Copy, Expr, If, Let
from numjet.cpu.lowering.carry_buffers import Settling, words_of
from numjet.cpu.lowering.shifts import Shift, makers_of, shift_of
from numjet.cpu.lowering.values import LoweredArray, Storage, linear
from numjet.cpu.remarks import Recorder


def sliding(body: Jaxpr, first: int, count: int) -> list[int]:
    """For each of the carries of a loop, whose inputs begin at `first`, by how much its body shifts it at most at a time, in
    numbers of memory; 0 for those that it does not return shifted, or updated then."""
    ends = zip(body.outvars[:count], body.invars[first:first + count], strict=True)
    return [_slides(body, out, given) or 0 for out, given in ends]


def _slides(body: Jaxpr, out: Atom, given: Var) -> int | None:
    """By how much a result is an input shifted at most at a time; None if it is something else than that, updated."""
    makers, most = makers_of(body), 0
    while isinstance(out, Var) and out is not given:
        eqn = makers.get(out)
        found = None if eqn is None else _before(eqn, eqn.outvars.index(out), makers)
        if found is None:
            return None
        out, step = found
        most = max(most, step)
    return most if out is given else None


def _before(eqn: JaxprEqn, k: int, makers: dict[Var, JaxprEqn]) -> tuple[Atom, int] | None:
    """What result k of an equation is the shifted or updated value of, and by how much that shifts it."""
    op = eqn.primitive
    if op.carries is not None:
        at = op.carries(eqn)
        step = _slides(at.body, at.body.outvars[k], at.body.invars[at.inside + k]) if k < at.count else None
        return None if step is None else (eqn.invars[at.outside + k], step)
    if BRANCHES <= op.traits:
        return _before_branches(eqn, k)
    if op.in_place is not None:
        return eqn.invars[op.in_place(eqn)[k]], 0
    found = shift_of(eqn, makers)
    if found is None:
        return None
    return found.var, words_of(found.var.aval) // prod(found.var.aval.shape[:found.axis + 1]) * abs(found.by)


def _before_branches(eqn: JaxprEqn, k: int) -> tuple[Atom, int] | None:
    branches = [b.jaxpr for b in eqn.params["branches"]]
    for place, operand in enumerate(eqn.invars[1:]):
        if operand.aval.shape == eqn.outvars[k].aval.shape:
            steps = [_slides(b, b.outvars[k], b.invars[place]) for b in branches]
            if None not in steps:
                return operand, max(s for s in steps if s is not None)
    return None


class Window:
    """A carried array that slides: where it begins in its memory is carried."""

    def __init__(self, b: Sliding, init: LoweredArray, step: int):
        self.b, self.aval = b, init.aval
        taken = b.window_of(init)
        if taken is not None and b._may_overwrite(init) and b.windows[taken.buffer] >= step:
            b._detach(init)
            self.buffer, self.start = taken.buffer, taken.base
        else:
            size = words_of(init.aval)
            self.buffer, self.start = b.buffer(init.aval.dtype, 0, hint="window"), b.terms.index(0)
            self.buffer.size = 2 * size + 2 * step
            b.windows[self.buffer] = step
            b._copy_into(init, Storage(self.buffer, self.start, True), "first value of an array that a loop shifts")
        self.at, self.out = b.table.var(INT64, "at"), b.table.var(INT64, "at")
        room = (0, self.buffer.size - words_of(init.aval))
        b.begins.add(self.at)
        self.here, self.there = b.terms.variable(self.at, room), b.terms.variable(self.out, room)

    def current(self, block: Any) -> LoweredArray:
        return LoweredArray(self.aval, storage=Storage(self.buffer, self.here, True))

    def shown(self, block: Any) -> LoweredArray:
        """The same for what may only read it."""
        return LoweredArray(self.aval, storage=Storage(self.buffer, self.here, False))

    def kept(self, new: LoweredArray) -> Storage | None:
        """Where a new value is that has not been made by shifting, in memory that nothing else will use; None for others."""
        if self.b.window_of(new) is not None and new.storage.buffer is self.buffer:
            return None
        held = self.b.temporary(self.aval)
        self.b._copy_into(new, held, "carried by a loop that shifts it, but not shifted")
        return held

    def advance(self, new: LoweredArray, held: Storage | None) -> Carry:
        """What the next iteration begins with: `new`, or what `kept` has put aside."""
        if held is None:
            return Carry(self.at, self.start.expr, new.storage.base.expr, self.out)
        self.b._copy_into(LoweredArray(self.aval, storage=held), Storage(self.buffer, self.here, True),
                          "carried where it was shifted")
        return Carry(self.at, self.start.expr, self.at, self.out)

    def result(self, block: Any) -> LoweredArray:
        return LoweredArray(self.aval, storage=Storage(self.buffer, self.there, True))


class Sliding(Settling):
    """Adds windows. windows: by their memory, by how much they slide at most at a time. begins: the variables that say where
    they begin at the beginning of an iteration."""

    def __init__(self, name: str, notes: bool = True, recorder: Recorder | None = None):
        super().__init__(name, notes, recorder)
        self.windows: dict[Buffer, int] = {}
        self.begins: set[Expr] = set()

    def window_of(self, x: LoweredArray) -> Storage | None:
        """The memory of an array that is a window."""
        return x.storage if x.storage is not None and x.storage.buffer in self.windows else None

    def apply(self, op: Any, args: Sequence[LoweredArray], params: dict[str, Any],
              out_avals: Sequence[Any]) -> list[LoweredArray]:
        slid = self._slid(args, out_avals[0]) if self.windows and op.shift is not None else None
        return super().apply(op, args, params, out_avals) if slid is None else [slid]

    def _slid(self, args: Sequence[LoweredArray], aval: ShapedArray) -> LoweredArray | None:
        """The result of the current equation, if it shifts a window that may slide."""
        frame = self.frames[-1]
        assert frame.eqn is not None
        shift = shift_of(frame.eqn, frame.makers)
        if shift is None or not args[shift.operand].parents:
            return None
        x = args[shift.operand].parents[0]
        old = self.window_of(x)
        row = words_of(aval) // prod(aval.shape[:shift.axis + 1])
        if old is None or not old.owned or x.shape != aval.shape or row * abs(shift.by) > self.windows[old.buffer]:
            return None
        over_old = prod(aval.shape[:shift.axis]) > 1   # what is new goes where there were old elements
        views = [a for a in (*self.live_here(), *self.live_outside()) if self.window_of(a) is not None]
        if any(a.storage.buffer is old.buffer and (a is not x or over_old) for a in views):
            return None
        new = [a for k, a in enumerate(args) if k != shift.operand]
        frame.operands = new
        if over_old or old.base.expr not in self.begins:  # slides once more than there is room for without a look back
            self._detach(x)
        return self._slide(x, old, shift, new)

    def _slide(self, x: LoweredArray, old: Storage, shift: Shift, new: Sequence[LoweredArray]) -> LoweredArray:
        """The window one step on, with what is new in it."""
        count = words_of(x.aval)
        step = count // prod(x.shape[:shift.axis + 1]) * shift.by
        last = old.buffer.size - count
        base = self.let(self.scalar(old.base))
        at_end = self.compare("gt", base, self.const(last - step, INT64)) if step > 0 else \
            self.compare("lt", base, self.const(-step, INT64))
        back, begin = self.table.index(0 if step > 0 else last), self.table.var(INT64, "at")
        copy = Copy(old.buffer, back, old.buffer, base.expr, self.table.index(count))
        if self.recorder is not None:
            self.recorder.copied(copy, x, "back to the beginning of its memory, once in as many shifts as there are rows")
        self.emit(If(at_end.expr, [copy], [], [(begin, back, base.expr)]))
        place = self.table.var(INT64, "at")
        self.emit(Let(place, (self.terms.index(begin) + step).expr))
        storage = Storage(old.buffer, self.terms.variable(place, (0, last)), True)
        self._store_new(storage, x.aval, shift, new)
        return LoweredArray(x.aval, storage=storage)

    def _store_new(self, storage: Storage, aval: ShapedArray, shift: Shift, new: Sequence[LoweredArray]) -> None:
        """Writes what a shift brings in to its end of the window."""
        start: Any = aval.shape[shift.axis] - shift.by if shift.by > 0 else 0
        rows = [abs(shift.by)] if new[0].ndim == 0 and len(new) == 1 else [a.shape[shift.axis] for a in new]
        for a, n in zip(new, rows, strict=True):
            shape = (*aval.shape[:shift.axis], n, *aval.shape[shift.axis + 1:])

            def body(*index: Any, a: LoweredArray = a, start: int = start) -> None:
                value = self.read(a) if a.ndim == 0 else self.read(a, *index)
                place = (*index[:shift.axis], index[shift.axis] + start, *index[shift.axis + 1:])
                self._store_word(storage, aval.dtype, linear(aval.shape, place), value)
            self.nest(shape, body)
            start += n
