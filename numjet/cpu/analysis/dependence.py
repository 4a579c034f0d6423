"""Dependence analysis: loops whose iterations may run in any order, at the same time.

A loop is independent when every buffer that it writes is touched by each iteration in a part of its own. For a place
base + c * i + rest, where i is the loop's variable and rest stays within bounds smaller than c, that is so. What cannot
be shown is believed of loops whose mode says that their iterations are lanes, as vector code does.
"""
from __future__ import annotations

from collections.abc import Iterator

from numjet.cpu.analysis.affine import AffineForms
from numjet.cpu.analysis.ranges import Ranges
from numjet.cpu.analysis.vectorize import Facts
from numjet.cpu.ir.nodes import Buffer, Call, Check, Copy, Expr, Fill, For, Stmt, Store, SwapBuffers
from numjet.cpu.ir.traversal import binds, expressions, nodes, operands, walk, written
from numjet.cpu.kernels.products import GEMM, POINTERS, gemm_sizes, result_words
from numjet.foundation.record import Record

COMBINABLE = ("add", "mul", "min", "max", "and", "or", "xor")
_FAR = 1 << 40


class Place(Record):
    """The elements base + step * i + low ... high of a buffer; `base` are terms that no iteration changes."""
    base: frozenset[tuple[Expr, int]]
    step: int
    low: int
    high: int


def independent(loop: For) -> bool:
    """Whether the iterations of a loop may run at the same time, its carries being combined from partial results."""
    if separate(loop):
        return True
    return loop.mode in ("vector", "parallel") and _may_be(loop) and Facts(loop, AffineForms.of(loop.body)).possible


def separate(loop: For) -> bool:
    """As independent, but shown by the places that iterations touch, whatever mode the loop has."""
    return _may_be(loop) and _Accesses(loop).disjoint()


def own_place(loop: For, buffer: Buffer) -> Place | None:
    """What an iteration of a loop touches of a buffer that it writes, if that is known, and no other iteration touches it."""
    places = [place for written, place in _Accesses(loop)._accesses() if written is buffer]
    if not _apart(places):
        return None
    known = [p for p in places if p is not None]
    return Place(known[0].base, abs(known[0].step), min(p.low for p in known), max(p.high for p in known))


def _may_be(loop: For) -> bool:
    """Whether nothing in a loop prevents independence, wherever it writes."""
    return all(combination(loop, k) is not None for k in range(len(loop.carries))) and not any(map(_forbidden, walk(loop.body)))


def _forbidden(stmt: Stmt) -> bool:
    """What leaves the function or says where buffers are, and calls that may do anything."""
    return isinstance(stmt, Check | SwapBuffers) or (isinstance(stmt, Call) and stmt.symbol != GEMM)


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
    roots = expressions(loop.body) + [c.next for c in loop.carries]
    return sum(r is var for r in roots) == 1 and not any(e is var for r in roots if r is not var for e in nodes([r]))


class _Accesses:
    """Where the body of a loop touches the buffers that it writes."""

    def __init__(self, loop: For):
        self.loop = loop
        self.sums, self.ranges = AffineForms.of(loop.body), Ranges()
        self.written = written(loop.body)
        self.inside = {loop.var.id} | {c.var.id for c in loop.carries}
        self.counters: set[int] = set()
        self._count(loop)
        self.counters.clear()
        for stmt in walk(loop.body):
            self.inside.update(v.id for v in binds(stmt))
            if isinstance(stmt, For):
                self._count(stmt)

    def _count(self, loop: For) -> None:
        """Notes within which bounds the variable of a loop stays, whatever iteration it is part of."""
        low, high = self.ranges.of(loop.start)[0], self.ranges.of(loop.stop)[1]
        if -_FAR < low and high < _FAR:
            self.counters.add(loop.var.id)
            self.ranges.bind(loop.var, low, high - 1)

    def disjoint(self) -> bool:
        """Whether every iteration has its own part of every buffer. Buffers that are only read are shared."""
        found: dict[Buffer, list[Place | None]] = {}
        for buffer, place in self._accesses():
            if place is None or not place.step:
                return False
            found.setdefault(buffer, []).append(place)
        return all(map(_apart, found.values()))

    def _accesses(self) -> Iterator[tuple[Buffer, Place | None]]:
        """All accesses to the buffers that are written; None for a place that is not known."""
        roots: list[Expr] = [c.next for c in self.loop.carries]
        for stmt in walk(self.loop.body):
            roots += operands(stmt)
            match stmt:
                case Store(buffer=buffer, index=index):
                    yield buffer, self._place(index, 1)
                case Fill(target=buffer, start=index, count=count):
                    yield buffer, self._block(index, count)
                case Copy(count=count):
                    yield stmt.target, self._block(stmt.target_start, count)
                    if stmt.source in self.written:
                        yield stmt.source, self._block(stmt.source_start, count)
                case Call():
                    yield from self._gemm(stmt)
        for expr in nodes(roots):
            if expr.op == "load" and expr.attr in self.written:
                yield expr.attr, self._place(expr.args[0], 1)

    def _gemm(self, stmt: Call) -> Iterator[tuple[Buffer, Place | None]]:
        """The result is one block; where an operand lies is not looked at."""
        for pointer in POINTERS:
            buffer, start = stmt.args[pointer]  # type: ignore[misc]
            if buffer in self.written:
                known = pointer == POINTERS[-1] and gemm_sizes(stmt) is not None
                yield buffer, self._place(start, result_words(stmt)) if known else None

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
    """Whether all indices move by one step that is larger than the range that they cover together."""
    known = [p for p in places if p is not None]
    if len(known) < len(places) or len({(p.base, p.step) for p in known}) != 1:
        return False
    return max(p.high for p in known) - min(p.low for p in known) < abs(known[0].step)
