"""What is computed once, stored where it belongs, and not stored at all: counted in the loop IR."""
from __future__ import annotations

import numpy as np
import pytest

import numjet as nj
import numjet.numpy as jnp
from numjet import lax
from numjet.api.stages import trace_call
from numjet.cpu import compiler
from numjet.cpu.ir.nodes import Call, Copy, For, Store
from numjet.cpu.ir.traversal import expressions, walk
from numjet.cpu.lowering.arrays.values import LoweredArray
from numjet.cpu.lowering.lower import lower
from numjet.foundation.tree import tree_leaves
from numjet.transforms.simplify import simplify

F32 = np.float32


def values(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape).astype(F32)


def agree(fun, *args, rtol=1e-5, atol=1e-6):
    args = [jnp.asarray(a) for a in args]
    with nj.disable_jit():
        want = [np.asarray(x) for x in tree_leaves(fun(*args))]
    for g, w in zip(tree_leaves(nj.jit(fun)(*args)), want, strict=True):
        np.testing.assert_allclose(np.asarray(g), w, rtol=rtol, atol=atol)


def function_of(fun, *args):
    return lower(simplify(trace_call(fun, tuple(map(jnp.asarray, args)), {})[0]), "f").function


def step_of(fun, *args):
    """The body of the one scan of a program."""
    (loop,) = [s for s in function_of(fun, *args).body if isinstance(s, For) and s.mode == "serial"]
    return loop.body


def cells(v, m, n):
    """Values that depend on neighbours, of which one is read in every step."""
    def step(c, _):
        v, m, n = c
        m = m + jnp.exp(-v * v) * (0.5 - m)
        n = n + jnp.exp(-v) * (0.2 - n)
        v = v + 0.1 * (m * n + jnp.roll(v, 1) - v)
        return (v, m, n), v[7]
    return lax.scan(step, (v, m, n), None, length=4)


def test_what_is_wanted_later_is_stored_with_what_contains_it():
    args = values(40), values(40, seed=1), values(40, seed=2)
    agree(cells, *args)
    body = step_of(cells, *args)
    assert sum(isinstance(s, For) for s in body) == 1
    assert not any(isinstance(s, Copy) for s in body)
    assert len({e for e in expressions(body) if e.op == "exp"}) <= 2


def test_shared_parts_count_once():
    def f(x):
        for _ in range(12):
            x = jnp.sin(x) + x * x
        return x
    agree(f, values(100) * 0.1)
    assert sum(isinstance(s, For) for s in function_of(f, values(100)).body) == 1


@pytest.mark.parametrize("axis", [0, 1])
def test_joined_arrays_are_stored_piece_by_piece(axis):
    fun = lambda x, y: jnp.concatenate([jnp.exp(x), jnp.sin(y), x * y], axis)
    args = values(20, 24), values(20, 24, seed=1)
    agree(fun, *args)
    function = function_of(fun, *args)
    assert not any(e.op == "select" for e in expressions(function.body))
    assert sum(isinstance(s, Store) for s in walk(function.body)) == 3


def test_joined_arrays_of_several_widths():
    fun = lambda x, y: jnp.concatenate([jnp.exp(x), y, jnp.zeros((4, 0), F32), x[:, :17]], 1) * 2
    agree(fun, values(4, 30), values(4, 18, seed=1))
    agree(lambda x, y: jnp.concatenate([jnp.exp(x), y], 1), values(4, 30), values(4, 18, seed=1))


def pairs(x, m):
    d = x[None] - x[:, None]
    r2 = (d * d).sum(-1) + 0.01
    return (d * (m[None] * r2 ** -1.5)[..., None]).sum(1)


def test_sums_over_pairs_of_points_store_nothing_of_that_size():
    x, m = values(50, 3), np.abs(values(50, seed=1))
    agree(pairs, x, m, rtol=1e-4, atol=1e-4)
    assert all(b.size < 50 * 50 for b in function_of(pairs, x, m).temps)
    kernel = lambda x, y: jnp.exp(-(x[:, None] - y[None]) ** 2).sum(1)
    agree(kernel, values(60), values(33, seed=1), rtol=1e-4)
    assert not function_of(kernel, values(60), values(33)).temps


def test_rows_in_memory_are_still_summed_along_memory():
    agree(lambda x: (x * 2).sum(1), values(40, 70), rtol=1e-4)
    (outer,) = [s for s in function_of(lambda x: (x * 2).sum(1), values(40, 70)).body if isinstance(s, For)]
    assert outer.mode == "serial" and any(isinstance(s, For) and s.mode == "vector" for s in outer.body)


@pytest.mark.parametrize(("spec", "shapes"), [
    ("ij,jk->ik", [(40, 4), (4, 30)]), ("ij,kj->ik", [(40, 5), (30, 5)]), ("ji,jk->ik", [(3, 40), (3, 30)]),
    ("bij,bjk->bik", [(6, 7, 2), (6, 2, 9)]), ("ij,jkl->ikl", [(4, 4), (4, 35, 4)]), ("ij,ij->", [(2, 3), (2, 3)]),
    ("ij,jk->ik", [(4, 4), (4, 4)]), ("ij,kjl->ikl", [(4, 4), (35, 4, 4)])])
def test_products_of_few_terms_fuse(spec, shapes):
    fun = lambda x, y: jnp.tanh(jnp.einsum(spec, x, y) + 1.0)
    args = [values(*s, seed=k) for k, s in enumerate(shapes)]
    agree(fun, *args, rtol=1e-4)
    assert not any(isinstance(s, Call) for s in walk(function_of(fun, *args).body))


def test_infinities_and_nan_in_products_of_few_terms():
    x, y = values(20, 3), values(3, 20)
    x[0, 0], x[1, 1], y[2, 5], y[0, 0] = np.inf, np.nan, -np.inf, 0.0
    with np.errstate(invalid="ignore"):
        np.testing.assert_allclose(np.asarray(nj.jit(jnp.matmul)(x, y)), x @ y, rtol=1e-5)


def test_a_matrix_is_turned_once_before_the_loop():
    def run(a, x):
        return lax.fori_loop(0, 5, lambda _, x: jnp.sin(a @ x), x)
    a, x = values(20, 20) * 0.2, values(20, seed=1)
    agree(run, a, x, rtol=1e-4)
    function = function_of(run, a, x)
    stores = [s for s in walk(function.body) if isinstance(s, Store) and s.buffer.size == a.size]
    (loop,) = [s for s in function.body if isinstance(s, For) and s.mode == "serial" and s.stop.attr == 5]
    assert len(stores) == 1 and stores[0] not in list(walk(loop.body))


def test_slices_of_cheap_stacks_are_computed_where_they_are_read():
    fun = lambda x, xs: lax.scan(lambda c, t: (c * 0.5 + jnp.roll(t, 1), c.sum()), x, xs * 2 + 1)
    agree(fun, values(40), values(6, 40, seed=1), rtol=1e-4)
    assert all(b.size < 6 * 40 for b in function_of(fun, values(40), values(6, 40)).temps if b.name.startswith("t"))


def test_stencils_in_a_loop_are_shared_among_threads():
    """They read neighbours in one half of the state and write the other half."""
    def run(u):
        step = lambda _, u: u + 0.1 * (jnp.roll(u, 1, 0) + jnp.roll(u, -1, 0) + jnp.roll(u, 1, 1) - 3 * u)
        return lax.fori_loop(0, 3, step, u)
    u = values(300, 300)
    agree(run, u, rtol=1e-4)
    function = compiler.planned(trace_call(run, (jnp.asarray(u),), {})[0], "f")
    (loop,) = [s for s in function.body if isinstance(s, For) and s.mode == "serial"]
    assert any(isinstance(s, For) and s.mode == "parallel" for s in loop.body)


@pytest.mark.parametrize("exponent", [-1.5, 0.5, 2.5])
def test_powers_of_what_has_no_sign(exponent):
    x = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1e-20, -3.0, 2.0], F32)
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(np.asarray(nj.jit(lambda x: (x * x) ** exponent)(x)), (x * x) ** F32(exponent), rtol=1e-6)
        want = np.power(x.astype(np.longdouble), np.longdouble(exponent)).astype(F32)  # C99: positive for -inf
        np.testing.assert_allclose(np.asarray(nj.jit(lambda x: x ** exponent)(x)), want, rtol=1e-6)


def test_a_chain_of_shared_arrays_is_seldom_gone_through(monkeypatch):
    calls = []
    work = LoweredArray.work
    monkeypatch.setattr(LoweredArray, "work", lambda self: calls.append(0) or work(self))

    def f(x):
        for _ in range(300):
            x = x + 0.5 * x
        return x
    function_of(f, values(1000))
    assert 0 < len(calls) < 150
