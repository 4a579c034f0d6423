"""Liveness of arrays: which are read after the current equation, in the program being lowered and in those around it.

Whoever overwrites memory asks here first. A `Frame` is one jaxpr on the way; the last use of each of its variables is known
before its first equation is lowered.
"""
from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from numjet.core.ir import Jaxpr, JaxprEqn, Var
from numjet.cpu.ir.nodes import Buffer
from numjet.cpu.lowering.arrays.values import LoweredArray, reachable
from numjet.cpu.lowering.function_builder import FunctionBuilder
from numjet.cpu.lowering.loops.shifts import makers_of
from numjet.cpu.lowering.moved_reads import evaluations
from numjet.cpu.lowering.rematerialization import passes


class Frame:
    """One jaxpr being lowered.

    environment: arrays by variable. last_use, uses: by variable, the number of the last equation that reads it and how many
    do. passes: see rematerialization.py; evaluations: see moved_reads.py. position: the number of the current equation, whose
    operands are live; pinned: arrays that are live throughout. barrier: its statements are inside a loop or branch of the
    frames around it.
    """

    __slots__ = ("_live", "_makers", "_names", "_spills", "barrier", "environment", "eqn", "evaluations", "jaxpr", "last_use",
                 "operands", "passes", "pinned", "position", "uses")

    def __init__(self, jaxpr: Jaxpr, needed: list[bool], barrier: bool):
        self.jaxpr, self.barrier = jaxpr, barrier
        self._makers: dict[Var, JaxprEqn] | None = None
        self.environment: dict[Var, LoweredArray] = {}
        self._names: dict[int, Var] = {}           # by array: its variable
        self._live: dict[Var, LoweredArray] = {}   # arrays that are read later, except those that were found in registers
        self._spills = 0                           # at the time of that
        self.last_use: dict[Var, int] = {}
        self.uses: Counter[Var] = Counter()
        self.passes, self.evaluations = passes(jaxpr, needed), evaluations(jaxpr, needed)
        reads = [(k, a) for k, eqn in enumerate(jaxpr.eqns) if needed[k] for a in eqn.invars]
        for k, a in [*reads, *((len(jaxpr.eqns), a) for a in jaxpr.outvars)]:
            if isinstance(a, Var):
                self.last_use[a] = k
                self.uses[a] += 1
        self.position = -1
        self.eqn: JaxprEqn | None = None
        self.operands: Sequence[LoweredArray] = ()
        self.pinned: Sequence[LoweredArray] = ()

    @property
    def makers(self) -> dict[Var, JaxprEqn]:
        """By variable, the equation that makes it."""
        if self._makers is None:
            self._makers = makers_of(self.jaxpr)
        return self._makers

    def bind(self, v: Var, a: LoweredArray) -> None:
        """Makes an array the value of a variable."""
        self.environment[v] = a
        self._names[id(a)] = v
        if v in self.last_use:
            self._live[v] = a

    def drop(self, v: Var) -> LoweredArray | None:
        """Forgets a variable; returns its value."""
        self._live.pop(v, None)
        found = self.environment.pop(v, None)
        if found is not None and self._names.get(id(found)) is v:
            del self._names[id(found)]
        return found

    def is_read_later(self, a: LoweredArray) -> bool:
        """Whether equations after the current one read an array by its variable."""
        v = self._names.get(id(a))
        return v is not None and self.last_use.get(v, -1) > self.position

    def dead_after(self, eqn: JaxprEqn) -> list[Var]:
        """The variables that the current equation reads last."""
        return [a for a in {a for a in eqn.invars if isinstance(a, Var)} if self.last_use[a] == self.position]

    def live(self, spills: int) -> Iterator[LoweredArray]:
        """Arrays read after the current equation that are not in registers, and its operands. spills: how many arrays have
        left registers so far; then all are looked at again."""
        if spills != self._spills:
            self._live = {v: a for v, a in self.environment.items() if v in self.last_use}
            self._spills = spills
        for v in [v for v, a in self._live.items() if a.registers is not None]:
            del self._live[v]
        for v, a in self._live.items():
            if self.last_use[v] > self.position:
                yield a
        yield from self.operands
        yield from self.pinned


class Liveness:
    """The frames being lowered, innermost last."""

    def __init__(self, ir: FunctionBuilder):
        self.ir = ir
        self.frames: list[Frame] = []

    @property
    def frame(self) -> Frame:
        """The innermost frame."""
        return self.frames[-1]

    @property
    def operands(self) -> Sequence[LoweredArray]:
        """The operands of the current equation."""
        return self.frames[-1].operands if self.frames else ()

    def outside(self) -> Iterator[LoweredArray]:
        """Live arrays of frames around the innermost loop or branch."""
        frames = list(self.frames)
        while frames and not frames.pop().barrier:
            pass
        for f in frames:
            yield from f.live(self.ir.spills)

    def here(self) -> Iterator[LoweredArray]:
        """Live arrays of the frames inside the innermost loop or branch."""
        for f in reversed(self.frames):
            yield from f.live(self.ir.spills)
            if f.barrier:
                return

    def everywhere(self) -> Iterator[LoweredArray]:
        """Live arrays of all frames."""
        yield from self.here()
        yield from self.outside()

    def may_overwrite(self, x: LoweredArray) -> bool:
        """Whether the memory of x is the program's own, and no other live array needs it."""
        storage = x.storage
        if not storage.owned:
            return False
        operand = sum(a is x for a in self.operands)
        if operand > 1:
            return False
        here = list(self.here())
        if sum(a is x for a in here) > operand or any(a is not x and a.uses(storage.buffer) for a in here):
            return False
        return not any(a.reads(storage.buffer) for a in self.outside())

    def buffers_read(self) -> set[Buffer]:
        """The memory that live arrays are in or are computed from."""
        return {a.storage.buffer for a in reachable(self.everywhere()) if a.storage is not None}

    @contextmanager
    def operands_consumed(self, pinned: Sequence[LoweredArray] = ()) -> Iterator[None]:
        """While an operation's programs are lowered, its operands belong to them; `pinned` ones stay live throughout."""
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
