"""Spherical harmonics against SciPy."""
import numpy as np
import pytest
from scipy import special as oracle

import numjet as nj
from numjet.scipy.special import sph_harm_y
from numjet.testing.records import check_function

RNG = np.random.default_rng(0)
THETA, PHI = RNG.uniform(0, np.pi, 9), RNG.uniform(-4, 4, 9)


def test_values():
    n, m = np.arange(-1, 13)[:, None, None], np.arange(-13, 14)[:, None]
    with nj.enable_x64(True):
        want = oracle.sph_harm_y(n, m, THETA, PHI)
        np.testing.assert_allclose(sph_harm_y(n, m, THETA, PHI), want, rtol=1e-12, atol=1e-13)
        compiled = nj.jit(lambda *v: sph_harm_y(*v, n_max=20))
        np.testing.assert_allclose(compiled(n, m, THETA, PHI), want, rtol=1e-12, atol=1e-13)
        want = oracle.sph_harm_y(60, 40, THETA, PHI)
        np.testing.assert_allclose(sph_harm_y(60, 40, THETA, PHI), want, rtol=1e-10, atol=1e-13)


def test_angles_beyond_half_a_turn():
    """The polar angle enters through its cosine alone, so odd orders keep their sign where its sine is negative."""
    angles = np.linspace(-7, 7, 30)
    n, m = np.arange(5)[:, None, None], np.arange(-4, 5)[:, None]
    with nj.enable_x64(True):
        np.testing.assert_allclose(sph_harm_y(n, m, angles, 0.4), oracle.sph_harm_y(n, m, angles, 0.4), rtol=1e-12, atol=1e-13)


def test_degrees_beyond_the_bound():
    """Degrees above n_max are taken as n_max, and a traced degree needs it."""
    np.testing.assert_array_equal(sph_harm_y(np.array([10]), 2, 0.2, 0.9, n_max=6), sph_harm_y(np.array([6]), 2, 0.2, 0.9))
    with pytest.raises(nj.errors.ConcretizationTypeError, match="n_max"):
        nj.jit(sph_harm_y)(3, 2, 0.2, 0.9)


def test_derivatives():
    with nj.enable_x64(True):
        for n, m in ((0, 0), (3, 2), (4, -1)):
            check_function(lambda t, p, n=n, m=m: [sph_harm_y(n, m, t, p).real], [THETA, PHI], 2, "sph_harm_y")
        assert np.isfinite(nj.grad(lambda t: sph_harm_y(3, 1, t, 0.5).real)(0.0))


def test_dtypes_and_errors():
    assert sph_harm_y(2, 1, np.float16(0.5), np.float16(0.3)).dtype == "complex64"
    assert sph_harm_y(np.array([2]), np.array([1]), 0.5, 0.3).shape == (1,)
    with pytest.raises(NotImplementedError, match="diff_n"):
        sph_harm_y(2, 1, 0.5, 0.3, diff_n=1)
    with pytest.raises(TypeError, match="expected integers"):
        sph_harm_y(2.0, 1, 0.5, 0.3)
