"""Loops of tapes that stand for NumPy's inner loops, and selections and conversions: the same bits for all values and sizes."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import numjet.numpy as jnp
from numjet.api.slot_arrays import loop_number
from numjet.api.tape_steps import Steps
from numjet.core.aval import ShapedArray
from numjet.foundation.config import enable_x64

SIGNED = ("float32", "float64", "int32", "int64")
FLOATS, INTEGERS, BOOLS = ("float32", "float64"), ("int32", "uint32", "int64", "uint64"), ("bool",)
NUMBERS = FLOATS + INTEGERS
TWO = {np.add: NUMBERS, np.subtract: NUMBERS, np.multiply: NUMBERS, np.divide: FLOATS, np.less: NUMBERS,
       np.less_equal: NUMBERS, np.greater: NUMBERS, np.greater_equal: NUMBERS, np.equal: NUMBERS + BOOLS,
       np.not_equal: NUMBERS + BOOLS, np.bitwise_and: INTEGERS + BOOLS, np.bitwise_or: INTEGERS + BOOLS,
       np.bitwise_xor: INTEGERS + BOOLS, np.logical_and: NUMBERS + BOOLS, np.logical_or: NUMBERS + BOOLS,
       np.logical_xor: NUMBERS + BOOLS, np.left_shift: INTEGERS, np.right_shift: INTEGERS, np.copysign: FLOATS,
       np.maximum: NUMBERS, np.fmod: NUMBERS}
ONE = {np.invert: INTEGERS + BOOLS, np.logical_not: NUMBERS + BOOLS, np.negative: SIGNED,
       np.absolute: SIGNED, np.square: NUMBERS, np.sqrt: FLOATS, np.reciprocal: FLOATS,
       np.isnan: FLOATS, np.isinf: FLOATS, np.isfinite: FLOATS, np.rint: FLOATS, np.floor: FLOATS, np.ceil: FLOATS,
       np.trunc: FLOATS, np.exp: FLOATS}
CASES = [(ufunc, dtype) for table in (TWO, ONE) for ufunc, dtypes in table.items() for dtype in dtypes]


def values(dtype: str, size: int, seed: int = 0) -> np.ndarray:
    """Values of a dtype, with special ones among them."""
    rng = np.random.default_rng(seed)
    if dtype == "bool":
        return rng.random(size) < 0.5
    info: Any = np.finfo(dtype) if dtype.startswith("float") else np.iinfo(dtype)
    if dtype.startswith("float"):
        whole = 2.0**info.nmant
        special = [0.0, -0.0, np.inf, -np.inf, np.nan, -np.nan, info.tiny / 4, -info.max, 0.5, -0.5, 1.5, -2.5, whole + 1,
                   whole - 0.5, whole / 2 + 0.5, -whole / 2 - 1.5, np.nextafter(np.dtype(dtype).type(0.5), 0), -0.75, 2 * whole]
        found = rng.standard_normal(size) * 3
    else:
        special = [0, 1, 31, 32, 63, 64, info.max, info.min, info.min + 1, 7]
        found = rng.integers(info.min, info.max, size, dtype)
    chosen = rng.permutation(np.array(special, dtype))[:size // 2]
    found = found.astype(dtype)
    found[:chosen.size] = chosen
    return rng.permutation(found)


def result(kind: str, more: Any, operands: Sequence[np.ndarray], expected: np.ndarray, last: bool) -> np.ndarray:
    """What a tape of one step gives; last: the step writes the result, else scratch memory."""
    steps = Steps()
    numbers = tuple(map(steps.input, operands))
    number = steps.write(kind, numbers, more, expected)
    avals = [ShapedArray(x.shape, x.dtype) for x in operands]
    aval = ShapedArray(expected.shape, expected.dtype)
    if not last:
        number = steps.write("part", (number,), (0, expected.strides), expected)
    with enable_x64(True):
        return np.asarray(steps.tape(avals, [number], [aval], (), None).run(tuple(map(jnp.asarray, operands))))


def check(kind: str, more: Any, operands: Sequence[np.ndarray], expected: np.ndarray) -> None:
    for last in (True, False):
        found = result(kind, more, operands, expected, last)
        assert found.dtype == expected.dtype and found.shape == expected.shape
        nans = np.isnan(expected) if expected.dtype.kind == "f" else np.zeros(expected.shape, bool)
        assert np.array_equal(np.isnan(found) if nans.any() else nans, nans)  # which of two NaNs comes out is not said
        assert found[~nans].tobytes() == expected[~nans].tobytes(), (more, operands, found, expected)


def run_ufunc(ufunc: np.ufunc, operands: Sequence[np.ndarray]) -> None:
    with np.errstate(all="ignore"):
        expected = np.asarray(ufunc(*operands))
    number = loop_number(ufunc, [*(x.dtype for x in operands), expected.dtype])
    if number is not None:
        check("loop", (ufunc, number), operands, expected)


@pytest.mark.parametrize(("ufunc", "dtype"), CASES, ids=lambda v: getattr(v, "__name__", v))
@pytest.mark.parametrize("size", [0, 1, 3, 8, 37])
def test_loops_give_numpys_bits(ufunc, dtype, size):
    x, y = values(dtype, size), values(dtype, size, 1)
    if ufunc in ONE:
        return run_ufunc(ufunc, (x,))
    run_ufunc(ufunc, (x, y))
    for number in values(dtype, 8, 2):
        run_ufunc(ufunc, (x, np.asarray(number)))
        run_ufunc(ufunc, (np.asarray(number), x))


@pytest.mark.parametrize("dtype", ["bool", "float16", "int32", "float64", "complex128"])
@pytest.mark.parametrize("numbers", range(8))
def test_selections_of_arrays_and_numbers(dtype, numbers):
    with np.errstate(over="ignore"):
        operands = [values("bool", 9, 3), values("int32", 9).astype(dtype), values("int32", 9, 1).astype(dtype)]
    operands = [x[4].reshape(()) if numbers >> k & 1 else x for k, x in enumerate(operands)]
    which, if_false, if_true = operands
    check("select", None, operands, np.where(which, if_true, if_false))


def test_bytes_of_bools_are_truth_values():
    """As NumPy has it, any byte but 0 is true."""
    x, y = np.array([0, 2, 1, 255], np.uint8).view(bool), np.array([1, 1, 0, 2], np.uint8).view(bool)
    for ufunc in (np.logical_and, np.bitwise_or, np.logical_xor, np.equal, np.not_equal):
        expected = np.asarray(ufunc(x != 0, y != 0))
        check("loop", (ufunc, ufunc.types.index("??->?")), (x, y), expected)


def test_ufuncs_of_others_keep_their_loops():
    """A ufunc of another library under a name of NumPy's is not taken for it."""
    from scipy import special
    x = values("float64", 8)
    run_ufunc(special.expm1, (x,))
