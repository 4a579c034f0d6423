"""Back-to-back GEMM fusion: two matrix products and the loop between them become one pass over the rows.

The loop is the epilogue of the first product and ends with the second one, of the rows that it has just changed in place. So
what lies between the products never is in memory: attention, whose scores are as large as the square of a sequence, reads and
writes what is as long as the sequence.
"""
from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from numjet.cpu.ir.nodes import Buffer, Call, Expr, For, Function, GemmWithEpilogue, Stmt
from numjet.cpu.ir.traversal import touches, walk
from numjet.cpu.kernels.products import CODES, POINTERS, ROWS, gemm_sizes
from numjet.cpu.passes.gemm_epilogues import Product, consumer, for_blocks_of_products, groups, is_worth_joining, times_touched
from numjet.cpu.passes.manager import Pass
from numjet.cpu.passes.strips.motion import parted
from numjet.cpu.target import Target

WORTH_BYTES = 1 << 18    # of what lies between: less does not leave the caches
# Bytes of a row of the second matrix: those that the kernel reads at once, and the most that it passes over repeatedly as fast
# as over packed panels (measured with AVX-512: 1.3 times as long at 2 KiB, 2 to 3.8 times beyond half of the second cache).
STREAM_BYTES, ROW_BYTES = 256, 1024
MOST_BETWEEN = 64        # statements between the loop and the second product
_A, _B, _C = POINTERS
_ADD = 14                # among the arguments: whether the product is added to what is there


def fuse(function: Function, target: Target) -> None:
    """Joins such products, in place."""
    for_blocks_of_products(function, target, _fuse_block)


def _fuse_block(function: Function, block: list[Stmt], target: Target) -> None:
    touching: Counter[Buffer] = Counter()
    for k in reversed([k for k, stmt in enumerate(block) if is_worth_joining(stmt)]):
        place = consumer(block, k)
        after = None if place is None else _product_after(block, place, block[k])
        if place is None or after is None:
            continue
        first, loop, second = chained = [block[k], block[place], block[after]]
        moved = parted([first, *block[place:after + 1]], set(chained))
        if moved is None or moved[1] != chained:
            continue
        touching = touching or times_touched(function)
        joined = _Chain(function, first, loop, touching, target).with_second(second)  # type: ignore[arg-type]
        if joined is not None:
            block[place:after + 1] = [*moved[0], joined, *moved[2]]
            del block[k]


def _product_after(block: Sequence[Stmt], place: int, first: Stmt) -> int | None:
    """The place of the product that goes on with what the loop at `place` has made of the first one's result."""
    for k in range(place + 1, min(len(block), place + 1 + MOST_BETWEEN)):
        stmt = block[k]
        if isinstance(stmt, Call) and gemm_sizes(stmt) and (stmt.args[_A][0],) == first.writes:  # type: ignore[union-attr, index]
            return k
    return None


class _Chain(Product):
    """A product, the loop that changes its result in place, and the product of that."""

    def with_second(self, second: Call) -> GemmWithEpilogue | None:
        """All three as one statement; None where they cannot be."""
        nest = self.joinable()
        if nest is None or not (self.touched_here_and(1) and self.fits() and self._suits(second)):
            return None
        row, row_end, _, _ = bounds = self.bounds()
        return self.as_tiles(bounds, self._by_batches(nest, second, row, row_end))

    def _suits(self, second: Call) -> bool:
        """Whether the second product reads the result row by row, and its other arrays have nothing to do with the rest."""
        batch, m, n, k = gemm_sizes(second) or (0, 0, 0, 0)
        places = [second.args[p] for p in (0, 5, 6, 7, 8, _ADD)]
        start = places.pop(1)
        code, *strides, add = (int(e.attr) if isinstance(e, Expr) and e.op == "const" else None for e in places)
        if (batch, m, k) != (self.batch, self.m, self.n) or code != CODES.get(self.result.dtype.name) or add != 0:
            return False
        in_rows = strides[1:] == [k, 1] and (batch == 1 or strides[0] == m * k)
        if not in_rows or not isinstance(start, tuple) or start[1].op != "const" or start[1].attr != 0:
            return False
        return not second.limits and not self.call.limits and self._is_worth(second, n) and self._apart(second)

    def _is_worth(self, second: Call, n: int) -> bool:
        """Whether what lies between is large, and the second matrix is ready to be read again for every few rows: from a core's
        own cache, or as a stream of few columns."""
        wide, column = self.result.dtype.itemsize, second.args[12]
        ready = isinstance(column, Expr) and column.op == "const" and column.attr == 1
        near = n * wide <= STREAM_BYTES or (n * wide <= ROW_BYTES and self.n * n * wide <= self.l2_bytes // 2)
        return ready and near and self.result.nbytes >= WORTH_BYTES and self.n * n * wide <= self.panel_bytes

    def _apart(self, second: Call) -> bool:
        """Whether the second product may run while the first one and the loop are not yet done."""
        (into,), matrix = second.writes, second.args[_B][0]  # type: ignore[index]
        others = {b for s in walk([self.loop]) for b in touches(s)} | {*self.call.reads, *self.call.writes}
        written = {*self.call.writes}.union(*(touches(s) for s in walk([self.loop])))
        return into not in others and matrix not in written | {into}

    def _by_batches(self, nest: list[For], second: Call, row: Expr, row_end: Expr) -> For:
        """For each product of the batch that rows row ... row_end are in: the loop over its rows, and their second product."""
        exprs, m = self.function.exprs, self.m
        number = exprs.var(row.dtype, "batch")
        done = exprs.prim("mul", number, exprs.index(m))
        first, end = exprs.prim("max", row, done), exprs.prim("min", row_end, exprs.prim("add", done, exprs.index(m)))
        begin, last = groups(exprs, row, row_end, m)
        return For(number, begin, last, [self.loop_over(nest, first, end), self._rows_of(second, number, first, end)])

    def _rows_of(self, second: Call, number: Expr, first: Expr, end: Expr) -> Call:
        """The second product of rows first ... end, which are in one product of the batch."""
        make, index = self.function.exprs.prim, self.function.exprs.index
        code, _, _, n, k, _, _, a_row, a_col, b, b_batch, b_row, b_col, c, _ = second.args

        def behind(place: Expr | tuple[Buffer, Expr], steps: Expr, step: Expr) -> tuple[Buffer, Expr]:
            buffer, start = place  # type: ignore[misc]
            done = make("mul", steps, step)
            return buffer, done if start.op == "const" and start.attr == 0 else make("add", start, done)
        args = [code, make("sub", end, first), n, k, (self.result, make("mul", first, index(self.n))), a_row, a_col,
                behind(b, number, b_batch), b_row, b_col, behind(c, first, n)]  # type: ignore[arg-type]
        return Call(ROWS, args, second.reads, second.writes)


PASS = Pass("chained_products", "joins two matrix products and the loop between them",
            lambda function, context: fuse(function, context.target), ("arithmetic", "serial", "batches"))
