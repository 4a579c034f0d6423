"""Loops and branches of programs that are checked for invalid values (see `cpu/lowering/nan_checks.py`); of others, nothing."""
from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext

from numjet.cpu.ir.nodes import INT64, Carry
from numjet.cpu.lowering.arrays.values import LoweredArray
from numjet.cpu.lowering.function_builder import FunctionBuilder
from numjet.cpu.lowering.index import Scalar
from numjet.cpu.lowering.nan_checks import NanRecorder


class CheckedLoop:
    """The checks of one loop. counter: the number of the iteration, for a loop that has none of its own."""

    def __init__(self, nans: NanRecorder | None, ir: FunctionBuilder, length: int | None, reverse: bool):
        self.nans, self.ir = nans, ir
        self.counter: Scalar | None = None
        if nans is not None:
            self.scope = nans.new_scope("loop", length, reverse)
            self.number = self.counter = Scalar(ir.terms, ir.table.var(INT64, "iteration"))

    def body(self, number: Scalar | None) -> AbstractContextManager[None]:
        """While the body is lowered."""
        if self.nans is None or number is None:
            return nullcontext()
        self.number = number
        return self.nans.inside(self.scope, number)

    def carried(self, state: Sequence[LoweredArray], init: Sequence[LoweredArray]) -> list[LoweredArray]:
        """The state at the beginning of an iteration."""
        if self.nans is None:
            return list(state)
        return [self.nans.carried(self.scope, x, i) for x, i in zip(state, init, strict=True)]

    def rows(self, slices: Sequence[LoweredArray], xs: Sequence[LoweredArray]) -> list[LoweredArray]:
        """The rows that an iteration reads."""
        if self.nans is None:
            return list(slices)
        return [self.nans.row(self.scope, row, x) for row, x in zip(slices, xs, strict=True)]

    def end(self, carried: Sequence[LoweredArray], stacked: Sequence[LoweredArray] = ()) -> None:
        """The end of an iteration, with its results."""
        if self.nans is not None:
            self.nans.end_iteration(self.scope, self.number, carried, stacked)

    def count(self) -> list[Carry]:
        """What counts the iterations."""
        if self.nans is None or self.counter is None:
            return []
        table = self.ir.table
        after = self.ir.terms.index(self.counter) + 1
        return [Carry(self.counter.expr, table.index(0), after.expr, table.var(INT64, "iterations"))]


class CheckedBranch:
    """The checks of one branch."""

    def __init__(self, nans: NanRecorder | None):
        self.nans = nans
        if nans is not None:
            self.scope = nans.new_scope("branch")

    def body(self) -> AbstractContextManager[None]:
        """While the branch is lowered."""
        return nullcontext() if self.nans is None else self.nans.inside(self.scope)

    def operands(self, aliases: Sequence[LoweredArray], given: Sequence[LoweredArray]) -> list[LoweredArray]:
        """The operands in the branch, whose elements come from where they came from before."""
        if self.nans is not None:
            for x, g in zip(aliases, given, strict=True):
                self.nans.set_origin(x, self.nans.origin(g))
        return list(aliases)

    def end(self, results: Sequence[LoweredArray]) -> None:
        """The end of the branch."""
        if self.nans is not None:
            self.nans.end_branch(self.scope, results)
