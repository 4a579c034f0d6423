"""Associated Legendre functions of numjet.scipy.special against mpmath and spherical harmonics."""
import mpmath
import numpy as np
import pytest
from scipy import special as oracle

import numjet as nj
from numjet.scipy.special import lpmn, lpmn_values
from numjet.testing.records import check_function

POINTS = np.array([-1.0, -0.9999, -0.3, 0.0, 0.4, 1.0])


def exact(order: int, degree: int, x: float) -> tuple[float, float]:
    """P(x) and P'(x) by the polynomial's derivatives: P[l, m] = (-1)^m s^m (d/dx)^m P[l]."""
    legendre = np.polynomial.legendre.Legendre.basis(degree, domain=[-1, 1]).convert(kind=np.polynomial.Polynomial)
    t, slope = (legendre.deriv(order) if order else legendre), legendre.deriv(order + 1)
    s = np.sqrt((1 - x) * (1 + x))
    turn = 0.0 if not order else order * x * t(x) * (s**(order - 2) if order > 1 else np.divide(1, s))
    return (-1)**order * s**order * t(x), (-1)**order * (s**order * slope(x) - turn)


@pytest.mark.parametrize("degree", [0, 1, 2, 6])
def test_values_and_derivatives(degree):
    with nj.enable_x64(True), np.errstate(divide="ignore"):
        values, slopes = lpmn(degree, degree, POINTS)
        assert values.shape == slopes.shape == (degree + 1, degree + 1, POINTS.size)
        for i in range(degree + 1):
            for j in range(degree + 1):
                want = np.array([exact(i, j, x) for x in POINTS]) if i <= j else np.zeros((POINTS.size, 2))
                np.testing.assert_allclose(values[i, j], want[:, 0], rtol=1e-12, atol=1e-12)
                np.testing.assert_allclose(slopes[i, j], want[:, 1], rtol=1e-10, atol=1e-10)
        compiled = nj.jit(lambda z: (lpmn(degree, degree, z), lpmn_values(degree, degree, z, False)))(POINTS)
        np.testing.assert_allclose(compiled[0][0], values, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(compiled[1], values, rtol=1e-12, atol=1e-12)
    single = lpmn(degree, degree, POINTS.astype(np.float32))[0]
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, values, rtol=2e-5, atol=2e-4)


def test_second_derivatives():
    with nj.enable_x64(True):
        for normalized in (False, True):
            check_function(lambda z, n=normalized: [lpmn_values(4, 4, z, n)], [POINTS[2:-1]], 2, "lpmn_values")
        check_function(lambda z: list(lpmn(3, 3, z)), [POINTS[2:-1]], 1, "lpmn")


def test_normalized_values_are_those_of_spherical_harmonics():
    with nj.enable_x64(True):
        got = lpmn_values(100, 100, POINTS, is_normalized=True)
        i, j = np.arange(101)[:, None, None], np.arange(101)[:, None]
        want = np.where(i <= j, oracle.sph_harm_y(j, i, np.arccos(POINTS), 0.0).real, 0)
        np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-13)
        with mpmath.workdps(40):
            # A degree at which the functions themselves overflow.
            x = mpmath.mpf(0.4)
            scale = mpmath.sqrt(401 / (4 * mpmath.pi) * mpmath.factorial(50) / mpmath.factorial(350))
            # mpmath has Condon and Shortley's phase too.
            high = float(scale * mpmath.legenp(200, 150, x).real)
        np.testing.assert_allclose(lpmn_values(200, 200, np.array([0.4]), True)[150, 200, 0], high, rtol=1e-10)


def test_outside_of_the_domain():
    values, slopes = lpmn(3, 3, np.array([1.5, np.nan], np.float32))
    np.testing.assert_allclose(values[0, :, 0], oracle.eval_legendre(np.arange(4), 1.5), rtol=1e-6)
    assert np.isnan(values[1, 1:]).all() and np.isnan(slopes[2, 2:]).all() and not values[2, :2].any()
    assert np.isnan(values[0, 1, 1]) and values.dtype == np.float32
    assert lpmn(2, 2, np.zeros(0, np.float32))[0].shape == (3, 3, 0)


def test_errors():
    z = np.array([0.5], np.float32)
    with pytest.raises(NotImplementedError, match="m!=n"):
        lpmn(2, 3, z)
    with pytest.raises(ValueError, match="must not be negative"):
        lpmn_values(-1, -1, z, True)
    with pytest.raises(ValueError, match="1D"):
        lpmn(2, 2, z[None])
    for bad in (np.array([1]), z.astype(np.float16), z.astype(np.complex64)):
        with pytest.raises(TypeError, match="expected float32 or float64"):
            lpmn_values(2, 2, bad, False)
