"""Vectors of narrowed integers are stored in their lanes and nowhere else, whatever lanes a mask leaves."""
from __future__ import annotations

import numpy as np
import pytest

from numjet.cpu.ir.nodes import INT64, Buffer, Exprs, For, Function, If, Store
from tests.cpu.loops import agree

PAIRS = [(np.dtype(a), np.dtype(b)) for a in ("int64", "uint32", "int16", "int32") for b in ("int32", "uint16", "int8", "bool")
         if np.dtype(b).itemsize < np.dtype(a).itemsize]
BEHIND = 32   # elements behind those that are stored, which stay 0


def _negative(dtype: np.dtype, size: int) -> np.ndarray:
    return np.full(size, -1, np.int64).astype(dtype)   # every bit of the wide numbers is set


@pytest.mark.parametrize("source,target", PAIRS, ids=str)
@pytest.mark.parametrize("step", (1, -1, 2, 3))
def test_rests_of_loops(source: np.dtype, target: np.dtype, step: int) -> None:
    exprs, x = Exprs(), Buffer("x", source, 200, "input")
    body, outputs = [], []
    for size in (1, 2, 3, 4, 5, 8, 9, 10, 16, 17, 18, 19, 31, 32, 33, 49, 64, 65):
        out, i = Buffer(f"y{size}", target, size * abs(step) + BEHIND, "output"), exprs.var(INT64, "i")
        place = exprs.prim("mul", i, exprs.index(step)) if step > 0 else exprs.prim("sub", exprs.index(size - 1), i)
        stores = [Store(out, exprs.prim("add", place, exprs.index(k)), exprs.convert(exprs.load(x, i), target))
                  for k in range(max(1, step))]
        body.append(For(i, exprs.index(0), exprs.index(size), stores, mode="vector"))
        outputs.append(out)
    agree(Function("rests", [x], outputs, exprs, body), [_negative(source, 200)], every=True)


@pytest.mark.parametrize("source,target", PAIRS, ids=str)
def test_single_lanes(source: np.dtype, target: np.dtype) -> None:
    """Only one lane stores, or all others do."""
    exprs, x = Exprs(), Buffer("x", source, 64, "input")
    body, outputs = [], []
    for size in (4, 8, 16, 17, 32):
        for compare in ("eq", "ne"):
            for lane in (0, size // 2, size - 1):
                out, i = Buffer(f"y{len(outputs)}", target, size + BEHIND, "output"), exprs.var(INT64, "i")
                store = Store(out, i, exprs.convert(exprs.load(x, i), target))
                chosen = If(exprs.prim(compare, i, exprs.index(lane)), [store], [])
                body.append(For(i, exprs.index(0), exprs.index(size), [chosen], mode="vector"))
                outputs.append(out)
    agree(Function("lanes", [x], outputs, exprs, body), [_negative(source, 64)], every=True)
