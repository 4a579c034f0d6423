"""Standalone programs: object code and all that it must be linked to, for a library that runs without Python."""
from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from numjet.core.ir import ClosedJaxpr
from numjet.cpu.codegen import llvm
from numjet.cpu.compiler import optimized
from numjet.cpu.ir.nodes import CALLBACK, KERNEL_STATUS, Call
from numjet.cpu.ir.traversal import walk
from numjet.cpu.kernels import blas, lapack, symbols
from numjet.cpu.native_code import jit
from numjet.foundation.config import config
from numjet.foundation.record import Record

NO_MEMORY = KERNEL_STATUS + 1   # the status of a kernel without memory
KERNELS = Path(__file__).parents[1] / "libnumjet_kernels.a"


class Standalone(Record):
    """A program for a linker.

    code: an object file, which defines `int64 symbol(char** ins, char** outs, char* scratch, int64* info)`. constants: by
    symbol, to be put beside it. support: (name, name of a kernel) of functions that the code generator calls and old compilers
    lack. kernels: the widest instruction set that kernels use, as native/simd/choice.h names it. routines: (number, code, name)
    of all that LAPACK brings, empty if no kernel needs it; else `blas` is the library.
    """
    symbol: str
    code: bytes
    scratch_bytes: int
    constants: dict[str, np.ndarray]
    support: Sequence[tuple[str, str]]
    kernels: str
    routines: Sequence[tuple[int, int, str]]
    blas: Path | None
    integer_bytes: int


def standalone(closed: ClosedJaxpr, name: str, instruction_set: str) -> Standalone:
    """Compiles a program for a linker. Raises NotImplementedError for programs that call Python."""
    function, target = optimized(closed, name, jit.limited_host(instruction_set))
    calls = [s for s in walk(function.body) if isinstance(s, Call)]
    if any(s.symbol.startswith(CALLBACK) for s in calls):
        raise NotImplementedError(f"{name} calls Python (pure_callback, debug.print and the like, or NumPy for an operation on "
                                  "a rare dtype), which is not there in a native library; leave the callbacks out")
    code = jit.compile_object(llvm.emit(function, target), target=target)
    names, arrays = llvm.constant_symbols(function)
    constants = dict(zip(names, arrays, strict=True))
    support = [(f"__{s}", f"nj_{s}") for s in symbols.HALF_SUPPORT]
    widest = config.numjet_instruction_set if instruction_set == "native" else instruction_set
    kernels = {"baseline": "portable", "avx2": "avx2"}.get(widest, "avx512")
    if not any(s.symbol in lapack.KERNELS for s in calls):
        return Standalone(function.name, code, function.scratch_bytes, constants, support, kernels, (), None, 0)
    library, pattern = blas.library()
    routines = [(k, c, pattern.format(routine)) for k, c, routine in lapack.routines()]
    return Standalone(function.name, code, function.scratch_bytes, constants, support, kernels, routines, Path(library._name),
                      blas.integer_bytes(pattern))
