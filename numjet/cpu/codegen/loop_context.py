"""The loops around the current statement: ranges of their variables, the vector loop with its mask, unrolled loops."""
from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from numjet.cpu.analysis.affine import AffineForms
from numjet.cpu.analysis.neighbours import Neighbours
from numjet.cpu.analysis.ranges import Ranges
from numjet.cpu.codegen.scopes import Value
from numjet.cpu.codegen.types import wide
from numjet.cpu.codegen.writer import FunctionWriter
from numjet.cpu.ir.nodes import Buffer, Expr, Stmt
from numjet.foundation.record import Fields, default_factory


class VectorLoop(Fields):
    """A loop whose consecutive iterations are the lanes of vectors; `first` is the value of its variable in lane 0.

    body: its statements; bound: the values of variables that the iteration has bound so far, by their ids; stored: those of the
    elements that it has stored, by buffer and id of the index.
    """

    var: Expr
    first: Value
    lanes: int
    body: Sequence[Stmt] = ()
    bound: dict[int, Expr] = default_factory(dict)
    stored: dict[tuple[Buffer, int], Expr] = default_factory(dict)
    _neighbours: Neighbours | None = None

    def neighbours(self) -> Neighbours:
        """The elements that an iteration reads."""
        if self._neighbours is None:
            self._neighbours = Neighbours(self.body)
        return self._neighbours

    def origin(self, e: Expr) -> Expr | None:
        """The expression whose value a variable or an element of memory has, if the iteration has computed it."""
        if e.op == "var":
            return self.bound.get(e.id)
        return self.stored.get((e.attr, e.args[0].id)) if e.op == "load" else None


class UnrolledLoop(NamedTuple):
    """An unrolled loop inside of the vector loop: its variable, its iterations, and the depth of the scope around it."""

    var: Expr
    trips: int
    depth: int


class LoopContext:
    """What is known about indices at the current statement.

    vector: the vector loop around, if any; mask: its lanes that take part (None: all); varying: ids of the variables that
    differ from lane to lane; narrow: ids of carries that are kept in fewer lanes; unrolled: loops inside of it, from the
    outermost on.
    """

    def __init__(self, writer: FunctionWriter):
        self.writer = writer
        self.affine = AffineForms()
        self.ranges = Ranges()
        self.vector: VectorLoop | None = None
        self.mask: Value | None = None
        self.varying: set[int] = set()
        self.narrow: set[int] = set()
        self.unrolled: list[UnrolledLoop] = []

    @property
    def lanes(self) -> int:
        """The number of lanes of the current vector loop."""
        assert self.vector is not None
        return self.vector.lanes

    def invariant_terms(self, index: Expr) -> list[Expr]:
        """The terms of an index other than the variable of the vector loop."""
        lane = self.vector.var if self.vector else None
        return [term for term, _ in self.affine.split(index).terms if term is not lane]

    def follows_lanes(self, index: Expr) -> bool:
        """Whether the variable of the vector loop is a term of this index."""
        return self.vector is not None and any(term is self.vector.var for term, _ in self.affine.split(index).terms)

    def stride(self, index: Expr) -> int | None:
        """The distance between an index in one lane and in the next; None where it varies. All other terms are known."""
        if self.vector is None:
            return 0
        step = 0
        for term, coefficient in self.affine.split(index).terms:
            if term is self.vector.var:
                step = coefficient
            elif self.writer.known[term.id].lanes > 1:
                return None
        return step

    def iota(self, first: Value, step: int, name: str) -> str:
        """The vector first, first + step, ... of the integer type `name`, written into the scope `insertion`."""
        lanes, bits = self.lanes, int(name[1:])
        start = self.writer.splat(first, name, lanes)
        offsets = ((step * lane + 2**(bits - 1)) % 2**bits - 2**(bits - 1) for lane in range(lanes))
        return self.writer.put(f"add {wide(name, lanes)} {start}, <{', '.join(f'{name} {offset}' for offset in offsets)}>")

    def any_lane(self, cond: Value) -> str:
        """Whether the condition holds in some lane."""
        if cond.lanes == 1 or cond.literal:
            return cond.text
        bits = self.writer.put(f"bitcast <{cond.lanes} x i1> {cond.text} to i{cond.lanes}")
        return self.writer.put(f"icmp ne i{cond.lanes} {bits}, 0")

    def masked(self, guard: Value | None) -> Value | None:
        """The lanes that take part and for which a guard holds; None for all."""
        mask, w = self.mask, self.writer
        if guard is None:
            return mask
        lanes = self.lanes
        key = ("masked", guard.text, lanes, mask.text if mask else None)
        found = w.known.get(key)
        if found is not None:
            return found
        w.hoist(max(guard.depth, mask.depth if mask else 0))
        text = guard.text if guard.lanes == lanes else w.splat(guard, "i1", lanes)
        if mask is not None:
            text = w.put(f"and {wide('i1', lanes)} {text}, {mask.text}")
        return w.define(key, text, lanes, guard.reads)

    def in_memory_order(self, mask: Value | None, step: int) -> Value | None:
        """A mask for consecutive elements, which are in reverse order where `step` is negative."""
        if mask is None or step > 0:
            return mask
        scope = self.writer.hoist(mask.depth)
        return Value(self.writer.reverse(mask.text, "i1", mask.lanes), mask.lanes, scope.depth, mask.reads)
