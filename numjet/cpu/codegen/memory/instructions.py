"""Instructions that access memory: elements and vectors, masked or not, and their form in memory (bool is a byte there).

Masked ones have their alignment as an operand: LLVM 20 (llvmlite 0.45 to 0.47) knows no other form and aborts the process at
it; LLVM 22, which writes it beside the pointer, reads both.
"""
from __future__ import annotations

import numpy as np

from numjet.cpu.codegen.loop_context import LoopContext
from numjet.cpu.codegen.scopes import Value
from numjet.cpu.codegen.types import memory_type, suffix, wide
from numjet.cpu.codegen.writer import FunctionWriter
from numjet.cpu.ir.nodes import BOOL, Buffer

ALL_LANES = "splat (i1 true)"   # a mask


def loaded(w: FunctionWriter, dtype: np.dtype, lanes: int, text: str, reads: frozenset[Buffer]) -> Value:
    """The value of what was just loaded, given in its form in memory."""
    if dtype == BOOL:
        text = w.put(f"icmp ne {wide('i8', lanes)} {text}, {'0' if lanes == 1 else 'zeroinitializer'}")
    return Value(text, lanes, w.insertion.depth, reads)


def to_memory(w: FunctionWriter, dtype: np.dtype, text: str, lanes: int) -> str:
    """A value, as it is stored."""
    return w.put(f"zext {wide('i1', lanes)} {text} to {wide('i8', lanes)}") if dtype == BOOL else text


def load_vector(w: FunctionWriter, dtype: np.dtype, lanes: int, pointer: str, mask: str | None) -> str:
    """Consecutive elements, in their form in memory; 0 in the lanes that the mask excludes."""
    element, align = memory_type(dtype), dtype.itemsize
    ty = wide(element, lanes)
    if mask is None:
        return w.put(f"load {ty}, ptr {pointer}, align {align}")
    return w.intrinsic(f"masked.load.{suffix(element, lanes)}.p0", ty, ("ptr", pointer),
                       ("i32", str(align)), (wide("i1", lanes), mask), (ty, "zeroinitializer"))


def store_vector(context: LoopContext, dtype: np.dtype, text: str, pointer: str, mask: str | None) -> None:
    """Stores consecutive elements, given in their form in memory."""
    w, lanes, element, align = context.writer, context.lanes, memory_type(dtype), dtype.itemsize
    ty, bits = wide(element, lanes), wide("i1", lanes)
    if mask is None:
        w.line(f"store {ty} {text}, ptr {pointer}, align {align}")
        return
    name = f"llvm.masked.store.{suffix(element, lanes)}.p0"
    w.declare(name, "void", [ty, "ptr", "i32", bits])
    w.line(f"call void @{name}({ty} {text}, ptr {pointer}, i32 {align}, {bits} {_opaque(context, mask, dtype)})")


def _opaque(context: LoopContext, mask: str, dtype: np.dtype) -> str:
    """A mask of a store that LLVM does not know, where it might be a constant.

    LLVM 22 stores a truncated vector under a constant mask that leaves one lane as one wide number: it writes behind it.
    """
    w, lanes, loop = context.writer, context.lanes, context.vector
    if dtype.itemsize == 8 or loop is None or not loop.first.literal:
        return mask
    true = w.splat(Value(w.put("icmp ne ptr %info, null"), 1, w.insertion.depth), "i1", lanes)
    return w.put(f"and {wide('i1', lanes)} {mask}, {true}")


def gather(w: FunctionWriter, dtype: np.dtype, lanes: int, pointers: str, mask: str) -> str:
    """Elements at a vector of pointers, in their form in memory; 0 in the lanes that the mask excludes."""
    element = memory_type(dtype)
    ty = wide(element, lanes)
    return w.intrinsic(f"masked.gather.{suffix(element, lanes)}.{suffix('p0', lanes)}", ty,
                       (f"<{lanes} x ptr>", pointers), ("i32", str(dtype.itemsize)), (wide("i1", lanes), mask),
                       (ty, "zeroinitializer"))


def scatter(w: FunctionWriter, dtype: np.dtype, lanes: int, text: str, pointers: str, mask: str) -> None:
    """Stores elements, given in their form in memory, at a vector of pointers."""
    element = memory_type(dtype)
    ty, many, bits = wide(element, lanes), f"<{lanes} x ptr>", wide("i1", lanes)
    name = f"llvm.masked.scatter.{suffix(element, lanes)}.{suffix('p0', lanes)}"
    w.declare(name, "void", [ty, many, "i32", bits])
    w.line(f"call void @{name}({ty} {text}, {many} {pointers}, i32 {dtype.itemsize}, {bits} {mask})")
