"""The emitter of one function: the hub through which its parts reach each other.

    FunctionEmitter
      writer       names, instructions, basic blocks, scopes            (writer, scopes; module for what functions share)
      context      the loops around, ranges of indices                  (loop_context)
      addresses    pointers                                             (addresses)
      value        expressions, which load                              (expressions, operations, conversions, loads)
      block        statements: stores, loops, branches, calls           (statements, stores, loops, parallel, gemm_epilogues)

Expressions know nothing of statements. Statements consist of blocks, so their parts get this hub and call `block` of it.
Addresses and loads need the values of expressions, which contain loads: `evaluate` and `block` are plain functions that the
objects are given, so that neither modules nor objects refer to each other in cycles.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from numjet.cpu.codegen.expressions import evaluate
from numjet.cpu.codegen.memory.addresses import Addresses
from numjet.cpu.codegen.module import ModuleWriter
from numjet.cpu.codegen.statements.outlining import Structure
from numjet.cpu.codegen.statements.segments import Segment
from numjet.cpu.codegen.writer import FunctionWriter
from numjet.cpu.ir.nodes import Buffer, Stmt


class Apart(NamedTuple):
    """What gets functions of its own: loops that occur repeatedly, by their identity, and segments, by that of their first
    statement."""

    repeated: dict[int, Structure]
    segments: dict[int, Segment]


NOTHING = Apart({}, {})


class FunctionEmitter:
    """Writes one function of a module.

    mutable: the buffers that it may write; block: writes the statements of a block with an emitter;
    in_parallel: threads already share the work around; apart: what gets functions of its own; whole: the first statement of
    those that this function is made of, if it is such a one.
    """

    def __init__(self, module: ModuleWriter, mutable: set[Buffer], block: Callable[[FunctionEmitter, list[Stmt]], None],
                 in_parallel: bool = False, apart: Apart = NOTHING, whole: Stmt | None = None):
        self.module, self.in_parallel, self.apart, self.whole = module, in_parallel, apart, whole
        self._block = block
        self.writer = FunctionWriter(module, mutable)
        self.addresses = Addresses(self.writer, evaluate)
        self.context, self.value = self.addresses.context, self.addresses.value

    def block(self, stmts: list[Stmt]) -> None:
        """Writes the statements of a block."""
        self._block(self, stmts)

    def nested(self, mutable: set[Buffer], in_parallel: bool = False, whole: Stmt | None = None) -> FunctionEmitter:
        """The emitter of another function of the module, which a statement of this one calls."""
        return FunctionEmitter(self.module, mutable, self._block, in_parallel or self.in_parallel, self.apart, whole)
