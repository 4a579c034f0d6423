"""Loops of tapes that stand for NumPy's inner loops, and selections and conversions: the same bits for all values and sizes."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import numjet.numpy as jnp
from numjet import lax
from numjet.api.slot_arrays import loop_number
from numjet.api.tape_recorder import Recorder
from numjet.api.tape_steps import Steps
from numjet.core.aval import ShapedArray
from numjet.foundation.config import enable_x64
from numjet.scipy import special as special_functions
from numjet.tree import leaves

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


def tape_of(fun: Any, *xs: Any) -> Any:
    """The tape of a call."""
    _, tape = Recorder(fun, (), (), False)(xs, {})
    assert tape is not None
    return tape


def special(dtype: str, shape: tuple[int, ...], seed: int = 0) -> Any:
    """Values among which many are equal, zeros of both signs and NaNs."""
    rng = np.random.default_rng(seed)
    x = rng.choice(values(dtype, 8, seed), shape)
    return jnp.asarray(np.where(rng.random(shape) < 0.3, -x if x.dtype.kind == "f" else x, x).astype(x.dtype))


@pytest.mark.usefixtures("one_platform")
@pytest.mark.parametrize("dtype", ["float32", "int32", "uint32", "bool"])
@pytest.mark.parametrize(("shape", "axis"), [((9,), 0), ((4, 5), 0), ((4, 5), 1), ((2, 3, 4), 1)])
def test_sorts_and_extremes_need_no_python(dtype, shape, axis):
    keys = [special(dtype, shape, seed) for seed in range(2)]
    rest = jnp.arange(keys[0].size, dtype=jnp.int32).reshape(shape)
    calls = [(lambda x: lax.sort(x, axis), keys[:1]),
             (lambda x, r: lax.sort((x, r), axis), [keys[0], rest]),
             (lambda x, y, r: lax.sort((x, y, r), axis, num_keys=2), [*keys, rest])]
    if dtype != "bool":
        calls += [(lambda x: lax.argmax(x, axis, jnp.int32), keys[:1]), (lambda x: lax.argmin(x, axis, jnp.int32), keys[:1])]
    for fun, operands in calls:
        tape = tape_of(fun, *operands)
        assert "call" not in tape.kinds()
        for others in (operands, [jnp.flip(x, axis) for x in operands]):
            for x, y in zip(leaves(tape.run(tuple(others))), leaves(fun(*others)), strict=True):
                assert np.asarray(x).tobytes() == np.asarray(y).tobytes()


@pytest.mark.usefixtures("one_platform")
def test_halves_are_converted_without_python():
    every = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
    every = every[~np.isnan(every)]
    for x in np.array_split(every, 2):
        tape = tape_of(lambda x: x.astype("float32"), jnp.asarray(x[:100]))
        assert tape.kinds() == ("convert",)
        for part in np.array_split(x[:x.size // 100 * 100], x.size // 100):
            np.testing.assert_array_equal(tape.run((jnp.asarray(part),)), part.astype(np.float32))
    wide = every[np.isfinite(every)].astype(np.float32)
    middles = (np.sort(wide)[1:] + np.sort(wide)[:-1]) / 2    # ties, and their neighbours
    x = np.concatenate([middles, np.nextafter(middles, 0), np.nextafter(middles, np.float32(np.inf)),
                        [65519, 65520, 1e38, np.inf, -np.inf, 2**-25, np.nextafter(np.float32(2**-25), 1), 0, -0.0]])
    x = x.astype(np.float32)
    tape = tape_of(lambda x: x.astype("float16"), jnp.asarray(x[:1000]))
    with np.errstate(over="ignore"):
        for start in range(0, x.size - 1000, 1000):
            part = x[start:start + 1000]
            assert np.asarray(tape.run((jnp.asarray(part),))).tobytes() == part.astype(np.float16).tobytes()


@pytest.mark.usefixtures("one_platform")
def test_slots_that_ask_whether_any_element_is_true():
    """The tape is for calls with the recorded answer; for others the function itself runs."""
    a, x = jnp.asarray([0.5, 2.0, 30.0]), jnp.asarray([0.1, 3.0, 20.0])
    tape = tape_of(lax.igamma, a, x)
    assert "call" not in tape.kinds() and "guard" in tape.kinds()
    for other in (a, a * 2):
        np.testing.assert_array_equal(tape.run((other, x)), lax.igamma(other, x))
    assert tape.run((a * 1e7, x)) is NotImplemented
    for _ in range(4):
        for other in (a, a * 1e7):
            np.testing.assert_array_equal(special_functions.gammainc(other, other * 0.99),
                                          lax.igamma(other, other * 0.99))
