"""Functions of scipy.special and scipy.stats at special points: SciPy's values, mpmath's derivatives, NaN where NaN goes in."""
import functools
from itertools import product

import mpmath
import numpy as np
import pytest
from scipy import special as reference, stats as reference_stats

import numjet as nj
from numjet.scipy import special, stats
from tests.scipy.special_points import (
    BINARY,
    CONTINUOUS,
    CURVATURES,
    DECISIONS,
    DISCRETE,
    FEW,
    FUNCTIONS,
    HUGE_COUNTS,
    INF,
    INFINITE_POCH,
    LIMITS,
    POINTS,
    SLOPES,
    UNARY,
    arguments_of,
    columns,
)

HAS = [(d, f) for d in (*CONTINUOUS, *DISCRETE) for f in FUNCTIONS if hasattr(getattr(stats, d), f)]


def assert_like(title, got, want, args, rtol, atol=1e-290):
    """Equal values, up to rounding, but for the decisions about the function."""
    with np.errstate(all="ignore"):
        fine = (got == want) | (np.isnan(got) & np.isnan(want)) | (np.abs(got - want) <= rtol * np.abs(want) + atol)
    if title in DECISIONS:
        fine |= DECISIONS[title][0](*args)
    wrong = [(tuple(float(a[k]) for a in args), float(got[k]), float(want[k])) for k in np.nonzero(~fine)[0][:9]]
    assert not wrong, f"{title}: arguments, value, SciPy's value: {wrong} and {(~fine).sum()} in all"


@pytest.mark.parametrize("name", [*UNARY, *BINARY])
def test_values_of_special_functions(name, x64):
    args = (np.array(POINTS),) if name in UNARY else columns(list(product(FEW, FEW)))
    with np.errstate(all="ignore"):
        want = getattr(reference, name)(*args)
    for call in (getattr(special, name), nj.jit(getattr(special, name))):
        assert_like(name, np.asarray(call(*args)), want, args, 1e-9)


@pytest.mark.parametrize("distribution, function", HAS)
def test_values_of_distributions(distribution, function, x64):
    args = arguments_of(distribution, function)
    with np.errstate(all="ignore"):
        want = np.asarray(getattr(getattr(reference_stats, distribution), function)(*args), np.float64)
    fun = getattr(getattr(stats, distribution), function)
    for call in (fun, nj.jit(fun)):
        got = np.asarray(call(*args)).astype(np.float64)
        assert_like(f"{distribution}.{function}", got, want, args, 1e-8, 1e-14 if "log" in function else 1e-290)


@pytest.mark.parametrize("distribution", [*CONTINUOUS, *DISCRETE])
def test_integers_booleans_and_empty_arrays(distribution):
    function = getattr(stats, distribution).logpdf if distribution in CONTINUOUS else getattr(stats, distribution).logpmf
    pools = CONTINUOUS[distribution][0] if distribution in CONTINUOUS else DISCRETE[distribution]
    rest = {"truncnorm": (-1, 2)}.get(distribution, tuple(0.5 if 0.25 in pool else 2 for pool in pools))
    want = np.asarray(function(1.0, *map(float, rest)))
    for x in (1, True, np.int8(1), np.uint8(1), np.bool_(True)):
        out = function(x, *rest)
        assert out.dtype == np.float32
        np.testing.assert_allclose(out, want, rtol=1e-6)
    assert function(np.zeros((0, 3), np.float32), *rest).shape == (0, 3) and function(np.ones((1, 1)), *rest).shape == (1, 1)
    np.testing.assert_allclose(function(np.float16(1), *(np.float16(r) for r in rest)), want, rtol=2e-2, atol=2e-3)


@pytest.mark.parametrize("distribution", [d for d in CONTINUOUS if hasattr(getattr(stats, d), "cdf")])
def test_derivatives_of_distribution_functions_are_densities(distribution, x64):
    """cdf' = pdf, sf' = -pdf, logcdf' = pdf / cdf, logsf' = -pdf / sf, where x is no end of the support."""
    module, own = getattr(stats, distribution), getattr(reference_stats, distribution)
    args = arguments_of(distribution, "cdf")
    with np.errstate(all="ignore"):
        low, high = own.support(*args[1:])
        density = own.pdf(*args)
        size = np.abs(args[0])
        inner = (size <= 40) & (size != 1e-30) & np.isfinite(density) & (low < args[0]) & (args[0] < high)
        args, pdf = tuple(a[inner] for a in args), density[inner]
        lower, upper = (np.where(part > 0, part, np.nan) for part in (own.cdf(*args), own.sf(*args)))
        logs = {"logcdf": pdf / lower, "logsf": -pdf / upper}
    for name, want in {"cdf": pdf, "sf": -pdf, **logs}.items():
        if hasattr(module, name):
            got = np.asarray(nj.jit(nj.vmap(nj.grad(getattr(module, name))))(*args))
            known = ~np.isnan(want)
            np.testing.assert_allclose(got[known], want[known], rtol=1e-6, atol=1e-12, err_msg=f"{distribution}.{name}")
            assert not np.isnan(got[known]).any()


@pytest.mark.parametrize("distribution, args, low, high", [
    ("beta", (1.0, 1.0), 0.0, 1.0), ("beta", (1.0, 3.0), 0.0, None), ("beta", (3.0, 1.0), None, 1.0),
    ("gamma", (1.0,), 0.0, None), ("expon", (), 0.0, None), ("uniform", (), 0.0, 1.0)])
def test_densities_that_are_finite_at_an_end_have_finite_derivatives(distribution, args, low, high):
    logpdf = getattr(stats, distribution).logpdf
    for x in (low, high):
        if x is not None:
            for order in (nj.grad(logpdf), nj.grad(nj.grad(logpdf))):
                assert np.isfinite(order(x, *args)) and np.isfinite(nj.jit(order)(x, *args))


@pytest.mark.parametrize("distribution, args, slope, curvature", [
    ("gamma", (0.0, 2.0), 1, -2), ("gamma", (0.0, 3.0), 0, 1), ("gamma", (0.0, 30.0), 0, 0), ("chi2", (0.0, 4.0), 0.25, -0.25),
    ("beta", (0.0, 2.0, 3.0), 12, -48), ("beta", (1.0, 2.0, 3.0), 0, 24), ("beta", (1.0, 3.0, 2.0), -12, -48),
    ("beta", (0.0, 30.0, 1.0), 0, 0), ("beta", (0.0, 2.0, 1.0), 2, 0)])
def test_densities_that_vanish_at_an_end_have_finite_derivatives(distribution, args, slope, curvature, x64):
    pdf = getattr(stats, distribution).pdf
    tangent = lambda f: lambda x, *rest: nj.jvp(lambda x: f(x, *rest), (x,), (1.0,))[1]
    for make in (nj.grad, tangent):
        for order, want in ((make(pdf), slope), (make(make(pdf)), curvature)):
            for call in (order, nj.jit(order)):
                np.testing.assert_allclose(call(*args), want, rtol=1e-9)
    for place in range(1, len(args) + 2):    # parameters, loc and scale
        want = {len(args): -slope, len(args) + 1: -args[0] * slope}.get(place, 0)
        np.testing.assert_allclose(nj.grad(pdf, place)(*args, 0.0, 1.0), want, atol=1e-12)


def _named(name):
    """A function of a distribution, or of scipy.special."""
    distribution, function = name.split(".")
    return getattr(special if distribution == "special" else getattr(stats, distribution), function)


def test_slopes_at_ends_of_supports_and_parameters(x64):
    found = []
    for name, args, place, want in SLOPES:
        function = _named(name)
        found += [(name, args, place, float(mode(function, place)(*args)), want) for mode in (nj.grad, nj.jacfwd)]
    wrong = [row for row in found if not (row[3] == row[4] or abs(row[3] - row[4]) < 1e-12)]
    assert not wrong, wrong


def test_second_derivatives_at_ends(x64):
    found = [(name, args, float(mode(nj.grad(_named(name)))(*args)), want)
             for name, args, want in CURVATURES for mode in (nj.grad, nj.jacfwd)]
    assert not [row for row in found if row[2] != row[3]]


def test_values_of_infinite_parameters():
    def values(tables):
        return [_named(name)(*args) for (name, _, _), args in zip(LIMITS, tables, strict=True)]
    arguments, wanted = [args for _, args, _ in LIMITS], [want for _, _, want in LIMITS]
    for call in (values, nj.jit(values)):
        np.testing.assert_array_equal(call(arguments), wanted)


def test_probabilities_of_huge_counts():
    for name, args, want in HUGE_COUNTS:
        for call in (_named(name), nj.jit(_named(name))):
            np.testing.assert_allclose(call(*args), want, rtol=1e-5)
            with nj.enable_x64(True):
                np.testing.assert_allclose(call(*args), want, rtol=1e-12)


@pytest.mark.parametrize("function", ["cdf", "logcdf", "sf", "logsf"])
def test_tangents_outside_of_the_support_of_beta(function):
    for x in (-1.0, 2.0):
        assert nj.jvp(lambda x: getattr(stats.beta, function)(x, 0.5, 0.5), (x,), (1.0,))[1] == 0


def test_slopes_in_halves_have_logarithms_of_gamma_functions_that_overflow():
    for name, args, want in (("beta.cdf", (0.0, 1.0, 1e4), 1e4), ("beta.sf", (0.0, 2.0, 1e4), 0), ("gamma.cdf", (6e4, 1e4), 0)):
        slope, args = nj.grad(_named(name)), [np.float16(x) for x in args]
        for call in (slope, nj.jit(slope)):
            np.testing.assert_allclose(call(*args), want, rtol=1e-2)


def test_slopes_of_impossible_counts_of_outcomes():
    slope = nj.grad(lambda p: stats.multinomial.logpmf(np.array([-1, 2, 2]), 3, p))
    assert not slope(np.array([1.0, 0.0, 0.0])).any() and not slope(np.array([0.5, 0.25, 0.25])).any()


@pytest.mark.parametrize("distribution, function", [p for p in HAS if p[1] in ("logpdf", "cdf", "logsf", "logpmf")])
def test_invalid_parameters_give_nan_with_all_derivatives(distribution, function):
    bad = {"norm": (0.0, -1.0), "gamma": (-1.0,), "beta": (0.0, 1.0), "t": (-2.0,), "pareto": (0.0,), "chi2": (-1.0,),
           "gumbel_r": (0.0, -1.0), "gumbel_l": (0.0, 0.0), "cauchy": (0.0, -1.0), "expon": (0.0, -2.0), "geom": (1.5,),
           "binom": (5.0, 1.5), "nbinom": (0.0, 0.5), "poisson": (-1.0,), "logistic": (0.0, -1.0), "laplace": (0.0, -1.0)}
    if distribution not in bad:
        pytest.skip("no bad parameters in the table")
    fun = getattr(getattr(stats, distribution), function)
    for call in (fun, nj.jit(fun)):
        assert np.isnan(call(1.5, *bad[distribution]))
    for x in (0.5, 1.5):
        assert not np.asarray(nj.grad(fun)(x, *bad[distribution])) or np.isnan(nj.grad(fun)(x, *bad[distribution]))


@pytest.mark.parametrize("distribution, sign", [("gumbel_r", 1), ("gumbel_l", -1)])
def test_gumbel_slopes_where_the_inner_exponential_overflows_and_at_the_ends_of_quantiles(distribution, sign, x64):
    own = getattr(stats, distribution)
    far = np.array([-1e30, -1e4, -800.0]) * sign
    for function in (own.cdf, own.sf, own.pdf, own.logsf if sign > 0 else own.logcdf):
        for order in (nj.grad(function), nj.grad(nj.grad(function)), nj.grad(function, 2)):
            assert not np.any(nj.vmap(lambda x, order=order: order(x, 0.0, 1.0))(far))
    for function, rises in ((own.ppf, 1), (own.isf, -1)):
        for end, bend in ((0.0, -1), (1.0, 1)):
            assert nj.grad(function)(end) == nj.jit(nj.grad(function))(end) == rises * INF
            assert nj.grad(nj.grad(function))(end) == rises * bend * INF
        exact = getattr(reference_stats, distribution)
        q = np.array([1e-12, 0.2, 0.9])
        want = rises / exact.pdf(getattr(exact, function.__name__)(q))
        np.testing.assert_allclose(nj.vmap(nj.grad(function))(q), want, rtol=1e-9)


@functools.cache
def second_derivatives(function):
    """A program of all second derivatives by three arguments, over points, in reverse and in forward mode."""
    def derivatives(points, *ends):
        return [nj.vmap(mode(mode(function, first), second), (0, None, None))(points, *ends)
                for mode in (nj.grad, nj.jacfwd) for first in range(3) for second in range(first, 3)]
    return nj.jit(derivatives)


@pytest.mark.parametrize("ends", [
    (-1.0, 2.0), (-INF, INF), (0.0, INF), (-INF, 0.0), (5.0, 6.0), (-6.0, -5.0), (10.0, INF), (3.0, 3.1)])
def test_truncated_normals_with_infinite_ends(ends, x64):
    """Derivatives in both modes, and quantiles, which are right far out."""
    own, other = stats.truncnorm, reference_stats.truncnorm
    low, high = max(ends[0], -8.0), min(ends[1], 12.0)
    points = np.linspace(low, high, 9)[1:-1]
    for name in ("logpdf", "cdf", "logcdf", "sf", "logsf"):
        found = np.array(second_derivatives(getattr(own, name))(points, *ends))
        assert np.isfinite(found).all()
        np.testing.assert_allclose(*found.reshape(2, -1), rtol=1e-6, atol=1e-9)
    q = np.array([0.0, 1e-10, 1e-3, 0.3, 0.9, 1.0])
    np.testing.assert_allclose(nj.jit(own.ppf)(q, *ends, 0.5, 2.0), other.ppf(q, *ends, 0.5, 2.0), rtol=1e-9)
    mirrored = 1 - other.ppf(q, -ends[1], -ends[0], 0.5, 2.0)
    np.testing.assert_allclose(own.isf(q, *ends, 0.5, 2.0), mirrored, rtol=1e-9, atol=1e-9)
    q = np.array([1e-3, 0.3, 0.9])
    np.testing.assert_allclose(nj.vmap(nj.grad(own.ppf), (0, None, None))(q, *ends), 1 / other.pdf(other.ppf(q, *ends), *ends))
    for k, end in enumerate(ends, 1):
        slope = np.asarray(nj.vmap(nj.grad(own.ppf, k), (0, None, None))(q, *ends))
        step = 1e-5 * (np.arange(1, 3) == k)
        difference = (other.ppf(q, *(ends + step)) - other.ppf(q, *(ends - step))) / 2e-5
        np.testing.assert_allclose(slope, 0 if np.isinf(end) else difference, rtol=1e-3, atol=1e-6)


DERIVATIVES = {
    "erf": mpmath.erf, "erfc": mpmath.erfc, "gammaln": lambda x: mpmath.log(abs(mpmath.gamma(x))), "digamma": mpmath.digamma,
    "expit": lambda x: 1 / (1 + mpmath.exp(-x)), "ndtr": mpmath.ncdf, "log_ndtr": lambda x: mpmath.log(mpmath.ncdf(x)),
    "i0": lambda x: mpmath.besseli(0, x), "i1": lambda x: mpmath.besseli(1, x), "expi": mpmath.ei,
    "dawsn": lambda x: mpmath.sqrt(mpmath.pi) / 2 * mpmath.exp(-x * x) * mpmath.erfi(x),
    "erfcx": lambda x: mpmath.exp(x * x) * mpmath.erfc(x), "gamma": mpmath.gamma,
    "i0e": lambda x: mpmath.exp(-abs(x)) * mpmath.besseli(0, x), "i1e": lambda x: mpmath.exp(-abs(x)) * mpmath.besseli(1, x)}
EVERYWHERE = {"erf", "erfc", "expit", "ndtr", "log_ndtr", "i0", "i1", "dawsn", "erfcx", "i0e", "i1e"}


@pytest.mark.parametrize("name", DERIVATIVES)
def test_derivatives_of_special_functions(name, x64):
    """First and second derivatives against mpmath, also at 0 and 1 and far out."""
    points = [0.5, 1.0, 2.0, 3.5, 5.0, *([-0.5, -1.0, -3.5] if name in EVERYWHERE else [])]
    points += [0.0] if name in EVERYWHERE - {"i0e", "i1e"} else []
    with mpmath.workdps(40):
        wanted = [[float(mpmath.diff(DERIVATIVES[name], x, n)) for x in points] for n in (1, 2)]
    f = getattr(special, name)
    for order, want in zip((nj.grad(f), nj.grad(nj.grad(f))), wanted, strict=True):
        for got in (nj.vmap(order)(np.array(points)), nj.jit(nj.vmap(order))(np.array(points))):
            np.testing.assert_allclose(got, want, rtol=1e-7, atol=1e-12)


def test_second_derivatives_of_divergences_of_unequal_numbers(x64):
    """That by q is p / q^2, also where p is small beside q."""
    for mode in (nj.grad, nj.jacfwd):
        for p, q in ((1e-30, 1.0), (1.0, 1e30), (3.0, 2.0)):
            np.testing.assert_allclose(mode(nj.grad(special.kl_div, 1), 1)(p, q), p / q / q, rtol=1e-12)


def test_infinite_parameters_of_poch(x64):
    z, m, want = np.array(INFINITE_POCH).T
    for found in (special.poch(z, m), nj.jit(special.poch)(z, m), special.poch(z.astype(np.float32), m.astype(np.float32))):
        np.testing.assert_allclose(found, want, rtol=1e-5)
    assert nj.vmap(nj.grad(special.poch))(np.full(2, INF), np.array([-2.0, -2.5])).tolist() == [0, 0]


def test_poch_at_the_poles_of_the_gamma_function(x64):
    """0 where Gamma(z) alone is infinite, else the limit; the derivatives by z are those of the product of z, z + 1, ..."""
    z = np.array([0.0, -4, 0, -2, -1, -1, -2, -3, -1, -2, -5, -3])
    m = np.array([-1, 4, -1, -2, 1, 2.5, 3, 3, -0.5, 0, 5, 7])
    slopes = [float(mpmath.diff(lambda t, b=b: mpmath.rf(t, b), a)) for a, b in zip(z, m, strict=True)]
    for call in (lambda f: f, nj.jit):
        np.testing.assert_allclose(call(special.poch)(z, m), reference.poch(z, m), rtol=1e-12)
        np.testing.assert_allclose(call(special.poch)(np.float32(z), np.float32(m)), reference.poch(z, m), rtol=1e-6)
        np.testing.assert_allclose(call(nj.vmap(nj.grad(special.poch)))(z, m), slopes, rtol=1e-10)
    assert special.poch(-200.0, 0.5) == 0 and special.poch(-1e5, 0.5) == 0     # Gamma(1 - z) may overflow


@pytest.mark.parametrize("name", ["factorial", "factorial2"])
def test_ends_of_factorials(name):
    found = getattr(special, name)(np.array([np.inf, -np.inf, np.nan, -1, 0], np.float32))
    np.testing.assert_array_equal(found, [np.inf, 0, np.nan, 0, 1])


@pytest.mark.parametrize("name, shift", [("xlogy", 0), ("xlog1py", 1)])
def test_products_with_logarithms(name, shift, x64):
    f = getattr(special, name)
    zero = -float(shift)          # the logarithm's pole
    assert np.isnan(f(0.0, np.nan)) and f(0.0, zero) == 0 and f(0.0, np.inf) == 0
    for jit in (lambda g: g, nj.jit):
        assert jit(nj.grad(f, 1))(0.0, zero) == 0 and jit(nj.grad(nj.grad(f, 1), 1))(0.0, zero) == 0
        assert jit(nj.grad(f, 0))(0.0, 1.0) == np.log(1.0 + shift)
        assert jit(nj.grad(nj.grad(f, 0), 1))(0.0, 1.0) == 1 / (1 + shift)
        assert np.isnan(jit(nj.grad(f, 1))(0.0, np.nan))
        assert jit(nj.grad(lambda y: nj.numpy.exp(f(1.5e308, y))))(0.25 - shift) == 0    # 0, where f's slope overflows


# Arguments at which intermediate results overflow, lose their digits or do not end, and the values.
EXTREME = [("gammaln", (1e-310,), 713.8013788281542), ("betaln", (1.0, 1e-310), 713.8013788281542),
           ("zeta", (1e30, 2.0), 0.0), ("zeta", (np.inf, 1.5), 0.0), ("expn", (-1e30, 1.0), np.nan),
           ("expn", (1.5, 0.5), np.nan), ("expn", (np.nan, 0.0), np.nan), ("expn", (np.nan, INF), np.nan),
           ("expn", (1.5, 2.0), 0.042566070501657191), ("hyp1f1", (1.0, 3.0, INF), INF), ("hyp1f1", (1.0, 3.0, 1e300), INF),
           ("hyp1f1", (-66.75, 0.5, 42.25), -1547028252.6768296),
           ("hyp1f1", (52.25, 0.00390625, -31.25), -8.3554426458240074e-5),
           ("hyp1f1", (-81.5, 15.5, 300.0), -1.8431357860748446e+43),
           ("poch", (1e-30, -1.0), -1.0), ("poch", (1e-310, -2.0), 0.5), ("poch", (-0.0014, -82.0), 2.0890080197057983e-123),
           ("poch", (1e-310, 0.0), 1.0), ("poch", (1e-310, 2.0), 1e-310), ("poch", (1e-310, 1e-310), 0.5),
           ("boxcox", (0.5, 5e-324), np.log(0.5)), ("boxcox1p", (2.0, -1e-310), np.log(3.0)),
           ("betainc", (1.0, 1e300, 0.5), 1.0), ("betainc", (1e300, 1.0, 0.5), 0.0), ("betaincc", (1.0, 1e300, 0.5), 0.0),
           ("betainc", (3.5, 1e300, 2e-300), float(reference.gammainc(3.5, 2.0))),   # SciPy: NaN
           ("betainc", (1e300, 1e299, 0.91), 1.0), ("betainc", (1e300, 1e299, 0.909), 0.0),
           ("betainc", (1e-310, 1e-310, 0.25), 0.5), ("betainc", (1e-30, 1e-310, 0.5), 1e-280),
           ("gammainc", (1e-310, 1.0), 1.0), ("gammaincc", (1e-310, 1.0), 2.193839343955e-311),
           ("zeta", (2.0, 1e300), 1e-300), ("polygamma", (1.0, 1e200), 1e-200), ("polygamma", (1e30, 0.5), -INF),
           ("voigt_profile", (0.0, 1e-310, 1.0), 1 / np.pi), ("voigt_profile", (0.5, 1e-310, 1.0), 0.8 / np.pi),
           ("elliprf", (0.0, 1e-30, 1e300), 3.8131283470513744e-148), ("elliprg", (0.0, 1e-310, 1.0), 0.5),
           ("agm", (30.0, 5e-324), 0.06289663126298153), ("agm", (1e-30, 1e300), 2.063472251016267e297),
           ("ndtri_exp", (-1e30,), -np.sqrt(2) * 1e15), ("zetac", (-1e-30,), -1.5), ("zetac", (-500.0,), -1.0),
           ("pseudo_huber", (1.0, 1e300), 1e300), ("pseudo_huber", (1e300, 1.0), 0.5), ("poch", (0.0, -1e300), 0.0),
           ("beta", (-0.5, -0.5), 0.0), ("gammaincinv", (1e30, 1e-310), 1e30 - 3.766e16),
           ("y0", (1e-310,), -454.49387560035393), ("j1", (1e-300,), 5e-301), ("j0", (5e-324,), 1.0),
           ("jv", (0.5, 1e-302), 7.978845608028654e-152),
           ("betainc", (1e-310, 1.0, 1e-310), 1.0), ("betainc", (1e-310, 0.5, 1e-30), 1.0),
           ("gammaincinv", (0.0, 0.0), 0.0), ("gammaincinv", (0.0, 1.0), INF), ("hyp0f1", (1e-310, -1.0), -INF),
           ("polygamma", (40.0, -1e-30), INF), ("polygamma", (INF, 1.0), np.nan),
           ("betainc", (1.0, 1e-30, 1 - 2.0**-20), 20e-30 * np.log(2)),
           ("betaincc", (1e-30, 1.0, 2.0**-20), 20e-30 * np.log(2)),
           ("polygamma", (1.0, -70.5), 9.855520126863498), ("polygamma", (3.0, -1e9 - 0.25), 1558.5454565440386),
           ("zeta", (2.0, -1e9 - 0.5), np.pi**2 - 1e-9)]


@pytest.mark.parametrize("name, args, want", EXTREME)
def test_extreme_arguments(name, args, want, x64):
    function = getattr(special, name)
    np.testing.assert_allclose([function(*args), nj.jit(function)(*args)], [want, want], rtol=1e-12)


def test_probabilities_of_beta_with_parameters_of_very_different_sizes():
    p, q = np.array([1e-30, 0.5, 2.0, 30.0], np.float32), np.array([[1e5], [1e10], [1e20], [1e30]], np.float32)
    x = np.maximum(p, 1) / q
    want = reference.betainc(*np.broadcast_arrays(*(v.astype(np.float64) for v in (p, q, x))))
    for call in (special.betainc, nj.jit(special.betainc)):
        np.testing.assert_allclose(call(p, q, x), want, rtol=1e-6)


def test_probabilities_of_tiny_shapes_are_at_most_1(x64):
    for call in (special.gammainc, nj.jit(special.gammainc)):
        assert call(np.array([1e-300, 1e-200, 1e-100, 1e-30]), 1e-30).max() == 1
        np.testing.assert_allclose(nj.grad(call)(1e-310, 1e-30), -reference.exp1(1e-30), rtol=1e-12)


REPEATED = [(0.5, 0.0, 1.0), (0.0, 0.0, 1.0), (0.0, 1e30, 0.0), (0.0, 1.0, 0.0), (INF, 0.0, 1.0), (INF, 2.0, INF),
            (1.0, 1e30, 1.0), (1.0, 1e-310, 1.0), (3.0, 2.0, 6.0), (0.5, 2.0, 0.0), (2.0, -0.5, 0.0)]


def test_choices_with_repetition(x64):
    N, k, want = np.array(REPEATED).T
    function = lambda N, k: special.comb(N, k, repetition=True)
    for found in (function(N, k), nj.jit(function)(N, k), function(N.astype(np.float32), k.astype(np.float32))):
        np.testing.assert_array_equal(found, want)


# Function, arguments, first and second derivative by the last of them or by that of the number.
BENDS = [("boxcox", (2.0, -INF), 1, 0.0, 0.0), ("boxcox", (0.5, INF), 1, 0.0, 0.0), ("boxcox", (0.0, 0.0), 1, INF, -INF),
         ("boxcox1p", (1.0, -INF), 1, 0.0, 0.0), ("boxcox", (2.0, 0.0), 1, np.log(2) ** 2 / 2, np.log(2) ** 3 / 3),
         ("boxcox", (3.0, 2.0), 1, (1 + 9 * (np.log(9) - 1)) / 4, (9 * (np.log(9) ** 2 - 2 * np.log(9) + 2) - 2) / 8),
         ("voigt_profile", (1.0, 1e-30, 0.5), 1, 4.481803197467773e-31, 0.4481803197467773),
         ("voigt_profile", (0.0, 1e-7, 2.0), 1, -7.957747154594767e-9, -0.07957747154594767),
         ("owens_t", (INF, INF), 0, 0.0, 0.0), ("owens_t", (3e38, 1.0), 0, 0.0, 0.0), ("owens_t", (1.0, INF), 1, 0.0, 0.0),
         ("owens_t", (1.0, INF), 0, -np.exp(-0.5) / np.sqrt(8 * np.pi), np.exp(-0.5) / np.sqrt(8 * np.pi)),
         ("owens_t", (0.0, 2.0), 0, 0.0, -1 / np.pi),
         ("gammaln", (-70.5,), 0, 4.26268814231018, 9.855520126863498),
         ("polygamma", (0.0, 1e200), 1, 1e-200, 0.0)]


@pytest.mark.parametrize("wide", [True, False])
def test_derivatives_at_infinities(wide, request):
    if wide:
        request.getfixturevalue("x64")
    for name, args, place, *wanted in BENDS:
        if not wide and name == "polygamma":
            continue                                # of 1e200
        args = tuple(np.asarray(x, float if wide else np.float32) for x in args)
        first = nj.grad(getattr(special, name), place)
        for order, want in zip((first, nj.grad(first, place)), wanted, strict=True):
            np.testing.assert_allclose([order(*args), nj.jit(order)(*args)], [want] * 2, rtol=1e-12 if wide else 1e-5,
                                       err_msg=f"{name}{args}")


def test_slopes_where_functions_vanish_and_beside_reflections(x64):
    np.testing.assert_allclose(nj.grad(special.beta)(-0.5, -0.5), -4 * np.pi, rtol=1e-13)   # Gamma(-1/2)^2 (1 / Gamma)'(-1)
    for x in (-1e-30, -0.5, -0.999, -1.5):
        np.testing.assert_allclose(nj.grad(special.zetac)(x), float(mpmath.diff(mpmath.zeta, x)), rtol=1e-11)


def test_slopes_of_poch_that_overflow(x64):
    for z, m in ((1.0, 1e5), (0.25, 300.0), (3.0, 1e300), (1e300, 2.0)):
        for place in (0, 1):
            assert nj.grad(special.poch, place)(z, m) == nj.jit(nj.grad(special.poch, place))(z, m) == INF
    assert nj.grad(special.poch)(-0.5, 1e5) == -INF
    np.testing.assert_allclose(nj.jit(nj.grad(special.poch))(1e300, 1.0), 1, rtol=1e-12)


def test_slopes_beside_zeros_of_poch_and_at_0_of_boxcox(x64):
    """poch(z, m) = Gamma(m) (z + (gamma + psi(m)) z^2 + ...)."""
    slope, second = nj.grad(special.poch), nj.grad(nj.grad(special.poch))
    np.testing.assert_allclose(slope(1e-30, 0.5), special.gamma(0.5), rtol=1e-12)
    np.testing.assert_allclose(second(1e-30, 0.5), 2 * special.gamma(0.5) * (np.euler_gamma + special.digamma(0.5)), rtol=1e-12)
    assert float(nj.grad(special.boxcox, 1)(0.0, 0.0)) == INF
