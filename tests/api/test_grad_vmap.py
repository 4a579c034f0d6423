"""grad, jvp, vjp, linearize, Jacobians, vmap: values, compositions, errors."""
import contextlib

import numpy as np
import pytest

import numjet as nj
import numjet.numpy as jnp
from numjet import lax
from numjet.testing.records import check_function


def test_orders_and_arguments():
    close = np.testing.assert_allclose
    close(nj.grad(nj.grad(nj.grad(jnp.tanh)))(1.0), 0.62162673, rtol=1e-4)
    close(nj.grad(lambda a, b: a * b ** 2, argnums=(0, 1))(3.0, 2.0), (4.0, 12.0))
    (value, aux), g = nj.value_and_grad(lambda x: (x ** 2, {"a": 2 * x}), has_aux=True)(3.0)
    close([value, aux["a"], g], [9, 6, 6])
    close(nj.grad(lambda x, *, k: x * k)(1.0, k=5.0), 5.0)
    assert nj.grad(lambda p: p["w"].sum() * p["b"])({"w": jnp.ones(3), "b": 2.0})["w"].tolist() == [2, 2, 2]


def test_python_control_flow_on_values_under_grad():
    f = lambda x: x ** 2 if x > 0 else -x
    assert float(nj.grad(f)(2.0)) == 4 and float(nj.grad(f)(-2.0)) == -1


def test_errors_of_grad():
    with pytest.raises(TypeError, match="real"):
        nj.grad(lambda x: x * 2)(3)
    with pytest.raises(TypeError, match=r"shape: \(3,\)"):
        nj.grad(lambda x: x * 2)(np.ones(3, np.float32))
    with pytest.raises(TypeError, match="complex"):
        nj.grad(lambda x: x * 1j)(1.0)
    with pytest.raises(TypeError, match="argnums"):
        nj.grad(lambda x: x, argnums=2)(1.0)
    with pytest.raises(TypeError, match="callable"):
        nj.grad(3)
    with pytest.raises(TypeError, match="two-element"):
        nj.grad(lambda x: x, has_aux=True)(1.0)


def test_integer_arguments():
    g = nj.grad(lambda x, n: x * n, allow_int=True, argnums=(0, 1))(2.0, 3)
    assert float(g[0]) == 3.0 and g[1].dtype == nj.float0


def test_complex():
    g = nj.grad(lambda z: z ** 2, holomorphic=True)(1.0 + 2.0j)
    np.testing.assert_allclose(g, 2 + 4j)
    np.testing.assert_allclose(nj.grad(lambda z: jnp.abs(z) ** 2)(3.0 + 4.0j), 6 - 8j, rtol=1e-5)


def test_jvp_vjp_linearize():
    f = lambda x, y: (jnp.sin(x) * y, x + y)
    _, (da, db) = nj.jvp(f, (1.0, 2.0), (0.5, 0.25))
    np.testing.assert_allclose([da, db], [np.cos(1) * 2 * 0.5 + np.sin(1) * 0.25, 0.75], rtol=1e-6)
    _, pull = nj.vjp(f, 1.0, 2.0)
    np.testing.assert_allclose(pull((1.0, 0.0)), [np.cos(1) * 2, np.sin(1)], rtol=1e-6)
    _, push = nj.linearize(f, 1.0, 2.0)
    np.testing.assert_allclose(push(0.5, 0.25)[0], da, rtol=1e-6)
    np.testing.assert_allclose(nj.jit(lambda x: nj.vjp(jnp.sin, x)[1](1.0)[0])(0.3), np.cos(0.3), rtol=1e-6)
    _, pull = nj.jit(lambda x: nj.vjp(jnp.sin, x))(0.3)
    np.testing.assert_allclose(pull(1.0)[0], np.cos(0.3), rtol=1e-6)
    (transposed,) = nj.linear_transpose(lambda x: 3 * x, 1.0)(2.0)
    assert float(transposed) == 6


def test_errors_of_jvp_and_vjp():
    with pytest.raises(TypeError, match="tuples or lists"):
        nj.jvp(jnp.sin, 1.0, 1.0)
    with pytest.raises(TypeError, match="dtype"):
        nj.jvp(jnp.sin, (1.0,), (1,))
    with pytest.raises(ValueError, match="shape"):
        nj.jvp(jnp.sin, (jnp.ones(2),), (jnp.ones(3),))
    with pytest.raises(TypeError, match="tree structure"):
        nj.jvp(jnp.sin, (1.0,), (1.0, 2.0))
    _, pull = nj.vjp(lambda x: {"a": x}, jnp.ones(2))
    with pytest.raises(ValueError, match="tree structure"):
        pull(jnp.ones(2))
    with pytest.raises(ValueError, match="shape"):
        pull({"a": jnp.ones(3)})


def test_jacobians_of_trees():
    f = lambda p, x: {"y": p["w"] @ x, "s": x.sum()}
    p, x = {"w": jnp.arange(6.0).reshape(2, 3)}, jnp.arange(3.0)
    for jac in (nj.jacfwd, nj.jacrev):
        j = nj.jit(jac(f, argnums=(0, 1)))(p, x)
        assert j["y"][0]["w"].shape == (2, 2, 3) and j["s"][1].tolist() == [1, 1, 1]
        np.testing.assert_allclose(j["y"][1], p["w"])
    h = nj.hessian(lambda v: jnp.sum(v ** 3))(x)
    np.testing.assert_allclose(h, np.diag(6 * np.arange(3.0)))


@pytest.mark.parametrize("jit", [False, True])
def test_compositions_agree_with_differences(jit):
    wrap = nj.jit if jit else lambda f: f

    def program(x, w):
        def step(c, row):
            c = jnp.tanh(w @ c + row)
            return c, lax.cond(c[0] > 0, jnp.sin, jnp.cos, c)
        c, ys = lax.scan(step, x, jnp.stack([x, 2 * x, -x]))
        inner = nj.vmap(lambda r: nj.grad(lambda v: jnp.sum(jnp.sin(v) ** 2))(r))(ys)
        return [wrap(lambda a: jnp.cumsum(a, 0).sum(0) + lax.fori_loop(0, 3, lambda i, v: v * 0.5 + c, c))(inner)]
    with nj.enable_x64():
        rng = np.random.default_rng(0)
        check_function(lambda *a: wrap(program)(*a), [rng.normal(size=3), rng.normal(size=(3, 3))], 2, "composition")


def test_hessian_of_while_in_forward_mode():
    f = lambda x: lax.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, jnp.sin(c[1]) * x), (0, x))[1]
    second = nj.jacfwd(nj.jacfwd(f))(0.7)
    step = 1e-2
    slope = nj.jacfwd(f)
    np.testing.assert_allclose(second, (slope(0.7 + step) - slope(0.7 - step)) / (2 * step), rtol=1e-2)
    with pytest.raises(ValueError, match="Reverse-mode"):
        nj.grad(f)(0.7)


def test_vmap_axes_and_trees():
    x = jnp.arange(24.0).reshape(2, 3, 4)
    out = nj.vmap(lambda a, b: (a + b, a), in_axes=(1, None), out_axes=(0, 2))(x, 1.0)
    assert out[0].shape == (3, 2, 4) and out[1].shape == (2, 4, 3)
    np.testing.assert_array_equal(out[1], np.moveaxis(np.asarray(x), 1, 2))
    assert nj.vmap(lambda d, k: d["a"] * k, in_axes=({"a": 0}, None))({"a": jnp.arange(3.0)}, 2.0).tolist() == [0, 2, 4]
    assert nj.vmap(lambda x, *, y: x + y)(jnp.ones(2), y=jnp.arange(2.0)).tolist() == [1, 2]
    assert nj.vmap(lambda: 1.0, axis_size=3)().shape == (3,)
    assert nj.vmap(lambda a: 7.0, out_axes=None)(jnp.ones(2)) == 7.0
    assert nj.vmap(nj.vmap(jnp.dot, (None, 0)), (0, None))(jnp.eye(3), jnp.eye(3)).tolist() == np.eye(3).tolist()


def test_errors_of_vmap():
    with pytest.raises(ValueError, match="inconsistent") as info:
        nj.vmap(lambda a, b: a)(np.ones(3), {"k": np.ones(4)})
    assert "b['k']" in str(info.value)
    with pytest.raises(ValueError, match="rank"):
        nj.vmap(lambda a: a, in_axes=2)(np.ones(3))
    with pytest.raises(ValueError, match="at least one"):
        nj.vmap(lambda a: a, in_axes=None)(1.0)
    with pytest.raises(ValueError, match="out_axes"):
        nj.vmap(lambda a: a, out_axes=None)(np.ones(3))
    with pytest.raises(ValueError, match="in_axes"):
        nj.vmap(lambda a: a, in_axes=(0, 0))(np.ones(3))
    with pytest.raises(TypeError, match="in_axes"):
        nj.vmap(lambda a: a, in_axes="0")(np.ones(3))


def test_random_perturbations_do_not_confuse():
    """The classic test of nested differentiation: d/dx (x * d/dy (x + y)) = 1."""
    assert float(nj.grad(lambda x: x * nj.grad(lambda y: x + y)(2.0))(1.0)) == 1.0
    assert float(nj.jvp(lambda x: x * nj.jvp(lambda y: x * y, (2.0,), (1.0,))[1], (3.0,), (1.0,))[1]) == 6.0


@pytest.mark.parametrize("how", ["eager", "jit", "vmap"])
def test_gradients_are_weakly_typed_where_the_parameter_is(how):
    y = jnp.ones(3)
    grad = nj.grad(lambda p: jnp.sum(nj.lax.scan(lambda c, _: (c + p["a"] * y, c), y * p["b"], None, length=3)[1]))
    mapped = lambda p: nj.vmap(grad)(nj.tree.map(lambda x: jnp.stack([x, x]), p))
    f = {"eager": grad, "jit": nj.jit(grad), "vmap": mapped}[how]
    g = f({"a": jnp.asarray(2.0), "b": jnp.float32(3.0)})
    assert (g["a"].weak_type, g["b"].weak_type) == (True, False)


@pytest.mark.parametrize("how", [nj.disable_jit, contextlib.nullcontext])
def test_derivatives_that_are_constants_are_arrays(how):
    """Of a jvp rule that gives a tangent of zero which it computed: a literal is the result of the linear program."""
    @nj.custom_jvp
    def two(x):
        return jnp.float32(2)

    two.defjvp(lambda primals, tangents: (two(*primals), jnp.float32(0)))
    with how():
        _, push = nj.linearize(lambda x: (two(x), x), 1.5)
        for found in (push(1.0)[0], nj.jit(push)(1.0)[0], nj.jvp(two, (1.5,), (1.0,))[1]):
            assert isinstance(found, nj.Array) and found.dtype == np.float32 and found == 0
        assert nj.grad(two)(1.5) == 0
