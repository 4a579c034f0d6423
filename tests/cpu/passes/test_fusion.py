"""Loops over the same data are one: counted in nj.explain, in loads and bytes of the loop IR, and their values compared."""
from __future__ import annotations

import numpy as np
import pytest

import numjet as nj
import numjet.numpy as jnp
from numjet import lax
from numjet.api.stages import trace_call
from numjet.cpu import compiler
from numjet.cpu.ir.nodes import For
from numjet.cpu.ir.parser import parse
from numjet.cpu.native_code import jit
from numjet.cpu.passes import fusion
from numjet.cpu.passes.fusion import fuse
from numjet.cpu.verification.interpreter import interpret
from numjet.cpu.verification.verifier import check
from numjet.foundation.config import index_checks
from numjet.transforms.simplify import simplify
from tests.cpu.loops import agree

ROWS, COLUMNS = 300, 700


def values(*shape, dtype=np.float32, seed=0):
    return np.random.default_rng(seed).normal(size=shape).astype(dtype)


def planned(fun, *args):
    return compiler.planned(simplify(trace_call(fun, tuple(map(jnp.asarray, args)), {})[0]), "f")


def top_loops(fun, *args):
    return nj.explain(fun)(*args).loops


def temporaries(fun, *args):
    return sum(t.nbytes for t in planned(fun, *args).temps)


def close(fun, *args, tolerance=2e-5):
    with nj.disable_jit():
        want = nj.tree.leaves(fun(*map(jnp.asarray, args)))
    for g, w in zip(nj.tree.leaves(nj.jit(fun)(*args)), want, strict=True):
        scale = max(1.0, float(np.nanmax(np.abs(np.where(np.isfinite(w), w, 0.0))))) if w.size else 1.0
        np.testing.assert_allclose(np.asarray(g, np.float64), np.asarray(w, np.float64), rtol=tolerance, atol=tolerance * scale)


def moments(x):
    return jnp.sum(x), jnp.sum(x * x), jnp.min(x), jnp.max(x)


def layer_norm(x, scale, shift):
    mean = x.mean(-1, keepdims=True)
    variance = ((x - mean) ** 2).mean(-1, keepdims=True)
    return (x - mean) * lax.rsqrt(variance + 1e-5) * scale + shift



# --- what is one loop

@pytest.mark.parametrize("fun, operands", [
    (moments, 1), (lambda x: (jnp.sum(jnp.exp(x)), jnp.sum(jnp.exp(x) * x)), 1),
    (lambda x, y: (jnp.sum(x * y), jnp.sum(y)), 2)])
def test_reductions_of_one_array_share_a_loop(fun, operands):
    args = [values(1 << 18, seed=k) for k in range(operands)]
    (loop,) = [one for one in top_loops(fun, *args) if one.trips[0] and one.trips[0] > 1000]
    assert len(loop.writes) >= 2
    close(fun, *args)
    assert temporaries(fun, *args) < 1 << 16


def test_the_place_of_the_largest_is_found_beside_it():
    x = values(1 << 18)
    assert len(top_loops(lambda x: (jnp.max(x), jnp.argmax(x), jnp.sum(x)), x)) == 2
    close(lambda x: (jnp.max(x), jnp.argmax(x)), x)


def test_reductions_of_different_arrays_do_not():
    fun = lambda x, y: (jnp.sum(x), jnp.sum(y))
    assert len(top_loops(fun, values(1 << 18), values(1 << 18))) == 2


@pytest.mark.parametrize("axis", [0, 1, (0, 2), (1, 2)])
def test_sums_over_any_axes(axis):
    x = values(60, 80, 90)
    fun = lambda x: (jnp.sum(x, axis), jnp.sum(x * x, axis))
    one, two = (nj.explain(f)(x) for f in (lambda x: jnp.sum(x, axis), fun))
    assert len(list(two.all_loops())) <= len(list(one.all_loops())) + 4
    close(fun, x)


@pytest.mark.parametrize("fun, inside", [
    (lambda x: nj.nn.softmax(x, -1), 3), (lambda x: nj.nn.log_softmax(x, -1), 3), (lambda x: (x.mean(-1), x.var(-1)), 2),
    (lambda x: layer_norm(x, 1.5, 0.5), 3),
    (nj.grad(lambda x: jnp.sum(jnp.sin(nj.nn.softmax(x, -1)))), 4),
    (nj.grad(lambda x: jnp.sum(jnp.sin(nj.nn.log_softmax(x, -1)))), 5),
    (nj.grad(lambda x: jnp.sum(jnp.sin(layer_norm(x, 1.5, 0.5)))), 5)])
def test_rows_stay_in_the_cache(fun, inside):
    """One loop over rows, with a fixed number of passes over each."""
    x = values(ROWS, COLUMNS)
    rows = [one for one in top_loops(fun, x) if one.inside]
    assert len(rows) == 1 and rows[0].trips == (ROWS,)
    assert len(rows[0].inside) <= inside
    assert temporaries(fun, x) < ROWS * COLUMNS
    close(fun, x)


def test_a_few_long_rows_one_after_the_other():
    x = values(7, 20000)
    (loop,) = [one for one in top_loops(lambda x: nj.nn.softmax(x, -1), x) if one.inside]
    assert loop.trips == (7,) and [inner.trips for inner in loop.inside] == [(20000,)] * 2
    close(lambda x: nj.nn.softmax(x, -1), x)


def test_short_rows_are_lanes():
    x = values(30000, 6)
    fun = nj.value_and_grad(lambda x: jnp.sum(jnp.sin(nj.nn.log_softmax(x, -1))))
    (loop,) = [one for one in top_loops(fun, x) if one.trips[0] == 30000]
    assert loop.mode == "vector" and not loop.inside and temporaries(fun, x) < 1 << 16
    close(fun, x)
    close(lambda x: jnp.sum(jnp.cumsum(x, 1) * x), values(3000, 2, 3))


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16, jnp.bfloat16])
def test_rows_of_other_dtypes_and_special_values(dtype):
    with nj.enable_x64(dtype == np.float64):
        x = values(40, 300).astype(dtype)
        x[3, 5], x[4, 6], x[5, 7], x[6, :] = np.nan, np.inf, -np.inf, -np.inf
        tolerance = 2e-5 if np.dtype(dtype).itemsize >= 4 else 3e-2
        for fun in (lambda x: nj.nn.softmax(x, -1), lambda x: layer_norm(x, 1.5, 0.5), lambda x: (x.max(-1), x.sum(-1))):
            close(fun, x, tolerance=tolerance)


def test_empty_and_single_rows():
    for shape in ((0, 300), (300, 0), (1, 3000), (3000, 1)):
        close(lambda x: (jnp.sum(x, -1), jnp.sum(x * x, -1)), values(*shape))
        close(lambda x: x / (1 + jnp.sum(x, -1, keepdims=True) ** 2), values(*shape))


def test_the_number_of_threads_changes_nothing():
    fun = nj.jit(nj.value_and_grad(lambda x: jnp.sum(jnp.sin(nj.nn.softmax(x, -1)))))
    x, found = values(2000, 333), []
    before = nj.config.num_threads
    try:
        for threads in (1, 2):
            nj.config.update("num_threads", threads)
            found.append([np.asarray(a) for a in fun(x)])
    finally:
        nj.config.update("num_threads", before)
    for one, other in zip(*found, strict=True):
        np.testing.assert_array_equal(one, other)


def test_explain_tells_of_rows():
    report = nj.explain(nj.grad(lambda x: jnp.sum(jnp.sin(nj.nn.log_softmax(x, -1)))))(values(ROWS, COLUMNS))
    assert any(o.fate == "fused" and "row" in o.why or "iteration" in o.why for o in report.operations)


def test_more_memory_is_not_taken():
    """Products of arrays that are all made of x are finished one by one, though one loop for all would read x once."""
    x = values(400, 300)
    fun = lambda x: sum(jnp.sum((x * k) @ x.T) for k in range(8))
    assert nj.explain(fun)(x).scratch_bytes < 4 * 400 * 400 * 4


# --- what may be joined, on loop IR

def joined(text, *inputs):
    """Loops of the outermost block before and after, with the same results."""
    function, same = parse(text), parse(text)
    before = [a.copy() for a in interpret(same, list(inputs)).outputs]
    fuse(function, jit.host())
    check(function)
    for got, want in zip(agree(function, list(inputs)).outputs, before, strict=True):
        np.testing.assert_array_equal(got, want)
    return tuple(sum(isinstance(s, For) for s in f.body) for f in (same, function))


N = 20000
HEAD = f"function f(x: float32[{N}]) -> (y: float32[{N}], z: float32[{N}]) scratch 0 {{\n"


def loops(first, second, between=""):
    stop = N - 2
    return (f"{HEAD}  for i in 1 .. {stop} vector () {{\n    {first}\n  }} -> ()\n{between}"
            f"  for j in 1 .. {stop} vector () {{\n    {second}\n  }} -> ()\n}}\n")


@pytest.mark.parametrize("first, second, count", [
    ("store y[i] = add(x[i], 1.0:float32)", "store z[j] = mul(y[j], x[j])", 1),
    ("store y[i] = add(x[i], 1.0:float32)", "store z[j] = mul(y[add(j, 1)], x[j])", 2),   # what comes later
    ("store y[i] = add(x[i], 1.0:float32)", "store z[j] = mul(y[sub(j, 1)], x[j])", 2),   # of another iteration
    ("store y[i] = add(x[i], z[add(i, 1)])", "store z[j] = x[j]", 2),                     # would be overwritten too early
    ("store y[i] = add(x[i], 1.0:float32)", "store y[j] = mul(y[j], x[j])", 1),
    ("store y[i] = add(x[i], 1.0:float32)", "store z[j] = mul(y[7], x[j])", 2)])          # an element that all need
def test_iterations_that_need_each_other(first, second, count):
    assert joined(loops(first, second), values(N)) == (2, count)


def test_what_stands_between_moves_or_holds_loops_apart():
    first, second = "store y[i] = add(x[i], 1.0:float32)", "store z[j] = mul(v9, x[j])"
    assert joined(loops(first, second, "  let v9: float32 = x[3]\n"), values(N)) == (2, 1)
    assert joined(loops(first, second, "  let v9: float32 = y[3]\n"), values(N)) == (2, 2)


@pytest.mark.parametrize("check, second, count", [
    ("deferrable", "store z[j] = x[j]", 1), ("", "store z[j] = x[j]", 2),
    ("deferrable", "while (n: int64 = 0) {\n test lt(n, 1)\n next n = add(n, 1)\n } -> (m)\n store z[j] = x[j]", 2)])
def test_checks_that_may_be_deferred_stay_behind(check, second, count):
    """But for loops that may never end."""
    between = f"  check lt(y[3], 9.0:float32) code 1 values () {check}\n"
    assert joined(loops("store y[i] = add(x[i], 1.0:float32)", second, between), values(N)) == (2, count)


def test_loops_of_several_arrays_join_those_of_each():
    """The least and greatest index along two axes are found by the loop that reads there."""
    x, i, j = jnp.ones((300, 300)), *np.random.default_rng(0).integers(0, 300, (2, 200_000)).astype(np.int32)
    with index_checks("all"):
        loops = [loop for loop in top_loops(lambda x, i, j: x[i, j], x, i, j) if loop.trips[0] > 1000]
    assert [loop.mode for loop in loops] == ["vector", "serial", "serial"]   # serial ones search for a wrong index


def test_sums_read_before_they_are_overwritten():
    """The sum of what the second loop overwrites."""
    text = (f"{HEAD}  for h in 0 .. {N} vector () {{\n    store y[h] = x[h]\n  }} -> ()\n"
            f"  for i in 0 .. {N} vector (s: float32 = 0.0:float32) {{\n    next s = add(s, y[i]) combine add y[i]\n"
            f"  }} -> (t)\n"
            f"  for j in 0 .. {N} vector () {{\n    store y[j] = neg(x[j])\n  }} -> ()\n"
            f"  store z[0] = t\n}}\n")
    function = parse(text)
    fuse(function, jit.host())
    check(function)
    assert sum(isinstance(s, For) for s in function.body) == 1
    x = np.arange(N, dtype=np.float32) % 7
    y, z = interpret(function, [x]).outputs
    np.testing.assert_array_equal(y, -x)
    assert z[0] == x.sum()


def test_elements_are_computed_where_their_rows_are_read():
    def fun(x):
        y = nj.nn.gelu(x) * jnp.sin(x)
        return (y - y.mean(-1, keepdims=True)) * y.var(-1, keepdims=True)
    x = values(ROWS, COLUMNS)
    (loop,) = top_loops(fun, x)
    assert loop.trips == (ROWS,) and [inner.trips for inner in loop.inside] == [(COLUMNS,)] * 3
    assert temporaries(fun, x) < ROWS * COLUMNS
    close(fun, x)
    close(lambda x: fun(x.T), values(COLUMNS, ROWS))
    close(lambda x: (fun(x.reshape(-1, 100)), jnp.exp(x)), values(ROWS, COLUMNS))


@pytest.mark.parametrize("width", [2, 3, 5, 8])
def test_results_of_short_rows_fill_vectors(width):
    """Several results, and one that replaces what it is made of, without a gather or scatter."""
    x = values(3000, width)
    for fun in (lambda x: (jnp.exp(x) - x[:, :1], jnp.sin(x) + x[:, :1]), lambda x: nj.nn.softmax(x, 0)):
        closed = simplify(trace_call(fun, (jnp.asarray(x),), {})[0])
        text = compiler.compile_program(closed, "f").text
        assert "masked.gather" not in text and "masked.scatter" not in text
        close(fun, x)


def test_steps_are_linear_in_the_number_of_rows_that_are_updated(monkeypatch):
    """Every update of a row is a loop, which fits to all in front of it: none is estimated once for each of the others."""
    asked = []
    original = fusion.block_ns
    monkeypatch.setattr(fusion, "block_ns", lambda *args: asked.append(1) or original(*args))

    def updated(x):
        for i in range(x.shape[0]):
            x = x.at[i].set(jnp.sin(x[i - 1]) * 2)
        return jnp.sum(x ** 2)
    counts = []
    for n in (8, 16, 32, 64):
        asked.clear()
        planned(nj.grad(updated), jnp.ones((n, 1000)))
        counts.append(len(asked))
    assert counts[3] < 2.3 * counts[2] + 20 and counts[3] < 10 * counts[0] + 40


@pytest.mark.parametrize("columns", [9, 12, 15])
def test_sums_in_lanes_and_what_is_made_of_them(columns):
    """A row that is a part of a vector is not stored and read again: memory hands over partial vectors late."""
    def fun(x, y):
        return lax.fori_loop(0, 20, lambda i, c: c + 1e-3 * (nj.nn.sigmoid(x @ (y + c[:columns]).T).T @ x), jnp.zeros(y.shape))

    x, y = values(50, 10), values(columns, 10, seed=1)
    (outer,) = [s for s in planned(fun, x, y).body if isinstance(s, For) and s.stop.attr == 20]
    rows = next(s for s in outer.body if isinstance(s, For) and s.stop.attr == 50)
    assert sum(isinstance(s, For) for s in rows.body) == 1
    close(fun, x, y, tolerance=1e-4)
