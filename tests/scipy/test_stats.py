"""numjet.scipy.stats against SciPy: values in 32 and 64 bits, tails, edges of the support, derivatives, compiled calls."""
import inspect

import numpy as np
import pytest
from scipy import stats as oracle

import numjet as nj
import numjet.numpy as jnp
from numjet.scipy import stats

INF, NAN = np.inf, np.nan
LINE = np.array([-30.0, -7.5, -1.0, -0.25, 0.0, 0.5, 1.0, 2.5, 9.0, 35.0])
HALF = np.array([1e-3, 0.25, 0.5, 1.0, 2.5, 9.0, 30.0])
UNIT = np.array([0.01, 0.125, 0.5, 0.75, 0.96875])
COUNTS = np.array([0.0, 1.0, 2.0, 5.0, 9.0])
PLACED = ({}, {"loc": 0.5, "scale": 2.0})
AT = ({}, {"loc": 1})
# distribution: (points, parameters, keyword arguments)
CONTINUOUS = {
    "norm": (LINE, [()], PLACED), "laplace": (LINE, [()], PLACED), "logistic": (LINE, [()], PLACED),
    "cauchy": (LINE, [()], PLACED), "gumbel_l": (np.clip(LINE, -30, 4), [()], PLACED),
    "gumbel_r": (np.clip(LINE, -4, 30), [()], PLACED), "uniform": (UNIT, [()], PLACED), "expon": (HALF, [()], PLACED),
    "t": (LINE, [(0.5,), (3.0,), (200.0,)], PLACED), "gamma": (HALF, [(0.5,), (1.0,), (4.5,)], PLACED),
    "chi2": (HALF, [(1.0,), (5.0,)], PLACED), "beta": (UNIT, [(0.5, 2.0), (3.0, 1.0), (7.0, 4.5)], PLACED),
    "pareto": (1 + HALF, [(0.5,), (3.0,)], PLACED),
    "truncnorm": (np.array([0.3, 0.5, 1.1, 1.9]), [(-1.0, 2.0), (0.125, 4.0), (-INF, 2.5), (0.0, INF), (-INF, INF)], PLACED),
    "gennorm": (LINE / 4, [(0.75,), (2.0,), (3.5,)], ({},)), "vonmises": (LINE, [(0.5,), (40.0,)], ({},)),
    "wrapcauchy": (UNIT * 6, [(0.125,), (0.875,)], ({},)),
}
DISCRETE = {
    "bernoulli": (np.array([-1.0, 0.0, 1.0, 2.0]), [(0.25,), (0.875,)]), "poisson": (COUNTS, [(0.5,), (7.0,)]),
    "binom": (COUNTS, [(9, 0.25), (30, 0.875)]), "nbinom": (COUNTS, [(2.5, 0.25), (9, 0.875)]),
    "geom": (COUNTS, [(0.25,), (0.875,)]), "betabinom": (COUNTS, [(9, 0.5, 2.0), (30, 3.0, 1.5)]),
}
# Their arguments are others; test_stats_variables.py calls them.
MOMENTS_AND_SAMPLES = {"entropy", "mean", "median", "std", "var", "rvs"}
COMPILED = ("logpdf", "cdf", "ppf")


def _functions(name):
    module = getattr(stats, name)
    return {n: f for n, f in inspect.getmembers(module, inspect.isfunction) if f.__module__ == module.__name__ and n[0] != "_"
            and n not in MOMENTS_AND_SAMPLES and n not in ("log_density", "log_upper") and hasattr(getattr(oracle, name), n)}


def _far(name, fn, want):
    """Where SciPy takes the logarithm of a probability that is 0 in its arithmetic; TAILS has such points."""
    return np.isneginf(want) if name == "gennorm" and fn in ("logcdf", "logsf") else np.zeros(np.shape(want), bool)


def _continuous_cases():
    return [(name, fn) for name in CONTINUOUS for fn in _functions(name)]


def _compare(name, fn, x, params, kwargs, rtol, compiled=False):
    with np.errstate(all="ignore"):
        want = getattr(getattr(oracle, name), fn)(x, *params, **kwargs)
    got = getattr(getattr(stats, name), fn)(x, *params, **kwargs)
    want = np.where(_far(name, fn, want), got, want)
    np.testing.assert_allclose(got, want, rtol=rtol, atol=rtol * 1e-3)
    if compiled:
        again = nj.jit(lambda v: getattr(getattr(stats, name), fn)(v, *params, **kwargs))(x)
        np.testing.assert_allclose(again, want, rtol=rtol, atol=rtol * 1e-3)
    return got


@pytest.mark.parametrize(("name", "fn"), _continuous_cases())
def test_continuous(name, fn):
    points, all_params, placements = CONTINUOUS[name]
    for params in all_params:
        for kwargs in placements:
            x = UNIT if fn in ("ppf", "isf") else points * kwargs.get("scale", 1.0) + kwargs.get("loc", 0.0)
            x = x.astype(np.float32).astype(np.float64)
            with nj.enable_x64(True):
                loose = name in ("norm", "truncnorm") and "log" in fn
                assert _compare(name, fn, x, params, kwargs, 5e-8 if loose else 1e-10,
                                compiled=fn in COMPILED and params == all_params[-1] and kwargs).dtype == np.float64


@pytest.mark.parametrize(("name", "fn"), _continuous_cases())
def test_continuous_in_32_bits(name, fn):
    points, all_params, placements = CONTINUOUS[name]
    # 32-bit exponents: exp(-x) of x beyond 80 is no number with all its digits
    points = np.clip(points, -9.0, 9.0)
    for params in all_params:
        for kwargs in placements:
            x = UNIT if fn in ("ppf", "isf") else points * kwargs.get("scale", 1.0) + kwargs.get("loc", 0.0)
            x = x.astype(np.float32)
            with np.errstate(all="ignore"):
                want = getattr(getattr(oracle, name), fn)(x.astype(np.float64), *params, **kwargs)
            got = getattr(getattr(stats, name), fn)(x, *params, **kwargs)
            assert got.dtype == np.float32
            want = np.where(_far(name, fn, want), got, want)
            np.testing.assert_allclose(got, want, rtol=3e-5, atol=3e-6)


@pytest.mark.parametrize("name", DISCRETE)
def test_discrete(name):
    points, all_params = DISCRETE[name]
    with nj.enable_x64(True):
        for fn in _functions(name):
            takes_loc = "loc" in inspect.signature(getattr(getattr(stats, name), fn)).parameters
            for params in all_params:
                if fn == "entropy":
                    continue
                for kwargs in AT if takes_loc else AT[:1]:
                    _compare(name, fn, UNIT if fn in ("ppf", "isf") else points + kwargs.get("loc", 0), params, kwargs, 1e-10)
    got = stats.binom.logpmf(3, 9, 0.25)
    assert got.dtype == np.float32
    np.testing.assert_allclose(got, oracle.binom.logpmf(3, 9, 0.25), rtol=1e-5)
    # between 0 and 1 the logarithm is interpolated
    np.testing.assert_allclose(stats.bernoulli.logpmf(0.5, 0.25), 0.5 * np.log(0.25 * 0.75), rtol=1e-5)


def test_poisson_entropy():
    mu = np.array([0.0, 0.01, 0.5, 3.0, 60.0, 99.0, 101.0, 400.0])
    with nj.enable_x64(True):
        np.testing.assert_allclose(stats.poisson.entropy(mu), oracle.poisson.entropy(mu), rtol=1e-9)
    np.testing.assert_allclose(stats.poisson.entropy(mu), oracle.poisson.entropy(mu), rtol=1e-5)
    assert np.isnan(stats.poisson.entropy(-1.0))
    assert stats.poisson.entropy(1.0, jnp.zeros(3)).shape == (3,)


# -------------------------------------------------------------------------------------------- tails

# (distribution, function, x, parameters, value by arbitrary precision arithmetic or by the leading terms, exact to 1e-6)
TAILS = [
    ("norm", "logsf", 15.0, (), oracle.norm.logsf(15)), ("norm", "logcdf", 9.0, (), oracle.norm.logcdf(9)),
    ("expon", "logcdf", 1e-6, (), np.log(1e-6)), ("expon", "logcdf", 50.0, (), -np.exp(-50)),
    ("expon", "logsf", 500.0, (), -500.0),
    ("cauchy", "logcdf", -1e9, (), -np.log(np.pi * 1e9)), ("cauchy", "logsf", 1e9, (), -np.log(np.pi * 1e9)),
    ("cauchy", "sf", 1e9, (), 1e-9 / np.pi), ("cauchy", "logcdf", 1e9, (), -1e-9 / np.pi),
    ("pareto", "logcdf", 1 + 2.0 ** -10, (2.0,), np.log(-np.expm1(-2 * np.log1p(2.0 ** -10)))),
    ("gumbel_r", "logsf", 120.0, (), -120.0), ("gumbel_l", "logcdf", -120.0, (), -120.0),
    ("gumbel_r", "logcdf", -4.0, (), -np.exp(4)), ("gumbel_l", "sf", -120.0, (), 1.0),
    # Gamma(2, x) = (1 + x) exp(-x); P(50, x) = x^50 exp(-x) / 50! (1 + x / 51 + ...)
    ("gamma", "logsf", 300.0, (2.0,), np.log(301) - 300), ("gamma", "logsf", 60.0, (1.0,), -60.0),
    ("chi2", "logsf", 600.0, (4.0,), np.log(301) - 300),
    ("gamma", "logcdf", 0.001, (50.0,), 50 * np.log(0.001) - 0.001 - 148.47776695177302 + np.log1p(0.001 / 51)),
    # I_x(a, 1) = x^a
    ("beta", "logcdf", 2.0 ** -10, (50.0, 1.0), -500 * np.log(2)), ("beta", "logsf", 0.75, (1.0, 90.0), 90 * np.log(0.25)),
    ("truncnorm", "logpdf", 10.5, (10.0, 12.0), oracle.truncnorm.logpdf(10.5, 10, 12)),
    ("truncnorm", "logpdf", -10.5, (-12.0, -10.0), oracle.truncnorm.logpdf(-10.5, -12, -10)),
    ("truncnorm", "logsf", 9.0, (0.0, INF), oracle.norm.logsf(9) + np.log(2)),
    ("laplace", "cdf", -40.0, (), 0.5 * np.exp(-40)), ("logistic", "sf", 40.0, (), np.exp(-40)),
    ("laplace", "logcdf", -500.0, (), -500 - np.log(2)), ("laplace", "logcdf", 40.0, (), -0.5 * np.exp(-40)),
    ("laplace", "logsf", 500.0, (), -500 - np.log(2)), ("laplace", "isf", 1e-30, (), -np.log(2e-30)),
    ("logistic", "logcdf", -500.0, (), -500.0), ("logistic", "logsf", -40.0, (), -np.exp(-40)),
    ("expon", "isf", 1e-30, (), -np.log(1e-30)), ("gumbel_r", "isf", 1e-30, (), -np.log(1e-30)),
    ("gumbel_l", "isf", 1e-30, (), np.log(-np.log(1e-30))), ("pareto", "isf", 2.0 ** -80, (4.0,), 2.0 ** 20),
    ("uniform", "logcdf", 1e-30, (), np.log(1e-30)), ("uniform", "logsf", 2.0 ** -40, (), -(2.0 ** -40)),
    ("gennorm", "logsf", 500.0, (1.0,), -500 - np.log(2)),
    ("gennorm", "logcdf", -30.0, (2.0,), oracle.norm.logcdf(-30 * 2 ** 0.5)),
    ("gennorm", "isf", 1e-30, (1.0,), -np.log(2e-30)),
    ("gennorm", "ppf", 0.5 + 2.0 ** -24, (2.0,), 2.0 ** -24 * np.pi ** 0.5),
    ("geom", "logsf", 3000.0, (0.5,), -3000 * np.log(2)), ("geom", "logcdf", 60.0, (0.5,), -(2.0 ** -60)),
    ("geom", "cdf", 2.0, (2.0 ** -40,), 2.0 ** -39), ("poisson", "sf", 0.0, (1e-20,), 1e-20),
    # the first term of the tail, and its quotient to the next one
    ("poisson", "logsf", 199.0, (0.5,), oracle.poisson.logpmf(200, 0.5) + 0.5 / 201),
    ("poisson", "logcdf", 0.0, (500.0,), -500.0), ("binom", "logsf", 199.0, (200, 0.125), -600 * np.log(2)),
    ("binom", "logcdf", 0.0, (500, 0.75), -1000 * np.log(2)), ("binom", "sf", 0.0, (1, 1e-20), 1e-20),
    ("nbinom", "logcdf", 0.0, (300.0, 0.25), -600 * np.log(2)), ("nbinom", "logsf", 999.0, (1.0, 0.5), -1000 * np.log(2)),
    ("bernoulli", "logsf", 0.0, (1e-30,), np.log(1e-30)), ("bernoulli", "logcdf", 0.0, (1e-20,), -1e-20),
    # 1/2 + atan(t) / pi for one degree of freedom
    ("t", "logcdf", -1e30, (1.0,), -np.log(np.pi * 1e30)), ("t", "logsf", 1e35, (1.0,), -np.log(np.pi * 1e35)),
    ("t", "logcdf", 1e9, (1.0,), -1e-9 / np.pi), ("t", "logsf", 200.0, (1e12,), oracle.norm.logsf(200)),
    ("t", "logcdf", -0.5, (2.0,), np.log(0.5 - 0.25 / 2.25 ** 0.5)), ("t", "logcdf", -1e20, (2.0,), -np.log(2e40)),
    ("wrapcauchy", "logpdf", 2.0 ** -9, (0.9990234375,), oracle.wrapcauchy.logpdf(2.0 ** -9, 0.9990234375)),
    ("wrapcauchy", "logpdf", 0.0, (1 - 2.0 ** -20,), np.log(2.0 ** 21 / (2 * np.pi))),
    ("beta", "sf", 1e-20, (0.001, 1.0), -np.expm1(-0.02 * np.log(10))),
]


@pytest.mark.parametrize(("name", "fn", "x", "params", "want"), TAILS)
def test_tails_in_32_bits(name, fn, x, params, want):
    np.testing.assert_allclose(getattr(getattr(stats, name), fn)(x, *params), want, rtol=3e-5)


@pytest.mark.parametrize("a", [0.3, 1.0, 7.5, 60.0])
def test_logarithms_of_gamma_tails_join(a):
    x = np.concatenate([np.linspace(0.05, 2.5 * a, 41), np.linspace(30, 170, 15)])
    with nj.enable_x64(True), np.errstate(all="ignore"):
        for fn in ("logcdf", "logsf"):
            want = getattr(oracle.gamma, fn)(x, a)
            np.testing.assert_allclose(getattr(stats.gamma, fn)(x, a), want, rtol=1e-8, atol=1e-12)


@pytest.mark.parametrize(("a", "b"), [(0.3, 0.4), (5.0, 0.5), (0.5, 6.0), (20.0, 30.0)])
def test_logarithms_of_beta_tails_join(a, b):
    x = np.linspace(0.001, 0.999, 61)
    with nj.enable_x64(True):
        for fn in ("logcdf", "logsf"):
            want = getattr(oracle.beta, fn)(x, a, b)
            np.testing.assert_allclose(getattr(stats.beta, fn)(x, a, b), want, rtol=1e-8, atol=1e-12)


# -------------------------------------------------------------------------------------------- edges

OUTSIDE = {
    "expon": (-0.5, ()), "gamma": (-0.5, (2.0,)), "chi2": (-0.5, (3.0,)), "beta": (1.5, (2.0, 3.0)), "uniform": (1.5, ()),
    "pareto": (0.5, (2.0,)), "truncnorm": (3.0, (-1.0, 2.0)), "wrapcauchy": (7.0, (0.5,)), "poisson": (-1.0, (2.0,)),
    "binom": (7.0, (5, 0.5)), "nbinom": (-1.0, (5, 0.5)), "geom": (0.0, (0.5,)), "betabinom": (-1.0, (5, 2.0, 3.0)),
    "bernoulli": (2.0, (0.5,)),
}


@pytest.mark.parametrize("name", OUTSIDE)
def test_outside_the_support(name):
    x, params = OUTSIDE[name]
    module = getattr(stats, name)
    log = module.logpdf if hasattr(module, "logpdf") else module.logpmf
    density = module.pdf if hasattr(module, "pdf") else module.pmf
    assert log(x, *params) == -INF and density(x, *params) == 0
    assert nj.grad(density)(x, *params) == 0
    assert np.isnan(log(NAN, *params))
    for fn, below, above in (("cdf", 0, 1), ("logcdf", -INF, 0), ("sf", 1, 0), ("logsf", 0, -INF)):
        if hasattr(module, fn) and name != "bernoulli":
            got = getattr(module, fn)(x, *params)
            assert got == (above if x > 1 else below)
            if name != "poisson":
                assert nj.grad(getattr(module, fn))(x, *params) == 0


def test_ends_of_the_support():
    assert stats.expon.logpdf(0.0) == 0 and stats.gamma.logpdf(0.0, 1.0) == 0
    assert stats.beta.logpdf(1.0, 2.0, 1.0) == pytest.approx(np.log(2))
    assert stats.uniform.pdf(jnp.array([0.0, 1.0])).tolist() == [1, 1]
    assert stats.poisson.pmf(jnp.array([0.0, INF]), jnp.array([INF, 2.0])).tolist() == [0, 0]
    assert stats.binom.pmf(jnp.array([0, 5]), 5, jnp.array([0.0, 1.0])).tolist() == pytest.approx([1, 1])
    assert stats.gumbel_r.logpdf(jnp.array([-INF, INF])).tolist() == [-INF, -INF]
    for module in (stats.norm, stats.gumbel_l, stats.gumbel_r, stats.cauchy):
        np.testing.assert_allclose(module.ppf(jnp.array([0.0, 1.0, -0.1, 1.1])), [-INF, INF, NAN, NAN])
    for module in (stats.gumbel_l, stats.gumbel_r, stats.laplace, stats.logistic):
        np.testing.assert_allclose(module.isf(jnp.array([0.0, 1.0, -0.1, 1.1])), [INF, -INF, NAN, NAN])
    for module in (stats.expon, stats.uniform):
        assert np.isnan(module.ppf(jnp.array([-0.1, 1.1]))).all() and np.isnan(module.isf(jnp.array([-0.1, 1.1]))).all()
    assert np.isnan(stats.pareto.ppf(2.0, 1.0)) and np.isnan(stats.vonmises.logpdf(0.0, -1.0))
    assert np.isnan(stats.wrapcauchy.logpdf(0.0, 1.5)) and np.isnan(stats.truncnorm.logpdf(0.0, 1.0, -1.0))
    assert np.isnan(stats.betabinom.logpmf(1, 5, -1.0, 1.0)) and stats.poisson.logpmf(1.5, 2.0) == -INF
    assert np.isnan(stats.bernoulli.ppf(jnp.array([-1.0, 2.0]), 0.5)).all() and np.isnan(stats.bernoulli.cdf(0, 2.0))


def test_arguments():
    with pytest.raises(TypeError, match=r"norm.logpdf requires ndarray or scalar arguments, got <class 'list'> at position 0"):
        stats.norm.logpdf([1.0, 2.0])
    assert stats.norm.pdf(jnp.float16(1)).dtype == np.float16 and stats.norm.pdf(1).dtype == np.float32
    assert stats.poisson.logpmf(jnp.arange(3), 2).dtype == np.float32
    assert stats.norm.logpdf(jnp.zeros((3, 1)), jnp.zeros(4), jnp.ones((2, 1, 1))).shape == (2, 3, 4)
    assert stats.gamma.logcdf(jnp.ones((3, 1)), jnp.ones(4)).shape == (3, 4)


def test_complex_arguments(x64):
    """Where a family takes them, slopes do not depend on the direction."""
    z, step = np.array([0.25 + 0.5j, -1.5 + 0.25j]), 1e-4
    for family, names in (("norm", "logpdf pdf"), ("cauchy", "logpdf pdf cdf sf logsf"), ("logistic", "logpdf pdf cdf sf")):
        for name in names.split():
            function = getattr(getattr(stats, family), name)
            across, up = (np.diff(function(z + np.array([[-h], [h]])), axis=0) / h for h in (step, 1j * step))
            np.testing.assert_allclose(across, up, rtol=1e-6, err_msg=f"{family}.{name}")
    for family in ("gamma", "chi2", "gennorm", "poisson", "beta", "t"):
        for name in {"logpdf", "logpmf", "cdf", "logcdf", "sf", "logsf"} & set(dir(getattr(stats, family))):
            with pytest.raises(TypeError, match=rf"{family}.{name} does not accept dtype complex128"):
                getattr(getattr(stats, family), name)(z, *([2.0] * (2 if family == "beta" else 1)))


# -------------------------------------------------------------------------------------------- derivatives

@pytest.mark.parametrize("name", CONTINUOUS)
def test_slopes_of_logpdf(name):
    points, all_params, _ = CONTINUOUS[name]
    fn, step = getattr(stats, name).logpdf, 1e-6
    x = points[(np.abs(points) > 0.1) & (np.abs(points) < 20)]
    with nj.enable_x64(True):
        for params in all_params:
            args = [jnp.array(float(p)) for p in params]
            for i in range(len(args) + 1):
                if i and np.isinf(params[i - 1]):
                    continue
                at = lambda v, shift: fn(*[a + (shift if j == i else 0) for j, a in enumerate([v, *args])])  # noqa: B023
                want = (np.asarray(at(x, step)) - np.asarray(at(x, -step))) / (2 * step)
                got = nj.vmap(nj.grad(fn, argnums=i), (0, *[None] * len(args)))(jnp.array(x), *args)
                np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6, err_msg=f"{params}, argument {i}")


@pytest.mark.parametrize(("name", "x", "params"), [
    ("norm", 0.7, ()), ("expon", 0.7, ()), ("gamma", 0.7, (2.5,)), ("gamma", 80.0, (2.5,)), ("gamma", 0.1, (2.5,)),
    ("chi2", 0.7, (2.5,)), ("beta", 0.7, (2.5, 3.0)), ("beta", 0.05, (2.5, 3.0)), ("cauchy", -3.0, ()), ("cauchy", 3.0, ()),
    ("pareto", 1.7, (2.0,)), ("gumbel_l", 0.7, ()), ("gumbel_r", 0.7, ()), ("truncnorm", 0.7, (-1.0, 2.0)),
    ("truncnorm", 0.7, (-INF, INF)), ("truncnorm", 0.7, (0.5, 3.0)), ("truncnorm", 1.9, (-INF, 2.0)), ("laplace", 0.0, ()),
    ("logistic", -0.7, ()), ("uniform", 0.7, ()), ("gennorm", -0.7, (1.5,)), ("gennorm", 0.7, (1.5,)),
    ("t", -3.0, (2.5,)), ("t", 0.4, (2.5,)), ("t", -9.0, (3e5,)),
    ("laplace", -0.7, ()), ("logistic", 90.0, ()), ("gennorm", 0.0, (2.0,)),
])
def test_slope_of_cdf_is_the_density(name, x, params):
    module = getattr(stats, name)
    with nj.enable_x64(True):
        density = float(module.pdf(x, *params))
        np.testing.assert_allclose(nj.grad(module.cdf)(x, *params), density, rtol=1e-6)
        if hasattr(module, "logcdf"):
            np.testing.assert_allclose(nj.grad(module.logcdf)(x, *params), density / module.cdf(x, *params), rtol=1e-6)
            np.testing.assert_allclose(nj.grad(module.logsf)(x, *params), -density / module.sf(x, *params), rtol=1e-6)


@pytest.mark.parametrize("name", ["binom", "nbinom", "geom", "betabinom", "poisson", "bernoulli"])
def test_slopes_of_logpmf(name):
    points, all_params = DISCRETE[name]
    fn, params, step = getattr(stats, name).logpmf, all_params[0], 1e-6
    k = points[(points >= 1) & (points < (2 if name == "bernoulli" else 9))]
    with nj.enable_x64(True):
        args = [jnp.array(float(p)) for p in params]
        want = (np.asarray(fn(k, *args[:-1], args[-1] + step)) - np.asarray(fn(k, *args[:-1], args[-1] - step))) / (2 * step)
        got = nj.vmap(nj.grad(fn, argnums=len(params)), (0, *[None] * len(args)))(jnp.array(k), *args)
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("name, at", [
    ("binom", (500_000.0, 1_000_000.0, 0.5)), ("binom", (0.0, 8.0, 1e-9)), ("binom", (8.0, 8.0, 1.0)),
    ("nbinom", (90_000.0, 1000.0, 0.01)), ("poisson", (1e6, 1e6)), ("poisson", (0.0, 1e-9))])
def test_terms_of_large_factorials_do_not_cancel(name, at):
    """Logarithms of factorials are a million times the result."""
    at = [float(np.float32(x)) for x in at]
    with nj.enable_x64(True):
        want = float(getattr(stats, name).logpmf(*at))
        np.testing.assert_allclose(want, getattr(oracle, name).logpmf(*at), rtol=1e-9, atol=1e-12)
    narrow = getattr(stats, name).logpmf(*map(np.float32, at))
    assert narrow.dtype == np.float32
    np.testing.assert_allclose(narrow, want, rtol=2e-7)


@pytest.mark.parametrize("call, weak", [
    (lambda i: stats.norm.cdf(0.5), False), (lambda i: stats.norm.pdf(0.5), True), (lambda i: stats.norm.isf(0.25), False),
    (lambda i: stats.truncnorm.pdf(0.5, -1.0, 2.0), False), (lambda i: stats.uniform.cdf(0.5), False),
    (lambda i: stats.uniform.pdf(0.5), True), (lambda i: stats.bernoulli.ppf(0.5, 0.25), True),
    (lambda i: stats.cauchy.pdf(i), False), (lambda i: stats.cauchy.pdf(0.5, i), True),
    (lambda i: stats.beta.cdf(0.5, i, 3), True),
    (lambda i: stats.gamma.sf(i, 2.0), True), (lambda i: stats.gamma.cdf(i, 2.0), False),
    (lambda i: stats.poisson.pmf(i, 2.0), True), (lambda i: stats.poisson.cdf(i, 2.0), False),
    (lambda i: stats.logistic.cdf(0.5, i), True), (lambda i: stats.logistic.logpdf(0.5, i), False)])
def test_weak_types_of_results(call, weak):
    """As in JAX, by distribution: functions with normal probabilities have a type of their own."""
    out = call(jnp.array([1, 2]))
    assert (out.weak_type, out.dtype) == (weak, np.float32)
    assert (out * jnp.ones((), "float16")).dtype == ("float16" if weak else "float32")


def test_bernoulli_quantiles_in_halves():
    out = stats.bernoulli.ppf(jnp.array([0.5, 0.8, 2.0], "float16"), 0.25)
    assert out.dtype == np.float16
    np.testing.assert_array_equal(out, [0, 1, np.nan])


@pytest.mark.parametrize("name, at", [("logcdf", INF), ("logsf", -INF)])
def test_logarithms_of_whole_cauchy_tails_are_flat(name, at):
    """The tail on the other side is 0, whose logarithm is not taken."""
    fn = getattr(stats.cauchy, name)
    assert float(fn(at)) == float(nj.grad(fn)(at)) == float(nj.jit(nj.grad(fn))(at)) == 0


@pytest.mark.parametrize("name", ["binom", "nbinom", "geom", "poisson", "bernoulli"])
@pytest.mark.parametrize("fn", ["cdf", "logcdf", "sf", "logsf"])
def test_slopes_of_probabilities_of_counts(name, fn, x64):
    """By the last parameter, for all counts at once; counts beyond the support have no slope."""
    points, all_params = DISCRETE[name]
    function, oracle_function, step = getattr(getattr(stats, name), fn), getattr(getattr(oracle, name), fn), 1e-6
    *rest, last = map(float, all_params[0])
    k = np.array([-1.0, *points, 40.0])
    got = nj.jit(nj.vmap(nj.grad(function, argnums=len(rest) + 1), (0, *[None] * (len(rest) + 1))))(k, *rest, last)
    with np.errstate(all="ignore"):
        want = (oracle_function(k, *rest, last + step) - oracle_function(k, *rest, last - step)) / (2 * step)
    assert np.isfinite(got).all()
    known = np.isfinite(want)
    np.testing.assert_allclose(got[known], want[known], rtol=1e-5, atol=1e-7)


def test_far_tails_of_many_degrees_of_freedom(x64):
    """The slope of the logarithm approaches that of the density's, (df + 1) t / (df + t**2)."""
    df, t = np.array([1e5, 1e6, 1e7, 1e12]), np.array([-1e4, -1e4, -3e3, -1e6])
    slopes = nj.vmap(nj.grad(stats.t.logcdf))(t, df)
    np.testing.assert_allclose(slopes, (df + 1) * -t / (df + t * t), rtol=2e-5)
    assert stats.t.logcdf(-INF, 1e12) == -INF and nj.grad(stats.t.logcdf)(-INF, 3.0) == 0
