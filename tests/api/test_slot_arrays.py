"""Eager slots made of ufuncs become steps of tapes; those that look at values do not."""
from __future__ import annotations

import contextlib
from typing import Any

import numpy as np
import pytest

import numjet.numpy as jnp
from numjet import lax
from numjet.api.slot_arrays import SlotArray
from numjet.api.tape_recorder import Recorder
from numjet.api.tape_steps import Steps, Unsuited

pytestmark = pytest.mark.usefixtures("one_platform")
SPECIAL = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, -2.5, 0.5, 3.0], np.float32)
INTS = np.array([0, -1, 2**31 - 1, -2**31, 7, -3, 1, 200], np.int32)


def array(x: Any) -> Any:
    return jnp.asarray(x)


def kinds(fun: Any, *xs: Any) -> tuple[str, ...]:
    """The steps of a tape, which gives the function's bits for other values, too."""
    _, tape = Recorder(fun, (), (), False)(xs, {})
    assert tape is not None
    for other in (xs, [array(np.roll(np.asarray(x), 3, -1)) for x in xs]):
        assert np.asarray(tape.run(tuple(other))).tobytes() == np.asarray(fun(*other)).tobytes()
    return tape.kinds()


@pytest.mark.parametrize("name", ["div", "rem", "shift_left", "shift_right_logical", "shift_right_arithmetic"])
def test_integers_of_all_bounds_need_no_python(name):
    for x, y in ((INTS, np.roll(INTS, 1)), (INTS.view(np.uint32), np.roll(INTS, 3).view(np.uint32))):
        assert "call" not in kinds(getattr(lax, name), array(x), array(y))


@pytest.mark.parametrize("name", ["erf", "erf_inv", "lgamma", "digamma", "logistic", "sign", "round", "expm1", "log1p",
                                  "bessel_i0e", "bessel_i1e", "clz", "population_count"])
def test_functions_of_one_operand_need_no_python(name):
    x = INTS if name in ("clz", "population_count") else SPECIAL
    assert "call" not in kinds(getattr(lax, name), array(x))


def test_parts_of_complex_numbers_are_copied():
    z = array(SPECIAL + 1j * np.arange(8, dtype=np.float32)).reshape(2, 4)
    assert kinds(lax.real, z) == kinds(lax.imag, z) == ("part",)


def test_equal_steps_are_one_and_unneeded_ones_are_left_out():
    steps = Steps()
    x = SlotArray(steps, steps.input(SPECIAL))
    with np.errstate(all="ignore"):
        y = np.where(x > 0, np.exp(x) + np.exp(x), 1.5)
        np.sin(x)
    assert isinstance(y, SlotArray) and y.dtype == np.float32
    aval = array(SPECIAL).aval
    tape = steps.tape([aval], [y.number], [aval], (), None)
    assert tape.kinds() == ("loop", "loop", "loop", "select")
    np.testing.assert_array_equal(tape.run((array(SPECIAL),)), np.where(SPECIAL > 0, 2 * np.exp(SPECIAL), np.float32(1.5)))


@pytest.mark.parametrize("slot", [
    lambda x: x if (x > 0) else -x, lambda x: np.asarray(x) + 1, lambda x: np.sum(x), np.add.reduce, lambda x: x ** 2, float,
    lambda x: x.astype(np.int32), lambda x: np.add(x, 1, dtype=np.float64), lambda x: np.where(x, x, np.ones((2, 8))), np.modf,
    list, lambda x: x.view(np.float64)])
def test_what_looks_at_values_or_has_no_step_is_refused(slot):
    steps = Steps()
    with pytest.raises((Unsuited, TypeError, AttributeError)), np.errstate(all="ignore"):
        slot(SlotArray(steps, steps.input(SPECIAL)))


def test_what_is_known_is_computed_once():
    assert kinds(lambda x: x + lax.iota(np.float32, 8) * 2, array(SPECIAL)) == ("loop",)


def test_slots_of_very_many_steps_are_called():
    steps = Steps()
    x = SlotArray(steps, steps.input(SPECIAL))
    with pytest.raises(Unsuited), np.errstate(all="ignore"):
        for _ in range(1100):
            x = np.sin(x)
    mark = steps.mark()
    steps.back(mark)
    assert len(steps.steps) == 1024


def test_complex_numbers_need_no_python(one_platform):
    z, x = lax.complex(array(SPECIAL), array(SPECIAL[::-1])), array(SPECIAL)
    assert kinds(lax.complex, x, x) == ("join", "share")
    assert kinds(lambda x: lax.complex(x, np.float32(1)), x) == ("part", "join", "share")
    for fun in (lambda z: lax.pow(z, z), lax.exp, lax.log, lax.expm1, lax.conj, lax.logistic):
        assert "call" not in kinds(fun, z)


def test_elements_at_known_places_are_taken():
    x = array(np.arange(1, 13, dtype=np.float32).reshape(3, 4))
    index = np.array([[2, 0], [9, 1]])
    assert kinds(lambda x: x[:, np.array([3, 0])], x) == ("take",)
    assert kinds(lambda x: jnp.pad(x, ((1, 0), (2, 1)), constant_values=7), x) == ("take",)
    assert kinds(lambda x: x.at[index].get(mode="fill", fill_value=-3), x) == ("take",)
    assert "take" not in kinds(lambda x: jnp.sort(x), x)


def test_wrong_tables_are_refused():
    steps = Steps()
    x = steps.input(SPECIAL)
    aval = array(SPECIAL).aval
    ins = x, steps.constant(np.asarray(SPECIAL[0]))
    for table in ([8] * 8, [0] * 7):
        number, = steps.append("take", ins, (aval,), np.array(table).tobytes(), [SPECIAL])
        with pytest.raises(ValueError, match="elements that an operand does not have"):
            steps.tape([aval], [number], [aval], (), None)


@pytest.mark.parametrize("text", [
    "i", "i,", "i, i", ":, i", "i, 1:3", "..., i", "..., i, :", "None, i", "1, i", "i, -1", "0, :, i", "i[:, None], i",
    ":, i, :2", "i, None, i", "::-1, i", "1:, ..., i", "i, :, i", "k, k", ":, k, -1", "i[:0]"])
def test_reads_at_arrays_between_slices(text):
    host = np.arange(60.0, dtype=np.float32).reshape(3, 4, 5)
    read = eval(f"lambda x, i, k: x[{text}]")
    for numbers in ([0, 2], [2, 1], [-1, 0], [1, 1], [0, -3]):
        i = np.array(numbers)
        for given in (array(i), i):
            np.testing.assert_array_equal(read(array(host), given, array(i[0])), read(host, i, i[0]), strict=True)
    for wrong in (np.array([9, 0]), np.array([-7, 1])):
        with pytest.raises(IndexError) if text != "i[:0]" else contextlib.nullcontext():
            read(array(host), array(wrong), array(wrong[0]))


@pytest.mark.parametrize("index", [(..., ...), (0, 0, 0, 0), (np.array([0]),) * 4, (..., 0, 0, 0, np.array([0]))], ids=str)
def test_too_many_indices_are_refused(index):
    for _ in range(3):
        with pytest.raises(IndexError):
            array(np.zeros((3, 4, 5)))[index]


def test_reads_at_arrays_check_every_time():
    x, i = array(np.arange(12.0).reshape(3, 4)), array(np.array([0, 2]))
    for k in range(5):
        np.testing.assert_array_equal(x[i, i + k % 2], np.arange(12).reshape(3, 4)[[0, 2], [k % 2, 2 + k % 2]])
        with pytest.raises(IndexError):
            x[i + 1, i]
        np.testing.assert_array_equal(x[-i, i], np.arange(12).reshape(3, 4)[[0, -2], [0, 2]])


@pytest.mark.parametrize("mode", ["clip", "fill", "promise_in_bounds", "one_hot"])
def test_elements_at_computed_places_are_gathered(mode):
    """Windows, batches, index vectors of several components, negative indices and those out of bounds."""
    x, i = array(np.arange(24, dtype=np.float32).reshape(2, 3, 4)), array(np.array([[1, 0], [-1, 2], [7, 1]], np.int32))
    for fun in (lambda x, i: x.at[i[:, 0]].get(mode=mode), lambda x, i: x.at[i[:, 0], :, i[:, 1]].get(mode=mode),
                lambda x, i: x.at[1, i].get(mode=mode), lambda x, i: x.at[:, i[:, 1], 1:3].get(mode=mode)):
        assert "gather" in kinds(fun, x, i) and "call" not in kinds(fun, x, i)


def test_wrong_gathers_are_refused():
    steps = Steps()
    x, i = steps.input(SPECIAL), steps.input(INTS[:, None])
    avals = [array(SPECIAL).aval, array(INTS[:, None]).aval]
    fill = steps.constant(np.asarray(SPECIAL[0]))
    as_bytes = lambda *numbers: np.array(numbers, np.int64).tobytes()
    good = as_bytes(7), as_bytes(1), as_bytes(*[0] * 8), as_bytes(*range(8)), False
    wrong = [(as_bytes(8), *good[1:]), (as_bytes(-1), *good[1:]), (good[0], as_bytes(2), *good[2:]),
             (as_bytes(), as_bytes(), *good[2:]), (*good[:2], as_bytes(*[1] * 8), *good[3:]),
             (*good[:2], as_bytes(*[-1] * 8), *good[3:]),
             (*good[:3], as_bytes(*range(1, 9)), False), (*good[:3], as_bytes(*range(7)), False)]
    for plan in (good, *wrong):
        number, = steps.append("gather", (x, i, fill), (avals[0],), plan, [SPECIAL])
        if plan is good:
            assert steps.tape(avals, [number], avals[:1], (), None).kinds() == ("gather",)
            continue
        with pytest.raises(ValueError, match="a gather of elements"):
            steps.tape(avals, [number], avals[:1], (), None)


@pytest.mark.parametrize("dtype", ["float32", "int32", "complex64"])
def test_batches_of_products_are_native(dtype):
    x = jnp.asarray(np.random.default_rng(0).integers(-9, 9, (2, 3, 3)), dtype)
    for fun in (jnp.vecdot, jnp.matmul,
                lambda x, y: lax.dot_general(x, y, (((1,), (2,)), ((0,), (0,)))),
                lambda x, y: lax.dot_general(x, y, (((1,), (2,)), ((2,), (1,))))):
        fun = getattr(fun, "_call", fun)
        found = kinds(getattr(fun, "__wrapped__", fun), x, x)
        assert "call" not in found
        assert "product" in found
