"""Symbols of machine code: the addresses of all functions that compiled programs, or LLVM's code generator, may call."""
from __future__ import annotations

import functools

from numjet import _native
from numjet.cpu.kernels import lapack
from numjet.cpu.kernels.c_library import c_symbol

# Functions that LLVM's code generator or emitted code may call, beside those of `ir.nodes.MATH`.
RUNTIME = ("memcpy", "memmove", "memset", "fmod", "fmodf", "fma", "fmaf", "floor", "floorf", "ceil", "ceilf",
           "trunc", "truncf", "round", "roundf", "roundeven", "roundevenf", "rint", "rintf",
           "sqrt", "sqrtf", "fmax", "fmaxf", "fmin", "fminf", "ldexp", "ldexpf", "copysign", "copysignf", "nearbyint",
           "nearbyintf", "bzero")
# Those of compilers' support libraries, which a process need not have: see native/kernels/libcalls.cpp. Every C compiler
# brings the second ones.
HALF_SUPPORT = ("truncsfhf2", "truncdfhf2", "truncsfbf2", "truncdfbf2", "extendhfsf2", "extendhfdf2", "extendbfsf2")
SUPPORT = (*HALF_SUPPORT, "multi3", "divti3", "modti3", "udivti3", "umodti3", "ashlti3", "lshrti3", "ashrti3", "popcountdi2",
           "popcountsi2")


def kernel(name: str) -> int:
    """The address of a kernel of numjet's own. KeyError for other names."""
    found = lapack.address(name)
    return _native.kernel_address(name) if found is None else found


@functools.cache
def runtime(name: str) -> int | None:
    """The address of a function that LLVM may call; None where the system has none."""
    if name.startswith("__") and name[2:] in SUPPORT:
        return _native.kernel_address(f"nj_{name[2:]}")
    return c_symbol(name)
