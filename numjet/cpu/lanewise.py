"""Loops over many independent systems, as vmap makes them: each lane of a vector runs the whole loop in registers.

A scan or while whose state has a common first axis, along which its body only ever reads the element at the same place,
is a loop over places around a scalar loop. That keeps the state in registers instead of memory and goes to threads as
a whole. Whether the body is of that kind is found out by lowering it so: what needs another place's element, or has to
store an array, raises `NotLanewise`, and the loop is lowered the usual way.
"""
from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from math import prod
from typing import Any

import numpy as np

from numjet.core.aval import ShapedArray
from numjet.core.ir import ClosedJaxpr, JaxprEqn, Literal, Var
from numjet.cpu.frames import Frames
from numjet.cpu.index import Index
from numjet.cpu.loop_ir import INT64, Carry, For, Stmt, While
from numjet.cpu.recorder import Recorder
from numjet.cpu.reductions import words
from numjet.cpu.values import Arr, Storage, linear

FEWEST = 32               # systems from which lanes pay
STATE = 48                # numbers of one system's state that registers and the nearest cache hold
PINNED = 64               # elements of one system that an equation makes
WORK = 2000               # elements that a step computes for one system, so that code stays small
_MOVES = frozenset({"broadcast_in_dim", "reshape", "slice", "squeeze", "concatenate", "transpose", "rev", "pad", "iota",
                    "expand_dims", "reduce_sum", "reduce_max", "reduce_min", "reduce_prod", "reduce_and", "reduce_or",
                    "dot_general", "split", "convert_element_type", "copy"})


class NotLanewise(Exception):
    """The body reads other places' elements, or needs memory."""


class Lanewise(Frames):
    """Adds loops by lanes."""

    def __init__(self, name: str, notes: bool = True, recorder: Recorder | None = None):
        super().__init__(name, notes, recorder)
        self.lane: Index | None = None
        self.places = 0

    # ------------------------------------------------------------------------------------------ loops
    def scan_by_lanes(self, jaxpr: ClosedJaxpr, consts: Sequence[Arr], init: Sequence[Arr], xs: Sequence[Arr], length: int,
                      reverse: bool) -> list[Arr] | None:
        """As `scan`; None where its steps don't go by lanes."""
        ys = jaxpr.out_avals[len(init):]
        if not self._may(jaxpr, init, ys):
            return None
        last = [self.temporary(x.aval) for x in init]
        stacks = [self.temporary(a.update(shape=(length, *a.shape))) for a in ys]

        def loop() -> None:
            state = _State(self, init)
            var = self.table.var(INT64, "step")
            step = self.terms.variable(var, (0, length - 1))
            place = step * -1 + (length - 1) if reverse else step
            block: list[Stmt] = []
            with self.inside(block):
                slices = [Arr(x.aval.update(shape=x.shape[1:]), self._at_step(x, place), cost=0.0, parents=(x,)) for x in xs]
                outs = self.run(jaxpr, [*consts, *state.current(), *slices], barrier=True)
                carries = state.advance(outs[:len(init)])
                for y, stack in zip(outs[len(init):], stacks, strict=True):
                    self._store_lane(stack, y, place * y.size)
            self.emit(For(var, self.table.index(0), self.table.index(length), block, carries, "serial"))
            state.store(last)
        if not self._try(loop, init[0].shape[0], [*consts, *init, *xs]):
            return None
        return [*[Arr(x.aval, storage=s) for x, s in zip(init, last, strict=True)],
                *[Arr(a.update(shape=(length, *a.shape)), storage=s) for a, s in zip(ys, stacks, strict=True)]]

    def while_by_lanes(self, cond: ClosedJaxpr, body: ClosedJaxpr, consts: Sequence[Arr],
                       init: Sequence[Arr]) -> list[Arr] | None:
        """As `while_loop`, for one that runs while any lane of a carried mask holds; None for others."""
        mask = settling_mask(cond, body, len(consts))
        if mask is None or not self._may(body, init, ()):
            return None
        last = [self.temporary(x.aval) for x in init]

        def loop() -> None:
            state = _State(self, init)
            block: list[Stmt] = []
            with self.inside(block):
                carries = state.advance(self.run(body, [*consts, *state.current()], barrier=True))
            self.emit(While(carries, [], state.vars[mask][0].expr, block, settles=True))
            state.store(last)
        if not self._try(loop, init[0].shape[0], [*consts, *init]):
            return None
        return [Arr(x.aval, storage=s) for x, s in zip(init, last, strict=True)]

    # ------------------------------------------------------------------------------------------ trying
    def _may(self, jaxpr: ClosedJaxpr, init: Sequence[Arr], ys: Sequence[ShapedArray]) -> bool:
        """Whether it is worth a try."""
        if self.lane is not None or not init or any(x.ndim == 0 for x in init):
            return False
        n = init[0].shape[0]
        fits = all(a.ndim and a.shape[0] == n for a in (*(x.aval for x in init), *ys))
        return (fits and n >= FEWEST and sum(prod(x.shape[1:]) for x in init) <= STATE
                and all(_known(e) for e in jaxpr.eqns)
                and sum(prod(e.outvars[0].aval.shape[1:]) for e in jaxpr.eqns) <= WORK)

    def _try(self, loop: Callable[[], None], n: int, reads: Sequence[Arr]) -> bool:
        """Lowers a loop over lanes; leaves everything as it was if that cannot be."""
        memos = [(a, dict(a.memo)) for x in reads for a in x.reachable()]
        registers = list(self.open_registers)
        told = None if self.recorder is None else self.recorder.snapshot()
        var = self.table.var(INT64, "lane")
        block: list[Stmt] = []
        try:
            with self.consumed(pinned=reads), self._in_lane(self.terms.variable(var, (0, n - 1)), n), self.inside(block):
                loop()
        except NotLanewise:
            self.open_registers = registers
            if self.recorder is not None and told is not None:
                self.recorder.restore(told)
            return False
        finally:
            for a, memo in memos:
                a.memo = memo
        self.emit(For(var, self.table.index(0), self.table.index(n), block, [], "vector"))
        return True

    @contextmanager
    def _in_lane(self, lane: Index, n: int) -> Iterator[None]:
        self.lane, self.places = lane, n
        try:
            yield
        finally:
            self.lane, self.places = None, 0

    # ------------------------------------------------------------------------------------------ one lane
    def in_lane(self, aval: ShapedArray, elems: Sequence[Any]) -> Arr:
        """The array whose elements at this lane's place are known."""
        rest = aval.shape[1:]

        def at(place: Any, *index: Any) -> Any:
            if not isinstance(place, Index) or place.expr is not self.lane.expr:  # type: ignore[union-attr]
                raise NotLanewise
            position = linear(rest, index)
            if isinstance(position, Index):
                if position.terms:
                    raise NotLanewise
                position = position.const
            return elems[position]
        return Arr(aval, at)

    def _at_step(self, x: Arr, place: Index) -> Callable[..., Any]:
        return lambda *i: self.read(x, place, *i)

    def lane_elements(self, x: Arr) -> list[Any]:
        """The elements of an array at this lane's place."""
        return [self.let(self.read(x, self.lane, *i)) for i in np.ndindex(*x.shape[1:])]

    def _store_lane(self, storage: Storage, x: Arr, start: Any) -> None:
        """Writes this lane's elements of an array that begins at `start`."""
        for index, value in zip(np.ndindex(*x.shape[1:]), self.lane_elements(x), strict=True):
            self._store_word(storage, x.dtype, self.terms.index(start) + linear(x.shape, (self.lane, *index)), value)

    # ------------------------------------------------------------------------------------------ as Frames does, in a lane
    def equation(self, frame: Any, eqn: JaxprEqn) -> None:
        super().equation(frame, eqn)
        if self.lane is None:
            return
        for v in eqn.outvars:
            x = frame.env.get(v)
            if x is not None and x.lazy and x.ndim and x.shape[0] == self.places and prod(x.shape[1:]) <= PINNED:
                frame.env[v] = self.in_lane(x.aval, self.lane_elements(x))

    def prepare(self, frame: Any, eqn: JaxprEqn, args: Sequence[Arr]) -> None:
        if self.lane is None:
            super().prepare(frame, eqn, args)

    def materialize(self, x: Arr, why: str = "") -> Arr:
        if self.lane is not None and x.size > self.small:
            return x
        return super().materialize(x, why)

    def temporary(self, aval: ShapedArray) -> Storage:
        self._needs_memory()
        return super().temporary(aval)

    def in_memory(self, x: Arr, why: str = "") -> Storage:
        if x.storage is None:
            self._needs_memory()
        return super().in_memory(x, why)

    def own(self, x: Arr) -> Arr:
        self._needs_memory()
        return super().own(x)

    def loop_over(self, n: Any, mode: str, carries: list[Carry] | None = None, start: Any = 0) -> Any:
        self._needs_memory()
        return super().loop_over(n, mode, carries, start)

    def _needs_memory(self) -> None:
        if self.lane is not None:
            raise NotLanewise


class _State:
    """The carried arrays of one lane, in registers."""

    def __init__(self, b: Lanewise, init: Sequence[Arr]):
        self.b, self.avals = b, [x.aval for x in init]
        self.inits = [b.lane_elements(x) for x in init]
        self.vars, self.outs = ([[b._variable(v.dtype) for v in values] for values in self.inits] for _ in range(2))

    def current(self) -> list[Arr]:
        return [self.b.in_lane(a, values) for a, values in zip(self.avals, self.vars, strict=True)]

    def advance(self, news: Sequence[Arr]) -> list[Carry]:
        carries: list[Carry] = []
        for new, *parts in zip(news, self.vars, self.inits, self.outs, strict=True):
            for one in zip(parts[0], parts[1], self.b.lane_elements(new), parts[2], strict=True):
                carries += [Carry(v.expr, i.expr, n.expr, o.expr) for v, i, n, o in zip(*map(words, one), strict=True)]
        return carries

    def store(self, storages: Sequence[Storage]) -> None:
        for aval, values, storage in zip(self.avals, self.outs, storages, strict=True):
            self.b._store_lane(storage, self.b.in_lane(aval, values), 0)


def _known(eqn: JaxprEqn) -> bool:
    """Whether an equation may go by lanes: no update, no library, no loop."""
    op = eqn.primitive
    return not eqn.effects and (op.elementwise or op.name in _MOVES)


def settling_mask(cond: ClosedJaxpr, body: ClosedJaxpr, consts: int) -> int | None:
    """Which carry is a mask such that the loop runs while it holds somewhere, and places where it is false don't change;
    None if there is none."""
    eqns, carries = cond.jaxpr.eqns, cond.jaxpr.invars
    if len(eqns) != 1 or eqns[0].primitive.name != "reduce_or" or eqns[0].invars[0] not in carries:
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
            return made.primitive.name == "and" and mask in made.invars
        chosen = made.invars[0]
        spread = makers.get(chosen) if isinstance(chosen, Var) else None
        by_mask = chosen is mask or (spread is not None and spread.primitive.name == "broadcast_in_dim"
                                     and spread.invars[0] is mask and spread.params["broadcast_dimensions"] == (0,))
        return made.primitive.name == "select_n" and by_mask and made.invars[1] is old
    return k if mask.aval.ndim == 1 and all(map(keeps, olds, news)) else None
