"""control.loop_products: which matrix products leave a scan, and that the results are those of the steps."""
from __future__ import annotations

import numpy as np
import pytest

import numjet as nj
import numjet.numpy as jnp
from numjet import lax
from numjet.core.check import check_jaxpr
from numjet.transforms.simplify import simplify

F32 = np.float32
STEPS = 5


def values(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(F32)


def programs(fun, *args):
    """The operations outside of scans and in each of them, after comparing compiled values with those op by op."""
    made = simplify(nj.make_jaxpr(fun)(*args))
    check_jaxpr(made)
    with nj.disable_jit():
        want = nj.tree.leaves(fun(*args))
    for g, w in zip(nj.tree.leaves(nj.jit(fun)(*args)), want, strict=True):
        assert g.dtype == w.dtype
        np.testing.assert_allclose(np.asarray(g), np.asarray(w), rtol=1e-4, atol=1e-4)
    names = lambda eqns: [e.primitive.name for e in eqns]
    loops = [names(e.params["jaxpr"].eqns) for e in made.eqns if e.primitive.name == "scan"]
    return names(made.eqns), loops


def cell(w, u, xs, reverse=False):
    return lax.scan(lambda h, x: ((h := jnp.tanh(x @ w + h @ u)), h), jnp.zeros((8, 16), F32), xs, reverse=reverse)


@pytest.mark.parametrize("reverse", [False, True])
def test_the_product_of_a_slice_is_done_before_the_loop(reverse):
    args = values(12, 16), values(16, 16, seed=1), values(STEPS, 8, 12, seed=2)
    outside, (body,) = programs(lambda w, u, xs: cell(w, u, xs, reverse), *args)
    assert outside.count("dot_general") == 1
    assert body.count("dot_general") == 1


@pytest.mark.parametrize("reverse", [False, True])
def test_the_gradient_of_weights_is_summed_after_the_loop(reverse):
    loss = lambda w, u, xs: (cell(w, u, xs, reverse)[1] ** 2).sum()
    args = values(12, 16), values(16, 16, seed=1), values(STEPS, 8, 12, seed=2)
    outside, (forward, backward) = programs(nj.grad(loss, argnums=(0, 1)), *args)
    assert outside.count("dot_general") == 3
    assert forward.count("dot_general") == backward.count("dot_general") == 1


def test_a_slice_on_the_right_is_put_in_order():
    def f(w, xs):
        return lax.scan(lambda c, x: (c + 1, jnp.einsum("ij,kjl->ikl", w, x) * c), F32(1), xs)
    outside, (body,) = programs(f, values(20, 6), values(STEPS, 7, 6, 3, seed=1))
    assert "dot_general" in outside and "dot_general" not in body
    assert "transpose" in body


def test_sums_that_are_read_stay():
    def f(w, xs):
        def step(c, x):
            c = c + x.T @ jnp.sin(x)
            return c, c.sum()
        return lax.scan(step, w, xs)
    outside, (body,) = programs(f, values(16, 16), values(STEPS, 8, 16, seed=1))
    assert "dot_general" not in outside and "dot_general" in body


def test_a_constant_factor_stays():
    f = lambda w, xs: lax.scan(lambda c, x: (c + w @ jnp.sin(x), None), jnp.zeros((16, 16), F32), xs)[0]
    _, (body,) = programs(f, values(16, 16), values(STEPS, 16, 16, seed=1))
    assert "dot_general" in body


def test_products_over_a_batch_and_small_ones_stay():
    batched = lambda w, xs: lax.scan(lambda c, x: (c, jnp.einsum("bij,bjk->bik", x, w)), F32(0), xs)
    _, (body,) = programs(batched, values(4, 8, 8), values(STEPS, 4, 8, 8, seed=1))
    assert "dot_general" in body
    small = lambda w, xs: lax.scan(lambda c, x: (c, x @ w), F32(0), xs)
    _, (body,) = programs(small, values(3, 3), values(STEPS, 2, 3, seed=1))
    assert "dot_general" in body


def test_products_that_would_take_much_more_memory_stay():
    f = lambda w, xs: lax.scan(lambda c, x: (c + (x @ w).sum(), None), F32(0), xs)[0]
    made = simplify(nj.make_jaxpr(f)(np.zeros((4, 4096), F32), np.zeros((1000, 4, 4), F32)))
    assert "dot_general" not in [e.primitive.name for e in made.eqns]


@pytest.mark.parametrize("length", [0, 1])
def test_short_loops(length):
    def f(w, xs):
        total, _ = lax.scan(lambda c, x: (c + (x.T @ jnp.cos(x)), x @ w), jnp.ones((16, 16), F32), xs)
        return total
    programs(f, values(16, 16), values(length, 8, 16, seed=1))


def test_integers_are_exact():
    xs = np.random.default_rng(0).integers(-9, 9, (STEPS, 8, 16)).astype(np.int32)
    f = lambda xs: lax.scan(lambda c, x: (c + x.T @ (x * 2), None), jnp.zeros((16, 16), np.int32), xs)[0]
    want = np.einsum("sji,sjk->ik", xs, xs * 2)
    np.testing.assert_array_equal(np.asarray(nj.jit(f)(xs)), want)
