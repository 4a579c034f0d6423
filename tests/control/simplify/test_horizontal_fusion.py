"""control.packing: many small arrays of a scan become a few larger ones, with the same values."""
from __future__ import annotations

import numpy as np
import pytest

import numjet as nj
import numjet.numpy as jnp
from numjet import lax
from numjet.control.simplify.horizontal_fusion import FEWEST
from numjet.core.check import check_jaxpr
from numjet.core.walk import all_eqns
from numjet.transforms.simplify import simplify

F32 = np.float32
N = FEWEST + 5


def values(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(F32)


def same(fun, *args, rtol=2e-6):
    """The simplified program, after comparing compiled values with those op by op."""
    made = simplify(nj.make_jaxpr(fun)(*args))
    check_jaxpr(made)
    with nj.disable_jit():
        want = nj.tree.leaves(fun(*args))
    for g, w in zip(nj.tree.leaves(nj.jit(fun)(*args)), want, strict=True):
        assert g.dtype == w.dtype and g.shape == w.shape
        np.testing.assert_allclose(np.asarray(g), np.asarray(w), rtol=rtol, atol=1e-6)
    return made


def loops(closed):
    return [e for e in all_eqns(closed.jaxpr) if e.primitive.name == "scan"]


def ring(p, x, steps=6):
    def step(c, _):
        new = {f"s{i}": c[f"s{i}"] + 0.1 * (p[i] * jnp.sin(c[f"s{(i + 1) % N}"]) - c[f"s{i}"]) for i in range(N)}
        return new, new["s0"]
    return lax.scan(step, {f"s{i}": x[i] for i in range(N)}, None, length=steps)


def test_a_dictionary_of_numbers_is_one_vector():
    made = same(ring, values(N), values(N, seed=1))
    (loop,) = loops(made)
    assert loop.params["num_carry"] == 1
    assert [e.primitive.name for e in loop.params["jaxpr"].eqns].count("sin") == 1


def test_its_gradient():
    made = same(nj.grad(lambda p, x: (ring(p, x)[1] ** 2).sum(), argnums=(0, 1)), values(N), values(N, seed=1), rtol=1e-5)
    for loop in loops(made):
        names = [e.primitive.name for e in loop.params["jaxpr"].eqns]
        assert len(names) < 2 * N and "pad" not in names


@pytest.mark.parametrize("shape", [(), (3,), (2, 2)])
def test_leaves_of_any_shape(shape):
    def f(xs, scales):
        def step(c, _):
            new = [jnp.tanh(a * s) + b for a, b, s in zip(c, [*c[3:], *c[:3]], scales, strict=True)]
            return new, (new[2], new[0] * 2)
        return lax.scan(step, xs, None, length=4)
    made = same(f, [values(*shape, seed=i) for i in range(N)], [values(seed=50 + i) for i in range(N)])
    (loop,) = loops(made)
    assert loop.params["num_carry"] == 1


def test_slices_and_results_are_stacked():
    def f(c, xs):
        def step(c, x):
            new = [a + jnp.exp(-b * b) for a, b in zip(c, x, strict=True)]
            return new, [n * 3 for n in new[::-1]]
        return lax.scan(step, c, xs, reverse=True)
    made = same(f, [values(seed=i) for i in range(N)], [values(5, seed=90 + i) for i in range(N)])
    (loop,) = loops(made)
    assert len(loop.outvars) == 2 and loop.params["num_carry"] == 1


def test_what_differs_stays_by_itself():
    def f(x):
        def step(c, t):
            new = [jnp.cos(a) * t for a in c]
            new[4] = c[7] - c[4] * t
            return new, new[4]
        return lax.scan(step, [x[i] for i in range(N)], jnp.arange(4.0))
    (loop,) = loops(same(f, values(N)))
    assert [e.primitive.name for e in loop.params["jaxpr"].eqns].count("cos") == 1


def test_scattered_operands_are_left_alone():
    order = np.random.default_rng(3).permutation(N)
    f = lambda x: lax.scan(lambda c, _: ([jnp.sin(c[i]) * c[j] for i, j in zip(order, order[::-1], strict=True)], None),
                           [x[i] for i in range(N)], None, length=3)[0]
    (loop,) = loops(same(f, values(N)))
    assert loop.params["num_carry"] == N


def test_few_leaves_are_left_alone():
    f = lambda x: lax.scan(lambda c, _: ([jnp.sin(a) for a in c], None), [x[i] for i in range(4)], None, length=3)[0]
    (loop,) = loops(same(f, values(4)))
    assert loop.params["num_carry"] == 4


def test_loops_inside_of_loops():
    def f(p, x):
        return lax.scan(lambda c, _: (ring(p, c, 2)[1].sum() + c, None), x, None, length=3)[0]
    made = same(f, values(N), values(N, seed=1))
    assert [loop.params["num_carry"] for loop in loops(made)] == [1, 1]


def test_special_values_and_signs_of_zero():
    x = values(N)
    x[:4] = [np.nan, np.inf, -np.inf, -0.0]
    f = lambda x: lax.scan(lambda c, _: ([-a for a in c], None), [x[i] for i in range(N)], None, length=3)[0]
    got = np.array(nj.jit(f)(x))
    np.testing.assert_array_equal(got, -x)
    np.testing.assert_array_equal(np.signbit(got[1:]), np.signbit(-x[1:]))


@pytest.mark.parametrize("places", [range(N), [0, *range(2, N)], range(N - 1, -1, -1)])
def test_sums_of_padded_values_are_joined(places):
    """The gradient of reads at known places; a place that nobody reads has gradient 0.0."""
    def f(p, x):
        return lax.scan(lambda c, t: (c + sum(p[i] * t * i for i in places), None), 0.0, x)[0]
    made = same(nj.grad(f), values(N), values(4, seed=1), rtol=1e-5)
    assert not any(e.primitive.name == "pad" for e in all_eqns(made.jaxpr))
    np.testing.assert_array_equal(np.signbit(np.asarray(nj.jit(nj.grad(f))(values(N), np.zeros(4, F32)))), False)
