"""scipy.optimize beyond JAX: methods of minimize, roots, least squares, functions of one variable, implicit derivatives."""
from __future__ import annotations

import numpy as np
import pytest
import scipy.optimize as oracle

import numjet as nj
import numjet.numpy as jnp
from numjet.foundation.config import enable_x64
from numjet.scipy import optimize
from numjet.scipy.optimize import bisect, brentq, least_squares, minimize, minimize_scalar, newton, root

METHODS = ["L-BFGS-B", "Nelder-Mead", "Newton-CG", "trust-ncg", "trust-exact", "dogleg"]
SIMPLEX = {"xatol": 1e-9, "fatol": 1e-15, "maxiter": 2000, "maxfev": 4000}
TIGHT = {"L-BFGS-B": {"ftol": 0.0, "gtol": 1e-9}, "Nelder-Mead": SIMPLEX, "Newton-CG": {"xtol": 1e-10},
         "trust-ncg": {"gtol": 1e-9}, "trust-exact": {"gtol": 1e-9}, "dogleg": {"gtol": 1e-9}}


@pytest.fixture(autouse=True)
def wide():
    with enable_x64():
        yield


def rosenbrock(x):
    return jnp.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def bent(x, c):
    """Its minimum depends on c in a nonlinear way."""
    return jnp.sum(jnp.cosh(x - c)) + 0.3 * x[0] * x[1] + jnp.sum(x ** 4) / 9


def differences(f, x, h=1e-3):
    return np.stack([(np.asarray(f(x + h * e)) - np.asarray(f(x - h * e))) / (2 * h) for e in np.eye(len(x))], -1)


# ------------------------------------------------------------------------------------------------ minimize

@pytest.mark.parametrize("method", METHODS)
def test_minimize(method):
    found = nj.jit(lambda x: minimize(rosenbrock, x, method=method, options=TIGHT[method]))(jnp.array([-1.2, 1.0, 0.5]))
    assert found.success and found.status == 0 and found.fun < 1e-12
    np.testing.assert_allclose(found.x, 1, atol=1e-6)
    short = minimize(rosenbrock, jnp.array([-1.2, 1.0]), method=method.lower(), options={"maxiter": 2})
    assert not short.success and short.status in (1, 2) and short.nit == 2


@pytest.mark.parametrize("method", METHODS)
def test_derivatives_of_minima(method):
    c = jnp.array([0.7, -1.1])
    found = nj.jit(lambda c: minimize(bent, jnp.zeros(2), (c,), method=method, options=TIGHT[method])[0:4:3])
    x, fun = nj.jacrev(found)(c)
    np.testing.assert_allclose(x, differences(lambda c: found(c)[0], np.asarray(c)), atol=3e-5)
    np.testing.assert_allclose(fun, nj.grad(bent, 1)(found(c)[0], c), atol=1e-7)
    closed = lambda c: minimize(lambda x: bent(x, c), jnp.zeros(2), method=method, options=TIGHT[method]).x
    np.testing.assert_allclose(nj.vmap(nj.jacfwd(closed))(jnp.stack([c, c + 1]))[0], x, atol=1e-6)


def test_second_derivatives_of_minima():
    best = lambda c: minimize(lambda x: jnp.sum(jnp.cosh(x - c)) + jnp.sum(x * x), jnp.zeros(1), method="Newton-CG",
                              options={"xtol": 1e-12}).x[0]
    second, h = nj.grad(nj.grad(best))(0.5), 1e-4
    np.testing.assert_allclose(second, (nj.grad(best)(0.5 + h) - nj.grad(best)(0.5 - h)) / (2 * h), rtol=1e-5)


@pytest.mark.parametrize("method", ["L-BFGS-B", "Nelder-Mead"])
def test_bounds(method):
    bounds = [(-0.5, 0.5), (None, 0.3), (0.2, None)]
    x0, array = np.array([0.0, 0.0, 0.4]), np.array([[-0.5, 0.5], [-np.inf, 0.3], [0.2, np.inf]])
    want = oracle.minimize(lambda x: float(rosenbrock(x)), x0, method=method, bounds=bounds, options={"maxiter": 5000})
    for given in (bounds, oracle.Bounds(*array.T), array) if method == "L-BFGS-B" else (bounds,):
        found = minimize(rosenbrock, x0, method=method, bounds=given, options={"maxiter": 5000})
        assert found.success and found.fun <= want.fun * (1 + 1e-5)
        np.testing.assert_allclose(found.x, want.x, atol=1e-3)


def test_the_limited_memory_method_by_the_name_of_jax():
    method, goal = "l-bfgs-experimental-do-not-rely-on-this", np.array([1.0, 2 - 3j, -5j])
    distance = lambda z, goal: jnp.vdot(z - goal, z - goal).real
    found = nj.jit(lambda goal: minimize(distance, jnp.zeros(3, complex), (goal,), method=method))(goal)
    np.testing.assert_allclose(found.x, goal, atol=1e-5)
    np.testing.assert_allclose(found.jac, 0, atol=1e-5)
    np.testing.assert_allclose(minimize(rosenbrock, jnp.zeros(3), method=method).x, 1, atol=1e-3)
    assert minimize(rosenbrock, jnp.zeros(3), method=method, options={"maxiter": 1}).status == 1
    with pytest.raises(ValueError, match="takes no bounds"):
        minimize(rosenbrock, jnp.zeros(3), method=method, bounds=[(0, 1)] * 3)


def test_derivatives_at_bounds():
    best = nj.jit(lambda p: minimize(lambda x: jnp.sum((x - p[0]) ** 2) + x[0] * x[1], jnp.zeros(2), method="L-BFGS-B", bounds=[
        (None, p[1]), (-9.0, 9.0)], options=TIGHT["L-BFGS-B"]).x)
    p = np.array([2.0, 0.5])
    np.testing.assert_allclose(nj.jacobian(best)(p), differences(best, p), atol=1e-6)


def test_nelder_mead_steps_of_scipy():
    for options in ({}, {"adaptive": True}, {"initial_simplex": np.array([[0.0, 0], [1, 0.5], [0.3, 2]])}):
        ours = minimize(rosenbrock, jnp.array([-1.2, 1.0]), method="Nelder-Mead", options=options)
        scipys = oracle.minimize(lambda x: float(rosenbrock(x)), np.array([-1.2, 1.0]), method="Nelder-Mead", options=options)
        assert (ours.nit, ours.nfev) == (scipys.nit, scipys.nfev)
        np.testing.assert_allclose(ours.x, scipys.x, rtol=1e-12)


def test_indefinite_hessians_and_the_hard_case():
    saddle = lambda x: x[0] ** 4 / 4 - x[0] ** 2 / 2 + x[1] ** 2
    for method in ("trust-ncg", "trust-exact", "Newton-CG"):
        found = minimize(saddle, jnp.array([0.1, 1.0]), method=method)
        np.testing.assert_allclose(abs(found.x), [1, 0], atol=1e-3)
    hard = minimize(saddle, jnp.array([0.0, 1.0]), method="trust-exact")
    np.testing.assert_allclose(abs(hard.x), [1, 0], atol=1e-3)


@pytest.mark.parametrize("method", METHODS)
def test_single_precision_and_large_problems(method):
    with enable_x64(False):
        found = minimize(lambda x: jnp.sum(jnp.cosh(x - jnp.arange(4.0))), jnp.zeros(4), method=method, tol=1e-3)
        assert found.x.dtype == jnp.float32 and found.success
        np.testing.assert_allclose(found.x, np.arange(4), atol=1e-2)


def test_limited_memory_in_many_dimensions():
    n = 200
    found = minimize(lambda x: rosenbrock(x) + jnp.sum(x ** 2), jnp.zeros(n), method="L-BFGS-B", bounds=[(-1, 0.4)] * n)
    want = oracle.minimize(lambda x: [np.asarray(v) for v in nj.value_and_grad(lambda x: rosenbrock(x) + jnp.sum(x ** 2))(x)],
                           np.zeros(n), jac=True, method="L-BFGS-B", bounds=[(-1, 0.4)] * n)
    assert found.success and found.nit < 200
    np.testing.assert_allclose(found.fun, want.fun, rtol=1e-6)


# ------------------------------------------------------------------------------------------------ one variable

@pytest.mark.parametrize("solve", [brentq, bisect])
@pytest.mark.parametrize("f,a,b", [
    (lambda x: x ** 3 - 2, 0.0, 5.0), (lambda x: jnp.cos(x) - x, 1.0, -1.0), (lambda x: jnp.exp(x) - 1e-3, -20.0, 3.0),
    (lambda x: x - 3, 3.0, 5.0), (lambda x: x - 3, 1.0, 3.0),
    (lambda x: jnp.where(x < 0.3, -1.0, 2.0), 0.0, 1.0),
])
def test_roots_in_intervals(solve, f, a, b):
    want = getattr(oracle, solve.__name__)(lambda x: float(f(x)), a, b)
    got, more = nj.jit(lambda a, b: solve(f, a, b, full_output=True))(a, b)
    assert more.converged and more.iterations <= 100
    np.testing.assert_allclose(got, want, atol=1e-9)


@pytest.mark.parametrize("solve", [
    lambda c: brentq(lambda x, c: x ** 3 + c * x - 2, 0.0, 5.0, (c,)),
    lambda c: bisect(lambda x: x ** 3 + c * x - 2, 0.0, 5.0),
    lambda c: newton(lambda x, c: x ** 3 + c * x - 2, 1.0, args=(c,)),
    lambda c: newton(lambda x, c: x ** 3 + c * x - 2, 1.0, lambda x, c: 3 * x ** 2 + c, (c,)),
    lambda c: newton(lambda x, c: x ** 3 + c * x - 2, 1.0, lambda x, c: 3 * x ** 2 + c, (c,), fprime2=lambda x, c: 6 * x),
    lambda c: newton(lambda x, c: x ** 3 + c * x - 2, 1.0, args=(c,), x1=1.2),
])
def test_derivatives_of_roots(solve):
    x = solve(1.5)
    np.testing.assert_allclose(x ** 3 + 1.5 * x, 2, rtol=1e-10)
    slope = lambda c: -solve(c) / (3 * solve(c) ** 2 + c)
    np.testing.assert_allclose([nj.grad(solve)(1.5), nj.jvp(nj.jit(solve), (1.5,), (1.0,))[1]], slope(1.5), rtol=1e-9)
    np.testing.assert_allclose(nj.grad(nj.grad(solve))(1.5), nj.grad(slope)(1.5), rtol=1e-8)
    np.testing.assert_allclose(nj.vmap(nj.grad(solve))(jnp.array([1.0, 1.5]))[1], slope(1.5), rtol=1e-9)


def test_newton_on_arrays_and_failures():
    c = np.array([4.0, 9.0, 2.0])
    got, more = newton(lambda x: x * x - c, jnp.ones(3), full_output=True)
    np.testing.assert_allclose(got, np.sqrt(c), rtol=1e-12)
    assert more.converged.all()
    np.testing.assert_allclose(nj.jacobian(lambda c: newton(lambda x: x * x - c, jnp.ones(3)))(c), np.diag(0.5 / np.sqrt(c)))
    with pytest.raises(RuntimeError, match="no convergence"):
        newton(lambda x: x * x + 1, 0.5)
    assert jnp.isnan(nj.jit(lambda x: newton(lambda x: x * x + 1, x))(0.5))
    assert jnp.isfinite(newton(lambda x: x * x + 1, 0.5, disp=False))
    with pytest.raises(ValueError, match="different signs"):
        brentq(lambda x: x * x + 1, 0.0, 1.0)
    assert jnp.isnan(nj.jit(lambda a: brentq(lambda x: x * x + 1, a, 1.0))(0.0))
    with enable_x64(False):
        assert abs(brentq(lambda x: x * x - 2, 0.0, 2.0) - np.sqrt(2)) < 1e-6


@pytest.mark.parametrize("method,options", [("brent", {}), ("golden", {}), ("bounded", {"bounds": (-1.0, 6.0)}),
                                            ("brent", {"bracket": (0.5, 2.5, 5.5)}), (None, {"bracket": (10.0, 12.0)})])
def test_minimize_scalar(method, options):
    f = lambda x, c=2.0: (x - c) ** 2 * (1 + 0.1 * x) + jnp.cosh(x / 9)
    options = {**options, "method": method}
    found = minimize_scalar(f, **options)
    want = oracle.minimize_scalar(lambda x: float(f(x)), **options)
    assert found.success and found.status == 0
    np.testing.assert_allclose([found.x, found.fun], [want.x, want.fun], atol=1e-5)
    best = lambda c: minimize_scalar(f, args=(c,), **options, tol=1e-9).x
    np.testing.assert_allclose(nj.jit(nj.grad(best))(2.0), (best(2.01) - best(1.99)) / 0.02, rtol=1e-4)
    np.testing.assert_allclose(nj.vmap(best)(jnp.array([1.9, 2.0]))[1], found.x, atol=1e-5)


def test_minimum_at_a_bound():
    best = lambda b: minimize_scalar(lambda x: (x + 1) ** 2, bounds=(b, 5.0), tol=1e-8).x
    np.testing.assert_allclose([best(1.0), nj.grad(best)(1.0)], [1, 1], atol=1e-6)


# ------------------------------------------------------------------------------------------------ systems

def trigonometric(x, c):
    return jnp.stack([x[0] * jnp.cos(x[1]) - c[0], x[0] * x[1] - x[1] - c[1]])


@pytest.mark.parametrize("method", ["hybr", "lm"])
def test_root(method):
    c = np.array([4.0, 5.0])
    want = oracle.root(lambda x: np.asarray(trigonometric(x, c)), [1.0, 1.0]).x
    found = root(trigonometric, jnp.ones(2), (c,), method=method)
    assert found.success and found.status == 1
    np.testing.assert_allclose(found.x, want, rtol=1e-7)
    solve = lambda c: root(lambda x: trigonometric(x, c), jnp.ones(2), method=method).x
    np.testing.assert_allclose(nj.jacobian(solve)(c), np.linalg.inv(found.jac), rtol=1e-6)
    np.testing.assert_allclose(nj.jit(nj.vmap(nj.jacfwd(solve)))(jnp.stack([c, c]))[1], np.linalg.inv(found.jac), rtol=1e-6)
    none = root(lambda x: x ** 2 + 1, jnp.ones(1), method=method)
    assert not none.success and none.status in (2, 4)
    grid = root(lambda x: x ** 3 - jnp.arange(4.0).reshape(2, 2), jnp.ones((2, 2)), method=method)
    np.testing.assert_allclose(grid.x[1], np.cbrt([2, 3]), rtol=1e-6)
    broyden = root(lambda x: (3 - 2 * x) * x + 1 - jnp.pad(x[:-1], (1, 0)) - 2 * jnp.pad(x[1:], (0, 1)), -jnp.ones(20),
                   method=method)
    assert broyden.success and abs(broyden.fun).max() < 1e-8


TIMES = np.linspace(0, 3, 15)


def decay(p, data, xp=jnp):
    return p[0] * xp.exp(-p[1] * TIMES) + p[2] - data


DATA = 2 * np.exp(-1.3 * TIMES) + 0.5 + 0.1 * np.sin(7 * TIMES)


@pytest.mark.parametrize("method,loss", [("lm", "linear"), ("lm", "huber"), ("lm", "cauchy"), ("dogbox", "soft_l1"),
                                         ("dogbox", "arctan"), ("trf", "linear"), ("trf", "huber")])
def test_least_squares(method, loss):
    options = {"loss": loss, "f_scale": 0.2, "xtol": 1e-12, "ftol": 1e-12, "gtol": 1e-12}
    want = oracle.least_squares(lambda p: decay(p, DATA, np), np.ones(3), **options)
    fit = nj.jit(lambda d: least_squares(lambda p: decay(p, d), jnp.ones(3), method=method, **options))
    found = fit(DATA)
    assert found.success and found.optimality < 1e-6
    np.testing.assert_allclose(found.x, want.x, rtol=1e-4)
    np.testing.assert_allclose(found.cost, want.cost, rtol=1e-8)
    direction = np.cos(TIMES)
    slope = (fit(DATA + 1e-4 * direction).x - fit(DATA - 1e-4 * direction).x) / 2e-4
    np.testing.assert_allclose(nj.jacrev(lambda d: fit(d).x)(jnp.asarray(DATA)) @ direction, slope, rtol=2e-4, atol=1e-6)


def test_least_squares_within_bounds():
    bounds = (np.array([0.0, 1.5, -1.0]), np.array([1.8, np.inf, 1.0]))
    want = oracle.least_squares(lambda p: decay(p, DATA, np), np.array([1.0, 2, 0]), bounds=bounds, xtol=1e-12)
    for method in ("trf", "dogbox"):
        found = least_squares(decay, jnp.array([1.0, 2, 0]), bounds=bounds, args=(DATA,), xtol=1e-12, ftol=1e-12, method=method)
        np.testing.assert_allclose(found.x, want.x, atol=1e-6)
        assert found.active_mask.tolist() == want.active_mask.tolist()
        np.testing.assert_allclose(found.optimality, 0, atol=1e-7)
    upper = nj.jacfwd(lambda u: least_squares(decay, jnp.array([1.0, 2, 0]), args=(DATA,), bounds=(
        bounds[0], jnp.stack([u, 9.0, 1.0]))).x)(1.8)
    assert found.active_mask[0] == 1
    np.testing.assert_allclose(upper[0], 1)
    scaled = least_squares(decay, jnp.ones(3), args=(DATA,), x_scale="jac")
    np.testing.assert_allclose(scaled.x, least_squares(decay, jnp.ones(3), args=(DATA,)).x, rtol=1e-5)
    assert least_squares(decay, jnp.ones(3), args=(DATA,), max_nfev=2).status == 0


@pytest.mark.parametrize("start,bounds", [((-1.2, 1.0), ((-3.0, -3.0), (0.5, 2.0))), ((0.5, -1.0), ((0.5, -1.0), (2.0, 2.0)))])
def test_reflected_steps_are_those_of_scipy(start, bounds, x64):
    """Where steps meet bounds, and from a start on them: the same points after the same evaluations; and for a batch."""
    valley = lambda x, xp=jnp: xp.stack([10 * (x[1] - x[0] ** 2), 1 - x[0]])
    limits = tuple(map(jnp.array, bounds))
    found = nj.vmap(lambda x: least_squares(valley, x, bounds=limits, max_nfev=12))(np.array([start] * 2))
    want = oracle.least_squares(lambda x: valley(x, np), start, bounds=bounds, max_nfev=12)
    np.testing.assert_allclose(found.x, [want.x] * 2, rtol=1e-4)   # it solves for the damping to 1 % only
    assert found.njev.tolist() == [want.njev] * 2


@pytest.mark.parametrize("call,error,match", [
    (lambda: minimize(rosenbrock, jnp.zeros(2), method="BFGS", bounds=[(0, 1)] * 2), ValueError, "takes no bounds"),
    (lambda: minimize(rosenbrock, jnp.zeros(2), method="L-BFGS-B", bounds=[(0, 1)]), ValueError, "a pair for each of 2"),
    (lambda: minimize(rosenbrock, jnp.zeros(2), method="Newton-CG", options={"gtol": 1}), ValueError, "unknown options"),
    (lambda: minimize(rosenbrock, jnp.zeros(2), method="Nelder-Mead", options={"initial_simplex": np.ones((2, 2))}), ValueError,
     "initial_simplex"),
    (lambda: minimize_scalar(jnp.cos, bounds=(0, 1), method="brent"), ValueError, "bounds go with"),
    (lambda: minimize_scalar(jnp.cos, bracket=(0.0, 1.0, 2.0)), ValueError, "lower at the middle"),
    (lambda: minimize_scalar(jnp.cos, method="newton"), ValueError, "not recognized"),
    (lambda: minimize_scalar(jnp.cos, options={"disp": 1}), ValueError, "unknown options"),
    (lambda: minimize_scalar(lambda x: jnp.ones(2)), TypeError, "scalar"),
    (lambda: brentq(jnp.cos, np.zeros(2), 2.0), ValueError, "scalars"),
    (lambda: brentq(jnp.cos, 0.0, 2.0, xtol=0), ValueError, "xtol too small"),
    (lambda: newton(jnp.cos, 1.0, x1=2.0, fprime=jnp.sin), ValueError, "secant"),
    (lambda: root(lambda x: x[:1], jnp.ones(2)), TypeError, "as many numbers"),
    (lambda: root(jnp.sin, jnp.ones(2), method="krylov"), ValueError, "not recognized"),
    (lambda: least_squares(jnp.sin, jnp.ones(2), method="newton"), ValueError, "'dogbox'"),
    (lambda: least_squares(jnp.sin, jnp.ones(2), method="lm", bounds=(0, 1)), ValueError, "no bounds"),
    (lambda: least_squares(jnp.sin, jnp.ones(2), loss="l3"), ValueError, "loss must be"),
    (lambda: least_squares(jnp.sin, jnp.ones((2, 2))), ValueError, "vector"),
    (lambda: optimize.dual_annealing, AttributeError, "dual_annealing"),
])
def test_errors(call, error, match):
    with pytest.raises(error, match=match):
        call()
