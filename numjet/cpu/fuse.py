"""Loops over the same data become one, so that it is read from memory once.

Two loops of as many iterations are joined where each iteration of the second needs of the first no more than the iteration of
the same number: sums of one array, rows of which a softmax takes the largest element, then the sum of exponentials, then their
quotients. Joined loops over rows go through each row while it is in the cache; joined loops over elements read them once.

What stands between two loops and is needed by the second moves in front of the first. Small loops in between that need the
first, such as the division of a sum of every row by its length, are joined with both.
"""
from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from numjet.cpu.affine import Sums
from numjet.cpu.cost import block_ns, static_trips
from numjet.cpu.expand import Rewrite
from numjet.cpu.independence import bound_variables, nodes, parities, separate
from numjet.cpu.loop_ir import (
    MATH,
    Buffer,
    Call,
    Check,
    Comment,
    Copy,
    Expr,
    Fill,
    For,
    Function,
    Let,
    Stmt,
    Store,
    children,
    walk,
    written,
)
from numjet.cpu.loop_show import own_expressions
from numjet.cpu.recorder import Recorder

CACHED = 1 << 18      # bytes that the iterations of joined loops may touch, each, to find them in the cache again
WINDOW = 48           # statements that are looked through for a loop to join
MOST_OPERATIONS = 300  # of joined loops without loops inside: larger code has no registers for many lanes
MOST_CARRIES = 8      # of a joined loop without loops inside
MOST_BUFFERS = 16
LARGE = 1 << 18       # bytes of temporaries of which no more should be there at a time
NS_PER_BYTE = 0.02    # what it takes to read again what was written or read before


def fuse(function: Function, recorder: Recorder | None = None) -> Function:
    """Joins the loops of all blocks of a function, in place; needs mathematics not to be expanded; returns the function."""
    if sum(isinstance(s, For) for s in walk(function.body)) > 1:
        _Fusion(function, recorder).block(function.body)
    return function


@dataclass
class _Touched:
    """What a statement reads, writes, needs and defines; barrier: it keeps its place."""
    reads: set[Buffer]
    writes: set[Buffer]
    uses: set[int]
    binds: set[int]
    barrier: bool

    @staticmethod
    def of(stmt: Stmt) -> _Touched:
        inside = list(walk([stmt]))
        found = list(nodes([e for s in inside for e in own_expressions(s)]))
        reads = {e.attr for e in found if e.op == "load"}
        for s in inside:
            if isinstance(s, Copy):
                reads.add(s.source)
            elif isinstance(s, Call):
                reads.update(s.reads)
        return _Touched(reads, written([stmt]), {e.id for e in found if e.op == "var"},
                        {v.id for s in inside for v in bound_variables(s)},
                        any(isinstance(s, Check) or (isinstance(s, Call) and s.checked) for s in inside))

    def after(self, other: _Touched) -> bool:
        """Must this statement stay behind the other one?"""
        return bool(self.uses & other.binds or self.reads & other.writes or self.writes & (other.reads | other.writes))

    def joined(self, other: _Touched) -> _Touched:
        return _Touched(self.reads | other.reads, self.writes | other.writes, self.uses | other.uses,
                        self.binds | other.binds, False)


@dataclass
class _Block:
    """Statements, and what each touches."""
    stmts: list[Stmt]
    touched: list[_Touched]


class _Fusion:
    """Joins loops of one function."""

    def __init__(self, function: Function, recorder: Recorder | None):
        self.function, self.exprs, self.recorder = function, function.exprs, recorder
        self.parities = parities(function.body)

    def block(self, block: list[Stmt]) -> None:
        """Joins the loops of a block, and those inside."""
        if sum(_candidate(s) for s in block) > 1:
            done = _Block([], [])
            for stmt in block:
                mine = _Touched.of(stmt)
                if not (_candidate(stmt) and not mine.barrier and self._join(done, stmt, mine)):
                    done.stmts.append(stmt)
                    done.touched.append(mine)
            block[:] = done.stmts
        for stmt in block:
            for inner in children(stmt):
                self.block(inner)

    def _join(self, done: _Block, loop: For, mine: _Touched) -> bool:
        """Joins a loop with one of those before it, if there is one to be joined with."""
        needed: list[int] = []  # statements that the loop needs, directly or not
        for k in range(len(done.stmts) - 1, max(-1, len(done.stmts) - 1 - WINDOW), -1):
            stmt, touched = done.stmts[k], done.touched[k]
            if touched.barrier:
                return False
            if _candidate(stmt) and (touched.reads | touched.writes) & (mine.reads | mine.writes):
                late = _behind(done, k, needed)
                if not _holds_more(done, k, needed, mine) and self._together(stmt, [*(done.stmts[n] for n in late), loop]):
                    self._commit(done, k, [n for n in needed if n not in late], late, loop, mine)
                    return True
            if mine.after(touched) or any(done.touched[n].after(touched) for n in needed):
                needed.insert(0, k)
        return False

    # --- may they be one loop, and should they

    def _together(self, first: For, others: Sequence[Stmt]) -> bool:
        *between, last = others
        if not isinstance(last, For) or not all(_candidate(s) and not _nested(s) and not s.carries for s in between):
            return False
        loops = [first, *(s for s in between if isinstance(s, For)), last]
        if len({(loop.start, loop.stop) for loop in loops}) != 1 or _nested(first) != _nested(last):
            return False
        saved = self._saved(first, last, [])
        if saved <= 0 or (_nested(first) and saved < sum(block_ns([_row(s)]) for s in between)):
            return False
        return self._separate(loops, [])

    def _separate(self, loops: Sequence[For], names: Sequence[Stmt]) -> bool:
        """Does each iteration of all loops together touch memory of its own, and need no other iteration?"""
        for k, loop in enumerate(loops):
            before = loops[:k]
            starts = list(nodes([c.init for c in loop.carries]))
            bound = {v.id for b in before for c in b.carries for v in (c.var, c.out)}
            if any(e.op == "load" and any(e.attr in written(b.body) for b in before) for e in starts):
                return False
            if bound and any(e.id in bound for s in walk([loop]) for e in nodes(own_expressions(s))):
                return False
        return separate(_as_one(loops, names), self.parities)

    def _saved(self, first: For, second: For, names: Sequence[Stmt]) -> float:
        """Nanoseconds that it saves to join two loops, 0 if they should not be. names: what their outer loops' variables
        are called."""
        one = _as_one([first, second], names)
        steps, trips = _steps(one), static_trips(one) or 0
        shared = set(_steps(first)) & set(_steps(second))
        if not shared or len(first.carries) + len(second.carries) > MOST_CARRIES:
            return 0.0
        if not _nested(first):
            small = _operations(one) <= MOST_OPERATIONS and len(steps) <= MOST_BUFFERS
            return NS_PER_BYTE * trips * sum(steps[b] for b in shared) if small else 0.0
        if sum(steps.values()) <= CACHED:
            return NS_PER_BYTE * sum(steps[b] for b in shared)
        names = [*names, Let(second.var, first.var)]
        pairs = [(a, b) for a in first.body if _candidate(a) for b in second.body if _candidate(b)]
        return max((self._saved(a, b, names) for a, b in pairs if (a.start, a.stop) == (b.start, b.stop)
                    and _nested(a) == _nested(b) and self._separate([a, b], names)), default=0.0)

    # --- joining

    def _commit(self, done: _Block, place: int, earlier: list[int], late: list[int], loop: For, mine: _Touched) -> None:
        """Makes one loop of the one at a place, those behind that come late, and another one."""
        first, touched = done.stmts[place], done.touched[place]
        assert isinstance(first, For)
        for other, theirs in [*((done.stmts[n], done.touched[n]) for n in late), (loop, mine)]:
            assert isinstance(other, For)
            self._append(first, other)
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

    def _pin(self, loop: For, soon: set[Buffer]) -> None:
        """What a carry reads of memory that is written before the end of the body from now on is read before."""
        for c in loop.carries:
            if c.term is None or not any(e.op == "load" and e.attr in soon for e in nodes([c.next, c.term])):
                continue
            value, term = self.exprs.var(c.term.dtype, "term"), c.term
            loop.body.append(Let(value, term))
            c.next = Rewrite(self.function, lambda e, term=term, value=value: value if e is term else e).expr(c.next)
            c.term = value


def _candidate(stmt: Stmt) -> bool:
    return isinstance(stmt, For) and stmt.mode in ("serial", "vector") and (static_trips(stmt) or 0) > 1


def _nested(loop: For) -> bool:
    return any(isinstance(s, For) for s in loop.body)


def _row(loop: For) -> For:
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
    """Would large temporaries be there at a time that are not now? Those that are made in front of the first statement, and
    what a loop makes that moves there over statements with others of their own."""
    if any(_large(b) for n in needed for b in done.touched[n].writes):
        return True
    between = (done.touched[n] for n in range(first + 1, len(done.stmts)) if n not in needed)
    makes = any(_large(b) for b in loop.writes)
    return makes and any(_large(b) for t in between for b in (t.reads | t.writes) - loop.writes)


def _large(buffer: Buffer) -> bool:
    return buffer.kind == "temp" and buffer.nbytes >= LARGE


def _as_one(loops: Sequence[For], names: Sequence[Stmt]) -> For:
    """Loops as one, for analysis."""
    first = loops[0]
    body = [*names]
    for loop in loops:
        body += ([] if loop is first else [Let(loop.var, first.var)]) + loop.body
    return For(first.var, first.start, first.stop, body, [c for loop in loops for c in loop.carries], "serial")


def _steps(loop: For) -> dict[Buffer, int]:
    """By how many bytes the places that an iteration touches move on, for the buffers where they do."""
    sums = Sums()
    roots = [e for c in loop.carries for e in (c.next,)]
    places: list[tuple[Buffer, Expr]] = []
    for stmt in walk(loop.body):
        roots += own_expressions(stmt)
        match stmt:
            case Let():
                sums.define(stmt.var, stmt.value)
            case Store():
                places.append((stmt.buffer, stmt.index))
            case Fill():
                places.append((stmt.target, stmt.start))
            case Copy():
                places += [(stmt.target, stmt.target_start), (stmt.source, stmt.source_start)]
            case Call():
                places += [a for a in stmt.args if isinstance(a, tuple)]
    places += [(e.attr, e.args[0]) for e in nodes(roots) if e.op == "load"]
    found: dict[Buffer, int] = {}
    for buffer, index in places:
        step = abs(dict(sums.split(index).terms).get(loop.var, 0)) * buffer.dtype.itemsize
        if step:
            found[buffer] = max(found.get(buffer, 0), step)
    return found


def _operations(loop: For) -> float:
    """How much code a loop without loops inside is."""
    roots = [e for s in walk([loop]) for e in own_expressions(s)]
    return sum(20 if e.op in MATH else 1 for e in nodes(roots) if e.op not in ("const", "var"))
