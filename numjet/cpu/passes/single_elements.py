"""Single elements: what reads one element of a temporary computes it again.

A check of indices reads the first wrong one of an array that the gather beside it computes for itself, element by element. So
that the array needs no memory, the reader computes that element anew: from constants and inputs, which nobody writes. So does
a branch that is hardly ever taken, which looks for the wrong index.
"""
from __future__ import annotations

from collections.abc import Sequence

from numjet.cpu.analysis.front_rows import from_zero
from numjet.cpu.ir.nodes import Buffer, Expr, For, Function, If, Stmt, Store
from numjet.cpu.ir.rewrite import Rewrite
from numjet.cpu.ir.traversal import bulk_reads, expressions, loaded, map_operands, nodes, operands, walk, writes, written
from numjet.cpu.passes.manager import Context, Pass
from numjet.foundation.record import Fields, default_factory

MOST_NODES = 24   # of an expression that is computed again


class _Uses(Fields):
    """What a function does with one temporary: the statements outside of others that write it, all that do, whether one reads
    it as a whole, and the loads in loops."""
    makers: list[Stmt] = default_factory(list)
    writers: list[Stmt] = default_factory(list)
    whole: bool = False
    loads: list[Expr] = default_factory(list)


def compute_again(function: Function) -> None:
    """Replaces reads of single elements of temporaries, and reads in branches of the program, in place."""
    if not function.temps:
        return
    loops = {id(s) for s in function.body if _is_loop(s)}
    readers = [s for s in function.body if id(s) not in loops]
    read = {b for s in walk(readers) for b in loaded(operands(s)) if b.kind == "temp"}
    if not read:
        return
    constant = frozenset((*function.inputs, *function.consts)) - written(function.body)
    found = {b: _made(uses, b, constant) for b, uses in _uses(function.body, loops, read).items()}
    known = {b: made for b, made in found.items() if made is not None}
    if known:
        _replace(function, known, readers)


def _is_loop(stmt: Stmt) -> bool:
    """Whether a statement is, or has, a loop that is run as a rule."""
    return not isinstance(stmt, If) and any(isinstance(inner, For) for inner in walk([stmt]))


def _uses(body: Sequence[Stmt], loops: set[int], buffers: set[Buffer]) -> dict[Buffer, _Uses]:
    found = {b: _Uses() for b in buffers}
    for top in body:
        for s in walk([top]):
            for b in buffers.intersection(writes(s)):
                found[b].writers.append(s)
                if not any(top is maker for maker in found[b].makers[-1:]):
                    found[b].makers.append(top)
            for b in buffers.intersection(bulk_reads(s)):
                found[b].whole = True
        if id(top) in loops:
            for e in nodes(expressions([top])):
                if e.op == "load" and e.attr in buffers:
                    found[e.attr].loads.append(e)
    return found


def _made(uses: _Uses, buffer: Buffer, constant: frozenset[Buffer]) -> tuple[Expr, Expr] | None:
    """(i, the element of number i) of a temporary that one loop computes from constant memory, and that of all loops only its
    iterations read."""
    if len(uses.makers) != 1 or len(uses.writers) != 1 or uses.whole:
        return None
    maker, store = uses.makers[0], uses.writers[0]
    if not isinstance(maker, For) or not from_zero(maker) or int(maker.stop.attr) != buffer.size:
        return None
    if not isinstance(store, Store) or store.index is not maker.var or not any(store is s for s in maker.body):
        return None
    if any(e.args[0] is not maker.var for e in uses.loads) or not _is_constant(store.value, maker.var, constant):
        return None
    return maker.var, store.value


def _is_constant(value: Expr, var: Expr, constant: frozenset[Buffer]) -> bool:
    """Whether an expression depends on a variable and constant memory only, and is short."""
    parts = nodes([value])
    return len(parts) <= MOST_NODES and all(
        (e.op != "var" or e is var) and (e.op != "load" or e.attr in constant) for e in parts)


def _replace(function: Function, known: dict[Buffer, tuple[Expr, Expr]], stmts: Sequence[Stmt]) -> None:
    def again(e: Expr) -> Expr:
        if e.op != "load" or e.attr not in known:
            return e
        var, value = known[e.attr]
        return Rewrite(function, lambda x: e.args[0] if x is var else x).expr(value)
    rewrite = Rewrite(function, again)
    for top in stmts:
        for s in walk([top]):
            map_operands(s, rewrite.expr)


def _run(function: Function, context: Context) -> None:
    compute_again(function)


PASS = Pass("single elements", "computes single elements again, so that their arrays need no memory", _run,
            ("math", "serial", "unplaced"))
