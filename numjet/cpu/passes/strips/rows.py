"""Row analysis: statements that go through the rows of a batch, each of which touches, of what is written, its row only."""
from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Self

from numjet.cpu.analysis.affine import AffineForms
from numjet.cpu.ir.nodes import Buffer, Call, Comment, Expr, For, Let, Stmt, Store
from numjet.cpu.ir.traversal import expressions, nodes, static_trips, touches, walk, written
from numjet.cpu.kernels.products import CODES, POINTERS, gemm_sizes

STRIDES = slice(6, 9), slice(10, 13)   # of the operands of a product among its arguments: of the batch, of rows, of columns
ADD = 14                               # whether the product is added to what is there
_A, _B, _C = POINTERS
_REAL = CODES["complex64"]


class Rows:
    """Statements that can run for some rows at a time.

    widths: the arrays, of those that the statements write, that have so many elements for each row. sums: the results of
    products that sum over the rows. shared: the right operands of the other products. loops: what is known of each loop.
    """

    def __init__(self, members: Sequence[Stmt], batch: int, m: int):
        self.members, self.batch, self.m = members, batch, m
        self.count = batch * m
        self.written = written(members)
        self.widths: dict[Buffer, int] = {}
        self.sums: set[Buffer] = set()
        self.shared: set[Buffer] = set()
        self.loops: dict[For, RowLoop] = {}

    @classmethod
    def of(cls, members: Sequence[Stmt], batch: int, m: int) -> Self | None:
        """What is found about statements and the rows of a batch; None if some need others than the row that they are at."""
        rows = cls(members, batch, m)
        return rows if m > 1 and all(map(rows._fits, members)) and rows._sums_apart() else None

    def summed(self, call: Call) -> bool:
        """Whether a product sums over the rows."""
        return call.writes[0] in self.sums

    def _fits(self, stmt: Stmt) -> bool:
        if isinstance(stmt, For):
            loop = self.loops[stmt] = RowLoop(stmt, self.count)
            return loop.in_rows(self)
        return isinstance(stmt, Call) and (self._by_rows(stmt) or self._over_rows(stmt))

    def _sums_apart(self) -> bool:
        """Whether nothing else touches what is summed up."""
        touched = [b for stmt in self.members for b in {b for s in walk([stmt]) for b in touches(s)}]
        return all(touched.count(b) == 1 for b in self.sums)

    def row_of(self, buffer: Buffer, width: int) -> bool:
        """Notes that an array has so many elements for each row; False if that cannot be."""
        return buffer.size == self.count * width and self.widths.setdefault(buffer, width) == width

    def _by_rows(self, call: Call) -> bool:
        """A product whose rows are the rows, with a matrix that stays as it is."""
        sizes = self._sizes(call)
        if sizes is None or sizes[:2] != (self.batch, self.m):
            return False
        (left, _), (right, _), (result, _) = (call.args[k] for k in POINTERS)  # type: ignore[misc]
        if right in self.written or not (left not in self.written or self._holds_rows(call, 0, sizes[3], (sizes[3], 1))):
            return False
        self.shared.add(right)
        return self.row_of(result, sizes[2])

    def _over_rows(self, call: Call) -> bool:
        """A product that sums over the rows."""
        sizes = self._sizes(call)
        if sizes is None or (sizes[0], sizes[3]) != (self.batch, self.m):
            return False
        _, m, n, _ = sizes
        (left, _), (right, _), (result, _) = (call.args[k] for k in POINTERS)  # type: ignore[misc]
        known = [left not in self.written or self._holds_rows(call, 0, m, (1, m)),
                 right not in self.written or self._holds_rows(call, 1, n, (n, 1))]
        self.sums.add(result)
        return all(known) and not self.written.isdisjoint({left, right}) and result.size == self.batch * m * n

    def _sizes(self, call: Call) -> tuple[int, int, int, int] | None:
        """The sizes of a product of floats whose result is a whole array."""
        sizes = gemm_sizes(call)
        if sizes is None or call.limits or int(call.args[0].attr) >= _REAL:  # type: ignore[union-attr]
            return None
        _, start = call.args[_C]  # type: ignore[misc]
        return sizes if _constant(start) == 0 and _constant(call.args[ADD]) is not None else None

    def _holds_rows(self, call: Call, which: int, width: int, strides: tuple[int, int]) -> bool:
        """Whether an operand is an array of rows, with these strides of its rows and columns."""
        buffer, start = call.args[POINTERS[which]]  # type: ignore[misc]
        of_batch, *others = map(_constant, call.args[STRIDES[which]])
        whole = self.batch == 1 or of_batch == self.m * width
        return whole and tuple(others) == strides and _constant(start) == 0 and self.row_of(buffer, width)


def _constant(arg: Expr | tuple[Buffer, Expr]) -> int | None:
    return int(arg.attr) if isinstance(arg, Expr) and arg.op == "const" else None


class RowLoop:
    """A loop over rows, as a nest of loops, the body of which is that of one row; or one loop over all elements (`flat`)."""

    def __init__(self, loop: For, rows: int):
        self.loop, self.rows = loop, rows
        self.sums = AffineForms.of(loop.body)
        self.nest = self._nested()
        self.trips = [static_trips(one) or 0 for one in self.nest]
        self.flat = len(self.nest) == 1 and self.trips[0] > rows
        self.width = prod(self.trips) // rows    # elements of a row that a flat loop goes through
        self.inside = {} if not self.nest else {s.var: s for s in walk(self.nest[-1].body) if isinstance(s, For)}

    def _nested(self) -> list[For]:
        """The loops over the rows; none if there are no such."""
        nest: list[For] = []
        loop, count = self.loop, 1
        while True:
            trips = static_trips(loop)
            if loop.carries or not trips or _constant(loop.start) != 0:
                return []
            nest.append(loop)
            count *= trips
            if count >= self.rows:
                return nest if count == self.rows or (len(nest) == 1 and count % self.rows == 0) else []
            inner = [s for s in loop.body if not isinstance(s, Comment)]
            if len(inner) != 1 or not isinstance(inner[0], For):
                return []
            loop = inner[0]

    def in_rows(self, found: Rows) -> bool:
        """Whether the loop touches, of what is written, the row only that it is at."""
        inner = walk([self.loop])
        if not self.nest or not all(isinstance(s, For | Let | Store | Comment) for s in inner):
            return False
        if any(isinstance(s, For) and s.limit is not None for s in inner):
            return False
        loads = [e for e in nodes(expressions([self.loop])) if e.op == "load" and e.attr in found.written]
        places = [(s.buffer, s.index) for s in inner if isinstance(s, Store)] + [(e.attr, e.args[0]) for e in loads]
        return all(len(e.args) == 1 for e in loads) and all(self._in_row(found, *place) for place in places)

    def _in_row(self, found: Rows, buffer: Buffer, index: Expr) -> bool:
        total = self.sums.split(index)
        terms = dict(total.terms)
        steps = [(loop.var, prod(self.trips[d + 1:])) for d, loop in enumerate(self.nest) if self.trips[d] > 1]
        width = self.width if self.flat else terms.get(steps[-1][0], 0)
        if width < 1 or any(terms.pop(var, 0) != step * (1 if self.flat else width) for var, step in steps):
            return False
        low = high = total.constant
        for term, coefficient in terms.items():
            ends = self._range(term)
            if ends is None:
                return False
            products = [coefficient * end for end in ends]
            low, high = low + min(products), high + max(products)
        fits = (low, high) == (0, 0) if self.flat else 0 <= low and high < width
        return fits and found.row_of(buffer, width)

    def _range(self, term: Expr) -> tuple[int, int] | None:
        """The least and the greatest value of a variable, if a loop inside binds it."""
        loop = self.inside.get(term)
        trips = None if loop is None else static_trips(loop)
        if loop is None or not trips:
            return None
        first = int(loop.start.attr)
        return first, first + trips - 1

    def rest(self, index: Expr) -> tuple[int, list[tuple[Expr, int]]]:
        """Where an index, found to be in the row, is in it: a constant, and variables of loops inside with their factors."""
        total, outer = self.sums.split(index), {loop.var for loop in self.nest}
        return total.constant, [(term, coefficient) for term, coefficient in total.terms if term not in outer]
