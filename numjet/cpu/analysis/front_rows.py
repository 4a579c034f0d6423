"""Rows in front: multiples of a run-time size in loop IR, and what of products of matrices is known.

For the passes about iteration limits (`limits.py`, `limited_loops.py`, `short_buffers.py`).
"""
from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from numjet.cpu.ir.nodes import INT64, Buffer, Call, Expr, Exprs, For, Function
from numjet.cpu.ir.traversal import upper_bound, written
from numjet.cpu.kernels.products import CODES, POINTERS


class Rows(NamedTuple):
    """The elements of a buffer, or iterations of a loop, in front of number n * size - less."""

    n: Expr
    size: int
    less: int = 0


Need = Rows | None  # None: all elements


class Mask(NamedTuple):
    """The condition start + step * i + others < n * factor, in a loop over i that knows the others."""

    n: Expr
    factor: int
    step: int
    start: int
    others: tuple[tuple[Expr, int], ...]

    def first_false(self, exprs: Exprs) -> Expr:
        """The first iteration in which it does not hold."""
        left = exprs.prim("sub", times(exprs, self.n, self.factor), exprs.index(self.start - self.step + 1))
        for term, factor in self.others:
            left = exprs.prim("sub", left, exprs.prim("mul", term, exprs.index(factor)))
        return exprs.prim("div", left, exprs.index(self.step))


def alike(masks: Iterable[Mask]) -> bool:
    """Whether masks differ in their starts only."""
    return len({m._replace(start=0) for m in masks}) <= 1


def both(a: Rows, b: Rows) -> Rows:
    """At least what each of two is, of one n."""
    return Rows(a.n, max(a.size, b.size), min(a.less, b.less))


def unclamped(x: Expr) -> Expr:
    """A number that is moved into the bounds of an index, as it was."""
    if x.op in ("min", "max") and x.args[1].op == "const":
        return unclamped(x.args[0])
    return x


def size_inputs(function: Function) -> set[Buffer]:
    """The inputs that may say how many rows count: single integers that nobody writes."""
    found = {b for b in function.inputs if b.size == 1 and b.dtype.kind == "i"}
    return found - written(function.body) if found else found


def multiple(x: Expr, sizes: set[Buffer]) -> tuple[Expr, int] | None:
    """(n, factor) of a multiple of a size."""
    factor = 1
    if x.op == "mul" and x.args[1].op == "const":
        x, factor = x.args[0], int(x.args[1].attr)
    if x.op == "convert":
        x = x.args[0]
    known = x.op == "load" and x.attr in sizes and x.args[0].op == "const"
    return (x, factor) if known and factor > 0 else None


def times(exprs: Exprs, n: Expr, factor: int) -> Expr:
    """n * factor as an index."""
    return exprs.prim("mul", exprs.convert(n, INT64), exprs.index(factor))


def unconverted(x: Expr) -> Expr:
    """An integer before conversions to other integers."""
    while x.op == "convert" and x.args[0].dtype.kind == "i":
        x = x.args[0]
    return x


def from_zero(loop: For) -> bool:
    return loop.start.op == "const" and loop.stop.op == "const" and int(loop.start.attr) == 0


def constant(x: object) -> int | None:
    return int(x.attr) if isinstance(x, Expr) and x.op == "const" else None


class Product(NamedTuple):
    """The sizes and strides of one product of real matrices; sizes that vary are the most that they can be."""

    m: int
    n: int
    k: int
    a_row: int
    a_column: int
    b_row: int
    b_column: int


def pointers(call: Call) -> list[tuple[Buffer, Expr]]:
    """The operands of a product and its result."""
    return [x for x in (call.args[place] for place in POINTERS) if isinstance(x, tuple)]


def plain_product(call: Call) -> Product | None:
    """What is known of a single product of whole real matrices; None for other products."""
    code, batch, add = (constant(call.args[k]) for k in (0, 1, 14))
    sizes = [upper_bound(call.args[k]) for k in (2, 3, 4)]
    strides = [constant(call.args[k]) for k in (7, 8, 11, 12)]
    starts = [constant(at) for _, at in pointers(call)]
    known = [x for x in (*sizes, *strides) if x is not None]
    if batch != 1 or add != 0 or code is None or code >= CODES["complex64"] or any(at != 0 for at in starts):
        return None
    return Product(*known) if len(known) == len(sizes) + len(strides) else None
