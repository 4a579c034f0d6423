"""Short rows: loops over many rows at once, where the operands repeat from row to row."""
from __future__ import annotations

import numpy as np
import pytest

import numjet as nj
import numjet.numpy as jnp
from numjet import lax
from numjet.api.stages import trace_call
from numjet.cpu.ir.nodes import For, Store
from numjet.cpu.ir.traversal import walk
from numjet.cpu.lowering.arrays.row_tiles import LANES, LEAST_TILES, tile_of
from numjet.cpu.lowering.lower import lower
from numjet.foundation.config import Override
from numjet.transforms.simplify import simplify

COLUMNS = (2, 3, 4, 5, 7, 8, 9, 12, 13, 16, 17, 20, 24, 33, 50)


def values(*shape, dtype=np.float32, seed=0):
    return (np.random.default_rng(seed).normal(size=shape) * 8).astype(dtype)


def vector_loops(fun, *args):
    function = lower(simplify(trace_call(fun, tuple(map(jnp.asarray, args)), {})[0]), "f").function
    return [s for s in walk(function.body) if isinstance(s, For) and s.mode == "vector"]


def centred(x, row):
    return jnp.maximum(x - row, 0) * row + 1


def test_tiles_are_whole_rows_and_whole_registers():
    assert tile_of(0) == 0
    found = {row: tile_of(row) for row in range(1, 200)}
    assert all(t % row == 0 and t % LANES == 0 for row, t in found.items())
    assert found[3] == 96 and found[16] == 128 and found[50] == 400 and found[33] == found[128] == 0


@pytest.mark.parametrize("columns", COLUMNS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32, np.uint8, np.float16])
def test_values(columns, dtype):
    for rows in (1, 7, LEAST_TILES * max(tile_of(columns), 16) // columns + 5, 2000):
        x, row = values(rows, columns, dtype=dtype), values(columns, dtype=dtype, seed=1)
        with nj.enable_x64(True):
            np.testing.assert_array_equal(nj.jit(centred)(x, row), np.maximum(x - row, 0) * row + np.ones((), dtype))
            got = nj.jit(lambda x, row: (x - row).max(0))(x, row)
            np.testing.assert_array_equal(got, (x - row).max(0))
            sums = nj.jit(lambda x, row: ((x - row).sum(0), x.sum(0)))(x, row)
            for got, want in zip(sums, ((x - row), x), strict=True):
                exact = want.astype(np.float64).sum(0)
                scale = np.abs(want.astype(np.float64)).sum(0).max()
                kind = np.iinfo(got.dtype) if got.dtype.kind in "iu" else None
                if kind is None:
                    np.testing.assert_allclose(got.astype(np.float64), exact, atol=8 * float(jnp.finfo(got.dtype).eps) * scale)
                else:
                    np.testing.assert_array_equal(got, want.sum(0).astype(got.dtype))


@pytest.mark.parametrize("shape, axes", [((40, 30, 3), (0, 1)), ((500, 2, 3), (0,)), ((30, 4, 10, 5), (0, 1, 2))])
def test_several_axes(shape, axes):
    x, row = values(*shape), values(*shape[len(axes):], seed=1)
    got = nj.jit(lambda x, row: jnp.sum((x - row) ** 2, axes))(x, row)
    np.testing.assert_allclose(got, ((x.astype(np.float64) - row) ** 2).sum(axes), rtol=1e-5)
    np.testing.assert_array_equal(nj.jit(centred)(x, row), np.maximum(x - row, 0) * row + 1)


@pytest.mark.parametrize("columns", [3, 8, 12])
def test_one_store_for_all_columns(columns):
    x, row = values(3000, columns), values(columns)
    for fun in (centred, lambda x, row: ((x - row) ** 2).sum(0)):
        tiled = [loop for loop in vector_loops(fun, x, row) if loop.stop.attr == tile_of(columns)]
        assert tiled and all(sum(isinstance(s, Store) for s in loop.body) == 1 for loop in tiled)


@pytest.mark.parametrize("shape", [(16, 0, 9), (0, 3), (50, 0)])
def test_no_elements(shape):
    x, row = np.zeros(shape, np.float32), np.zeros(shape[1:], np.float32)
    np.testing.assert_array_equal(nj.jit(lambda x, row: (x - row).sum(0))(x, row), x.sum(0))
    assert nj.jit(centred)(x, row).shape == shape


def test_rows_of_two_lengths_stay_apart():
    x, three, six = values(600, 6), values(3, seed=1), values(6, seed=2)
    f = lambda x, a, b: (x.reshape(-1, 3) * a).reshape(-1, 6) + b
    np.testing.assert_array_equal(nj.jit(f)(x, three, six), x * np.tile(three, 2) + six)


def test_columns_that_do_not_repeat():
    x, row, column = values(900, 3), values(3), values(900, 1)
    np.testing.assert_array_equal(nj.jit(lambda x, r, c: (x - r) * c)(x, row, column), (x - row) * column)


def test_in_loops_and_branches():
    x, row = values(800, 3), values(3)

    def f(x, row):
        def body(c, _):
            c = lax.cond(c[0, 0] > 0, lambda c: c - row, lambda c: c + row * 2, c)
            return c * 0.5, (c - c.mean(0)).max(0)
        return lax.scan(body, x, None, length=3)
    with nj.disable_jit():
        want = f(x, row)
    for g, w in zip(nj.jit(f)(x, row), want, strict=True):
        np.testing.assert_allclose(g, w, rtol=1e-5, atol=1e-6)


def test_derivatives_and_batches():
    x, row = values(700, 5), values(5)
    loss = lambda x, row: jnp.sum(jnp.tanh(x * row) ** 2)
    for g, w in zip(nj.jit(nj.grad(loss, (0, 1)))(x, row), nj.grad(loss, (0, 1))(x, row), strict=True):
        np.testing.assert_allclose(g, w, rtol=2e-4, atol=1e-4)
    rows = values(4, 5, seed=3)
    np.testing.assert_array_equal(nj.jit(nj.vmap(centred, (None, 0)))(x, rows), [centred(x, r) for r in rows])


def test_rows_computed_where_they_are_read_and_donated():
    x = values(1000, 3)
    want = (x - x.mean(0)) / x.std(0)
    normalised = lambda x: (x - x.mean(0)) / x.std(0)
    np.testing.assert_allclose(nj.jit(normalised)(x), want, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(nj.jit(normalised, donate_argnums=0)(jnp.array(x)), want, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(nj.jit(lambda x: x - x[0])(x), x - x[0])
    np.testing.assert_array_equal(nj.jit(lambda x: x - x[0], donate_argnums=0)(jnp.array(x)), x - x[0])


@pytest.mark.parametrize("columns, dtype, fun, stores", [
    (8, np.float32, jnp.tanh, 1), (7, np.float32, jnp.tanh, 7), (3, np.float32, lambda x: x * 2, 3),
    (4, np.float32, lambda x: x * 2, 1), (8, np.uint8, lambda x: x * 2, 8), (8, np.float64, lambda x: x * 2, 1)])
def test_rows_that_lie_apart_are_written_out_where_lanes_are_few(columns, dtype, fun, stores):
    with nj.enable_x64(True):
        x = np.ones((500, 2 * columns), dtype)
        (loop,) = vector_loops(lambda x: fun(x[:, :columns]), x)
    assert sum(isinstance(s, Store) for s in loop.body) == stores


@pytest.mark.parametrize("columns", [3, 8, 12])
def test_what_tiles_read_is_named(columns):
    """Under jax_enable_checks deferred arrays say what they read; a tile is a copy of the row that they name."""
    x, row = values(2000, columns), values(columns, seed=1)
    with Override("jax_enable_checks", True):
        np.testing.assert_array_equal(nj.jit(centred)(x, row), np.maximum(x - row, 0) * row + 1)
        sums = nj.jit(lambda x, row: jnp.square(jnp.sin(x) - jnp.sin(row)).sum(0))(x, row)
        drawn = nj.random.categorical(nj.random.key(0), row[:columns], shape=(2000,))
    np.testing.assert_allclose(sums, np.square(np.sin(x) - np.sin(row)).sum(0), rtol=1e-5)
    assert drawn.shape == (2000,)
