"""What the lowering decided, written down when somebody asks (see `explain`): why arrays were stored and memory copied."""
from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from numjet.core.ir import JaxprEqn, Var
from numjet.cpu.ir.nodes import Buffer, Copy, For, Stmt
from numjet.foundation.record import Fields

if TYPE_CHECKING:
    from numjet.cpu.lowering.arrays.values import LoweredArray, Storage


class Made(Fields):
    """An array that an equation made: `cost` and `lazy` are those of the moment when it was made, `own` says whether the
    equation brought the buffer that the array was in by then; loop: the innermost loop around the equation."""
    eqn: JaxprEqn
    var: Var
    array: LoweredArray
    cost: float
    lazy: bool
    own: bool
    loop: JaxprEqn | None


class Recorder:
    """Follows one lowering; `explain.explain` reads it. Arrays and blocks are kept, as they are known by their id."""

    def __init__(self) -> None:
        self.made: list[Made] = []
        self.consumers: dict[Var, list[JaxprEqn]] = {}
        self.reasons: dict[int, str] = {}                                     # by array: why it was stored
        self.buffers: dict[Buffer, tuple[JaxprEqn | None, str]] = {}          # what a buffer holds, and why
        self.copies: dict[int, tuple[Copy, JaxprEqn | None, str]] = {}        # by statement
        self.computed: dict[int, tuple[list[Stmt], list[JaxprEqn]]] = {}      # by block: deferred arrays expanded in it
        self.loops: dict[Any, tuple[int | None, list[JaxprEqn]]] = {}         # by key: iterations, what it is there for
        self.kept: dict[Buffer, str] = {}                                     # what is not stored as a whole, and why
        self._owners: dict[int, Made] = {}
        self._open: list[tuple[JaxprEqn, int, int]] = []                      # and how many buffers and arrays were before
        self._writing: list[JaxprEqn] = []

    @property
    def current(self) -> JaxprEqn | None:
        """The equation that is being lowered; None while the results are written."""
        return self._open[-1][0] if self._open else None

    def snapshot(self) -> dict[str, Any]:
        """What is known so far, for `restore`, should what follows be given up."""
        known = {name: value.copy() for name, value in vars(self).items()}
        known["consumers"] = {v: list(eqns) for v, eqns in self.consumers.items()}
        known["computed"] = {k: (block, list(eqns)) for k, (block, eqns) in self.computed.items()}
        return known

    def restore(self, known: dict[str, Any]) -> None:
        """Forgets what came after a snapshot."""
        vars(self).update(known)

    def begin(self, eqn: JaxprEqn) -> None:
        """An equation's lowering begins."""
        self._open.append((eqn, len(self.buffers), len(self.made)))
        for var in {a for a in eqn.invars if isinstance(a, Var)}:
            self.consumers.setdefault(var, []).append(eqn)

    def end(self) -> None:
        """The lowering of the current equation is over."""
        self._open.pop()

    def results(self, eqn: JaxprEqn, outs: Sequence[LoweredArray]) -> None:
        """The current equation gave these arrays. The results of an operation with inner programs are recorded in these."""
        _, buffers, arrays = self._open[-1]
        if len(self.made) > arrays:
            return
        fresh = set(list(self.buffers)[buffers:])
        loop = next((e for e, _, _ in reversed(self._open[:-1]) if e.primitive.carries is not None), None)
        for var, out in zip(eqn.outvars, outs, strict=True):
            if id(out) not in self._owners:
                own = out.storage is not None and out.storage.buffer in fresh
                made = self._owners[id(out)] = Made(eqn, var, out, out.cost, out.lazy, own, loop)
                self.made.append(made)

    def origin(self, x: LoweredArray) -> JaxprEqn | None:
        """The equation whose result an array is, seen through wrappers; the current one for a rule's own arrays."""
        while id(x) not in self._owners and len(x.parents) == 1:
            (x,) = x.parents
        made = self._owners.get(id(x))
        return self.current if made is None else made.eqn

    def buffer(self, made: Buffer) -> None:
        """A buffer was made."""
        name = "result" if self.current is None else f"result of {self.current.primitive.name}"
        self.buffers[made] = self.current, name

    @contextmanager
    def storing(self, items: Sequence[tuple[LoweredArray, Storage]], why: str) -> Iterator[None]:
        """Context manager for a loop nest that stores deferred arrays."""
        why = why or self._wanted()
        origins = [self.origin(x) for x, _ in items]
        for (x, storage), eqn in zip(items, origins, strict=True):
            self.reasons[id(x)] = why
            self.buffers[storage.buffer] = eqn, why
        saved, self._writing = self._writing, [eqn for eqn in origins if eqn is not None]
        try:
            yield
        finally:
            self._writing = saved

    def kept_in_registers(self, x: LoweredArray, why: str) -> None:
        """A small deferred array was evaluated."""
        self.reasons[id(x)] = why or self._wanted()

    def copied(self, stmt: Copy, x: LoweredArray | None, why: str) -> None:
        """A copy of an array (None: an argument) was emitted."""
        eqn = self.origin(x) if self.current is None and x is not None else self.current
        self.copies[id(stmt)] = stmt, eqn, why or self._wanted()

    def defined(self, x: LoweredArray, block: list[Stmt]) -> None:
        """A deferred array was expanded in a block."""
        made = self._owners.get(id(x))
        if made is not None:
            self.computed.setdefault(id(block), (block, []))[1].append(made.eqn)

    def loop(self, key: Any, trips: Any) -> None:
        """A loop was made; `key` is its variable, or of a `While` its condition: later passes keep both."""
        current = [] if self.current is None else [self.current]
        self.loops[key] = trips if isinstance(trips, int) else None, list(self._writing) or current

    def joined(self, loop: For, other: For) -> None:
        """A loop, with all that is in its body, becomes part of another one."""
        if loop.var in self.loops and other.var in self.loops:
            trips, eqns = self.loops[loop.var]
            self.loops[loop.var] = trips, [*eqns, *self.loops[other.var][1]]
        computed = self.computed.get(id(other.body))
        if computed is not None:
            self.computed.setdefault(id(loop.body), (loop.body, []))[1].extend(computed[1])

    def split(self, loop: For, rows: For, columns: For) -> None:
        """A loop may become one over rows with one over columns inside."""
        if loop.var in self.loops:
            for part in (rows, columns):
                self.loops[part.var] = int(part.stop.attr), self.loops[loop.var][1]
        computed = self.computed.get(id(loop.body))
        if computed is not None:
            self.computed[id(columns.body)] = columns.body, list(computed[1])

    def _wanted(self) -> str:
        return "result" if self.current is None else f"{self.current.primitive.name} reads it from memory"
