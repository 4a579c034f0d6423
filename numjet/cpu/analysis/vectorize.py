"""Vectorization analysis: which loops become vector code, and with how many lanes."""
from __future__ import annotations

from numjet.cpu.analysis.affine import AffineForms
from numjet.cpu.ir.nodes import INT64, MATH, Carry, Comment, Expr, For, If, Let, Stmt, Store, Switch, While
from numjet.cpu.ir.traversal import expressions, operands, postorder, static_trips, walk
from numjet.cpu.target import Target
from numjet.foundation.record import Record

SMALL_BRANCH = 40
LARGE_BODY = 400
LONG_BODY = 96   # operations: two iterations of so many are not in the window in which a CPU reorders instructions


class Lanes(Record):
    """A loop's vector code: a main loop with `lanes`, a rest with `rest` lanes (masked, or 1 for a scalar rest).

    varying: ids of the variables whose value differs from lane to lane. long: whether the body has many operations, beside
    which a mask, or an iteration that runs twice, costs nothing.
    """

    lanes: int
    rest: int
    masked: bool
    varying: frozenset[int]
    long: bool


def choose_lanes(loop: For, target: Target, sums: AffineForms) -> Lanes | None:
    """How to vectorize `loop`; None: emit it serially.

    Of nested vector loops the innermost is taken, unless all inner ones are short and the outer one walks
    through memory contiguously.
    """
    if loop.mode not in ("vector", "parallel") or static_trips(loop) == 1:
        return None
    facts = Facts(loop, sums)
    if not facts.possible:
        return None
    inner = [s for s in walk(loop.body) if isinstance(s, For) and s.mode in ("vector", "parallel")]
    width = max(1, target.vector_bytes // facts.widest)
    if any(not _is_short(s, width) and Facts(s, sums).possible for s in inner):
        return None
    if inner and not facts.contiguous and any(Facts(s, sums).possible for s in inner):
        return None
    return _size(loop, facts, width, target)


def _is_short(loop: For, width: int) -> bool:
    trips = static_trips(loop)
    return trips is not None and trips < 2 * width


def _size(loop: For, facts: Facts, width: int, target: Target) -> Lanes | None:
    trips = static_trips(loop)
    size, live = facts.pressure()
    unroll = 1
    most = 1 if facts.calls or size > LARGE_BODY else 8 if size >= 32 or loop.carries else 4
    while unroll < most and 2 * unroll * (live + 1) <= target.registers:
        unroll *= 2
    paired = unroll == 1 < most and target.registers <= 16 and size >= LONG_BODY and facts.straight
    lanes = width * (2 if paired else unroll)
    if trips is not None:
        while lanes > width and lanes > trips:
            lanes //= 2
        while lanes > 1 and lanes > trips:
            lanes //= 2
        if target.masks and trips < width and lanes < trips:
            return Lanes(2 * lanes, 2 * lanes, True, facts.varying, False)
    if lanes < 2:
        return None
    rest = lanes if paired else min(width, lanes)
    return Lanes(lanes, rest, target.masks, facts.varying, size >= LONG_BODY)


class Facts:
    """What is known about running the iterations of a loop side by side."""

    def __init__(self, loop: For, sums: AffineForms):
        self.loop, self.sums = loop, sums
        self._varying = {loop.var.id}
        self._varies: dict[int, bool] = {}
        self._spread_carries()
        self.widest, self.calls = 1, False
        self.steps: list[int] = []
        self.possible = all(c.combine is not None for c in loop.carries) and self._block(loop.body)
        if self.possible:
            self._look(loop)

    @property
    def varying(self) -> frozenset[int]:
        """Ids of variables that differ between lanes."""
        return frozenset(self._varying)

    @property
    def contiguous(self) -> bool:
        """Whether most accesses touch neighbouring elements, or one element."""
        return sum(step in (0, 1, -1) for step in self.steps) * 4 >= len(self.steps) * 3

    @property
    def straight(self) -> bool:
        """Whether iterations are chains of operations on numbers alone: no sums, no loops inside. If such a chain is long, the
        CPU waits for its results, as it does not see the next iteration yet. Two vectors side by side fill that time, though
        some of their numbers do not fit 16 registers: `log_ndtr` takes three fifths of the time, no function more."""
        return not self.loop.carries and not any(isinstance(s, For | While) for s in walk(self.loop.body))

    # --- what varies ---

    def _spread_carries(self) -> None:
        """A carry varies when its start or its next value does: to a fixed point."""
        before = -1
        self._varying.update(c.var.id for c in self.loop.carries)
        while before != len(self._varying):
            before = len(self._varying)
            self._varies.clear()
            self._spread(self.loop.body)

    def _spread(self, block: list[Stmt]) -> None:
        for stmt in block:
            match stmt:
                case Let(var=var, value=value):
                    self._mark([var], [value])
                case For(carries=carries, body=body):
                    self._carries(carries, body)
                case While(carries=carries):
                    self._carries(carries, stmt.cond_body)
                    self._carries(carries, stmt.body)
                case If(cond=cond, results=results):
                    self._spread(stmt.then)
                    self._spread(stmt.orelse)
                    for out, yes, no in results:
                        self._mark([out], [cond, yes, no])
                case Switch(index=index, results=results):
                    for branch in stmt.branches:
                        self._spread(branch)
                    for out, values in results:
                        self._mark([out], [index, *values])

    def _carries(self, carries: list[Carry], body: list[Stmt]) -> None:
        for c in carries:
            self._mark([c.var, c.out], [c.init])
        self._spread(body)
        for c in carries:
            self._mark([c.var, c.out], [c.next])

    def _mark(self, variables: list[Expr], values: list[Expr]) -> None:
        if any(self.varies(v) for v in values):
            for var in variables:
                if var.id not in self._varying:
                    self._varying.add(var.id)
                    self._varies.clear()

    def varies(self, expr: Expr) -> bool:
        """Whether the value of `expr` differs between lanes."""
        known = self._varies
        if expr.id not in known:
            for e in postorder([expr], known):
                known[e.id] = e.id in self._varying if e.op == "var" else any(known[a.id] for a in e.args)
        return known[expr.id]

    # --- legality ---

    def _block(self, block: list[Stmt]) -> bool:
        return all(self._stmt(stmt) for stmt in block)

    def _stmt(self, stmt: Stmt) -> bool:
        match stmt:
            case Let() | Comment():
                return True
            case Store(index=index):
                return self.varies(index)
            case For(start=start, stop=stop, body=body):
                return not self.varies(start) and not self.varies(stop) and self._block(body)
            case If(cond=cond):
                inside = self._block(stmt.then) and self._block(stmt.orelse)
                return inside and (not self.varies(cond) or self._selects(stmt))
            case While(cond=cond):
                inside = self._block(stmt.cond_body) and self._block(stmt.body)
                return inside and (stmt.idempotent_after_exit or not self.varies(cond))
            case Switch(index=index):
                return not self.varies(index) and all(self._block(branch) for branch in stmt.branches)
        return False

    def _selects(self, stmt: If) -> bool:
        """Whether both branches may be computed in every lane: not if they loop, are long, or load from one place only,
        which a mask cannot protect."""
        inner = list(walk([stmt]))
        if not all(isinstance(s, Let | Store | Comment | If) for s in inner):
            return False
        seen = list(postorder([e for s in inner for e in operands(s)]))
        safe = all(self.varies(e.args[0]) or len(e.args) > 1 or self._in_range(e) for e in seen if e.op == "load")
        return safe and len(seen) <= SMALL_BRANCH

    def _in_range(self, load: Expr) -> bool:
        total = self.sums.split(load.args[0])
        return not total.terms and 0 <= total.constant < load.attr.certain

    # --- how large ---

    def _look(self, loop: For) -> None:
        """Notes the widest element, the calls, and the steps through memory."""
        for stmt in walk([loop]):
            if isinstance(stmt, Store):
                self._access(stmt.buffer.dtype.itemsize, stmt.index)
        self.order = list(postorder(expressions([loop])))
        for expr in self.order:
            if expr.op == "load":
                self._access(expr.attr.dtype.itemsize, expr.args[0])
            elif expr.op == "libm" or expr.op in MATH:
                self.calls = True
            elif expr.dtype != INT64 and self.varies(expr):
                self.widest = max(self.widest, expr.dtype.itemsize)
        if not self.steps:
            self.widest = max(self.widest, 4)

    def _access(self, size: int, index: Expr) -> None:
        self.widest = max(self.widest, size)
        step = 0
        for term, coefficient in self.sums.split(index).terms:
            if term is self.loop.var:
                step = coefficient
            elif self.varies(term):
                step = 2**62
        self.steps.append(step)

    def pressure(self) -> tuple[int, int]:
        """(number of vector operations, most vectors alive at one time), as emitted in order."""
        vectors = [e for e in self.order if e.op not in ("var", "const") and e.dtype != INT64 and self.varies(e)]
        last = {a.id: place for place, e in enumerate(vectors) for a in e.args}
        ends: dict[int, int] = {}
        alive = most = 0
        for place, expr in enumerate(vectors):
            alive += 1
            most = max(most, alive)
            end = last.get(expr.id, place)
            ends[end] = ends.get(end, 0) + 1
            alive -= ends.pop(place, 0)
        inner = sum(c.var.id in self._varying for s in walk([self.loop]) if isinstance(s, For | While) for c in s.carries)
        return len(vectors), most + inner
