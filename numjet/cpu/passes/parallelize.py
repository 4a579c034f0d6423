"""Automatic parallelization: loops worth it are shared among threads, in pieces.

A loop with independent iterations that takes long enough becomes a `parallel` loop over chunks, each a run of
iterations; reductions keep one partial result per chunk and combine them in order. Large matrix products share their
work themselves (see kernels/products.py). How many chunks there are depends on the program only, never on the number of
threads, so results are the same, bit by bit, however many threads there are.
"""
from __future__ import annotations

from numjet.cpu.analysis.dependence import combination
from numjet.cpu.analysis.ranges import most_trips
from numjet.cpu.analysis.sharing import RUN, around, chunks_of, few_trips, perfect_nest, worth
from numjet.cpu.ir.nodes import INT64, Buffer, Call, Carry, Expr, For, Function, GemmWithEpilogue, If, Stmt, Store
from numjet.cpu.ir.traversal import blocks, static_trips
from numjet.cpu.ir.types import identity
from numjet.cpu.kernels.products import multiply_adds
from numjet.cpu.passes.manager import Pass
from numjet.cpu.target import Target

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
        found, result = False, []
        for stmt in block:
            replaced = self._stmt(stmt)
            found = found or replaced is not None
            result += [stmt] if replaced is None else replaced
        block[:] = result
        return found

    def _stmt(self, stmt: Stmt) -> list[Stmt] | None:
        """What takes the place of a statement; None if nothing is shared."""
        if isinstance(stmt, Call):
            return [stmt] if isinstance(stmt, GemmWithEpilogue) or multiply_adds(stmt) >= GEMM_WORTH else None
        if isinstance(stmt, For):
            return self._loop(stmt)
        run = [stmt.orelse] if isinstance(stmt, If) and stmt.rare else blocks(stmt)
        found = [self.block(inner) for inner in run]
        return [stmt] if any(found) else None

    def _loop(self, loop: For) -> list[Stmt] | None:
        if loop.mode == "parallel":
            return [loop]
        if not worth(loop, self.target):
            return None
        few = few_trips(loop)
        if few and self.block(loop.body):
            return [loop]
        chunks = chunks_of(loop, self.target)
        if chunks is not None:
            level, size = chunks
            return self._inner(loop, level, size) if level else self._chunks(loop, size)
        return [loop] if not few and self.block(loop.body) else None

    # --- loops ---

    def _chunks(self, loop: For, size: int) -> list[Stmt]:
        """A parallel loop over runs of `size` iterations, and the combination of their results."""
        trips = most_trips(loop) or 0
        if size == 1 and not loop.carries:
            loop.mode = "parallel"
            return [loop]
        count, known = -(-trips // size), static_trips(loop) is not None
        chunk, first, last = self._run(loop, trips, size) if known else self._run_of_size(loop, size)
        chunks = self.exprs.index(count) if known else self._count(loop, size)
        partial = [Buffer(f"partial{self._number()}", c.var.dtype, count, "temp") for c in loop.carries]
        self.function.temps += partial
        pieces, after = [], []
        for k, (c, buffer) in enumerate(zip(loop.carries, partial, strict=True)):
            kind = str(combination(loop, k))
            result, acc = self.exprs.var(c.var.dtype, "part"), self.exprs.var(c.var.dtype, "acc")
            pieces.append(Carry(c.var, self.exprs.const(identity(kind, c.var.dtype), c.var.dtype), c.next, result,
                                c.combine, c.term))
            after.append(self._combine(kind, buffer, c, acc, chunks))
        inner = loop.replace(start=first, stop=last, carries=pieces, mode=_part_mode(loop))
        body: list[Stmt] = [inner, *(Store(b, chunk, c.out) for b, c in zip(partial, pieces, strict=True))]
        return [For(chunk, self.exprs.index(0), chunks, body, [], "parallel"), *after]

    def _inner(self, loop: For, level: int, size: int) -> list[Stmt]:
        """A parallel loop over runs of `size` iterations of an inner loop, each of which goes through the whole nest."""
        nest = perfect_nest(loop)
        inner = nest[level]
        trips = static_trips(inner) or 0
        chunk, first, last = self._run(inner, trips, size)
        nest[level] = inner.replace(start=first, stop=last, carries=[], mode=_part_mode(inner))
        part = around(nest[0], nest[1:], nest[-1].body)
        return [For(chunk, self.exprs.index(0), self.exprs.index(-(-trips // size)), [part], [], "parallel")]

    def _run(self, loop: For, trips: int, size: int) -> tuple[Expr, Expr, Expr]:
        """The variable of a loop over runs, the first iteration of a run, and where it ends."""
        make, index = self.exprs.prim, self.exprs.index
        chunk, start = self.exprs.var(INT64, "chunk"), int(loop.start.attr)
        if loop.limit is not None and start == 0:
            length = self._even(loop.limit, -(-trips // size), trips, RUN if loop.mode == "vector" else 1)
            first = make("mul", chunk, length)
            return chunk, first, make("min", make("add", first, length), index(trips))
        first = make("mul", chunk, index(size))
        if start:
            first = make("add", first, index(start))
        last = make("add", first, index(size))
        return chunk, first, last if trips % size == 0 else make("min", last, index(start + trips))

    def _run_of_size(self, loop: For, size: int) -> tuple[Expr, Expr, Expr]:
        """As _run, of a loop whose end follows from sizes: chunks are those of the most iterations, and fewer."""
        make, index = self.exprs.prim, self.exprs.index
        chunk = self.exprs.var(INT64, "chunk")
        first = make("add", loop.start, make("mul", chunk, index(size)))
        return chunk, first, make("min", make("add", first, index(size)), loop.stop)

    def _count(self, loop: For, size: int) -> Expr:
        """How many chunks there are."""
        make, index = self.exprs.prim, self.exprs.index
        return make("div", make("add", make("sub", loop.stop, loop.start), index(size - 1)), index(size))

    def _even(self, limit: Expr, count: int, trips: int, unit: int) -> Expr:
        """The length of runs that share the iterations in front of a limit evenly, a multiple of a unit."""
        make, index = self.exprs.prim, self.exprs.index
        each = make("div", make("add", make("min", limit, index(trips)), index(count * unit - 1)), index(count * unit))
        return make("mul", each, index(unit))

    def _combine(self, kind: str, partial: Buffer, carry: Carry, acc: Expr, chunks: Expr) -> For:
        """The results of the chunks, in a fixed order, with what the loop started with."""
        k = self.exprs.var(INT64, "k")
        term = self.exprs.load(partial, k)
        total = Carry(acc, carry.init, self.exprs.prim(kind, acc, term), carry.out, kind, term)
        return For(k, self.exprs.index(0), chunks, [], [total], "vector")

    def _number(self) -> int:
        self.exprs.counter += 1
        return self.exprs.counter


def _part_mode(loop: For) -> str:
    """The mode of a run of iterations: its bounds are not constant, as those of unrolled loops have to be."""
    return "serial" if loop.mode == "unroll" else loop.mode


PASS = Pass("parallelize", "shares loops among threads", lambda function, context: share(function, context.target),
            ("arithmetic", "serial"), ("shared",), ("serial", "batches"))
