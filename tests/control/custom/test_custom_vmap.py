"""custom_vmap and sequential_vmap: when the rule is called, with what, and what bad rules are told."""

from __future__ import annotations

import numpy as np
import pytest

import numjet as nj
import numjet.numpy as jnp
from numjet.custom_batching import custom_vmap, sequential_vmap

XS, YS = jnp.arange(1.0, 4.0), jnp.arange(2.0, 5.0)
X, Y = XS[0], YS[0]


def make(log=None):
    """sin(x) y, of which the rule says that it is cos(x) y."""
    f = custom_vmap(lambda x, y: jnp.sin(x) * y)

    @f.def_vmap
    def rule(size, batched, x, y):
        if log is not None:
            log.append((size, batched))
        return jnp.cos(x) * y, any(batched)

    return f


f = make()
plain = lambda x, y: jnp.sin(x) * y
ruled = lambda x, y: jnp.cos(x) * y
looped = lambda g: lambda x, y: nj.lax.scan(lambda c, a: (g(c, y), a), x, XS)[0]
grad_at = lambda g: nj.grad(g, (0, 1))
jvp_at = lambda g: lambda *args: nj.jvp(g, args, args)

CASES = {
    "plain": (f, plain, (X, Y)),
    "jit": (nj.jit(f), plain, (X, Y)),
    "jvp": (jvp_at(f), jvp_at(plain), (X, Y)),
    "vmap": (nj.vmap(f), ruled, (XS, YS)),
    "vmap of jit": (nj.vmap(nj.jit(f)), ruled, (XS, YS)),
    "jit of vmap": (nj.jit(nj.vmap(f)), ruled, (XS, YS)),
    "one operand": (nj.vmap(f, (0, None)), ruled, (XS, Y)),
    "keyword": (lambda x, y: nj.vmap(f)(x, y=y), ruled, (XS, YS)),
    "vmap of vmap": (nj.vmap(nj.vmap(f, (0, None)), (None, 0)), lambda x, y: ruled(x[None, :], y[:, None]), (XS, YS)),
    "jvp of vmap": (jvp_at(nj.vmap(f)), jvp_at(ruled), (XS, YS)),
    "vmap of jvp": (nj.vmap(jvp_at(f)), jvp_at(ruled), (XS, YS)),
    "jit of vmap of jvp": (nj.jit(nj.vmap(jvp_at(f))), jvp_at(ruled), (XS, YS)),
    "jvp of jvp": (nj.vmap(jvp_at(jvp_at(f))), jvp_at(jvp_at(ruled)), (XS, YS)),
    "some tangents": (nj.vmap(lambda x, y: nj.jvp(lambda x: f(x, y), (x,), (x,))),
                      lambda x, y: nj.jvp(lambda x: ruled(x, y), (x,), (x,)), (XS, YS)),
    "jacfwd": (nj.jacfwd(nj.vmap(f)), nj.jacfwd(ruled), (XS, YS)),
    "grad of vmap": (nj.grad(lambda x, y: nj.vmap(f)(x, y).sum()), nj.grad(lambda x, y: ruled(x, y).sum()), (XS, YS)),
    "grad": (grad_at(f), grad_at(plain), (X, Y)),
    "vmap of grad": (nj.vmap(grad_at(f)), nj.vmap(grad_at(ruled)), (XS, YS)),
    "jit of vmap of grad": (nj.jit(nj.vmap(grad_at(nj.jit(f)))), nj.vmap(grad_at(ruled)), (XS, YS)),
    "vmap of grad, one operand": (nj.vmap(grad_at(f), (0, None)), nj.vmap(grad_at(ruled), (0, None)), (XS, Y)),
    "vmap of the cotangent": (nj.vmap(lambda c: nj.vjp(f, X, Y)[1](c)), nj.vmap(lambda c: nj.vjp(ruled, X, Y)[1](c)), (XS,)),
    "vmap of hessian": (nj.vmap(nj.hessian(f, (0, 1))), nj.vmap(nj.hessian(ruled, (0, 1))), (XS, YS)),
    "vmap of grad of checkpoint": (nj.vmap(grad_at(nj.checkpoint(f))), nj.vmap(grad_at(ruled)), (XS, YS)),
    "vmap of grad of scan": (nj.vmap(grad_at(looped(f))), nj.vmap(grad_at(looped(ruled))), (XS, YS)),
    "scan": (lambda x, y: nj.lax.scan(lambda c, a: (c, f(a, y)), 0, x)[1], plain, (XS, Y)),
    "vmap of scan": (nj.vmap(lambda y: nj.lax.scan(lambda c, a: (f(c, y), a), 1.0, XS)[0]),
                     lambda y: ruled(ruled(ruled(1.0, y), y), y), (YS,)),
    "vmap of cond": (nj.vmap(lambda x, y: nj.lax.cond(True, f, jnp.add, x, y)), ruled, (XS, YS)),
    "checkpoint": (nj.vmap(nj.checkpoint(f)), ruled, (XS, YS)),
}


@pytest.mark.parametrize("case", CASES)
def test_composition(case):
    fun, expected, args = CASES[case]
    got, wanted = nj.tree.leaves(fun(*args)), nj.tree.leaves(expected(*args))
    for a, b in zip(got, wanted, strict=True):
        np.testing.assert_allclose(a, b, rtol=2e-6)


def test_what_the_rule_gets():
    log = []
    g = make(log)
    nj.vmap(g, (0, None))(XS, Y)
    nj.vmap(g, (None, 1))(X, YS[None, :])
    nj.vmap(nj.vmap(g, (0, None)), (None, 0))(XS, YS[:2])
    g(X, Y)
    assert log == [(3, [True, False]), (3, [False, True]), (3, [True, False])]
    assert type(log[0][0]) is int


def test_batches_of_primals_or_tangents_alone():
    seen = []
    g = custom_vmap(jnp.sin)

    @g.def_vmap
    def rule(size, batched, x):
        seen.append(batched)
        return jnp.cos(x), batched[0]

    one = lambda x, t: nj.jvp(g, (x,), (t,))
    _y, ts = nj.vmap(one, (None, 0), (None, 0))(X, XS)
    np.testing.assert_allclose(ts, -np.sin(1.0) * np.asarray(XS), rtol=1e-6)
    _, ts = nj.vmap(one, (0, None))(XS, X)
    np.testing.assert_allclose(ts, -np.sin(np.asarray(XS)), rtol=1e-6)
    assert seen == [[False], [False]]
    both = lambda x, y, t: nj.jvp(f, (x, y), (t, y))
    _ys, ts = nj.vmap(both, (0, 0, None))(XS, YS, X)
    wanted = nj.jvp(ruled, (XS, YS), (jnp.ones(3), YS))
    np.testing.assert_allclose(ts, wanted[1], rtol=1e-6)


def test_pytrees_and_closures():
    z = jnp.array([1.0, 2.0])
    g = custom_vmap(lambda d: {"s": d["a"] + z, "t": d["b"]})

    @g.def_vmap
    def rule(size, batched, d):
        assert batched == [{"a": True, "b": False}]
        return {"s": d["a"] - z, "t": d["b"]}, {"s": True, "t": False}

    out = nj.vmap(g, ({"a": 0, "b": None},))({"a": jnp.ones((3, 2)), "b": X})
    np.testing.assert_allclose(out["s"], np.ones((3, 2)) - np.asarray(z))
    assert out["t"].shape == (3,)


def test_within_custom_vjp():
    g = nj.custom_vjp(f)
    g.defvjp(lambda x, y: (f(x, y), (x, y)), lambda res, ct: (ct * res[0], ct * res[1]))
    assert float(nj.grad(g)(X, Y)) == 1.0
    np.testing.assert_allclose(nj.vmap(g)(XS, YS), ruled(XS, YS), rtol=1e-6)
    np.testing.assert_allclose(nj.vmap(nj.grad(g))(XS, YS), XS)


def test_decorators_stack():
    for outer, inner in ((nj.custom_jvp, custom_vmap), (custom_vmap, nj.custom_jvp)):
        g = outer(inner(jnp.sin))
        g.defjvp(lambda p, t, g=g: (g(*p), 10 * t[0]))
        g.def_vmap(lambda size, batched, x: (jnp.cos(x), True))
        np.testing.assert_allclose(nj.vmap(g)(XS), np.cos(np.asarray(XS)), rtol=1e-6)
        assert float(nj.jvp(g, (X,), (X,))[1]) == 10
    with pytest.raises(AttributeError, match="defvjp"):
        _ = g.defvjp


PAIR = lambda *_: ((X, X), (True, True))


@pytest.mark.parametrize(("rule", "error", "match"), [
    (None, AttributeError, "No batching rule defined for custom_vmap function <lambda> using def_vmap"),
    (lambda size, batched, x: x, ValueError, "must return a pair"),
    (lambda size, batched, x: (x, (True, True)), ValueError, "output batching specification returned by custom vmap rule"),
    (PAIR, ValueError, "does not match that of original"),
    (lambda size, batched, x: (x.sum(), True), ValueError, "axis 0 has not the batch size 3"),
])
def test_bad_rules(rule, error, match):
    g = custom_vmap(lambda x: x)
    if rule is not None:
        g.def_vmap(rule)
    with pytest.raises(error, match=match):
        nj.vmap(g)(XS)


def test_bad_calls():
    g = custom_vmap(lambda x, *, k=1: x)
    g.def_vmap(lambda size, batched, x: (x, True))
    with pytest.raises(TypeError, match=r"input arguments to the custom_vmap-decorated function(.*)\nmissing a required"):
        g()
    with pytest.raises(TypeError, match="could not be resolved to positions: k"):
        g(X, k=2)

    def over(z):
        h = custom_vmap(lambda x: x * z)
        h.def_vmap(lambda size, batched, x: (x, True))
        return h(z)

    with pytest.raises(NotImplementedError, match="closes over a value that an enclosing vmap maps over"):
        nj.vmap(over)(XS)
    def slope(x):
        def of(z):
            h = custom_vmap(lambda x: x * z)
            h.def_vmap(lambda size, batched, x: (x, True))
            return h(x)
        return nj.jvp(of, (X,), (X,))[1]

    assert float(slope(X)) == 1
    with pytest.raises(NotImplementedError, match="with respect to a value that it closes over"):
        nj.vmap(slope)(XS)


def test_sequential_vmap():
    g = sequential_vmap(lambda x, y: jnp.sin(x) * y)
    np.testing.assert_allclose(nj.vmap(g)(XS, YS), plain(XS, YS), rtol=1e-6)
    np.testing.assert_allclose(nj.jit(nj.vmap(nj.vmap(g, (0, None)), (None, 0)))(XS, YS), plain(XS[None], YS[:, None]),
                               rtol=1e-6)
    text = lambda fun: str(nj.make_jaxpr(fun)(XS, Y))
    assert text(nj.vmap(g, (0, None))) == text(lambda xs, y: nj.lax.map(lambda x: g(x, y), xs))
    got, wanted = nj.jvp(nj.vmap(g), (XS, YS), (XS, YS)), nj.jvp(plain, (XS, YS), (XS, YS))
    np.testing.assert_allclose(got[1], wanted[1], rtol=1e-6)


def test_a_rule_that_takes_every_argument_as_batched():
    """A primal that is batched comes with its batch, also where its tangent is the same for all elements."""
    f = custom_vmap(jnp.sin)
    f.def_vmap(lambda size, batched, x: (3 * jnp.cos(x), True))
    x = jnp.arange(3.0)
    value, tangent = nj.vmap(lambda x: nj.jvp(f, (x,), (1.0,)))(x)
    np.testing.assert_allclose(value, 3 * np.cos(x), rtol=1e-6)
    np.testing.assert_allclose(tangent, -3 * np.sin(x), rtol=1e-6)
    np.testing.assert_allclose(nj.vmap(nj.grad(f))(x), -3 * np.sin(x), rtol=1e-6)


def test_a_rule_that_adds_a_batch_to_operands_without_one():
    f = custom_vmap(lambda x: x)
    f.def_vmap(lambda size, batched, x: (x * jnp.arange(size).reshape(size, *[1] * x.ndim), True))
    xs = jnp.ones((3, 2))
    value, tangent = nj.vmap(lambda x: nj.jvp(f, (x,), (jnp.full(2, 2.0),)))(xs)
    assert value.tolist() == [[0, 0], [1, 1], [2, 2]] and (tangent == 2 * value).all()


def test_the_tangent_of_a_linear_rule_is_the_same_for_all_primals():
    f = custom_vmap(lambda x: 7.0 * x)
    f.def_vmap(lambda size, batched, x: (11.0 * x, batched[0]))
    value, tangent = nj.vmap(lambda x, t: nj.jvp(f, (x,), (t,)), (0, None), (0, None))(jnp.arange(3.0), 4.0)
    assert value.tolist() == [0, 11, 22] and tangent == 44


def test_second_derivatives_through_branches_that_read_each_other():
    """The derivative of a branch has results beside tangents, which the next branch reads."""
    def chosen(x):
        for _ in range(2):
            x = nj.lax.cond(x[0] > -9, lambda y: y * jnp.sin(y), lambda y: y - 1, x)
        return x

    f = custom_vmap(chosen)
    f.def_vmap(lambda size, batched, xs: (nj.vmap(chosen)(xs), True))
    second = lambda f: nj.grad(lambda x: nj.grad(lambda x: f(x).sum())(x).sum())
    np.testing.assert_allclose(second(f)(XS), second(chosen)(XS), rtol=1e-5)
    np.testing.assert_allclose(nj.vmap(second(f))(XS[None]), second(chosen)(XS)[None], rtol=1e-5)
