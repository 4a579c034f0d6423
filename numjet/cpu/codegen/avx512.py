"""AVX-512 instructions without a general LLVM intrinsic: exponents of floats, and table look-ups in registers."""
from __future__ import annotations

from collections.abc import Callable

import numpy as np

from numjet.cpu.codegen.operations import constant, rule
from numjet.cpu.codegen.types import float_literal, scalar_type, suffix, wide
from numjet.cpu.codegen.writer import FunctionWriter
from numjet.cpu.ir.nodes import INT64
from numjet.cpu.ir.tables import TABLES

_REGISTER = 64   # bytes
_CURRENT_ROUNDING = ("i32", "4")
_POSITIVE = ("i32", "12")   # significands from 1 to 2, NaN for those of negative numbers


for _op, _name, _options in (("scale", "scalef", ()), ("exponent", "getexp", ()), ("significand", "getmant", (_POSITIVE,))):
    @rule(_op, "f")
    def _instruction(w: FunctionWriter, dtype: np.dtype, lanes: int, *operands: str, op: str = _op, name: str = _name,
                     options: tuple[tuple[str, str], ...] = _options) -> str:
        """An instruction by its masked intrinsic, which also takes the result of masked lanes and a rounding mode."""
        target = w.module.target
        if not target.exponents:
            raise NotImplementedError(f"no machine code for operation '{op}' on {target.cpu}: it takes AVX-512; expand "
                                      "functions without `exponents` for this target")
        of, letter = scalar_type(dtype), "s" if dtype.itemsize == 4 else "d"
        count = (16 if lanes == 1 else _REGISTER) // dtype.itemsize
        ty = wide(of, count)
        rest = (*options, (ty, "zeroinitializer"), ("i8" if lanes == 1 else f"i{count}", "-1"), _CURRENT_ROUNDING)
        if lanes > 1:
            call = lambda *xs: w.intrinsic(f"x86.avx512.mask.{name}.p{letter}.512", ty, *((ty, x) for x in xs), *rest)
            return _by_register(w, of, lanes, count, call, tuple((of, x) for x in operands))
        low = [(ty, w.put(f"insertelement {ty} zeroinitializer, {of} {x}, i64 0")) for x in operands]
        found = w.intrinsic(f"x86.avx512.mask.{name}.s{letter}", ty, low[0], low[-1], *rest)
        return w.put(f"extractelement {ty} {found}, i64 0")


def lookup(w: FunctionWriter, table: str, lanes: int, index: str) -> str:
    """The elements of a table at int64 indices, which count modulo its length."""
    values = TABLES[table]
    of, size = scalar_type(values.dtype), len(values)
    if w.module.target.masks and lanes > 1 and values.dtype.itemsize == 8 and size == 16:
        return _in_registers(w, values, lanes, index)
    name = f"@table.{table}"
    numbers = ", ".join(f"{of} {float_literal(v)}" for v in values.tolist())
    w.module.globals.setdefault(name, f"{name} = private unnamed_addr constant [{size} x {of}] [{numbers}], align 64")
    wrapped = w.put(f"and {wide('i64', lanes)} {index}, {constant(INT64, lanes, size - 1)}")
    if lanes == 1:
        return w.put(f"load {of}, ptr {w.put(f'getelementptr {of}, ptr {name}, i64 {wrapped}')}")
    if w.module.target.masks:
        pointers = w.put(f"getelementptr {of}, ptr {name}, <{lanes} x i64> {wrapped}")
        ty = wide(of, lanes)
        return w.intrinsic(f"masked.gather.{suffix(of, lanes)}.v{lanes}p0", ty, (wide("ptr", lanes), pointers), ("i32", "8"),
                           (wide("i1", lanes), "splat (i1 true)"), (ty, "poison"))
    return _one_by_one(w, of, name, lanes, wrapped)


def _one_by_one(w: FunctionWriter, of: str, name: str, lanes: int, index: str) -> str:
    """Loads by indices that are taken out of the vector once for all tables; instructions that gather take longer."""
    found = "poison"
    for k in range(lanes):
        place = w.put(f"extractelement {wide('i64', lanes)} {index}, i64 {k}")
        one = w.put(f"load {of}, ptr {w.put(f'getelementptr {of}, ptr {name}, i64 {place}')}")
        found = w.put(f"insertelement {wide(of, lanes)} {found}, {of} {one}, i64 {k}")
    return found


def _in_registers(w: FunctionWriter, values: np.ndarray, lanes: int, index: str) -> str:
    """A table of 16 float64 fills two registers."""
    ty = "<8 x double>"
    low, high = (f"<{', '.join(f'double {float_literal(v)}' for v in half)}>" for half in np.split(values, 2))

    def instruction(i: str) -> str:
        return w.intrinsic("x86.avx512.vpermi2var.pd.512", ty, (ty, low), ("<8 x i64>", i), (ty, high))
    return _by_register(w, "double", lanes, 8, instruction, (("i64", index),))


def _by_register(w: FunctionWriter, of: str, lanes: int, count: int, instruction: Callable[..., str],
                 operands: tuple[tuple[str, str], ...]) -> str:
    """An instruction on `count` lanes at a time, for operands (element type, text) of any number of lanes."""
    if lanes < count:
        found = instruction(*[_shuffle(w, ty, lanes, text, range(count)) for ty, text in operands])
        return _shuffle(w, of, count, found, range(lanes))
    if lanes == count:
        return instruction(*[text for _, text in operands])
    pieces = [instruction(*[_shuffle(w, ty, lanes, text, range(k, k + count)) for ty, text in operands])
              for k in range(0, lanes, count)]
    while len(pieces) > 1:
        size = lanes // len(pieces)
        pieces = [_shuffle(w, of, size, a, range(2 * size), b) for a, b in zip(pieces[::2], pieces[1::2], strict=True)]
    return pieces[0]


def _shuffle(w: FunctionWriter, of: str, lanes: int, text: str, order: range, other: str = "poison") -> str:
    """Lanes of a vector, or of two of the same length; those beyond may be anything."""
    present = lanes if other == "poison" else 2 * lanes
    return w.shuffle(of, lanes, text, other, (k if k < present else "poison" for k in order))
