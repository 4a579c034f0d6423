"""Second derivatives where terms cancel: near 0, and at the ends of the domain; mpmath's values."""
from __future__ import annotations

import mpmath
import numpy as np
import pytest

import numjet as nj
import numjet.numpy as jnp
from numjet import nn
from numjet.scipy import special, stats

FUNCTIONS = {
    "arcsin": (jnp.arcsin, mpmath.asin), "arccos": (jnp.arccos, mpmath.acos), "arctanh": (jnp.arctanh, mpmath.atanh),
    "jnp.i0": (jnp.i0, lambda x: mpmath.besseli(0, x)), "i0": (special.i0, lambda x: mpmath.besseli(0, x)),
    "i1": (special.i1, lambda x: mpmath.besseli(1, x)),
    "i1e": (special.i1e, lambda x: mpmath.besseli(1, x) * mpmath.exp(-x)),
}
POINTS = np.float32([1e-30, 1e-6, 0.3, 0.75])


@pytest.mark.parametrize("name", FUNCTIONS)
def test_second_derivatives_keep_their_digits(name):
    function, exact = FUNCTIONS[name]
    with mpmath.workdps(120):
        want = [float(mpmath.diff(exact, mpmath.mpf(float(x)), 2, h=mpmath.mpf(10) ** -45)) for x in POINTS]
    for wrap in (lambda f: f, nj.jit):
        np.testing.assert_allclose(wrap(nj.vmap(nj.grad(nj.grad(function))))(POINTS), want, rtol=3e-6)


def test_ends_of_the_domain():
    curvature = nj.vmap(nj.grad(nj.grad(jnp.arcsin)))(np.float32([-1, -0.0, 0.0, 1]))
    np.testing.assert_array_equal(curvature, [-np.inf, 0, 0, np.inf])
    for x in (-2.0, -1e-6):  # entr is -inf there
        assert nj.grad(special.entr)(x) == nj.jvp(special.entr, (x,), (1.0,))[1] == nj.grad(nj.grad(special.entr))(x) == 0


INF, MAX = np.inf, float(np.finfo(np.float64).max)
FAR = {
    "arctan": (jnp.arctan, [-INF, MAX, INF], 0, 0), "arcsinh": (jnp.arcsinh, [-INF, INF], 0, 0),
    "erf": (special.erf, [-INF, MAX, INF], 0, 0), "erfc": (special.erfc, [-INF, MAX, INF], 0, 0),
    "dawsn": (special.dawsn, [-INF, MAX, INF], 0, 0), "erfcx": (special.erfcx, [MAX, INF], 0, 0),
    "log1mexp": (nn.log1mexp, [800.0, MAX, INF], 0, 0), "spence": (special.spence, [INF], 0, 0),
    "zeta": (special.zeta, [2e4, 1e30], 0, 0), "expi": (special.expi, [800.0, INF], INF, INF),
    "logit": (special.logit, [0.0], INF, -INF), "logit at 1": (special.logit, [1.0], INF, INF)}


@pytest.mark.parametrize("name", FAR)
def test_limits_far_out(name, x64):
    """Where a product in the derivative's formula would be 0 times infinity, or a difference of infinities."""
    function, points, *wanted = FAR[name]
    tangent = lambda f: lambda x: nj.jvp(f, (x,), (1.0,))[1]
    for make in (nj.grad, tangent):
        for order, want in zip((make(function), make(make(function))), wanted, strict=True):
            for call in (nj.vmap(order), nj.jit(nj.vmap(order))):
                np.testing.assert_allclose(call(np.array(points)), want, atol=1e-300)


ASYMPTOTIC = {
    "dawsn": (special.dawsn, lambda x: mpmath.sqrt(mpmath.pi) / 2 * mpmath.exp(-x * x) * mpmath.erfi(x)),
    "erfcx": (special.erfcx, lambda x: mpmath.exp(x * x) * mpmath.erfc(x)),
    "spence": (special.spence, lambda x: mpmath.re(mpmath.polylog(2, 1 - x)))}


@pytest.mark.parametrize("name", ASYMPTOTIC)
def test_derivatives_whose_terms_cancel_far_out_and_near_one(name, x64):
    function, exact = ASYMPTOTIC[name]
    points = np.array([0.5, 0.9, 1 - 1e-6, 1.0, 1.001, 1.12, 1.13, 4.9, 5.1, 9.9, 10.1, 50.0, 1e4])
    with mpmath.workdps(60):
        wanted = [[float(mpmath.diff(exact, mpmath.mpf(float(x)), n, h=mpmath.mpf(10) ** -15)) for x in points] for n in (1, 2)]
    for order, want in zip((nj.grad(function), nj.grad(nj.grad(function))), wanted, strict=True):
        for wrap in (lambda f: f, nj.jit):
            np.testing.assert_allclose(wrap(nj.vmap(order))(points), want, rtol=1e-9)


def test_mixed_derivatives_of_gammainc_where_the_exponent_is_zero(x64):
    """At a = 1 the power of x is 1, but not its derivative to a."""
    for x in (0.5, 2.0):
        want = np.exp(-x) * (np.log(x) + np.euler_gamma)
        for function, sign in ((special.gammainc, 1), (special.gammaincc, -1)):
            mixed = nj.grad(nj.grad(function, 1), 0)
            np.testing.assert_allclose([mixed(1.0, x), nj.jit(mixed)(1.0, x)], sign * want, rtol=1e-12)
    assert nj.grad(nj.grad(special.gammainc, 1), 0)(2.0, INF) == 0


@pytest.mark.parametrize("function, args, slope, curvature", [
    (special.gammainc, (1.0, 0.0), 1, -1), (special.gammainc, (2.0, 0.0), 0, 1), (special.gammainc, (30.0, 0.0), 0, 0),
    (special.gammaincc, (2.0, 0.0), 0, -1), (special.gammainc, (1.5, 0.0), 0, INF), (special.betainc, (2.0, 3.0, 0.0), 0, 12),
    (special.betainc, (3.0, 2.0, 1.0), 0, -12), (special.betainc, (1.0, 3.0, 0.0), 3, -6),
    (special.betainc, (3.0, 1.0, 1.0), 3, 6), (special.betainc, (2.0, 0.5, 0.0), 0, 0.75)])
def test_incomplete_functions_at_the_ends(function, args, slope, curvature, x64):
    place = len(args) - 1
    first = nj.grad(function, place)
    second = nj.grad(first, place)
    forward = nj.jacfwd(nj.jacfwd(function, place), place)
    np.testing.assert_allclose([first(*args), nj.jit(first)(*args)], slope, rtol=1e-12)
    np.testing.assert_allclose([second(*args), nj.jit(second)(*args), forward(*args)], curvature, rtol=1e-12)


@pytest.mark.parametrize("distribution, function, args, slope, curvature", [
    ("gamma", "logsf", (0.0, 1.0), -1, 0), ("gamma", "logsf", (0.0, 2.0), 0, -1), ("gamma", "logsf", (0.0, 30.0), 0, 0),
    ("chi2", "logsf", (0.0, 2.0), -0.5, 0), ("beta", "logcdf", (1.0, 3.0, 2.0), 0, -12),
    ("beta", "logcdf", (1.0, 3.0, 1.0), 3, -3), ("beta", "logcdf", (1.0, 2.0, 3.0), 0, 0),
    ("beta", "logsf", (0.0, 2.0, 3.0), 0, -12), ("beta", "logsf", (0.0, 1.0, 3.0), -3, -3)])
def test_logarithms_of_distribution_functions_at_the_ends(distribution, function, args, slope, curvature, x64):
    order = nj.grad(getattr(getattr(stats, distribution), function))
    second = nj.grad(order)
    np.testing.assert_allclose([order(*args), nj.jit(order)(*args)], slope, rtol=1e-12)
    np.testing.assert_allclose([second(*args), nj.jit(second)(*args)], curvature, rtol=1e-12)
