"""The code of reductions that read each element once: positions of extremes in columns, windows without tests of bounds."""
from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import numjet as nj
import numjet.numpy as jnp
from numjet import lax
from numjet.cpu.compiler import optimized
from numjet.cpu.ir.nodes import BOOL, For
from numjet.cpu.ir.traversal import expressions, nodes, walk
from numjet.cpu.target import from_features

NO_MASKS = from_features("x86-64-v3", "+avx2,+fma", "x86_64")


def loops_of(f, shape, dtype):
    code, *_ = optimized(nj.make_jaxpr(f)(nj.ShapeDtypeStruct(shape, dtype)), "f", NO_MASKS)
    return [s for s in walk(code.body) if isinstance(s, For)]


def loads(loop):
    return [e for e in nodes(expressions([loop])) if e.op == "load"]


@pytest.mark.parametrize("dtype", [np.float32, np.int8, np.bool_])
def test_positions_in_columns_take_one_vector_loop(dtype):
    loops = loops_of(lambda x: jnp.argmax(x, 1), (100, 20, 24), dtype)
    assert [len(loads(s)) for s in loops if s.carries] == [1]


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16", "float64", "int8", "uint32", "bool"])
@pytest.mark.parametrize(("shape", "axis"), [((5, 35), 0), ((3, 7, 9), 1), ((40, 1, 17), 0), ((1, 16), 0)])
def test_positions_in_columns(dtype, shape, axis, rng, x64):
    dtype = np.dtype(getattr(ml_dtypes, dtype, dtype))
    real = dtype.kind in "fV"
    least = -np.inf if real else 0 if dtype.kind == "b" else np.iinfo(dtype).min
    for fill in ("random", "ties", "nan", "least"):
        x = (rng.normal(size=shape) * 3 * (fill in ("random", "nan"))).astype(np.float32).astype(dtype)
        if fill == "nan" and real:
            x[rng.random(shape) < 0.2] = np.nan
        if fill == "least":
            x[...] = least
        known = x.astype(np.float64) if real else x
        for ours, theirs in ((jnp.argmax, np.argmax), (jnp.argmin, np.argmin)):
            np.testing.assert_array_equal(nj.jit(lambda x, ours=ours: ours(x, axis))(x), theirs(known, axis))


@pytest.mark.parametrize(("dtype", "function", "init"), [
    (np.bool_, lax.bitwise_or, False), (np.bool_, lax.max, False), (np.int8, lax.max, np.int8(-128)),
    (np.float32, lax.add, np.float32(0))])
def test_windows_have_no_tests_of_bounds_and_carry_no_truth_values(dtype, function, init):
    loops = loops_of(lambda x: lax.reduce_window(x, init, function, (3, 3), (1, 1), "SAME"), (60, 70), dtype)
    carries = [c for s in loops for c in s.carries]
    assert not any(c.var.dtype == BOOL for c in carries)
    combined = [e for s in loops if s.carries for e in loads(s)]
    assert combined and not any(len(e.args) == 2 for e in combined)


@pytest.mark.parametrize(("dilation", "padding"), [((1, 1), ((2, 1), (0, 3))), ((2, 1), ((0, 2), (-1, 1))),
                                                   ((3, 2), ((-2, -1), (4, -3)))])
def test_windows_of_padded_and_dilated_truth_values(dilation, padding, rng):
    x = rng.random((9, 8)) > 0.7
    window = lambda x, init: lax.reduce_window(x, init, lax.bitwise_xor, (3, 2), (1, 2), padding, dilation, (1, 2))
    np.testing.assert_array_equal(nj.jit(window)(x, False), window(x, False))
    sums = nj.jit(window)(x.astype(np.int32), np.int32(0))
    np.testing.assert_array_equal(nj.jit(window)(x, False), np.asarray(sums) == 1)


def test_windows_of_padding_only_combine_its_values():
    """The first value with one for each element of the window, though the array beneath is empty."""
    first = np.int32(3)
    sums = nj.jit(lambda x: lax.reduce_window(x, first, lax.add, (2,), (1,), ((2, 1),)))(np.zeros(0, np.int32))
    assert sums.tolist() == [9, 9]
