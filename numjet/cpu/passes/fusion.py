"""Loop fusion: loops over the same data become one, so that it is read from memory once.

Two loops of as many iterations are joined where each iteration of the second needs of the first only the iteration of the same
number. Sums of one array are such loops, and the maximum, the sum of exponentials and the quotients of the rows of a softmax.
Joined loops over rows go through each row while it is in the cache; joined loops over elements read them once.

A loop over all elements of a matrix is joined with one over its rows, as one over rows itself.

What stands between two loops and is needed by the second moves in front of the first; a check that may be deferred stays
behind both, so that the least and greatest index are found by the loop that reads there. Small loops in between that need the
first, such as the division of a sum of every row by its length, are joined with both.
"""
from __future__ import annotations

from collections.abc import Iterable, Sequence
from copy import copy
from typing import TypeGuard

from numjet.cpu.analysis.affine import AffineForms
from numjet.cpu.analysis.cost import UNKNOWN_TRIPS, block_ns
from numjet.cpu.analysis.dependence import separate
from numjet.cpu.analysis.scalar_costs import scalar_cost
from numjet.cpu.ir.nodes import (
    INT64,
    Buffer,
    Call,
    Carry,
    Check,
    Comment,
    Copy,
    Expr,
    Fill,
    For,
    Function,
    If,
    Let,
    Stmt,
    Store,
    Switch,
    While,
)
from numjet.cpu.ir.rewrite import Rewrite
from numjet.cpu.ir.traversal import (
    binds,
    blocks,
    bulk_reads,
    locations,
    nodes,
    operands,
    static_trips,
    walk,
    writes,
    written,
)
from numjet.cpu.passes.manager import Pass
from numjet.cpu.remarks import Recorder
from numjet.cpu.target import TYPICAL, Target
from numjet.foundation.record import Fields

CACHED = TYPICAL.l2 // 4   # bytes that the iterations of joined loops may touch, each, to find them in the cache again
WINDOW = 48           # statements that are looked through for a loop to join
MOST_OPERATIONS = 1000  # of joined loops without loops inside: larger code is slow to compile, and gains little
MOST_CARRIES = 8      # of a joined loop without loops inside
MOST_BUFFERS = 16
LARGE = 1 << 18       # bytes of temporaries of which no more should be there at a time: peak memory against speed
WORTH_NS = 1000.0     # saved time from which loops are joined: it pays for compiling larger loops
FEW_VECTORS = 4       # of a loop, from which the last one, a partial one, matters little
_MOVABLE = (Let, Store, For, While, If, Switch, Copy, Fill, Comment)


def fuse(function: Function, target: Target, recorder: Recorder | None = None) -> None:
    """Joins the loops of all blocks of a function, in place, and marks those that others were joined with as `fused`; needs
    mathematics not to be expanded."""
    if sum(isinstance(s, For) for s in walk(function.body)) >= 2:
        _Fusion(function, target, recorder).block(function.body)


class _Touched(Fields):
    """What a statement reads, writes, needs and defines; barrier: it keeps its place; leaves: it may leave the function, which
    only what ends may be moved over; open_ended: it may never end."""

    reads: set[Buffer]
    writes: set[Buffer]
    uses: set[int]
    binds: set[int]
    barrier: bool
    leaves: bool
    open_ended: bool

    def __post_init__(self) -> None:
        self.buffers = self.reads | self.writes

    @staticmethod
    def of(stmt: Stmt, inside: Sequence[_Touched]) -> _Touched:
        """What a statement touches, and those inside it."""
        found = list(nodes(operands(stmt)))
        return _Touched(
            {e.attr for e in found if e.op == "load"}.union(bulk_reads(stmt), *(t.reads for t in inside)),
            set(writes(stmt)).union(*(t.writes for t in inside)),
            {e.id for e in found if e.op == "var"}.union(*(t.uses for t in inside)),
            {v.id for v in binds(stmt)}.union(*(t.binds for t in inside)),
            _keeps_place(stmt) or any(t.barrier for t in inside),
            isinstance(stmt, Check) or any(t.leaves for t in inside),
            isinstance(stmt, While) or any(t.open_ended for t in inside))

    def after(self, other: _Touched) -> bool:
        """Whether this statement must stay behind the other one."""
        return bool(self.uses & other.binds or self.reads & other.writes or self.writes & (other.reads | other.writes)
                    or (self.open_ended and other.leaves))

    def joined(self, other: _Touched) -> _Touched:
        return _Touched(self.reads | other.reads, self.writes | other.writes, self.uses | other.uses,
                        self.binds | other.binds, False, self.leaves or other.leaves, self.open_ended or other.open_ended)


def _keeps_place(stmt: Stmt) -> bool:
    """Whether nothing may be moved over a statement."""
    if isinstance(stmt, Check):
        return not stmt.deferrable
    return stmt.checked if isinstance(stmt, Call) else not isinstance(stmt, _MOVABLE)


def _exact(carry: Carry) -> bool:
    """Whether a carry combines terms, of which it does not matter in which order they are."""
    return carry.term is not None and carry.combine in ("min", "max", "or", "and") and carry.var.dtype.kind in "biu"


def _some_fit(loops: Sequence[For]) -> bool:
    """Whether there are loops with the same bounds, or of which one has the elements of another one's rows."""
    bounds = [(loop.start.id, loop.stop.id) for loop in loops]
    flat = {static_trips(loop) for loop in loops if not _nested(loop)}
    return len(set(bounds)) < len(bounds) or any(
        (static_trips(loop) or 0) * (static_trips(inner) or 0) in flat
        for loop in loops if _nested(loop) for inner in loop.body if isinstance(inner, For))


class _Block(Fields):
    """Statements, and what each touches."""

    stmts: list[Stmt]
    touched: list[_Touched]


class _Fusion:
    """Joins loops of one function."""

    def __init__(self, function: Function, target: Target, recorder: Recorder | None):
        self.function, self.exprs, self.target, self.recorder = function, function.exprs, target, recorder
        self.facts: dict[int, _Facts] = {}
        self.serial_ns: dict[int, tuple[float, For]] = {}   # by identity of the loop, which is kept here
        self.split: dict[tuple[int, int], For] = {}   # by loop and rows
        self.nbytes = sum(b.nbytes for b in (*function.inputs, *function.outputs, *function.temps, *function.consts))
        self.sums = AffineForms.of(function.body)
        self.touched: dict[int, tuple[_Touched, Stmt]] = {}   # by identity, which the statement kept here holds

    def _touched(self, stmt: Stmt) -> _Touched:
        """What a statement touches, looked up once until loops are joined, which changes statements."""
        found = self.touched.get(id(stmt))
        if found is None:
            inside = [self._touched(s) for block in blocks(stmt) for s in block]
            found = self.touched[id(stmt)] = _Touched.of(stmt, inside), stmt
        return found[0]

    def block(self, block: list[Stmt], times: int = 1) -> None:
        """Joins the loops of a block, and those inside; times: how often it is executed."""
        self.times = times
        loops = [s for s in block if isinstance(s, For) and _candidate(s)]
        if _some_fit(loops) and self.target.byte_ns * times * self.nbytes >= WORTH_NS:
            done = _Block([], [])
            for stmt in block:
                mine = self._touched(stmt)
                if not (_candidate(stmt) and not mine.barrier and self._join(done, stmt, mine)):
                    done.stmts.append(stmt)
                    done.touched.append(mine)
            block[:] = done.stmts
        for stmt in block:
            for inner in blocks(stmt):
                self.block(inner, times * _times(stmt))

    def _join(self, done: _Block, loop: For, mine: _Touched) -> bool:
        """Joins a loop with one of those before it, if there is one to be joined with."""
        if not self._worth(mine.buffers):
            return False
        window = range(len(done.stmts) - 1, max(-1, len(done.stmts) - 1 - WINDOW), -1)
        candidates = {k: pair for k in window if not done.touched[k].buffers.isdisjoint(mine.buffers)
                      and (pair := self._pair(done.stmts[k], done.touched[k], loop, mine)) is not None}
        if not candidates:
            return False
        needed: list[int] = []  # statements that the loop needs, directly or not
        group = mine            # what it and they touch
        for k in window:
            touched = done.touched[k]
            if touched.barrier:
                return False
            if k in candidates:
                first, last = candidates[k]
                late = _behind(done, k, needed)
                if not _holds_more(done, k, needed, mine) and self._together(first, [*(done.stmts[n] for n in late), last]):
                    self._commit(done, k, [n for n in needed if n not in late], late, first, last, mine)
                    self._join_again(done, done.stmts.index(first))
                    return True
            if group.after(touched):
                needed.insert(0, k)
                group = group.joined(touched)
        return False

    def _join_again(self, done: _Block, place: int) -> None:
        """Joins a loop that grew with one before it: of several arrays that it reads now, each may have been read there."""
        head = _Block(done.stmts[:place], done.touched[:place])
        loop = done.stmts[place]
        if _candidate(loop) and self._join(head, loop, done.touched[place]):
            done.stmts[:place + 1], done.touched[:place + 1] = head.stmts, head.touched

    # --- legality and profit

    def _pair(self, stmt: Stmt, touched: _Touched, loop: For, mine: _Touched) -> tuple[For, For] | None:
        """A statement and a loop as loops of the same bounds that may be joined with others; None if they are not, or there is
        too little that both touch."""
        if not _candidate(stmt) or not self._worth(touched.buffers & mine.buffers):
            return None
        first, last = stmt, loop
        if _nested(first) and not _nested(last):
            last = self._by_rows(last, first)
        elif _nested(last) and not _nested(first):
            first = self._by_rows(first, last)
        may = (self._alike(first, last, self._short(first, last)) and self._separate_alone(first)
               and self._separate_alone(last))
        return (first, last) if may else None

    def _short(self, first: For, last: For) -> bool:
        """Whether two loops are few vectors each: sums in lanes, and what is made of them. Partial vectors of sums would be
        read again before memory can hand them over."""
        return first.mode == last.mode == "vector" and (static_trips(first) or 0) < FEW_VECTORS * self.target.lanes

    def _worth(self, buffers: Iterable[Buffer]) -> bool:
        """Whether reading buffers again takes long enough."""
        return self.target.byte_ns * self.times * sum(b.nbytes for b in buffers) >= WORTH_NS

    def _by_rows(self, loop: For, nest: For) -> For:
        """A loop over all elements of a matrix as one over rows, if a nest has loops of as many rows and columns; else as it
        is."""
        elements, rows = static_trips(loop) or 0, static_trips(nest) or 1
        columns = elements // rows
        inside = [static_trips(s) for s in nest.body if isinstance(s, For)]
        plain = all(map(_exact, loop.carries)) and all(isinstance(s, Let | Store | Comment) for s in loop.body)
        if not plain or elements % rows or columns not in inside or loop.start is not nest.start or loop.start.attr:
            return loop
        key = id(loop), rows
        if key not in self.split:
            self.split[key] = self._split(loop, rows, columns)
        return self.split[key]

    def _split(self, loop: For, rows: int, columns: int) -> For:
        index, exprs = self.exprs.index, self.exprs
        row, column = exprs.var(INT64, "row"), exprs.var(INT64, "column")
        position = exprs.prim("add", exprs.prim("mul", row, index(columns)), column)
        inner = For(column, index(0), index(columns), [copy(s) for s in loop.body], [], loop.mode)
        carries = [self._carry_by_rows(c, inner) for c in loop.carries]
        Rewrite(self.function, lambda e: position if e is loop.var else e).block([inner])
        outer = For(row, index(0), index(rows), [inner], carries, "serial")
        if self.recorder is not None:
            self.recorder.split(loop, outer, inner)
        return outer

    def _carry_by_rows(self, carry: Carry, inner: For) -> Carry:
        """The carry of a loop over rows, which is handed through the loop over each."""
        exprs, dtype = self.exprs, carry.var.dtype
        assert carry.combine is not None and carry.term is not None
        var, out = exprs.var(dtype, "acc"), exprs.var(dtype, "acc")
        inner.carries.append(Carry(var, carry.var, exprs.prim(carry.combine, var, carry.term), out, carry.combine, carry.term))
        return Carry(carry.var, carry.init, out, carry.out)

    def _together(self, first: For, others: Sequence[Stmt]) -> bool:
        """Whether a loop is to be joined with the last of others, and with those between, which then run in order: cheap
        questions are asked first, as there are many loops to ask for."""
        *between, last = others
        assert isinstance(last, For)
        saved = self._saved(first, last, [])
        if saved * self.times < WORTH_NS:
            return False
        loops, serial_ns = [first], 0.0
        for s in between:
            if not _candidate(s) or s.carries:
                return False
            serial_ns += self._serial_ns(s)
            if saved < serial_ns or not self._alike(first, s, True):
                return False
            loops.append(s)
        return self._separate([*loops, last], [])

    def _serial_ns(self, loop: For) -> float:
        """Nanoseconds of a loop as a part of a serial one, estimated once until others are joined with it."""
        found = self.serial_ns.get(id(loop))
        if found is None:
            found = self.serial_ns[id(loop)] = block_ns([_serial(loop)], self.target), loop
        return found[0]

    def _alike(self, first: For, second: For, flat: bool = False) -> bool:
        """Whether two loops have as many iterations, and as far as steps through memory tell, each iteration of the second
        (which has no loops inside if it is `flat`) needs at most one of the first."""
        if first.start is not second.start or first.stop is not second.stop or _nested(second) != (_nested(first) and not flat):
            return False
        one, other = self._facts(first), self._facts(second)
        return all(one.steps.get(b, 0) == other.steps.get(b, 0) != 0
                   for b in one.written & other.touched | one.touched & other.written)

    def _facts(self, loop: For) -> _Facts:
        """What a loop does with memory, looked up once."""
        found = self.facts.get(id(loop))
        if found is None:
            found = self.facts[id(loop)] = _Facts(loop, self.sums)
        return found

    def _separate(self, loops: Sequence[For], names: Sequence[Stmt]) -> bool:
        """Whether each iteration of all loops together touches memory of its own, and needs no other iteration."""
        if not all(map(self._separate_alone, loops)):
            return False
        for k, loop in enumerate(loops):
            before = loops[:k]
            starts = list(nodes([c.init for c in loop.carries]))
            bound = {v.id for b in before for c in b.carries for v in (c.var, c.out)}
            if any(e.op == "load" and any(e.attr in self._facts(b).written for b in before) for e in starts):
                return False
            if bound and any(e.id in bound for s in walk([loop]) for e in nodes(operands(s))):
                return False
        return separate(_as_one(loops, names))

    def _separate_alone(self, loop: For) -> bool:
        facts = self._facts(loop)
        if facts.separate is None:
            facts.separate = separate(loop)
        return facts.separate

    def _saved(self, first: For, second: For, names: Sequence[Stmt]) -> float:
        """Nanoseconds that it saves to join two loops, 0 if they should not be. names: what their outer loops' variables
        are called."""
        one, other = self._facts(first), self._facts(second)
        shared, steps = one.steps.keys() & other.steps.keys(), one.joined(other).steps
        saved = self.target.byte_ns * (static_trips(first) or 0) * sum(steps[b] for b in shared)
        if not saved or len(first.carries) + len(second.carries) > MOST_CARRIES:
            return 0.0
        if not _nested(first):
            return saved if one.operations + other.operations <= MOST_OPERATIONS and len(steps) <= MOST_BUFFERS else 0.0
        if sum(steps.values()) <= CACHED:
            return saved
        names = [*names, Let(second.var, first.var)]
        pairs = [(a, b) for a in first.body for b in second.body
                 if _candidate(a) and _candidate(b)]
        return max((self._saved(a, b, names) for a, b in pairs if self._alike(a, b) and self._separate([a, b], names)),
                   default=0.0)

    # --- joining

    def _commit(self, done: _Block, place: int, earlier: list[int], late: list[int], first: For, loop: For,
                mine: _Touched) -> None:
        """Makes one loop of the first one, which is at a place, those behind that come late, and another one."""
        touched = done.touched[place]
        first.fused = True
        self.touched.clear()
        self.serial_ns.pop(id(first), None)
        for other, theirs in [*((done.stmts[n], done.touched[n]) for n in late), (loop, mine)]:
            assert isinstance(other, For)
            self._append(first, other)
            self.facts[id(first)] = self._facts(first).joined(self._facts(other))
            touched = touched.joined(theirs)
        rest = [n for n in range(place + 1, len(done.stmts)) if n not in earlier and n not in late]
        done.stmts[place:] = [*(done.stmts[n] for n in earlier), first, *(done.stmts[n] for n in rest)]
        done.touched[place:] = [*(done.touched[n] for n in earlier), touched, *(done.touched[n] for n in rest)]

    def _append(self, loop: For, other: For) -> None:
        """The iterations of another loop are done by this one."""
        self._pin(loop, written(other.body))
        whole = For(other.var, other.start, other.stop, other.body, other.carries)
        Rewrite(self.function, lambda e: loop.var if e is other.var else e).block([whole])
        if self.recorder is not None:
            self.recorder.joined(loop, other)
        loop.body += other.body
        loop.carries += other.carries
        loop.mode = "vector" if loop.mode == other.mode == "vector" else "serial"
        loop.limit = loop.limit if loop.limit is other.limit else None

    def _pin(self, loop: For, soon: set[Buffer]) -> None:
        """What a carry reads of memory that is written before the end of the body from now on is read before."""
        for c in loop.carries:
            if c.term is None or not any(e.op == "load" and e.attr in soon for e in nodes([c.next, c.term])):
                continue
            value, term = self.exprs.var(c.term.dtype, "term"), c.term
            loop.body.append(Let(value, term))
            c.next = _replaced(self.function, c.next, term, value)
            c.term = value


def _replaced(function: Function, where: Expr, old: Expr, new: Expr) -> Expr:
    return Rewrite(function, lambda e: new if e is old else e).expr(where)


def _candidate(stmt: Stmt) -> TypeGuard[For]:
    return isinstance(stmt, For) and stmt.mode in ("serial", "vector") and (static_trips(stmt) or 0) > 1


def _times(stmt: Stmt) -> int:
    """How often a statement executes the blocks inside it."""
    known = static_trips(stmt) if isinstance(stmt, For) else None
    return UNKNOWN_TRIPS if known is None and isinstance(stmt, For | While) else known or 1


def _nested(loop: For) -> bool:
    return any(isinstance(s, For) for s in loop.body)


def _serial(loop: For) -> For:
    """A loop as a part of a serial one."""
    return For(loop.var, loop.start, loop.stop, loop.body, [], "serial")


def _behind(done: _Block, first: int, needed: Iterable[int]) -> list[int]:
    """Those of the needed statements that must stay behind the first one."""
    late: list[int] = []
    for n in needed:
        if done.touched[n].after(done.touched[first]) or any(done.touched[n].after(done.touched[m]) for m in late):
            late.append(n)
    return late


def _holds_more(done: _Block, first: int, needed: Sequence[int], loop: _Touched) -> bool:
    """Whether fusion would make large temporaries live at the same time: those of statements that move in front of the first
    one, or those of the loop, which moves there over statements with others of their own."""
    if any(_large(b) for n in needed for b in done.touched[n].writes):
        return True
    between = (done.touched[n] for n in range(first + 1, len(done.stmts)) if n not in needed and not _rare(done.stmts[n]))
    makes = any(_large(b) for b in loop.writes)
    return makes and any(_large(b) for t in between for b in t.buffers - loop.writes)


def _rare(stmt: Stmt) -> bool:
    return isinstance(stmt, If) and stmt.rare


def _large(buffer: Buffer) -> bool:
    return buffer.kind == "temp" and buffer.nbytes >= LARGE


def _as_one(loops: Sequence[For], names: Sequence[Stmt]) -> For:
    """Loops as one, for analysis."""
    first = loops[0]
    body = [*names]
    for loop in loops:
        body += ([] if loop is first else [Let(loop.var, first.var)]) + loop.body
    return For(first.var, first.start, first.stop, body, [c for loop in loops for c in loop.carries], "serial")


class _Facts:
    """What a loop (kept, as its identity stands for it) does with memory. steps: by how many bytes the places that an iteration
    touches move on, for the buffers where they do; separate: whether each iteration has places of its own, once known."""

    __slots__ = ("loop", "operations", "separate", "steps", "touched", "written")

    def __init__(self, loop: For, sums: AffineForms):
        self.loop = loop
        self.separate: bool | None = None
        roots = [c.next for c in loop.carries]
        touched: list[tuple[Buffer, Expr]] = []
        for stmt in walk(loop.body):
            roots += operands(stmt)
            touched += locations(stmt)
        found = list(nodes(roots))
        self.operations = sum(scalar_cost(e.op) for e in found if e.op not in ("const", "var"))
        self.written = written(loop.body)
        touched += [(e.attr, e.args[0]) for e in found if e.op == "load"]
        self.touched = {buffer for buffer, _ in touched}
        self.steps: dict[Buffer, int] = {}
        for buffer, index in touched:
            step = abs(dict(sums.split(index).terms).get(loop.var, 0)) * buffer.dtype.itemsize
            if step:
                self.steps[buffer] = max(self.steps.get(buffer, 0), step)

    def joined(self, other: _Facts) -> _Facts:
        """Those of this loop when the other one has become part of it."""
        made = copy(self)
        made.operations += other.operations
        made.written, made.touched = self.written | other.written, self.touched | other.touched
        made.steps = {b: max(self.steps.get(b, 0), other.steps.get(b, 0)) for b in self.steps.keys() | other.steps.keys()}
        return made


PASS = Pass("fusion", "joins loops over the same data",
            lambda function, context: fuse(function, context.target, context.recorder), ("math", "serial"), ("fused",))
