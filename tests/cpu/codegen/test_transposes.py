"""Transposed operands: squares that are transposed in registers, their edges, and where they are not used."""
from __future__ import annotations

import numpy as np
import pytest

import numjet as nj
from numjet import _native, numpy as jnp
from numjet.api.stages import trace_call
from numjet.cpu.codegen import llvm
from numjet.cpu.ir.nodes import For
from numjet.cpu.ir.traversal import walk
from numjet.cpu.lowering.lower import lower
from numjet.cpu.native_code import jit
from numjet.foundation import dtypes
from numjet.foundation.config import enable_x64
from numjet.transforms.simplify import simplify
from tests.cpu.loops import plan, prepared, targets

DTYPES = ("float32", "float64", "int8", "uint16", "int64", "bool", "float16", "bfloat16", "complex64")


def function_of(fun, *args):
    return plan(lower(simplify(trace_call(fun, tuple(map(jnp.asarray, args)), {})[0]), "f").function)


def numbers(shape, dtype, seed=0):
    return (np.random.default_rng(seed).integers(-90, 90, shape) > 0 if dtype == "bool" else
            np.random.default_rng(seed).integers(0, 90, shape)).astype(np.dtype(getattr(dtypes, dtype, dtype)))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape, axes", [
    ((64, 64), (1, 0)), ((33, 47), (1, 0)), ((300, 5), (1, 0)), ((5, 300), (1, 0)), ((2, 17, 40), (0, 2, 1)),
    ((40, 3, 37), (2, 1, 0)), ((20, 2, 30), (2, 0, 1)), ((3, 18, 1, 21), (3, 0, 2, 1))], ids=str)
def test_transposed_copies(shape, axes, dtype):
    x = numbers(shape, dtype)
    with enable_x64():
        out = np.asarray(nj.jit(lambda x: jnp.transpose(x, axes))(x))
    assert out.dtype == x.dtype and out.tobytes() == np.ascontiguousarray(x.transpose(axes)).tobytes()


@pytest.mark.parametrize("target", targets().values(), ids=targets().keys())
@pytest.mark.parametrize("shape", [(48, 64), (50, 70), (4, 400), (400, 3)], ids=str)
def test_sums_with_transposes_on_every_machine(shape, target):
    x, y = numbers(shape, "float32"), numbers(shape[::-1], "float32", 1)
    result = prepared(function_of(lambda x, y: x.T * 2 + y, x, y), target=target)([x, y])
    assert result.outputs[0].tolist() == (x.T * 2 + y).reshape(-1).tolist()


def test_operands_of_two_widths():
    x, y = numbers((40, 50), "int16"), numbers((50, 40), "float64", 1)
    with enable_x64():
        out = nj.jit(lambda x, y: (x.T.astype(y.dtype) + y, x.T))(x, y)
    assert np.asarray(out[0]).tolist() == (x.T + y).tolist() and np.asarray(out[1]).tolist() == x.T.tolist()


def test_whole_squares_need_no_gather():
    x, y = numbers((64, 128), "float32"), numbers((128, 64), "float32", 1)
    text = llvm.emit(function_of(lambda x, y: x.T + y, x, y), jit.host())
    assert "gather" not in str(text)


def test_costly_definitions_are_not_written_out():
    """One copy of a long body, whose operand is gathered, instead of one per row of a square."""
    fun = lambda x, y: jnp.exp(jnp.sin(x.T) + jnp.log(y)) / jnp.tanh(x.T * y) + jnp.cos(y) * jnp.sqrt(x.T + 7)
    x, y = np.random.default_rng(0).uniform(1, 2, (2, 64, 64)).astype(np.float32)
    assert not any(isinstance(s, For) and s.mode == "unroll" for s in walk(function_of(fun, x, y).body))
    expected = np.exp(np.sin(x.T) + np.log(y)) / np.tanh(x.T * y) + np.cos(y) * np.sqrt(x.T + 7)
    np.testing.assert_allclose(np.asarray(nj.jit(fun)(x, y)), expected, rtol=1e-5)


@pytest.mark.parametrize("shape, tiled", [((512, 512), True), ((500, 500), False), ((2048, 3), False)], ids=str)
def test_costly_definitions_go_by_tiles_where_their_lines_share_places_in_the_cache(shape, tiled):
    fun = lambda x, y: jnp.exp(jnp.sin(x.T) + jnp.log(y)) / jnp.tanh(x.T * y)
    x, y = (np.random.default_rng(k).uniform(1, 2, s).astype(np.float32) for k, s in enumerate((shape, shape[::-1])))
    loops = [s for s in walk(function_of(fun, x, y).body) if isinstance(s, For)]
    assert len(loops) == (4 if tiled else 2)
    np.testing.assert_allclose(np.asarray(nj.jit(fun)(x, y)), np.exp(np.sin(x.T) + np.log(y)) / np.tanh(x.T * y), rtol=1e-5)


def test_a_donated_operand_is_not_overwritten_before_it_is_read():
    x, y = numbers((64, 64), "float32"), numbers((64, 64), "float32", 1)
    out = nj.jit(lambda x, y: x.T + y, donate_argnums=(0,))(jnp.asarray(x), jnp.asarray(y))
    assert np.asarray(out).tolist() == (x.T + y).tolist()


def test_inside_of_a_loop_that_updates_the_operand():
    def run(x):
        return nj.lax.fori_loop(0, 5, lambda k, x: x.T + x * k, x)
    x = numbers((48, 48), "float32")
    expected = x.astype(np.float32)
    for k in range(5):
        expected = expected.T + expected * np.float32(k)
    assert np.asarray(nj.jit(run)(x)).tolist() == expected.tolist()


@pytest.mark.parametrize("shape", [(1000, 900), (976, 1001), (300, 3000)], ids=str)
def test_blocks_of_any_shape_are_shared_among_threads(shape):
    x = jnp.asarray(numbers(shape, "float32"))
    fun = nj.jit(lambda x: x.T * 2)
    before = _native.parallel_regions()
    assert np.asarray(fun(x)).tolist() == (np.asarray(x).T * 2).tolist()
    assert _native.parallel_regions() > before or _native.num_threads() == 1


def test_short_axes_around_squares_are_loops():
    x = numbers((8, 128, 8, 32), "float32")
    function = function_of(lambda x: jnp.transpose(x, (0, 2, 3, 1)), x)
    assert sum(isinstance(s, For) and s.mode == "vector" for s in walk(function.body)) == 1
    out = np.asarray(nj.jit(lambda x: jnp.transpose(x, (0, 2, 3, 1)))(x))
    assert out.tolist() == x.transpose(0, 2, 3, 1).tolist()
