"""Functions with rules of their own that close over values of the vmap around them."""
import numpy as np
import pytest

import numjet as nj
import numjet.numpy as jnp


def by_jvp(f):
    g = nj.custom_jvp(f)
    g.defjvp(lambda primals, tangents: nj.jvp(f, primals, tangents))
    return g


def by_vjp(f):
    g = nj.custom_vjp(f)
    g.defvjp(lambda *args: nj.vjp(f, *args), lambda pull, ct: pull(ct))
    return g


@pytest.mark.parametrize("custom", [by_jvp, by_vjp])
@pytest.mark.parametrize("wrap", [lambda f: f, nj.jit, lambda f: nj.jit(nj.jit(f))])
def test_closes_over_the_batch(custom, wrap):
    x = jnp.arange(3.0)
    y = jnp.arange(6.0).reshape(2, 3)
    one = wrap(nj.vmap(lambda a: custom(lambda b: b * a)(a + 1)))
    np.testing.assert_array_equal(one(x), [0, 2, 6])
    comparison = wrap(nj.vmap(lambda a: custom(lambda b: (b > 0) & (a > 0))(a)))
    np.testing.assert_array_equal(comparison(x), [False, True, True])
    two = wrap(nj.vmap(nj.vmap(lambda a: custom(lambda b: b * a)(a + 1)), in_axes=1))
    np.testing.assert_array_equal(two(y), np.asarray(y * (y + 1)).T)
    outer = wrap(nj.vmap(lambda r: nj.vmap(lambda a: custom(lambda b: b * r[0])(a))(r)))
    np.testing.assert_array_equal(outer(y), np.asarray(y * y[:, :1]))
    gradient = wrap(nj.vmap(lambda a: nj.grad(custom(lambda b: b * a))(2.0)))
    np.testing.assert_array_equal(gradient(x), [0, 1, 2])


@pytest.mark.parametrize("custom", [by_jvp, by_vjp])
def test_closes_over_the_batch_beside_a_named_axis(custom):
    f = nj.vmap(lambda a: custom(lambda b: b * a + nj.lax.psum(a, "i"))(a), axis_name="i")
    np.testing.assert_array_equal(f(jnp.arange(3.0)), [3, 4, 7])


@pytest.mark.parametrize("custom", [by_jvp, by_vjp])
def test_what_is_differentiated_around_must_be_an_argument(custom):
    """As in JAX: the rule knows nothing of it."""
    x = jnp.arange(3.0)
    with pytest.raises(nj.errors.UnexpectedTracerError):
        nj.grad(lambda y: jnp.sum(custom(lambda b: b * y)(y)))(x)


def scaled_by(x):
    """y -> x * y with a rule of twice the derivative, which closes over x as the function does."""
    @nj.custom_vjp
    def f(y):
        return x * y
    f.defvjp(lambda y: (f(y), (x, y)), lambda kept, g: (2 * kept[0] * g,))
    return f


def test_a_function_may_close_over_the_elements_of_a_batch():
    xs = np.arange(3.0, dtype=np.float32)
    for wrap in (lambda f: f, nj.jit):
        assert wrap(nj.vmap(lambda x: scaled_by(x)(3.0)))(xs).tolist() == [0, 3, 6]
        assert wrap(nj.vmap(lambda x: nj.grad(scaled_by(x))(3.0)))(xs).tolist() == [0, 2, 4]


def test_a_jvp_rule_may_close_over_the_elements_of_a_batch():
    def over_batch(z):
        def one(x):
            g = nj.custom_jvp(lambda y: x * y)
            g.defjvp(lambda primals, tangents: (x * primals[0], 5 * x * tangents[0]))
            return g(z)
        return nj.vmap(one)(np.arange(3.0, dtype=np.float32))
    out, tangent = nj.jvp(over_batch, (1.0,), (2.0,))
    assert out.tolist() == [0, 1, 2] and tangent.tolist() == [0, 10, 20]


@pytest.mark.parametrize("custom", [by_jvp, by_vjp])
@pytest.mark.parametrize("wrap", [lambda f: f, nj.jit])
def test_empty_batches_have_no_row_to_take(custom, wrap):
    function, others = custom(jnp.sin), jnp.arange(3.0)
    assert wrap(nj.vmap(lambda a: function(others) + custom(lambda b: (a * 2, b)[1])(others)))(jnp.zeros(0)).shape == (0, 3)
    assert wrap(nj.vmap(lambda a: nj.jit(function)(others), axis_name="i"))(jnp.zeros(0)).shape == (0, 3)
