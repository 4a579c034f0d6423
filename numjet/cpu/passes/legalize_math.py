"""Replaces mathematical functions by arithmetic (see `mathlib`), or by calls of the C library where there is none."""
from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import numpy as np

from numjet.cpu.analysis.dependence import nodes
from numjet.cpu.ir.nodes import (
    MATH,
    Call,
    Check,
    Copy,
    Expr,
    Exprs,
    Fill,
    For,
    Function,
    If,
    Let,
    Stmt,
    Store,
    Switch,
    While,
    children,
)
from numjet.cpu.ir.printer import own_expressions
from numjet.cpu.mathlib import expand

FREQUENT = 16   # uses in one block

# Operations that no C library has under one name.
_NOT_IN_C = ("rsqrt", "logistic", "erf_inv", "digamma")


def expand_math(function: Function, exponents: bool = False) -> Function:
    """Rewrites the operations of MATH in place, so that only what `llvm.emit` knows is left; returns the function.

    Operations that a block holds many of are left to it, too: they become calls of one function. exponents: see `expanded`.
    Raises NotImplementedError naming an operation that neither mathlib nor the C library has.
    """
    totals = Counter((e.op, e.dtype) for e in function.exprs.table.values() if e.op in MATH)
    if not totals:
        return function
    left = _frequent(function, {kind for kind, count in totals.items() if count >= FREQUENT})

    def rule(expr: Expr) -> Expr:
        return expanded(function.exprs, expr, exponents) if expr.op in MATH and (expr.op, expr.dtype) not in left else expr
    Rewrite(function, rule).block(function.body)
    return function


def expanded(exprs: Exprs, expr: Expr, exponents: bool) -> Expr:
    """An operation of MATH by arithmetic, with the operation `scale` where that may be used, or as a call of the C library."""
    found = expand(exprs, expr.op, *expr.args, exponents=exponents)
    if found is not None:
        return found
    if expr.op in _NOT_IN_C or expr.dtype.kind != "f" or expr.dtype.itemsize not in (4, 8):
        raise NotImplementedError(f"there is no machine code for '{expr.op}' of {expr.dtype}")
    name = expr.op if expr.dtype == np.float64 else f"{expr.op}f"
    return exprs.make("libm", expr.dtype, expr.args, name)


def _frequent(function: Function, candidates: set[tuple[str, np.dtype]]) -> set[tuple[str, np.dtype]]:
    """Those of the candidates that some block holds so many of that calls are better than as many expansions: with these, its
    code would be larger than the cache for instructions, and slow to compile."""
    found: set[tuple[str, np.dtype]] = set()
    blocks = [function.body] if candidates else []
    while blocks:
        block = blocks.pop()
        blocks += [inner for stmt in block for inner in children(stmt)]
        counts = Counter((e.op, e.dtype) for e in nodes([e for stmt in block for e in own_expressions(stmt)]))
        found |= {kind for kind in candidates if counts[kind] >= FREQUENT}
    return found


class Rewrite:
    """Replaces expressions bottom up: `rule` gets each one with its operands already replaced."""

    def __init__(self, function: Function, rule: Callable[[Expr], Expr]):
        self.exprs, self.rule = function.exprs, rule
        self.done: dict[int, Expr] = {}

    def expr(self, expr: Expr) -> Expr:
        """The replacement of one expression."""
        done, stack = self.done, [expr]
        while stack:
            top = stack[-1]
            missing = [a for a in top.args if a.id not in done]
            stack.extend(missing)
            if missing:
                continue
            stack.pop()
            if top.id not in done:
                args = tuple(done[a.id] for a in top.args)
                same = all(new is old for new, old in zip(args, top.args, strict=True))
                done[top.id] = self.rule(top if same else self.exprs.make(top.op, top.dtype, args, top.attr))
        return done[expr.id]

    def block(self, block: list[Stmt]) -> None:
        """Replaces all expressions of a block in place."""
        for stmt in block:
            self._stmt(stmt)
            for inner in children(stmt):
                self.block(inner)

    def _stmt(self, stmt: Stmt) -> None:
        new = self.expr
        match stmt:
            case Let():
                stmt.value = new(stmt.value)
            case Store():
                stmt.index, stmt.value = new(stmt.index), new(stmt.value)
            case For():
                stmt.start, stmt.stop = new(stmt.start), new(stmt.stop)
                self._carries(stmt)
            case While():
                stmt.cond = new(stmt.cond)
                self._carries(stmt)
            case If():
                stmt.cond = new(stmt.cond)
                stmt.results = [(out, new(yes), new(no)) for out, yes, no in stmt.results]
            case Switch():
                stmt.index = new(stmt.index)
                stmt.results = [(out, tuple(map(new, values))) for out, values in stmt.results]
            case Copy():
                stmt.target_start, stmt.source_start = new(stmt.target_start), new(stmt.source_start)
                stmt.count = new(stmt.count)
            case Fill():
                stmt.start, stmt.value, stmt.count = new(stmt.start), new(stmt.value), new(stmt.count)
            case Call():
                stmt.args = [(a[0], new(a[1])) if isinstance(a, tuple) else new(a) for a in stmt.args]
            case Check():
                stmt.ok, stmt.values = new(stmt.ok), tuple(map(new, stmt.values))

    def _carries(self, stmt: For | While) -> None:
        for carry in stmt.carries:
            carry.init, carry.next = self.expr(carry.init), self.expr(carry.next)
            carry.term = None if carry.term is None else self.expr(carry.term)
