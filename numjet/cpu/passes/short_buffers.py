"""Short buffers: inputs of which a program for many sizes reads the first elements only, and outputs that it writes so.

Such arguments are read where they are, without a copy at the front of an array of the capacity, and such results have memory
for their elements only.
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from numjet.cpu.ir.nodes import Buffer, Call, Expr, For, Function, Stmt, Store
from numjet.cpu.ir.traversal import blocks, bulk_reads, nodes, operands, walk, writes
from numjet.cpu.kernels.products import GEMM, THEN
from numjet.cpu.passes.limits import (
    SORTS,
    Limits,
    Need,
    Rows,
    constant,
    from_zero,
    multiple,
    plain_product,
    pointers,
    size_inputs,
)


class Short(NamedTuple):
    """What a finished function reads of its inputs, and writes of its outputs, if that is the first n * size elements only:
    position -> (position of the input n, size)."""

    inputs: dict[int, tuple[int, int]]
    outputs: dict[int, tuple[int, int]]


def short(function: Function) -> Short:
    """The inputs and outputs of which a function touches the first elements only."""
    sizes = size_inputs(function)
    if not sizes or not any(e.op == "load" and e.attr in sizes for e in nodes(_bounds(function.body))):
        return Short({}, {})
    look = _Accesses(function)
    look.block(function.body, [])
    places = {buffer: k for k, buffer in enumerate(function.inputs)}

    def of(buffers: Sequence[Buffer]) -> dict[int, tuple[int, int]]:
        needs = ((k, look.found.get(b)) for k, b in enumerate(buffers))
        return {k: (places[need.n.attr], need.size) for k, need in needs if need is not None and need.n.attr in places}
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

    def block(self, block: Sequence[Stmt], loops: list[For]) -> None:
        """Notes all accesses. loops: those around."""
        for stmt in block:
            around = [*loops, stmt] if isinstance(stmt, For) else loops
            for e in nodes(operands(stmt)):
                if e.op == "load" and e.attr in self.buffers:
                    self._note(e.attr, self._load(e, around))
            if isinstance(stmt, Store) and stmt.buffer in self.buffers:
                self._note(stmt.buffer, self._place(stmt.index, around))
            bulk = () if isinstance(stmt, Store) else writes(stmt)
            for buffer in (*bulk_reads(stmt), *bulk):
                if buffer in self.buffers:
                    self._note(buffer, self._operand(stmt, buffer))
            for inner in blocks(stmt):
                self.block(inner, around)

    def _note(self, buffer: Buffer, need: Need) -> None:
        old = self.found.get(buffer, need)
        same = old is not None and need is not None and old.n is need.n
        self.found[buffer] = Rows(need.n, max(old.size, need.size)) if same and old is not None and need is not None else None

    def _load(self, load: Expr, loops: Sequence[For]) -> Need:
        if load in self.within:
            return Rows(*self.within[load])
        index = load.args[0]
        if index.op == "min" and index.args[1].op == "sub" and constant(index.args[1].args[1]) == 1:  # at most the last one
            bound = multiple(index.args[1].args[0], self.limits.sizes)
            if bound is not None:
                return Rows(*bound)
        return self._place(index, loops)

    def _place(self, index: Expr, loops: Sequence[For]) -> Need:
        ranges = {s.var.id: int(s.stop.attr) for s in loops if from_zero(s)}
        for loop in loops:
            bound = self._bounded(loop.stop)
            step = None if bound is None else self.limits.step(index, loop.var, ranges)
            if bound is not None and step is not None:
                return Rows(bound[0], bound[1] * step)
        return None

    def _bounded(self, x: Expr) -> tuple[Expr, int] | None:
        """(n, factor), if a number is at most n * factor: the minimum of that and others."""
        if x.op == "max" and constant(x.args[1]) == 0:
            return self._bounded(x.args[0])
        if x.op == "min":
            return self._bounded(x.args[0]) or self._bounded(x.args[1])
        return multiple(x, self.limits.sizes)

    def _operand(self, stmt: Stmt, buffer: Buffer) -> Need:
        """The rows that a product or a sort reads of an operand, or writes."""
        if isinstance(stmt, Call) and stmt.symbol in SORTS:
            return self._operand_of_sort(stmt)
        if not isinstance(stmt, Call) or stmt.symbol not in (GEMM, THEN):
            return None
        (a, _), (b, _), (c, _) = pointers(stmt)
        sizes = plain_product(stmt)
        if sizes is None or len({a, b, c}) < 3:
            return None
        rows, terms = (self._bounded(x) if isinstance(x, Expr) else None for x in (stmt.args[2], stmt.args[4]))
        if buffer is c:
            return Rows(rows[0], rows[1] * sizes.n) if rows else None
        if buffer is b:
            return Rows(terms[0], terms[1] * sizes.b_row) if terms and sizes.b_column * (sizes.n - 1) < sizes.b_row else None
        if terms and sizes.a_row * (sizes.m - 1) < sizes.a_column:
            return Rows(terms[0], terms[1] * sizes.a_column)
        return Rows(rows[0], rows[1] * sizes.a_row) if rows and sizes.a_column * (sizes.k - 1) < sizes.a_row else None


    def _operand_of_sort(self, call: Call) -> Need:
        """As _operand: all operands of a sort have one shape."""
        outer, axis, inner = call.args[1:4]
        rows, elements = (self._bounded(x) if isinstance(x, Expr) else None for x in (outer, axis))
        if rows is not None and constant(axis) is not None:
            return Rows(rows[0], rows[1] * (constant(axis) or 0) * (constant(inner) or 0))
        return Rows(elements[0], elements[1] * (constant(inner) or 0)) if elements and constant(outer) == 1 else None
