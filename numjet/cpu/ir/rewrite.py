"""Bottom-up rewriting of the expressions in statements; each distinct expression is rewritten once."""
from __future__ import annotations

from collections.abc import Callable

from numjet.cpu.ir.nodes import Expr, Function, Stmt
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
