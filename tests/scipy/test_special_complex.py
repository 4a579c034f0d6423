"""Gamma and error functions of complex numbers: errors against mpmath, poles, axes and infinities."""
from __future__ import annotations

import mpmath
import numpy as np
import pytest

import numjet as nj
from numjet.scipy import special

RNG = np.random.default_rng(0)
AROUND = np.concatenate([size * (RNG.normal(0, 1, 6) + 1j * RNG.normal(0, 1, 6)) for size in (1e-9, 0.1, 1.0, 4.0)])
BESIDE_POLES = np.array([-3 + 1e-8j, -3.00001 + 1e-9j, 1e-12 + 1e-13j, -0.5 + 30j, -1e-5j, -2.9999999 + 0j, 0.1 - 1e-12j])
BESIDE_ZEROS = np.array([1 + 1e-9j, 2 - 1e-9j, 1.1 + 0.1j, 2.0079 + 0j])
DAWSN = lambda z: mpmath.sqrt(mpmath.pi) / 2 * mpmath.exp(-z * z) * mpmath.erfi(z)
NDTR = lambda z: mpmath.erfc(-z / mpmath.sqrt(2)) / 2
EXACT = {"erf": mpmath.erf, "erfc": mpmath.erfc, "erfi": mpmath.erfi, "dawsn": DAWSN, "ndtr": NDTR,
         "log_ndtr": lambda z: mpmath.log(NDTR(z)), "gamma": mpmath.gamma, "rgamma": mpmath.rgamma,
         "loggamma": mpmath.loggamma, "digamma": mpmath.digamma}


@pytest.mark.parametrize("name", EXACT)
def test_errors(name, x64):
    points = np.concatenate([AROUND, BESIDE_POLES, BESIDE_ZEROS]) if "gamma" in name else AROUND
    with mpmath.workdps(40):
        want = np.array([complex(EXACT[name](mpmath.mpmathify(complex(z)))) for z in points])
    np.testing.assert_allclose(getattr(special, name)(points), want, rtol=3e-13, atol=0)
    narrow = AROUND[abs(AROUND) > 1e-3].astype(np.complex64)
    with mpmath.workdps(40):
        want = np.array([complex(EXACT[name](mpmath.mpmathify(complex(z)))) for z in narrow])
    kept = abs(want) < 1e30
    np.testing.assert_allclose(np.asarray(getattr(special, name)(narrow))[kept], want[kept], rtol=2e-7, atol=1e-37)


def test_reciprocal_of_gamma_and_its_derivative_at_the_poles(x64):
    poles = -np.arange(4.0) + 0j
    np.testing.assert_array_equal(special.rgamma(poles), 0)
    slopes = nj.vmap(nj.grad(special.rgamma, holomorphic=True))(poles)
    np.testing.assert_allclose(slopes, [1, -1, 2, -6], rtol=1e-12)
    assert np.isnan(np.asarray([special.gamma(poles), special.digamma(poles)])).all()


def test_parts_that_are_zero_on_the_axes(x64):
    axis = np.array([-5.0, -0.5, 0.25, 2.0, 30.0])
    with np.errstate(all="ignore"):
        for name in ("erf", "dawsn", "erfi"):
            assert (np.asarray(getattr(special, name)(axis + 0j)).imag == 0).all()
            assert (np.asarray(getattr(special, name)(1j * axis)).real == 0).all()
    assert complex(special.erf(complex(np.inf, 0))) == 1
    assert complex(special.erfc(complex(-np.inf, 0))) == 2


def test_slopes_across_the_axes(x64):
    """The parts that are set to 0 on an axis change across it."""
    for name, slope in (("erf", lambda z: 2 / np.sqrt(np.pi) * np.exp(-z * z)),
                        ("erfi", lambda z: 2 / np.sqrt(np.pi) * np.exp(z * z))):
        points = np.array([0.5, 2.0, 0.5j, -2j])
        slopes = nj.vmap(nj.grad(getattr(special, name), holomorphic=True))(points)
        np.testing.assert_allclose(slopes, slope(points), rtol=1e-13)


def test_slopes_of_faddeevas_function_do_not_cancel(x64):
    w = lambda z: mpmath.exp(-z * z) * mpmath.erfc(-1j * z)
    points = np.array([0.5 + 0.5j, 3 + 1e-3j, 9 + 0.1j, 12 + 1e-8j, 12 - 1e-9j, 12 + 12j, 1e5j, 1e3 + 1j, -20 + 0.1j, -3 - 0.5j,
                       20 - 2j])
    slope = nj.grad(special.wofz, holomorphic=True)
    with mpmath.workdps(60):
        first = lambda z: 2j / mpmath.sqrt(mpmath.pi) - 2 * z * w(z)
        second = lambda z: -2 * w(z) - 2 * z * first(z)
        for derivative, exact in ((slope, first), (nj.grad(slope, holomorphic=True), second)):
            want = np.array([complex(exact(mpmath.mpmathify(complex(z)))) for z in points])
            np.testing.assert_allclose(nj.vmap(derivative)(points), want, rtol=1e-11)
            np.testing.assert_allclose(nj.jit(nj.vmap(derivative))(points), want, rtol=1e-11)


def test_limits_of_bessel_functions_at_0_are_those_of_real_numbers():
    orders = np.array([-2.5, -1.5, -1.0, -0.5, 0.0, 0.5], np.float32)
    for function in (special.jv, special.iv, special.yv, special.kv):
        np.testing.assert_array_equal(np.asarray(function(orders, 0j)).real, function(orders, 0.0))
