"""numjet.scipy.integrate.solve_ivp: orders of methods, solutions of SciPy, events, dense output, derivatives, errors."""
from __future__ import annotations

import numpy as np
import pytest
import scipy.integrate as oracle

import numjet as nj
import numjet.numpy as jnp
from numjet.foundation.config import enable_x64
from numjet.scipy.integrate import solve_ivp
from numjet.scipy.integrate.steps import METHODS

START, TIMES = np.array([1.0, 0.2]), np.linspace(0, 5, 11)
ORDERS = {"RK23": 3, "RK45": 5, "Tsit5": 5, "DOP853": 8, "Rodas4": 4}


@pytest.fixture(autouse=True)
def wide():
    with enable_x64():
        yield


def pendulum(t, y, k, xp=jnp):
    return xp.stack([y[1], -k * xp.sin(y[0]) + 0.3 * xp.cos(t)])


def by_scipy(span, times=None, **options):
    return oracle.solve_ivp(lambda t, y: pendulum(t, y, 2.0, np), span, START, t_eval=times, rtol=1e-11, atol=1e-11, **options)


def solve(y0=START, k=2.0, times=TIMES, span=(0.0, 5.0), **options):
    return solve_ivp(pendulum, span, y0, t_eval=times, args=(k,), **{"rtol": 1e-8, "atol": 1e-9, **options})


@pytest.mark.parametrize("method", METHODS)
def test_orders(method):
    field = lambda y, t: pendulum(t, y, 2.0)

    @nj.jit
    def steps(h):
        def step(_, state):
            t, y, slope = state
            new = METHODS[method].step(field, y, slope, t, h)
            return t + h, new.y, new.slope
        y = nj.lax.fori_loop(0, jnp.round(1 / h).astype(int), step, (0.0, jnp.asarray(START), field(START, 0.0)))[1]
        first = METHODS[method].step(field, jnp.asarray(START), field(START, 0.0), jnp.asarray(0.0), h)
        return y, jnp.polyval(first.quartic, 0.3), first.error
    exact = by_scipy((0, 1), dense_output=True, method="DOP853").sol
    few = 2 if method == "DOP853" else 8  # errors of order 8 are soon below rounding
    coarse, fine = (steps(jnp.asarray(1 / n)) for n in (few, 2 * few))
    drop = lambda a, b: np.log2(abs(np.asarray(a)).max() / abs(np.asarray(b)).max())
    assert drop(coarse[0] - exact(1), fine[0] - exact(1)) > ORDERS[method] - 0.7
    assert drop(coarse[1] - exact(0.3 / few), fine[1] - exact(0.3 / (2 * few))) > min(
        ORDERS[method], METHODS[method].degree) - 0.7
    if method == "DOP853":
        coarse, fine = (steps(jnp.asarray(1 / n)) for n in (6, 12))
    assert drop(coarse[2], fine[2]) > ORDERS[method] - 0.5


@pytest.mark.parametrize("method", METHODS)
def test_solutions_and_derivatives(method):
    want = by_scipy((0, 5), TIMES).y
    run = nj.jit(lambda y, k, times: solve(y, k, times, method=method))
    found = run(START, 2.0, TIMES)
    assert found.success and found.status == 0 and found.t.tolist() == TIMES.tolist()
    np.testing.assert_allclose(found.y, want, atol=1e-6)
    if method not in ("RK45", "Rodas4"):  # the other methods are of RK45's kind
        return
    h, times = 1e-4, TIMES[3:6]
    of = lambda y, k, times: run(y, k, times).y[0].sum()
    by_y, by_k, by_times = nj.grad(of, (0, 1, 2))(START, 2.0, times)
    np.testing.assert_allclose(by_k, (of(START, 2 + h, times) - of(START, 2 - h, times)) / (2 * h), rtol=1e-4)
    np.testing.assert_allclose(by_times, run(START, 2.0, times).y[1], atol=1e-5)
    back = lambda y, k, times: solve(y, k, times, method=method, adjoint="backsolve").y[0].sum()
    for a, b in zip(nj.jit(nj.grad(back, (0, 1, 2)))(START, 2.0, times), (by_y, by_k, by_times), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-5)


def test_forward_mode_batches_and_time_backwards():
    forward = nj.jvp(lambda k: solve(k=k).y[:, -1], (2.0,), (1.0,))[1]
    np.testing.assert_allclose(forward, nj.jacrev(lambda k: solve(k=k).y[:, -1])(2.0), rtol=1e-8)
    many = nj.vmap(lambda k: solve(k=k).y)(jnp.array([1.0, 2.0]))
    np.testing.assert_allclose(many[1], solve().y, atol=1e-12)
    turned = solve(span=(5.0, 0.0), times=TIMES[::-1])
    np.testing.assert_allclose(turned.y, by_scipy((5, 0), TIMES[::-1]).y, atol=1e-6)
    complex_y = solve_ivp(lambda t, y: 1j * y, (0.0, 1.0), jnp.array([1 + 0j]), t_eval=jnp.array([1.0]), rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(complex_y.y[0, 0], np.exp(1j), atol=1e-7)
    with enable_x64(False):
        single = solve(rtol=1e-4, atol=1e-5)
        assert single.y.dtype == jnp.float32
        np.testing.assert_allclose(single.y, by_scipy((0, 5), TIMES).y, atol=1e-2)


def test_steps_and_dense_output():
    found = solve(times=None, dense_output=True)
    assert found.t[0] == 0 and found.t[-1] == 5 and found.y.shape == (2, len(found.t)) and (np.diff(found.t) > 0).all()
    np.testing.assert_allclose(found.y, by_scipy((0, 5), np.asarray(found.t)).y, atol=1e-6)
    np.testing.assert_allclose(found.sol(TIMES), by_scipy((0, 5), TIMES).y, atol=1e-5)
    np.testing.assert_allclose(found.sol(2.5), found.sol(TIMES)[:, 5])
    padded = nj.jit(lambda: solve(times=None, max_steps=500))()
    count = len(found.t)
    np.testing.assert_allclose(padded.y[:, :count], found.y, atol=1e-9)
    assert padded.t.shape == (501,) and jnp.isnan(padded.t[count:]).all()
    back = solve(span=(5.0, 0.0), times=None, dense_output=True)
    np.testing.assert_allclose(back.sol(TIMES), by_scipy((5, 0), dense_output=True).sol(TIMES), atol=1e-5)


def test_limits():
    assert solve(max_steps=3).status == -1 and jnp.isnan(solve(max_steps=3).y[0, -1])
    blown = solve_ivp(lambda t, y: y * y, (0.0, 2.0), jnp.ones(1), max_steps=2000)
    assert not blown.success and blown.t[-1] < 1.01
    small = solve(times=None, max_step=0.1, first_step=0.01)
    assert np.diff(small.t).max() <= 0.1 + 1e-12 and abs(small.t[1] - 0.01) < 1e-12
    still = solve_ivp(lambda t, y: -y, (1.0, 1.0), jnp.ones(1), t_eval=jnp.ones(1))
    assert still.y.tolist() == [[1.0]] and still.status == 0


def robertson(t, y, rate=3e7):
    back, on = 1e4 * y[1] * y[2], rate * y[1] ** 2
    return jnp.stack([-0.04 * y[0] + back, 0.04 * y[0] - back - on, on])


def test_stiff_equations():
    times = np.array([0.4, 40.0, 4e4])
    found = nj.jit(lambda: solve_ivp(robertson, (0.0, 4e4), jnp.array([1.0, 0, 0]), "Rodas4", times, rtol=1e-6, atol=1e-10))()
    assert found.success and found.nfev < 1500 and found.nlu == found.njev
    want = [[9.8517e-1, 7.1583e-1, 3.8990e-2], [3.3864e-5, 9.1855e-6, 1.6219e-7]]   # Hairer, Wanner II, and LSODE's manual
    np.testing.assert_allclose(found.y[0], want[0], rtol=2e-3)
    np.testing.assert_allclose(found.y[1], want[1], rtol=2e-3)


def van_der_pol(t, y, mu):
    return jnp.stack([y[1], mu * (1 - y[0] ** 2) * y[1] - y[0]])


def test_batches_of_stiff_equations():
    """Initial values and parameters differ, and so do the steps; each solution has the bits that it has alone."""
    times = np.array([1.0, 10.0, 20.0])

    def one(y0, mu):
        found = solve_ivp(van_der_pol, (0.0, 20.0), y0, "Rodas4", times, args=(mu,), rtol=1e-7, atol=1e-8)
        return found.y, found.nfev, found.status
    starts, mus = jnp.array([[2.0, 0.0], [1.0, 0.5], [-1.0, 0.0]]), jnp.array([5.0, 50.0, 500.0])
    y, evaluations, status = nj.jit(nj.vmap(one))(starts, mus)
    assert status.tolist() == [0, 0, 0] and len(set(evaluations.tolist())) == 3
    for k, (start, mu) in enumerate(zip(starts, mus, strict=True)):
        alone = nj.jit(one)(start, mu)
        np.testing.assert_array_equal(y[k], alone[0])
        assert evaluations[k] == alone[1]
        want = oracle.solve_ivp(lambda t, y, mu=float(mu): [y[1], mu * (1 - y[0] ** 2) * y[1] - y[0]], (0, 20),
                                np.asarray(start), "Radau", times, rtol=1e-9, atol=1e-10)
        np.testing.assert_allclose(y[k], want.y, atol=1e-6)


def test_slopes_of_batches_of_stiff_equations():
    def last(rate):
        return solve_ivp(robertson, (0.0, 40.0), jnp.array([1.0, 0, 0]), "Rodas4", np.array([40.0]), args=(rate,), rtol=1e-8,
                         atol=1e-12).y[2, 0]
    rates = jnp.array([1e7, 3e7, 9e7])
    slopes, values = nj.jit(nj.vmap(nj.grad(last)))(rates), nj.jit(nj.vmap(last))
    near = 1e-3 * rates
    np.testing.assert_allclose(slopes, (values(rates + near) - values(rates - near)) / (2 * near), rtol=1e-4)


def fall(t, y, v):
    return y[0]


def top(t, y, v):
    return y[1]


fall.terminal, fall.direction = True, -1


def cannon(t, y, v):
    return jnp.stack([y[1], -9.81 + 0 * y[0]])


def shot(v, **options):
    return solve_ivp(cannon, (0.0, 100.0), jnp.stack([0.0 * v, v]), events=(fall, top), args=(v,), rtol=1e-8, **options)


def test_events():
    found = shot(10.0)
    assert found.status == 1 and found.success
    np.testing.assert_allclose(found.t_events, [[20 / 9.81], [10 / 9.81]], rtol=1e-12)
    np.testing.assert_allclose(found.y_events[1], [[50 / 9.81, 0]], atol=1e-12)
    np.testing.assert_allclose([found.t[-1], found.y[0, -1]], [20 / 9.81, 0], atol=1e-12)
    traced = nj.jit(lambda v: shot(v, max_events=3, t_eval=jnp.array([1.0, 3.0])))(10.0)
    assert traced.t_events[1].shape == (3,) and jnp.isnan(traced.y[0, 1]) and traced.status == 1
    landing = lambda v: shot(v, max_events=2, t_eval=jnp.array([1.0])).t_events[0][0]
    np.testing.assert_allclose(nj.jit(nj.grad(landing))(10.0), 2 / 9.81, rtol=1e-9)


def test_events_that_repeat():
    def signal(t, y):
        return y[0]
    options = {"rtol": 1e-9, "atol": 1e-9}
    wave = lambda t, y: jnp.stack([y[1], -y[0]])
    for direction, first in ((0, 0.5), (1, 1.5), (-1, 0.5)):
        signal.direction, signal.terminal = direction, False
        found = solve_ivp(wave, (0.0, 20.0), jnp.array([1.0, 0.0]), events=signal, **options)
        want = np.pi * np.arange(first, 20 / np.pi, 2 if direction else 1)
        np.testing.assert_allclose(found.t_events[0], want, atol=1e-6)
        assert found.status == 0
    signal.terminal = 2
    assert abs(solve_ivp(wave, (0.0, 20.0), jnp.array([1.0, 0.0]), events=signal, **options).t[-1] - 2.5 * np.pi) < 1e-6


@pytest.mark.parametrize("call,error,match", [
    (lambda: solve(method="LSODA"), ValueError, "not there"),
    (lambda: solve(adjoint="none"), ValueError, "adjoint must be"),
    (lambda: solve(jac=1), ValueError, "unknown options"),
    (lambda: solve(y0=np.ones((2, 2))), ValueError, "vector"),
    (lambda: solve(times=np.array([1.0, 0.5])), ValueError, "in its order"),
    (lambda: solve(times=np.array([6.0])), ValueError, "within t_span"),
    (lambda: solve(times=None, adjoint="backsolve"), ValueError, "needs t_eval"),
    (lambda: solve(y0=START + 0j, method="Rodas4"), ValueError, "real y0"),
    (lambda: solve_ivp(lambda t, y: y[:1], (0, 1), np.ones(2)), ValueError, "shape of y"),
    (lambda: solve_ivp(lambda t, y: 1j * y, (0, 1), np.ones(2)), TypeError, "complex"),
])
def test_errors(call, error, match):
    with pytest.raises(error, match=match):
        call()
