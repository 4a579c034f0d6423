"""Short buffers: inputs of which a program for many sizes reads the first elements only, and outputs that it writes so.

Such arguments are read where they are, without a copy at the front of an array of the capacity, and such results have memory
for their elements only.
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from numjet.cpu.analysis.front_rows import Need, Rows, both, constant, multiple, plain_product, pointers, size_inputs
from numjet.cpu.analysis.ranges import Ranges
from numjet.cpu.ir.nodes import INT64, Buffer, Call, Expr, For, Function, Let, Stmt, Store
from numjet.cpu.ir.traversal import blocks, bulk_reads, nodes, operands, walk, writes
from numjet.cpu.kernels.products import GEMM, THEN
from numjet.cpu.passes.limits import PREFIXES, SORTS, Limits


class Short(NamedTuple):
    """What a finished function reads of its inputs, and writes of its outputs, if that is the first n * size - less elements
    only: position -> (position of the input n, size, less). n is not 0."""

    inputs: dict[int, tuple[int, int, int]]
    outputs: dict[int, tuple[int, int, int]]


def short(function: Function) -> Short:
    """The inputs and outputs of which a function touches the first elements only."""
    sizes = size_inputs(function)
    if not sizes or not any(e.op == "load" and e.attr in sizes for e in nodes(_bounds(function.body))):
        return Short({}, {})
    look = _Accesses(function)
    look.block(function.body, [])
    places = {buffer: k for k, buffer in enumerate(function.inputs)}

    def of(buffers: Sequence[Buffer]) -> dict[int, tuple[int, int, int]]:
        needs = ((k, look.of(b)) for k, b in enumerate(buffers))
        return {k: (places[need.n.attr], need.size, need.less) for k, need in needs
                if need is not None and need.n.attr in places}
    return Short(of(function.inputs), of(function.outputs))


def _bounds(block: Sequence[Stmt]) -> list[Expr]:
    """Where loops end, and the operands of calls."""
    found: list[Expr] = []
    for stmt in walk(block):
        if isinstance(stmt, For):
            found.append(stmt.stop)
        elif isinstance(stmt, Call):
            found += operands(stmt)
    return found


class _Accesses:
    """What a function whose limits are in its bounds reads of its inputs, and writes of its outputs."""

    def __init__(self, function: Function):
        self.buffers = {b for b in (*function.inputs, *function.outputs) if b.size > 1}
        self.limits, self.within = Limits(function), function.within
        self.found: dict[Buffer, Need] = {}
        self.single: dict[Buffer, int] = {}   # the last of elements that are touched by number
        self.intervals = Ranges()

    def of(self, buffer: Buffer) -> Need:
        """What is touched of a buffer, if there is an element."""
        need = self.found.get(buffer)
        return need if need is None or need.size - need.less > self.single.get(buffer, -1) else None

    def block(self, block: Sequence[Stmt], loops: list[For]) -> None:
        """Notes all accesses. loops: those around."""
        for stmt in block:
            around = [*loops, stmt] if isinstance(stmt, For) else loops
            self._bind(stmt)
            for e in nodes(operands(stmt)):
                if e.op == "load" and e.attr in self.buffers:
                    self._access(e.attr, e.args[0], around, self.within.get(e))
            if isinstance(stmt, Store) and stmt.buffer in self.buffers:
                self._access(stmt.buffer, stmt.index, around)
            bulk = () if isinstance(stmt, Store) else writes(stmt)
            for buffer in (*bulk_reads(stmt), *bulk):
                if buffer in self.buffers:
                    self._note(buffer, self._operand(stmt, buffer))
            for inner in blocks(stmt):
                self.block(inner, around)

    def _bind(self, stmt: Stmt) -> None:
        """Notes between what a variable is."""
        if isinstance(stmt, Let) and stmt.var.dtype == INT64:
            self.intervals.bind(stmt.var, *self.intervals.of(stmt.value))
        elif isinstance(stmt, For):
            low, high = self.intervals.of(stmt.start)[0], self.intervals.of(stmt.stop)[1] - 1
            self.intervals.bind(stmt.var, low, max(low, high))

    def _access(self, buffer: Buffer, index: Expr, loops: Sequence[For], known: tuple[Expr, int] | None = None) -> None:
        if index.op == "const":
            self.single[buffer] = max(int(index.attr), self.single.get(buffer, -1))
        else:
            self._note(buffer, Rows(*known) if known is not None else self._place(index, loops))

    def _note(self, buffer: Buffer, need: Need) -> None:
        old = self.found.get(buffer, need)
        self.found[buffer] = both(old, need) if old is not None and need is not None and old.n is need.n else None

    def _place(self, index: Expr, loops: Sequence[For]) -> Need:
        """What an index is in front of."""
        known = {s.var.id: self.intervals.of(s.var) for s in loops}
        ranges = {k: high + 1 for k, (low, high) in known.items() if low >= 0 and high < 2 ** 40}
        last = self._clamped(index, ranges)
        if last is not None:
            return last
        for loop in loops:
            limit = self._bounded(loop.stop)
            others = {k: v for k, v in ranges.items() if k != loop.var.id}
            need = None if limit is None else self.limits.read(index, loop.var, others, limit)
            if need is not None:
                return need
        return None

    def _clamped(self, index: Expr, ranges: dict[int, int]) -> Need:
        """Of an index min(..., n * factor - 1) * size plus something below size: the rows in front of n * factor."""
        constant_, terms = self.limits.forms.split(index)
        rest, found = constant_, None
        for term, factor in terms:
            if term.id in ranges and factor > 0:
                rest += factor * (ranges[term.id] - 1)
            elif found is None and factor > 0 and term.op == "min":
                found = term.args[1], factor
            else:
                return None
        if found is None or constant_ < 0 or rest >= found[1]:
            return None
        end, size = found
        bound = multiple(end.args[0], self.limits.sizes) if end.op == "sub" and constant(end.args[1]) == 1 else None
        return None if bound is None else Rows(bound[0], bound[1] * size)

    def _bounded(self, x: Expr) -> Need:
        """What a number is at most, if that is a multiple of n less a constant: the minimum of that and others."""
        if x.op == "max" and constant(x.args[1]) == 0:
            return self._bounded(x.args[0])
        if x.op == "min":
            return self._bounded(x.args[0]) or self._bounded(x.args[1])
        less = 0
        if x.op == "sub" and constant(x.args[1]) is not None:
            x, less = x.args[0], constant(x.args[1]) or 0
        bound = multiple(x, self.limits.sizes)
        return None if bound is None else Rows(*bound, less)

    def _whole(self, x: object) -> tuple[Expr, int] | None:
        """As _bounded, of a size among the arguments of a call: (n, factor)."""
        found = self._bounded(x) if isinstance(x, Expr) else None
        return None if found is None or found.less < 0 else (found.n, found.size)

    def _operand(self, stmt: Stmt, buffer: Buffer) -> Need:
        """The rows that a product or a sort reads of an operand, or writes."""
        if isinstance(stmt, Call) and stmt.symbol in SORTS:
            return self._operand_of_sort(stmt)
        if isinstance(stmt, Call) and stmt.symbol in PREFIXES:
            return self._operand_of_prefix(stmt)
        if not isinstance(stmt, Call) or stmt.symbol not in (GEMM, THEN):
            return None
        (a, _), (b, _), (c, _) = pointers(stmt)
        sizes = plain_product(stmt)
        if sizes is None or c in (a, b):
            return None
        rows, terms = self._whole(stmt.args[2]), self._whole(stmt.args[4])
        if buffer is c:
            return Rows(rows[0], rows[1] * sizes.n) if rows else None
        if a is b and not (terms and sizes.a_column == sizes.b_row):
            return None
        if buffer is b:
            return Rows(terms[0], terms[1] * sizes.b_row) if terms and sizes.b_column * (sizes.n - 1) < sizes.b_row else None
        if terms and sizes.a_row * (sizes.m - 1) < sizes.a_column:
            return Rows(terms[0], terms[1] * sizes.a_column)
        return Rows(rows[0], rows[1] * sizes.a_row) if rows and sizes.a_column * (sizes.k - 1) < sizes.a_row else None

    def _operand_of_sort(self, call: Call) -> Need:
        """As _operand: all operands of a sort have one shape."""
        outer, axis, inner = call.args[1:4]
        rows, elements = self._whole(outer), self._whole(axis)
        if rows is not None and constant(axis) is not None:
            return Rows(rows[0], rows[1] * (constant(axis) or 0) * (constant(inner) or 0))
        return Rows(elements[0], elements[1] * (constant(inner) or 0)) if elements and constant(outer) == 1 else None

    def _operand_of_prefix(self, call: Call) -> Need:
        """As _operand, of running sums."""
        rows, length = self._whole(call.args[3]), self._whole(call.args[4])
        if rows is not None and constant(call.args[4]) is not None:
            return Rows(rows[0], rows[1] * (constant(call.args[4]) or 0))
        return Rows(*length) if length is not None and constant(call.args[3]) == 1 else None
