"""Bottom-up rewriting of the expressions in statements, each distinct one once; and copies of statements."""
from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence

from numjet.cpu.ir.nodes import Expr, For, Function, Let, Stmt
from numjet.cpu.ir.traversal import map_operands, postorder, walk


class Rewrite:
    """Replaces expressions bottom up; `rule` gets each expression after its operands were replaced."""

    def __init__(self, function: Function, rule: Callable[[Expr], Expr]):
        self.exprs, self.rule = function.exprs, rule
        self.done: dict[int, Expr] = {}

    def expr(self, expr: Expr) -> Expr:
        """The replacement of one expression."""
        done = self.done
        if expr.id not in done:
            for top in postorder([expr], done):
                args = tuple([done[a.id] for a in top.args])
                same = args == top.args  # expressions are compared by identity
                done[top.id] = self.rule(top if same else self.exprs.make(top.op, top.dtype, args, top.attr))
        return done[expr.id]

    def block(self, block: list[Stmt]) -> None:
        """Replaces all expressions of a block in place."""
        for stmt in walk(block):
            map_operands(stmt, self.expr)


def copied(block: Sequence[Stmt], names: Mapping[int, Expr], expr: Callable[[Expr], Expr]) -> list[Stmt]:
    """Copies of statements without blocks other than loops without carries. names: new variables, by the ids of those that the
    statements bind; expr: an expression in terms of these."""
    made = []
    for stmt in block:
        new = copy.copy(stmt)
        map_operands(new, expr)
        if isinstance(new, For | Let):
            new.var = names[new.var.id]
        if isinstance(new, For):
            new.body, new.carries = copied(new.body, names, expr), []
        made.append(new)
    return made
