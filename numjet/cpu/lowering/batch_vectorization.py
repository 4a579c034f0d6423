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
from numjet.core.traits import BROADCASTS, LANES
from numjet.cpu.ir.nodes import INT64, Carry, For, Stmt, While
from numjet.cpu.lowering.context import Frames
from numjet.cpu.lowering.index import Index
from numjet.cpu.lowering.reductions import words
from numjet.cpu.lowering.values import LoweredArray, Storage, linear
from numjet.cpu.remarks import Recorder

FEWEST = 4                # systems from which lanes pay
COMFORTABLE = 48          # numbers of one system's state that registers and the nearest cache hold
STATE = 160               # numbers of one system's state that registers and the nearest cache hold
PINNED = 64               # elements of one system that an equation makes
WORK = 2000               # elements that a step computes for one system, so that code stays small


class NotLanewise(Exception):
    """The body reads other places' elements, or needs memory."""


class Lanewise(Frames):
    """Adds loops by lanes.

    lane, places: of the loop being lowered, the place along the common first axes, and their sizes. rows: by id, writable
    arrays with all places, and what they are at this lane's.
    """

    def __init__(self, name: str, notes: bool = True, recorder: Recorder | None = None):
        super().__init__(name, notes, recorder)
        self.lane: tuple[Index, ...] | None = None
        self.places: tuple[int, ...] = ()
        self.rows: dict[int, tuple[LoweredArray, LoweredArray]] = {}

    # ------------------------------------------------------------------------------------------ loops
    def scan_by_lanes(self, jaxpr: ClosedJaxpr, consts: Sequence[LoweredArray], init: Sequence[LoweredArray],
                      xs: Sequence[LoweredArray], length: int,
                      reverse: bool) -> list[LoweredArray] | None:
        """As `scan`; None where its steps don't go by lanes."""
        ys = jaxpr.out_avals[len(init):]
        choices = self._choices(jaxpr, init, ys, 2)
        if not choices:
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
                slices = [LoweredArray(x.aval.update(shape=x.shape[1:]), self._at_step(x, place), cost=0.0,
                                       parents=(x,)) for x in xs]
                outs = self.run(jaxpr, [*consts, *state.current(), *slices], barrier=True)
                carries = state.advance(outs[:len(init)])
                for y, stack in zip(outs[len(init):], stacks, strict=True):
                    self._store_lane(stack, y, place * y.size)
            self.emit(For(var, self.table.index(0), self.table.index(length), block, carries, "serial"))
            state.store(last)
        if not any(self._try(loop, places, [*consts, *init, *xs]) for places in choices):
            return None
        return [*[LoweredArray(x.aval, storage=s) for x, s in zip(init, last, strict=True)],
                *[LoweredArray(a.update(shape=(length, *a.shape)), storage=s) for a, s in zip(ys, stacks, strict=True)]]

    def while_by_lanes(self, cond: ClosedJaxpr, body: ClosedJaxpr, consts: Sequence[LoweredArray],
                       init: Sequence[LoweredArray]) -> list[LoweredArray] | None:
        """As `while_loop`, for one that runs while any lane of a carried mask holds; None for others."""
        mask = settling_mask(cond, body, len(consts))
        choices = [] if mask is None else self._choices(body, init, (), 1)
        if mask is None or not choices:
            return None
        last = [self.temporary(x.aval) for x in init]

        def loop() -> None:
            state = _State(self, init)
            block: list[Stmt] = []
            with self.inside(block):
                carries = state.advance(self.run(body, [*consts, *state.current()], barrier=True))
            self.emit(While(carries, [], state.vars[mask][0].expr, block, idempotent_after_exit=True))
            state.store(last)
        if not any(self._try(loop, places, [*consts, *init]) for places in choices):
            return None
        return [LoweredArray(x.aval, storage=s) for x, s in zip(init, last, strict=True)]

    # ------------------------------------------------------------------------------------------ trying
    def _choices(self, jaxpr: ClosedJaxpr, init: Sequence[LoweredArray], ys: Sequence[ShapedArray],
                 most: int) -> list[tuple[int, ...]]:
        """The common first axes, `most` at most, that are worth a try: what promises more comes first."""
        avals = [*(x.aval for x in init), *ys]
        if self.lane is not None or not init or not all(_known(e) for e in jaxpr.eqns):
            return []
        found: list[tuple[int, ...]] = []
        for k in range(1, most + 1):
            places = init[0].shape[:k]
            if len(places) < k or any(a.shape[:k] != places for a in avals):
                break
            if places[-1] < FEWEST:
                continue
            state = sum(prod(x.shape[k:]) for x in init)
            if state <= STATE and sum(prod(e.outvars[0].aval.shape[k:]) for e in jaxpr.eqns) <= WORK:
                found.append(places)
                if state <= COMFORTABLE:
                    return [places, *found[:-1]]
        return found

    def _try(self, loop: Callable[[], None], places: tuple[int, ...], reads: Sequence[LoweredArray]) -> bool:
        """Lowers a loop over lanes; leaves everything as it was if that cannot be."""
        memos = [(a, dict(a.memo)) for x in reads for a in x.reachable()]
        registers = list(self.open_registers)
        told = None if self.recorder is None else self.recorder.snapshot()
        spilled = self._spill(reads, places)
        variables = [self.table.var(INT64, "lane") for _ in places]
        lane = tuple(self.terms.variable(v, (0, n - 1)) for v, n in zip(variables, places, strict=True))
        block: list[Stmt] = []
        try:
            with self.consumed(pinned=reads), self._in_lane(lane, places), self.inside(block):
                loop()
        except NotLanewise:
            self.open_registers = registers
            for x, elems, block, length in reversed(spilled):
                x.place(elems=elems, block=block)
                del block[length:]
            if self.recorder is not None and told is not None:
                self.recorder.restore(told)
            return False
        finally:
            for a, memo in memos:
                a.memo = memo
        mode = "vector"
        for var, n in zip(reversed(variables), reversed(places), strict=True):
            block, mode = [For(var, self.table.index(0), self.table.index(n), block, [], mode)], "serial"
        self.emit(block[0])
        return True

    def _spill(self, reads: Sequence[LoweredArray], places: tuple[int, ...]) -> list[tuple[LoweredArray, Any, list[Stmt], int]]:
        """Moves operands with all places from registers to memory, where a lane finds its own; what undoes that."""
        spilled: list[tuple[LoweredArray, Any, list[Stmt], int]] = []
        for x in reads:
            if x.elems is not None and set(x.shape[:len(places)]) & set(places):
                spilled.append((x, x.elems, x.block, len(x.block)))
                self.spill(x)
        return spilled

    @contextmanager
    def _in_lane(self, lane: tuple[Index, ...], places: tuple[int, ...]) -> Iterator[None]:
        self.lane, self.places = lane, places
        try:
            yield
        finally:
            self.lane, self.places, self.rows = None, (), {}

    # ------------------------------------------------------------------------------------------ one lane
    def in_lane(self, aval: ShapedArray, elems: Sequence[Any]) -> LoweredArray:
        """The array whose elements at this lane's place are known."""
        return self._of_row(aval, LoweredArray(aval.update(shape=self._rest(aval)), elems=list(elems), block=self.block))

    def _of_row(self, aval: ShapedArray, row: LoweredArray) -> LoweredArray:
        """The array that is `row`, in registers, at this lane's place."""
        def at(*index: Any) -> Any:
            return self._read_register(row, linear(row.shape, self._here(index)))
        return LoweredArray(aval, at)

    def _rest(self, x: Any) -> tuple[int, ...]:
        """The shape of what an array, or an aval, holds at one place."""
        return x.shape[len(self.places):]

    def _here(self, index: Sequence[Any]) -> tuple[Any, ...]:
        """The rest of an index, which must be at this lane's place."""
        assert self.lane is not None
        k = len(self.lane)
        if not all(isinstance(i, Index) and i.expr is here.expr for i, here in zip(index[:k], self.lane, strict=True)):
            raise NotLanewise
        return tuple(index[k:])

    def _at_step(self, x: LoweredArray, place: Index) -> Callable[..., Any]:
        return lambda *i: self.read(x, place, *i)

    def lane_elements(self, x: LoweredArray) -> list[Any]:
        """The elements of an array at this lane's place."""
        assert self.lane is not None
        return [self.let(self.read(x, *self.lane, *i)) for i in np.ndindex(*self._rest(x))]

    def _store_lane(self, storage: Storage, x: LoweredArray, start: Any) -> None:
        """Writes this lane's elements of an array that begins at `start`."""
        assert self.lane is not None
        for index, value in zip(np.ndindex(*self._rest(x)), self.lane_elements(x), strict=True):
            self._store_word(storage, x.dtype, self.terms.index(start) + linear(x.shape, (*self.lane, *index)), value)

    # ------------------------------------------------------------------------------------------ as Frames does, in a lane
    @property
    def small(self) -> int:
        """In a lane, no array with all places is small: it would be read at all of them."""
        return super().small if self.lane is None else min(super().small, min(self.places) - 1)

    @property
    def written_out(self) -> int:
        return super().written_out if self.lane is None else min(super().written_out, min(self.places) - 1)

    def equation(self, frame: Any, eqn: JaxprEqn) -> None:
        super().equation(frame, eqn)
        if self.lane is None:
            return
        for v in eqn.outvars:
            x = frame.env.get(v)
            if x is not None and x.lazy and self._has_places(x.shape) and prod(self._rest(x)) <= PINNED:
                frame.bind(v, self.in_lane(x.aval, self.lane_elements(x)))

    def copies(self, shape: Sequence[int]) -> int:
        return super().copies(shape) if self.lane is None else prod(shape[len(self.places):])

    def empty(self, shape: Sequence[int], dtype: Any) -> LoweredArray:
        if self.lane is None or not self._has_places(shape):
            return super().empty(shape, dtype)
        aval = ShapedArray(tuple(shape), np.dtype(dtype))
        if prod(self._rest(aval)) > PINNED:
            raise NotLanewise
        return self._writable(aval, self._registers(aval.update(shape=self._rest(aval))))

    def _writable(self, aval: ShapedArray, row: LoweredArray) -> LoweredArray:
        out = self._of_row(aval, row)
        self.rows[id(out)] = out, row
        return out

    def loop(self, shape: Sequence[int], body: Callable[..., None], *, ordered: bool = False) -> None:
        if self.lane is None or not self._has_places(shape):
            super().loop(shape, body, ordered=ordered)
        else:
            for index in np.ndindex(*shape[len(self.lane):]):
                body(*self.lane, *index)

    def store(self, x: LoweredArray, index: Sequence[Any], value: Any) -> None:
        if id(x) not in self.rows:
            super().store(x, index, value)
        else:
            super().store(self.rows[id(x)][1], self._here(index), value)
            x.memo.clear()

    def _has_places(self, shape: Sequence[int]) -> bool:
        return tuple(shape[:len(self.places)]) == self.places

    def prepare(self, frame: Any, eqn: JaxprEqn, args: Sequence[LoweredArray]) -> None:
        if self.lane is None:
            super().prepare(frame, eqn, args)

    def materialize(self, x: LoweredArray, why: str = "") -> LoweredArray:
        if self.lane is not None and x.size > self.small:
            return x
        return super().materialize(x, why)

    def temporary(self, aval: ShapedArray) -> Storage:
        self._needs_memory()
        return super().temporary(aval)

    def in_memory(self, x: LoweredArray, why: str = "") -> Storage:
        if x.storage is None:
            self._needs_memory()
        return super().in_memory(x, why)

    def own(self, x: LoweredArray) -> LoweredArray:
        if self.lane is None:
            return super().own(x)
        if not self._has_places(x.shape) or prod(self._rest(x)) > PINNED:
            raise NotLanewise
        row = self._registers(x.aval.update(shape=self._rest(x)))
        row.elems = self.lane_elements(x)
        return self._writable(x.aval, row)

    def prefix(self, kind: str, x: LoweredArray, axis: int, reverse: bool = False) -> LoweredArray:
        if self.lane is None:
            return super().prefix(kind, x, axis, reverse)
        if axis < len(self.lane) or not self._has_places(x.shape) or prod(self._rest(x)) > PINNED or x.dtype.itemsize == 2:
            raise NotLanewise
        rest, along = self._rest(x), axis - len(self.lane)
        elems = dict(zip(np.ndindex(*rest), self.lane_elements(x), strict=True))
        for index in reversed(elems) if reverse else elems:
            before = (*index[:along], index[along] + (1 if reverse else -1), *index[along + 1:])
            if before in elems:
                elems[index] = self.let(self.combine(kind, elems[before], elems[index]))
        return self.in_lane(x.aval, list(elems.values()))

    def loop_over(self, n: Any, mode: str, carries: list[Carry] | None = None, start: Any = 0) -> Any:
        self._needs_memory()
        return super().loop_over(n, mode, carries, start)

    def _needs_memory(self) -> None:
        if self.lane is not None:
            raise NotLanewise


class _State:
    """The carried arrays of one lane, in registers."""

    def __init__(self, b: Lanewise, init: Sequence[LoweredArray]):
        self.b, self.avals = b, [x.aval for x in init]
        self.inits = [b.lane_elements(x) for x in init]
        self.vars, self.outs = ([[b._variable(v.dtype) for v in values] for values in self.inits] for _ in range(2))

    def current(self) -> list[LoweredArray]:
        return [self.b.in_lane(a, values) for a, values in zip(self.avals, self.vars, strict=True)]

    def advance(self, news: Sequence[LoweredArray]) -> list[Carry]:
        carries: list[Carry] = []
        for new, *parts in zip(news, self.vars, self.inits, self.outs, strict=True):
            for one in zip(parts[0], parts[1], self.b.lane_elements(new), parts[2], strict=True):
                carries += [Carry(v.expr, i.expr, n.expr, o.expr) for v, i, n, o in zip(*map(words, one), strict=True)]
        return carries

    def store(self, storages: Sequence[Storage]) -> None:
        for aval, values, storage in zip(self.avals, self.outs, storages, strict=True):
            self.b._store_lane(storage, self.b.in_lane(aval, values), 0)


def _known(eqn: JaxprEqn) -> bool:
    """Whether an equation may go by lanes: no library, no loop."""
    op = eqn.primitive
    return not eqn.effects and (op.elementwise or LANES <= op.traits)


def settling_mask(cond: ClosedJaxpr, body: ClosedJaxpr, consts: int) -> int | None:
    """Which carry is a mask such that the loop runs while it holds somewhere, and places where it is false don't change;
    None if there is none."""
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
