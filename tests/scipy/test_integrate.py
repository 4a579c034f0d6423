"""numjet.scipy.integrate against SciPy."""
import numpy as np
import pytest
import scipy.integrate as oracle

import numjet as nj
import numjet.numpy as jnp
from numjet.scipy import integrate
from numjet.testing.records import check_function

CUMULATIVE = [("cumulative_trapezoid", {}), ("cumulative_trapezoid", {"initial": 0}), ("cumulative_simpson", {}),
              ("cumulative_simpson", {"initial": 2.0})]


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 6, 9])
def test_samples(n):
    rng = np.random.default_rng(n)
    y, x, grid = rng.standard_normal((3, n)), np.sort(rng.standard_normal(n)), np.sort(rng.standard_normal((3, n)))
    with nj.enable_x64(True):
        for options in ({"dx": 0.3}, {"x": x}, {"x": grid}):
            for name, more in [("trapezoid", {}), ("simpson", {}), *(CUMULATIVE if n > 1 else [])]:
                ours, want = getattr(integrate, name), getattr(oracle, name)(y, **options, **more)
                np.testing.assert_allclose(ours(y, **options, **more), want, atol=1e-12)
                turned = {k: v.T if np.ndim(v) == 2 else v for k, v in options.items()}
                np.testing.assert_allclose(nj.jit(lambda y, t, f=ours, m=more: f(y, axis=0, **t, **m))(y.T, turned).T, want,
                                           atol=1e-12)


@pytest.mark.parametrize("name", ["simpson", "cumulative_trapezoid", "cumulative_simpson"])
def test_derivatives(name):
    rng = np.random.default_rng(0)
    with nj.enable_x64(True):
        samples = [rng.standard_normal(6), np.sort(rng.uniform(0, 9, 6))]
        check_function(lambda y, x: [getattr(integrate, name)(y, x=x)], samples, 2, name)


def test_errors():
    with pytest.raises(ValueError, match="`initial` must be `None` or `0`"):
        integrate.cumulative_trapezoid(np.ones(3), initial=3)
    with pytest.raises(ValueError, match="at least one sample"):
        integrate.simpson(np.ones(0))
    with pytest.raises(ValueError, match="vector of 3 positions"):
        integrate.cumulative_simpson(np.ones((2, 3)), x=np.ones(2))


# ------------------------------------------------------------------------------------------------ adaptive quadrature

INTEGRALS = [
    (lambda x: jnp.exp(-x * x), -np.inf, np.inf), (lambda x: 1 / (1 + x * x), 0.0, np.inf),
    (lambda x: jnp.abs(x - 0.3), 0.0, 1.0), (lambda x: jnp.log(x), 0.0, 1.0), (lambda x: jnp.exp(-x * x), np.inf, -np.inf),
    (lambda x: 1 / (1 + x * x), np.inf, 0.0), (lambda x: jnp.sin(50 * x), 3.0, 1.0), (lambda x: x, 2.0, 2.0),
    (lambda x: jnp.exp(x), 1.0, -np.inf), (lambda x: x ** -0.5, 0.0, 4.0),
]


def test_quad():
    with nj.enable_x64(True):
        for f, a, b in INTEGRALS:
            want, _ = oracle.quad(lambda x, f=f: float(f(x)), a, b)
            got, error, more = nj.jit(lambda a, b, f=f: integrate.quad(f, a, b, full_output=True))(a, b)
            assert abs(got - want) <= max(error, 1.5e-8) and error < 1e-7 and more["neval"] == 21 * (2 * more["last"] - 1)
        few = integrate.quad(lambda x: x ** -0.5, 0.0, 4.0, limit=3)
        assert few[1] > 1e-3
        np.testing.assert_allclose(integrate.quad(lambda x: jnp.exp(1j * x), 0.0, 1.0)[0], -1j * (np.exp(1j) - 1))
    single = integrate.quad(lambda x, c: x ** c, 0, 1, (2.5,))
    assert single[0].dtype == jnp.float32 and abs(single[0] - 1 / 3.5) < 1e-6


def test_derivatives_of_quad():
    with nj.enable_x64(True):
        f = lambda c, a, b: integrate.quad(lambda x: jnp.exp(-c * x * x) * jnp.cos(c * x), a, b)[0]
        check_function(lambda c, a, b: [f(c, a, b)], [np.float64(x) for x in (2.0, 0.3, 1.1)], 2, "quad")
        many = nj.vmap(nj.grad(f), (0, None, 0))(jnp.array([1.0, 2.0]), 0.0, jnp.array([np.inf, 3.0]))
        exact = lambda c: 0.5 * jnp.sqrt(jnp.pi / c) * jnp.exp(-c / 4)
        np.testing.assert_allclose(many[0], nj.grad(exact)(1.0), rtol=1e-8)
        args = nj.grad(lambda c: integrate.quad(lambda x, c: c["k"] * x, 0.0, 2.0, (c,))[0])({"k": 3.0})
        np.testing.assert_allclose(args["k"], 2)


@pytest.mark.parametrize("call,error,match", [
    (lambda: integrate.quad(jnp.sin, np.zeros(2), 1.0), ValueError, "real scalars"),
    (lambda: integrate.quad(jnp.sin, 0.0, 1.0, limit=0), ValueError, "limit"),
    (lambda: integrate.quad(lambda x: jnp.stack([x, x]), 0.0, 1.0), TypeError, "scalar"),
])
def test_errors_of_quad(call, error, match):
    with pytest.raises(error, match=match):
        call()


@pytest.mark.parametrize("k", [0, 1, 2, 5])
def test_rombergs_rule(k, x64):
    y = np.random.default_rng(0).standard_normal((3, 2**k + 1, 2))
    for got in (integrate.romb(y, 0.3, 1), nj.jit(lambda y: integrate.romb(y, 0.3, 1))(y)):
        np.testing.assert_allclose(got, oracle.romb(y, 0.3, 1), rtol=1e-11)
    np.testing.assert_allclose(nj.vmap(lambda y: integrate.romb(y, axis=0))(y), oracle.romb(y, axis=1), rtol=1e-11)
    weights = nj.grad(lambda y: integrate.romb(y, 0.3))(y[0, :, 0])
    np.testing.assert_allclose(weights @ y[0, :, 0], oracle.romb(y[0, :, 0], 0.3), rtol=1e-11)
    assert integrate.romb(jnp.ones(3, jnp.float16)).dtype == jnp.float16 and integrate.romb(jnp.ones(3, int)).dtype == float
    np.testing.assert_allclose(integrate.romb(y[0, :, 0] * 1j), 1j * oracle.romb(y[0, :, 0]), rtol=1e-11)
    for bad in (1, 4):
        with pytest.raises(ValueError, match="power of 2"):
            integrate.romb(np.ones(bad))
