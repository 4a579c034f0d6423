"""optimization_barrier and tokens."""
import numpy as np
import pytest

import numjet as nj
import numjet.numpy as jnp
from numjet import lax
from numjet.extend.core import Token
from numjet.transforms.simplify import simplify

X = np.linspace(-1, 1, 50, dtype=np.float32)


def names(f, *args):
    return [e.primitive.name for e in simplify(nj.make_jaxpr(f)(*args)).jaxpr.eqns]


def test_nothing_is_merged_or_simplified_across():
    f = lambda x: lax.optimization_barrier(jnp.sin(x)) + jnp.sin(x)
    assert names(f, X).count("sin") == 1, "the operand of the barrier is an ordinary value"
    g = lambda x: jnp.sin(lax.optimization_barrier(x)) + jnp.sin(x)
    assert names(g, X).count("sin") == 2
    assert names(lambda x: lax.optimization_barrier(x) + lax.optimization_barrier(x), X).count("optimization_barrier") == 2
    assert "mul" in names(lambda x: x * lax.optimization_barrier(np.float32(1)), X)
    assert "neg" in names(lambda x: -lax.optimization_barrier(-x), X)
    loop = lambda x: lax.fori_loop(0, 3, lambda i, c: c + lax.optimization_barrier(jnp.sin(x)), x)
    assert "optimization_barrier" not in names(loop, X), "it stays inside of the loop"
    np.testing.assert_allclose(nj.jit(g)(X), 2 * np.sin(X), rtol=1e-6)
    np.testing.assert_allclose(nj.jit(loop)(X), X + 3 * np.sin(X), rtol=1e-5, atol=1e-6)


def test_a_pytree_with_derivatives_and_batches():
    f = lambda t: {"s": jnp.sin(lax.optimization_barrier(t)["a"]) * lax.optimization_barrier(t)["b"]}
    tree = {"a": X, "b": 2 * X}
    out = nj.jit(f)(tree)["s"]
    np.testing.assert_allclose(out, np.sin(X) * 2 * X, rtol=1e-6)
    g = nj.grad(lambda t: jnp.sum(f(t)["s"]))(tree)
    np.testing.assert_allclose(g["a"], np.cos(X) * 2 * X, rtol=1e-5)
    second = nj.jit(nj.vmap(nj.grad(nj.grad(lambda x: jnp.sin(lax.optimization_barrier(x))))))(X)
    np.testing.assert_allclose(second, -np.sin(X), rtol=1e-5, atol=1e-6)
    assert lax.optimization_barrier(()) == ()


def test_derivatives_have_barriers_of_their_own():
    text = str(nj.make_jaxpr(lambda x: nj.jvp(lax.optimization_barrier, (x,), (x,)))(X))
    assert text.count("optimization_barrier a") == 2


def test_tokens():
    token = lax.after_all(lax.after_all(), lax.after_all())
    assert token.shape == (0,)
    assert "after_all" in str(nj.make_jaxpr(lax.after_all)())

    def f(x):
        y, t = lax.optimization_barrier((jnp.sin(x), lax.after_all()))
        z, _ = lax.optimization_barrier((x, lax.after_all(t)))
        return y + z
    np.testing.assert_allclose(nj.jit(f)(X), np.sin(X) + X, rtol=1e-6)
    np.testing.assert_allclose(nj.vmap(f)(X), np.sin(X) + X, rtol=1e-6)
    with pytest.raises(TypeError, match="Arguments to after_all must be tokens"):
        lax.after_all(1.0)


def test_sinks_keep_computations():
    def f(x):
        lax.dce_sink({"a": x * 2})
        return x
    assert [e.primitive.name for e in nj.make_jaxpr(f)(1.0).eqns] == ["mul", "dce_sink"]
    x = np.arange(3, dtype=np.float32)
    assert nj.vmap(f)(x).tolist() == nj.jit(nj.vmap(f))(x).tolist() == [0, 1, 2]
    assert nj.grad(f)(1.0) == 1 and nj.jit(f)(1.0) == 1


def test_tokens_are_instances_of_the_class_of_tokens():
    token = lax.create_token()
    again = nj.jit(lambda x, t: (x + 2, t))(7, token)[1]
    assert isinstance(token, Token) and isinstance(again, Token) and again is not token
    assert not isinstance(nj.numpy.ones(3), Token)
