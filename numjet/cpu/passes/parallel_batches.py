"""Batch parallelization: serial loops over a batch of independent rows are shared among threads as a whole.

A scan over many systems at once (a batch of a recurrent network, a thousand environments with one policy) is a serial
loop whose statements go through rows of buffers: loops over rows, matrix products with as many rows, copies. Where
every statement touches, of what the loop writes, only the row it is at, a thread can take some rows through the whole
loop: the threads never wait for each other, and a thread's rows stay in its cache.
"""
from __future__ import annotations

from collections.abc import Iterable

from numjet.cpu.analysis.affine import AffineForms
from numjet.cpu.analysis.ranges import Ranges
from numjet.cpu.analysis.sharing import chunks_of, few_trips, worth
from numjet.cpu.ir.nodes import (
    INT64,
    Buffer,
    Call,
    Comment,
    Copy,
    Expr,
    Exprs,
    Fill,
    For,
    Function,
    GemmWithEpilogue,
    Let,
    Stmt,
    Store,
    SwapBuffers,
)
from numjet.cpu.ir.traversal import blocks, nodes, operands, static_trips, walk, written
from numjet.cpu.kernels.products import CODES, POINTERS, SIZES, gemm_sizes
from numjet.cpu.passes.manager import Pass
from numjet.cpu.target import Target

ROWS = 16            # a chunk has at least so many rows
CHUNKS = 16          # chunks of a loop, if it has the rows
_LEFT, _RIGHT, _RESULT = POINTERS
_ROW, _COLUMN = _LEFT + 2, _LEFT + 3   # strides of the left operand
_REAL = CODES["complex64"]             # smaller codes are those of real numbers


def by_rows(loop: For, exprs: Exprs) -> list[Stmt] | None:
    """A serial loop as a parallel one over chunks of rows, each of which goes through all iterations; None if it has no
    independent rows."""
    for rows in _candidates(loop):
        if _Rows(loop, rows).independent():
            return _Chunks(loop, rows, static_trips(loop) or 0, exprs).statements()
    return None


def _candidates(loop: For) -> list[int]:
    """How many rows a serial loop may have: those of matrix products, or else of loops, if there are enough."""
    if loop.mode != "serial" or loop.carries or static_trips(loop) is None:
        return []
    products = {sizes[1] for s in loop.body if isinstance(s, Call) and (sizes := gemm_sizes(s)) is not None}
    loops = {n for s in loop.body if isinstance(s, For) and (n := static_trips(s)) is not None}
    return [rows for rows in (sorted(products) if products else sorted(loops)[:1]) if rows >= 2 * ROWS]


class _Rows:
    """Whether statements touch their own row only."""

    def __init__(self, loop: For, rows: int):
        self.loop, self.rows = loop, rows
        self.written = written(loop.body)
        self.sums, self.ranges = AffineForms(), Ranges()
        self.widths: dict[Buffer, int] = {}

    def independent(self) -> bool:
        if not all(self._stmt(s) for s in self.loop.body):
            return False
        moving = (s.targets for s in self.loop.body if isinstance(s, SwapBuffers))
        return all(len({self.widths[b] for b in targets if b in self.widths}) <= 1 for targets in moving)

    def _stmt(self, stmt: Stmt) -> bool:
        match stmt:
            case Comment() | SwapBuffers():
                return True
            case Let(value=value):
                return not self._loads([value])
            case For():
                return self._loop(stmt)
            case Call():
                return self._product(stmt)
            case Copy(count=count):
                return (self._block(stmt.target, stmt.target_start, count)
                        and (stmt.source not in self.written or self._block(stmt.source, stmt.source_start, count)))
            case Fill(count=count, value=value):
                return self._block(stmt.target, stmt.start, count) and not self._loads([value])
        return False

    def _loads(self, roots: list[Expr]) -> list[Expr]:
        return [e for e in nodes(roots) if e.op == "load" and e.attr in self.written]

    def _loop(self, stmt: For) -> bool:
        """A loop over rows, or over the elements of all rows."""
        trips = static_trips(stmt)
        if trips is None or trips % self.rows or stmt.carries or stmt.start.attr != 0:
            return False
        self.inner: dict[int, Expr] = {}
        roots: list[Expr] = []
        places: list[tuple[Buffer, Expr]] = []
        for inner in walk(stmt.body):
            if isinstance(inner, Let):
                self.sums.define(inner.var, inner.value)
            elif isinstance(inner, For):
                self.inner[inner.var.id] = inner.var
                self.ranges.bind(inner.var, self.ranges.of(inner.start)[0], self.ranges.of(inner.stop)[1] - 1)
            elif isinstance(inner, Store):
                places.append((inner.buffer, inner.index))
            elif not isinstance(inner, Comment):
                return False
            roots += operands(inner)
        places += [(e.attr, e.args[0]) for e in self._loads(roots)]
        return all(self._in_row(buffer, index, stmt.var, trips // self.rows) for buffer, index in places)

    def _in_row(self, buffer: Buffer, index: Expr, var: Expr, per_row: int) -> bool:
        """Whether an index is always in the row of `var`, which takes so many values per row."""
        total = self.sums.split(index)
        step = dict(total.terms).get(var, 0)
        width = step * per_row
        if width <= 0 or self.widths.setdefault(buffer, width) != width:
            return False
        low = high = total.constant % (self.rows * width)
        high += step * (per_row - 1)
        for term, coefficient in total.terms:
            if term.id in self.inner:
                ends = [coefficient * end for end in self.ranges.of(term)]
                low, high = low + min(ends), high + max(ends)
            elif term is not var and not self._shifts(term, coefficient, width):
                return False
        return 0 <= low and high < width

    def _shifts(self, term: Expr, coefficient: int, width: int) -> bool:
        """Whether a term moves an index by whole arrays, equally for all rows."""
        return term.op == "var" and self._outside(term) and coefficient % (self.rows * width) == 0

    def _outside(self, term: Expr) -> bool:
        """A variable of the loop itself, or of what is around it."""
        return term.id not in {s.var.id for s in walk(self.loop.body) if isinstance(s, For | Let)}

    def _whole(self, buffer: Buffer, start: Expr, width: int) -> bool:
        """Whether rows of that width begin at a start, as in all other statements."""
        if buffer.dtype.itemsize == 0 or self.widths.setdefault(buffer, width) != width:
            return False
        total = self.sums.split(start)
        return total.constant % (self.rows * width) == 0 and all(self._shifts(t, c, width) for t, c in total.terms)

    def _block(self, buffer: Buffer, start: Expr, count: Expr) -> bool:
        if count.op != "const" or count.attr <= 0 or count.attr % self.rows:
            return False
        return self._whole(buffer, start, int(count.attr) // self.rows)

    def _product(self, call: Call) -> bool:
        """One product, of as many rows, with a matrix that the loop does not write."""
        sizes = gemm_sizes(call)  # None for other kernels and callbacks
        if sizes is None or sizes[:2] != (1, self.rows) or int(call.args[0].attr) >= _REAL:  # type: ignore[union-attr]
            return False
        (left, start), (right, _), (result, place) = (call.args[k] for k in POINTERS)  # type: ignore[misc]
        row, column = call.args[_ROW], call.args[_COLUMN]
        if right in self.written or any(s.op != "const" for s in (row, column)) or column.attr != 1:  # type: ignore[union-attr]
            return False
        width = int(row.attr)  # type: ignore[union-attr]
        return (left not in self.written or self._whole(left, start, width)) and self._whole(result, place, sizes[2])


class _Chunks:
    """Writes the parallel loop."""

    def __init__(self, loop: For, rows: int, trips: int, exprs: Exprs):
        self.loop, self.rows, self.trips, self.exprs = loop, rows, trips, exprs
        self.size = max(ROWS, -(-rows // CHUNKS))
        index, make = exprs.index, exprs.prim
        self.chunk = exprs.var(INT64, "chunk")
        self.first, self.count = exprs.var(INT64, "first"), exprs.var(INT64, "rows")
        self.lets: list[Stmt] = [
            Let(self.first, make("mul", self.chunk, index(self.size))),
            Let(self.count, make("min", index(self.size), make("sub", index(rows), self.first)))]

    def statements(self) -> list[Stmt]:
        """The loop, and where buffers are after it. Each chunk begins with them where they were."""
        loop, index = self.loop, self.exprs.index
        inner = loop.replace(body=[self._stmt(s) for s in loop.body], carries=[])
        moved = self._moved()
        back = [SwapBuffers(s.sources, s.targets) for s in moved]
        chunks = For(self.chunk, index(0), index(-(-self.rows // self.size)), [*self.lets, inner, *back], [], "parallel")
        return [chunks, *moved]

    def _moved(self) -> list[SwapBuffers]:
        """What the exchanges of all iterations come to."""
        step = _followed(s for s in self.loop.body if isinstance(s, SwapBuffers))
        after: dict[Buffer, Buffer] = {}
        for cycle in _cycles(step):
            shift = self.trips % len(cycle)
            after.update(zip(cycle, [*cycle[shift:], *cycle[:shift]], strict=True))
        moved = {b: a for b, a in after.items() if a is not b}
        return [SwapBuffers(tuple(moved), tuple(moved.values()))] if moved else []

    def _scaled(self, value: Expr, factor: int) -> Expr:
        return value if factor == 1 else self.exprs.prim("mul", value, self.exprs.index(factor))

    def _from(self, start: Expr, width: int) -> Expr:
        return self.exprs.prim("add", start, self._scaled(self.first, width))

    def _stmt(self, stmt: Stmt) -> Stmt:
        """A statement for the rows of a chunk."""
        match stmt:
            case For():
                per_row = (static_trips(stmt) or 0) // self.rows
                stop = self.exprs.prim("add", self.first, self.count)
                return stmt.replace(start=self._scaled(self.first, per_row), stop=self._scaled(stop, per_row), carries=[])
            case Copy(count=count):
                width = int(count.attr) // self.rows
                return Copy(stmt.target, self._from(stmt.target_start, width), stmt.source,
                            self._from(stmt.source_start, width), self._scaled(self.count, width))
            case Fill(count=count):
                width = int(count.attr) // self.rows
                return Fill(stmt.target, self._from(stmt.start, width), stmt.value, self._scaled(self.count, width))
            case Call():
                _, _, columns, _ = gemm_sizes(stmt) or (0, 0, 0, 0)
                args = list(stmt.args)
                args[SIZES.start + 1] = self.count
                for k, width in ((_LEFT, int(args[_ROW].attr)), (_RESULT, columns)):  # type: ignore[union-attr]
                    buffer, start = args[k]  # type: ignore[misc]
                    args[k] = (buffer, self._from(start, width))
                return Call(stmt.symbol, args, stmt.reads, stmt.writes)
        return stmt


def _followed(exchanges: Iterable[SwapBuffers]) -> dict[Buffer, Buffer]:
    """By buffer, whose memory it has after several exchanges."""
    holds: dict[Buffer, Buffer] = {}
    for one in exchanges:
        holds.update(zip(one.targets, [holds.get(b, b) for b in one.sources], strict=True))
    return holds


def _cycles(step: dict[Buffer, Buffer]) -> list[list[Buffer]]:
    """Buffers in rows such that each takes the memory of the next one, the last that of the first."""
    left, found = dict(step), []
    while left:
        cycle = [next(iter(left))]
        while (following := left.pop(cycle[-1])) is not cycle[0]:
            cycle.append(following)
        found.append(cycle)
    return found


def share(function: Function, target: Target) -> None:
    """Shares the rows of loops that threads could not share otherwise, in place."""
    _share_block(function.body, function.exprs, target)


def _share_block(block: list[Stmt], exprs: Exprs, target: Target) -> None:
    result: list[Stmt] = []
    for stmt in block:
        shared = None
        if isinstance(stmt, For) and _candidates(stmt):  # first, as it is quicker to tell than whether threads are worth it
            if not worth(stmt, target):
                result.append(stmt)
                continue
            shared = _shared(stmt, exprs, target)
        if shared is None and not isinstance(stmt, GemmWithEpilogue) and not _is_parallel(stmt):
            for inner in blocks(stmt):
                _share_block(inner, exprs, target)
        result += [stmt] if shared is None else shared
    block[:] = result


def _is_parallel(stmt: Stmt) -> bool:
    return isinstance(stmt, For) and stmt.mode == "parallel"


def _shared(loop: For, exprs: Exprs, target: Target) -> list[Stmt] | None:
    """By rows, unless the loop itself can be shared, or has few iterations with loops inside that can be."""
    if few_trips(loop) and any(worth(stmt, target) for stmt in loop.body):
        return None
    return None if chunks_of(loop, target) is not None else by_rows(loop, exprs)


PASS = Pass("parallel_batches", "shares serial loops over batches of rows among threads",
            lambda function, context: share(function, context.target), ("arithmetic", "serial"), ("batches",))
