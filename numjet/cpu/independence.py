"""Which loops have iterations that may run in any order, at the same time.

A loop is independent when every buffer that it writes is touched by each iteration in a part of its own. For a place
base + c * i + rest, where i is the loop's variable and rest stays within bounds smaller than c, that is so. What cannot
be shown is believed of loops whose mode says that their iterations are lanes, as vector code does.
"""
from __future__ import annotations

from collections.abc import Iterator

from numjet.foundation.record import Record

from .affine import Sum, Sums
from .kernels.products import GEMM, POINTERS, gemm_sizes, result_words
from .lanes import Facts
from .loop_ir import (
    INT64,
    Buffer,
    Call,
    Carry,
    Check,
    Copy,
    Expr,
    Fill,
    For,
    If,
    Let,
    Stmt,
    Store,
    Switch,
    Tiles,
    While,
    walk,
    written,
)
from .loop_show import own_expressions
from .ranges import Ranges

COMBINABLE = ("add", "mul", "min", "max", "and", "or", "xor")
_FAR = 1 << 40


class Place(Record):
    """The elements base + step * i + low ... high of a buffer; `base` are terms that no iteration changes."""
    base: frozenset[tuple[Expr, int]]
    step: int
    low: int
    high: int


class _Access(Record):
    """A place that is touched, None where it is not known; in which half of loop state; whether it is written."""
    place: Place | None
    half: int
    writes: bool


def flips(carry: Carry) -> bool:
    """Is this a carry that an iteration turns from 0 into 1 and from 1 into 0, or keeps?"""
    total = Sums().split(carry.next)
    return carry.var.dtype == INT64 and total in (Sum(0, ((carry.var, 1),)), Sum(1, ((carry.var, -1),)))


def parities(block: list[Stmt]) -> frozenset[int]:
    """The ids of the variables of loops that say which half of a buffer is current: 0 or 1, flipped by each iteration, or
    handed from loop to loop."""
    given = [(bound, values) for s in walk(block) for bound, values in _bindings(s) if bound[0].dtype == INT64]
    found = {v.id for bound, _ in given for v in bound}

    def says(e: Expr) -> bool:
        total = Sums().split(e)
        if not total.terms:
            return total.constant in (0, 1)
        (term, sign), *others = total.terms
        return not others and term.id in found and (total.constant, sign) in ((0, 1), (1, -1))
    while True:
        wrong = {v.id for bound, values in given if bound[0].id in found and not all(map(says, values)) for v in bound}
        if not wrong:
            return frozenset(found)
        found -= wrong


def _bindings(stmt: Stmt) -> Iterator[tuple[tuple[Expr, ...], tuple[Expr, ...]]]:
    """Variables that are given values, and which."""
    match stmt:
        case For(carries=carries) | While(carries=carries):
            yield from (((c.var, c.out), (c.init, c.next)) for c in carries)
        case If(results=results):
            yield from ((r[:1], r[1:]) for r in results)
        case Switch(results=cases):
            yield from (((var,), values) for var, values in cases)
        case Let(var=var, value=value) if value.op in ("const", "var"):
            yield (var,), (value,)


def independent(loop: For, parities: frozenset[int] = frozenset()) -> bool:
    """Whether the iterations of a loop may run at the same time, its carries being combined from partial results.

    parities: ids of variables of loops around that say which half of a buffer is current.
    """
    if separate(loop, parities):
        return True
    return loop.mode in ("vector", "parallel") and _may_be(loop) and Facts(loop, _sums(loop)).possible


def separate(loop: For, parities: frozenset[int] = frozenset()) -> bool:
    """As independent, but shown by the places that iterations touch, whatever mode the loop has."""
    return _may_be(loop) and _Accesses(loop, parities).disjoint()


def own_place(loop: For, buffer: Buffer) -> Place | None:
    """What an iteration of a loop touches of a buffer that it writes, if that is known, and no other iteration touches it."""
    places = [access.place for written, access in _Accesses(loop, frozenset())._accesses() if written is buffer]
    if not _apart(places):
        return None
    known = [p for p in places if p is not None]
    return Place(known[0].base, abs(known[0].step), min(p.low for p in known), max(p.high for p in known))


def _may_be(loop: For) -> bool:
    """Is there nothing in a loop that keeps it from being independent, wherever it writes?"""
    return not any(_forbidden(s) for s in walk(loop.body)) and all(
        combination(loop, k) is not None for k in range(len(loop.carries)))


def _forbidden(stmt: Stmt) -> bool:
    """What leaves the function, and calls that may do anything."""
    return isinstance(stmt, Check) or (isinstance(stmt, Call) and stmt.symbol != GEMM)


def combination(loop: For, which: int) -> str | None:
    """By what operation a carry combines terms, perhaps in a loop inside that it is handed through; else None."""
    carry = loop.carries[which]
    if carry.combine is not None:
        return carry.combine if carry.combine in COMBINABLE else None
    for inner in loop.body:
        if isinstance(inner, For):
            for k, c in enumerate(inner.carries):
                if c.out is carry.next and c.init is carry.var and _used_once(loop, carry.var):
                    return combination(inner, k)
    return None


def _used_once(loop: For, var: Expr) -> bool:
    """Only one loop inside starts with `var`, and nothing else reads it."""
    roots = [e for s in walk(loop.body) for e in own_expressions(s)] + [c.next for c in loop.carries]
    return sum(r is var for r in roots) == 1 and not any(e is var for r in roots if r is not var for e in nodes([r]))


def nodes(roots: list[Expr]) -> Iterator[Expr]:
    """Every expression below `roots`, each once."""
    seen: set[int] = set()
    stack = list(roots)
    while stack:
        top = stack.pop()
        if top.id not in seen:
            seen.add(top.id)
            yield top
            stack.extend(top.args)


def bound_variables(stmt: Stmt) -> Iterator[Expr]:
    """The variables that a statement itself binds, inside or after it."""
    match stmt:
        case Let(var=var):
            yield var
        case Tiles(bounds=bounds):
            yield from bounds
        case For() | While():
            if isinstance(stmt, For):
                yield stmt.var
            for c in stmt.carries:
                yield from (c.var, c.out)
        case If(results=results):
            yield from (r[0] for r in results)
        case Switch(results=cases):
            yield from (r[0] for r in cases)


def _sums(loop: For) -> Sums:
    sums = Sums()
    for stmt in walk(loop.body):
        if isinstance(stmt, Let):
            sums.define(stmt.var, stmt.value)
    return sums


class _Accesses:
    """Where the body of a loop touches the buffers that it writes."""

    def __init__(self, loop: For, parities: frozenset[int]):
        self.loop, self.parities = loop, parities
        self.sums, self.ranges = _sums(loop), Ranges()
        self.written = written(loop.body)
        self.inside = {loop.var.id} | {c.var.id for c in loop.carries}
        self.counters: set[int] = set()
        self._count(loop)
        self.counters.clear()
        for stmt in walk(loop.body):
            self.inside.update(v.id for v in bound_variables(stmt))
            if isinstance(stmt, For):
                self._count(stmt)

    def _count(self, loop: For) -> None:
        """Notes within which bounds the variable of a loop stays, whatever iteration it is part of."""
        low, high = self.ranges.of(loop.start)[0], self.ranges.of(loop.stop)[1]
        if -_FAR < low and high < _FAR:
            self.counters.add(loop.var.id)
            self.ranges.bind(loop.var, low, high - 1)

    def disjoint(self) -> bool:
        """Does every iteration have its own part of every buffer? What is only read is shared; so is the half of a buffer
        that holds the current value of loop state, while the next value is written to the other half."""
        found: dict[Buffer, list[_Access]] = {}
        for buffer, access in self._accesses():
            found.setdefault(buffer, []).append(access)
        for accesses in found.values():
            halves = {a.half for a in accesses}
            known = 0 not in halves and len(set(map(abs, halves))) == 1
            groups = [[a for a in accesses if a.half == h] for h in halves] if known else [accesses]
            if not all(_apart([a.place for a in group]) for group in groups if any(a.writes for a in group)):
                return False
        return True

    def _accesses(self) -> Iterator[tuple[Buffer, _Access]]:
        """All accesses to the buffers that are written."""
        roots: list[Expr] = [c.next for c in self.loop.carries]
        for stmt in walk(self.loop.body):
            roots += own_expressions(stmt)
            match stmt:
                case Store(buffer=buffer, index=index):
                    yield buffer, _Access(self._place(index, 1), self._half(buffer, index), True)
                case Fill(target=buffer, start=index, count=count):
                    yield buffer, _Access(self._block(index, count), 0, True)
                case Copy(count=count):
                    yield stmt.target, _Access(self._block(stmt.target_start, count), 0, True)
                    if stmt.source in self.written:
                        yield stmt.source, _Access(self._block(stmt.source_start, count), 0, True)
                case Call():
                    yield from self._gemm(stmt)
        for expr in nodes(roots):
            if expr.op == "load" and expr.attr in self.written:
                yield expr.attr, _Access(self._place(expr.args[0], 1), self._half(expr.attr, expr.args[0]), False)

    def _half(self, buffer: Buffer, index: Expr) -> int:
        """For a place in the half that a parity says, a number that stands for that parity, its negative for one in the
        other half, 0 where that is not known. An index is always inside the array that the half holds."""
        found = [(t.id + 1) * (1 if c > 0 else -1) for t, c in self.sums.split(index).terms
                 if t.id in self.parities and abs(2 * c) == buffer.size]
        return found[0] if len(found) == 1 else 0

    def _gemm(self, stmt: Call) -> Iterator[tuple[Buffer, _Access]]:
        """The result is one block; where an operand lies is not looked at."""
        for pointer in POINTERS:
            buffer, start = stmt.args[pointer]  # type: ignore[misc]
            if buffer in self.written:
                known = pointer == POINTERS[-1] and gemm_sizes(stmt) is not None
                yield buffer, _Access(self._place(start, result_words(stmt)) if known else None, 0, True)

    def _block(self, start: Expr, count: Expr) -> Place | None:
        return self._place(start, max(1, int(count.attr))) if count.op == "const" else None

    def _place(self, index: Expr, count: int) -> Place | None:
        total = self.sums.split(index)
        base, step, low, high = [], 0, total.constant, total.constant + count - 1
        for term, coefficient in total.terms:
            if term is self.loop.var:
                step = coefficient
            elif self._same_everywhere(term):
                base.append((term, coefficient))
            elif self._counts(term):
                first, last = self.ranges.of(term)
                ends = (coefficient * first, coefficient * last)
                low, high = low + min(ends), high + max(ends)
            else:
                return None
        return Place(frozenset(base), step, low, high)

    def _same_everywhere(self, term: Expr) -> bool:
        return not any(e.id in self.inside or (e.op == "load" and e.attr in self.written) for e in nodes([term]))

    def _counts(self, term: Expr) -> bool:
        """Made of variables of loops inside only, which stay within the same bounds in every iteration."""
        return all(e.op != "load" and (e.id in self.counters or e.id not in self.inside) for e in nodes([term]))


def _apart(places: list[Place | None]) -> bool:
    """Do all places move by one step that is larger than what they cover together?"""
    known = [p for p in places if p is not None]
    if len(known) < len(places) or len({(p.base, p.step) for p in known}) != 1:
        return False
    return max(p.high for p in known) - min(p.low for p in known) < abs(known[0].step)
