"""Piecewise cubics of numjet.scipy.interpolate against SciPy's."""
from __future__ import annotations

import numpy as np
import pytest
import scipy.interpolate as oracle

import numjet as nj
import numjet.numpy as jnp
from numjet.foundation.config import enable_x64
from numjet.scipy import interpolate
from numjet.testing.records import check_function

ENDS = ["not-a-knot", "natural", "clamped", ("natural", "clamped"), ((1, 0.3), (2, -0.5)), ("not-a-knot", (1, 2.0)), "periodic"]
KINDS = [*(("CubicSpline", {"bc_type": b}) for b in ENDS), ("PchipInterpolator", {}), ("Akima1DInterpolator", {}),
         ("Akima1DInterpolator", {"method": "makima"})]
POINTS = np.array([[-0.5, 0.0, 0.1, 1.3], [2.0, 2.71, 9.0, np.nan]])


@pytest.fixture(autouse=True)
def wide():
    with enable_x64():
        yield


def samples(n, *more):
    rng = np.random.default_rng(n)
    return np.cumsum(rng.uniform(0.2, 1, n)) - 0.2, np.round(rng.standard_normal((n, *more)), 1)


def periodic(y, options):
    return np.concatenate([y[:-1], y[:1]]) if options.get("bc_type") == "periodic" else y


@pytest.mark.parametrize("n", [2, 3, 4, 7])
@pytest.mark.parametrize("name,options", KINDS)
def test_values_and_derivatives_of_scipy(name, options, n):
    x, y = samples(n, 2)
    y = periodic(y, options)
    shaped = {k: [c if isinstance(c, str) else (c[0], np.full(2, c[1])) for c in v] if isinstance(v, tuple) else v
              for k, v in options.items()}  # SciPy does not broadcast values at the ends
    ours, scipys = getattr(interpolate, name)(x, y, **options), getattr(oracle, name)(x, y, **shaped)
    np.testing.assert_allclose(ours.c, scipys.c, atol=1e-10)
    for nu in (0, 1, 3):
        np.testing.assert_allclose(ours(POINTS, nu), scipys(POINTS, nu), atol=1e-9)
    flat, turned = getattr(interpolate, name)(x, y[:, 0], **options), getattr(interpolate, name)(x, y.T, axis=1, **options)
    np.testing.assert_allclose(flat(POINTS), ours(POINTS)[..., 0])
    np.testing.assert_allclose(turned(1.3), ours(1.3))
    np.testing.assert_allclose(turned(POINTS), getattr(oracle, name)(x, y.T, axis=1, **shaped)(POINTS), atol=1e-9)


def test_antiderivatives_and_extrapolation():
    x, y = samples(6)
    ours, scipys = interpolate.CubicSpline(x, y), oracle.CubicSpline(x, y)
    np.testing.assert_allclose(ours.antiderivative(2)(POINTS), scipys.antiderivative(2)(POINTS), atol=1e-10)
    np.testing.assert_allclose(ours.derivative(2)(POINTS), scipys.derivative(2)(POINTS), atol=1e-9)
    np.testing.assert_allclose(ours(POINTS, -1), scipys.antiderivative()(POINTS), atol=1e-10)
    np.testing.assert_allclose(ours.integrate(0.3, 2.2), scipys.integrate(0.3, 2.2))
    np.testing.assert_allclose(ours(POINTS, extrapolate=False), scipys(POINTS, extrapolate=False))
    np.testing.assert_allclose(interpolate.CubicHermiteSpline(x, y, y)(POINTS), oracle.CubicHermiteSpline(x, y, y)(POINTS))
    pieces = interpolate.PPoly(scipys.c, x, extrapolate=False)
    np.testing.assert_allclose(pieces(POINTS), oracle.PPoly(scipys.c, x, extrapolate=False)(POINTS))


@pytest.mark.parametrize("name,options", [KINDS[0], KINDS[4], KINDS[6], KINDS[7], KINDS[8]])
def test_transformations(name, options):
    x, y = samples(5)
    y = periodic(np.cumsum(y), options)
    build = getattr(interpolate, name)
    tie = (lambda y: jnp.concatenate([y[:-1], y[:1]])) if options.get("bc_type") == "periodic" else (lambda y: y)
    check_function(lambda x, y, p: [build(x, tie(y), **options)(p)], [x, y, x[1:3] + 0.1], 1, name)
    through = nj.jit(lambda f, p: f(p))(build(x, y, **options), POINTS)
    np.testing.assert_allclose(through, build(x, y, **options)(POINTS))
    many = nj.vmap(lambda y: build(x, tie(y), **options)(0.7))(jnp.stack([y, 2 * y]))
    np.testing.assert_allclose(many[1], build(x, 2 * y, **options)(0.7))


def test_precision():
    with enable_x64(False):
        x, y = samples(5)
        assert interpolate.CubicSpline(x, y)(0.3).dtype == jnp.float32
        assert interpolate.PchipInterpolator(jnp.arange(3), jnp.arange(3))(jnp.arange(2)).tolist() == [0, 1]
    z = y + 1j * y[::-1]
    np.testing.assert_allclose(interpolate.CubicSpline(x, z)(0.3), oracle.CubicSpline(x, z)(0.3))


@pytest.mark.parametrize("call,error,match", [
    (lambda: interpolate.CubicSpline(np.array([0, 0, 1]), np.array([1, 2, 3])), ValueError, "increase strictly"),
    (lambda: interpolate.CubicSpline(np.array([0, 1]), np.array([1, 2, 3])), ValueError, "as long as axis 0"),
    (lambda: interpolate.CubicSpline(np.array([0]), np.array([1])), ValueError, "at least 2"),
    (lambda: interpolate.CubicSpline(np.array([0, 1]), np.array([1, 2]), bc_type="free"), ValueError, "bc_type"),
    (lambda: interpolate.CubicSpline(np.arange(2), np.arange(2), bc_type=((3, 0.0), (1, 0.0))), ValueError,
     "derivative 1 or 2"),
    (lambda: interpolate.CubicSpline(np.array([0, 1, 2]), np.array([1, 2, 3]), bc_type="periodic"), ValueError, r"y\[-1\]"),
    (lambda: interpolate.Akima1DInterpolator(np.array([0, 1]), np.array([1, 2]), method="old"), NotImplementedError, "makima"),
    (lambda: interpolate.PchipInterpolator(np.array([0, 1]), np.array([1j, 2])), ValueError, "real values"),
    (lambda: interpolate.CubicHermiteSpline(np.array([0, 1]), np.array([1, 2]), np.array([1])), ValueError, "shape of y"),
    (lambda: interpolate.PPoly(np.ones((2, 2)), np.ones(2)), ValueError, "intervals"),
    (lambda: interpolate.PPoly(np.ones((2, 0)), np.ones(1)), ValueError, "two breakpoints"),
])
def test_errors(call, error, match):
    with pytest.raises(error, match=match):
        call()


def test_akima_splines_of_no_curves():
    assert interpolate.Akima1DInterpolator(np.arange(4.0), np.zeros((4, 0)))(1.5).shape == (0,)
