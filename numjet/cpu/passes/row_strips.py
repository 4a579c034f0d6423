"""Strip mining of matrix products: products with the same rows, and the loops between them, run for a strip of rows at a time.

What they hand to each other is then a strip in the cache, and never a whole array: reverse mode through attention, whose scores
are as large as the square of a sequence, takes memory as long as the sequence. A product that sums over the rows adds up its
result strip by strip.
"""
from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence

from numjet.cpu.ir.nodes import Buffer, Call, Comment, Expr, For, Function, Stmt
from numjet.cpu.ir.traversal import touches, walk, written
from numjet.cpu.kernels.products import CODES, POINTERS, gemm_sizes
from numjet.cpu.passes.gemm_epilogues import for_blocks_of_products, times_touched
from numjet.cpu.passes.manager import Pass
from numjet.cpu.passes.strips.emission import Strips
from numjet.cpu.passes.strips.motion import parted
from numjet.cpu.passes.strips.rows import STRIDES, Rows
from numjet.cpu.target import Target
from numjet.foundation.decisions import sampling

WORTH_BYTES = 1 << 22    # of the largest array that is never whole: less does not leave the caches
MOST_STATEMENTS = 64     # between the first and the last that touch it


def strip(function: Function, target: Target) -> None:
    """Cuts such statements into strips of rows, in place; not where sizes vary, as the numbers of strips are no polynomials."""
    if not sampling():
        for_blocks_of_products(function, target, _strip_block)


def _strip_block(function: Function, block: list[Stmt], target: Target) -> None:
    products = [(large, stmt) for stmt in block if (large := _summed(stmt))]
    if not products:
        return
    search = _Search(function, block, target)
    for large, product in sorted(products, key=lambda found: -found[0][0].nbytes):
        search.around(large, product)  # type: ignore[arg-type]
    block[:] = search.replaced()


def _summed(stmt: Stmt) -> list[Buffer]:
    """The large temporaries over the rows of which a product of floats sums."""
    if gemm_sizes(stmt) is None or int(stmt.args[0].attr) >= CODES["complex64"]:  # type: ignore[union-attr]
        return []
    (left, _), (right, _) = (stmt.args[k] for k in POINTERS[:2])  # type: ignore[union-attr, misc]
    by_rows = [_column_stride(stmt, 0) != 1, _column_stride(stmt, 1) == 1]  # type: ignore[arg-type]
    return [b for b, fits in zip((left, right), by_rows, strict=True) if fits and _is_large(b)]


def _column_stride(product: Call, which: int) -> int | None:
    """How far columns of an operand are apart, if that is known."""
    stride = product.args[STRIDES[which].stop - 1]
    return int(stride.attr) if isinstance(stride, Expr) and stride.op == "const" else None


def _is_large(buffer: Buffer) -> bool:
    return buffer.kind == "temp" and buffer.nbytes >= WORTH_BYTES


class _Search:
    """Groups of statements of a block to be cut, which do not overlap."""

    def __init__(self, function: Function, block: list[Stmt], target: Target):
        self.function, self.block, self.target = function, block, target
        self.touching = times_touched(function)
        self.places: defaultdict[Buffer, list[int]] = defaultdict(list)
        self.inside: Counter[Buffer] = Counter()
        self.touched: list[set[Buffer]] = []
        self.products = {stmt.writes[0] for stmt in block if gemm_sizes(stmt) is not None}  # type: ignore[union-attr]
        for k, stmt in enumerate(block):
            found = Counter(b for s in walk([stmt]) for b in touches(s))
            self.touched.append(set(found))
            self.inside.update(found)
            for buffer in found:
                self.places[buffer].append(k)
        self.found: dict[int, tuple[int, list[Stmt]]] = {}   # by the first place: the end, and what is there instead
        self.taken: set[int] = set()

    def around(self, large: Sequence[Buffer], product: Call) -> None:
        """Finds the statements that make and use arrays over whose rows a product sums, and cuts them if they can be cut."""
        places = self._connected(list(filter(self._private, large)))
        if not places:
            return
        first, end = min(places), max(places) + 1
        span = range(first, end)
        if not self.taken.isdisjoint(span) or sum(not isinstance(self.block[k], Comment) for k in span) > MOST_STATEMENTS:
            return
        moved = parted(self.block[first:end], {self.block[k] for k in places})
        if moved is None:
            return
        before, members, after = moved
        batch, _, _, m = gemm_sizes(product) or (0, 0, 0, 0)
        rows = Rows.of(members, batch, m)
        if rows is None or not self._is_worth(rows):
            return
        self.taken.update(span)
        self.found[first] = end, [*before, *Strips(self.function, rows, self._only_here(rows)).statements(), *after]

    def _connected(self, left: list[Buffer]) -> set[int]:
        """The places of the statements that touch some arrays, or others of their own, which such a statement writes or a
        product makes."""
        places: set[int] = set()
        seen = set(left)
        while left and len(places) <= MOST_STATEMENTS:
            new = set(self.places[left.pop()]) - places
            places |= new
            made = {b for k in new for b in self._made(k, seen)}
            left += [b for b in made - seen if self._private(b)]
            seen |= made
        return places

    def _made(self, place: int, seen: set[Buffer]) -> set[Buffer]:
        """What a statement writes, unless it is a sum over rows, and the products that it reads."""
        stmt = self.block[place]
        if isinstance(stmt, Call) and gemm_sizes(stmt):
            (left, _), (right, _) = (stmt.args[k] for k in POINTERS[:2])  # type: ignore[misc]
            by_rows = right not in seen and (left not in seen or _column_stride(stmt, 0) == 1)
            return set(stmt.writes) if by_rows else set()
        return written([stmt]) | self.touched[place] & self.products

    def _private(self, buffer: Buffer) -> bool:
        """Whether an array is large, and only touched by statements of the block that may go by rows."""
        if not _is_large(buffer) or self.inside[buffer] != self.touching[buffer]:
            return False
        touching = [self.block[k] for k in self.places[buffer]]
        return all(isinstance(s, Call) or (isinstance(s, For) and not s.carries) for s in touching)

    def _is_worth(self, rows: Rows) -> bool:
        """Whether what all rows need stays in the cache, to be read and changed again and again."""
        most = self.target.caches.last_level // 4
        return all(b.nbytes <= most * rows.batch for b in {*rows.shared, *rows.sums})

    def _only_here(self, rows: Rows) -> list[Buffer]:
        """The arrays that need not be whole, as only these statements touch them, and so write each element before they read
        it."""
        here = Counter(b for s in walk(rows.members) for b in touches(s))
        return [b for b in rows.widths if b.kind == "temp" and here[b] == self.touching[b]]

    def replaced(self) -> list[Stmt]:
        """The statements of the block, with strips."""
        result: list[Stmt] = []
        place = 0
        while place < len(self.block):
            place, statements = self.found.get(place, (place + 1, [self.block[place]]))
            result += statements
        return result


PASS = Pass("row_strips", "runs products with the same rows, and loops between them, for some rows at a time",
            lambda function, context: strip(function, context.target), ("arithmetic", "serial", "batches"))
