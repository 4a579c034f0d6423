"""Kelvin functions of numjet.scipy.special against mpmath and SciPy."""
import mpmath
import numpy as np
import pytest
from scipy import special as oracle

import numjet as nj
from numjet.scipy import special
from numjet.testing.records import check_function

POINTS = np.array([1e-6, 0.01, 0.3, 0.99, 1.0, 1.01, 2.5, 7.0, 15.0, 25.9, 26.1, 40.0, 100.0])


def exact(name: str, x: float) -> float:
    with mpmath.workdps(60):
        z = mpmath.mpf(float(x)) * mpmath.expjpi(0.25)
        first, order = name.startswith("be"), int(name.endswith("p"))
        value = mpmath.besseli(order, z) if first else mpmath.besselk(order, z) * (-1)**order
        value *= mpmath.expjpi(0.25)**order
        return float(value.imag if name[2] == "i" else value.real)


@pytest.mark.parametrize("name", ["ber", "bei", "ker", "kei", "berp", "beip", "kerp", "keip"])
def test_values(name):
    other = {"r": "i", "i": "r"}[name[2]]
    want = np.array([exact(name, x) for x in POINTS])
    size = np.hypot(want, [exact(name[:2] + other + name[3:], x) for x in POINTS])
    function = getattr(special, name)
    with nj.enable_x64(True):
        got = function(POINTS)
        assert got.dtype == np.float64
        assert (abs(got - want) / size).max() < 1e-13
        for same in (nj.jit(function)(POINTS), nj.vmap(function)(POINTS)):
            assert (abs(np.asarray(same - got)) / size).max() < 1e-13
        if not name.endswith("p"):
            slope = nj.vmap(nj.grad(function))(POINTS)
            np.testing.assert_allclose(slope[2:], getattr(special, name + "p")(POINTS)[2:], rtol=1e-10)
        check_function(lambda x: [function(x)], [np.array([0.4, 1.7, 8.0])], 2, name)
    single = function(POINTS.astype(np.float32))
    assert single.dtype == np.float32
    assert (abs(np.asarray(single, float) - want) / size)[:-2].max() < 2e-5
    assert function(np.float16(1.0)).dtype == np.float16


def test_ends():
    with nj.enable_x64(True):
        ends = np.array([0.0, -1.0, np.nan])
        for name in ("ber", "bei", "berp", "beip"):
            np.testing.assert_allclose(getattr(special, name)(ends), getattr(oracle, name)(ends), rtol=1e-13, atol=1e-15)
        for name in ("ker", "kei", "kerp", "keip"):
            np.testing.assert_allclose(getattr(special, name)(ends[1:]), [np.nan, np.nan])
        assert special.ker(0.0) == np.inf and special.kerp(0.0) == -np.inf and special.keip(0.0) == 0
        np.testing.assert_allclose(special.kei(0.0), -np.pi / 4, rtol=1e-15)
        assert special.ker(np.inf) == special.kei(np.inf) == 0
        for name, x in (("ker", 5e-324), ("kei", 5e-324), ("kerp", 1e-307)):
            np.testing.assert_allclose(getattr(special, name)(x), exact(name, x), rtol=1e-13)
        for x in (1e-310, 1e-200):   # the first term of DLMF 10.65.5
            np.testing.assert_allclose(special.keip(x), (0.5 - np.euler_gamma - np.log(0.5 * x)) * 0.5 * x, rtol=1e-13)
        np.testing.assert_allclose(nj.grad(special.beip)(0.0), 0.5, rtol=1e-13)
        np.testing.assert_allclose(special.kelvin(2.0), oracle.kelvin(2.0), rtol=1e-9)
    assert special.ber(np.zeros((0, 3), np.float32)).shape == (0, 3)
    with pytest.raises(ValueError, match="complex"):
        special.ber(1j)


def test_slopes_next_to_zero_and_values_that_overflow():
    x = np.array([1e-20, 1e-5, 0.3, -0.3])
    with nj.enable_x64(True):
        np.testing.assert_allclose(special.berp(x), oracle.berp(x), rtol=1e-14)   # about -x³ / 16, a difference of large parts
        for name in ("ber", "bei", "berp", "beip"):
            values = np.asarray(getattr(special, name)(np.array([1004.0, 1008.0, 1e4, -1e4])))
            assert np.isfinite(values[:2]).all() and np.isinf(values[2:]).all()
            assert np.array_equal(np.sign(values[2:]), np.sign(getattr(oracle, name)(np.array([1e4, -1e4]))))
