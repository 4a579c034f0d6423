"""Walking jaxprs while lowering: environments, which arrays are still wanted, and what to store early."""
from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from math import prod
from typing import Any

import numpy as np

from numjet.core.check import check_constant
from numjet.core.ir import ClosedJaxpr, Jaxpr, JaxprEqn, Literal, Var
from numjet.core.op import Expand, Missing, Op
from numjet.core.traits import BROADCASTS, READS_ONCE, SCATTERS
from numjet.cpu.analysis.scalar_costs import scalar_cost
from numjet.cpu.ir.nodes import Buffer
from numjet.cpu.lowering.builder import SHORT_ROW
from numjet.cpu.lowering.memory_scheduling import minimize_peak_memory
from numjet.cpu.lowering.nan_checks import guard
from numjet.cpu.lowering.reductions import Reductions
from numjet.cpu.lowering.rematerialization import computed_again, passes
from numjet.cpu.lowering.shifts import makers_of
from numjet.cpu.lowering.values import LoweredArray, Storage
from numjet.cpu.remarks import Recorder
from numjet.foundation import source

LONG = 400.0     # estimated operations per element from which a definition is stored: loop bodies stay compilable
HELD = 1 << 18   # bytes from which it matters that a definition keeps memory in use
MOST_HELD = 6    # arrays of that size that a definition may keep
DEEP = 24        # nested definitions that move data, from which one is stored
TOGETHER = 8     # unrelated results that are stored in one loop nest
HEAVY = 12.0     # operations per element of what is better done by vectors, as exponentials
CHEAP = 2.0      # a definition costing no more may be repeated by a broadcast
WANTED = 8.0     # what is wanted later and costs this is stored together with what contains it
WANTED_FAR = 60.0, 2 ** 20   # as WANTED, for arrays of that many bytes, which caches do not hold


class Frame:
    """One jaxpr being lowered. `barrier`: its statements are inside a loop or branch of the frames around it."""

    __slots__ = ("env", "wanted", "last_use", "position", "uses", "operands", "pinned", "barrier",
                 "eqn", "passes", "jaxpr", "_makers")

    def __init__(self, jaxpr: Jaxpr, needed: list[bool], barrier: bool):
        self.jaxpr = jaxpr
        self._makers: dict[Var, JaxprEqn] | None = None
        self.env: dict[Var, LoweredArray] = {}
        self.wanted: dict[Var, LoweredArray] = {}   # without those that were found in registers
        self.last_use: dict[Var, int] = {}
        self.uses: Counter[Var] = Counter()
        self.passes = passes(jaxpr, needed)
        for k, (eqn, keep) in enumerate(zip(jaxpr.eqns, needed, strict=True)):
            for a in eqn.invars if keep else ():
                if isinstance(a, Var):
                    self.last_use[a] = k
                    self.uses[a] += 1
        for a in jaxpr.outvars:
            if isinstance(a, Var):
                self.last_use[a] = len(jaxpr.eqns)
                self.uses[a] += 1
        self.position = -1
        self.eqn: JaxprEqn | None = None
        self.operands: Sequence[LoweredArray] = ()
        self.pinned: Sequence[LoweredArray] = ()
        self.barrier = barrier

    @property
    def makers(self) -> dict[Var, JaxprEqn]:
        """By variable, the equation that makes it."""
        if self._makers is None:
            self._makers = makers_of(self.jaxpr)
        return self._makers

    def bind(self, v: Var, a: LoweredArray) -> None:
        """Makes an array the value of a variable."""
        self.env[v] = a
        if v in self.last_use:
            self.wanted[v] = a

    def drop(self, v: Var) -> LoweredArray | None:
        """Forgets a variable; returns its value."""
        self.wanted.pop(v, None)
        return self.env.pop(v, None)

    def spilled(self) -> None:
        """Looks at all arrays again: one has left its registers."""
        self.wanted = {v: a for v, a in self.env.items() if v in self.last_use}

    def live(self) -> Iterator[LoweredArray]:
        """Arrays wanted after the current equation that are not in registers, and its operands."""
        for v in [v for v, a in self.wanted.items() if a.elems is not None]:
            del self.wanted[v]
        for v, a in self.wanted.items():
            if self.last_use[v] > self.position:
                yield a
        yield from self.operands
        yield from self.pinned


class Frames(Reductions):
    """Adds the walk over equations."""

    def __init__(self, name: str, notes: bool = True, recorder: Recorder | None = None):
        super().__init__(name, recorder)
        self.notes = notes
        self.frames: list[Frame] = []
        self.constants: dict[int, tuple[Any, LoweredArray]] = {}
        self.held: list[LoweredArray] = []

    # ------------------------------------------------------------------------------------------ liveness
    def live_outside(self) -> Iterator[LoweredArray]:
        """Live arrays of frames around the innermost loop or branch."""
        frames = list(self.frames)
        while frames and not frames.pop().barrier:
            pass
        for f in frames:
            yield from f.live()

    def live_here(self) -> Iterator[LoweredArray]:
        """Live arrays of the frames inside the innermost loop or branch."""
        for f in reversed(self.frames):
            yield from f.live()
            if f.barrier:
                return

    def spill(self, x: LoweredArray) -> None:
        super().spill(x)
        for frame in self.frames:
            frame.spilled()

    def _may_overwrite(self, x: LoweredArray) -> bool:
        if not x.storage.owned:
            return False
        buffer = x.storage.buffer
        same = lambda a: a.storage is not None and a.storage.buffer is buffer
        if sum(a is x for a in self.frames[-1].operands) > 1:
            return False
        mine = list(self.live_here())
        if sum(a is x for a in mine) > sum(a is x for a in self.frames[-1].operands):
            return False
        if any(a is not x and same(a) for a in mine):
            return False
        return not any(same(p) for a in self.live_outside() for p in a.reachable())

    def _detach(self, x: LoweredArray) -> None:
        buffer = x.storage.buffer
        for a in list(self.live_here()):
            if a.lazy and any(p.storage is not None and p.storage.buffer is buffer for p in a.reachable()):
                self.materialize(a, "the memory that it reads is updated in place")

    @contextmanager
    def consumed(self, pinned: Sequence[LoweredArray] = ()) -> Iterator[None]:
        """While an operation's programs are lowered, its operands belong to them; `pinned` ones stay wanted throughout."""
        if not self.frames:
            yield
            return
        frame = self.frames[-1]
        saved = frame.operands, frame.pinned
        frame.operands, frame.pinned = (), (*saved[1], *pinned)
        try:
            yield
        finally:
            frame.operands, frame.pinned = saved

    def wrapped(self, x: LoweredArray) -> LoweredArray:
        """The same array for use in a branch or loop: storing it there says nothing about outside."""
        if not x.lazy:
            return x
        flat = (lambda k: self.read_flat(x, k)) if x.flat is not None else None
        made = LoweredArray(x.aval, lambda *i: self.read(x, *i), flat=flat, cost=x.cost, parents=(x,))
        made.pieces = x.pieces
        return made

    # ------------------------------------------------------------------------------------------ the walk
    def run(self, closed: ClosedJaxpr, args: Sequence[LoweredArray], barrier: bool = False) -> list[LoweredArray]:
        """Lowers the equations of a program; its results as arrays (perhaps definitions)."""
        jaxpr = minimize_peak_memory(closed.jaxpr)
        needed = needed_eqns(jaxpr)
        frame = Frame(jaxpr, needed, barrier)
        for v, c in zip(jaxpr.constvars, closed.consts, strict=True):
            check_constant(c, v.aval)
            frame.bind(v, self.embedded(c))
        if barrier:
            args = [self.wrapped(a) for a in args]
        for v, a in zip(jaxpr.invars, args, strict=True):
            frame.bind(v, a)
        self.frames.append(frame)
        try:
            for k, (eqn, keep) in enumerate(zip(jaxpr.eqns, needed, strict=True)):
                if keep:
                    frame.position = k
                    self.equation(frame, eqn)
            return [self.operand(frame, a) for a in jaxpr.outvars]
        finally:
            self.frames.pop()

    def embedded(self, value: Any) -> LoweredArray:
        """A constant array, once per program."""
        found = self.constants.get(id(value))
        if found is None:
            array = value._value if hasattr(value, "_value") else np.asarray(value)
            found = self.constants[id(value)] = (value, self.constant(array))
        return found[1]

    def reads_from(self, x: LoweredArray, reads: Sequence[LoweredArray] = ()) -> None:
        super().reads_from(x, reads or (self.frames[-1].operands if self.frames else ()))

    def operand(self, frame: Frame, atom: Any) -> LoweredArray:
        if isinstance(atom, Literal):
            value = np.asarray(atom.val).astype(atom.aval.dtype)[()]
            return LoweredArray(atom.aval, elems=[self.const(value, atom.aval.dtype)], block=self.function.body)
        return frame.env[atom]

    def equation(self, frame: Frame, eqn: JaxprEqn) -> None:
        op = eqn.primitive
        args = [self.operand(frame, a) for a in eqn.invars]
        frame.operands, frame.eqn = args, eqn
        if self.notes and eqn.source is not None:
            self.comment(op.name, *location(eqn.source))
        if self.recorder is not None:
            self.recorder.begin(eqn)
        self.prepare(frame, eqn, args)
        opened = list(self.open_registers)
        outs = self.apply(op, args, eqn.params, [v.aval for v in eqn.outvars])
        self.finish_registers(opened)
        frame.operands = ()
        for v, out in zip(eqn.outvars, outs, strict=True):
            if out.shape != v.aval.shape or out.dtype != v.aval.dtype:
                raise AssertionError(f"cpu rule of {op.name} gave {out.aval}, expected {v.aval}")
            frame.bind(v, out)
        if self.recorder is not None:
            self.recorder.results(eqn, outs)
        for out in outs:
            if out.lazy and (out.size <= self.small or out.depth > DEEP):
                self.materialize(out, "a few elements" if out.size <= self.small else "a long chain of data movement")
        guard(self, eqn, outs)
        if self.recorder is not None:
            self.recorder.end()
        over = [frame.drop(a) for a in {a for a in eqn.invars if isinstance(a, Var)}
                if frame.last_use[a] == frame.position]
        self.release_operands(args, outs, over)

    def release_operands(self, args: Sequence[LoweredArray], outs: Sequence[LoweredArray],
                         over: Sequence[LoweredArray | None]) -> None:
        """Stores definitions because of which large memory would stay: those of many arrays that nothing else reads any
        more, and small parts of an array that is read for the last time (`over`)."""
        held = tuple(dict.fromkeys(b for a in args for b in (a.holds if a.lazy else _large(a))))
        for out in outs:
            if held and out.lazy:
                out.holds = held
                if len(held) > MOST_HELD and len(self._only_held(held)) > MOST_HELD:
                    self.materialize(out, f"else {len(held)} large arrays would have to stay")
        for buffer in {b for a in over if a is not None and not a.lazy for b in _large(a)}:
            readers = [a for a in self.live_here() if a.lazy and buffer in a.holds]
            if 4 * sum(a.aval.nbytes for a in readers) <= buffer.nbytes and buffer in self._only_held((buffer,)):
                for a in readers:
                    self.materialize(a, "the larger array that it is a part of can go")

    def _only_held(self, held: Sequence[Buffer]) -> set[Buffer]:
        """Those buffers of which no array wanted later is a part."""
        wanted = {a.storage.buffer for a in (*self.live_here(), *self.live_outside()) if a.storage is not None}
        return set(held) - wanted

    def apply(self, op: Any, args: Sequence[LoweredArray], params: dict[str, Any],
              out_avals: Sequence[Any]) -> list[LoweredArray]:
        """Calls the cpu rule of an operation."""
        rule = op.cpu
        if isinstance(rule, Missing):
            raise NotImplementedError(f"'{op.name}' has no native lowering on the CPU machine yet: {rule.why}")
        if isinstance(rule, Expand):
            raise NotImplementedError(f"'{op.name}': Expand must be resolved before lowering")
        if op.elementwise:
            cost = cost_of(op)
            return [self.elementwise(lambda *xs: rule(self, *xs, **params), *args, dtype=out_avals[0].dtype, cost=cost)]
        out = rule(self, *args, **params)
        outs = list(out) if op.multiple else [out]
        for o in outs:
            if o.lazy and not o.parents:
                self.reads_from(o, args)
        return outs

    def prepare(self, frame: Frame, eqn: JaxprEqn, args: Sequence[LoweredArray]) -> None:
        """Stores definitions that this equation, with later ones, would compute too often."""
        op = eqn.primitive
        once = READS_ONCE <= op.traits
        out_size = 0 if _spreads_short_rows(eqn) else max((v.aval.size for v in eqn.outvars), default=0)
        for k, (atom, a) in enumerate(zip(eqn.invars, args, strict=True)):
            if not a.lazy or a.cost == 0 or k == 2 and _fills_window(eqn):
                continue
            uses, reductions = (frame.uses[atom], frame.passes.get(atom, 0)) if isinstance(atom, Var) else (1, 0)
            repeated = not op.elementwise and a.cost > CHEAP and (
                not once and out_size > a.size
                or uses > 1 and not computed_again(a, reductions))
            in_order = a.cost >= HEAVY and _goes_in_order(eqn) and any(p.own >= HEAVY for p in a.reachable() if p.lazy)
            if repeated or in_order or self._long(a) and not once:
                reads = f"read {uses} times" if uses > 1 else f"{op.name} reads elements several times"
                reads = reads if repeated else f"{op.name} reads one element after the other"
                cost = f"costs {operations(a.cost)} per element"
                self._store_wanted(frame, a, f"{reads}, and it {cost}" if repeated or in_order
                                   else f"{cost}, enough for one loop")

    def _long(self, a: LoweredArray) -> bool:
        return a.cost > LONG and a.work() > LONG

    def _store_wanted(self, frame: Frame, a: LoweredArray, why: str) -> None:
        """Stores a definition, and in the same loop those parts of it that are wanted later, which would be computed
        again."""
        if a.source is not None or a.size <= self.small:
            self.materialize(a, why)
            return
        least = WANTED_FAR[0] if a.aval.nbytes >= WANTED_FAR[1] else WANTED
        parts = {id(p) for p in a.reachable() if p.pointwise and p.lazy and p.shape == a.shape and p.cost >= least}
        items = [(a, self.temporary(a.aval))]
        for v, x in frame.env.items():
            if x is not a and id(x) in parts and frame.last_use.get(v, -1) > frame.position:
                parts.discard(id(x))
                items.append((x, self.temporary(x.aval)))
        self.store_all(items, why)

    def put_all(self, items: Sequence[tuple[LoweredArray, Storage]], why: str = "") -> None:
        """Writes arrays into storages: related definitions of one shape in one loop nest, memory by copies."""
        lazy = [(a, s) for a, s in items if a.lazy]
        stored = [(a, s) for a, s in items if not a.lazy]
        fresh: dict[tuple, list[tuple[LoweredArray, Storage]]] = {}
        seen: set[int] = set()
        for a, s in lazy:
            twin = self.wrapped(_in_own_axes(a)) if id(a) in seen or a.source is not None else a
            seen.add(id(a))
            fresh.setdefault((twin.shape, twin.flat is not None), []).append((twin, s))
        for group in fresh.values():
            for part in _related(group):
                self.store_all(part, why)
        for a, s in stored:
            if a.storage is not s:
                self._copy_into(a, s, why and f"{why}, which is in other memory already")


def _in_own_axes(x: LoweredArray) -> LoweredArray:
    """The array of whose elements x is made by joining its last axes: their places need no division in its own axes."""
    while x.lazy and x.flat is None and x.source is not None and prod(x.source.shape[-1:]) < prod(x.shape[-1:]):
        x = x.source
    return x


def _related(group: Sequence[tuple[LoweredArray, Storage]]) -> list[list[tuple[LoweredArray, Storage]]]:
    """Parts of a group of definitions that read nothing in common, or are few: a loop over hundreds of arrays is slow
    to compile and to run. One part, if a definition reads what another one overwrites."""
    if len(group) <= TOGETHER:
        return [list(group)]
    written = {s.buffer for _, s in group}
    part_of: dict[int, int] = {}   # by array: the first definition that reads it
    joined = list(range(len(group)))
    for number, (x, own) in enumerate(group):
        read = list(x.reachable())
        if any(a.storage is not None and a.storage.buffer in written and a.storage.buffer is not own.buffer for a in read):
            return [list(group)]
        for a in read:
            if a.size == x.size:
                joined[_first(joined, number)] = _first(joined, part_of.setdefault(id(a), number))
    parts: dict[int, list[tuple[LoweredArray, Storage]]] = {}
    for number, item in enumerate(group):
        parts.setdefault(_first(joined, number), []).append(item)
    return _packed(list(parts.values()))


def _first(joined: list[int], number: int) -> int:
    """Of the definitions that are joined with one, the one that stands for all."""
    while joined[number] != number:
        joined[number] = joined[joined[number]]
        number = joined[number]
    return number


def _packed(parts: Sequence[list[tuple[LoweredArray, Storage]]]) -> list[list[tuple[LoweredArray, Storage]]]:
    """Small parts joined, in their order."""
    packed: list[list[tuple[LoweredArray, Storage]]] = [[]]
    for part in parts:
        if packed[-1] and len(packed[-1]) + len(part) > TOGETHER:
            packed.append([])
        packed[-1] += part
    return packed


def _goes_in_order(eqn: JaxprEqn) -> bool:
    """Whether elements are read one by one, which takes longer than computing them side by side and storing them."""
    return SCATTERS <= eqn.primitive.traits and not eqn.params["unique_indices"]


def _fills_window(eqn: JaxprEqn) -> bool:
    """Whether an update is one window that is most of the array: then its elements are computed where they go."""
    if not SCATTERS <= eqn.primitive.traits:
        return False
    operand, indices, updates = (a.aval for a in eqn.invars)
    return prod(indices.shape[:-1]) == 1 and 2 * updates.size >= operand.size


def _spreads_short_rows(eqn: JaxprEqn) -> bool:
    """Whether elements are only repeated along last axes so short that they are written out, side by side."""
    if not BROADCASTS <= eqn.primitive.traits:
        return False
    shape, given = eqn.params["shape"], eqn.invars[0].aval.shape
    kept = dict(zip(eqn.params["broadcast_dimensions"], given, strict=True))
    spread = [d for d, n in enumerate(shape) if n != kept.get(d, 1)]
    return bool(spread) and prod(shape[spread[0]:]) == prod(shape[d] for d in spread) <= SHORT_ROW


def cost_of(op: Op) -> float:
    """What an elementwise operation takes per element, in additions."""
    return op.cost or scalar_cost(op.function or "")


def needed_eqns(jaxpr: Jaxpr) -> list[bool]:
    """Which equations the results (or effects) need."""
    live = {v for v in jaxpr.outvars if isinstance(v, Var)}
    flags = []
    for eqn in reversed(jaxpr.eqns):
        keep = bool(eqn.effects) or any(v in live for v in eqn.outvars)
        flags.append(keep)
        if keep:
            live.update(a for a in eqn.invars if isinstance(a, Var))
    return flags[::-1]


def _large(x: LoweredArray) -> tuple[Buffer, ...]:
    """The memory of an array, if it is large and could be used for something else."""
    storage = x.storage
    return (storage.buffer,) if storage is not None and storage.buffer.kind == "temp" and storage.buffer.nbytes >= HELD else ()


def operations(cost: float) -> str:
    """An estimated cost in words."""
    return f"about {cost:.0f} operation{'' if round(cost) == 1 else 's'}"


def location(frame: Any) -> tuple[str | None, int]:
    """File and line of a source frame."""
    shown = frame.frame if isinstance(frame, source.Source) else frame
    return (shown.file, shown.line) if shown is not None else (None, 0)
