"""Removal of jumps: `return`, `break` and `continue` become flags, and what they skip becomes an `if`.

Where a branch always jumps, what follows the `if` moves into the other branch: an early return costs no flag at run time.
"""

from __future__ import annotations

import ast
from itertools import count

from numjet.api.autograph.names import always_jumps, contains, jumps
from numjet.api.autograph.values import FLAG

VALUE, RETURNED = "ag__value", f"{FLAG}returned"


class Jumps:
    """Rewrites the statements of one function, which keep their lines. Loops get `stops`: the flags that end them."""

    def __init__(self) -> None:
        self._numbers = count()

    def function(self, body: list[ast.stmt]) -> tuple[list[ast.stmt], bool]:
        """The statements without jumps, and whether they set the result: not if the only `return` ends the function."""
        *most, last = body
        if isinstance(last, ast.Return) and not jumps(most, ast.Return):
            return [*self._block(most, None), last], False
        if not jumps(body, ast.Return):
            return self._block(body, None), False
        return self._block(body, None), True

    def _block(self, body: list[ast.stmt], loop: _Loop | None) -> list[ast.stmt]:
        out: list[ast.stmt] = []
        for k, node in enumerate(body):
            if isinstance(node, ast.Return):
                value = node.value or ast.Constant(None)
                return [*out, _assign(VALUE, value, node), _flag(RETURNED, True, node)]
            if isinstance(node, (ast.Break, ast.Continue)):
                assert loop is not None
                return [*out, _flag(loop.broken if isinstance(node, ast.Break) else loop.continued, True, node)]
            flags = self._flags(node, loop)
            rest = body[k + 1 :]
            if isinstance(node, ast.If) and flags:
                if always_jumps(node.body):
                    node.orelse, rest = [*node.orelse, *rest], []
                elif always_jumps(node.orelse):
                    node.body, rest = [*node.body, *rest], []
            out += self._statement(node, loop)
            if flags and rest:
                return [*out, ast.copy_location(ast.If(_none(flags), self._block(rest, loop), []), rest[0])]
            if flags:
                return out
        return out

    def _flags(self, node: ast.stmt, loop: _Loop | None) -> list[str]:
        """The flags that a statement may set, after which the rest of the block is skipped."""
        found = [RETURNED] if jumps([node], ast.Return) else []
        if loop is not None:
            found += [loop.broken] * jumps([node], ast.Break) + [loop.continued] * jumps([node], ast.Continue)
        return found

    def _statement(self, node: ast.stmt, loop: _Loop | None) -> list[ast.stmt]:
        if isinstance(node, (ast.For, ast.While)):
            return self._loop(node, loop)
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            return [node]
        for field in ("body", "orelse", "finalbody"):
            if hasattr(node, field):
                setattr(node, field, self._block(getattr(node, field), loop))
        for part in [*getattr(node, "handlers", []), *getattr(node, "cases", [])]:
            part.body = self._block(part.body, loop)
        return [node]

    def _loop(self, node: ast.For | ast.While, outer: _Loop | None) -> list[ast.stmt]:
        if isinstance(node, ast.While) and contains([node.test], ast.NamedExpr):
            _test_inside(node)
        number = next(self._numbers)
        loop = _Loop(f"{FLAG}broken_{number}", f"{FLAG}continued_{number}")
        broken, continued = jumps(node.body, ast.Break), jumps(node.body, ast.Continue)
        stops = [loop.broken] * broken + [RETURNED] * jumps(node.body, ast.Return)
        start = [_flag(loop.continued, False, node)] if continued else []
        orelse, node.orelse = node.orelse, []
        node.body = [*start, *self._block(node.body, loop)]
        node.stops = stops  # type: ignore[union-attr]
        before: list[ast.stmt] = [*([_flag(loop.broken, False, node)] if broken else []),
                                  *([_flag(loop.continued, False, node)] if continued else [])]
        after = self._block(orelse, outer)
        if after and stops:
            after = [ast.copy_location(ast.If(_none(stops), after, []), node)]
        return [*before, node, *after]


def _test_inside(node: ast.While) -> None:
    """Moves a test that assigns variables into the body, which reads them."""
    if jumps(node.orelse, ast.Break) or jumps(node.orelse, ast.Continue):
        raise ValueError("autograph cannot rewrite a while loop with := in its test and a jump in its else: "
                         f"line {node.lineno}")
    ends = ast.If(ast.UnaryOp(ast.Not(), node.test), [*node.orelse, ast.copy_location(ast.Break(), node)], [])
    node.body = [ast.copy_location(ends, node), *node.body]
    node.test, node.orelse = ast.copy_location(ast.Constant(True), node.test), []


class _Loop:
    def __init__(self, broken: str, continued: str):
        self.broken, self.continued = broken, continued


def _assign(name: str, value: ast.expr, where: ast.AST) -> ast.stmt:
    return ast.copy_location(ast.Assign([ast.Name(name, ast.Store())], value), where)


def _flag(name: str, value: bool, where: ast.AST) -> ast.stmt:
    return _assign(name, ast.Constant(value), where)


def _none(flags: list[str]) -> ast.expr:
    """None of the flags is set."""
    tests: list[ast.expr] = [ast.UnaryOp(ast.Not(), ast.Name(f, ast.Load())) for f in flags]
    return tests[0] if len(tests) == 1 else ast.BoolOp(ast.And(), tests)
