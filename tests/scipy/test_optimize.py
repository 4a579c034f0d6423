"""numjet.scipy.optimize: minima of known functions, against SciPy, under jit and vmap, in both precisions; errors."""
from __future__ import annotations

import numpy as np
import pytest
import scipy.optimize

import numjet as nj
import numjet.numpy as jnp
from numjet.foundation.config import enable_x64
from numjet.scipy.optimize import minimize


def rosenbrock(x):
    return jnp.sum(100 * jnp.square(x[1:] - jnp.square(x[:-1])) + jnp.square(1 - x[:-1]))


def himmelblau(x):
    return (x[0] ** 2 + x[1] - 11) ** 2 + (x[0] + x[1] ** 2 - 7) ** 2


def matyas(x):
    return 0.26 * (x[0] ** 2 + x[1] ** 2) - 0.48 * x[0] * x[1]


def eggholder(x):
    return -(x[1] + 47) * jnp.sin(jnp.sqrt(abs(x[0] / 2 + x[1] + 47))) - x[0] * jnp.sin(jnp.sqrt(abs(x[0] - (x[1] + 47))))


CASES = [(rosenbrock, np.zeros(2)), (rosenbrock, np.linspace(0.5, 2, 6)), (himmelblau, np.ones(2)), (matyas, np.ones(2) * 6),
         (eggholder, np.array([100.0, 20.0]))]


@pytest.mark.parametrize("fun,x0", CASES)
def test_minima(fun, x0):
    with enable_x64():
        found = nj.jit(lambda x: minimize(fun, x, method="BFGS"))(x0)
        assert found.success and found.status == 0 and jnp.max(abs(found.jac)) < 1e-5
        want = scipy.optimize.minimize(lambda x: float(fun(x)), x0, jac=lambda x: np.asarray(nj.grad(fun)(x)), method="BFGS")
        assert found.fun <= want.fun + 1e-8 and found.nfev < 3 * want.nfev + 20
        assert jnp.allclose(found.fun, fun(found.x)) and found.nfev == found.njev >= found.nit


def test_the_inverse_hessian_of_a_quadratic_is_found():
    with enable_x64():
        a = jnp.array([[3.0, 1.0, 0.0], [1.0, 2.0, 0.5], [0.0, 0.5, 1.0]])
        found = minimize(lambda x, b: x @ a @ x / 2 - b @ x, jnp.zeros(3), (jnp.arange(3.0),), method="BFGS", tol=1e-10)
        np.testing.assert_allclose(found.x, np.linalg.solve(a, np.arange(3.0)), atol=1e-8)
        np.testing.assert_allclose(found.hess_inv, np.linalg.inv(a), atol=1e-4)


def test_single_precision_and_batches():
    centres = jnp.array([[1.0, 2.0], [-3.0, 0.5], [0.0, 0.0]])
    solve = lambda c: minimize(lambda x: jnp.sum(jnp.cosh(x - c)), jnp.zeros(2), method="BFGS", options={"gtol": 1e-4})
    found = nj.vmap(solve)(centres)
    assert found.x.dtype == jnp.float32 and jnp.all(found.success)
    np.testing.assert_allclose(found.x, centres, atol=1e-3)


def test_reverse_mode_through_line_searches():
    """The cubics of a search may have no minimum, and a point of it an infinite value; neither reaches the derivatives."""
    solve = lambda c: minimize(lambda x: jnp.sum((x - c) ** 4 - jnp.log1p(x)), jnp.full(2, 5.0), method="BFGS",
                               options={"maxiter": 3}).x
    c = jnp.array([1.2, -0.7])
    forward, reverse = nj.jvp(solve, (c,), (c,))[1], nj.vjp(solve, c)[1](jnp.ones(2))[0]
    assert np.isfinite(reverse).all()
    np.testing.assert_allclose(forward.sum(), reverse @ c, rtol=1e-3)


def test_limits_and_failures():
    assert minimize(rosenbrock, jnp.zeros(2), method="BFGS", options={"maxiter": 2}).status == 1
    unbounded = minimize(lambda x: jnp.sum(x), jnp.zeros(2), method="BFGS", options={"maxiter": 5})
    assert not unbounded.success and unbounded.fun < -1
    nan = minimize(lambda x: jnp.sum(x) * jnp.nan, jnp.zeros(2), method="BFGS")
    assert not nan.success
    wall = minimize(lambda x: jnp.sum(x - jnp.log(x)), jnp.full(2, 5.0), method="BFGS")   # NaN for x < 0
    np.testing.assert_allclose(wall.x, 1, atol=1e-2)
    assert minimize(rosenbrock, jnp.ones(3), method="bfgs").nit == 0


@pytest.mark.parametrize("call,error,match", [
    (lambda: minimize(rosenbrock, jnp.zeros(2), 1.0, method="BFGS"), TypeError, "must be a tuple"),
    (lambda: minimize(rosenbrock, jnp.zeros(2), method="SGD"), ValueError, "not recognized"),
    (lambda: minimize(rosenbrock, jnp.zeros((2, 2)), method="BFGS"), ValueError, "vector of real"),
    (lambda: minimize(rosenbrock, jnp.zeros(2), method="BFGS", options={"disp": 1}), ValueError, "unknown options"),
    (lambda: minimize(lambda x: x, jnp.zeros(2), method="BFGS"), TypeError, "scalar"),
])
def test_errors(call, error, match):
    with pytest.raises(error, match=match):
        call()
