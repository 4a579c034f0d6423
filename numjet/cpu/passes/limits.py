"""Iteration limits: loops over padded axes run over the elements only.

A program for many sizes has arrays of a capacity, of which the first n rows count, where n is an argument. Where only those
rows of a result are asked for (`lax/shape/leading.py`), the iterations that compute the others have no effect that matters.
This goes backwards: a loop that is limited reads only the first rows of its operands, so those that compute these are limited,
too. Sums over the axis have the identity in their padding, as a selection by `i < n`: such iterations change nothing either.

`find` notes this at the lowered function, as `limit` of loops and `limits` of calls, which later passes may keep or drop.
`apply` writes them into the bounds at the end. Passes in between see constant bounds, so that they fuse, share and plan as for
the capacity; an iteration beyond the limit is dead whatever they do.
"""
from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from numjet.cpu.analysis.affine import AffineForms
from numjet.cpu.ir.nodes import INT64, Buffer, Call, Carry, Comment, Expr, For, Function, If, Let, Stmt, Store
from numjet.cpu.ir.traversal import nodes, operands, reads, swapped, walk, writes, written
from numjet.cpu.ir.types import identity
from numjet.cpu.kernels.products import CODES, GEMM
from numjet.cpu.passes.manager import Context, Pass


class Rows(NamedTuple):
    """The elements of a buffer in front of number n * size."""

    n: Expr
    size: int


Need = Rows | None  # None: all elements


def find(function: Function) -> None:
    """Notes limits, in place."""
    if function.leading or any(e.op == "lt" for e in nodes(_roots(function.body))):
        _Limits(function).run()


def _roots(block: Sequence[Stmt]) -> list[Expr]:
    return [e for stmt in walk(block) for e in operands(stmt)]


class _Limits:
    """Goes through a function backwards, and knows which elements of each buffer later statements need."""

    def __init__(self, function: Function):
        self.function, self.exprs = function, function.exprs
        self.forms = AffineForms.of(function.body)
        changed = written(function.body)
        self.sizes = {b for b in function.inputs if b.size == 1 and b.dtype.kind == "i" and b not in changed}
        self.needs: dict[Buffer, Need] = {b: self._asked(b) for b in function.outputs}
        self.needs.update(dict.fromkeys(swapped(function.body)))
        self.needs.update(dict.fromkeys(function.inputs))
        self.fixed = frozenset(self.needs) - frozenset(function.outputs)
        self.zeros = self._zero_tails()

    def run(self) -> None:
        for stmt in reversed(self.function.body):
            if isinstance(stmt, For):
                self._loop(stmt)
            elif isinstance(stmt, Call) and stmt.symbol == GEMM:
                self._product(stmt)
            elif not isinstance(stmt, Comment):
                self._need_all(b for s in walk([stmt]) for b in reads(s))

    def _asked(self, output: Buffer) -> Need:
        found = self.function.leading.get(output)
        return None if found is None or found[0].op != "load" or found[0].attr not in self.sizes else Rows(*found)

    # -- needs
    def _need(self, buffer: Buffer, need: Need) -> None:
        if buffer in self.fixed:
            return
        if buffer not in self.needs:
            self.needs[buffer] = need
            return
        old = self.needs[buffer]
        if old is None or need is None or old.n is not need.n:
            self.needs[buffer] = None
        else:
            self.needs[buffer] = Rows(old.n, max(old.size, need.size))

    def _need_all(self, buffers: Iterable[Buffer]) -> None:
        for buffer in buffers:
            self._need(buffer, None)

    # -- loops
    def _loop(self, loop: For) -> None:
        found = self._limit(loop)
        limits: dict[int, tuple[Expr, int]] = {}
        if found is not None:
            loop.limit = self._times(*found)
            limits[loop.var.id] = found
        nested = [s for s in walk(loop.body) if isinstance(s, For)]
        for inner in nested:
            one = self._of_sums(inner) if not any(isinstance(s, Store) for s in walk(inner.body)) else None
            if one is not None:
                inner.limit = self._times(one, 1)
                limits[inner.var.id] = one, 1
        self._reads(loop, limits)

    def _times(self, n: Expr, factor: int) -> Expr:
        return self.exprs.prim("mul", self.exprs.convert(n, INT64), self.exprs.index(factor))

    def _limit(self, loop: For) -> tuple[Expr, int] | None:
        """(n, factor): iterations from n * factor on have no effect that matters. None if they may have one."""
        if not _from_zero(loop) or not all(isinstance(s, For | If | Let | Store | Comment) for s in walk(loop.body)):
            return None
        sums = self._of_sums(loop) if loop.carries else None
        if loop.carries and sums is None:
            return None
        found = (sums, 1) if sums is not None else None
        ranges = _ranges(loop)
        own = {e.attr: e for e in nodes(_roots([loop])) if e.op == "load"}
        for store in (s for s in walk(loop.body) if isinstance(s, Store)):
            one = self._of_store(loop, store, ranges, own)
            if one is None or (found is not None and found[0] is not one[0]):
                return None
            found = one if found is None else (found[0], max(found[1], one[1]))
        return found

    def _of_store(self, loop: For, store: Store, ranges: dict[int, int], own: dict[Buffer, Expr]) -> tuple[Expr, int] | None:
        """The limit that one store allows."""
        need = self.needs.get(store.buffer)
        if need is None or store.buffer in self.fixed:
            return None
        step = self._step(store.index, loop.var, ranges)
        if step is None or need.size % step:
            return None
        if store.buffer in own and not self._reads_own_row(loop, store.buffer, store.index):
            return None
        return need.n, need.size // step

    def _reads_own_row(self, loop: For, buffer: Buffer, index: Expr) -> bool:
        """Whether a loop reads what it writes at the same place only."""
        return all(e.args[0] is index for e in nodes(_roots([loop])) if e.op == "load" and e.attr is buffer)

    def _step(self, index: Expr, var: Expr, ranges: dict[int, int]) -> int | None:
        """s, where an index is var * s plus something from 0 to s - 1; None for other indices. ranges: the ends of the other
        variables, by their ids."""
        constant, terms = self.forms.split(index)
        step, rest = 0, constant
        for term, factor in terms:
            if term is var:
                step = factor
            elif term.id in ranges and factor > 0:
                rest += factor * (ranges[term.id] - 1)
            else:
                return None
        return step if step > 0 and 0 <= constant and rest < step else None

    def _of_sums(self, loop: For) -> Expr | None:
        """n, if from iteration n on all carries of a loop stay as they are."""
        if not loop.carries or not _from_zero(loop):
            return None
        found = {self._masked(c, loop.var) for c in loop.carries}
        return found.pop() if len(found) == 1 else None

    def _masked(self, carry: Carry, var: Expr) -> Expr | None:
        """n, if a carry is a reduction of terms select(var < n, ..., identity)."""
        term = carry.term
        if carry.combine is None or term is None or term.op != "select":
            return None
        n = self._bound(term.args[0], var)
        return n if n is not None and _is_identity(carry.combine, term.args[2]) else None

    def _bound(self, cond: Expr, var: Expr) -> Expr | None:
        """n, if a condition is var < n for an argument n of the program."""
        if cond.op != "lt":
            return None
        left, n = cond.args
        while left.op == "convert" and left.args[0].dtype.kind == "i":
            left = left.args[0]
        return n if left is var and n.op == "load" and n.attr in self.sizes and n.args[0].op == "const" else None

    def _reads(self, loop: For, limits: dict[int, tuple[Expr, int]]) -> None:
        """Notes what a loop needs. limits: (n, factor) of the limited loops in it, by their variables' ids."""
        loops = [s for s in walk([loop]) if isinstance(s, For)]
        ranges = {s.var.id: int(s.stop.attr) for s in loops if _from_zero(s)}
        inits = {e.id for s in loops for c in s.carries for e in nodes([c.init])}
        for e in nodes(_roots([loop])):
            if e.op != "load":
                continue
            need: Need = None
            for s in loops:
                if s.var.id in limits and e.id not in inits and self._within(s, e):
                    step = self._step(e.args[0], s.var, {k: v for k, v in ranges.items() if k != s.var.id})
                    if step is not None:
                        n, factor = limits[s.var.id]
                        need = Rows(n, factor * step)
                        break
            self._need(e.attr, need)

    def _within(self, loop: For, load: Expr) -> bool:
        """Whether an element is read by the iterations of a loop: its index names the loop's variable."""
        return any(e is loop.var for e in nodes([load.args[0]]))

    # -- products of matrices
    def _product(self, call: Call) -> None:
        args = call.args
        code, batch, m, n, k = (_constant(a) for a in args[:5])
        (a, a_at), (b, b_at), (c, c_at) = args[5], args[9], args[13]  # type: ignore[misc]
        a_row, a_col, b_row = _constant(args[7]), _constant(args[8]), _constant(args[11])
        b_col, add = _constant(args[12]), _constant(args[14])
        numbers = (code, batch, m, n, k, a_row, a_col, b_row, b_col, add)
        needs: dict[Buffer, Need] = {a: None, b: None}
        starts = [x for x in (a_at, b_at, c_at) if _constant(x) != 0]
        if None not in numbers and not starts and batch == 1 and code < CODES["complex64"] and add == 0 and a is not b:
            need = self.needs.get(c)
            if need is not None and c not in self.fixed and need.size % n == 0:
                rows = need.size // n
                call.limits = (*call.limits, (2, self._times(need.n, rows)))
                if a_col * (k - 1) < a_row:
                    needs[a] = Rows(need.n, rows * a_row)
            tail = self.zeros.get(a)
            if tail is not None and tail == Rows(tail.n, a_col) and self.zeros.get(b) == Rows(tail.n, b_row):
                if a_row * (m - 1) < a_col and b_col * (n - 1) < b_row:
                    call.limits = (*call.limits, (4, self._times(tail.n, 1)))
                    needs = {a: tail, b: Rows(tail.n, b_row)}
        for buffer, one in needs.items():
            self._need(buffer, one)
        if add != 0:
            self._need(c, None)

    def _zero_tails(self) -> dict[Buffer, Rows]:
        """Buffers whose elements behind the first rows are zero: one loop writes them, by selections."""
        found: dict[Buffer, Rows] = {}
        writers: dict[Buffer, int] = {}
        for stmt in self.function.body:
            for s in walk([stmt]):
                for buffer in writes(s):
                    writers[buffer] = writers.get(buffer, 0) + 1
            if isinstance(stmt, For) and _from_zero(stmt):
                ranges = _ranges(stmt)
                for s in walk(stmt.body):
                    if isinstance(s, Store) and s.value.op == "select" and _is_zero(s.value.args[2]):
                        n, step = self._bound(s.value.args[0], stmt.var), self._step(s.index, stmt.var, ranges)
                        if n is not None and step is not None and int(stmt.stop.attr) * step == s.buffer.size:
                            found[s.buffer] = Rows(n, step)
        return {b: r for b, r in found.items() if writers[b] == 1 and b not in self.fixed and b.kind == "temp"}


def _from_zero(loop: For) -> bool:
    return loop.start.op == "const" and loop.stop.op == "const" and int(loop.start.attr) == 0


def _ranges(loop: For) -> dict[int, int]:
    """Where the variables of the loops inside of one end, by their ids."""
    return {s.var.id: int(s.stop.attr) for s in walk(loop.body) if isinstance(s, For) and _from_zero(s)}


def _constant(x: object) -> int | None:
    return int(x.attr) if isinstance(x, Expr) and x.op == "const" else None


def _is_zero(x: Expr) -> bool:
    return x.op == "const" and not x.attr.tobytes().strip(b"\0")


def _is_identity(kind: str, x: Expr) -> bool:
    return x.op == "const" and (x.attr == identity(kind, x.dtype) or (kind == "add" and x.attr == 0))


def apply(function: Function) -> None:
    """Writes the limits into the bounds of loops and the sizes of calls, in place."""
    exprs = function.exprs
    for stmt in walk(function.body):
        if isinstance(stmt, For) and stmt.limit is not None:
            if stmt.mode != "unroll":
                stmt.stop = exprs.prim("min", stmt.stop, stmt.limit)
            stmt.limit = None
        elif isinstance(stmt, Call) and stmt.limits:
            for place, limit in stmt.limits:
                size = stmt.args[place]
                assert isinstance(size, Expr)
                stmt.args[place] = exprs.prim("min", size, limit)
            stmt.limits = ()


def _find(function: Function, context: Context) -> None:
    find(function)


FIND = Pass("limits", "notes iterations over padding, which nobody needs", _find, ("math", "serial", "unplaced"))
APPLY = Pass("limit loops", "ends loops where the padding begins", lambda function, context: apply(function), ("placed",))
