"""Software prefetching for gathers from large arrays, whose later indices are known from memory.

The processor has tens of loads under way, of which the gathers of one iteration wait for the slowest. So the index
expression is computed a second time, for iterations that are some way ahead, and a hint given for each address.
"""
from __future__ import annotations

from numjet.cpu.codegen.loop_context import VectorLoop
from numjet.cpu.codegen.memory.addresses import Addresses
from numjet.cpu.codegen.scopes import Value
from numjet.cpu.ir.nodes import INT64, Buffer, Expr
from numjet.cpu.ir.traversal import lazy_postorder

LARGE = 4                # arrays from such a part of the last-level cache: the gathers of nearer ones wait less than this takes
AHEAD = 128              # iterations
LONG_LOOP = 4096         # iterations
MOST_VISITS = 160        # of nodes of the index expression, each of which is visited about twice


def fetch_ahead(addresses: Addresses, buffer: Buffer, index: Expr) -> None:
    """Prefetches what later iterations will gather, where that pays."""
    w, context, loop = addresses.writer, addresses.context, addresses.context.vector
    if loop is None or buffer.nbytes < w.module.target.caches.last_level // LARGE:
        return
    low, high = context.ranges.of(loop.var)
    if not LONG_LOOP <= high - low < 2 ** 40:
        return
    later = w.module.exprs.var(INT64, "later")
    context.ranges.bind(later, low, high)
    later_index = _substituted(addresses, index, loop, later)
    if later_index is None:
        return
    w.enter_inline(set())
    first = w.put(f"add i64 {loop.first.text}, {AHEAD}")
    first = w.intrinsic("smin.i64", "i64", ("i64", first), ("i64", str(high + 1 - loop.lanes)))
    context.vector = VectorLoop(later, Value(first, 1, w.scope.depth), loop.lanes)
    pointers = addresses.elements(buffer, later_index)
    w.here()
    w.declare("llvm.prefetch.p0", "void", ["ptr", "i32", "i32", "i32"])
    for k in range(loop.lanes):
        pointer = w.put(f"extractelement <{loop.lanes} x ptr> {pointers.text}, i64 {k}")
        w.line(f"call void @llvm.prefetch.p0(ptr {pointer}, i32 0, i32 3, i32 1)")
    context.vector = loop
    w.leave()


def _substituted(addresses: Addresses, index: Expr, loop: VectorLoop, later: Expr) -> Expr | None:
    """The index with `later` in the place of the loop's variable, and what its iteration has computed so far computed again;
    None where it does not depend on memory, is long, or reads memory that may be out of bounds, or be written meanwhile.

    Visits are bounded, not only nodes: an element that the iteration updates has a value that reads the element, without end.
    """
    writer, ranges = addresses.writer, addresses.context.ranges
    made, loads = {loop.var.id: later}, 0

    def operands(e: Expr) -> tuple[Expr, ...]:
        origin = loop.origin(e)
        return e.args if origin is None else (origin,)
    for top in lazy_postorder(index, made, operands, MOST_VISITS):
        origin = loop.origin(top)
        if origin is not None:
            made[top.id] = made[origin.id]
            continue
        args = tuple(made[a.id] for a in top.args)
        if args == top.args:
            if top.op == "var" and writer.known[top.id].lanes > 1:
                return None
            made[top.id] = top
            continue
        made[top.id] = writer.module.exprs.make(top.op, top.dtype, args, top.attr)
        if top.op == "load":
            loads += 1
            if len(args) > 1 or top.attr in writer.mutable or not ranges.within(args[0], 0, top.attr.certain - 1):
                return None
    return made.get(index.id) if loads else None
