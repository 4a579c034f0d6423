"""Names that statements assign, and jumps in them: what the rewriting needs to know about a function's scope."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def own_nodes(nodes: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """The nodes of a scope: those of functions and classes defined in it are left out, but for the definitions themselves."""
    stack = list(nodes)[::-1]
    while stack:
        node = stack.pop()
        yield node
        if not isinstance(node, _SCOPES):
            stack += list(ast.iter_child_nodes(node))[::-1]


def assigned(nodes: Iterable[ast.AST]) -> list[str]:
    """The names that statements assign, sorted."""
    nodes = list(nodes)
    found: set[str] = set()
    hidden = {id(t) for n in own_nodes(nodes) if isinstance(n, _COMPREHENSIONS)
              for g in n.generators for t in ast.walk(g.target)}
    for node in own_nodes(nodes):
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load) and id(node) not in hidden:
            found.add(node.id)
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            found.add(node.name)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            found |= {a.asname or a.name.split(".")[0] for a in node.names}
        elif isinstance(node, (ast.MatchAs, ast.MatchStar)) and node.name:
            found.add(node.name)
        elif isinstance(node, ast.MatchMapping) and node.rest:
            found.add(node.rest)
    return sorted(found)


def declared(nodes: Iterable[ast.AST], kind: type[ast.Global] | type[ast.Nonlocal]) -> set[str]:
    """The names that `global` or `nonlocal` statements declare."""
    return {name for node in own_nodes(nodes) if isinstance(node, kind) for name in node.names}


def parameters(node: ast.FunctionDef) -> list[str]:
    """The names of a function's parameters."""
    a = node.args
    return [p.arg for p in [*a.posonlyargs, *a.args, *([a.vararg] if a.vararg else []), *a.kwonlyargs,
                            *([a.kwarg] if a.kwarg else [])]]


def contains(nodes: Iterable[ast.AST], *kinds: type[ast.AST]) -> bool:
    """Whether a scope has nodes of these kinds."""
    return any(isinstance(node, kinds) for node in own_nodes(nodes))


def jumps(nodes: Iterable[ast.stmt], kind: type[ast.stmt]) -> bool:
    """Whether statements have a `break` or `continue` of the loop around them, or a `return`."""
    for node in nodes:
        if isinstance(node, kind):
            return True
        if isinstance(node, _SCOPES):
            continue
        inside = [s for s in ast.iter_child_nodes(node) if isinstance(s, (ast.stmt, ast.ExceptHandler, ast.match_case))]
        if kind is not ast.Return and isinstance(node, (ast.For, ast.While, ast.AsyncFor)):
            inside = node.orelse  # type: ignore[assignment]
        if jumps(inside, kind):  # type: ignore[arg-type]
            return True
    return False


def always_jumps(nodes: list[ast.stmt]) -> bool:
    """Whether no path leads to what follows the statements."""
    if not nodes:
        return False
    last = nodes[-1]
    if isinstance(last, ast.If):
        return always_jumps(last.body) and always_jumps(last.orelse)
    if isinstance(last, ast.With):
        return always_jumps(last.body)
    if isinstance(last, ast.While):
        return isinstance(last.test, ast.Constant) and bool(last.test.value) and not jumps(last.body, ast.Break)
    return isinstance(last, (ast.Return, ast.Raise, ast.Break, ast.Continue))
