"""Single elements: what reads one element of a temporary computes it again.

A check of indices reads the first wrong one of an array that the gather beside it computes for itself, element by element. So
that the array needs no memory, the reader computes that element anew: from constants and inputs, which nobody writes.
"""
from __future__ import annotations

from collections.abc import Sequence

from numjet.cpu.analysis.front_rows import from_zero
from numjet.cpu.ir.nodes import Buffer, Expr, For, Function, Stmt, Store
from numjet.cpu.ir.rewrite import Rewrite
from numjet.cpu.ir.traversal import bulk_reads, loaded, map_operands, nodes, operands, walk, writes, written
from numjet.cpu.passes.manager import Context, Pass

MOST_NODES = 24   # of an expression that is computed again


def compute_again(function: Function) -> None:
    """Replaces reads of single elements of temporaries, in place."""
    singles = [k for k, s in enumerate(function.body) if not any(isinstance(inner, For) for inner in walk([s]))]
    read = {b for k in singles for s in walk([function.body[k]]) for b in loaded(operands(s)) if b.kind == "temp"}
    if not read:
        return
    constant = frozenset((*function.inputs, *function.consts)) - written(function.body)
    for buffer in sorted(read, key=lambda b: b.name):
        found = _maker(function.body, buffer, constant)
        if found is not None:
            _replace(function, buffer, *found, [function.body[k] for k in singles])


def _maker(body: Sequence[Stmt], buffer: Buffer, constant: frozenset[Buffer]) -> tuple[Expr, Expr] | None:
    """(i, the element of number i) of a temporary that one loop computes from constant memory, and that only its iterations and
    statements outside of loops read."""
    makers = [s for s in body if any(buffer in writes(inner) for inner in walk([s]))]
    maker = makers[0] if len(makers) == 1 else None
    if not isinstance(maker, For) or not from_zero(maker) or int(maker.stop.attr) != buffer.size:
        return None
    stores = [s for s in walk([maker]) if buffer in writes(s)]
    store = stores[0] if len(stores) == 1 else None
    if not isinstance(store, Store) or store.index is not maker.var or not any(store is s for s in maker.body):
        return None
    for top in body:
        for s in walk([top]):
            reads = [e for e in nodes(operands(s)) if e.op == "load" and e.attr is buffer]
            inside = any(isinstance(inner, For) for inner in walk([top]))
            if buffer in bulk_reads(s) or (inside and (top is not maker or any(e.args[0] is not maker.var for e in reads))
                                           and reads):
                return None
    return (maker.var, store.value) if _is_constant(store.value, maker.var, constant) else None


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
