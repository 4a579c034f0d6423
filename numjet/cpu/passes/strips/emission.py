"""Strips of rows as statements: loops over strips, in which each statement goes through the rows of one strip."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

from numjet.cpu.ir.nodes import INT64, Buffer, Call, Carry, Comment, Expr, For, Function, Let, Stmt, Store
from numjet.cpu.ir.rewrite import Rewrite
from numjet.cpu.ir.traversal import binds, expressions, nodes, walk
from numjet.cpu.kernels.products import POINTERS, SIZES
from numjet.cpu.lowering.scalar_folding import fold
from numjet.cpu.passes.strips.rows import ADD, STRIDES, RowLoop, Rows

STRIP_BYTES = 1 << 22    # of all arrays of which only a strip exists: products of fewer rows take longer, larger strips no less
LEAST_ROWS = 128         # of a strip, if there are as many
_BATCH, _M, _K = SIZES.start, SIZES.start + 1, SIZES.start + 3


class Strips:
    """Writes the loops over strips. tiles: the arrays of which only a strip exists.

    A strip is some rows of one item of the batch, or some items with all their rows where these are small.
    """

    def __init__(self, function: Function, rows: Rows, tiles: Sequence[Buffer]):
        self.function, self.exprs, self.rows = function, function.exprs, rows
        each = sum(rows.widths[b] * b.dtype.itemsize for b in tiles)
        most = max(LEAST_ROWS, STRIP_BYTES // max(1, each))
        self.items = min(rows.batch, max(1, most // rows.m))
        self.height = -(-rows.m // -(-rows.m // most))   # as even as can be
        self.tiles = {b: self._tile(b) for b in tiles}

    def _tile(self, whole: Buffer) -> Buffer:
        """Memory for a strip of an array, in the place of the array."""
        size = self.items * self.height * self.rows.widths[whole]
        tile = Buffer(whole.name, whole.dtype, size, "temp")
        self.function.temps[self.function.temps.index(whole)] = tile
        return tile

    def statements(self) -> list[Stmt]:
        """All strips, one after the other."""
        exprs, none = self.exprs, self.exprs.index(0)
        if self.height == self.rows.m:
            return self._cut(self.rows.batch, self.items, lambda item, items: _Strip(self, item, items, none, self.rows.m))
        if self.rows.batch == 1:
            return self._of_item(none)
        item = exprs.var(INT64, "item")
        return [For(item, none, exprs.index(self.rows.batch), self._of_item(item))]

    def _of_item(self, item: Expr) -> list[Stmt]:
        return self._cut(self.rows.m, self.height, lambda row, rows: _Strip(self, item, 1, row, rows))

    def _cut(self, total: int, size: int, strip: Callable[[Expr, int], _Strip]) -> list[Stmt]:
        """A loop over the strips of the usual size, and the one that is left."""
        index, number = self.exprs.index, self.exprs.var(INT64, "strip")
        usual, left = divmod(total, size)
        first = fold(self.exprs, "mul", [number, index(size)])
        made: list[Stmt] = [For(number, index(0), index(usual), strip(first, size).statements())]
        return made + (strip(index(usual * size), left).statements() if left else [])


class _Strip:
    """Writes the statements of `count` rows from `row` on, of `items` items from `item` on."""

    def __init__(self, strips: Strips, item: Expr, items: int, row: Expr, count: int):
        self.function, self.exprs, self.rows, self.tiles = strips.function, strips.exprs, strips.rows, strips.tiles
        self.item, self.items, self.row, self.count = item, items, row, count

    def statements(self) -> list[Stmt]:
        return [made for stmt in self.rows.members for made in self._stmt(stmt)]

    def _stmt(self, stmt: Stmt) -> list[Stmt]:
        if isinstance(stmt, Call):
            return [self._over_rows(stmt) if self.rows.summed(stmt) else self._by_rows(stmt)]
        assert isinstance(stmt, For)
        return [_LoopOfStrip(self, self.rows.loops[stmt]).statement()]

    def make(self, op: str, x: Expr, y: Expr | int) -> Expr:
        """An operation on indices."""
        return fold(self.exprs, op, [x, self.exprs.index(y) if isinstance(y, int) else y])

    def first(self) -> Expr:
        """The number of the first row, counted through the whole batch."""
        return self.make("add", self.make("mul", self.item, self.rows.m), self.row)

    def _by_rows(self, call: Call) -> Call:
        """A product for the rows of the strip."""
        args = list(call.args)
        self._operand(args, 0, STRIDES[0].start + 1)
        self._operand(args, 1, None)
        self._result(args, self.first(), int(args[_M + 1].attr))  # type: ignore[union-attr]
        return self._call(call, args, _M)

    def _over_rows(self, call: Call) -> Call:
        """A product that sums over the rows of the strip, added to those of the strips before."""
        args = list(call.args)
        self._operand(args, 0, STRIDES[0].start + 2)
        self._operand(args, 1, STRIDES[1].start + 1)
        self._result(args, self.item, int(args[_M].attr) * int(args[_M + 1].attr))  # type: ignore[union-attr]
        if args[ADD].attr == 0:  # type: ignore[union-attr]
            args[ADD] = self.make("min", self.row, 1)
        return self._call(call, args, _K)

    def _operand(self, args: list[Expr | tuple[Buffer, Expr]], which: int, stride: int | None) -> None:
        """Moves an operand to the strip. stride: the place of the one from row to row; None for a matrix that all rows need."""
        buffer, start = args[POINTERS[which]]  # type: ignore[misc]
        of_batch = STRIDES[which].start
        if buffer in self.tiles:
            args[POINTERS[which]] = self.tiles[buffer], self.exprs.index(0)
            args[of_batch] = self.exprs.index(self.count * self.rows.widths[buffer])
            return
        start = self.make("add", self.make("mul", self.item, args[of_batch]), start)  # type: ignore[arg-type]
        if stride is not None:
            start = self.make("add", self.make("mul", self.row, args[stride]), start)  # type: ignore[arg-type]
        args[POINTERS[which]] = buffer, start

    def _result(self, args: list[Expr | tuple[Buffer, Expr]], number: Expr, size: int) -> None:
        buffer, start = args[POINTERS[2]]  # type: ignore[misc]
        tile = self.tiles.get(buffer)
        args[POINTERS[2]] = (buffer, self.make("mul", number, size)) if tile is None else (tile, start)

    def _call(self, call: Call, args: list[Expr | tuple[Buffer, Expr]], place: int) -> Call:
        args[_BATCH], args[place] = self.exprs.index(self.items), self.exprs.index(self.count)
        reads, writes = (tuple(self.tiles.get(b, b) for b in some) for some in (call.reads, call.writes))
        return Call(call.symbol, args, reads, writes, call.checked)


class _LoopOfStrip:
    """Writes a loop over the rows of a strip, with new variables."""

    def __init__(self, strip: _Strip, loop: RowLoop):
        self.strip, self.loop, self.make, self.exprs = strip, loop, strip.make, strip.exprs
        bound = [v for s in walk([loop.loop]) for v in binds(s)]
        rewrite = Rewrite(strip.function, lambda e: e)
        self.done, self._expr = rewrite.done, rewrite.expr
        self.done.update((v.id, self.exprs.var(v.dtype, "v")) for v in bound)
        self.inner, self.place = self.exprs.var(INT64, "row"), self.exprs.var(INT64, "column")
        self.in_tile, self.in_array = self.exprs.var(INT64, "line"), self.exprs.var(INT64, "line")
        for load in [e for e in nodes(expressions([loop.loop])) if e.op == "load" and e.attr in strip.rows.widths]:
            self.done[load.id] = self.exprs.load(*self._place(load.attr, load.args[0]))

    def statement(self) -> For:
        """The loop over rows, or over the items of the strip and their rows."""
        strip, index = self.strip, self.exprs.index
        item = self.exprs.var(INT64, "item")
        in_tile = self.inner if strip.items == 1 else self.make("add", self.make("mul", item, strip.count), self.inner)
        lets: list[Stmt] = [Let(self.in_tile, in_tile), Let(self.in_array, self.make("add", strip.first(), in_tile))]
        loop, last = self.loop, self.loop.nest[-1]
        body = self._elements(last) if loop.flat else [*self._counters(), *self._block(last.body)]
        mode = last.mode if last.mode == "vector" and not loop.flat else "serial"
        rows = For(self.inner, index(0), index(strip.count), [*lets, *body], mode=mode)
        return rows if strip.items == 1 else For(item, index(0), index(strip.items), [rows])

    def _elements(self, last: For) -> list[Stmt]:
        """The elements of a row of a loop over all elements."""
        number = self.make("add", self.make("mul", self.in_array, self.loop.width), self.place)
        body: list[Stmt] = [Let(self.done[last.var.id], number), *self._block(last.body)]
        return [For(self.place, self.exprs.index(0), self.exprs.index(self.loop.width), body, mode=last.mode)]

    def _counters(self) -> list[Stmt]:
        """The variables of the nest, from the number of the row."""
        trips = self.loop.trips
        made: list[Stmt] = []
        for d, one in enumerate(self.loop.nest):
            inside = prod(trips[d + 1:])
            value = self.in_array if inside == 1 else self.make("div", self.in_array, inside)
            made.append(Let(self.done[one.var.id], value if d == 0 else self.make("rem", value, trips[d])))
        return made

    def _place(self, buffer: Buffer, index: Expr) -> tuple[Buffer, Expr]:
        """Where an element of a row is: in the strip, or in the whole array."""
        tile, width = self.strip.tiles.get(buffer), self.strip.rows.widths[buffer]
        constant, terms = self.loop.rest(index)
        place = self.make("mul", self.in_array if tile is None else self.in_tile, width)
        for term, coefficient in [(self.done[t.id], c) for t, c in terms] + [(self.place, 1)] * self.loop.flat:
            place = self.make("add", place, self.make("mul", term, coefficient))
        return buffer if tile is None else tile, self.make("add", place, constant)

    def _block(self, block: Sequence[Stmt]) -> list[Stmt]:
        return [self._copied(stmt) for stmt in block]

    def _copied(self, stmt: Stmt) -> Stmt:
        match stmt:
            case Let():
                return Let(self._expr(stmt.var), self._expr(stmt.value))
            case Store(buffer=buffer, index=index):
                return Store(*self._place(buffer, index), self._expr(stmt.value))
            case For():
                return stmt.replace(var=self._expr(stmt.var), start=self._expr(stmt.start), stop=self._expr(stmt.stop),
                                    body=self._block(stmt.body), carries=list(map(self._carry, stmt.carries)))
        assert isinstance(stmt, Comment)
        return stmt

    def _carry(self, c: Carry) -> Carry:
        var, init, following, out = map(self._expr, (c.var, c.init, c.next, c.out))
        return Carry(var, init, following, out, c.combine, None if c.term is None else self._expr(c.term))
