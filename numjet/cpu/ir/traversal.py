"""Traversal of loop IR: the operands, blocks, bindings, reads and writes of every kind of statement, stated once.

`operands`, `binds`, `locations`, `reads` and `writes` describe a statement without the blocks inside it; `walk` visits those,
too. Every analysis and pass learns of a new kind of statement by its cases here.
"""
from __future__ import annotations

import math
from collections.abc import Callable, Container, Iterable, Iterator, Sequence

from numjet import _native
from numjet.cpu.ir.nodes import (
    Buffer,
    Call,
    Carry,
    Check,
    Comment,
    Copy,
    Expr,
    Fill,
    For,
    GemmWithEpilogue,
    If,
    Let,
    Stmt,
    Store,
    SwapBuffers,
    Switch,
    While,
)

_PLAIN = frozenset({Let, Store, Copy, Fill, SwapBuffers, Call, Check, Comment})   # no blocks inside


# --- expressions

def operands(stmt: Stmt) -> list[Expr]:
    """The expressions in a statement: for a loop its bounds, then init, next and term of each carry; for a branch the
    condition, then the results of all blocks."""
    match stmt:
        case Let(value=value):
            return [value]
        case Store():
            return [stmt.index, stmt.value]
        case For():
            limit = [] if stmt.limit is None else [stmt.limit]
            return [stmt.start, stmt.stop, *limit, *_of_carries(stmt.carries)]
        case While():
            return [stmt.cond, *_of_carries(stmt.carries)]
        case If():
            return [stmt.cond, *(e for _, yes, no in stmt.results for e in (yes, no))]
        case Switch():
            return [stmt.index, *(e for _, values in stmt.results for e in values)]
        case Copy():
            return [stmt.target_start, stmt.source_start, stmt.count]
        case Fill():
            return [stmt.start, stmt.value, stmt.count]
        case Call():
            return [*(arg[1] if isinstance(arg, tuple) else arg for arg in stmt.args), *(limit for _, limit in stmt.limits)]
        case Check():
            return [stmt.ok, *stmt.values]
    return []


def _of_carries(carries: Sequence[Carry]) -> list[Expr]:
    return [e for c in carries for e in (c.init, c.next, c.term) if e is not None]


def map_operands(stmt: Stmt, fn: Callable[[Expr], Expr]) -> None:
    """Replaces each of a statement's operands by `fn` of it, in place, in the order of `operands`."""
    match stmt:
        case Let():
            stmt.value = fn(stmt.value)
        case Store():
            stmt.index, stmt.value = fn(stmt.index), fn(stmt.value)
        case For():
            stmt.start, stmt.stop = fn(stmt.start), fn(stmt.stop)
            stmt.limit = None if stmt.limit is None else fn(stmt.limit)
            _map_carries(stmt.carries, fn)
        case While():
            stmt.cond = fn(stmt.cond)
            _map_carries(stmt.carries, fn)
        case If():
            stmt.cond = fn(stmt.cond)
            stmt.results = [(out, fn(yes), fn(no)) for out, yes, no in stmt.results]
        case Switch():
            stmt.index = fn(stmt.index)
            stmt.results = [(out, tuple(map(fn, values))) for out, values in stmt.results]
        case Copy():
            stmt.target_start, stmt.source_start, stmt.count = fn(stmt.target_start), fn(stmt.source_start), fn(stmt.count)
        case Fill():
            stmt.start, stmt.value, stmt.count = fn(stmt.start), fn(stmt.value), fn(stmt.count)
        case Call():
            stmt.args = [(arg[0], fn(arg[1])) if isinstance(arg, tuple) else fn(arg) for arg in stmt.args]
            stmt.limits = tuple((place, fn(limit)) for place, limit in stmt.limits)
        case Check():
            stmt.ok, stmt.values = fn(stmt.ok), tuple(map(fn, stmt.values))


def _map_carries(carries: Sequence[Carry], fn: Callable[[Expr], Expr]) -> None:
    for carry in carries:
        carry.init, carry.next = fn(carry.init), fn(carry.next)
        carry.term = None if carry.term is None else fn(carry.term)


def expressions(block: Sequence[Stmt]) -> list[Expr]:
    """The operands of all statements of a block, nested ones included."""
    return [expr for stmt in walk(block) for expr in operands(stmt)]


def nodes(roots: Iterable[Expr]) -> list[Expr]:
    """Every expression below `roots`, each once, users before operands."""
    return _native.expr_nodes(roots)


def upper_bound(x: object) -> int | None:
    """A bound of a number: itself, or one of those whose minimum it is; at least 0 where it is a maximum with that."""
    if not isinstance(x, Expr):
        return None
    if x.op == "max" and x.args[1].op == "const" and x.args[1].attr == 0:
        return upper_bound(x.args[0])
    if x.op == "min":
        found = [n for n in map(upper_bound, x.args) if n is not None]
        return min(found) if found else None
    return int(x.attr) if x.op == "const" else None


def postorder(roots: Sequence[Expr], known: Container[int] = (), usual: bool = False) -> list[Expr]:
    """Every expression below `roots`, each once, operands before users.

    known: ids of expressions visited before, such as the keys of a table that the caller fills with the result. usual: without
    rare values and what only they need.
    """
    return _native.expr_postorder(roots, known, usual)


def lazy_postorder(root: Expr, known: Container[int], operands_of: Callable[[Expr], Sequence[Expr]],
                   visits: float = math.inf) -> Iterator[Expr]:
    """`postorder` that asks for the operands to visit before an expression, again after these have been visited, while the
    caller fills `known` with what it gets. It ends early after a number of visits: what `operands_of` says may be cyclic."""
    stack = [root]
    while stack and visits > 0:
        visits -= 1
        top = stack[-1]
        if top.id in known:
            stack.pop()
            continue
        missing = [a for a in operands_of(top) if a.id not in known]
        if missing:
            stack += missing[::-1]
        else:
            stack.pop()
            yield top


def loaded(roots: Iterable[Expr]) -> set[Buffer]:
    """The buffers that expressions load from."""
    return {e.attr for e in nodes(roots) if e.op == "load"}


# --- blocks and variables

def blocks(stmt: Stmt) -> list[list[Stmt]]:
    """The blocks inside a statement, in the order in which they run."""
    if type(stmt) in _PLAIN:
        return []
    match stmt:
        case For() | GemmWithEpilogue():
            return [stmt.body]
        case While():
            return [stmt.cond_body, stmt.body]
        case If():
            return [stmt.then, stmt.orelse]
        case Switch():
            return list(stmt.branches)
    return []


def side_by_side(stmt: Stmt) -> bool:
    """Whether the blocks inside a statement run several times at once, in threads: what they only keep for themselves must not
    share memory."""
    return isinstance(stmt, GemmWithEpilogue) or (isinstance(stmt, For) and stmt.mode == "parallel")


def walk(block: Sequence[Stmt]) -> list[Stmt]:
    """Every statement of a block in preorder."""
    return _native.statements(block, _PLAIN, blocks)


def binds(stmt: Stmt) -> list[Expr]:
    """The variables that a statement binds, for the blocks inside it or for what follows."""
    match stmt:
        case Let(var=var):
            return [var]
        case GemmWithEpilogue(bounds=bounds):
            return list(bounds)
        case For():
            return [stmt.var, *(v for c in stmt.carries for v in (c.var, c.out))]
        case While():
            return [v for c in stmt.carries for v in (c.var, c.out)]
        case If() | Switch():
            return [result[0] for result in stmt.results]
    return []


def static_trips(loop: For) -> int | None:
    """The number of a loop's iterations; None if the bounds are not constant."""
    if loop.start.op == "const" and loop.stop.op == "const":
        return max(0, int(loop.stop.attr) - int(loop.start.attr))
    return None


# --- memory

def locations(stmt: Stmt) -> list[tuple[Buffer, Expr]]:
    """The memory that a statement accesses other than by loads: each buffer with the index of the first element."""
    match stmt:
        case Store():
            return [(stmt.buffer, stmt.index)]
        case Fill():
            return [(stmt.target, stmt.start)]
        case Copy():
            return [(stmt.target, stmt.target_start), (stmt.source, stmt.source_start)]
        case Call():
            return [arg for arg in stmt.args if isinstance(arg, tuple)]
    return []


def map_locations(stmt: Stmt, fn: Callable[[Buffer, Expr], tuple[Buffer, Expr]]) -> None:
    """Replaces each of a statement's `locations` by `fn` of it, in place; a call's `reads` and `writes` stay."""
    match stmt:
        case Store():
            stmt.buffer, stmt.index = fn(stmt.buffer, stmt.index)
        case Fill():
            stmt.target, stmt.start = fn(stmt.target, stmt.start)
        case Copy():
            stmt.target, stmt.target_start = fn(stmt.target, stmt.target_start)
            stmt.source, stmt.source_start = fn(stmt.source, stmt.source_start)
        case Call():
            stmt.args = [fn(*arg) if isinstance(arg, tuple) else arg for arg in stmt.args]


def reads(stmt: Stmt) -> set[Buffer]:
    """The buffers that a statement may read, by loads or in bulk."""
    return loaded(operands(stmt)).union(bulk_reads(stmt))


def bulk_reads(stmt: Stmt) -> Sequence[Buffer]:
    """The buffers that a statement may read other than by loads: those that it copies, passes to a call, or swaps."""
    match stmt:
        case Copy(source=source):
            return (source,)
        case Call():
            return stmt.reads
        case SwapBuffers(sources=sources):
            return sources
    return ()


def writes(stmt: Stmt) -> Sequence[Buffer]:
    """The buffers that a statement may write. A swap writes its buffers and the cells of their addresses."""
    match stmt:
        case Store(buffer=buffer) | Copy(target=buffer) | Fill(target=buffer):
            return (buffer,)
        case Call():
            return stmt.writes
        case SwapBuffers(targets=targets):
            return (*targets, *(b.cell for b in targets if b.cell is not None))
    return ()


def touches(stmt: Stmt) -> set[Buffer]:
    """The buffers that a statement may read or write."""
    return reads(stmt).union(writes(stmt))


def written(block: Sequence[Stmt]) -> set[Buffer]:
    """The buffers that a block may write, and the cells of those that are swapped in it."""
    return {buffer for stmt in walk(block) for buffer in writes(stmt)}


def swapped(block: Sequence[Stmt]) -> list[Buffer]:
    """The buffers swapped in a block, in the order of their first swap."""
    return list(dict.fromkeys(b for stmt in walk(block) if isinstance(stmt, SwapBuffers) for b in stmt.targets))
