"""Calls of segments: what follows in a long block is written as a function, and called.

    define internal i64 @f.part0(ptr %info, ptr %b.0, i64 %c.0, ptr %results)

A segment takes addresses and variables as other outlined functions do, and stores the variables that are read behind it as
results. Its status is 0, or that with which the function around has to leave.
"""
from __future__ import annotations

from numjet.cpu.codegen.function import FunctionEmitter
from numjet.cpu.codegen.statements.captures import Captures, function_text, listed
from numjet.cpu.codegen.statements.outlining import Structure
from numjet.cpu.codegen.statements.parallel import leave_with, may_stop
from numjet.cpu.codegen.statements.segments import Segment
from numjet.cpu.codegen.types import scalar_type
from numjet.cpu.codegen.writer import FunctionWriter
from numjet.cpu.ir.nodes import Buffer, Call, Check, Stmt
from numjet.cpu.ir.traversal import walk


def segment(emitter: FunctionEmitter, first: Stmt) -> int:
    """Writes a call of the segment that begins with a statement; of how many statements it consists, 0 where none begins."""
    found = emitter.apart.segments.get(id(first))
    if found is None or emitter.context.vector is not None or emitter.whole is first:
        return 0
    w, structure = emitter.writer, Structure(found.stmts)
    captures = Captures(emitter, structure.passed, structure.captured)
    key = structure.key, captures.key, tuple(structure.number(var) for var in found.results)
    name = emitter.module.outlined(key, lambda name: _function(emitter, name, found, captures, structure.writes))
    results = w.alloca("results", f"[{len(found.results)} x i64]") if found.results else "null"
    arguments = listed([*captures.arguments(), ("ptr", results)])
    w.here()
    status = w.put(f'call i64 @"{name}"({arguments})')
    if _may_leave(found.stmts):
        leave_with(emitter, status)
    w.values.invalidate(structure.writes)
    for k, var in enumerate(found.results):
        w.here()
        w.bind(var, w.put(f"load {scalar_type(var.dtype)}, ptr {_slot(w, results, k)}, align 8"))
    return len(found.stmts)


def _function(emitter: FunctionEmitter, name: str, found: Segment, captures: Captures, writes: set[Buffer]) -> str:
    nested = emitter.nested(writes, whole=found.stmts[0])
    captures.bind(nested)
    nested.block(found.stmts)
    w = nested.writer
    for k, var in enumerate(found.results):
        value = nested.value(var).text
        w.here()
        w.line(f"store {scalar_type(var.dtype)} {value}, ptr {_slot(w, '%results', k)}, align 8")
    return function_text(nested, name, listed([*captures.parameters(), ("ptr", "results")], "%"))


def _slot(w: FunctionWriter, results: str, k: int) -> str:
    """The address of a result."""
    return w.put(f"getelementptr i64, ptr {results}, i64 {k}")


def _may_leave(stmts: list[Stmt]) -> bool:
    """Whether statements may end the program."""
    return any(isinstance(s, Check) or isinstance(s, Call) and s.checked or may_stop(s) for s in walk(stmts))
