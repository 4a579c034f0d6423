"""B-splines, interpolating splines and splines on grids against SciPy."""
from __future__ import annotations

import numpy as np
import pytest
import scipy.interpolate as oracle

import numjet as nj
from numjet.scipy import interpolate
from numjet.testing.records import check_function

RNG = np.random.default_rng(0)
X = np.cumsum(RNG.uniform(0.2, 1, 9))
HALF = np.array([0.5, 0.5])
POINTS = np.concatenate([X, np.linspace(X[0] - 0.5, X[-1] + 0.5, 23), [np.nan]])


@pytest.mark.parametrize("k", range(6))
@pytest.mark.parametrize("extrapolate", [True, False, "periodic"])
def test_values_derivatives_and_integrals(k, extrapolate, x64):
    t = np.sort(np.concatenate([[0.0] * (k + 1), [1.0, 2.0, 2.0, 3.5], [5.0] * (k + 1)])) if k > 1 else np.arange(2.0 * k + 6)
    c = RNG.standard_normal((2, len(t) - k - 1, 3))
    got = interpolate.BSpline(t, c, k, extrapolate, axis=1)
    want = oracle.BSpline(t, c, k, extrapolate, axis=1)
    x = np.array([[-0.7, 0.0, 0.3], [1.0, 2.3, 3.4999], [4.9, 5.6, np.nan]])
    for nu in range(min(k, 2) + 1):
        np.testing.assert_allclose(got(x, nu), want(x, nu), rtol=1e-9, atol=1e-10)
    if k < 5 and extrapolate is True:
        np.testing.assert_allclose(got.antiderivative()(x), want.antiderivative()(x), rtol=1e-9, atol=1e-10)
        np.testing.assert_allclose(got.integrate(0.5, 4.0), want.integrate(0.5, 4.0), rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("k,bc_type", [
    (0, None), (1, None), (2, None), (3, None), (4, None), (5, None), (3, "natural"), (3, "clamped"), (3, "not-a-knot"),
    (3, ([(1, HALF)], [(2, -HALF)])), (5, ([(1, HALF), (2, 0 * HALF)], [(1, 0 * HALF), (3, HALF)]))])
def test_interpolation(k, bc_type, x64):
    y = RNG.standard_normal((9, 2)) + 1j * RNG.standard_normal((9, 2))
    for values in (y.real, y):
        want, got = (module.make_interp_spline(X, values, k, bc_type=bc_type) for module in (oracle, interpolate))
        np.testing.assert_allclose(got.t, want.t)
        np.testing.assert_allclose(got(POINTS), want(POINTS), rtol=1e-8, atol=1e-9)
    across = interpolate.make_interp_spline(X, y.real.T, k, bc_type=bc_type, axis=1)
    np.testing.assert_allclose(across(POINTS), got(POINTS).real.T, rtol=1e-8, atol=1e-9)


def test_transformations(x64):
    y = RNG.standard_normal(9)
    run = lambda x, y, at: interpolate.make_interp_spline(x, y)(at)
    np.testing.assert_allclose(nj.jit(run)(X, y, POINTS[:5]), oracle.make_interp_spline(X, y)(POINTS[:5]), rtol=1e-9)
    many = nj.vmap(run, (None, 0, None))(X, np.stack([y, 2 * y]), POINTS[:5])
    np.testing.assert_allclose(many[1], 2 * many[0], rtol=1e-12)
    at = 0.5 * (X[1:4] + X[2:5])
    check_function(lambda y, at: [interpolate.make_interp_spline(X, y)(at)], [y, at], 1, "make_interp_spline")
    spline = interpolate.make_interp_spline(X, y)
    np.testing.assert_allclose(nj.grad(lambda s: s(2.0))(spline).c.sum(), 1, rtol=1e-12)  # B-splines add up to 1
    assert interpolate.make_interp_spline(X.astype("float32"), y.astype("float32"))(np.float32(2)).dtype == "float32"
    assert spline(np.zeros((0, 2))).shape == (0, 2)


def _along_axes(axes, values, method, xi, fill):
    """SciPy's splines along one axis after the other; its own grids solve an iteration up to 1e-6."""
    degree = {"slinear": 1, "cubic": 3, "quintic": 5}
    make = (oracle.PchipInterpolator if method == "pchip"
            else lambda x, y, axis=0: oracle.make_interp_spline(x, y, degree[method], axis=axis))
    out = np.stack([make(axes[0], make(axes[1], values, axis=1)(b))(a) for a, b in xi])
    inside = np.all([(p[0] <= v) & (v <= p[-1]) for p, v in zip(axes, xi.T, strict=True)], axis=0)
    return out if fill is None else np.where(inside[:, None], out, fill)


@pytest.mark.parametrize("method", ["slinear", "cubic", "quintic", "pchip"])
def test_grids(method, x64):
    axes = (X[:7], np.linspace(0, 2, 6))
    values = RNG.standard_normal((7, 6, 2))
    xi = np.stack([RNG.uniform(X[0], X[6], 12), RNG.uniform(0, 2, 12)], -1)
    xi[3, 0] = X[0] - 1
    got = interpolate.RegularGridInterpolator(axes, values, method)
    want = lambda xi: _along_axes(axes, values, method, xi, np.nan)
    np.testing.assert_allclose(nj.jit(lambda xi: got(xi))(xi), want(xi), rtol=1e-8, atol=1e-10)
    beyond = interpolate.RegularGridInterpolator(axes, values, method, fill_value=None)
    outside = lambda xi: _along_axes(axes, values, method, xi, None)
    np.testing.assert_allclose(beyond(xi), outside(xi), rtol=1e-8, atol=1e-9)
    slope = nj.jacfwd(lambda x: got(x)[0, 0])(xi[0])
    h = np.array([1e-6, 0])
    np.testing.assert_allclose(slope[0], (want(xi[:1] + h) - want(xi[:1] - h))[0, 0] / 2e-6, rtol=1e-6)


def test_errors():
    t, c = np.arange(8.0), np.ones(4)
    for call, error, match in [
        (lambda: interpolate.BSpline(t, c, -1), ValueError, "degree must not be negative"),
        (lambda: interpolate.BSpline(t[:5], c, 3), ValueError, "at least 8 knots for degree 3"),
        (lambda: interpolate.BSpline(t, c[:2], 3), ValueError, "need 4 coefficients, got 2"),
        (lambda: interpolate.BSpline(t[::-1], c, 3), ValueError, "non-decreasing"),
        (lambda: interpolate.BSpline(t, c, 3, axis=2), ValueError, "axis 2 is out of bounds"),
        (lambda: interpolate.BSpline(t, c, 3, "periodic").integrate(0, 1), NotImplementedError, "periods"),
        (lambda: interpolate.make_interp_spline(X[:3], X[:3]), ValueError, "at least 4 samples, got 3"),
        (lambda: interpolate.make_interp_spline(X, X, bc_type="x"), ValueError, "bc_type must be"),
        (lambda: interpolate.make_interp_spline(X, X, bc_type="periodic"), NotImplementedError, "CubicSpline"),
        (lambda: interpolate.make_interp_spline(X, X, 2, bc_type="natural"), ValueError, "takes 0 conditions"),
        (lambda: interpolate.make_interp_spline(X, X, t=t), ValueError, "for 9 samples and 0 conditions"),
        (lambda: interpolate.make_interp_spline(X, X, bc_type=([(4, 0)], [])), ValueError, "orders 1 to 3"),
        (lambda: interpolate.RegularGridInterpolator((t[:3],), c[:3], "cubic")(1.0), ValueError, "requires at least 4 points"),
    ]:
        with pytest.raises(error, match=match):
            call()
