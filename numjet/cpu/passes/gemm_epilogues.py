"""GEMM epilogue fusion: the loop that follows a matrix product is run for each tile of its result.

Such a loop over the rows of a product adds a bias, applies an activation or a scale, converts, or takes a softmax over the
columns. The kernel calls it for each tile while the tile is in a core's cache. If nothing else reads the result, it is never
stored: each thread has some rows of it at a time.
"""
from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from math import prod

from numjet.cpu.analysis.affine import AffineForms
from numjet.cpu.analysis.dependence import independent
from numjet.cpu.analysis.sharing import chunks_of, few_trips, worth
from numjet.cpu.ir.nodes import INT64, Buffer, Call, Comment, Expr, Exprs, For, Function, GemmWithEpilogue, Let, Stmt, Store
from numjet.cpu.ir.traversal import blocks, expressions, nodes, static_trips, touches, walk, written
from numjet.cpu.kernels.products import CODES, LINES_BYTES, MOST_ROWS, POINTERS, THEN, gemm_sizes
from numjet.cpu.passes.cancellation import may_go_on
from numjet.cpu.passes.manager import Context, Pass
from numjet.cpu.remarks import Recorder
from numjet.cpu.target import Target

WORTH = 1 << 14          # elements of a result,
WORTH_EACH = 1 << 11     # and of each product of a batch, with which a loop alone is joined: each is handed over by a call
FEW_COLUMNS = 16         # with fewer, loops over parts of rows are too short
FEW_ROWS = 128           # of a single product, with fewer the threads share its columns, and rows are not whole
_REAL = CODES["complex64"]
_RESULT = POINTERS[-1]


def fuse(function: Function, target: Target) -> None:
    """Joins matrix products with the loops that follow them, in place."""
    for_blocks_of_products(function, target, _fuse_block)


def for_blocks_of_products(function: Function, target: Target, change: Callable[[Function, list[Stmt], Target], None]) -> None:
    """Changes each block in which products may be joined with what follows them: where threads do not share a loop around."""
    left = [function.body] if any(isinstance(s, Call) and is_worth_joining(s) for s in walk(function.body)) else []
    while left:
        block = left.pop()
        change(function, block, target)
        left += [inner for stmt in block if _may_hold_products(stmt, target) for inner in blocks(stmt)]


def _may_hold_products(stmt: Stmt, target: Target) -> bool:
    if isinstance(stmt, GemmWithEpilogue) or not any(map(is_worth_joining, walk([stmt]))):
        return False
    if not isinstance(stmt, For):
        return True
    return stmt.mode != "parallel" and worth(stmt, target) and (few_trips(stmt) or chunks_of(stmt, target) is None)


def is_worth_joining(stmt: Stmt) -> bool:
    """Whether a statement is a product large enough."""
    sizes = gemm_sizes(stmt)
    return sizes is not None and sizes[0] * sizes[1] * sizes[2] >= WORTH


def _fuse_block(function: Function, block: list[Stmt], target: Target) -> None:
    calls = [k for k, stmt in enumerate(block) if is_worth_joining(stmt)]
    touching = times_touched(function) if calls else Counter[Buffer]()
    for k in reversed(calls):
        call, place = block[k], consumer(block, k)
        if place is None:
            continue
        product = Product(function, call, block[place], touching, target)  # type: ignore[arg-type]
        joined = product.joined()
        if joined is not None:
            block[place] = joined
            del block[k]


def times_touched(function: Function) -> Counter[Buffer]:
    """How many statements touch each buffer."""
    return Counter(b for s in walk(function.body) for b in touches(s))


def consumer(block: Sequence[Stmt], k: int) -> int | None:
    """The loop behind a product that reads its result first, if the product may be computed there as well: with nothing in
    between that needs much memory, as the product's operands have to stay."""
    call = block[k]
    assert isinstance(call, Call)
    (result,) = call.writes
    for place in range(k + 1, len(block)):
        stmt = block[place]
        touched = {b for s in walk([stmt]) for b in touches(s)}
        if result in touched:
            return place if isinstance(stmt, For) else None
        if not isinstance(stmt, Comment | Let | For) or not written([stmt]).isdisjoint(call.reads) or sum(
                b.size for b in touched if b.kind == "temp") >= WORTH:
            return None
    return None


class Product:
    """A product and the loop that reads its result."""

    def __init__(self, function: Function, call: Call, loop: For, touching: Counter[Buffer], target: Target):
        self.function, self.call, self.loop, self.touching = function, call, loop, touching
        self.panel_bytes = target.caches.last_level // 4  # of the right operand; share_bytes in native/kernels/gemm/gemm.cpp
        self.l2_bytes = target.caches.l2
        self.batch, self.m, self.n, self.k = gemm_sizes(call) or (0, 0, 0, 0)
        self.rows = self.batch * self.m
        (self.result,) = call.writes
        self.sums = AffineForms.of(loop.body)

    def joined(self) -> GemmWithEpilogue | None:
        """Both as one statement; None where they cannot be, or not with profit."""
        nest = self.joinable()
        if nest is None or self.m * self.n < WORTH_EACH or not (self._passing() or self._thrifty()):
            return None
        return self._flat_tiles() if self._flat(nest) else self._gemm_with_epilogue(nest, self._cut(nest))

    def joinable(self) -> list[For] | None:
        """The loops over the rows of the result, if the loop may run for some of them as soon as they are computed."""
        place = self.call.args[_RESULT]
        simple = isinstance(place, tuple) and place[1].op == "const" and place[1].attr == 0
        if not simple or self.result.size != self.rows * self.n or int(self.call.args[0].attr) >= _REAL:  # type: ignore[union-attr]
            return None
        if self.n < FEW_COLUMNS or self.m == 1 or not written([self.loop]).isdisjoint(self.call.reads):
            return None
        nest = self._rows()
        if nest is None or any(isinstance(s, Call) for s in walk(self.loop.body)) or may_go_on(self.loop.body):
            return None   # nothing can report to the kernel that a loop was left
        return nest if all(map(independent, nest)) else None

    def _rows(self) -> list[For] | None:
        """The loops over the rows, if the result is only touched in the row that they are at; one loop over all elements."""
        nest: list[For] = []
        loop = self.loop
        while True:
            trips = static_trips(loop)
            if loop.carries or trips is None or loop.start.attr != 0:
                return None
            nest.append(loop)
            count = prod(static_trips(one) or 0 for one in nest)
            if count == self.rows:
                return nest if self._in_rows(nest) else None
            if count > self.rows:
                return nest if self._flat(nest) and self._same_place(loop.var) else None
            inner = [s for s in loop.body if not isinstance(s, Comment)]
            if len(inner) != 1 or not isinstance(inner[0], For):
                return None
            loop = inner[0]

    def _flat(self, nest: list[For]) -> bool:
        return len(nest) == 1 and static_trips(nest[0]) == self.rows * self.n

    def _touched(self) -> list[Expr]:
        """The indices at which the result is read and written."""
        found = [s.index for s in walk([self.loop]) if isinstance(s, Store) and s.buffer is self.result]
        return found + [e.args[0] for e in nodes(expressions([self.loop])) if e.op == "load" and e.attr is self.result]

    def _same_place(self, var: Expr) -> bool:
        return all(self.sums.split(index) == (0, ((var, 1),)) for index in self._touched())

    def _in_rows(self, nest: list[For]) -> bool:
        """Whether every index lies in the row of the current iteration of the nest."""
        trips = [static_trips(loop) or 0 for loop in nest]
        steps = {loop.var: self.n * prod(trips[d + 1:]) for d, loop in enumerate(nest) if trips[d] > 1}
        inside = {s.var: s for s in walk(nest[-1].body) if isinstance(s, For)}
        for index in self._touched():
            total = self.sums.split(index)
            terms = dict(total.terms)
            if any(terms.pop(var, 0) != step for var, step in steps.items()):
                return False
            low = high = total.constant
            for term, coefficient in terms.items():
                loop = inside.get(term)
                count = None if loop is None or loop.start.attr != 0 else static_trips(loop)
                if count is None:
                    return False
                ends = (0, coefficient * (count - 1))
                low, high = low + min(ends), high + max(ends)
            if low < 0 or high >= self.n:
                return False
        return True

    def _cut(self, nest: list[For]) -> For | None:
        """The loop over columns, if parts of rows can be done by themselves."""
        inner = [s for s in nest[-1].body if not isinstance(s, Comment)]
        if len(inner) != 1 or not isinstance(inner[0], For) or inner[0].carries or static_trips(inner[0]) != self.n:
            return None
        loop = inner[0]
        if loop.start.attr != 0 or any(dict(self.sums.split(index).terms).get(loop.var) != 1 or
                                       self.sums.split(index).constant for index in self._touched()):
            return None
        return loop if independent(loop) else None

    def _passing(self) -> bool:
        """Whether the result need not be stored: nobody else touches it, and whole rows suit the kernel."""
        return self.result not in written([self.loop]) and self.touched_here_and(0) and self.fits()

    def touched_here_and(self, elsewhere: int) -> bool:
        """Whether the result is a temporary that only so many statements touch beside the product and the loop."""
        inside = sum(self.result in touches(s) for s in walk([self.loop]))
        return self.result.kind == "temp" and self.touching[self.result] == 1 + inside + elsewhere

    def fits(self) -> bool:
        """Whether a thread has memory for some rows of the result, and there are enough of them."""
        wide = self.result.dtype.itemsize
        return (self.batch > 1 or self.m >= FEW_ROWS) and MOST_ROWS * self.n * wide <= LINES_BYTES \
            and self.n * self.k * wide <= self.panel_bytes

    def _thrifty(self) -> bool:
        """Whether the loop writes no other large temporary, which would have to be there beside the operands."""
        return not any(b.kind == "temp" and b.size >= WORTH for b in written([self.loop]) - {self.result})

    def _made(self, bounds: Sequence[Expr], body: For, whole: bool) -> GemmWithEpilogue:
        """The statement; the result becomes a tile where it need not be stored."""
        return self.as_tiles(bounds, body) if self._passing() else self._statement(bounds, body, whole)

    def as_tiles(self, bounds: Sequence[Expr], body: For) -> GemmWithEpilogue:
        """The statement with a result that is never stored."""
        self.function.temps.remove(self.result)
        self.result.kind = "tile"
        return self._statement(bounds, body, True)

    def _statement(self, bounds: Sequence[Expr], body: For, whole: bool) -> GemmWithEpilogue:
        call = self.call
        return GemmWithEpilogue(THEN, call.args, call.reads, call.writes, False, call.limits, tuple(bounds), [body], whole)

    def bounds(self) -> list[Expr]:
        """New variables for the first row of a part, the end of its rows, and those of its columns."""
        return [self.function.exprs.var(INT64, hint) for hint in ("row", "row_end", "column", "column_end")]

    def _flat_tiles(self) -> GemmWithEpilogue:
        row, row_end, column, column_end = bounds = self.bounds()
        return self._made(bounds, self._flat_rows(row, row_end, column, column_end), False)

    def _flat_rows(self, first: Expr, end: Expr, column: Expr, column_end: Expr) -> For:
        """A loop over all elements, for some rows and columns of them."""
        exprs, loop = self.function.exprs, self.loop
        line = exprs.var(INT64, "line")
        start = exprs.prim("mul", line, exprs.index(self.n))
        inner = loop.replace(start=exprs.prim("add", start, column), stop=exprs.prim("add", start, column_end), carries=[])
        return For(line, first, end, [inner])

    def loop_over(self, nest: list[For], first: Expr, end: Expr) -> For:
        """The loop, as `joinable` has found it, for whole rows first ... end."""
        exprs = self.function.exprs
        if self._flat(nest):
            return self._flat_rows(first, end, exprs.index(0), exprs.index(self.n))
        return _between(exprs, nest, first, end, nest[-1].body)

    def _gemm_with_epilogue(self, nest: list[For], columns: For | None) -> GemmWithEpilogue:
        row, row_end, column, column_end = bounds = self.bounds()
        body = nest[-1].body
        if columns is not None:
            body = [columns.replace(start=column, stop=column_end, carries=[])]
        return self._made(bounds, _between(self.function.exprs, nest, row, row_end, body), columns is None)


def _between(exprs: Exprs, nest: Sequence[For], first: Expr, end: Expr, body: list[Stmt]) -> For:
    """A nest of loops for those of its iterations, counted from the outermost on, that are in first ... end."""
    loop, *inner = nest
    if not inner:
        mode = "serial" if loop.mode == "parallel" else loop.mode
        return loop.replace(start=first, stop=end, body=body, carries=[], mode=mode)
    make, index = exprs.prim, exprs.index
    each = prod(static_trips(one) or 0 for one in inner)
    done = make("mul", loop.var, index(each))
    start = make("max", make("sub", first, done), index(0))
    stop = make("min", make("sub", end, done), index(each))
    begin, last = groups(exprs, first, end, each)
    return loop.replace(start=begin, stop=last, body=[_between(exprs, inner, start, stop, body)], carries=[], mode="serial")


def groups(exprs: Exprs, first: Expr, end: Expr, each: int) -> tuple[Expr, Expr]:
    """Of groups of `each` rows, the first and the end of those that rows first ... end are in."""
    make, index = exprs.prim, exprs.index
    return make("div", first, index(each)), make("add", make("div", make("sub", end, index(1)), index(each)), index(1))


def _note_tiles(function: Function, recorder: Recorder | None) -> None:
    """Tells who asks which products are never stored."""
    if recorder is not None:
        tiles = {s.result for s in walk(function.body) if isinstance(s, GemmWithEpilogue) and s.result.kind == "tile"}
        recorder.kept.update((buffer, "some rows of it at a time, which a core's cache holds") for buffer in tiles)


def _run(function: Function, context: Context) -> None:
    fuse(function, context.target)
    _note_tiles(function, context.recorder)


PASS = Pass("gemm_epilogues", "joins matrix products with what follows them", _run, ("arithmetic", "serial", "batches"))
