"""Automatic parallelization: loops worth it are shared among threads, in pieces.

A loop with independent iterations that takes long enough becomes a `parallel` loop over chunks, each a run of
iterations; reductions keep one partial result per chunk and combine them in order. Large matrix products share their
work themselves (see kernels/products.py). How many chunks there are depends on the program only, never on the number of
threads, so results are the same, bit by bit, however many threads there are.
"""
from __future__ import annotations

from numjet.cpu.analysis.cost import block_ns
from numjet.cpu.analysis.dependence import combination, independent
from numjet.cpu.ir.nodes import INT64, Buffer, Call, Carry, Comment, Expr, For, Function, GemmWithEpilogue, Stmt, Store
from numjet.cpu.ir.traversal import blocks, static_trips
from numjet.cpu.ir.types import identity
from numjet.cpu.kernels.products import multiply_adds
from numjet.cpu.passes import gemm_epilogues, parallel_batches
from numjet.cpu.passes.manager import Pass
from numjet.cpu.target import Target

WORTH_NS = 20e3          # estimated time from which a loop is shared: it takes some microseconds to wake threads
CHUNK_NS = 10e3          # estimated time of the smallest chunks: few enough to hand out, enough for threads to end together
MOST_CHUNKS = 256
RUN = 64                 # a chunk of a vector loop is a multiple of this many iterations
FEW_TRIPS = 8            # of a loop with so few iterations the loops inside are shared, if they can be
GEMM_WORTH = 2 ** 22     # multiply-adds from which the loops around a matrix product leave the threads to it


def share(function: Function, target: Target) -> Function:
    """Replaces loops by parallel ones where that pays, in place; needs expanded mathematics; returns the function."""
    _Schedule(function, target).block(function.body)
    return function


class _Schedule:
    """Rewrites blocks of one function."""

    def __init__(self, function: Function, target: Target):
        self.function, self.exprs, self.target = function, function.exprs, target

    def block(self, block: list[Stmt]) -> bool:
        """Shares what is worth it in a block; whether there was something."""
        found = gemm_epilogues.fuse(self.function, block, self.target)
        result: list[Stmt] = []
        for stmt in block:
            replaced = self._stmt(stmt)
            found = found or replaced is not None
            result += [stmt] if replaced is None else replaced
        block[:] = result
        return found

    def _stmt(self, stmt: Stmt) -> list[Stmt] | None:
        """What takes the place of a statement; None if nothing is shared."""
        if isinstance(stmt, GemmWithEpilogue):
            return None
        if isinstance(stmt, Call):
            return [stmt] if multiply_adds(stmt) >= GEMM_WORTH else None
        if isinstance(stmt, For):
            return self._loop(stmt)
        found = [self.block(inner) for inner in blocks(stmt)]
        return [stmt] if any(found) else None

    def _loop(self, loop: For) -> list[Stmt] | None:
        trips = static_trips(loop)
        nanoseconds = block_ns([loop], self.target)
        if nanoseconds < WORTH_NS:
            return None
        few = trips is not None and trips < FEW_TRIPS
        if few and self.block(loop.body):
            return [loop]
        if trips is not None and loop.mode in ("serial", "vector"):
            unit = RUN if loop.mode == "vector" else 1
            size = chunk_size(trips, unit, min(MOST_CHUNKS, int(nanoseconds / CHUNK_NS)))
            if size < trips and independent(loop):
                return self._chunks(loop, trips, size)
            shared = self._columns(loop, nanoseconds) or parallel_batches.by_rows(loop, self.exprs)
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
        inner = loop.replace(start=first, stop=last, carries=pieces, mode=_part_mode(loop))
        body: list[Stmt] = [inner, *(Store(b, chunk, c.out) for b, c in zip(partial, pieces, strict=True))]
        return [For(chunk, self.exprs.index(0), self.exprs.index(count), body, [], "parallel"), *after]

    def _columns(self, loop: For, nanoseconds: float) -> list[Stmt] | None:
        """A nest of loops of which only an inner one is independent, as when rows are summed: each thread goes through
        the whole nest for a run of that loop's iterations."""
        nest = _nest(loop)
        for place, inner in enumerate(nest[1:], 1):
            trips = static_trips(inner) or 0
            size = chunk_size(trips, RUN if inner.mode == "vector" else 1, min(MOST_CHUNKS, int(nanoseconds / CHUNK_NS)))
            if size >= trips or not independent(_around(inner, [*nest[:place], *nest[place + 1:]], nest[-1].body)):
                continue
            chunk, first, last = self._run(int(inner.start.attr), trips, size)
            nest[place] = inner.replace(start=first, stop=last, carries=[], mode=_part_mode(inner))
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
        body = [loop.replace(body=body, carries=[])]
    return outer.replace(body=body, carries=[], mode="serial" if inner else outer.mode)


def _part_mode(loop: For) -> str:
    """The mode of a run of iterations: its bounds are not constant, as those of unrolled loops have to be."""
    return "serial" if loop.mode == "unroll" else loop.mode


def chunk_size(trips: int, unit: int, most: int) -> int:
    """Iterations per chunk, a multiple of `unit`, for at most `most` chunks."""
    size = -(-trips // max(1, most))
    return -(-size // unit) * unit


PASS = Pass("parallelize", "shares loops among threads, and joins matrix products with what follows them",
            lambda function, context: share(function, context.target), ("arithmetic", "serial"), ("shared",), ("serial",))
