"""Machine code of every operation, for every dtype, against the interpreter; vectors and scalars."""
from __future__ import annotations

import numpy as np
import pytest

from numjet.cpu.emit_ops import RULES
from numjet.cpu.emit_types import kind
from numjet.cpu.loop_ir import ARITHMETIC
from tests.cpu.loops import BF16, BOOL, F16, F32, F64, FLOATS, INTS, agree, loads, map_function, special

ALL = [BOOL, *INTS, F16, BF16, *FLOATS]
CASES = [(op, dtype) for op in ARITHMETIC if op != "select" for dtype in [BOOL, *INTS, *FLOATS]
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
    size = len(inputs[0])
    out = BOOL if op in ("eq", "ne", "lt", "le", "gt", "ge", "is_finite") else dtype
    function = map_function("f", [(dtype, size)] * len(inputs), out, size,
                            lambda e, i, *xs: e.prim(op, *loads(e, xs, i)))
    agree(function, inputs, every=True)


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
    function = map_function("f", [(F64, len(x))], F16, len(x), lambda e, i, a: e.convert(e.load(a, i), F16))
    agree(function, [x], every=True)
