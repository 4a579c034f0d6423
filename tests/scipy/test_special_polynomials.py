"""Orthogonal polynomials and Voigt's profile of numjet.scipy.special against SciPy and mpmath."""
from __future__ import annotations

import mpmath
import numpy as np
import pytest
import scipy.special as oracle

import numjet as nj
import numjet.numpy as jnp
from numjet.foundation.config import enable_x64
from numjet.scipy import special
from numjet.testing.records import check_function

NAMES = {"eval_legendre": (), "eval_chebyt": (), "eval_chebyu": (), "eval_hermite": (), "eval_hermitenorm": (),
         "eval_laguerre": (), "eval_genlaguerre": (0.7,), "eval_gegenbauer": (1.3,)}
DEGREES = np.array([0, 1, 2, 3, 7, 20])
POINTS = np.linspace(-1.2, 1.2, 25)[:, None]


@pytest.mark.parametrize("name", NAMES)
def test_polynomials(name):
    function, exact, parameters = getattr(special, name), getattr(oracle, name), NAMES[name]
    with enable_x64(True):
        got = nj.jit(lambda x: function(DEGREES, *parameters, x))(POINTS)
        want = exact(DEGREES, *parameters, POINTS)
        np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-13 * abs(want).max(0).max())
        traced = nj.jit(lambda n, x: function(n, *parameters, x))(DEGREES, POINTS)
        np.testing.assert_allclose(traced, got, rtol=1e-13)
        check_function(lambda *xs: [function(4, *xs)], [np.float64(x) for x in (*parameters, 0.3)], 2, name)
        below = np.nan if "hermite" in name else exact(-1, *parameters, 0.3)
        np.testing.assert_allclose(function(-1, *parameters, 0.3), below, rtol=1e-13)
        slope = nj.vmap(nj.grad(lambda x, n: function(n, *parameters, x)), (None, 0))(0.3, DEGREES[:3])
        np.testing.assert_allclose(slope[:2], [0, exact(1, *parameters, 1.0) - exact(1, *parameters, 0.0)], atol=1e-12)
    single = function(DEGREES, *parameters, POINTS.astype(np.float32))
    assert single.dtype == jnp.float32
    np.testing.assert_allclose(single, want, rtol=1e-3, atol=1e-5 * abs(want).max())
    with pytest.raises(TypeError, match="degree must be integers"):
        function(0.5 if "hermite" in name else 1j, *parameters, 1.0)


REAL_DEGREES = np.array([0.5, 2.0, -1.5, 3.25])[:, None]
PARAMETERS = {"eval_gegenbauer": (0.8,), "eval_genlaguerre": (0.5,), "eval_jacobi": (0.5, 1.5), "eval_sh_jacobi": (2.5, 1.5)}


@pytest.mark.parametrize("name", ["eval_legendre", "eval_chebyt", "eval_chebyu", "eval_chebyc", "eval_chebys", "eval_laguerre",
                                  "eval_sh_legendre", "eval_sh_chebyt", "eval_sh_chebyu", *PARAMETERS])
def test_real_degrees(name, x64):
    function, parameters = getattr(special, name), PARAMETERS.get(name, ())
    several = [np.array([-2.0, -0.5, 0.0, 0.25, 0.5, 1.0, 2.0, np.nan]), np.array([0.3 + 0.4j, 2 - 1j, 5j])]
    for x in several[:1] if "_sh_cheb" in name or name[-1] in "cs" else several:   # these call the others
        want = getattr(oracle, name)(REAL_DEGREES, *parameters, x)
        np.testing.assert_allclose(function(REAL_DEGREES, *parameters, x), want, rtol=1e-11, atol=1e-13)
    assert function(np.float32(0.5), *parameters, np.float32(0.75)).dtype == np.float32


def test_derivatives_by_the_degree(x64):
    for function, exact in ((special.eval_legendre, lambda n: mpmath.legenp(n, 0, 0.25)),
                            (special.eval_laguerre, lambda n: mpmath.laguerre(n, 0, 0.25))):
        np.testing.assert_allclose(nj.grad(function)(0.5, 0.25), float(mpmath.diff(exact, 0.5)), rtol=1e-10)


@pytest.mark.parametrize("name", ["eval_legendre", "eval_chebyt", "eval_chebyu", "eval_chebyc", "eval_chebys",
                                  "eval_sh_legendre", "eval_sh_chebyt", "eval_sh_chebyu"])
@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int32])
def test_degrees_below_0_are_reflected(name, dtype):
    """Small integers have room for what degrees become."""
    degrees = np.array([127, 0, 5] if dtype == np.uint8 else [-128, -3, -2, -1, 0, 127], dtype)
    want = getattr(oracle, name)(degrees.astype(np.int64), 0.375)
    for call in (lambda f: f, nj.jit):
        np.testing.assert_allclose(call(getattr(special, name))(degrees, np.float32(0.375)), want, rtol=1e-4, atol=1e-4)


def voigt(x, sigma, gamma):
    z = (mpmath.mpf(x) + 1j * mpmath.mpf(gamma)) / (mpmath.mpf(sigma) * mpmath.sqrt(2))
    w = mpmath.exp(-z * z) * mpmath.erfc(-1j * z)
    return w.real / (mpmath.mpf(sigma) * mpmath.sqrt(2 * mpmath.pi))


def test_voigt_profile():
    rng = np.random.default_rng(0)
    x, sigma, gamma = rng.uniform(-6, 6, 100), 10 ** rng.uniform(-1, 1, 100), 10 ** rng.uniform(-2, 1, 100)
    with enable_x64(True):
        got = nj.jit(special.voigt_profile)(x, sigma, gamma)
        with mpmath.workdps(80):
            want = [float(voigt(*map(float, v))) for v in zip(x, sigma, gamma, strict=True)]
        np.testing.assert_allclose(got, want, rtol=1e-13)
        for args in [(0.3, 0.0, 1.0), (0.3, 1.0, 0.0), (0.0, 0.0, 0.0), (1.0, 0.0, 0.0), (np.nan, 1.0, 1.0), (9.0, 1.0, 1.0)]:
            np.testing.assert_allclose(special.voigt_profile(*args), oracle.voigt_profile(*args), rtol=1e-13)
        check_function(lambda *xs: [special.voigt_profile(*xs)], [np.float64(v) for v in (0.3, 1.1, 0.6)], 2, "voigt_profile")
    np.testing.assert_allclose(special.voigt_profile(*(v.astype(np.float32) for v in (x, sigma, gamma))), want, rtol=1e-4)


@pytest.mark.parametrize("name", ["hermite", "hermitenorm", "legendre", "chebyt", "chebyu", "laguerre", "sh_legendre"])
@pytest.mark.parametrize("degree", [20, 21])
def test_polynomials_that_overflow_are_infinite(name, degree):
    x = np.array([-1e5, -1e3, -100, 100, 1e3, 1e5], np.float32)
    with np.errstate(over="ignore"):
        want = getattr(oracle, "eval_" + name)(degree, x.astype(np.float64)).astype(np.float32)
    np.testing.assert_allclose(getattr(special, "eval_" + name)(degree, x), want, rtol=1e-5)
    ends = np.array([-np.inf, np.inf], np.float32)
    assert getattr(special, "eval_" + name)(degree, ends).tolist() == [np.sign(w) * np.inf for w in want[[0, -1]]]


def test_large_degrees_that_are_floats(x64):
    """The hypergeometric sums have lost all digits there; slopes to the degree and to x are those of the recurrence, too."""
    n, x = np.array([30.0, 100, 57.25, 1000.5, 999, -70.5]), np.array([0.3, 0.3, -0.8, 0.1, 0.99, 0.5])
    angle = np.arccos(x)
    found, by_n, by_x = nj.jit(nj.vmap(lambda n, x: (
        special.eval_chebyt(n, x), *nj.grad(special.eval_chebyt, argnums=(0, 1))(n, x))))(n, x)
    for a, b in ((found, np.cos(n * angle)), (by_n, -angle * np.sin(n * angle)), (by_x, n * np.sin(n * angle) / np.sin(angle))):
        np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(special.eval_legendre(99.5, 0.3), float(mpmath.legendre(99.5, 0.3)), rtol=1e-12)
    whole = np.array([2.0, 101, 4096])
    np.testing.assert_allclose(special.eval_chebyu(whole, 0.3), special.eval_chebyu(whole.astype(int), 0.3), rtol=1e-14)
    assert np.isnan(special.eval_chebyt(np.array([1e10, np.inf, np.nan]), 0.3)).all()
    assert np.isnan(special.hyp2f1(-100.0, 100.0, 0.5, 0.35)) and special.hyp2f1(-1.0, 2.0, 1.0, 0.5) == 0
