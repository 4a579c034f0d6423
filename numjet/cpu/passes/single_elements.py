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
from numjet.cpu.ir.traversal import bulk_reads, loaded, map_operands, nodes, operands, walk, writes, written
from numjet.cpu.passes.manager import Context, Pass

MOST_NODES = 24   # of an expression that is computed again


def compute_again(function: Function) -> None:
    """Replaces reads of single elements of temporaries, and reads in branches of the program, in place."""
    loops = [s for s in function.body if any(isinstance(inner, For) for inner in walk([s])) and not isinstance(s, If)]
    readers = [s for s in function.body if not any(s is loop for loop in loops)]
    read = {b for s in walk(readers) for b in loaded(operands(s)) if b.kind == "temp"}
    if not read:
        return
    constant = frozenset((*function.inputs, *function.consts)) - written(function.body)
    for buffer in sorted(read, key=lambda b: b.name):
        found = _maker(function.body, loops, buffer, constant)
        if found is not None:
            _replace(function, buffer, *found, readers)


def _maker(body: Sequence[Stmt], loops: Sequence[Stmt], buffer: Buffer, constant: frozenset[Buffer]
           ) -> tuple[Expr, Expr] | None:
    """(i, the element of number i) of a temporary that one loop computes from constant memory, and that of all loops only its
    iterations read."""
    makers = [s for s in body if any(buffer in writes(inner) for inner in walk([s]))]
    maker = makers[0] if len(makers) == 1 else None
    if not isinstance(maker, For) or not from_zero(maker) or int(maker.stop.attr) != buffer.size:
        return None
    stores = [s for s in walk([maker]) if buffer in writes(s)]
    store = stores[0] if len(stores) == 1 else None
    if not isinstance(store, Store) or store.index is not maker.var or not any(store is s for s in maker.body):
        return None
    if any(buffer in bulk_reads(s) for s in walk(body)):
        return None
    inside = [e for s in walk(loops) for e in nodes(operands(s)) if e.op == "load" and e.attr is buffer]
    if any(e.args[0] is not maker.var for e in inside) or not _is_constant(store.value, maker.var, constant):
        return None
    return maker.var, store.value


def _is_constant(value: Expr, var: Expr, constant: frozenset[Buffer]) -> bool:
    """Whether an expression depends on a variable and constant memory only, and is short."""
    parts = nodes([value])
    return len(parts) <= MOST_NODES and all(
        (e.op != "var" or e is var) and (e.op != "load" or e.attr in constant) for e in parts)


def _replace(function: Function, buffer: Buffer, var: Expr, value: Expr, stmts: Sequence[Stmt]) -> None:
    def again(e: Expr) -> Expr:
        if e.op != "load" or e.attr is not buffer:
            return e
        return Rewrite(function, lambda x: e.args[0] if x is var else x).expr(value)
    rewrite = Rewrite(function, again)
    for top in stmts:
        for s in walk([top]):
            map_operands(s, rewrite.expr)


def _run(function: Function, context: Context) -> None:
    compute_again(function)


PASS = Pass("single elements", "computes single elements again, so that their arrays need no memory", _run,
            ("math", "serial", "unplaced"))
