"""Compiled scatters of many updates: windows as a whole, chunks with partial results, rests of both."""
from __future__ import annotations

import numpy as np
import pytest

import numjet as nj
import numjet.numpy as jnp
from numjet import _native, lax
from numjet.api.stages import trace_call
from numjet.core.op import lookup
from numjet.cpu.ir.nodes import For
from numjet.cpu.ir.traversal import expressions, nodes, operands, walk
from numjet.cpu.lowering.lower import lower
from numjet.lax.indexing.dimension_numbers import GatherScatterMode, ScatterDimensionNumbers
from numjet.lax.indexing.scatter_chunks import CHUNKED_FROM
from numjet.transforms.simplify import simplify

UFUNCS = {"add": np.add, "min": np.minimum, "max": np.maximum}


def updated(name, places, size, updates, start):
    """The scatter along axis 0 by NumPy, in double precision; places that are out of bounds are left out."""
    out = start.astype(np.float64)
    kept = (places >= 0) & (places < size)
    UFUNCS[name].at(out, places[kept], updates.astype(np.float64)[kept])
    return out


def scattered(name, x, places, updates):
    return nj.jit(lambda x, i, u: getattr(x.at[i], name)(u))(x, places, updates)


@pytest.mark.parametrize("name", ["add", "min", "max"])
@pytest.mark.parametrize("count, size, tail", [
    (CHUNKED_FROM + 5, 100, ()), (CHUNKED_FROM // 8 + 3, 20, (8,)), (5001, 7, (4, 16)), (300_000, 1, ())], ids=str)
def test_many_updates(name, count, size, tail):
    rng = np.random.default_rng(0)
    places = rng.integers(0, size + size // 5, count)  # some out of bounds
    updates = rng.normal(size=(count, *tail)).astype(np.float32)
    start = rng.normal(size=(size, *tail)).astype(np.float32)
    out = scattered(name, start, places, updates)
    np.testing.assert_allclose(out, updated(name, places, size, updates, start), rtol=1e-4, atol=2e-2 if size == 1 else 5e-3)


def test_integers_wrap_and_halves_round():
    places = np.random.default_rng(0).integers(0, 16, CHUNKED_FROM)
    ones = np.full(CHUNKED_FROM, 3, np.int8)
    out = scattered("add", np.zeros(16, np.int8), places, ones)
    assert np.asarray(out).tolist() == (np.bincount(places) * 3).astype(np.int8).tolist()


def test_places_without_updates_keep_their_bits():
    places = np.zeros(CHUNKED_FROM, np.int32)
    start = np.array([1.0, -0.0, 0.0, np.nan, np.inf, -np.inf], np.float32)
    out = np.asarray(scattered("add", start, places, np.full(CHUNKED_FROM, 0.5, np.float32)))
    assert out[1:].tobytes() == start[1:].tobytes() and out[0] == 1 + CHUNKED_FROM / 2


def test_results_do_not_depend_on_threads():
    rng, before, results, shared = np.random.default_rng(0), _native.num_threads(), [], []
    places, updates = rng.integers(0, 64, CHUNKED_FROM), rng.normal(size=CHUNKED_FROM).astype(np.float32)
    try:
        for count in (1, 2):
            _native.set_num_threads(count)
            regions = _native.parallel_regions()
            results.append(np.asarray(scattered("add", np.zeros(64, np.float32), places, updates)).tobytes())
            shared.append(_native.parallel_regions() - regions)
    finally:
        _native.set_num_threads(before)
    assert results[0] == results[1] and shared[0] == 0


@pytest.mark.parametrize("mode", [GatherScatterMode.FILL_OR_DROP, GatherScatterMode.CLIP], ids=lambda mode: mode.name)
@pytest.mark.parametrize("name", ["scatter", "scatter-add", "scatter-max"])
def test_windows_that_overlap_come_in_order(name, mode):
    """Windows of 3 x 20 at places that leave the operand; the axes of windows stand in front."""
    rng = np.random.default_rng(0)
    operand = rng.normal(size=(6, 20)).astype(np.float32)
    places = rng.integers(-1, 6, (40, 1)).astype(np.int32)
    updates = rng.normal(size=(3, 20, 40)).astype(np.float32)
    params = {"dimension_numbers": ScatterDimensionNumbers((0, 1), (), (0,)), "mode": mode, "indices_are_sorted": False,
              "unique_indices": False, "update_jaxpr": None, "update_consts": ()}
    op = lookup(name)
    expected = op.eager(operand, places, updates, **params)
    out = nj.jit(lambda *args: op.bind(*args, **params))(operand, places, updates)
    np.testing.assert_allclose(out, expected, rtol=1e-5, atol=1e-5)


def test_what_costs_is_computed_before_and_not_between_updates_that_go_in_order():
    def count(x, w):
        bins = (nj.numpy.exp(x) * 10).astype(np.int32)
        return nj.numpy.zeros(50).at[bins].add(w)
    args = np.linspace(-3, 1.7, 300).astype(np.float32), np.ones(300, np.float32)
    body = lower(trace_call(count, args, {})[0], "f").function.body
    operations = lambda e: {e.op}.union(*map(operations, e.args))
    serial = [s for s in walk(body) if isinstance(s, For) and s.mode == "serial"]
    assert serial
    assert not any("exp" in operations(e) for loop in serial for s in walk(loop.body) for e in operands(s))
    expected = np.bincount((np.exp(args[0]) * 10).astype(np.int32), minlength=50)[:50]
    np.testing.assert_array_equal(nj.jit(count)(*args), expected)


def test_an_index_of_several_axes_is_not_divided_between_updates_that_go_in_order():
    rows = np.random.default_rng(0).integers(0, 90, (40, 40, 60)).astype(np.int32)
    image = np.random.default_rng(1).standard_normal((40, 40)).astype(np.float32)
    votes = lambda m: nj.numpy.zeros((90, 60), m.dtype).at[rows, np.arange(60)].add(m[..., None])
    function = lower(nj.make_jaxpr(votes)(image), "f").function
    serial = [s for s in walk(function.body) if isinstance(s, For) and s.mode == "serial" and not any(
        isinstance(inner, For) for inner in walk(s.body))]
    assert serial and not any(e.op in ("div", "rem") for s in serial[:1] for e in nodes(expressions(s.body)))
    expected = np.zeros((90, 60))
    np.add.at(expected, (rows, np.arange(60)), image[..., None])
    np.testing.assert_allclose(nj.jit(votes)(image), expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("mode", ["clip", "drop"])
@pytest.mark.parametrize("name", ["scatter", "scatter_add", "scatter_mul", "scatter_max"])
@pytest.mark.parametrize("shape, axis, dtype", [((7, 10), 1, np.float32), ((33, 3), 0, np.float16), ((2, 17, 3), 1, np.float32),
                                                ((5, 1), 1, np.int32)])
def test_numbers_put_into_rows_that_are_nowhere_in_memory(shape, axis, dtype, name, mode):
    """They are compared element by element, with the bits of updates in place; so is the derivative of a gather."""
    rng, put = np.random.default_rng(3), getattr(lax, name)
    rows = tuple(d for d in range(len(shape)) if d != axis)
    kept = tuple(shape[d] for d in rows)
    numbers = lax.ScatterDimensionNumbers((), (axis,), (axis,), rows, tuple(range(len(rows))))
    indices, updates = rng.integers(-2, shape[axis] + 2, (*kept, 1)), (-rng.integers(0, 3, kept)).astype(dtype) * dtype(1)
    in_place = nj.jit(lambda x, i, u: put(x, i, u, numbers, mode=mode))(jnp.full(shape, -0.0, dtype), indices, updates)
    compared = nj.jit(lambda i, u: put(jnp.full(shape, -0.0, dtype), i, u, numbers, mode=mode))
    assert np.asarray(compared(indices, updates)).tobytes() == np.asarray(in_place).tobytes()


@pytest.mark.parametrize("picked", [lambda x, labels: jnp.take_along_axis(x, labels[:, None], 1),
                                    lambda x, labels: x[jnp.arange(labels.size), labels]])
def test_the_derivative_of_a_cross_entropy_stores_no_zeros(picked):
    def loss(x, labels):
        return -jnp.mean(picked(nj.nn.log_softmax(x), labels))
    x, labels = np.random.default_rng(4).normal(size=(300, 10)).astype(np.float32), np.arange(300) % 10
    assert "scatter-add f32[300,10]: fused" in str(nj.explain(nj.grad(loss))(x, labels))
    shifted = np.exp(x - x.max(1, keepdims=True))
    expected = (shifted / shifted.sum(1, keepdims=True) - np.eye(10)[labels]) / 300
    np.testing.assert_allclose(nj.jit(nj.grad(loss))(x, labels), expected, rtol=1e-5, atol=1e-7)


# What indexes (5, 5) or (5, 5, 3) by labels along one axis and by a count along another.
COUNTED = {
    "rows": lambda x, i: x[jnp.arange(5), i], "columns": lambda x, i: x[i, jnp.arange(5)],
    "set": lambda x, i: x.at[jnp.arange(5), i].set(7.0), "add": lambda x, i: x.at[i, jnp.arange(5)].add(2.0),
    "multiply": lambda x, i: x.at[jnp.arange(5), i].multiply(2.0), "min": lambda x, i: x.at[jnp.arange(5), i].min(0.0),
    "drop": lambda x, i: x.at[jnp.arange(5), i].set(3.0, mode="drop"),
    "fill": lambda x, i: x.at[jnp.arange(5), i].get(mode="fill", fill_value=-1.0),
    "diagonal": lambda x, i: x[jnp.arange(5), jnp.arange(5)],
    "bytes": lambda x, i: x[jnp.arange(5, dtype=jnp.int8), i], "table": lambda x, i: x[jnp.arange(5)[:, None], i[None]],
    "table of sums": lambda x, i: x.at[jnp.arange(5)[:, None], i[None]].add(1.0),
    "two counts": lambda x, i: x[jnp.arange(5)[:, None], jnp.arange(5)[None], i[:, None] % 3] if x.ndim == 3 else x[i]}
UNCOUNTED = {
    "part": lambda x, i: x[jnp.arange(4), i[:4]], "reversed": lambda x, i: x[jnp.arange(5)[::-1], i],
    "shifted": lambda x, i: x[jnp.arange(5) - 1, i],
    "apart": lambda x, i: x[i, :, jnp.arange(5) % 3] if x.ndim == 3 else x[i]}


@pytest.mark.parametrize("name", [*COUNTED, *UNCOUNTED])
def test_indices_that_count_rows(name):
    """The compiled program pairs the axes where it may; values and gradients are those of the operations one by one."""
    function = {**COUNTED, **UNCOUNTED}[name]
    squares = lambda x, i: jnp.sum(function(x, i) ** 2)
    both = nj.jit(lambda x, i: (function(x, i), nj.grad(squares)(x, i), nj.vmap(function, (None, 0))(x, jnp.stack([i, i]))))
    for shape in ((5, 5), (5, 5, 3)):
        x = jnp.asarray(np.random.default_rng(0).normal(size=shape), np.float32)
        for i in (jnp.array([0, 4, 4, 1, 2]), jnp.array([-1, 0, 0, -5, 3])):
            want = function(x, i)
            for a, b in zip(both(x, i), (want, nj.grad(squares)(x, i), jnp.stack([want, want])), strict=True):
                np.testing.assert_array_equal(a, b)
    program = str(simplify(nj.make_jaxpr(function)(x if name == "two counts" else x[:, :, 0], i)))
    assert ("batching_dims=(0" in program or "batching_dims=(1" in program) == (name in COUNTED)
