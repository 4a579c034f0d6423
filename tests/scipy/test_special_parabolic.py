"""Parabolic cylinder functions against mpmath and SciPy, and by their Wronskians."""
import functools

import mpmath
import numpy as np
import pytest
from scipy import special as oracle

import numjet as nj
from numjet.scipy import special

PLACES = [(v, x) for v in (-20.3, -0.5, 0.0, 2.0, 7.3) for x in (-9.0, -0.4, 2.5, 12.0)]
GRID = [(v, x) for x in np.linspace(-14, 14, 13) for v in np.linspace(-30.3, 30.4, 14)]
V, X = (np.array(c) for c in zip(*PLACES, *GRID, strict=True))


@functools.cache
def at_all_places(name):
    """Values and slopes in float64: one program serves several tests."""
    with nj.enable_x64(True):
        return [np.asarray(y) for y in getattr(special, name)(V, X)]


def _exact(name, v, x):
    if name == "pbdv":
        here, lower = (mpmath.pcfd(order, x, maxprec=30000) for order in (v, v - 1))
        return here, -x / 2 * here + v * lower
    here, lower = (mpmath.re(mpmath.pcfv(-order - 0.5, x, maxprec=30000)) for order in (v, v + 1))
    return here, x / 2 * here - (v + 1) * lower


@pytest.mark.parametrize("name", ["pbdv", "pbvv"])
def test_values(name, x64):
    """Relative errors; the slope counts where the function is small."""
    results = [at_all_places(name)]
    if name == "pbdv":
        results.append(nj.jit(nj.vmap(special.pbdv))(V, X))
    for k, (v, x) in list(enumerate(PLACES))[::2]:
        with mpmath.workdps(30):
            value, slope = _exact(name, mpmath.mpf(v), mpmath.mpf(x))
        size = abs(value) + abs(slope) / (1 + abs(x))
        for got in results:
            assert abs(float(got[0][k]) - value) < 1e-12 * size, (v, x)
            assert abs(float(got[1][k]) - slope) < 1e-12 * size * (1 + abs(x)), (v, x)


def test_wronskian():
    """D V' - D' V is sqrt(2 / pi), for all orders and arguments."""
    (d, d_slope), (w, w_slope) = at_all_places("pbdv"), at_all_places("pbvv")
    size = abs(d * w_slope) + abs(d_slope * w)
    assert (abs(d * w_slope - d_slope * w - np.sqrt(2 / np.pi)) < 3e-13 * size).all()


def test_functions_of_imaginary_parameters(x64):
    a, x = (v.ravel() for v in np.meshgrid([-5.0, -1.0, 0.0, 0.5, 2.0], [-5.0, -2.0, 0.0, 1.0, 5.0]))
    found = special.pbwa(a, x)
    for got, want in zip(found, oracle.pbwa(a, x), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-6, atol=1e-7)
    value, slope = special.pbwa(a, -x)    # W(a, x) W'(a, -x) has no simple form, but the Wronskian of both is 1
    np.testing.assert_allclose(-found[0] * slope - found[1] * value, 1, rtol=1e-7)


def test_derivatives_dtypes_and_ends():
    for name in ("pbdv", "pbvv", "pbwa"):
        function, x = getattr(special, name), np.linspace(-1.1, 2.7, 30)
        with nj.enable_x64(True):
            (value, slope), (change, curvature) = nj.jvp(lambda x, f=function: f(0.7, x), (x,), (np.ones(30),))
            np.testing.assert_allclose(change, slope, rtol=1e-12)
            np.testing.assert_allclose(curvature, (0.7 - x * x / 4 if name == "pbwa" else x * x / 4 - 1.2) * value, rtol=1e-11)
        ends = function(np.array([np.nan, 1.0] * 10, np.float16), np.array([1.0, np.nan] * 10, np.float16))
        assert {y.dtype.name for y in ends} == {"float16"} and np.isnan(ends).all()
        assert function(np.zeros((0, 3), np.float32), 1.0)[0].shape == (0, 3)
        with pytest.raises(NotImplementedError, match="parameter"):
            nj.grad(lambda v, f=function: f(v, 1.0)[0])(0.5)
        with pytest.raises(ValueError, match="complex"):
            function(0.5, 1j)


@pytest.mark.parametrize("name, orders", [("pbdv", [0.0, 1, 2.5, -1.5, -2, 0.5]), ("pbvv", [0.0, 1, -2, 2.25, -1.75])])
def test_limits_at_infinities(name, orders):
    """Far out the functions have the sign of the limit; what decays is 0."""
    function, ends = getattr(special, name), np.array([[-np.inf], [np.inf]])
    with nj.enable_x64(True):
        far = function(np.array(orders), 30 * np.sign(ends))
        for found, value in zip(function(np.array(orders), ends), far, strict=True):
            np.testing.assert_array_equal(found, np.where(np.abs(value) > 1, np.sign(value) * np.inf, 0))
        assert special.pbvv(0.5, -np.inf)[0] == 0 and np.isnan(special.pbdv(np.nan, np.inf)[0])
