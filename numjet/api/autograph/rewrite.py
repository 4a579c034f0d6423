"""Rewriting of a function's syntax tree: statements and expressions that choose become calls of `runtime`.

The blocks of an `if` or a loop become functions within the function, which share its variables by `nonlocal`; two more give all
variables that the blocks assign, and set them. Nodes keep their lines, so that errors and programs name the user's.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from itertools import count

from numjet.api.autograph.jumps import RETURNED, VALUE, Jumps
from numjet.api.autograph.names import always_jumps, assigned, contains, declared, parameters
from numjet.api.autograph.values import RESULT

RUNTIME = "ag__"
_NOT_MOVABLE = (ast.NamedExpr, ast.Await, ast.Yield, ast.YieldFrom)


def rewritten(node: ast.FunctionDef, where: str) -> ast.FunctionDef:
    """The function with its control flow rewritten. where: its file, for messages."""
    return _Function(node, where).rewritten()


class _Function(ast.NodeTransformer):
    """Rewrites one function; those defined in it have a rewriter of their own."""

    def __init__(self, node: ast.FunctionDef, where: str):
        self.node, self.where = node, where
        self.globals, self.outer = declared(node.body, ast.Global), declared(node.body, ast.Nonlocal)
        self.numbers = count()
        self.shared: set[str] = set()  # variables of blocks

    def rewritten(self) -> ast.FunctionDef:
        node = self.node
        always = always_jumps(node.body)
        doc = node.body[:1] if ast.get_docstring(node, clean=False) is not None else []
        body, sets_result = Jumps().function(node.body[len(doc):] or [ast.copy_location(ast.Pass(), node)])
        declarations = [s for s in body if isinstance(s, (ast.Global, ast.Nonlocal))]
        made = self._statements([s for s in body if s not in declarations])
        own = sorted(self.shared - set(parameters(node)) - self.globals - self.outer)
        start = [_assign(name, self._call("undefined", ast.Constant(name))) for name in own if name != RETURNED]
        if sets_result:
            start += [_assign(RETURNED, ast.Constant(False))]
            start += [] if VALUE in own else [_assign(VALUE, self._call("undefined", ast.Constant(RESULT)))]
            found = self._call("result", _load(VALUE), _load(RETURNED), ast.Constant(always), self._place(node))
            made.append(ast.Return(found))
        node.body = [*doc, *declarations, *[ast.copy_location(s, node) for s in start], *made]
        return ast.fix_missing_locations(node)

    def _statements(self, body: Sequence[ast.stmt]) -> list[ast.stmt]:
        out: list[ast.stmt] = []
        for node in body:
            made = self.visit(node)
            out += made if isinstance(made, list) else [made]
        return out

    # -- statements
    def visit_If(self, node: ast.If) -> list[ast.stmt]:
        blocks = _Blocks(self, assigned([node]), node)
        test, then, orelse = self.visit(node.test), self._statements(node.body), self._statements(node.orelse)
        return blocks.call("if_", [test, blocks.define("then", then), blocks.define("else", orelse)])

    def visit_While(self, node: ast.While) -> list[ast.stmt]:
        blocks = _Blocks(self, assigned([node]), node)
        goes_on: list[ast.expr] = [ast.UnaryOp(ast.Not(), _load(flag)) for flag in node.stops]  # type: ignore[attr-defined]
        test = self.visit(ast.BoolOp(ast.And(), [*goes_on, node.test]) if goes_on else node.test)
        body = self._statements(node.body)
        return blocks.call("while_", [blocks.define("test", [ast.Return(test)]), blocks.define("body", body)])

    def visit_For(self, node: ast.For) -> list[ast.stmt]:
        blocks = _Blocks(self, assigned([node]), node)
        flags: list[ast.expr] = [_load(flag) for flag in node.stops]  # type: ignore[attr-defined]
        stopped = self.visit(ast.BoolOp(ast.Or(), flags) if len(flags) > 1 else flags[0]) if flags else None
        item = ast.Assign([node.target], _load("ag__item"))
        return blocks.call("for_", [self.visit(node.iter), blocks.define("assign", [item], "ag__item"),
                                    blocks.define("body", self._statements(node.body)),
                                    ast.Constant(None) if stopped is None else blocks.define("stopped", [ast.Return(stopped)])])

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.stmt:
        node.decorator_list = [self.visit(d) for d in node.decorator_list]
        return node if contains(node.body, ast.Yield, ast.YieldFrom) else rewritten(node, self.where)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.stmt:
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.stmt:
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.stmt:
        """Without the annotation, which a variable shared by blocks cannot have."""
        if node.value is None:
            return ast.copy_location(ast.Pass(), node)
        return ast.copy_location(ast.Assign([node.target], self.visit(node.value)), node)

    def visit_Delete(self, node: ast.Delete) -> list[ast.stmt]:
        return [ast.copy_location(_assign(t.id, self._call("deleted", ast.Constant(t.id))) if isinstance(t, ast.Name)
                                  else ast.Delete([t]), node) for t in node.targets]

    # -- expressions
    def visit_BoolOp(self, node: ast.BoolOp) -> ast.expr:
        if contains([node], *_NOT_MOVABLE):
            return node
        name = "and_" if isinstance(node.op, ast.And) else "or_"
        *most, last = [self.visit(v) for v in node.values]
        for value in reversed(most):
            last = self._call(name, value, _thunk(last), self._place(node))
        return ast.copy_location(last, node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        operand = self.visit(node.operand)
        made = self._call("not_", operand) if isinstance(node.op, ast.Not) else ast.UnaryOp(node.op, operand)
        return ast.copy_location(made, node)

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        if len(node.ops) == 1 or contains([node], *_NOT_MOVABLE):
            self.generic_visit(node)
            return node
        steps: list[ast.expr] = [ast.Tuple([ast.Constant(type(op).__name__), _thunk(self.visit(x))], ast.Load())
                                 for op, x in zip(node.ops, node.comparators, strict=True)]
        made = self._call("chain", self.visit(node.left), ast.List(steps, ast.Load()), self._place(node))
        return ast.copy_location(made, node)

    def visit_IfExp(self, node: ast.IfExp) -> ast.expr:
        if contains([node], *_NOT_MOVABLE):
            return node
        test, then, orelse = map(self.visit, (node.test, node.body, node.orelse))
        made = self._call("if_expression", test, _thunk(then), _thunk(orelse), self._place(node))
        return ast.copy_location(made, node)

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        name = node.func.id if isinstance(node.func, ast.Name) else None
        if name == "range":
            return ast.copy_location(ast.Call(self._runtime("range_"), [node.func, *node.args], node.keywords), node)
        if name == "super" and not node.args and (own := parameters(self.node)):
            node.args = [_load("__class__"), _load(own[0])]
        return node

    # -- parts
    def _runtime(self, name: str) -> ast.expr:
        return ast.Attribute(_load(RUNTIME), name, ast.Load())

    def _call(self, name: str, *args: ast.expr) -> ast.expr:
        return ast.Call(self._runtime(name), list(args), [])

    def _place(self, node: ast.AST) -> ast.expr:
        return ast.Constant(f"{self.where}:{getattr(node, 'lineno', self.node.lineno)}")


class _Blocks:
    """The functions that a statement's blocks become."""

    def __init__(self, function: _Function, names: list[str], node: ast.stmt):
        self.function, self.names, self.node = function, names, node
        self.number = next(function.numbers)
        self.made: list[ast.stmt] = []
        function.shared.update(names)

    def define(self, name: str, body: Sequence[ast.stmt], *params: str) -> ast.expr:
        """Defines a function of the block; the name by which to call it."""
        function = f"ag__{name}_{self.number}"
        outer = [n for n in self.names if n not in self.function.globals]
        shares: list[ast.stmt] = [ast.Nonlocal(outer)] if outer else []
        shares += [ast.Global(sorted(shared))] if (shared := self.function.globals & set(self.names)) else []
        args = ast.arguments([], [ast.arg(p) for p in params], None, [], [], None, [])
        made = ast.FunctionDef(function, args, [*shares, *(body or [ast.Pass()])], [])
        vars(made).setdefault("type_params", [])  # which functions have since Python 3.12
        self.made.append(ast.copy_location(made, self.node))
        return _load(function)

    def call(self, name: str, args: list[ast.expr]) -> list[ast.stmt]:
        """The definitions, and the call of the runtime's function."""
        get = self.define("get", [ast.Return(ast.Tuple([_load(n) for n in self.names], ast.Load()))])
        target = ast.Tuple([ast.Name(n, ast.Store()) for n in self.names], ast.Store())
        set_ = self.define("set", [ast.Assign([target], _load("ag__values"))] if self.names else [], "ag__values")
        shown: list[ast.expr] = [ast.Constant(RESULT if n == VALUE else n) for n in self.names]
        call = self.function._call(name, *args, get, set_, ast.Tuple(shown, ast.Load()), self.function._place(self.node))
        return [*self.made, ast.copy_location(ast.Expr(call), self.node)]


def _load(name: str) -> ast.expr:
    return ast.Name(name, ast.Load())


def _assign(name: str, value: ast.expr) -> ast.stmt:
    return ast.Assign([ast.Name(name, ast.Store())], value)


def _thunk(value: ast.expr) -> ast.expr:
    return ast.copy_location(ast.Lambda(ast.arguments([], [], None, [], [], None, []), value), value)
