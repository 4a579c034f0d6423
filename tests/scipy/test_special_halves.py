"""Functions of halves and of far tails: as accurate as their dtype allows, where intermediate results overflow or round."""
import mpmath
import numpy as np
import pytest
import scipy.special as oracle

import numjet as nj
import numjet.numpy as jnp
from numjet.scipy import special

HALVES = {"i0": (special.i0, oracle.i0), "i1": (special.i1, oracle.i1), "jnp.i0": (jnp.i0, oracle.i0),
          "expi": (special.expi, oracle.expi), "log_ndtr": (special.log_ndtr, lambda x: oracle.log_ndtr(-x)),
          "gamma": (special.gamma, lambda x: oracle.gamma(x / 2)), "ndtr": (special.ndtr, lambda x: oracle.ndtr(x - 12))}


@pytest.mark.parametrize("dtype", [jnp.float16, jnp.bfloat16])
@pytest.mark.parametrize("name", HALVES)
def test_halves_are_rounded_once(name, dtype):
    function, want = HALVES[name]
    x = jnp.linspace(0.5, 14, 55).astype(dtype)
    given = {"log_ndtr": -x, "gamma": x / 2, "ndtr": x - 12}.get(name, x)
    exact = want(np.asarray(x, np.float64))
    if name in ("gamma", "ndtr"):   # of the numbers that are passed
        exact = (oracle.gamma if name == "gamma" else oracle.ndtr)(np.asarray(given, np.float64))
    eps = float(jnp.finfo(dtype).eps)
    held = np.abs(exact) < float(jnp.finfo(dtype).max)
    for got in (function(given), nj.jit(function)(given)):
        assert got.dtype == dtype
        np.testing.assert_allclose(np.asarray(got, np.float64)[held], exact[held], rtol=0.52 * eps, atol=1e-7)


@pytest.mark.parametrize("dtype, low, units", [(np.float32, -12.9, 2), (np.float64, -37, 6)])
def test_the_tail_of_the_normal_distribution(dtype, low, units, x64):
    """The rounding of the argument of erfc is made good: it was magnified by x**2, to 71 units in float32."""
    x = np.linspace(low, 3, 60).astype(dtype)
    with mpmath.workdps(40):
        exact = [mpmath.ncdf(mpmath.mpf(float(v))) for v in x]
        for found in (special.ndtr(x), nj.jit(special.ndtr)(x), nj.vmap(special.ndtr)(x)):
            worst = max(abs(mpmath.mpf(float(got)) / want - 1) for got, want in zip(found, exact, strict=True))
            assert worst < units * np.finfo(dtype).eps
    erfc = np.asarray(jnp.asarray(x) * 0) + special.erfc(-x)
    np.testing.assert_allclose(erfc, nj.jit(special.erfc)(-x), rtol=16 * np.finfo(dtype).eps)


@pytest.mark.parametrize("dtype", [jnp.float16, jnp.bfloat16])
def test_sums_of_halves_are_rounded_once(dtype):
    """The terms of a derivative of a Bessel function may overflow where it does not; Kelvin's functions are of single parts."""
    x = jnp.array([0.0826, 0.25, 1.5, 9.0], dtype)
    exact, eps = np.asarray(x, np.float64), float(jnp.finfo(dtype).eps)
    for name in ("kvp", "jvp", "yvp", "ivp"):
        found = getattr(special, name)(2.5, x)
        assert found.dtype == dtype
        np.testing.assert_allclose(np.asarray(found, np.float64), getattr(oracle, name)(2.5, exact), rtol=0.51 * eps, atol=1e-7)
    for got, want in zip(special.kelvin(x), oracle.kelvin(exact), strict=True):
        assert got.dtype == np.complex64
        np.testing.assert_allclose(got, want, rtol=1e-5)


def test_derivatives_of_the_normal_distribution():
    points = jnp.array([-np.inf, -50.0, -2.0, 0.0, 1.0, 50.0, np.inf])
    density = np.exp(-np.square([0, 0, -2.0, 0, 1, 0, 0]) / 2) / np.sqrt(2 * np.pi) * [0, 0, 1, 1, 1, 0, 0]
    np.testing.assert_allclose(nj.vmap(nj.grad(special.ndtr))(points), density, rtol=1e-6)
    second = nj.vmap(nj.grad(nj.grad(special.ndtr)))(points)
    np.testing.assert_allclose(second, density * [0, 0, 2, 0, -1, 0, 0], rtol=1e-6)
    assert np.isnan(nj.grad(special.ndtr)(np.nan)) and np.isnan(special.ndtr(np.nan))


def test_equal_operands_of_arctan2_are_eighths_of_a_turn():
    y = jnp.array([1.0, -1.0, np.inf, -3e38, 1e-40])
    for x, want in ((jnp.abs(y), np.pi / 4), (-jnp.abs(y), 3 * np.pi / 4)):
        np.testing.assert_array_equal(nj.jit(jnp.arctan2)(y, x), np.float32(want) * np.sign(np.asarray(y)))
