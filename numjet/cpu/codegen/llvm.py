"""Loop IR to LLVM IR: text that is already vectorized, hoisted and free of repetition, as no LLVM pass will run on it.

`function` draws how the emitter of one function is composed.
"""
from __future__ import annotations

import numpy as np

from numjet.cpu.codegen.function import Apart, FunctionEmitter
from numjet.cpu.codegen.memory.addresses import EMBEDDED_BYTES, constant_symbol
from numjet.cpu.codegen.module import ModuleWriter
from numjet.cpu.codegen.statements.dispatch import block
from numjet.cpu.codegen.statements.outlining import repeated_loops
from numjet.cpu.codegen.statements.segments import segments
from numjet.cpu.ir.nodes import Function
from numjet.cpu.ir.traversal import swapped, written
from numjet.cpu.target import Target

_PARAMETERS = "ptr %ins, ptr %outs, ptr %scratch, ptr %info"


def emit(function: Function, target: Target) -> str:
    """The LLVM module of a function, as text.

    It defines `int64 name(char** ins, char** outs, char* scratch, int64* info)`, which returns 0 or the status
    of the check that failed. Symbols to be supplied when it is loaded: those of `Call`s, C library functions, and the
    large constants (`constant_symbols`).

    Raises NotImplementedError for an operation without machine code, ValueError for a temporary without a place.
    """
    module = ModuleWriter(function, target)
    apart = Apart(repeated_loops(function.body), segments(function.body))
    emitter = FunctionEmitter(module, written(function.body), block, apart=apart)
    emitter.addresses.make_cells(swapped(function.body))
    emitter.block(function.body)
    return module.text(emitter.writer.text(f'i64 @"{function.name}"({_PARAMETERS}) nounwind', "ret i64 0", function.name))


def constant_symbols(function: Function) -> tuple[dict[str, int], list[np.ndarray]]:
    """(addresses by symbol, arrays to keep alive) of the constants that are too large for the text."""
    arrays = {constant_symbol(function.name, b): np.ascontiguousarray(b.data)
              for b in function.consts if b.nbytes > EMBEDDED_BYTES}
    return {name: array.ctypes.data for name, array in arrays.items()}, list(arrays.values())
