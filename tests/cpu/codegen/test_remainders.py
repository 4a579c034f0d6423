"""Vector loops on CPUs without masks: the remainder is a vector that computes some elements again, where that does no harm."""
from __future__ import annotations

import re

import numpy as np
import pytest

from numjet.cpu.codegen import llvm
from numjet.cpu.ir.parser import parse
from numjet.cpu.target import from_features
from tests.cpu.loops import prepared, targets

NO_MASKS = from_features("x86-64-v3", "+avx2,+fma", "x86_64")


def doubled(size: int, dtype: str, place: str = "y"):
    """y = 2 x, or y doubled in place, element by element."""
    start = "" if place == "x" else f"  copy y[0] = x[0] count {size}\n"
    return parse(f"""\
function f(x: {dtype}[{size}]) -> (y: {dtype}[{size}]) scratch 0 {{
{start}  for i in 0 .. {size} vector () {{
    store y[i] = add({place}[i], {place}[i])
  }} -> ()
}}
""")


def scalar_loads(function) -> int:
    return len(re.findall(r"= load (?:float|i8),", llvm.emit(function, NO_MASKS)))


@pytest.mark.parametrize("dtype", ["float32", "uint8"])
def test_no_scalar_iterations(dtype):
    assert [scalar_loads(doubled(size, dtype, "x")) for size in (96, 100, 127)] == [0, 0, 0]
    assert scalar_loads(doubled(97, dtype, "x")) == 1   # one element is no vector's work


def test_what_is_read_again_is_not_written_twice():
    assert scalar_loads(doubled(100, "float32", "y")) > 0


@pytest.mark.parametrize("dtype", ["float32", "uint8", "int16", "float64"])
@pytest.mark.parametrize("place", ["x", "y"])
def test_values(dtype, place):
    for target in targets().values():
        for size in (3, 5, 17, 33, 63, 70, 97, 127):
            x = np.arange(size).astype(dtype)
            result = prepared(doubled(size, dtype, place), target=target)([x])
            np.testing.assert_array_equal(result.outputs[0], x + x)
