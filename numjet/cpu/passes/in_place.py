"""In-place reuse: a temporary takes the memory of another one that it replaces element by element.

A loop that reads an array for the last time, each element where it stores one of a second array, needs no memory for the
second: the weights of attention are stored over its scores.
"""
from __future__ import annotations

from collections.abc import Sequence

from numjet.cpu.analysis.affine import AffineForms
from numjet.cpu.ir.nodes import Buffer, Call, Comment, Expr, For, Function, Let, Stmt, Store
from numjet.cpu.ir.rewrite import Rewrite
from numjet.cpu.ir.traversal import expressions, map_locations, nodes, static_trips, swapped, touches, walk
from numjet.cpu.passes.manager import Pass

WORTH_BYTES = 1 << 18   # of each: less memory against fewer loops that may be fused


def replace(function: Function) -> None:
    """Makes one buffer of such pairs of large temporaries. Looks at statements outside of loops only."""
    large = {t for t in function.temps if t.nbytes >= WORTH_BYTES}.difference(swapped(function.body))
    if len(large) < 2:
        return
    homes = _homes(function.body, large)
    if homes:
        _rename(function, homes)
        function.temps[:] = [t for t in function.temps if t not in homes]


def _homes(body: Sequence[Stmt], large: set[Buffer]) -> dict[Buffer, Buffer]:
    """By buffer, the one that it becomes part of."""
    touched = [large & {b for s in walk([stmt]) for b in touches(s)} for stmt in body]
    last = {b: k for k, found in enumerate(touched) for b in found}
    homes: dict[Buffer, Buffer] = {}
    seen: set[Buffer] = set()
    for k, (stmt, found) in enumerate(zip(body, touched, strict=True)):
        over = [b for b in _sorted(found & seen) if last[b] == k]
        for new in _sorted(found - seen):
            old = next((b for b in over if (b.dtype, b.size) == (new.dtype, new.size) and replaces(stmt, b, new)), None)
            if old is not None:
                homes[new] = homes.get(old, old)
        seen |= found
    return homes


def _sorted(buffers: set[Buffer]) -> list[Buffer]:
    return sorted(buffers, key=lambda b: b.name)


def replaces(stmt: Stmt, old: Buffer, new: Buffer) -> bool:
    """Whether a nest of loops only stores into `new`, once each place, and reads of `old` what was in that place."""
    loops: list[For] = []
    block = [stmt]
    while len(block) == 1 and isinstance(block[0], For) and not block[0].carries:
        loops.append(block[0])
        block = [s for s in block[0].body if not isinstance(s, Comment)]
    if not block or not isinstance(block[-1], Store) or not all(isinstance(s, Let) for s in block[:-1]):
        return False
    store = block[-1]
    loads = [e for e in nodes(expressions(block)) if e.op == "load" and e.attr in (old, new)]
    same = all(e.attr is old and e.args[0] is store.index for e in loads)
    return same and store.buffer is new and _once_each(store.index, loops)


def _once_each(index: Expr, loops: Sequence[For]) -> bool:
    """Whether an index differs between any two iterations of a nest: each stride reaches beyond what shorter ones cover."""
    trips = {loop.var: static_trips(loop) for loop in loops}
    total = AffineForms().split(index)
    if {term for term, _ in total.terms} != {var for var, n in trips.items() if n != 1}:
        return False
    covered = 0
    for term, stride in sorted(total.terms, key=lambda item: item[1]):
        n = trips[term]
        if n is None or stride <= covered:
            return False
        covered += stride * (n - 1)
    return True


def _rename(function: Function, homes: dict[Buffer, Buffer]) -> None:
    """Replaces buffers in all statements."""
    def loaded(expr: Expr) -> Expr:
        home = homes.get(expr.attr) if expr.op == "load" else None
        return expr if home is None else function.exprs.make("load", expr.dtype, expr.args, home)

    def of(buffer: Buffer) -> Buffer:
        return homes.get(buffer, buffer)
    Rewrite(function, loaded).block(function.body)
    for stmt in walk(function.body):
        map_locations(stmt, lambda buffer, index: (of(buffer), index))
        if isinstance(stmt, Call):
            stmt.reads, stmt.writes = tuple(map(of, stmt.reads)), tuple(map(of, stmt.writes))


PASS = Pass("in_place", "stores an array over one that it replaces element by element", lambda function, _: replace(function),
            ("serial",))
