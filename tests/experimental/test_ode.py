"""numjet.experimental.ode: solutions known in closed form and SciPy's, derivatives by the adjoint, structures, errors."""
from __future__ import annotations

import numpy as np
import pytest
import scipy.integrate

import numjet as nj
import numjet.numpy as jnp
from numjet.experimental.ode import odeint
from numjet.foundation.config import enable_x64

TIMES = np.linspace(0.0, 1.0, 6)


@pytest.fixture(autouse=True)
def wide():
    with enable_x64():
        yield


def pendulum(y, t, damping, gravity):
    return jnp.stack([y[1], -damping * y[1] - gravity * jnp.sin(y[0]) + t])


def test_solution_of_scipy():
    y0, args = np.array([3.0, 0.0]), (0.25, 9.8)
    want = scipy.integrate.odeint(lambda y, t: np.asarray(pendulum(y, t, *args)), y0, TIMES, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(nj.jit(lambda y: odeint(pendulum, y, TIMES, *args))(y0), want, atol=1e-6)


def test_derivatives_in_closed_form():
    ts = jnp.array([0.3, 0.7, 1.2])
    def f(y0, ts, rate):
        return odeint(lambda y, t, rate: -rate * y * t, y0, ts, rate)[-1]
    def exact(y0, ts, rate):
        return y0 * jnp.exp(-rate * (ts[-1] ** 2 - ts[0] ** 2) / 2)
    args = (1.7, ts, 0.9)
    np.testing.assert_allclose(f(*args), exact(*args), rtol=1e-7)
    for got, want in zip(nj.grad(f, (0, 1, 2))(*args), nj.grad(exact, (0, 1, 2))(*args), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-6, atol=1e-7)
    second = [nj.grad(lambda *a, g=g: nj.grad(g, 2)(*a), 2)(*args) for g in (f, exact)]
    np.testing.assert_allclose(*second, rtol=1e-5)


def test_trees_closures_and_integer_arguments():
    def f(a, n):
        field = lambda y, t, n: {"u": -a * y["u"] * n, "v": jnp.ones((2, 1)) * a}
        return odeint(field, {"u": 1.0, "v": jnp.zeros((2, 1))}, TIMES, n)
    out = f(0.5, 2)
    assert out["v"].shape == (6, 2, 1)
    np.testing.assert_allclose(out["u"], np.exp(-TIMES), rtol=1e-7)
    np.testing.assert_allclose(nj.jit(nj.grad(lambda a: f(a, 2)["u"][-1]))(0.5), -2 * np.exp(-1), rtol=1e-6)


def test_complex_solutions():
    f = lambda y0, a: odeint(lambda y, t, a: a * y, y0, TIMES, a)[-1]
    y0, a = 1 + 2j, 0.3 + 1j
    np.testing.assert_allclose(f(y0, a), y0 * np.exp(a), rtol=1e-7)
    got = nj.grad(lambda y0, a: jnp.real(f(y0, a)), (0, 1))(y0, a)
    np.testing.assert_allclose(got, (np.exp(a), y0 * np.exp(a)), rtol=1e-6)


def test_batches_and_single_precision():
    got = nj.vmap(lambda y: odeint(lambda y, t: -y, y, jnp.array([0.0, 1.0]), rtol=1e-6)[-1])(jnp.arange(3.0))
    np.testing.assert_allclose(got, np.arange(3) * np.exp(-1), rtol=1e-5)
    with enable_x64(False):
        out = odeint(lambda y, t: -y, 1.0, jnp.array([0.0, 1.0]))
        assert out.dtype == jnp.float32 and abs(out[1] - np.exp(-1)) < 1e-5


def test_limits():
    kink = lambda y, t: jnp.where(t < 2.0, 1.0, jnp.where((t >= 5.0) & (t <= 7.0), -1.0, 0.0))
    np.testing.assert_allclose(odeint(kink, 0.0, jnp.array([0.0, 5.0, 10.0]), hmax=1.0), [0.0, 2.0, 0.0], atol=1e-3)
    assert abs(odeint(lambda y, t: -y, 1.0, jnp.array([0.0, 50.0]), mxstep=1)[-1] - np.exp(-50)) > 1e-3
    assert odeint(lambda y, t: -y, 2.0, jnp.array([0.5])).tolist() == [2.0]
    assert odeint(lambda y, t: -y, jnp.zeros(0), TIMES).shape == (6, 0)


@pytest.mark.parametrize("call,error,match", [
    (lambda f: odeint(f, 1.0, TIMES, "a"), TypeError, "contents of odeint arguments"),
    (lambda f: odeint(f, 1.0, 2.0), ValueError, "times"),
    (lambda f: odeint(lambda y, t: jnp.ones(2), 1.0, TIMES), ValueError, "as many numbers"),
    (lambda f: odeint(lambda y, t: 1j * y, 1.0, TIMES), TypeError, "complex"),
    (lambda f: nj.jacfwd(lambda k: odeint(lambda y, t: k * y, 1.0, TIMES).sum())(3.0), TypeError, "can't apply forward-mode"),
])
def test_errors(call, error, match):
    with pytest.raises(error, match=match):
        call(lambda y, t, *a: -y)


def decay(y, t, rate):
    return -rate * (1 + t) * y


def decayed(y, t, rate):
    return y * jnp.exp(-rate * (t + t * t / 2))


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize("shape", [(), (9,), (2, 0)])
def test_dtypes_and_shapes(dtype, shape):
    rng = np.random.default_rng(0)
    y0 = jnp.asarray(rng.uniform(0.5, 1.5, shape) + (1j * rng.uniform(size=shape) if "complex" in dtype else 0), dtype)
    ts, rate = jnp.asarray(TIMES, jnp.finfo(dtype).dtype), jnp.asarray(0.7, jnp.finfo(dtype).dtype)
    solve = lambda y0, ts, rate: odeint(decay, y0, ts, rate, rtol=1e-7, atol=1e-7)
    tolerance = 1e-4 if jnp.finfo(dtype).bits == 32 else 1e-6
    for call in (solve, nj.jit(solve)):
        found = call(y0, ts, rate)
        assert found.dtype == y0.dtype and found.shape == (6, *shape)
        np.testing.assert_allclose(found, np.stack([decayed(y0, t, rate) for t in TIMES]), rtol=tolerance, atol=tolerance)
    loss = lambda *a: jnp.sum(jnp.abs(solve(*a)[-1]) ** 2)
    exact = lambda y0, ts, rate: jnp.sum(jnp.abs(decayed(y0, ts[-1], rate)) ** 2)
    for got, want in zip(nj.grad(loss, (0, 2))(y0, ts, rate), nj.grad(exact, (0, 2))(y0, ts, rate), strict=True):
        assert got.dtype == want.dtype
        np.testing.assert_allclose(got, want, rtol=20 * tolerance, atol=20 * tolerance)


def test_batches_over_every_argument():
    y0, rates = jnp.asarray([[1.0, 2.0], [0.5, -1.0], [0.0, 3.0]]), jnp.asarray([0.1, 0.7, 1.3])
    times = jnp.asarray(TIMES) * jnp.asarray([[1.0], [0.5], [2.0]])
    one = lambda y, ts, rate: odeint(decay, y, ts, rate)
    for axes in [(0, None, None), (None, 0, None), (None, None, 0), (0, 0, 0)]:
        args = [a if axis == 0 else a[1] for a, axis in zip((y0, times, rates), axes, strict=True)]
        rows = [[a[k] if axis == 0 else a for a, axis in zip(args, axes, strict=True)] for k in range(3)]
        np.testing.assert_allclose(nj.vmap(one, axes)(*args), [one(*row) for row in rows], rtol=1e-6, atol=1e-8)
        slope = nj.grad(lambda *a: jnp.sum(one(*a)[-1]), (0, 2))
        for got, want in zip(nj.vmap(slope, axes)(*args), zip(*(slope(*row) for row in rows), strict=True), strict=True):
            np.testing.assert_allclose(got, np.stack(want), rtol=1e-5, atol=1e-7)
