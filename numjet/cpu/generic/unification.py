"""Anti-unification: loop IR for all sizes, from that for some.

Functions that were lowered for different sizes have the same statements and expressions, but for numbers: ends of loops,
strides, sizes of buffers. Where these are values of one polynomial in the sizes, the polynomial takes their place.
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from numjet.cpu.ir.nodes import (
    INT64,
    Buffer,
    Call,
    Carry,
    Check,
    Comment,
    Copy,
    Expr,
    Exprs,
    Fill,
    For,
    Function,
    GemmWithEpilogue,
    If,
    Let,
    Stmt,
    Store,
    SwapBuffers,
    Switch,
    While,
)
from numjet.cpu.ir.traversal import binds, blocks, map_operands, operands, walk
from numjet.foundation.decisions import Decisions
from numjet.foundation.polynomials import Interpolation, Polynomial, Quotient, Size
from numjet.foundation.record import Fields


class Different(NotImplementedError):
    """Functions differ in more than numbers that follow from the sizes; says in what."""


class Domain(Fields):
    """The sizes that a function is for: each from its `low` to its `high`, by the position of the input that it is. The first
    `names` of them are independent, the others follow from these."""

    low: list[int]
    high: list[int]
    names: int


LOWEST = (1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 16, 24, 32, 48, 64, 96, 128)   # least sizes that are tried


def unify(functions: Sequence[Function], decisions: Sequence[Decisions], points: Sequence[Sequence[int]], domain: Domain
          ) -> None:
    """Makes the first of functions, which were lowered for the sizes at points, one for all sizes in a domain, in place.

    decisions: what was decided when they were made. domain.low rises to where that holds. Raises Different.
    """
    if len({(len(d.negative), len(d.quotients)) for d in decisions}) != 1:
        raise Different(f"numbers of decisions: {[(len(d.negative), len(d.quotients)) for d in decisions]}")
    fit = Interpolation(points, domain.names)
    for together in zip(*(d.quotients for d in decisions), strict=True):
        fit.add_quotient([n for n, _ in together], {d for _, d in together})
    asked = _conditions(functions, decisions, fit)
    for least in LOWEST:
        low = [min(max(n, least), high) if k < domain.names else n
               for k, (n, high) in enumerate(zip(domain.low, domain.high, strict=True))]
        if all(p.bounds(low, domain.high)[1] < 0 for p in asked):
            domain.low = low
            break
    else:
        raise Different("decisions that hold for large sizes only")
    Unifier(functions, fit, domain).run()


def _conditions(functions: Sequence[Function], decisions: Sequence[Decisions], fit: Interpolation) -> list[Polynomial]:
    """What has to be negative for all sizes: what was when decisions were made, and -1 less the iterations of each loop, as a
    loop may be over an interior whose ends are done by themselves."""
    numbers = {*zip(*(d.negative for d in decisions), strict=True), *_extents(functions)}
    found = []
    for together in numbers:
        condition = fit(together)
        if condition is None:
            raise Different(f"decisions by {together}, values of no polynomial")
        if condition.constant is None:
            found.append(condition)
    return found


def _extents(functions: Sequence[Function]) -> list[tuple[int, ...]]:
    """-1 less the number of iterations of each loop with known bounds."""
    loops = [[s for s in walk(f.body) if isinstance(s, For)] for f in functions]
    if len(set(map(len, loops))) != 1:
        raise Different("numbers of loops")
    known = [t for t in zip(*loops, strict=True) if all(e.op == "const" for s in t for e in (s.start, s.stop))]
    return [tuple(int(s.start.attr) - int(s.stop.attr) - 1 for s in together) for together in known]


class Unifier:
    """Makes the first of some functions one for all sizes, in place."""

    def __init__(self, functions: Sequence[Function], fit: Interpolation, domain: Domain):
        self.functions, self.fit, self.domain = functions, fit, domain
        self.first = functions[0]
        self.exprs: Exprs = self.first.exprs
        self.known: dict[tuple[int, ...], Expr] = {}
        self.buffers: dict[Buffer, tuple[Buffer, ...]] = {}   # by that of the first function: those of all
        self.variables: dict[int, tuple[int, ...]] = {}
        self.sizes: dict[Buffer, Polynomial] = {}             # elements of buffers

    def run(self) -> None:
        """Different: if there is no such function."""
        for kind in ("inputs", "outputs", "temps", "consts"):
            lists = [getattr(f, kind) for f in self.functions]
            self._require(len(set(map(len, lists))) == 1, f"numbers of {kind}")
            for together in zip(*lists, strict=True):
                self._match(together)
        self._require(not any(f.errors for f in self.functions), "checks, whose messages name sizes")
        self._blocks([f.body for f in self.functions])
        for buffer, size in self.sizes.items():
            buffer.size = size.bounds(self.domain.low, self.domain.high)[1]
            buffer.least = max(0, size.bounds(self.domain.low, self.domain.high)[0])

    def _require(self, holds: bool, what: str) -> None:
        if not holds:
            raise Different(what)

    # -- buffers
    def _match(self, buffers: tuple[Buffer, ...]) -> Buffer:
        first = buffers[0]
        found = self.buffers.get(first)
        if found is not None:
            self._require(found == buffers, "buffers")
            return first
        self._require(len({(b.dtype, b.kind) for b in buffers}) == 1, "buffers")
        if first.data is not None:
            self._require(all(np.array_equal(_bits(first.data), _bits(b.data)) for b in buffers), "constants")
        size = self.fit([b.size for b in buffers])
        if size is None:
            raise Different(f"sizes of buffers: {[b.size for b in buffers]}")
        self.buffers[first] = buffers
        if size.constant is None:
            self.sizes[first] = size
        return first

    # -- statements
    def _blocks(self, together: Sequence[list[Stmt]]) -> None:
        plain = [[s for s in block if not isinstance(s, Comment)] for block in together]
        self._require(len(set(map(len, plain))) == 1, "statements")
        for statements in zip(*plain, strict=True):
            self._statement(statements)

    def _statement(self, together: tuple[Any, ...]) -> None:
        first = together[0]
        self._require(len(set(map(type, together))) == 1, "statements")
        self._require(len({repr(_fixed(s)) for s in together}) == 1, f"forms of statements: {[_fixed(s) for s in together]}")
        for buffers in zip(*map(_buffers_of, together), strict=True):
            self._match(buffers)
        bound = [binds(s) for s in together]
        self._require(len(set(map(len, bound))) == 1, "variables")
        for variables in zip(*bound, strict=True):
            self.variables.setdefault(variables[0].id, tuple(v.id for v in variables))
            self.known[tuple(v.id for v in variables)] = variables[0]
        inner = [blocks(s) for s in together]
        self._require(len(set(map(len, inner))) == 1, "blocks")
        for one in zip(*inner, strict=True):
            self._blocks(one)
        merged = iter([self.expr(e) for e in zip(*map(operands, together), strict=True)])
        map_operands(first, lambda e: next(merged))

    # -- expressions
    def expr(self, together: tuple[Expr, ...]) -> Expr:
        """The expression that is each of some for its sizes."""
        stack = [together]
        while stack:
            top = stack[-1]
            key = tuple(e.id for e in top)
            if key in self.known:
                stack.pop()
                continue
            missing = self._missing(top)
            if missing:
                stack += missing
            else:
                stack.pop()
                self.known[key] = self._made(top)
        return self.known[tuple(e.id for e in together)]

    def _missing(self, top: tuple[Expr, ...]) -> list[tuple[Expr, ...]]:
        first = top[0]
        if any(e.op != first.op or e.dtype != first.dtype or len(e.args) != len(first.args) for e in top):
            raise Different(f"operations: {[e.op for e in top]}")
        return [args for args in zip(*(e.args for e in top), strict=True) if tuple(a.id for a in args) not in self.known]

    def _made(self, top: tuple[Expr, ...]) -> Expr:
        first = top[0]
        if first.op == "const":
            return self._constant(top)
        if first.op == "var":
            raise Different("variables")
        if first.op == "load":
            self._match(tuple(e.attr for e in top))
        else:
            self._require(len({e.attr for e in top}) == 1, "attributes")
        args = tuple(self.known[tuple(a.id for a in args)] for args in zip(*(e.args for e in top), strict=True))
        return self.exprs.make(first.op, first.dtype, args, first.attr)

    def _constant(self, top: tuple[Expr, ...]) -> Expr:
        first = top[0]
        bits = {np.asarray(e.attr).tobytes() for e in top}
        if len(bits) == 1:
            return first
        values = [e.attr for e in top]
        whole = [int(v) for v in values] if first.dtype.kind in "iuf" and np.isfinite(values).all() else []
        if not whole or whole != values or max(map(abs, whole)) >= 1 << 53:
            raise Different(f"numbers: {values}")
        found = self.fit(whole)
        if found is None:
            raise Different(f"numbers: {whole}")
        return self.exprs.convert(self.polynomial(found), first.dtype)

    def polynomial(self, p: Polynomial) -> Expr:
        """A polynomial in the sizes as an index."""
        total: Expr | None = None
        make, index, constant = self.exprs.prim, self.exprs.index, 0
        for monomial, c in p.terms:
            if not monomial:
                constant = c
                continue
            term, *factors = map(self.atom, monomial)
            for factor in factors:
                term = make("mul", term, factor)
            term = term if c == 1 else make("mul", term, index(c))
            total = term if total is None else make("add", total, term)
        if total is None:
            return index(constant)
        return make("add", total, index(constant)) if constant else total

    def atom(self, atom: Size | Quotient) -> Expr:
        """A size, or a quotient of sizes."""
        if isinstance(atom, Size):
            return self.size(atom.k)
        return self.exprs.prim("div", self.polynomial(atom.dividend), self.exprs.index(atom.divisor))

    def size(self, k: int) -> Expr:
        """A size, with its bounds in the expression."""
        make, index = self.exprs.prim, self.exprs.index
        given = self.exprs.convert(self.exprs.load(self.first.inputs[k], index(0)), INT64)
        return make("max", make("min", given, index(self.domain.high[k])), index(self.domain.low[k]))


def _bits(data: Any) -> np.ndarray:
    return np.frombuffer(np.ascontiguousarray(data).tobytes(), np.uint8)


def _buffers_of(stmt: Stmt) -> list[Buffer]:
    """The buffers that a statement names itself."""
    match stmt:
        case Store(buffer=buffer):
            return [buffer]
        case Copy():
            return [stmt.target, stmt.source]
        case Fill(target=target):
            return [target]
        case SwapBuffers():
            return [*stmt.targets, *stmt.sources]
        case Call():
            return [*(arg[0] for arg in stmt.args if isinstance(arg, tuple)), *stmt.reads, *stmt.writes]
    return []


def _fixed(stmt: Stmt) -> Any:
    """What has to be the same in all functions."""
    match stmt:
        case For():
            notes = stmt.mode, stmt.fused, stmt.independent, stmt.cancellation_point
            return notes, stmt.limit is None, _of_carries(stmt.carries)
        case While():
            return stmt.idempotent_after_exit, stmt.cancellation_point, _of_carries(stmt.carries)
        case If():
            return len(stmt.results), stmt.rare
        case Switch():
            return len(stmt.results)
        case Call():
            kinds = tuple(isinstance(arg, tuple) for arg in stmt.args)
            more = (len(stmt.bounds), stmt.whole) if isinstance(stmt, GemmWithEpilogue) else ()
            return stmt.symbol, kinds, stmt.checked, len(stmt.limits), more
        case Check():
            return stmt.code, len(stmt.values), stmt.deferrable
        case Let(var=var):
            return var.dtype
    return ()


def _of_carries(carries: Sequence[Carry]) -> list[Any]:
    return [(c.combine, c.term is None, c.var.dtype.str) for c in carries]
