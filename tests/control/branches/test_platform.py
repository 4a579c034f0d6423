"""platform_dependent: the choice is made when a program is compiled."""
import numpy as np
import pytest

import numjet as nj
import numjet.numpy as jnp
from numjet import lax
from numjet.control.branches.platform import index_for
from numjet.core.op import all_ops

X = np.linspace(0.1, 1, 30, dtype=np.float32)


def f(x):
    return lax.platform_dependent(x, tpu=lambda x: x * 2, cpu=jnp.sin, default=lambda x: x)


def test_the_cpu_takes_its_own_or_the_default():
    for g in (f, nj.jit(f), nj.vmap(f), nj.jit(nj.vmap(f))):
        np.testing.assert_allclose(g(X), np.sin(X), rtol=1e-6)
    h = lambda x: lax.platform_dependent({"x": x}, 2.0, tpu=lambda t, s: t["x"], default=lambda t, s: t["x"] * s)
    for g in (h, nj.jit(h)):
        np.testing.assert_allclose(g(X), 2 * X)


def test_derivatives():
    for g in (nj.grad(f), nj.jit(nj.grad(f)), nj.grad(nj.jit(f))):
        assert np.isclose(g(np.float32(0.5)), np.cos(0.5), rtol=1e-6)
    loop = nj.jit(lambda x: lax.scan(lambda c, _: (f(c), None), x, None, length=2)[0])
    np.testing.assert_allclose(loop(X), np.sin(np.sin(X)), rtol=1e-6)
    second = nj.jit(nj.vmap(nj.grad(nj.grad(f))))(X)
    np.testing.assert_allclose(second, -np.sin(X), rtol=1e-5)


def test_programs_hold_all_functions():
    text = str(nj.make_jaxpr(f)(X))
    assert "platform_index[platforms=(('tpu',), ('cpu',), None)]" in text
    assert "cond[" in text and "mul" in text and "sin" in text


def test_functions_of_other_platforms_are_not_compiled():
    """A collective has no lowering for the CPU: compiling it would raise."""
    only_inside = lambda x: lax.psum(x, "i")
    g = nj.vmap(nj.jit(lambda x: lax.platform_dependent(x, tpu=only_inside, default=lambda x: x)), axis_name="i")
    np.testing.assert_allclose(g(X), X)
    closed = nj.make_jaxpr(lambda x: lax.platform_dependent(x, tpu=only_inside, cpu=jnp.cos), axis_env=[("i", 2)])(X)
    run = nj.jit(lambda x: nj.core.walk.eval_closed(closed, x)[0])
    np.testing.assert_allclose(run(X), np.cos(X), rtol=1e-6)


@pytest.mark.parametrize("wrap", [lambda f: f, nj.jit])
@pytest.mark.parametrize("functions", [{"tpu": jnp.sin}, {"tpu": jnp.sin, "gpu": jnp.cos}])
def test_a_platform_without_a_function(functions, wrap):
    with pytest.raises(NotImplementedError, match=r"translation rule .* not found for platform cpu.* functions for tpu"):
        wrap(lambda x: lax.platform_dependent(x, **functions))(X)


def test_index_for_takes_the_most_specific_name():
    platforms = (("cpu",), ("xla_cpu", "gpu"), None)
    assert index_for(platforms, "cpu") == 0 and index_for(platforms, "xla_cpu", "cpu") == 1
    assert index_for(platforms, "tpu") == 2 and index_for(platforms[:1], "xla_cpu", "cpu") == 0
    assert "platform_index" in all_ops()


def test_errors():
    with pytest.raises(TypeError, match="expected at least one function"):
        lax.platform_dependent(X)
    with pytest.raises(TypeError, match="the 'tpu' branch must be a callable, got 3"):
        lax.platform_dependent(X, tpu=3)
    with pytest.raises(TypeError, match="platform_dependent branches must have equal output types but they differ"):
        lax.platform_dependent(X, tpu=lambda x: x[0], default=lambda x: x)
