"""control.simplify_loops: what leaves loops, what stays in them, and that compiled values are those of the program."""
from __future__ import annotations

import numpy as np
import pytest

import numjet as nj
import numjet.numpy as jnp
from numjet import lax
from numjet.core.check import check_jaxpr
from numjet.core.ir import Literal
from numjet.transforms.simplify import simplify

F32 = np.float32
X = np.array([0.5, -1.0, 2.0], F32)
M = np.linspace(0, 1, 9, dtype=F32).reshape(3, 3)


def simplified(fun, *args):
    """The simplified program, checked, after comparing compiled values with those of single operations."""
    made = simplify(nj.make_jaxpr(fun)(*args))
    check_jaxpr(made)
    with nj.disable_jit():
        want = nj.tree.leaves(fun(*args))
    for g, w in zip(nj.tree.leaves(nj.jit(fun)(*args)), want, strict=True):
        np.testing.assert_allclose(np.asarray(g), np.asarray(w), rtol=2e-5, atol=1e-6)
    return made


def only(closed, name):
    return next(e for e in closed.eqns if e.primitive.name == name)


def body(eqn, key="jaxpr"):
    return [e.primitive.name for e in eqn.params[key].eqns]


def test_what_depends_on_constants_leaves_a_scan():
    made = simplified(lambda x, w: lax.scan(lambda c, t: (lax.add(c, lax.mul(lax.exp(w), t)), lax.sin(c)), w, x), X, F32(0.3))
    assert [e.primitive.name for e in made.eqns] == ["exp", "scan"]
    assert body(only(made, "scan")) == ["mul", "add", "sin"]


def test_it_leaves_all_loops_around():
    def f(x, w):
        def inner(c, t):
            return lax.add(c, lax.mul(lax.exp(w), t)), None

        def outer(c, t):
            return lax.scan(inner, lax.add(c, t), x)[0], c
        return lax.scan(outer, w, x)
    made = simplified(f, X, F32(0.1))
    assert [e.primitive.name for e in made.eqns] == ["exp", "scan"]
    inner = only(only(made, "scan").params["jaxpr"], "scan")
    assert "exp" not in body(only(made, "scan")) + body(inner)


def test_what_depends_on_constants_leaves_both_programs_of_a_while():
    def f(x, n):
        return lax.while_loop(lambda c: lax.lt(c[0], lax.exp(n)), lambda c: (c[0] + lax.cos(n) + 1, c[1] * 2), (x, x))
    made = simplified(f, F32(0.5), F32(2.0))
    loop = only(made, "while")
    assert "exp" not in body(loop, "cond_jaxpr")
    assert "cos" not in body(loop, "body_jaxpr")
    assert {"exp", "cos"} <= {e.primitive.name for e in made.eqns}


def test_numbers_and_equal_constants_become_part_of_the_body():
    def f(x):
        k, z = lax.exp(F32(1)), lax.sin(x)
        w = lax.sin(x)
        return lax.scan(lambda c, t: (c * k + lax.mul(z, w), t), x, M)
    loop = only(simplified(f, X), "scan")
    assert loop.params["num_consts"] == 1
    assert any(isinstance(a, Literal) for e in loop.params["jaxpr"].eqns for a in e.invars)


def test_carries_that_do_not_change_are_constants():
    def f(x):
        return lax.scan(lambda c, t: ((c[0], c[1] + lax.sin(c[0]) * t), None), (F32(0.5), F32(1)), x)[0]
    loop = only(simplified(f, X), "scan")
    assert loop.params["num_carry"] == 1

    def g(x):
        return lax.while_loop(lambda c: c[0] < c[1], lambda c: (c[0] * 2, c[1]), (x, x * 10))
    made = simplified(g, F32(1))
    assert len(only(made, "while").outvars) == 1


def test_a_loop_without_changes_stays():
    made = simplify(nj.make_jaxpr(lambda x: lax.while_loop(lambda c: c > 0, lambda c: c, x))(1.0))
    assert len(only(made, "while").outvars) == 1


@pytest.mark.parametrize("fun", [
    lambda x: lax.scan(lambda c, t: (c + lax.broadcast(t, (3,)), lax.broadcast(F32(1), (3,))), x, x),       # no operands
    lambda x: lax.scan(lambda c, t: (c + lax.reduce_sum(lax.broadcast_in_dim(x, (5000, 3), (1,)) * t, axes=(0,)), None), x, x),
])
def test_what_only_moves_data_stays(fun):
    made = simplified(fun, X)
    assert "broadcast_in_dim" in body(only(made, "scan"))


def test_large_results_of_small_operands_stay():
    def f(x):
        def step(c, t):
            big = lax.sin(lax.mul(lax.broadcast_in_dim(x, (4000, 3), (1,)), lax.convert_element_type(
                lax.broadcasted_iota(np.int32, (4000, 3), 0), F32)))
            return c + lax.reduce_sum(big, axes=(0, 1)) * t, None
        return lax.scan(step, F32(0), x)[0]
    made = simplify(nj.make_jaxpr(f)(X))
    check_jaxpr(made)
    assert "mul" in body(only(made, "scan"))


def test_what_products_store_anyway_leaves():
    large = np.random.default_rng(0).standard_normal((150, 150)).astype(F32) / 150
    step = lambda through: lambda w, v: lax.fori_loop(0, 3, lambda i, u: through(w * F32(0.9)) @ u, v)
    for through in (lambda x: x, lambda x: x.T, lambda x: (x[:, ::-1] + F32(1)).T):
        made = simplified(step(through), large, np.ones(150, F32))
        assert not {"mul", "add"} & set(body(only(made, "scan")))
    read = lambda w, v: lax.fori_loop(0, 3, lambda i, u: u + jnp.sum(w * F32(0.9) * u, 0), v)   # no product stores this one
    assert "mul" in body(only(simplified(read, large, np.ones(150, F32)), "scan"))


def test_loops_are_not_moved_out_of_loops():
    def f(x):
        def step(c, t):
            return c + lax.while_loop(lambda s: s < 100, lambda s: s * 2 + 1, x[0]), None
        return lax.scan(step, F32(0), x)[0]
    assert "while" in body(only(simplified(f, X), "scan"))


def test_branches_are_simplified_but_keep_their_work():
    def f(x):
        return lax.cond(x[0] > 0, lambda: lax.sin(x) * 1.0, lambda: lax.neg(lax.neg(x)))
    branches = only(simplified(f, X), "cond").params["branches"]
    assert sorted(len(b.eqns) for b in branches) == [0, 1]


def test_gradients_of_loops():
    def f(x, w):
        c, ys = lax.scan(lambda c, t: (lax.tanh(c * lax.exp(w) + t), c * 1.0), w, x)
        return c + lax.reduce_sum(ys, axes=(0,))
    simplified(nj.grad(f, argnums=(0, 1)), X, F32(0.2))
    simplified(nj.vmap(nj.grad(f), in_axes=(0, None)), M, F32(0.2))


def test_what_users_see_is_not_simplified():
    def f(x):
        return nj.jit(lambda y: y * 1.0)(x)
    assert [e.primitive.name for e in nj.make_jaxpr(f)(X).eqns] == ["jit"]
    assert [e.primitive.name for e in nj.jit(f).trace(X).jaxpr.eqns] == ["jit"]
