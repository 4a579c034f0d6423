"""1F1, 2F1, Bessel functions of integer order and the derivative of zeta, against SciPy and mpmath."""
from __future__ import annotations

import mpmath
import numpy as np
import pytest
import scipy.special as oracle

import numjet as nj
import numjet.numpy as jnp
from numjet.scipy import special
from numjet.testing.records import check_function

INF = np.inf


def exact(function, args):
    return np.array([float(function(*map(float, row))) for row in zip(*args, strict=True)])


@pytest.mark.parametrize("scales", [(3, 3, 10), (3, 3, 300)])
def test_1f1(scales, x64):
    args = [np.random.default_rng(0).normal(0, s, 60) for s in scales]
    np.testing.assert_allclose(special.hyp1f1(*args), exact(mpmath.hyp1f1, args), rtol=1e-11)


@pytest.mark.parametrize("x", [-(10 ** np.linspace(-3, 6, 60)), 1 - 10 ** np.linspace(-9, 0, 60)])
@pytest.mark.parametrize("small", [False, True])
def test_2f1(x, small, x64):
    """Fewer terms do for small parameters."""
    rng = np.random.default_rng(0)
    args = [*(rng.uniform(-2, 2, (3, 60)) if small else rng.normal(0, 3, (3, 60))), x]
    np.testing.assert_allclose(special.hyp2f1(*args), exact(mpmath.hyp2f1, args), rtol=1e-11)


def test_special_points_of_1f1():
    *args, value = np.float32([
        (1, 2, INF, INF), (1, 2, -INF, 0), (-1, 2, INF, -INF), (0, 2, INF, 1), (-1, -1, 1, 2), (-1, -2, 2, 2), (1, -1, 2, INF),
        (0, 0, 1, 1), (np.nan, 1, 1, np.nan), (-3, 2, 900, -29971349), (2, 3, -200, 5e-5), (1, 2, 0, 1)]).T
    np.testing.assert_allclose(special.hyp1f1(*args), value, rtol=1e-6)


def test_special_points_of_2f1():
    args = np.float32([
        (.45, .7, .45, 1.5), (1, 1, 3, 1.5), (1, 1, 3, 1), (1, 1, 2, 1), (-2, 1, -2, .5), (-2, 1, -1, .5), (-3, 1, -4, .5),
        (1, 2, -1, .3), (-2, 3, 4, 5), (0, 3, 4, 5), (1, 2, 3, INF), (1, 2, 3, np.nan), (1, 1, 1, 2), (2, 3, 3, 2),
        (1, 2, 0, 0), (-.5, 3, -.5, 1.5), (-3, 2, 4, 1), (2.5, 3, 4, -1e10)]).T
    np.testing.assert_allclose(special.hyp2f1(*args), oracle.hyp2f1(*args), rtol=2e-6)


@pytest.mark.parametrize("function, reference, places, args", [
    (special.hyp1f1, mpmath.hyp1f1, (0, 1, 2), [(1.5, -2, 3), (2.5, 1.25, -1.5), (0.7, -3, -30)]),
    (special.hyp2f1, mpmath.hyp2f1, (0, 3), [(1.5, 1.5, 2), (-2, 0.5, -0.5), (0.75, 0.75, 1.5), (0.6, -6, -0.2)])])
def test_derivatives(function, reference, places, args):
    points = np.array(args, np.float32)
    slopes = nj.jit(nj.vmap(nj.grad(function, places)))(*points)
    for place, slope in zip(places, slopes, strict=True):
        order = [int(k == place) for k in range(len(args))]
        want = [float(mpmath.diff(reference, tuple(map(float, row)), order)) for row in points.T]
        np.testing.assert_allclose(slope, want, rtol=1e-5)


def test_mixed_derivative():
    want = float(mpmath.diff(mpmath.hyp1f1, (1.5, 2.5, 0.5), (1, 0, 1)))
    np.testing.assert_allclose(nj.jit(nj.grad(nj.grad(special.hyp1f1, 2)))(1.5, 2.5, 0.5), want, rtol=1e-5)


@pytest.mark.parametrize("function, args", [
    (special.zeta, (2.5, 1.25)), (lambda z: special.bessel_jn(z, v=2), (1.5,)), (lambda z: special.bessel_jn(z, v=1), (40.0,))])
def test_derivatives_by_differences(function, args, x64):
    check_function(lambda *xs: list(jnp.atleast_1d(function(*xs))), [np.float64(x) for x in args], 2, str(function))


def test_derivative_of_zeta():
    x, q = np.float32([1.1, 2, 10, 30]), np.float32([0.3, 2.5, 1, 0.7])
    for order in (1, 2):
        derived = nj.grad(special.zeta) if order == 1 else nj.grad(nj.grad(special.zeta))
        want = [float(mpmath.zeta(float(a), float(b), order)) for a, b in zip(x, q, strict=True)]
        np.testing.assert_allclose(nj.vmap(derived)(x, q), want, rtol=1e-6)
    assert nj.grad(special.zeta)(1.0, 1.0) == -INF and nj.grad(special.zeta)(INF, 2.0) == 0


def test_bessel_functions_of_integer_order():
    z = np.float32([0, 1e-30, 0.5, 2.4048256, 10, 24.9, 25.1, -26, 100, -1000.5, 30])
    for v in (0, 1, 30):
        got = special.bessel_jn(z, v=v)
        assert got.shape == (v + 1, z.size) and got.dtype == jnp.float32
        np.testing.assert_allclose(got, oracle.jv(np.arange(v + 1)[:, None], z.astype(float)), rtol=1e-6, atol=3e-8)
    out = special.bessel_jn(np.array([INF, -INF, np.nan]), v=1)
    np.testing.assert_array_equal(out, [[0, 0, np.nan]] * 2)
    assert special.bessel_jn(np.ones((2, 0)), v=2, n_iter=200).shape == (3, 2, 0)
    with pytest.raises(TypeError, match="v must be an integer"):
        special.bessel_jn(1.0, v=0.5)
    with pytest.raises(ValueError, match="must not be negative"):
        special.bessel_jn(1.0, v=-1)


@pytest.mark.parametrize("function, count, error", [(special.hyp1f1, 3, ValueError), (special.hyp2f1, 4, TypeError)])
def test_dtypes_and_shapes(function, count, error):
    for x in (jnp.bfloat16([0.25, 0.5]), jnp.int32([0, 1])):
        assert function(*[x] * count).dtype == jnp.result_type(x, 0.0)
    assert function(*[x[:0]] * count).shape == (0,) and function(x[:, None], *[x] * (count - 1)).shape == (2, 2)
    xs = [jnp.float32([0.3, 0.6])] * count
    np.testing.assert_allclose(nj.vmap(function)(*xs), function(*xs), rtol=1e-6)
    with pytest.raises(error, match="complex"):
        function(*[1j] * count)


def test_bessel_jn_of_arrays_under_strict_ranks():
    z = np.linspace(-3, 30, 12, dtype=np.float32).reshape(3, 4)
    with nj.numpy_rank_promotion("raise"):
        out, change = nj.jvp(lambda z: nj.scipy.special.bessel_jn(z, v=1), (z,), (np.ones_like(z),))
    assert out.shape == change.shape == (2, 3, 4)
    np.testing.assert_allclose(change[0], -out[1], rtol=1e-6)


def test_elements_do_not_depend_on_others(x64):
    """Sums of different lengths side by side; one that overflows ends none of the others."""
    a, b = np.array([1e-4, -13, -5, 2, -1e6]), np.array([-3, 25, 26, 3, 0.5])
    c, x = np.array([-15, -20, -10, 1.5, 2.5]), np.array([-0.97, -0.5, -0.37, 0.4, 0.3])
    np.testing.assert_allclose(special.hyp2f1(a, b, c, x)[:4], exact(mpmath.hyp2f1, (a[:4], b[:4], c[:4], x[:4])), rtol=1e-12)
    for function, args in ((special.hyp2f1, (a, b, c, x)), (special.hyp1f1, (a, c, x))):
        np.testing.assert_array_equal(function(*args), [function(*row) for row in zip(*args, strict=True)])


@pytest.mark.parametrize("a, b, x", [(-1e18, 0.5, 1.0), (-1e18, 0.5, 600.0), (-1e6, 0.5, 600.0)])
def test_1f1_has_no_value_where_its_terms_overflow_and_cancel(a, b, x, x64):
    assert np.isnan(special.hyp1f1(a, b, x)) and np.isnan(nj.grad(special.hyp1f1, argnums=2)(a, b, x))


def test_polynomials_of_huge_degrees_end(x64):
    found = [special.hyp1f1(-1e18, 0.5, -600.0), special.hyp1f1(-1e18, -1e18, 600.0), special.hyp1f1(-1e18, 0.5, 1e-20)]
    np.testing.assert_allclose(found, [INF, np.exp(600), np.cos(0.2)], rtol=1e-12)


def test_erfcx_in_float32():
    x = np.concatenate([np.linspace(-9.3, 30, 20001), 10.0 ** np.linspace(-30, 38, 2001)]).astype(np.float32)
    found, want = np.asarray(special.erfcx(x), np.float64), oracle.erfcx(x.astype(float))
    assert np.max(np.abs(found - want) / np.spacing(np.abs(want).astype(np.float32))) < 6
    assert special.erfcx(np.float32(0)) == 1
