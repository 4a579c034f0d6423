"""Memory accesses by abstract execution over iteration spaces: index expressions of loop variables are evaluated for many
iterations at once, with one axis per loop. Whatever depends on data is unknown.

Both checks of memory, `races` and `unset_reads`, are such walks. They report only what certainly happens.
"""
from __future__ import annotations

from collections.abc import Iterator, MutableMapping, Sequence
from contextlib import contextmanager

import numpy as np

from numjet.cpu.ir import semantics
from numjet.cpu.ir.nodes import (
    Buffer,
    Call,
    Carry,
    Check,
    Copy,
    Expr,
    Fill,
    For,
    GemmWithEpilogue,
    If,
    Let,
    Stmt,
    Store,
    SwapBuffers,
    Switch,
    While,
)
from numjet.cpu.ir.traversal import lazy_postorder, nodes

MOST = 1 << 20    # elements of one array of indices; larger ones count as unknown
DEEPEST = 10      # most loops around a statement

Known = np.ndarray | None


class AccessWalk:
    """A walk over statements; subclasses choose the iterations to examine, and handle accesses.

    values: of variables, by id, with one axis per enclosing loop; None if unknown. definitions: of variables whose value nobody
    has asked for yet: most are data, which no index depends on. alive: the iterations in which a statement is executed.
    certain: whether it is certain that the statement is reached.
    """

    def __init__(self) -> None:
        self.values: MutableMapping[int, Known] = {}
        self.definitions: MutableMapping[int, Expr | None] = {}
        self.alive: np.ndarray = np.asarray(True)
        self.certain = True
        self.depth = 0
        self._memo: dict[int, Known] = {}

    # --- what subclasses decide ---

    def access(self, stmt: Stmt, buffer: Buffer, index: Known, write: bool) -> None:
        """Hook: a statement accesses elements of a buffer; index: None if unknown."""

    def call(self, stmt: Call) -> None:
        """Hook: a library function accesses memory."""

    def swap(self, stmt: SwapBuffers) -> None:
        """Hook: buffers are swapped."""

    def loop(self, stmt: For) -> None:
        """Hook: a loop is executed, after its bounds were read."""
        raise NotImplementedError

    def positions(self, trips: int) -> np.ndarray:
        """The iterations of a loop to examine, from 0; more than MOST make the loop unknown."""
        return np.arange(min(trips, MOST + 1))

    # --- values ---

    def bind(self, var: Expr, value: Known) -> None:
        """Binds a variable to a value."""
        self._bind(var, None)
        self.values[var.id] = value

    def _bind(self, var: Expr, definition: Expr | None) -> None:
        if var.id in self._memo:
            self._memo.clear()   # its users are in there, too
        self.values[var.id], self.definitions[var.id] = None, definition

    def value(self, expr: Expr) -> Known:
        """The value of an expression in all examined iterations; None if unknown."""
        for e in lazy_postorder(expr, self._memo, self._needed):
            self._memo[e.id] = self._evaluate(e)
        return self._memo[expr.id]

    def _needed(self, expr: Expr) -> Sequence[Expr]:
        """What must be evaluated before an expression is."""
        if expr.op == "var":
            definition = self.definitions.get(expr.id)
            return () if definition is None else (definition,)
        return () if expr.op in ("load", "libm") else expr.args

    def _variable(self, var: Expr) -> Known:
        definition = self.definitions.get(var.id)
        if definition is not None:
            self.values[var.id], self.definitions[var.id] = self._memo[definition.id], None
        return self.values.get(var.id)

    def _evaluate(self, expr: Expr) -> Known:
        if expr.op == "const":
            return np.asarray(expr.attr)
        if expr.op == "var":
            return self._variable(expr)
        args = [self._memo.get(a.id) for a in expr.args]
        known = [a for a in args if a is not None]
        if len(known) < len(args) or expr.op in ("load", "libm", "lookup", "select_rare"):
            return None
        if not _small(*known):
            return None
        with np.errstate(all="ignore"):
            if expr.op in ("convert", "bitcast"):
                return np.asarray(getattr(semantics, expr.op)(known[0], expr.dtype))
            return np.asarray(semantics.apply(expr.op, *known))

    # --- statements ---

    def block(self, stmts: Sequence[Stmt]) -> None:
        """Walks over statements in order."""
        for stmt in stmts:
            self._stmt(stmt)

    def _stmt(self, stmt: Stmt) -> None:
        match stmt:
            case Let():
                self.reads(stmt, [stmt.value])
                self._bind(stmt.var, stmt.value)
            case Store():
                self.reads(stmt, [stmt.index, stmt.value])
                self.access(stmt, stmt.buffer, self.value(stmt.index), True)
            case Copy():
                self.access(stmt, stmt.source, self._run(stmt.source_start, stmt.count), False)
                self.access(stmt, stmt.target, self._run(stmt.target_start, stmt.count), True)
            case Fill():
                self.reads(stmt, [stmt.value, stmt.start, stmt.count])
                self.access(stmt, stmt.target, self._run(stmt.start, stmt.count), True)
            case SwapBuffers():
                self.swap(stmt)
            case Call():
                self._call(stmt)
            case Check():
                self.reads(stmt, [stmt.ok, *stmt.values])
            case For():
                self.reads(stmt, [stmt.start, stmt.stop, *(c.init for c in stmt.carries)])
                self.loop(stmt)
            case While():
                self.reads(stmt, [c.init for c in stmt.carries])
                self.repeat(stmt)
            case If() | Switch():
                self._branches(stmt)

    def _run(self, start: Expr, count: Expr) -> Known:
        first, n = self.value(start), self.value(count)
        if first is None or n is None or n.ndim or first.size * max(1, int(n)) > MOST:
            return None
        return first + np.arange(int(n))

    def _call(self, stmt: Call) -> None:
        self.reads(stmt, [a[1] if isinstance(a, tuple) else a for a in stmt.args])
        self.call(stmt)
        if isinstance(stmt, GemmWithEpilogue):
            with self.perhaps():
                self.block(stmt.body)

    def _branches(self, stmt: If | Switch) -> None:
        if isinstance(stmt, Switch):
            self.reads(stmt, [stmt.index])
            with self.perhaps():
                for branch in stmt.branches:
                    self.block(branch)
            return
        self.reads(stmt, [stmt.cond])
        cond = self.value(stmt.cond)
        for block, wanted in ((stmt.then, cond), (stmt.orelse, None if cond is None else ~cond)):
            with self.perhaps() if wanted is None else self.where(wanted):
                self.block(block)

    def repeat(self, stmt: While) -> None:
        """Walks over a While, whose number of iterations is unknown."""
        self.block(stmt.cond_body)
        self.reads(stmt, [stmt.cond])
        with self.perhaps():
            self.block(stmt.body)
            self.reads(stmt, [c.next for c in stmt.carries])

    @contextmanager
    def perhaps(self) -> Iterator[None]:
        """Context manager for statements that may not be executed."""
        before, self.certain = self.certain, False
        try:
            yield
        finally:
            self.certain = before

    @contextmanager
    def where(self, condition: np.ndarray) -> Iterator[None]:
        """Context manager for statements executed where a condition holds."""
        before, self.alive = self.alive, self.alive & condition
        try:
            yield
        finally:
            self.alive = before

    def iterations(self, stmt: For) -> tuple[np.ndarray, np.ndarray] | None:
        """The examined values of a loop's variable, along an axis of its own, and which of them are reached; None if the
        bounds are unknown."""
        start, stop = self.value(stmt.start), self.value(stmt.stop)
        if start is None or stop is None or self.depth >= DEEPEST:
            return None
        trips = int(np.max(stop - start, initial=0))
        own = self.positions(max(trips, 0)).reshape((-1,) + (1,) * (DEEPEST - self.depth))  # and one axis more, for runs
        values = start + own
        return (values, values < stop) if _small(values, self.alive) else None

    @contextmanager
    def inside(self, stmt: For, values: Known, reached: np.ndarray) -> Iterator[None]:
        """Context manager for the body of a loop."""
        self.bind(stmt.var, values)
        self.depth += 1
        try:
            with self.where(reached):
                yield
        finally:
            self.depth -= 1
            self._memo.clear()

    def walk(self, stmt: For, found: tuple[np.ndarray, np.ndarray] | None) -> None:
        """Walks over a loop for the iterations that `iterations` found."""
        if found is not None and not found[0].size:
            return
        with self.inside(stmt, *(found if found is not None else (None, np.asarray(True)))):
            if found is None:
                with self.perhaps():
                    self.body(stmt)
            else:
                self.body(stmt)

    def body(self, stmt: For) -> None:
        """Walks over the body of a loop and the next values of its carries."""
        self.block(stmt.body)
        self.reads(stmt, _nexts(stmt.carries))

    # --- loads ---

    def reads(self, stmt: Stmt, roots: Sequence[Expr]) -> None:
        """Visits the loads in expressions that a statement certainly evaluates."""
        if not self.certain:
            return
        before = self.alive
        for load, reached in self._loads(roots):
            mask = self._where(reached, load.args[1]) if len(load.args) > 1 else reached
            if mask is None:
                continue
            self.alive = mask
            self.access(stmt, load.attr, self.value(load.args[0]), False)
            self.alive = before

    def _loads(self, roots: Sequence[Expr]) -> Iterator[tuple[Expr, np.ndarray]]:
        """Every load, once, with the iterations in which its value matters: those in which a select around it chooses it."""
        order = nodes(roots)
        above = _above_loads(order)
        reached: dict[int, np.ndarray] = {root.id: self.alive for root in roots}
        for top in order:
            here = reached.get(top.id)
            if here is None or top.id not in above:
                continue
            if top.op == "load":
                yield top, here
            for arg, sign in zip(top.args, _signs(top), strict=True):
                if arg.id in above:
                    self._reach(reached, arg, here if sign is None else self._where(here, top.args[0], sign))

    def _reach(self, reached: dict[int, np.ndarray], expr: Expr, mask: Known) -> None:
        """Adds iterations to those in which an expression is needed."""
        before = reached.get(expr.id)
        if mask is None or before is self.alive or before is mask:
            return
        reached[expr.id] = mask if before is None or mask is self.alive or not _small(before, mask) else before | mask

    def _where(self, mask: np.ndarray, condition: Expr, sign: bool = True) -> Known:
        """The iterations of a mask in which a condition holds, or does not; None if unknown."""
        known = self.value(condition)
        if known is None or not _small(mask, known):
            return None
        return mask & (known if sign else ~known)


def _nexts(carries: Sequence[Carry]) -> list[Expr]:
    return [c.next for c in carries]


def _small(*arrays: np.ndarray) -> bool:
    return np.prod(np.broadcast_shapes(*(a.shape for a in arrays)), dtype=float) <= MOST


def _above_loads(order: Sequence[Expr]) -> set[int]:
    """The ids of loads and of what is computed from them; order: users before operands."""
    above: set[int] = set()
    for e in reversed(order):
        if e.op == "load" or any(a.id in above for a in e.args):
            above.add(e.id)
    return above


def _signs(expr: Expr) -> Sequence[bool | None]:
    """For each operand, what the first one must be for it to matter; None if it always does."""
    return (None, True, False) if expr.op in ("select", "select_rare") else (None,) * len(expr.args)
