"""Collectives inside of vmap(axis_name=...), with jit, grad, scan and nested axes."""
import numpy as np
import pytest

import numjet as nj
import numjet.numpy as jnp
from numjet import lax

X = np.arange(6, dtype=np.float32).reshape(3, 2)


def test_values():
    over = lambda f: nj.vmap(f, axis_name="i")(X)
    np.testing.assert_allclose(over(lambda x: lax.psum(x, "i")), np.broadcast_to(X.sum(0), X.shape))
    np.testing.assert_allclose(over(lambda x: x - lax.pmean(x, "i")), X - X.mean(0))
    np.testing.assert_allclose(over(lambda x: lax.pmax(x, "i") - lax.pmin(x, "i")), np.full(X.shape, 4.0))
    assert over(lambda x: lax.axis_index("i")).tolist() == [0, 1, 2]
    assert over(lambda x: lax.axis_size("i")).tolist() == [3, 3, 3]
    np.testing.assert_allclose(over(lambda x: lax.psum(2.0, "i")), [6, 6, 6])


def test_inside_jit_and_scan():
    f = nj.vmap(nj.jit(lambda x: lax.psum(jnp.sin(x), "i")), axis_name="i")
    np.testing.assert_allclose(f(X), np.broadcast_to(np.sin(X).sum(0), X.shape), rtol=1e-6)
    g = nj.jit(nj.vmap(lambda x: lax.scan(lambda c, _: (lax.pmean(c, "i") + x, None), x, None, length=3)[0], axis_name="i"))
    want = X
    for _ in range(3):
        want = want.mean(0) + X
    np.testing.assert_allclose(g(X), want, rtol=1e-5)


def test_two_axes():
    y = np.arange(12, dtype=np.float32).reshape(3, 4)
    out = nj.vmap(nj.vmap(lambda v: v / lax.psum(v, ("a", "b")), axis_name="b"), axis_name="a")(y)
    np.testing.assert_allclose(out, y / y.sum(), rtol=1e-6)


def test_derivatives():
    loss = lambda x: jnp.sum(nj.vmap(lambda v: lax.psum(v, "i") ** 2 * v, axis_name="i")(x))
    direct = lambda x: jnp.sum(jnp.sum(x, 0) ** 2 * x)
    np.testing.assert_allclose(nj.grad(loss)(X), nj.grad(direct)(X), rtol=1e-5)
    np.testing.assert_allclose(nj.jit(nj.hessian(loss))(X), nj.hessian(direct)(X), rtol=1e-5)


def test_unbound_names():
    with pytest.raises(NameError, match="unbound axis name: i"):
        lax.psum(1.0, "i")
    with pytest.raises(NameError, match="unbound axis name: j"):
        nj.vmap(lambda x: lax.psum(x, "j"), axis_name="i")(X)


@pytest.mark.parametrize("dtype", ["int8", "int32", "uint8", "bool", "int64", "uint64", "float16"])
def test_means_of_integers_have_the_dtype_of_functions(dtype):
    with nj.enable_x64():
        found = nj.vmap(lambda x: (lax.pmean(x, "i"), lax.pmean(jnp.ones((), dtype), "i")), axis_name="i")(jnp.ones(3, dtype))
        want = {"int64": "float64", "uint64": "float64", "float16": "float16"}.get(dtype, "float32")
        assert [x.dtype.name for x in found] == [want, want]
        assert all((x == 1).all() for x in found)


def test_numbers_among_the_axes_are_axes_of_the_arrays():
    x = jnp.arange(6.0).reshape(3, 2)
    over = lambda f: nj.vmap(f, axis_name="i")(x).tolist()
    assert over(lambda x: lax.psum(x, 0)) == [1, 5, 9] and over(lambda x: lax.pmin(x, -1)) == [0, 2, 4]
    assert over(lambda x: lax.psum(x, (0, "i"))) == [15] * 3 and over(lambda x: lax.pmax(x, ("i", 0))) == [5] * 3
    assert lax.psum(x, (0, 1)) == 15
    assert nj.vmap(lambda x: lax.psum(x, 7), axis_name=7)(x).tolist() == [[6, 9]] * 3  # a name that is a number


def test_means_of_python_numbers_are_weakly_typed():
    for number in (1, 2.0, True):
        mean = nj.vmap(lambda x, n=number: lax.pmean(n, "i"), axis_name="i")(jnp.arange(2))
        assert mean.weak_type == (number is not True) and mean.dtype == np.float32 and mean.tolist() == [number] * 2
