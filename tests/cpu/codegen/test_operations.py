"""Machine code of every operation, for every dtype, against the interpreter; vectors and scalars."""
from __future__ import annotations

import numpy as np
import pytest

from numjet.cpu.codegen import llvm
from numjet.cpu.codegen.operations import RULES
from numjet.cpu.ir.nodes import ARITHMETIC, EXPONENTS, INT64
from numjet.cpu.ir.tables import TABLES
from numjet.cpu.ir.types import kind
from numjet.cpu.native_code import jit
from numjet.cpu.target import from_features
from tests.cpu.loops import BF16, BOOL, F16, F32, F64, FLOATS, INTS, agree, agree_on_map, loads, map_function, special

ALL = [BOOL, *INTS, F16, BF16, *FLOATS]
CASES = [(op, dtype) for op in ARITHMETIC if op not in ("select", *EXPONENTS) for dtype in [BOOL, *INTS, *FLOATS]
         if (op, kind(dtype)) in RULES]


def _grid(dtype: np.dtype, count: int) -> list[np.ndarray]:
    """`count` arrays which together hold all combinations of special values, or many of three."""
    values = special(dtype, 48)
    if count == 1:
        return [special(dtype, 100)]
    parts = np.meshgrid(*[values] * 2, indexing="ij")
    return [np.ascontiguousarray(p).reshape(-1) for p in parts] + [np.roll(parts[0].reshape(-1), 7)] * (count - 2)


@pytest.mark.parametrize("op,dtype", CASES, ids=str)
def test_operation(op, dtype):
    inputs = _grid(dtype, ARITHMETIC[op])
    out = BOOL if op in ("eq", "ne", "lt", "le", "gt", "ge", "is_finite") else dtype
    agree_on_map(inputs, out, lambda e, i, *xs: e.prim(op, *loads(e, xs, i)))


def _taken_apart(op: str, dtype: np.dtype, size: int, modes: tuple[str, ...]):
    return map_function("f", [(dtype, size)] * ARITHMETIC[op], dtype, size,
                        lambda e, i, *xs: e.prim(op, *loads(e, xs, i)), modes)


@pytest.mark.skipif(not jit.host().exponents, reason="this machine has no instructions for exponents")
@pytest.mark.parametrize("op", EXPONENTS)
@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_exponents(op, dtype):
    """One number, fewer than a register holds, and more."""
    inputs = _grid(dtype, ARITHMETIC[op])
    if op == "scale":
        n = np.where(np.isinf(inputs[1]), dtype.type(-2.5), inputs[1])
        inputs[1] = np.where(np.arange(n.size) % 2 == 0, np.clip(n, -1100, 1100), n)
    for size, mode in ((len(inputs[0]), "vector"), (len(inputs[0]), "serial"), (2, "vector"), (5, "vector")):
        agree(_taken_apart(op, dtype, size, (mode,)), [x[:size] for x in inputs])


@pytest.mark.parametrize("op", EXPONENTS)
def test_exponents_need_instructions(op):
    target = from_features("haswell", "+avx2,+fma", "x86_64")
    with pytest.raises(NotImplementedError, match=f"'{op}' on haswell: it takes AVX-512; expand functions without"):
        llvm.emit(_taken_apart(op, F64, 9, ("vector",)), target)


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("size,mode", [(333, "vector"), (40, "serial"), (2, "vector"), (6, "vector")])
def test_lookup(table, size, mode):
    """Indices count modulo the length, those below zero too."""
    index = np.random.default_rng(1).integers(-2**62, 2**62, size)
    function = map_function("f", [(INT64, size)], TABLES[table].dtype, size,
                            lambda e, i, a: e.lookup(table, e.load(a, i)), (mode,))
    found = agree(function, [index], every=True).outputs[0]
    np.testing.assert_array_equal(found, TABLES[table][index % len(TABLES[table])])


@pytest.mark.parametrize("op", ["div", "rem", "shl", "shra", "shrl"])
@pytest.mark.parametrize("dtype", INTS, ids=str)
def test_constant_operand(op, dtype):
    """A known divisor or shift takes another path than an unknown one."""
    x = special(dtype, 70)
    for value in special(dtype)[:15]:
        function = map_function("f", [(dtype, 70)], dtype, 70, lambda e, i, a, v=value: e.prim(
            op, e.load(a, i), e.const(v, dtype)))
        agree(function, [x])


@pytest.mark.parametrize("old", ALL, ids=str)
@pytest.mark.parametrize("new", ALL, ids=str)
def test_convert(old, new):
    function = map_function("f", [(old, 200)], new, 200, lambda e, i, a: e.convert(e.load(a, i), new))
    agree(function, [special(old, 200)], every=True)


@pytest.mark.parametrize("old", ALL, ids=str)
def test_bitcast_and_select(old):
    x, c = special(old, 100), special(BOOL, 100)
    for new in ALL:
        if new.itemsize == old.itemsize:
            function = map_function("f", [(old, 100), (BOOL, 100)], new, 100, lambda e, i, a, b, new=new: e.bitcast(
                e.prim("select", e.load(b, i), e.load(a, i), e.load(a, e.index(3))), new))
            agree(function, [x, c])


@pytest.mark.parametrize("dtype", [F16, BF16], ids=str)
def test_every_half_converts(dtype):
    """All 65536 patterns, and the floats around each, on machines with and without the instruction."""
    x = np.arange(65536, dtype=np.uint16).view(dtype)
    function = map_function("f", [(dtype, 65536)], F32, 65536, lambda e, i, a: e.convert(e.load(a, i), F32), ["vector"])
    singles = agree(function, [x], every=True).outputs[0]
    close = np.nextafter(singles[np.isfinite(singles)], np.float32(np.inf))
    for values in (singles, close, close / 2 + np.roll(close, 1) / 2):
        function = map_function("f", [(F32, len(values))], dtype, len(values),
                                lambda e, i, a: e.convert(e.load(a, i), dtype), ["vector"])
        agree(function, [values], every=True)


def test_double_to_half_rounds_once():
    patterns = np.arange(0x7C00, dtype=np.uint16).view(F16).astype(F64)
    middle = (patterns[:-1] + patterns[1:]) / 2
    x = np.concatenate([np.nextafter(middle, 1e9), np.nextafter(middle, -1), middle])
    agree_on_map([x], F16, lambda e, i, a: e.convert(e.load(a, i), F16))
