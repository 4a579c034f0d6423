"""Special functions: the loop rules against SciPy, limits, derivatives and errors."""
from __future__ import annotations

import mpmath
import numpy as np
import pytest
from scipy import special

import numjet as nj
from numjet import lax
from numjet.lax.elementwise import gamma_slopes, incomplete_beta, incomplete_gamma, special as functions, special_rules as rules
from numjet.lax.elementwise.numpy_scalars import NumpyScalars
from numjet.lax.elementwise.special_loops import by_numpy
from numjet.lax.elementwise.special_tables import TEMME
from numjet.lax.tangent import instantiate
from numjet.transforms.jvp import jvp_flat

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")


def operands(rng, count=400):
    """Parameters over six decades, arguments on both sides of the mean and far away from it."""
    a = 10.0 ** rng.uniform(-2, 4, count)
    return a, a * rng.choice([0.01, 0.4, 0.56, 0.9, 1.0, 1.1, 1.44, 1.6, 5.0], count)


def close(got, expected, rtol):
    use = np.abs(expected) > 1e-200
    assert np.allclose(got[use], expected[use], rtol=rtol, atol=0)


@pytest.mark.parametrize("name, oracle", [("igamma", special.gammainc), ("igammac", special.gammaincc)])
def test_incomplete_gamma(name, oracle, rng):
    a, x = operands(rng)
    rule = by_numpy(getattr(incomplete_gamma, name))
    close(rule(a, x), oracle(a, x), 1e-10)
    a32, x32 = a.astype(np.float32), x.astype(np.float32)
    expected = rule(a32.astype(float), x32.astype(float))
    assert rule(a32, x32).dtype == np.float32
    assert np.allclose(rule(a32, x32), expected, rtol=1e-6, atol=1e-37)


def test_incomplete_gamma_known_values():
    # P(1, x) = 1 - e^-x; Q(1/2, x) = erfc(sqrt x); P(a, a) for a = 100 (DLMF 8.11.12 to 16 digits)
    rule = by_numpy(incomplete_gamma.igamma)
    x = np.array([0.1, 1.0, 3.0, 20.0])
    assert np.allclose(rule(np.ones(4), x), -np.expm1(-x), rtol=1e-14)
    assert np.allclose(by_numpy(incomplete_gamma.igammac)(np.full(4, 0.5), x), special.erfc(np.sqrt(x)), rtol=1e-13)


@pytest.mark.parametrize("name, oracle", [("igamma", special.gammainc), ("igammac", special.gammaincc)])
def test_incomplete_gamma_limits(name, oracle):
    a = np.array([0, 1, -1, 2, 0, np.inf, 2, np.nan, np.inf])
    x = np.array([1, 0, 2, -1, 0, 2, np.inf, 1, np.inf])
    assert np.array_equal(by_numpy(getattr(incomplete_gamma, name))(a, x), oracle(a, x), equal_nan=True)


def test_gamma_derivatives_by_parameter(rng):
    a, x = operands(rng, 200)
    p = special.gammainc(a, x)
    step = 1e-5 * a
    differences = (special.gammainc(a + step, x) - special.gammainc(a - step, x)) / (2 * step)
    use = (p > 1e-4) & (p < 1 - 1e-4)
    assert use.sum() > 40
    got = by_numpy(gamma_slopes.igamma_grad_a)(a, x)
    assert np.allclose(got[use], differences[use], rtol=2e-5)
    density = np.exp((a - 1) * np.log(x) - x - special.gammaln(a))
    implicit = by_numpy(gamma_slopes.random_gamma_grad)(a, x)
    assert np.allclose(implicit[use], (-got / density)[use], rtol=1e-9)


def test_incomplete_beta(rng):
    a, b = 10.0 ** rng.uniform(-2, 3, (2, 300))
    mean = a / (a + b)
    x = np.clip(mean + rng.normal(size=300) * np.sqrt(mean * (1 - mean) / (a + b + 1)), 1e-6, 1 - 1e-6)
    close(by_numpy(incomplete_beta.betainc)(a, b, x), special.betainc(a, b, x), 1e-12)
    edges = np.array([[0, 1, 0.5], [1, 0, 0.5], [-1, 2, 0.5], [2, 1, -1], [2, 1, 2], [1, 1, 0], [2, 3, 1]]).T
    expected = [1, 0, np.nan, np.nan, np.nan, 0, 1]
    assert np.array_equal(by_numpy(incomplete_beta.betainc)(*edges), expected, equal_nan=True)


def ulps(got, want, dtype=np.float64):
    return max(float(abs(mpmath.mpf(float(g)) - w) / mpmath.mpf(float(np.spacing(dtype(abs(float(w)))))))
               for g, w in zip(got, want, strict=True))


@pytest.mark.parametrize("a, x, most", [
    ((0.001, 1.0), (0.001, 3.0), 12),       # Q = 1 - P would lose three digits
    ((0.1, 20.0), (0.1, 40.0), 40), ((40.0, 90.0), (30.0, 110.0), 120)])
def test_errors_of_incomplete_gamma(a, x, most, rng):
    """All four functions, in every region of the plane."""
    a, x = np.exp(rng.uniform(*np.log(a), 40)), np.exp(rng.uniform(*np.log(x), 40))
    with mpmath.workdps(60):
        below = [mpmath.gammainc(p, 0, q, regularized=True) for p, q in zip(a, x, strict=True)]
        above = [mpmath.gammainc(p, q, regularized=True) for p, q in zip(a, x, strict=True)]
        for name, want in (("igamma", below), ("igammac", above)):
            log = [mpmath.log(v) for v in want]
            assert ulps(by_numpy(getattr(incomplete_gamma, name))(a, x), want) < most, name
            assert ulps(by_numpy(getattr(incomplete_gamma, "log_" + name))(a, x), log) < most, name


@pytest.mark.parametrize("name, at", [("log_igamma", (3e4, 1.7e4)), ("log_igammac", (3e4, 4e4)), ("log_igamma", (2e5, 1e2)),
                                      ("log_igammac", (0.5, 1e4))])
def test_logarithms_where_incomplete_gamma_underflows(name, at):
    """Inside of Temme's expansion, in series and fraction."""
    with mpmath.workdps(60):
        bounds = (0, at[1]) if name == "log_igamma" else (at[1], mpmath.inf)
        want = mpmath.log(mpmath.gammainc(at[0], *bounds, regularized=True))
    got = by_numpy(getattr(incomplete_gamma, name))(*(np.array([v]) for v in at))
    assert abs(got[0] / float(want) - 1) < 1e-13


def test_errors_of_incomplete_beta(rng):
    """Also for parameters below 1, where the smaller share is the one to be computed."""
    for low, high, most in ((0.001, 1.0, 20), (0.1, 20.0, 60), (20.0, 300.0, 400)):
        a, b = np.exp(rng.uniform(np.log(low), np.log(high), (2, 30)))
        x = np.clip(a / (a + b) * np.exp(0.3 * rng.normal(size=30)), 0.006, 0.994)
        with mpmath.workdps(180):
            want = [mpmath.re(mpmath.betainc(p, q, 0, v, regularized=True)) for p, q, v in zip(a, b, x, strict=True)]
            rest = [mpmath.log(1 - v) for v in want]
            log = [mpmath.log(v) for v in want]
            assert ulps(by_numpy(incomplete_beta.betainc)(a, b, x), want) < most
            assert ulps(by_numpy(incomplete_beta.log_betainc)(a, b, x), log) < 4 * most
            assert ulps(by_numpy(incomplete_beta.log_betaincc)(a, b, x), rest) < 4 * most


def test_zeta_and_polygamma(rng):
    s, q = rng.uniform(1.01, 30, 200), 10.0 ** rng.uniform(-2, 4, 200)
    close(by_numpy(rules.zeta)(s, q), special.zeta(s, q), 1e-12)
    s, q = np.array([2.0, 3, 4, 2, 2.5, 1, 0.5]), np.array([-0.5, -1.5, -9.5, -2, -0.5, 2, 2])
    assert np.allclose(by_numpy(rules.zeta)(s, q), special.zeta(s, q), rtol=1e-12, equal_nan=True)
    n, x = np.meshgrid([0.0, 1, 2, 5, 10], [0.3, 2.0, -1.5, 50])
    expected = special.polygamma(n.astype(int), x)
    assert np.allclose(by_numpy(rules.polygamma)(n, x), expected, rtol=1e-12)
    assert np.allclose(np.asarray(lax.polygamma(n.astype(np.float32), x.astype(np.float32))), expected, rtol=1e-4)
    assert np.isnan(np.asarray(lax.polygamma(1.5, 2.0)))


@pytest.mark.parametrize("name, oracle", [("bessel_i0e", special.i0e), ("bessel_i1e", special.i1e)])
@pytest.mark.parametrize("dtype, rtol", [(np.float32, 1e-6), (np.float64, 3e-15)])
def test_bessel_series(name, oracle, dtype, rtol):
    x = np.concatenate([np.linspace(-30, 30, 301), [7.999, 8, 1e-5, 1e6]]).astype(dtype)
    got = getattr(rules, name)(NumpyScalars(), x)
    assert got.dtype == dtype and np.allclose(got, oracle(x.astype(float)), rtol=rtol, atol=0)


def test_temme_table_starts_with_known_coefficients():
    # Temme 1979: c_0 = -1/3 + eta/12 - ..., c_1 = -1/540 - ...
    assert np.allclose(TEMME[0][:2], [-1 / 3, 1 / 12]) and np.isclose(TEMME[1][0], -1 / 540)


CASES = [
    (lax.erf, (0.7,), 0), (lax.erfc, (0.7,), 0), (lax.erf_inv, (0.3,), 0), (lax.lgamma, (2.3,), 0),
    (lax.digamma, (2.3,), 0), (lax.igamma, (2.0, 1.5), 0), (lax.igamma, (2.0, 1.5), 1), (lax.igammac, (2.0, 1.5), 0),
    (lax.igammac, (2.0, 1.5), 1), (functions.log_igamma, (2.0, 1.5), 0), (functions.log_igamma, (2.0, 1.5), 1),
    (functions.log_igammac, (2.0, 300.0), 0), (functions.log_igammac, (2.0, 300.0), 1),
    (functions.log_betainc, (2.0, 3.0, 0.4), 2), (functions.log_betaincc, (2.0, 3.0, 0.4), 2),
    (lax.betainc, (2.0, 3.0, 0.4), 2), (lax.zeta, (3.0, 1.5), 1),
    (lax.polygamma, (1.0, 1.5), 1), (lax.bessel_i0e, (1.5,), 0), (lax.bessel_i1e, (1.5,), 0),
    (lax.bessel_i1e, (0.0,), 0)]


@pytest.mark.parametrize("fn, at, wrt", CASES)
def test_derivatives(fn, at, wrt, x64):
    at = [np.float64(v) for v in at]

    def call(v):
        return fn(*[v if i == wrt else a for i, a in enumerate(at)])

    (_,), (slope,) = jvp_flat(lambda v: [call(v)], [np.asarray(at[wrt])], [np.ones(())])
    h = 1e-5
    expected = (np.asarray(call(at[wrt] + h)) - np.asarray(call(at[wrt] - h))) / (2 * h)
    assert np.allclose(np.asarray(instantiate(slope)), expected, rtol=2e-5)


@pytest.mark.parametrize("fn, at, text", [
    (lambda m: lax.polygamma(m, np.float32(2)), 1.0, "respect to m"),
    (lambda a: lax.betainc(a, np.float32(2), np.float32(0.5)), 1.0, "respect to a and b"),
    (lambda s: lax.zeta(s, np.float32(2)), 2.0, "first argument")])
def test_unknown_derivatives_are_refused(fn, at, text):
    with pytest.raises(ValueError, match=text):
        jvp_flat(lambda v: [fn(v)], [np.float32(at)], [np.float32(1)])


def test_floats_only():
    with pytest.raises(TypeError, match="erf does not accept dtype int32"):
        lax.erf(1)


@pytest.mark.parametrize("call", [lax.digamma, nj.jit(lax.digamma)])
def test_digamma_beside_its_poles(call, x64):
    x = np.array([-n + s * 10.0**-k for n in (0, 1, 2, 17) for s in (-1, 1) for k in (2, 3, 6, 9, 13)])
    with mpmath.workdps(40):
        expected = np.array([float(mpmath.digamma(mpmath.mpf(float(v)))) for v in x])
    assert np.all(np.abs(np.asarray(call(x)) - expected) <= 8 * np.spacing(np.abs(expected)))
    assert np.isnan(call(np.array([0.0, -0.0, -1.0, -20.0, -1e300, -np.inf, np.nan]))).all() and call(np.inf) == np.inf


def test_axes_of_size_1_of_betainc_broadcast():
    rng = np.random.default_rng(0)
    a, b, x = (rng.uniform(0.1, 0.9, s).astype(np.float32) for s in ((5, 3, 1), (3, 5, 4), (5, 1, 4)))
    found = nj.vmap(lax.betainc, (0, 1, 0))(a, b, x)
    np.testing.assert_allclose(found, special.betainc(a, b.transpose(1, 0, 2), x), rtol=1e-4)
    with pytest.raises(TypeError, match="same number of dimensions"):
        lax.betainc(a, b[0], x)
