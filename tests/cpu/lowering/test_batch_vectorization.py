"""Batch vectorization and parallel batches: loops over independent systems, by lanes and by rows."""
from __future__ import annotations

import numpy as np
import pytest

import numjet as nj
import numjet.numpy as jnp
from numjet import _native, lax
from numjet.api.stages import trace_call
from numjet.cpu import compiler
from numjet.cpu.codegen import llvm
from numjet.cpu.ir.nodes import For, While
from numjet.cpu.ir.traversal import walk
from numjet.cpu.lowering.lower import lower
from numjet.cpu.native_code import jit
from numjet.foundation.tree import tree_leaves
from numjet.transforms.simplify import simplify

MANY = 37      # no whole number of vectors
F32 = np.float32


def values(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape).astype(F32)


def agree(fun, *args, rtol=1e-5, atol=1e-6):
    args = [jnp.asarray(a) for a in args]
    with nj.disable_jit():
        want = [np.asarray(x) for x in tree_leaves(fun(*args))]
    got = [np.asarray(x) for x in tree_leaves(nj.jit(fun)(*args))]
    for g, w in zip(got, want, strict=True):
        assert g.dtype == w.dtype
        np.testing.assert_allclose(g, w, rtol=rtol, atol=atol)


def body_of(fun, *args):
    return lower(simplify(trace_call(fun, tuple(map(jnp.asarray, args)), {})[0]), "f").function.body


def goes_by_lanes(fun, *args):
    """Whether a serial loop or a while stands inside of a vector loop."""
    outer = [s for s in walk(body_of(fun, *args)) if isinstance(s, For) and s.mode == "vector"]
    return any(isinstance(s, While) or (isinstance(s, For) and s.mode == "serial") for o in outer for s in walk(o.body))


def planned(fun, *args):
    closed = simplify(trace_call(fun, tuple(map(jnp.asarray, args)), {})[0])
    return compiler.planned(closed, "f").body


def lorenz(s, dt=0.01):
    x, y, z = s[0], s[1], s[2]
    return s + dt * jnp.stack([10.0 * (y - x), x * (28.0 - z) - y, x * y - (8.0 / 3.0) * z])


@pytest.mark.parametrize("n", [4, 7, 16, MANY, 129])
@pytest.mark.parametrize("reverse", [False, True])
def test_scans_of_many_systems(n, reverse):
    def run(s, xs):
        return lax.scan(lambda s, x: (lorenz(s) + x, (s[1], s[::2] * x)), s, xs, reverse=reverse)
    fun = lambda s, xs: nj.vmap(run, in_axes=(0, None))(s, xs)
    agree(fun, values(n, 3), values(5))
    assert goes_by_lanes(fun, values(n, 3), values(5))
    each = lambda s, xs: nj.vmap(run, in_axes=(0, 1))(s, xs)
    agree(each, values(n, 3), values(5, n))


def test_numbers_complex_and_mixed_dtypes():
    def run(z, k):
        return lax.scan(lambda c, _: ((c[0] * c[0] + z, c[1] + (jnp.abs(c[0]) < 2)), None), (z, k), None, length=6)[0]
    agree(nj.vmap(run), (values(MANY) + 1j * values(MANY, seed=1)).astype(np.complex64), np.arange(MANY, dtype=np.int32))


def test_what_reads_neighbours_does_not_go_by_lanes():
    roll = lambda v: lax.scan(lambda v, _: (jnp.roll(v, 1) * 0.5 + v, None), v, None, length=5)[0]
    agree(roll, values(MANY))
    assert not goes_by_lanes(roll, values(MANY))
    mean = lambda v: lax.scan(lambda v, _: (v - v.mean(), v.sum()), v, None, length=5)
    agree(mean, values(MANY))
    assert not goes_by_lanes(mean, values(MANY))


def test_what_needs_memory_does_not_go_by_lanes():
    def run(s, w):
        return lax.scan(lambda s, _: (jnp.tanh(w @ s), None), s, None, length=4)[0]
    agree(nj.vmap(run, in_axes=(0, None)), values(MANY, 12), values(12, 12, seed=1), rtol=1e-4)
    updates = lambda s: lax.scan(lambda s, i: (s.at[i].add(1.0), None), s, jnp.arange(3))[0]
    agree(nj.vmap(updates), values(MANY, 400))
    assert not goes_by_lanes(nj.vmap(updates), values(MANY, 400))


@pytest.mark.parametrize("n", [4, 16, MANY])
@pytest.mark.parametrize("solve", [
    jnp.linalg.solve, lambda m, v: jnp.linalg.solve(m.T, v), lambda m, v: jnp.linalg.inv(m) @ v,
    lambda m, v: jnp.linalg.cholesky(m @ m.T + jnp.eye(3)) @ v, lambda m, v: jnp.linalg.det(m) * v])
def test_small_matrices_are_factored_lane_by_lane(n, solve):
    def run(s, m):
        return lax.scan(lambda s, _: (jnp.tanh(solve(m + 0.1 * jnp.outer(s, s), s)), s.sum()), s, None, length=4)
    fun = nj.vmap(run)
    agree(fun, values(n, 3), values(n, 3, 3, seed=1) + 5 * np.eye(3, dtype=F32), rtol=1e-4)
    assert goes_by_lanes(fun, values(n, 3), values(n, 3, 3, seed=1))
    gradient = nj.vmap(nj.grad(lambda s, m: run(s, m)[1].sum()))
    agree(gradient, values(n, 3), values(n, 3, 3, seed=1) + 5 * np.eye(3, dtype=F32), rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("n", [4, 16, MANY])
@pytest.mark.parametrize("change", [
    lambda s, i: s.at[i].add(1.0), lambda s, i: s.at[2].set(s[i] * s[1]), lambda s, i: lax.dynamic_update_slice(s, s[:2], (i,)),
    lambda s, i: s + lax.dynamic_slice(s, (i,), (2,)).sum(), lambda s, i: jnp.cumsum(s) + s[jnp.argmax(s)],
    lambda s, i: lax.cummax(s * i, reverse=True), lambda s, i: s[jnp.array([3, 0, 2, 4, 1])].at[jnp.array([0, 3])].mul(-1.0),
    lambda s, i: jnp.roll(s, 1).at[i + 3].set(2.0, mode="drop")])
def test_elements_are_found_and_updated_lane_by_lane(n, change):
    """Places that differ from lane to lane, some of them out of bounds."""
    def run(s, i):
        return lax.scan(lambda c, _: ((jnp.tanh(change(*c)), (c[1] + 1) % 5), c[0].sum()), (s, i), None, length=7)
    args = values(n, 5), np.arange(n, dtype=np.int32) % 5
    agree(nj.vmap(run), *args)
    assert goes_by_lanes(nj.vmap(run), *args)
    agree(nj.vmap(nj.grad(lambda s, i: run(s, i)[1].sum())), *args, rtol=1e-4)


def test_random_numbers_are_drawn_lane_by_lane():
    def run(key, s):
        def step(s, k):
            return s + 0.1 * nj.random.normal(k, (3,)), s
        return lax.scan(step, s, nj.random.split(key, 6))
    args = nj.random.split(nj.random.PRNGKey(0), MANY), values(MANY, 3)
    agree(nj.vmap(run), *args)


def test_matrices_that_need_a_library_do_not_go_by_lanes():
    fun = nj.vmap(lambda s, m: lax.scan(lambda s, _: (jnp.linalg.solve(m, s), None), s, None, length=3)[0])
    args = values(16, 10), values(16, 10, 10, seed=1) + 9 * np.eye(10, dtype=F32)
    agree(fun, *args, rtol=1e-3)
    assert not goes_by_lanes(fun, *args)


@pytest.mark.parametrize("shape", [(20, 40), (16, 16), (3, 33)])
def test_batches_of_batches(shape):
    """The state of all inner systems is too large for registers, so lanes go along the second axis."""
    run = lambda s, x: lax.scan(lambda s, x: (lorenz(s) + x, s[0]), s, x)
    fun = nj.vmap(nj.vmap(run, in_axes=(0, None)), in_axes=(0, 0))
    agree(fun, values(*shape, 3), values(shape[0], 5))
    assert goes_by_lanes(fun, values(*shape, 3), values(shape[0], 5))


def test_operands_in_registers_are_found_by_lanes_and_kept_for_loops_that_are_not():
    """In the outer loop, 16 elements are registers."""
    def outer(inner):
        def step(v, x):
            return lax.scan(inner, v * x, jnp.arange(3.0))
        return lambda v, xs: lax.scan(step, v, xs)
    args = values(16), values(4)
    agree(outer(lambda v, t: (jnp.sin(v) + t, v)), *args)
    agree(outer(lambda v, t: (jnp.roll(v, 1) + t, v)), *args)


def newton(a):
    def body(c):
        x, n = c
        return 0.5 * (x + a / x), n + 1
    return lax.while_loop(lambda c: jnp.abs(c[0] * c[0] - a) > 1e-5 * a, body, (a, 0))


@pytest.mark.parametrize("n", [5, 16, MANY, 200])
def test_whiles_whose_lanes_stop_at_different_times(n):
    a = np.abs(values(n)) * 100 + 0.1
    agree(nj.vmap(newton), a)
    assert goes_by_lanes(nj.vmap(newton), a)


def test_lanes_that_never_start_and_nan():
    a = np.abs(values(MANY)) + 1
    a[::3], a[5] = 0.0, np.nan
    agree(nj.vmap(newton), a)


def test_a_while_is_one_loop_per_chunk_of_lanes_on_threads():
    a = np.abs(values(50_000)) * 100 + 0.1
    (outer,) = [s for s in planned(nj.vmap(newton), a) if isinstance(s, For)][:1]
    assert outer.mode == "parallel"
    assert any(isinstance(s, While) and s.idempotent_after_exit for s in walk(outer.body))


def recurrent(w, u, xs):
    return lax.scan(lambda h, x: ((h := jnp.tanh(x @ w + h @ u)), h.sum(-1)), jnp.zeros((xs.shape[1], w.shape[1]), F32), xs)


def weights(batch, steps=40, size=64):
    return values(size, size) * 0.05, values(size, size, seed=1) * 0.05, values(steps, batch, size, seed=2)


def test_rows_of_a_batch_go_through_the_whole_scan():
    args = weights(64)
    agree(recurrent, *args, rtol=1e-4, atol=1e-4)
    function = compiler.planned(simplify(trace_call(recurrent, args, {})[0]), "f")
    found = [s for s in function.body if isinstance(s, For) and s.mode == "parallel"]
    assert llvm.emit(function, jit.host()).count("call i64 @nj_parallel_until_stopped(") == len(found)
    assert any(isinstance(s, For) and s.mode == "serial" and s.stop.attr == 40 for loop in found for s in loop.body)


@pytest.mark.parametrize("batch", [33, 64, 100])
@pytest.mark.parametrize("steps", [39, 40])
def test_batches_of_any_size_on_any_number_of_threads(batch, steps):
    args = weights(batch, steps)
    before = _native.num_threads()
    try:
        results = []
        for count in (1, 3):
            _native.set_num_threads(count)
            results.append([np.array(x) for x in nj.jit(recurrent)(*args)])
    finally:
        _native.set_num_threads(before)
    for one, three in zip(*results, strict=True):
        np.testing.assert_array_equal(one, three)
    agree(recurrent, *args, rtol=1e-4, atol=1e-4)


def test_rows_that_depend_on_each_other_are_not_shared():
    def mixing(w, u, xs):
        step = lambda h, x: ((h := jnp.tanh(x @ w + h @ u) - h.mean(0)), h.sum(-1))
        return lax.scan(step, jnp.zeros((xs.shape[1], w.shape[1]), F32), xs)
    args = weights(64)
    agree(mixing, *args, rtol=1e-3, atol=1e-3)
    loops = [s for s in planned(mixing, *args) if isinstance(s, For)]
    assert not any(s.mode == "parallel" and any(isinstance(t, For) and t.mode == "serial" and t.stop.attr == 40 for t in s.body)
                   for s in loops)
