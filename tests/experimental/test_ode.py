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
