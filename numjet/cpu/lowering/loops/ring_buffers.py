"""Ring buffers for arrays that a loop shifts: a window slides through twice its memory, so nothing is moved.

`concatenate([x[1:], new])`, or `roll(x, -1).at[-1].set(new)`, is the same memory read from one element later, with `new`
written behind its end; shifts the other way and along other axes are alike. When the window has reached the end of its
memory, it is copied back to the beginning. That happens once in as many iterations as it has rows, so that an iteration
costs only what is new in it.
"""
from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from numjet.core.aval import ShapedArray
from numjet.core.ir import Atom, Jaxpr, JaxprEqn, Var
from numjet.core.traits import BRANCHES
from numjet.cpu.ir.nodes import INT64, Buffer, Copy, Expr, If, Let
from numjet.cpu.lowering.arrays.array_updates import ArrayUpdates
from numjet.cpu.lowering.arrays.values import LoweredArray, Storage, linear, words_of
from numjet.cpu.lowering.index import Index
from numjet.cpu.lowering.loops.shifts import Shift, makers_of, shift_of


def shifted_carries(body: Jaxpr, first: int, count: int) -> list[int]:
    """For each of the carries of a loop, whose inputs begin at `first`, by how much its body shifts it at most at a time, in
    numbers of memory; 0 for those that it returns neither shifted nor updated after a shift."""
    ends = zip(body.outvars[:count], body.invars[first:first + count], strict=True)
    return [_longest_shift(body, out, given) or 0 for out, given in ends]


def _longest_shift(body: Jaxpr, out: Atom, given: Var) -> int | None:
    """By how much a result is an input shifted at most at a time; None if it is something else."""
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
    """The value that result k of an equation shifts or updates, and by how much it shifts it."""
    op = eqn.primitive
    if op.carries is not None:
        at = op.carries(eqn)
        step = _longest_shift(at.body, at.body.outvars[k], at.body.invars[at.inside + k]) if k < at.count else None
        return None if step is None else (eqn.invars[at.outside + k], step)
    if BRANCHES <= op.traits:
        return _before_branches(eqn, k)
    if op.in_place is not None:
        return eqn.invars[op.in_place(eqn)[k]], 0
    found = shift_of(eqn, makers)
    return None if found is None else (found.var, _step(found.var.aval, found.axis, abs(found.by)))


def _before_branches(eqn: JaxprEqn, k: int) -> tuple[Atom, int] | None:
    branches = [b.jaxpr for b in eqn.params["branches"]]
    for number, operand in enumerate(eqn.invars[1:]):
        if operand.aval.shape == eqn.outvars[k].aval.shape:
            steps = [_longest_shift(b, b.outvars[k], b.invars[number]) for b in branches]
            if None not in steps:
                return operand, max(s for s in steps if s is not None)
    return None


def _step(aval: ShapedArray, axis: int, by: int) -> int:
    """How far a window slides in memory that is shifted along an axis."""
    return words_of(aval) // prod(aval.shape[:axis + 1]) * by


class RingBuffers:
    """The ring buffers of a function, and shifts within them.

    steps: by buffer, by how much its window slides at most at a time. starts: the variables that hold where windows begin at
    the beginning of an iteration.
    """

    STATE = ("steps", "starts")

    def __init__(self, updates: ArrayUpdates):
        self.updates, self.ir, self.scalars, self.liveness = updates, updates.ir, updates.scalars, updates.liveness
        self.steps: dict[Buffer, int] = {}
        self.starts: set[Expr] = set()

    def window(self, x: LoweredArray) -> Storage | None:
        """The memory of an array in a ring buffer; None for other arrays."""
        return x.storage if x.storage is not None and x.storage.buffer in self.steps else None

    def begin(self, init: LoweredArray, step: int) -> Storage:
        """A window with the elements of an array: its own ring buffer where that may be overwritten and is long enough."""
        taken = self.window(init)
        if taken is not None and self.liveness.may_overwrite(init) and self.steps[taken.buffer] >= step:
            self.updates.store_readers(init)
            return taken
        buffer = self.ir.memory.buffer(init.aval.dtype, 0, hint="window")
        buffer.size = 2 * words_of(init.aval) + 2 * step
        self.steps[buffer] = step
        window = Storage(buffer, self.ir.terms.index(0), True)
        self.updates.materialization.copy_into(init, window, "first value of an array that a loop shifts")
        return window

    def start_of_iteration(self, buffer: Buffer, aval: ShapedArray) -> Index:
        """A variable for where a window begins when an iteration does."""
        start = self.unknown_start(buffer, aval)
        self.starts.add(next(iter(start.terms)))
        return start

    def unknown_start(self, buffer: Buffer, aval: ShapedArray) -> Index:
        """A variable for where a window of that size begins in its buffer."""
        return self.ir.terms.variable(self.ir.table.var(INT64, "at"), (0, buffer.size - words_of(aval)))

    def common_buffer(self, arrays: Sequence[LoweredArray]) -> Buffer | None:
        """The ring buffer in which all of these arrays are windows that may be overwritten."""
        found = [self.window(x) for x in arrays]
        buffer = None if found[0] is None else found[0].buffer
        return buffer if all(w is not None and w.owned and w.buffer is buffer for w in found) else None

    # ------------------------------------------------------------------------------------------ shifts
    def shifted(self, args: Sequence[LoweredArray], aval: ShapedArray) -> LoweredArray | None:
        """The result of the current equation, if it shifts a window that may slide."""
        frame = self.liveness.frame
        shift = shift_of(frame.eqn, frame.makers) if self.steps and frame.eqn is not None else None
        if shift is None or not args[shift.operand].parents:
            return None
        x = args[shift.operand].parents[0]
        old = self.window(x)
        if old is None or not old.owned or x.shape != aval.shape:
            return None
        if _step(aval, shift.axis, abs(shift.by)) > self.steps[old.buffer]:
            return None
        over_old = prod(aval.shape[:shift.axis]) > 1   # new elements overwrite old ones
        others = [a for a in self.liveness.everywhere() if a.uses(old.buffer) and (a is not x or over_old)]
        if others:
            return None
        new = [a for k, a in enumerate(args) if k != shift.operand]
        frame.operands = new
        if over_old or old.base.expr not in self.starts:  # the buffer has room for one step beyond the first of an iteration
            self.updates.store_readers(x)
        return self._slide(x, old, shift, new)

    def _slide(self, x: LoweredArray, old: Storage, shift: Shift, new: Sequence[LoweredArray]) -> LoweredArray:
        """The window one step on, with the new elements in it."""
        ir, scalars = self.ir, self.scalars
        count, step = words_of(x.aval), _step(x.aval, shift.axis, shift.by)
        last = old.buffer.size - count
        base = ir.let(scalars.scalar(old.base))
        at_end = scalars.compare("gt", base, scalars.const(last - step, INT64)) if step > 0 else \
            scalars.compare("lt", base, scalars.const(-step, INT64))
        back, begin = ir.table.index(0 if step > 0 else last), ir.table.var(INT64, "at")
        copy = Copy(old.buffer, back, old.buffer, base.expr, ir.table.index(count))
        if ir.recorder is not None:
            ir.recorder.copied(copy, x, "back to the beginning of its memory, once in as many shifts as there are rows")
        ir.emit(If(at_end.expr, [copy], [], [(begin, back, base.expr)]))
        start = ir.table.var(INT64, "at")
        ir.emit(Let(start, (ir.terms.index(begin) + step).expr))
        storage = Storage(old.buffer, ir.terms.variable(start, (0, last)), True)
        self._store_new(storage, x.aval, shift, new)
        return LoweredArray(x.aval, storage)

    def _store_new(self, storage: Storage, aval: ShapedArray, shift: Shift, new: Sequence[LoweredArray]) -> None:
        """Writes the elements that a shift brings in to their end of the window."""
        read = self.updates.reads.read
        start: Any = aval.shape[shift.axis] - shift.by if shift.by > 0 else 0
        rows = [abs(shift.by)] if new[0].ndim == 0 and len(new) == 1 else [a.shape[shift.axis] for a in new]
        for a, n in zip(new, rows, strict=True):
            shape = (*aval.shape[:shift.axis], n, *aval.shape[shift.axis + 1:])

            def body(*index: Any, a: LoweredArray = a, start: int = start) -> None:
                value = read(a) if a.ndim == 0 else read(a, *index)
                at = (*index[:shift.axis], index[shift.axis] + start, *index[shift.axis + 1:])
                self.updates.memory.store(storage, linear(aval.shape, at), value)
            self.updates.nests.nest(shape, body)
            start += n
