"""Insertion points: the function under construction, its open blocks, and the conditions under which code runs.

All parts of lowering write through one `FunctionBuilder`, as through the IR builder of any compiler: statements go to the
innermost open block.
"""
from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from numjet.cpu.ir.nodes import INT64, Carry, Comment, Exprs, For, Function, Let, Stmt
from numjet.cpu.lowering.arrays.allocation import Allocation, MemoryAllocation
from numjet.cpu.lowering.arrays.read_checks import ReadChecker
from numjet.cpu.lowering.arrays.values import LoweredArray, Pair
from numjet.cpu.lowering.index import Index, IndexTerms, Scalar
from numjet.cpu.remarks import Recorder
from numjet.foundation.config import config

# Operations that rules of one program may write out. Each takes the compiler some 90 us, and a call of a kernel instead a
# tenth of a microsecond for a hundred of them: outside of loops that pays after very many calls only.
_MOST_WRITTEN_OUT, _MOST_IN_LOOPS = 1 << 12, 1 << 14
_OFTEN = 1 << 14   # what runs so often in one go is worth its code


class FunctionBuilder:
    """One function under construction.

    blocks: the open blocks, outermost first. guards: the conditions of `if_` and `when` around the expression that is being
    made. open_registers: arrays in registers that are being updated. spills: how many arrays have moved from registers to
    memory. written_out: operations that rules wrote out. memory: the allocation outside of lanes; allocation: the one in force.
    """

    STATE = ("blocks", "guards", "open_registers", "spills", "allocation")

    def __init__(self, name: str, recorder: Recorder | None = None):
        self.recorder = recorder
        self.checker = ReadChecker() if config.enable_checks else None
        self.function = Function(name, [], [], Exprs())
        self.table = self.function.exprs
        self.terms = IndexTerms(self.table)
        self.blocks: list[list[Stmt]] = [self.function.body]
        self.guards: list[Scalar] = []
        self.open_registers: list[LoweredArray] = []
        self.spills = 0
        self.written_out = 0
        self.memory = MemoryAllocation(self.function, self.terms, self.blocks, recorder)
        self.allocation: Allocation = self.memory

    # ------------------------------------------------------------------------------------------ blocks and statements
    @property
    def block(self) -> list[Stmt]:
        """The innermost open block."""
        return self.blocks[-1]

    @property
    def in_loop(self) -> bool:
        """Whether the code runs in a loop or branch, and not just once."""
        return len(self.blocks) > 1

    def may_write_out(self, operations: int, times: int) -> bool:
        """Whether so many scalar operations are written out, which then run `times` in one go."""
        if times >= _OFTEN:
            return True
        if self.written_out + operations > (_MOST_IN_LOOPS if self.in_loop else _MOST_WRITTEN_OUT):
            return False
        self.written_out += operations
        return True

    @property
    def small(self) -> int:
        """Elements of an array up to which it is kept in registers here."""
        return self.allocation.small

    def emit(self, stmt: Stmt) -> None:
        self.blocks[-1].append(stmt)

    @contextmanager
    def inside(self, block: list[Stmt]) -> Iterator[list[Stmt]]:
        """Statements go to `block`. Arrays in registers that are made there stop being writable at its end."""
        self.blocks.append(block)
        try:
            yield block
        finally:
            self.blocks.pop()
            self.open_registers = [x for x in self.open_registers if x.registers is None or x.registers.block is not block]

    @contextmanager
    def guarded(self, cond: Scalar) -> Iterator[None]:
        """Loads of expressions made inside only touch memory where the condition holds."""
        self.guards.append(cond)
        try:
            yield
        finally:
            self.guards.pop()

    @contextmanager
    def loop(self, n: Any, mode: str, carries: list[Carry] | None = None, start: Any = 0) -> Iterator[Index]:
        """A For statement around the statements emitted inside."""
        self.allocation.require_memory()
        var = self.table.var(INT64, "i")
        hi = n - 1 if isinstance(n, int) else (1 << 40)
        block: list[Stmt] = []
        with self.inside(block):
            yield self.terms.variable(var, (0, max(hi, 0)))
        if self.recorder is not None:
            self.recorder.loop(var, n)
        stop = self.table.index(n) if isinstance(n, int) else self.terms.index(n).expr
        self.emit(For(var, self.terms.index(start).expr, stop, block, carries or [], mode))

    def comment(self, text: str, file: str | None = None, line: int = 0) -> None:
        self.emit(Comment(text, file, line))

    def let(self, x: Any) -> Any:
        """The same scalar, evaluated here and once."""
        if isinstance(x, Pair):
            return Pair(self.let(x.parts[0]), self.let(x.parts[1]), x.dtype)
        if x.expr.op in ("const", "var"):
            return x
        var = self.table.var(x.dtype)
        if x.dtype.kind in "iu":
            self.terms.same_bounds(var, x)
        self.emit(Let(var, x.expr))
        return Scalar(self.terms, var)

    # ------------------------------------------------------------------------------------------ registers being updated
    def finish_registers(self, opened: list[LoweredArray]) -> None:
        """Ends the updating of arrays in registers, except those that were open before the current equation."""
        kept = set(map(id, opened))
        for x in self.open_registers:
            if id(x) not in kept and x.registers is not None:
                x.registers.mutable = False
        self.open_registers = [x for x in self.open_registers if id(x) in kept]

