"""Affine forms: index expressions as constant + sum of coefficient * term."""
from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Self

from numjet.cpu.ir.nodes import INT64, Expr, Let, Stmt
from numjet.cpu.ir.traversal import lazy_postorder, nodes, walk

FEW = 4   # elements that neighbouring lanes may be apart to be read in order


class Sum(NamedTuple):
    """An int64 expression as a constant and the terms that are not sums themselves, with their coefficients."""

    constant: int
    terms: tuple[tuple[Expr, int], ...]


class AffineForms:
    """Splits index expressions into sums, each once. `define` makes it look through a `Let` of sums of variables."""

    def __init__(self) -> None:
        self._known: dict[int, Sum] = {}

    @classmethod
    def of(cls, block: Sequence[Stmt]) -> Self:
        """Affine forms that look through all `Let`s of a block."""
        forms = cls()
        for stmt in walk(block):
            if isinstance(stmt, Let):
                forms.define(stmt.var, stmt.value)
        return forms

    def define(self, var: Expr, value: Expr) -> None:
        """`var` stands for `value`, where that is a sum of variables only (their value never changes)."""
        if var.dtype == INT64:
            total = self.split(value)
            if all(term.op == "var" for term, _ in total.terms):
                self._known[var.id] = total

    def split(self, expr: Expr) -> Sum:
        """The sum that `expr` is, modulo 2^64."""
        known = self._known
        if expr.id not in known:
            for e in lazy_postorder(expr, known, _parts):
                known[e.id] = self._split(e)
        return known[expr.id]

    def _split(self, expr: Expr) -> Sum:
        if expr.op == "const":
            return Sum(int(expr.attr), ())
        if not _parts(expr):
            return Sum(0, ((expr, 1),))
        first = self._known[expr.args[0].id]
        if expr.op == "neg":
            return _scale(first, -1)
        second = self._known[expr.args[1].id]
        if expr.op == "mul":
            if second.terms and first.terms:
                return Sum(0, ((expr, 1),))
            return _scale(first, second.constant) if not second.terms else _scale(second, first.constant)
        return _add(first, second if expr.op == "add" else _scale(second, -1))


def in_order(index: Expr, var: Expr) -> bool:
    """Whether an index stays, or rises by a few elements, as `var` grows by one."""
    step = 0
    for term, coefficient in AffineForms().split(index).terms:
        if term is var:
            step = coefficient
        elif any(e is var for e in nodes([term])):
            return False
    return 0 <= step <= FEW


def _parts(expr: Expr) -> tuple[Expr, ...]:
    return expr.args if expr.op in ("add", "sub", "mul", "neg") and expr.dtype == INT64 else ()


def _scale(one: Sum, factor: int) -> Sum:
    if factor == 0:
        return Sum(0, ())
    return Sum(wrap(one.constant * factor), tuple((term, wrap(c * factor)) for term, c in one.terms))


def _add(one: Sum, other: Sum) -> Sum:
    terms: dict[Expr, int] = dict(one.terms)
    for term, coefficient in other.terms:
        terms[term] = wrap(terms.get(term, 0) + coefficient)
    return Sum(wrap(one.constant + other.constant), tuple((t, c) for t, c in terms.items() if c))


def wrap(value: int) -> int:
    """`value` as an int64."""
    return (value + 2**63) % 2**64 - 2**63
