"""Iteration limits: loops over padded axes run over the elements only.

A program for many sizes has arrays of a capacity, of which the first n rows count, where n is an argument. Where only those
rows of a result are asked for (`lax/shape/leading.py`), the iterations that compute the others have no effect that matters.
This goes backwards: a loop that is limited reads only the first rows of its operands, so those that compute these are limited,
too. Sums over the axis have the identity in their padding, as a selection by `i < n`: such iterations change nothing either.

`find` notes this at the lowered function, as `limit` of loops and `limits` of calls, which later passes may keep or drop.
`limited_loops.py` writes them into the bounds at the end. Passes in between see constant bounds, so that they fuse, share and
plan as for the capacity; an iteration beyond the limit is dead whatever they do.
"""
from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from numjet.cpu.analysis.affine import AffineForms
from numjet.cpu.analysis.front_rows import (
    Mask,
    Need,
    Product,
    Rows,
    alike,
    both,
    constant,
    from_zero,
    multiple,
    plain_product,
    pointers,
    size_inputs,
    times,
    unclamped,
    unconverted,
)
from numjet.cpu.ir.nodes import INT64, Buffer, Call, Carry, Comment, Expr, For, Function, If, Let, Stmt, Store
from numjet.cpu.ir.traversal import nodes, operands, reads, swapped, walk, writes, written
from numjet.cpu.ir.types import identity
from numjet.cpu.kernels.products import GEMM
from numjet.cpu.passes.manager import Context, Pass

SORTS = ("nj_sort1", "nj_sort2", "nj_sort3")
PREFIXES = ("nj_prefix", "nj_prefix_in_place")


def find(function: Function) -> None:
    """Notes limits, in place."""
    sizes = size_inputs(function)
    if sizes and (function.leading or any(_asks_for(e, sizes) for e in nodes(_roots(function.body)))):
        Limits(function).run()


def _asks_for(e: Expr, sizes: set[Buffer]) -> bool:
    """Whether an expression compares with a size, as all limits but those of results begin."""
    return e.op == "lt" and multiple(e.args[1], sizes) is not None


def _roots(block: Sequence[Stmt]) -> list[Expr]:
    return [e for stmt in walk(block) for e in operands(stmt)]


class Limits:
    """Goes through a function backwards, and knows which elements of each buffer later statements need."""

    def __init__(self, function: Function):
        self.function, self.exprs = function, function.exprs
        self.forms = AffineForms.of(function.body)
        self.sizes = size_inputs(function)
        self.needs: dict[Buffer, Need] = {b: self._asked(b) for b in function.outputs}
        self.needs.update(dict.fromkeys(swapped(function.body)))
        self.needs.update(dict.fromkeys(function.inputs))
        self.fixed = frozenset(self.needs) - frozenset(function.outputs)
        self.copies: dict[Buffer, Buffer] = {}
        self.used = {e.id for e in nodes(_roots(function.body))}
        self.zeros = self._tails(_is_zero)
        self.last = self._tails(_is_last)

    def run(self) -> None:
        dead: set[int] = set()
        for stmt in reversed(self.function.body):
            if isinstance(stmt, For) and self._dead(stmt):
                dead.add(id(stmt))
            elif isinstance(stmt, For):
                self._loop(stmt)
            elif isinstance(stmt, Call) and stmt.symbol == GEMM:
                self._product(stmt)
            elif isinstance(stmt, Call) and stmt.symbol in SORTS:
                self._sort(stmt)
            elif isinstance(stmt, Call) and stmt.symbol in PREFIXES:
                self._prefix(stmt)
            elif not isinstance(stmt, Comment):
                self._need_all(b for s in walk([stmt]) for b in reads(s))
        self.function.body[:] = [s for s in self.function.body if id(s) not in dead]

    def _dead(self, loop: For) -> bool:
        """Whether a loop fills copies only that nobody reads any more."""
        filled = written([loop])
        return not loop.carries and bool(filled) and all(b in self.copies and b not in self.needs for b in filled)

    def _asked(self, output: Buffer) -> Need:
        found = self.function.leading.get(output)
        return None if found is None or found[0].op != "load" or found[0].attr not in self.sizes else Rows(*found)

    def _whole_need(self, buffer: Buffer) -> Need:
        """What is needed of a buffer, in whole numbers of n."""
        need = self.needs.get(buffer)
        return None if need is None or need.less < 0 or buffer in self.fixed else Rows(need.n, need.size)

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
            self.needs[buffer] = both(old, need)

    def _need_all(self, buffers: Iterable[Buffer]) -> None:
        for buffer in buffers:
            self._need(buffer, None)

    # -- loops
    def _loop(self, loop: For) -> None:
        found = self._limit(loop)
        limits: dict[int, Rows] = {}
        if found is not None:
            loop.limit = self._times(*found)
            limits[loop.var.id] = found
        else:
            loop.limit = self._of_updates(loop)
        nested = [s for s in walk(loop.body) if isinstance(s, For)]
        for inner in nested:
            one = self._of_sums(inner) if not any(isinstance(s, Store) for s in walk(inner.body)) else None
            if one is not None:
                inner.limit = self._times(*one)
                limits[inner.var.id] = one
            elif inner.limit is None and not (inner.mode == "vector" and any(
                    s.limit is not None and inner in s.body for s in (loop, *nested))):  # vectors have few iterations
                inner.limit = self._of_updates(inner)
        self._reads(loop, limits)

    def _times(self, n: Expr, factor: int, less: int = 0) -> Expr:
        found = times(self.exprs, n, factor)
        return self.exprs.prim("sub", found, self.exprs.index(less)) if less else found

    def _limit(self, loop: For) -> Rows | None:
        """The iterations behind which none has an effect that matters. None if they may have one."""
        if not from_zero(loop) or not all(isinstance(s, For | If | Let | Store | Comment) for s in walk(loop.body)):
            return None
        sums = self._of_sums(loop) if loop.carries else None
        if loop.carries and sums is None and any(c.out.id in self.used for c in loop.carries):
            return None
        found = sums
        ranges = _ranges(loop)
        own = {e.attr: e for e in nodes(_roots([loop])) if e.op == "load"}
        for store in (s for s in walk(loop.body) if isinstance(s, Store)):
            one = self._of_store(loop, store, ranges, own)
            if one is None or (found is not None and found.n is not one.n):
                return None
            found = one if found is None else both(found, one)
        return found

    def _of_store(self, loop: For, store: Store, ranges: dict[int, int], own: dict[Buffer, Expr]) -> Rows | None:
        """The limit that one store allows."""
        need = self.needs.get(store.buffer)
        if need is None or store.buffer in self.fixed:
            return None
        row = self.row(store.index, loop.var, ranges)
        if row is None or need.size % row[0]:
            return None
        if store.buffer in own and not self._reads_own_row(loop, store.buffer, store.index, row[0]):
            return None
        return Rows(need.n, need.size // row[0], need.less // row[0] + row[1])

    def _reads_own_row(self, loop: For, buffer: Buffer, index: Expr, row: int) -> bool:
        """Whether a loop reads what it writes at the same place only, or in rows before."""
        own = self.forms.split(index)
        places = [self.forms.split(e.args[0]) for e in nodes(_roots([loop])) if e.op == "load" and e.attr is buffer]
        behind = [own.constant - p.constant for p in places]
        return all(p.terms == own.terms for p in places) and all(b >= 0 and b % row == 0 for b in behind)

    def step(self, index: Expr, var: Expr, ranges: dict[int, int]) -> int | None:
        """s, where an index is var * s plus something from 0 to s - 1; None for other indices. ranges: the ends of the other
        variables, by their ids."""
        found = self.row(index, var, ranges)
        return found[0] if found is not None and found[1] == 0 else None

    def row(self, index: Expr, var: Expr, ranges: dict[int, int]) -> tuple[int, int] | None:
        """(s, q), where an index is (var + q) * s plus something from 0 to s - 1."""
        constant, terms = self.forms.split(index)
        step, rest = dict(terms).get(var, 0), 0
        for term, factor in terms:
            if term is not var and (term.id not in ranges or factor <= 0):
                return None
            rest += 0 if term is var else factor * (ranges[term.id] - 1)
        return (step, constant // step) if step > 0 and constant % step + rest < step else None

    def _of_sums(self, loop: For) -> Rows | None:
        """The iterations behind which all carries of a loop stay as they are."""
        if not loop.carries or not from_zero(loop):
            return None
        found = {self._masked(c, loop.var, loop.body) for c in loop.carries}
        one = found.pop() if len(found) == 1 else None
        return None if one is None else Rows(*one)

    def _masked(self, carry: Carry, var: Expr, body: Sequence[Stmt]) -> tuple[Expr, int] | None:
        """(n, factor), if a carry is a reduction of terms select(var < n * factor, ..., identity), by the body of its loop or
        by a loop in it that goes on with the carry."""
        inner = _continued(carry, body)
        if inner is not None:
            return self._masked(inner[1], var, inner[0].body)
        term = carry.term
        if carry.combine is None or term is None or term.op != "select":
            return None
        found = self._bound(term.args[0], var)
        return found if found is not None and _is_identity(carry.combine, term.args[2]) else None

    # -- sums in memory: x[k] = x[k] + select(... < n, term, 0), again and again
    def _of_updates(self, loop: For) -> Expr | None:
        """The first iteration from which on all updates of a loop add identities only; None if it does anything else."""
        if loop.carries or loop.start.op != "const" or any(
                not isinstance(s, For | Let | Store | Comment) or (isinstance(s, For) and s.carries) for s in walk(loop.body)):
            return None
        masks = [m for s in walk(loop.body) if isinstance(s, Store) for m in self._updates(s) or (None,)]
        if not masks or None in masks:
            return None
        inside = {s.var.id: isinstance(s, For) and from_zero(s) for s in walk(loop.body) if isinstance(s, For | Let)}
        firsts = {self._first(m, loop.var, inside) for m in masks if m is not None}
        found = min((f for f in firsts if f is not None), key=lambda f: f.start, default=None)
        if None in firsts or found is None or not alike(f for f in firsts if f is not None):
            return None
        return found.first_false(self.exprs)

    def _updates(self, store: Store) -> list[Expr] | None:
        """The conditions under which a store changes what is there; None if it is no such update."""
        found: list[Expr] = []
        value = store.value
        while value.op in ("add", "mul", "min", "max") and value.args[1].op == "select":
            chosen = value.args[1]
            if not _is_identity(value.op, chosen.args[2]):
                return None
            found.append(chosen.args[0])
            value = value.args[0]
        same = value.op == "load" and value.attr is store.buffer and value.args[0] is store.index
        return found if same and found else None

    def _first(self, cond: Expr, var: Expr, inside: dict[int, bool]) -> Mask | None:
        """A condition that is false from some iteration of a loop on, whatever the loops inside do. inside: which variables of
        these begin at 0."""
        bound = multiple(cond.args[1], self.sizes) if cond.op == "lt" else None
        if bound is None:
            return None
        left = unconverted(cond.args[0])
        if left.dtype != INT64:
            return None
        constant, terms = self.forms.split(left)
        step = dict(terms).get(var, 0)
        outside = [(t, f) for t, f in terms if t is not var and not (f > 0 and inside.get(t.id))]
        others = tuple(sorted(outside, key=lambda one: one[0].id))
        if step <= 0 or any(t.op != "var" or t.id in inside for t, _ in others):
            return None
        return Mask(*bound, step, constant, others)

    def _bound(self, cond: Expr, var: Expr) -> tuple[Expr, int] | None:
        """(n, factor), if a condition is var < n * factor for an argument n of the program."""
        if cond.op != "lt":
            return None
        left, n = cond.args
        return multiple(n, self.sizes) if unconverted(left) is var else None

    def _reads(self, loop: For, limits: dict[int, Rows]) -> None:
        """Notes what a loop needs. limits: those of the limited loops in it, by their variables' ids."""
        loops = [s for s in walk([loop]) if isinstance(s, For)]
        ranges = {s.var.id: int(s.stop.attr) for s in loops if from_zero(s)}
        inits = {e.id for s in loops for c in s.carries for e in nodes([c.init])}
        for e in nodes(_roots([loop])):
            if e.op != "load":
                continue
            need: Need = None
            for s in loops:
                if s.var.id in limits and e.id not in inits and self._within(s, e):
                    need = self.read(e.args[0], s.var, {k: v for k, v in ranges.items() if k != s.var.id}, limits[s.var.id])
                    if need is not None:
                        break
            self._need(e.attr, need)

    def read(self, index: Expr, var: Expr, ranges: dict[int, int], limit: Rows) -> Need:
        """The elements at an index for all values of a variable in front of a limit."""
        row = self.row(index, var, ranges)
        if row is not None:
            return Rows(limit.n, limit.size * row[0], (limit.less - row[1]) * row[0])
        size = self.from_end(index, var, ranges, limit) if limit.less == 0 else None
        return None if size is None else Rows(limit.n, limit.size * size)

    def from_end(self, index: Expr, var: Expr, ranges: dict[int, int], limit: Rows) -> int | None:
        """s, where an index is (n * factor - 1 - var) * s plus something from 0 to s - 1, for a limit n * factor; or 0 in the
        place of a negative number in parentheses, and at most the last row of a buffer."""
        start, terms = self.forms.split(index)
        others = [(t, f) for t, f in terms if not (t.id in ranges and f > 0)]
        rest = start + sum(f * (ranges[t.id] - 1) for t, f in terms if t.id in ranges and f > 0)
        if len(others) == 1 and start >= 0:
            (term, size), = others
            return size if self.mirrored(unclamped(term), var) == limit[:2] and rest < size else None
        size = -dict(others).get(var, 0)
        ends = [(multiple(t, self.sizes), f) for t, f in others if t is not var]
        if len(others) != 2 or size <= 0 or len(ends) != 1 or ends[0][0] is None:
            return None
        bound, scale = ends[0]
        assert bound is not None
        n, factor = bound
        same = n is limit.n and factor * scale == limit.size * size
        return size if same and start + size >= 0 and rest + size < size else None

    def mirrored(self, x: Expr, var: Expr) -> tuple[Expr, int] | None:
        """(n, factor) of n * factor - 1 - var."""
        constant, terms = self.forms.split(x)
        others = [(t, f) for t, f in terms if t is not var]
        if constant != -1 or dict(terms).get(var) != -1 or len(others) != 1:
            return None
        bound = multiple(others[0][0], self.sizes)
        return None if bound is None else (bound[0], bound[1] * others[0][1])

    def _within(self, loop: For, load: Expr) -> bool:
        """Whether an element is read by the iterations of a loop: its index names the loop's variable."""
        return any(e is loop.var for e in nodes([load.args[0]]))

    # -- sorts
    def _sort(self, call: Call) -> None:
        """Limits a sort to the rows that are needed: rows that it sorts, or the first elements of what it sorts, where behind
        these is what no other element comes after."""
        count = int(call.symbol[-1])
        keys, outer, axis, inner = (constant(x) or 0 for x in call.args[:4])
        ins = [x[0] for x in call.args[4 + count:4 + 2 * count] if isinstance(x, tuple)]
        outs = [x[0] for x in call.args[-count:] if isinstance(x, tuple)]
        needs = [self._whole_need(b) for b in outs if b in self.fixed or b in self.needs]
        found, limit = needs[0] if needs and all(n == needs[0] for n in needs) else None, None
        if found is not None and outer == 1 and found.size == inner:
            limit = (2, 1) if all(self.last.get(b) == found for b in ins[:keys]) else None
        elif found is not None and outer > 1 and found.size % (axis * inner or 1) == 0:
            limit = 1, found.size // (axis * inner or 1)
        if found is not None and limit is not None:
            call.limits = (*call.limits, (limit[0], self._times(found.n, limit[1])))
        for buffer in ins:
            self._need(buffer, found if limit is not None else None)

    # -- running sums
    def _prefix(self, call: Call) -> None:
        """Limits running sums to the rows that are needed, or to the elements in one row of which the first are."""
        kind, _, backwards, rows, length = (constant(x) or 0 for x in call.args[:5])
        source, result = call.args[5][0], call.args[-1][0]   # type: ignore[index]
        need, limit = self._whole_need(result), None
        if need is not None and result.dtype.kind != "c":
            if rows == 1 and need.size == 1:
                limit = (4, 1) if not backwards or (kind == 0 and self.zeros.get(source) == need) else None
            elif length and need.size % length == 0 and rows > 1:
                limit = 3, need.size // length
        if need is not None and limit is not None:
            call.limits = (*call.limits, (limit[0], self._times(need.n, limit[1])))
        self._need(source, need if limit is not None else None)

    # -- products of matrices
    def _product(self, call: Call) -> None:
        (_a, _), (_b, _), (c, _) = pointers(call)
        sizes = plain_product(call)
        found: dict[Buffer, Need] = {}
        if sizes is not None:
            found = self._rows_of_product(call, sizes, self._whole_need(c))
        for buffer, _ in pointers(call)[:2]:
            self._need(buffer, found.get(buffer))
        if constant(call.args[14]) != 0:
            self._need(c, None)

    def _rows_of_product(self, call: Call, sizes: Product, need: Need) -> dict[Buffer, Need]:
        """Limits a product to the rows that are needed, or to the terms that are not zero; what it then needs."""
        (a, _), (b, _), _ = pointers(call)
        found: dict[Buffer, Need] = {}
        if need is not None and need.size % sizes.n == 0 and a is not b:
            rows = need.size // sizes.n
            call.limits = (*call.limits, (2, self._times(need.n, rows)))
            if sizes.a_column * (sizes.k - 1) < sizes.a_row:
                found[a] = Rows(need.n, rows * sizes.a_row)
        tail = self.zeros.get(a)
        if tail is not None and tail.size == sizes.a_column and self.zeros.get(b) == Rows(tail.n, sizes.b_row):
            if sizes.a_row * (sizes.m - 1) < sizes.a_column and sizes.b_column * (sizes.n - 1) < sizes.b_row:
                call.limits = (*call.limits, (4, self._times(tail.n, 1)))
                return {self._original(call, 5): tail, self._original(call, 9): Rows(tail.n, sizes.b_row)}
        return found

    def _original(self, call: Call, place: int) -> Buffer:
        """The operand of a product of first rows: where it is a copy but for zeros behind these, the original."""
        buffer, at = call.args[place]  # type: ignore[misc]
        original = self.copies.get(buffer)
        if original is None:
            return buffer
        call.args[place] = original, at
        call.reads = tuple(original if b is buffer else b for b in call.reads)
        return original

    def _tails(self, held: Callable[[Expr], bool]) -> dict[Buffer, Rows]:
        """Buffers whose elements behind the first rows are a constant such as is asked for: one loop writes them, by
        selections."""
        writers: dict[Buffer, list[Stmt]] = {}
        for stmt in self.function.body:
            for buffer in written([stmt]):
                writers.setdefault(buffer, []).append(stmt)
        places = {id(stmt): k for k, stmt in enumerate(self.function.body)}
        of_loops: dict[int, list[Buffer]] = {}
        for buffer, (first, *others) in writers.items():
            once = not others and buffer.kind == "temp" and buffer not in self.fixed
            if once and isinstance(first, For) and from_zero(first):
                of_loops.setdefault(places[id(first)], []).append(buffer)
        found: dict[Buffer, Rows] = {}
        for place, buffers in of_loops.items():
            loop = self.function.body[place]
            assert isinstance(loop, For)
            for buffer, rows in self._tails_of(loop, buffers, held).items():
                found[buffer] = rows
                original = _copied(loop, buffer) if held is _is_zero else None
                if original is not None and all(places[id(s)] < place for s in writers.get(original, ())):
                    self.copies[buffer] = original
        return found

    def _tails_of(self, loop: For, buffers: Sequence[Buffer], held: Callable[[Expr], bool]) -> dict[Buffer, Rows]:
        """(n, size) of the buffers to all of whose elements from number n * size on a loop writes such a constant."""
        ranges = _ranges(loop)
        kinds: dict[Buffer, set[Any]] = {b: set() for b in buffers}
        for s in walk(loop.body):
            for buffer in writes(s):
                if buffer in kinds:
                    kinds[buffer].add(self._tail(s, loop, ranges, held))
        found = {}
        for buffer, of_buffer in kinds.items():
            tail = of_buffer.pop() if len(of_buffer) == 1 else None
            if tail is not None and int(loop.stop.attr) * tail[1] == buffer.size:
                (rows, size), step = tail
                found[buffer] = Rows(rows, size * step)
        return found

    def _tail(self, stmt: Stmt, loop: For, ranges: dict[int, int], held: Callable[[Expr], bool]) -> Any:
        """(bound, step) of a store of such a constant behind a bound, `step` elements per iteration; None for other writes."""
        if not isinstance(stmt, Store) or stmt.value.op != "select" or not held(stmt.value.args[2]):
            return None
        bound, step = self._bound(stmt.value.args[0], loop.var), self.step(stmt.index, loop.var, ranges)
        return None if bound is None or step is None else (bound, step)


def _copied(loop: For, buffer: Buffer) -> Buffer | None:
    """The buffer whose elements a loop of selections stores at the same places."""
    values = [s.value.args[1] for s in walk(loop.body) if isinstance(s, Store) and s.buffer is buffer]
    places = [s.index for s in walk(loop.body) if isinstance(s, Store) and s.buffer is buffer]
    found = {v.attr if v.op == "load" and len(v.args) == 1 and v.args[0] is at else None
             for v, at in zip(values, places, strict=True)}
    original = found.pop() if len(found) == 1 else None
    same = original is not None and original.size == buffer.size and original.dtype == buffer.dtype
    return original if same and len(written([loop])) == 1 else None


def _continued(carry: Carry, body: Sequence[Stmt]) -> tuple[For, Carry] | None:
    """The loop of a block that starts with what a carry is, and ends with what it becomes; and its carry."""
    for loop in body:
        if isinstance(loop, For):
            for c in loop.carries:
                if c.init is carry.var and c.out is carry.next:
                    return loop, c
    return None


def _ranges(loop: For) -> dict[int, int]:
    """Where the variables of the loops inside of one end, by their ids."""
    return {s.var.id: int(s.stop.attr) for s in walk(loop.body) if isinstance(s, For) and from_zero(s)}


def _is_zero(x: Expr) -> bool:
    return x.op == "const" and not x.attr.tobytes().strip(b"\0")


def _is_last(x: Expr) -> bool:
    """Whether no element comes after a constant in sorted order."""
    return x.op == "const" and bool(x.attr != x.attr or x.attr == identity("min", x.dtype) != np.inf)


def _is_identity(kind: str, x: Expr) -> bool:
    return x.op == "const" and (x.attr == identity(kind, x.dtype) or (kind == "add" and x.attr == 0))


def _find(function: Function, context: Context) -> None:
    find(function)


FIND = Pass("limits", "notes iterations over padding, which nobody needs", _find, ("math", "serial", "unplaced"))
