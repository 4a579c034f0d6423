"""Loop IR to LLVM IR: text that is already vectorized, hoisted and free of repetition, as no LLVM pass will run on it.

The work is spread over `emit_state` (scopes, names), `emit_memory` (loads, stores), `emit_expr` and `emit_ops`
(expressions), `emit_loop`, `emit_parallel` and `emit_stmt` (statements), `lanes` (which loops become vector code).
"""
from __future__ import annotations

import numpy as np

from numjet.cpu.codegen.memory import EMBEDDED_BYTES, constant_symbol
from numjet.cpu.codegen.statements import StmtEmitter
from numjet.cpu.ir.nodes import Function
from numjet.cpu.ir.traversal import swapped, written
from numjet.cpu.target import Target

_ARGUMENTS = "ptr %ins, ptr %outs, ptr %scratch, ptr %info"
_METADATA = ['!0 = !{!"branch_weights", i32 1, i32 10000}', '!1 = !{!"branch_weights", i32 10000, i32 1}']


def emit(function: Function, target: Target) -> str:
    """The LLVM module of a function, as text.

    It defines `int64 name(char** ins, char** outs, char* scratch, int64* info)`, which returns 0 or the status
    of the check that failed. Symbols to be supplied when it is loaded: those of `Call`s, C library functions, and the
    large constants (`constant_symbols`).

    Raises NotImplementedError for an operation without machine code, ValueError for a temporary without a place.
    """
    emitter = StmtEmitter(function, target, written(function.body))
    emitter.positions.update((b, k) for buffers in (function.inputs, function.outputs) for k, b in enumerate(buffers))
    emitter.note_places(swapped(function.body))
    emitter.separate(function.body)
    emitter.block(function.body)
    emitter.here()
    emitter.line("ret i64 0")
    emitter.keep_splits(function.name)
    body = [*emitter.allocas, *emitter.scope.code.lines, *emitter.failures]
    head = f'define i64 @"{function.name}"({_ARGUMENTS}) nounwind {{'
    triple = [f'target triple = "{target.triple}"'] if target.triple else []
    return "\n".join([*triple, *emitter.globals.values(), *emitter.declared.values(), *emitter.helpers.values(), *emitter.parts,
                      head, "entry:", *body, "}", *_METADATA, ""])


def constant_symbols(function: Function) -> tuple[dict[str, int], list[np.ndarray]]:
    """(addresses by symbol, arrays to keep alive) of the constants that are too large for the text."""
    arrays = {constant_symbol(function.name, b): np.ascontiguousarray(b.data)
              for b in function.consts if b.nbytes > EMBEDDED_BYTES}
    return {name: array.ctypes.data for name, array in arrays.items()}, list(arrays.values())
