"""Array contraction: temporaries of fused loops become values or rows where an iteration needs only what it wrote itself.

What was an array between two loops often stays within an iteration once the loops are joined (see `fusion`). An element that is
read where it was written becomes a value (`values`). Of an array that a loop traverses row by row, one row is kept (`rows`), or
one for each piece of a loop that threads share.
"""
from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence

from numjet.cpu.analysis.affine import AffineForms
from numjet.cpu.analysis.dependence import Place, own_place
from numjet.cpu.analysis.ranges import most_trips
from numjet.cpu.ir.nodes import Buffer, Call, Copy, Expr, Exprs, Fill, For, Function, GemmWithEpilogue, Let, Stmt, Store
from numjet.cpu.ir.rewrite import Rewrite
from numjet.cpu.ir.traversal import blocks, expressions, map_locations, nodes, operands, touches, walk
from numjet.cpu.passes.manager import Pass
from numjet.cpu.passes.memory_plan import ALIGNMENT
from numjet.cpu.remarks import Recorder
from numjet.cpu.target import Target

# --- values

def values(function: Function, recorder: Recorder | None = None) -> None:
    """Replaces temporaries whose elements are only read by the iteration of a fused loop that wrote them, in place."""
    loops = _fused(function)
    if loops:
        temps, touched = set(function.temps), _touches(function.body)
        for loop in loops:
            _of_loop(function, loop, touched, temps, recorder)


def _fused(function: Function) -> list[For]:
    return [s for s in walk(function.body) if isinstance(s, For) and s.fused]


def _of_loop(function: Function, loop: For, touched: Counter[Buffer], temps: set[Buffer], recorder: Recorder | None) -> None:
    """Replaces the temporaries that are only touched in the body of one loop, and stored to by statements of that body."""
    candidates = dict.fromkeys(s.buffer for s in loop.body if isinstance(s, Store) and s.buffer in temps)
    if not candidates:
        return
    inside = _touches([loop])
    before = {e.attr for e in nodes([loop.start, loop.stop, *(c.init for c in loop.carries)]) if e.op == "load"}
    alone = {buffer for buffer in candidates if inside[buffer] == touched[buffer] and buffer not in before}
    kept = _read_where_written(loop, alone) if alone else set()
    if kept:
        _replace(function, loop, kept)
    if recorder is not None:
        recorder.kept.update((buffer, "each element is only wanted by the iteration that computes it")
                             for buffer in candidates if buffer in kept)


def _touches(block: Sequence[Stmt]) -> Counter[Buffer]:
    """By buffer, how many statements touch it."""
    return Counter(b for s in walk(list(block)) for b in touches(s))


def _read_where_written(loop: For, buffers: set[Buffer]) -> set[Buffer]:
    """Those of the buffers of which the body of a loop only reads elements that a statement of the body has stored before."""
    sums, left = AffineForms(), set(buffers)
    stored: dict[Buffer, dict[int, Expr]] = {buffer: {} for buffer in buffers}

    def look(roots: list[Expr]) -> None:
        for e in nodes(roots):
            if e.op == "load" and e.attr in left and (len(e.args) != 1 or e.args[0].id not in stored[e.attr]):
                left.discard(e.attr)
    for stmt in loop.body:
        inside = list(walk([stmt]))
        look([e for s in inside for e in operands(s)])
        for s in inside:
            if isinstance(s, Copy | Fill | Call):
                left -= touches(s)
            elif isinstance(s, Store) and s is not stmt:
                left.discard(s.buffer)
        if isinstance(stmt, Store) and stmt.buffer in left:
            stored[stmt.buffer][stmt.index.id] = stmt.index
    look([e for c in loop.carries for e in (c.next, c.term) if e is not None])
    return {buffer for buffer in left if _apart(sums, stored[buffer].values())}


def _apart(sums: AffineForms, places: Collection[Expr]) -> bool:
    """Whether indices differ by constants other than 0."""
    totals = [sums.split(e) for e in places]
    return len({t.terms for t in totals}) == 1 and len({t.constant for t in totals}) == len(totals)


def _replace(function: Function, loop: For, buffers: set[Buffer]) -> None:
    """Values instead of the elements of buffers, in one walk over the body of a loop."""
    now: dict[tuple[Buffer, int], Expr] = {}

    def read(e: Expr) -> Expr:
        return now[e.attr, e.args[0].id] if e.op == "load" and e.attr in buffers else e
    rewrite = Rewrite(function, read)
    for k, stmt in enumerate(loop.body):
        rewrite.block([stmt])
        if isinstance(stmt, Store) and stmt.buffer in buffers:
            place = (stmt.buffer, stmt.index.id)
            if place in now:   # what has read the element before is another value from here on
                rewrite = Rewrite(function, read)
            now[place] = function.exprs.var(stmt.buffer.dtype, "kept")
            loop.body[k] = Let(now[place], stmt.value)
    for c in loop.carries:
        c.next = rewrite.expr(c.next)
        c.term = None if c.term is None else rewrite.expr(c.term)


# --- rows

def rows(function: Function, target: Target, recorder: Recorder | None = None) -> None:
    """Makes one row, or one for each piece of a shared loop, of temporaries that fused loops go through row by row and that are
    twice as large as the first-level cache, in place, and takes their marks; after loops have been shared."""
    loops = _fused(function)
    large = {t for t in function.temps if t.nbytes >= 2 * target.caches.l1}
    if loops and large:
        touched = Counter({b: n for b, n in _touches(function.body).items() if b in large})
        for around, loop in _loops(function.body, ()):
            if loop.fused:
                _rows_of_loop(function, around, loop, touched, recorder)
    for loop in loops:
        loop.fused = False


def _loops(block: Sequence[Stmt], around: tuple[For, ...]) -> Iterator[tuple[tuple[For, ...], For]]:
    """Every loop, inner ones first, with those around it. Those of an epilogue run in several threads at a time, on parts that
    have no number: none is one row's only reader."""
    for stmt in block:
        if isinstance(stmt, GemmWithEpilogue):
            continue
        outer = (*around, stmt) if isinstance(stmt, For) else around
        for inner in blocks(stmt):
            yield from _loops(inner, outer)
        if isinstance(stmt, For):
            yield around, stmt


def _rows_of_loop(function: Function, around: tuple[For, ...], loop: For, touched: Counter[Buffer],
                  recorder: Recorder | None) -> None:
    inside = _touches(loop.body) if touched else Counter[Buffer]()
    shared = next((p for p in around if p.mode == "parallel"), None)
    pieces = 1 if shared is None else most_trips(shared) or 0
    for buffer in [b for b in inside if b in touched and inside[b] == touched[b]]:
        del touched[buffer]   # whatever becomes of it, loops around cannot do better
        place = own_place(loop, buffer)
        if place is None or loop.mode == "parallel" or _guarded(loop, buffer):
            continue
        width = -(-place.step * buffer.dtype.itemsize // ALIGNMENT) * ALIGNMENT // buffer.dtype.itemsize
        if pieces and 2 * pieces * width <= buffer.size:
            zero = function.exprs.index(0)
            _one_row(function, loop, buffer, place, zero if shared is None else _piece(function.exprs, shared, width))
            buffer.size = pieces * width
            if recorder is not None:
                recorder.kept[buffer] = "a row of it at a time"


def _piece(exprs: Exprs, shared: For, width: int) -> Expr:
    """Where the row of a piece of a shared loop begins."""
    number = exprs.prim("sub", shared.var, shared.start)
    return exprs.prim("mul", number, exprs.index(width))


def _guarded(loop: For, buffer: Buffer) -> bool:
    """Whether a loop reads elements under a condition: without it their indices may be out of bounds."""
    return any(e.op == "load" and e.attr is buffer and len(e.args) > 1 for e in nodes(expressions([loop])))


def _one_row(function: Function, loop: For, buffer: Buffer, place: Place, row: Expr) -> None:
    """Rewrites the body of a loop to index from `row` on, instead of from the start of its iteration's row."""
    sums, exprs, dropped = AffineForms.of(loop.body), function.exprs, {term.id for term, _ in place.base} | {loop.var.id}

    def shifted(index: Expr) -> Expr:
        total = sums.split(index)
        found = row
        for term, factor in total.terms:
            if term.id not in dropped:
                found = exprs.prim("add", found, term if factor == 1 else exprs.prim("mul", term, exprs.index(factor)))
        return exprs.prim("add", found, exprs.index(total.constant - place.low)) if total.constant != place.low else found
    for stmt in walk(loop.body):
        map_locations(stmt, lambda b, index: (b, shifted(index) if b is buffer else index))
    Rewrite(function, lambda e: exprs.load(buffer, shifted(e.args[0])) if e.op == "load" and e.attr is buffer else e
            ).block([For(loop.var, loop.start, loop.stop, loop.body, loop.carries)])


ELEMENTS = Pass("array_contraction", "keeps elements of temporaries of fused loops as values",
                lambda function, context: values(function, context.recorder), ("fused", "serial"))
ROWS = Pass("row_contraction", "keeps one row of temporaries of fused loops, or one for each thread's piece",
            lambda function, context: rows(function, context.target, context.recorder), ("fused", "shared", "unplaced"),
            ends=("fused",))
