"""Which loops are shared among threads, and in what pieces.

A loop with independent iterations that takes long enough becomes a `parallel` loop over chunks, each a run of
iterations; reductions keep one partial result per chunk and combine them in order. Large matrix products become
parallel loops over tiles. How many chunks there are depends on the program only, never on the number of threads, so
results are the same, bit by bit, however many threads there are.
"""
from __future__ import annotations

from math import prod

from . import batches
from .cost import GEMM_SIZES, block_ns, gemm_sizes, static_trips
from .independence import combination, independent, parity
from .loop_ir import INT64, Buffer, Call, Carry, Comment, Expr, For, Function, Stmt, Store, While, children, walk
from .loop_meaning import identity

WORTH_NS = 20e3          # estimated time from which a loop is shared
CHUNK_NS = 10e3          # estimated time of the smallest chunks
MOST_CHUNKS = 256
RUN = 64                 # a chunk of a vector loop is a multiple of this many iterations
FEW_TRIPS = 8            # of a loop with so few iterations the loops inside are shared, if they can be
GEMM_WORTH = 2 ** 19     # multiply-adds from which a matrix product is shared
GEMM_TILE = 2 ** 23      # multiply-adds of the smallest tiles of large products
MOST_TILES = 64
TILE_SIDE = 64           # about the smallest number of rows or columns of a tile
TILE_UNIT = 16
_OPERANDS, _RESULT = (7, 9), 12   # arguments of cblas_?gemm
_TRANS = 112


def share(function: Function) -> Function:
    """Replaces loops by parallel ones where that pays, in place; needs expanded mathematics; returns the function."""
    _Schedule(function).block(function.body)
    return function


class _Schedule:
    """Rewrites blocks of one function."""

    def __init__(self, function: Function):
        self.function, self.exprs = function, function.exprs
        self.parities = frozenset(c.var.id for s in walk(function.body) if isinstance(s, For | While) for c in s.carries
                                  if parity(c))

    def block(self, block: list[Stmt]) -> bool:
        """Shares what is worth it in a block; whether there was something."""
        found = False
        result: list[Stmt] = []
        for stmt in block:
            replaced = self._stmt(stmt)
            found = found or replaced is not None
            result += [stmt] if replaced is None else replaced
        block[:] = result
        return found

    def _stmt(self, stmt: Stmt) -> list[Stmt] | None:
        """What takes the place of a statement; None if nothing is shared."""
        if isinstance(stmt, Call):
            return self._tiles(stmt)
        if isinstance(stmt, For):
            return self._loop(stmt)
        found = [self.block(inner) for inner in children(stmt)]
        return [stmt] if any(found) else None

    def _loop(self, loop: For) -> list[Stmt] | None:
        trips = static_trips(loop)
        nanoseconds = block_ns([loop])
        if nanoseconds < WORTH_NS:
            return None
        few = trips is not None and trips < FEW_TRIPS
        if few and self.block(loop.body):
            return [loop]
        if trips is not None and loop.mode in ("serial", "vector"):
            unit = RUN if loop.mode == "vector" else 1
            size = chunk_size(trips, unit, min(MOST_CHUNKS, int(nanoseconds / CHUNK_NS)))
            if size < trips and independent(loop, self.parities):
                return self._chunks(loop, trips, size)
            shared = self._columns(loop, nanoseconds) or batches.by_rows(loop, self.exprs)
            if shared is not None:
                return shared
        return [loop] if not few and self.block(loop.body) else None

    # --- loops ---

    def _chunks(self, loop: For, trips: int, size: int) -> list[Stmt]:
        """A parallel loop over runs of `size` iterations, and the combination of their results."""
        if size == 1 and not loop.carries:
            loop.mode = "parallel"
            return [loop]
        count = -(-trips // size)
        chunk, first, last = self._run(int(loop.start.attr), trips, size)
        partial = [Buffer(f"partial{self._number()}", c.var.dtype, count, "temp") for c in loop.carries]
        self.function.temps += partial
        pieces, after = [], []
        for k, (c, buffer) in enumerate(zip(loop.carries, partial, strict=True)):
            kind = str(combination(loop, k))
            result, acc = self.exprs.var(c.var.dtype, "part"), self.exprs.var(c.var.dtype, "acc")
            pieces.append(Carry(c.var, self.exprs.const(identity(kind, c.var.dtype), c.var.dtype), c.next, result,
                                c.combine, c.term))
            after.append(self._combine(kind, buffer, c, acc))
        inner = For(loop.var, first, last, loop.body, pieces, loop.mode)
        body: list[Stmt] = [inner, *(Store(b, chunk, c.out) for b, c in zip(partial, pieces, strict=True))]
        return [For(chunk, self.exprs.index(0), self.exprs.index(count), body, [], "parallel"), *after]

    def _columns(self, loop: For, nanoseconds: float) -> list[Stmt] | None:
        """A nest of loops of which only an inner one is independent, as when rows are summed: each thread goes through
        the whole nest for a run of that loop's iterations."""
        nest = _nest(loop)
        for place, inner in enumerate(nest[1:], 1):
            trips = static_trips(inner) or 0
            size = chunk_size(trips, RUN if inner.mode == "vector" else 1, min(MOST_CHUNKS, int(nanoseconds / CHUNK_NS)))
            if size >= trips or not independent(
                    _around(inner, [*nest[:place], *nest[place + 1:]], nest[-1].body), self.parities):
                continue
            chunk, first, last = self._run(int(inner.start.attr), trips, size)
            nest[place] = For(inner.var, first, last, inner.body, [], inner.mode)
            part = _around(nest[0], nest[1:], nest[-1].body)
            return [For(chunk, self.exprs.index(0), self.exprs.index(-(-trips // size)), [part], [], "parallel")]
        return None

    def _run(self, start: int, trips: int, size: int) -> tuple[Expr, Expr, Expr]:
        """The variable of a loop over runs, the first iteration of a run, and where it ends."""
        make, index = self.exprs.prim, self.exprs.index
        chunk = self.exprs.var(INT64, "chunk")
        first = make("mul", chunk, index(size))
        if start:
            first = make("add", first, index(start))
        last = make("add", first, index(size))
        return chunk, first, last if trips % size == 0 else make("min", last, index(start + trips))

    def _combine(self, kind: str, partial: Buffer, carry: Carry, acc: Expr) -> For:
        """The results of the chunks, in a fixed order, with what the loop started with."""
        k = self.exprs.var(INT64, "k")
        term = self.exprs.load(partial, k)
        total = Carry(acc, carry.init, self.exprs.prim(kind, acc, term), carry.out, kind, term)
        return For(k, self.exprs.index(0), self.exprs.index(partial.size), [], [total], "vector")

    def _number(self) -> int:
        self.exprs.counter += 1
        return self.exprs.counter

    # --- matrix products ---

    def _tiles(self, call: Call) -> list[Stmt] | None:
        """Tiles of the result, as square as they can be: the library copies the operands of each."""
        sizes = gemm_sizes(call)
        if sizes is None or prod(sizes) < GEMM_WORTH:
            return None
        rows, columns = tile_sizes(*sizes)
        down, across = -(-sizes[0] // rows), -(-sizes[1] // columns)
        if down * across < 2:
            return None
        make, index = self.exprs.prim, self.exprs.index
        tile = self.exprs.var(INT64, "tile")
        args = list(call.args)
        parts = ((make("div", tile, index(across)), rows, 0), (make("rem", tile, index(across)), columns, 1))
        for number, size, axis in parts:
            first = make("mul", number, index(size))
            args[GEMM_SIZES.start + axis] = make("min", index(size), make("sub", index(sizes[axis]), first))
            transposed = args[1 + axis].attr == _TRANS  # type: ignore[union-attr]
            # The left operand is cut along its rows, the right one along its columns, the result along both.
            for pointer, by_rows in ((_OPERANDS[axis], transposed == bool(axis)), (_RESULT, axis == 0)):
                buffer, start = args[pointer]  # type: ignore[misc]
                distance = args[pointer + 1] if by_rows else index(1)
                args[pointer] = (buffer, make("add", start, make("mul", first, distance)))  # type: ignore[arg-type]
        part = Call(call.symbol, args, call.reads, call.writes)
        return [For(tile, index(0), index(down * across), [part], [], "parallel")]


def tile_sizes(m: int, n: int, k: int) -> tuple[int, int]:
    """Rows and columns of the tiles that a matrix product is cut into."""
    count = max(2, min(MOST_TILES, m * n * k // GEMM_TILE))
    down = max(1, min(round((count * m / n) ** 0.5), count, m // TILE_SIDE))
    across = max(1, min(count // down, n // TILE_SIDE))
    return chunk_size(m, TILE_UNIT, down), chunk_size(n, TILE_UNIT, across)


def _nest(loop: For) -> list[For]:
    """A loop and those inside, as long as there is nothing but one loop in the other, each with known bounds."""
    nest: list[For] = []
    block: list[Stmt] = [loop]
    while True:
        found = [s for s in block if not isinstance(s, Comment)]
        if len(found) != 1 or not isinstance(found[0], For) or found[0].carries or static_trips(found[0]) is None:
            return nest
        nest.append(found[0])
        block = found[0].body


def _around(outer: For, inner: list[For], body: list[Stmt]) -> For:
    """Copies of loops, one inside the other, around a body."""
    for loop in reversed(inner):
        body = [For(loop.var, loop.start, loop.stop, body, [], loop.mode)]
    return For(outer.var, outer.start, outer.stop, body, [], "serial" if inner else outer.mode)


def chunk_size(trips: int, unit: int, most: int) -> int:
    """Iterations per chunk, a multiple of `unit`, for at most `most` chunks."""
    size = -(-trips // max(1, most))
    return -(-size // unit) * unit
