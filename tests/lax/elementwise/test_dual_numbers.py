"""Derivatives of rules with loops, by dual numbers: second derivatives of incomplete gamma functions and gamma samples."""
from __future__ import annotations

import mpmath
import numpy as np
import pytest
from scipy import special

import numjet as nj
import numjet.numpy as jnp
from numjet import lax
from numjet.lax.elementwise import gamma_slopes
from numjet.lax.elementwise.dual_numbers import derivative, trigamma
from numjet.lax.elementwise.numpy_scalars import NumpyScalars
from numjet.lax.elementwise.special_loops import Number, by_numpy

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")
POINTS = [(1.0, 1.0), (0.05, 1e-3), (5.0, 4.0), (5.0, 12.0), (50.0, 60.0), (80.0, 85.0), (80.0, 20.0)]


def test_trigamma():
    x = np.array([1e-3, 0.3, 1.0, 9.5, 80.0, 1e6])
    np.testing.assert_allclose(trigamma(Number(NumpyScalars(), x)).s, special.polygamma(1, x), rtol=1e-15)


@pytest.mark.parametrize(("a", "x"), POINTS)
def test_rules_against_many_digits(a, x):
    """In series, fraction and Temme's expansion."""
    by_a = lambda a, x: mpmath.diff(lambda a: mpmath.gammainc(a, 0, x, regularized=True), a)
    density = lambda a, x: mpmath.exp((a - 1) * mpmath.log(x) - x - mpmath.loggamma(a))
    functions = {gamma_slopes.igamma_grad_a: by_a, gamma_slopes.random_gamma_grad: lambda a, x: -by_a(a, x) / density(a, x)}
    with mpmath.workdps(40):
        for rule, want in functions.items():
            for position in (0, 1):
                step = mpmath.mpf(10) ** -12 * (a, x)[position]
                after, before = (want(a + s * step * (position == 0), x + s * step * (position == 1)) for s in (1, -1))
                got = by_numpy(derivative(rule, position))(np.array([a]), np.array([x]))[0]
                assert abs(got / ((after - before) / (2 * step)) - 1) < 1e-13


def test_edges():
    """NaN where the function is; nothing moves where a density underflows."""
    a, x = np.array([-1.0, np.nan, 1.0, 1.0]), np.array([1.0, 1.0, -1.0, 1e4])
    for position in (0, 1):
        got = by_numpy(derivative(gamma_slopes.igamma_grad_a, position))(a, x)
        np.testing.assert_array_equal(got, [np.nan, np.nan, np.nan, 0.0])


@pytest.mark.parametrize("f", [lax.igamma, lambda a, x: nj.scipy.stats.gamma.logsf(x, a)])
def test_hessians(f):
    """Forward over reverse mode."""
    with nj.enable_x64():
        a, x = jnp.array([2.5, 0.5, 70.0]), jnp.array([1.5, 2.0, 75.0])
        total = lambda a, x: jnp.sum(nj.vmap(f)(a, x))
        found = nj.jit(nj.jacfwd(nj.grad(total, (0, 1)), (0, 1)))(a, x)
        step = 1e-5
        for i in (0, 1):
            after, before = (nj.grad(total, (0, 1))(a + s * step * (i == 0), x + s * step * (i == 1)) for s in (1, -1))
            for k in (0, 1):
                np.testing.assert_allclose(jnp.diag(found[k][i]), (after[k] - before[k]) / (2 * step), rtol=1e-5, atol=1e-9)


def test_second_derivatives_of_samples():
    """A sample moves with its parameter, so that the function of both does."""
    sample = lambda a: nj.random.gamma(nj.random.key(0), a)
    slope = lax.random_gamma_grad
    with nj.enable_x64():
        a = jnp.array(2.5)
        x = sample(a)
        want = nj.jvp(slope, (a, x), (jnp.ones_like(a), slope(a, x)))[1]
        np.testing.assert_allclose(nj.hessian(sample)(a), want, rtol=1e-12)


def test_single_precision():
    """Computed in double precision and rounded once: ψ(a) - log(x) would lose all digits."""
    slope = nj.jvp(lambda x: lax.random_gamma_grad(np.float32(1e6), x), (np.float32(1e6),), (np.float32(1),))[1]
    np.testing.assert_allclose(slope, 5.000000833e-07, rtol=1e-6)
