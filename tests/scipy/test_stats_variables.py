"""Samples and moments of distributions against SciPy, and quantiles that are inverses of special functions."""
from __future__ import annotations

import functools

import numpy as np
import pytest
import scipy.stats as oracle

import numjet as nj
import numjet.numpy as jnp
from numjet import random
from numjet.scipy import stats

NAN = np.nan
CONTINUOUS = {"norm": (), "cauchy": (), "expon": (), "laplace": (), "logistic": (), "uniform": (), "gumbel_r": (),
              "gumbel_l": (),
              "gamma": ([0.5, 2.0, -1.0],), "beta": ([0.5, 2.0, 0.0], [3.0, 1.5, 1.0]), "chi2": ([1.0, 3.0, NAN],),
              "t": ([0.8, 1.5, 2.0, 2.5, 30.0],), "pareto": ([0.7, 1.5, 3.0],), "gennorm": ([0.5, 1.5, 4.0, -1.0],),
              "truncnorm": ([-1.0, -0.5], [2.0, np.inf]), "vonmises": ([0.3, 2.0],), "wrapcauchy": ([0.1, 0.6],)}
DISCRETE = {"bernoulli": ([0.0, 0.3, 1.0, 1.1],), "poisson": ([0.0, 2.5, 30.0, -1.0],), "geom": ([0.7, 0.2, 1.5],),
            "binom": ([5.0, 20.0, 3.0], [0.3, 0.5, -0.1]), "nbinom": ([2.0, 5.5, 1.0], [0.3, 0.9, 1.2]),
            "betabinom": ([5.0, 9.0, 3.0], [2.0, 0.5, -1.0], [3.0, 1.5, 1.0])}
KEY = random.key(7)


@pytest.mark.parametrize("name", [*CONTINUOUS, *DISCRETE])
def test_moments(name, x64):
    shapes = [np.array(s) for s in {**CONTINUOUS, **DISCRETE}[name]]
    own, other = getattr(stats, name), getattr(oracle, name)
    place = [0.5] if name in DISCRETE else [0.5, 2.0]
    for moment in [m for m in ("mean", "var", "std", "median", "entropy") if hasattr(own, m)]:
        if name in DISCRETE and moment == "entropy":
            want = other.entropy(*shapes)  # a shift changes no probability
            got = own.entropy(*shapes)
        else:
            with np.errstate(all="ignore"):
                want = getattr(other, moment)(*shapes, *place)
            got = nj.jit(getattr(own, moment))(*shapes, *place)
        np.testing.assert_allclose(got, want, rtol=1e-7, err_msg=moment)
    if name in CONTINUOUS and hasattr(own, "mean"):
        assert np.isnan(own.mean(*shapes, 0.0, -1.0)).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_entropies_of_large_parameters(dtype, x64):
    """gamma_entropy, beta_entropy and t_entropy: their terms are large and cancel."""
    a = np.array([1e-3, 0.5, 9.75, 10.25, 1e3, 1e10, 1e30, np.inf], dtype)
    for name, shapes in (("gamma", (a,)), ("chi2", (a,)), ("t", (a,)), ("beta", (a[:6], a[:6])), ("beta", (a[:5], a[2:7]))):
        want = getattr(oracle, name).entropy(*(s.astype(np.float64) for s in shapes))
        for call in (lambda f: f, nj.jit):
            got = call(getattr(stats, name).entropy)(*shapes)
            assert got.dtype == dtype
            np.testing.assert_allclose(got, want, rtol=1e-12 if dtype == np.float64 else 2e-5, atol=2e-5)
    slope = nj.grad(stats.gamma.entropy)(1e10)
    np.testing.assert_allclose(slope, 0.5e-10, rtol=1e-5)


def test_spread_does_not_depend_on_the_place():
    loc = np.array([np.inf, -np.inf, np.nan, 1], np.float32)
    for name in ("var", "std", "entropy"):
        for distribution in ("norm", "logistic"):
            want = getattr(getattr(oracle, distribution), name)(loc, 2.0)
            np.testing.assert_allclose(getattr(getattr(stats, distribution), name)(loc, 2.0), want, rtol=1e-6)
    assert stats.cauchy.ppf(np.float32(-0.0)) == -np.inf and stats.cauchy.isf(np.float32(-0.0)) == np.inf


@pytest.mark.parametrize("name", CONTINUOUS)
def test_samples_are_distributed_as_they_should(name, x64):
    shapes = [s[1] for s in CONTINUOUS[name]]
    found = nj.jit(lambda key: getattr(stats, name).rvs(*shapes, 0.5, 2.0, size=(2000,), random_state=key))(KEY)
    assert found.shape == (2000,) and found.dtype == "float64"
    assert oracle.kstest(np.asarray(found), getattr(oracle, name)(*shapes, 0.5, 2.0).cdf).pvalue > 1e-3


@pytest.mark.parametrize("name", DISCRETE)
def test_counts_are_distributed_as_they_should(name, x64):
    shapes = [s[1] for s in DISCRETE[name]]
    found = np.asarray(nj.jit(lambda key: getattr(stats, name).rvs(*shapes, 2, size=4000, random_state=key))(KEY))
    frozen = getattr(oracle, name)(*shapes, 2)
    kinds, seen = np.unique(found, return_counts=True)
    want = 4000 * frozen.pmf(kinds)
    often = want > 20
    assert np.sum((seen - want)[often] ** 2 / want[often]) < oracle.chi2.isf(1e-4, often.sum())
    assert abs(found.mean() - frozen.mean()) < 5 * frozen.std() / 4000 ** 0.5


@pytest.mark.parametrize("name, shapes, want", [
    ("poisson", (np.inf,), np.inf), ("nbinom", (np.inf, 0.5), np.inf), ("vonmises", (np.inf,), 0.0), ("vonmises", (1e30,), 0.0),
    ("gamma", (np.inf,), np.inf), ("pareto", (np.inf,), 1.0), ("geom", (1.0,), 1.0), ("binom", (5.0, 1.0), 5.0),
    ("beta", (1.0, np.inf), 0.0), ("beta", (np.inf, 1.0), 1.0)])
def test_samples_of_degenerate_distributions(name, shapes, want):
    draw = lambda *shapes: getattr(stats, name).rvs(*shapes, size=(3,), random_state=KEY)
    for call in (draw, nj.jit(draw)):
        np.testing.assert_allclose(call(*shapes), np.full(3, want), atol=1e-12)


@pytest.mark.parametrize("name, limit", [("t", oracle.norm()), ("gennorm", oracle.uniform(-1, 2))])
def test_samples_of_limits_of_distributions(name, limit):
    found = np.asarray(getattr(stats, name).rvs(np.inf, size=(2000,), random_state=KEY))
    assert oracle.kstest(found, limit.cdf).pvalue > 1e-3


def test_variance_of_beta_distributions_of_tiny_and_huge_parameters():
    a = np.float32([1e-30, 1e25])
    np.testing.assert_allclose(stats.beta.var(a, a), [0.25, 1.25e-26], rtol=1e-6)


@pytest.mark.parametrize("ends", [(10.0, np.inf), (-np.inf, -8.0), (3.0, 3.1), (-np.inf, np.inf), (2.0, 1.0)])
def test_normal_samples_far_out(ends, x64):
    found = np.asarray(stats.truncnorm.rvs(*ends, size=1000, random_state=KEY))
    assert np.isnan(found).all() if ends[0] > ends[1] else oracle.kstest(found, oracle.truncnorm(*ends).cdf).pvalue > 1e-3


@pytest.mark.parametrize("kappa", [0.0, 1e-3, 40.0, 1e5])
def test_angles_of_any_concentration(kappa, x64):
    sample = lambda kappa: stats.vonmises.rvs(kappa, size=1000, random_state=KEY)
    found, slope = (np.asarray(v) for v in nj.jvp(sample, (kappa,), (1.0,)))
    cdf = lambda kappa: oracle.vonmises.cdf(found, kappa) if kappa else oracle.uniform.cdf(found, -np.pi, 2 * np.pi)
    assert oracle.kstest(cdf(kappa), "uniform").pvalue > 1e-3
    if kappa in (1e-3, 40.0):    # with more, SciPy takes an approximation
        step = 1e-3 * kappa
        implicit = -(cdf(kappa + step) - cdf(kappa - step)) / (2 * step) / oracle.vonmises.pdf(found, kappa)
        np.testing.assert_allclose(slope, implicit, rtol=1e-4, atol=1e-5)
    assert np.isnan(stats.vonmises.rvs(-1.0, random_state=KEY)) and np.isnan(stats.vonmises.rvs(NAN, random_state=KEY))


def test_vectors_are_distributed_as_they_should():
    alpha, cov, p = jnp.array([1.0, 2.0, 3.0]), np.array([[2.0, 1.0], [1.0, 0.5]]), jnp.array([[0.2, 0.8], [1.0, 0.0]])
    points = stats.dirichlet.rvs(alpha, 2000, KEY)
    np.testing.assert_allclose(points.mean(axis=0), alpha / 6, atol=0.02)
    np.testing.assert_allclose(points.sum(axis=1), 1, rtol=1e-5)
    normal = nj.jit(lambda key: stats.multivariate_normal.rvs(jnp.array([1.0, -1.0]), cov, (50, 60), key))(KEY)
    assert normal.shape == (50, 60, 2)
    np.testing.assert_allclose(np.cov(np.asarray(normal).reshape(-1, 2).T), cov, atol=0.15)
    counts = stats.multinomial.rvs(jnp.array([10, 7]), p, 200, KEY)
    assert counts.shape == (200, 2, 2) and counts.dtype == jnp.int32 and (counts.sum(axis=2) == jnp.array([10, 7])).all()
    assert abs(counts[:, 0, 0].mean() - 2) < 0.5 and (counts[:, 1, 1] == 0).all()
    assert stats.multivariate_normal.rvs(random_state=KEY).shape == ()
    assert stats.dirichlet.rvs(alpha, random_state=KEY).shape == (1, 3)
    for call in (lambda: stats.dirichlet.rvs(alpha[None], random_state=KEY),
                 lambda: stats.multivariate_normal.rvs(alpha, cov, random_state=KEY)):
        with pytest.raises(ValueError, match=r"alpha|incompatible shapes"):
            call()


def test_shapes_dtypes_and_errors_of_samples():
    norm = stats.norm
    assert norm.rvs(random_state=KEY).shape == () and norm.rvs(jnp.zeros(3), size=(2, 3), random_state=KEY).shape == (2, 3)
    assert norm.rvs(jnp.zeros(3, "float16"), random_state=KEY).dtype == "float16"
    assert norm.rvs(size=0, random_state=KEY).shape == (0,)
    assert stats.poisson.rvs(2.5, size=1, random_state=KEY).dtype == "float32"
    keys = random.split(KEY, 3)
    many = nj.vmap(lambda key, loc: norm.rvs(loc, random_state=key))(keys, jnp.arange(3.0))
    np.testing.assert_allclose(many[1], norm.rvs(1.0, random_state=keys[1]), rtol=1e-6)
    assert nj.grad(lambda scale: norm.rvs(0.0, scale, random_state=KEY))(2.0) == norm.rvs(random_state=KEY)
    for call, error, match in [
        (lambda: norm.rvs(size=2), TypeError, "norm.rvs: expected a key as random_state"),
        (lambda: norm.rvs(size=2, random_state=0), TypeError, "such as numjet.random.key"),
        (lambda: norm.rvs(jnp.zeros(3), size=2, random_state=KEY), ValueError, r"size \(2,\) does not fit"),
        (lambda: stats.gamma.mean(), TypeError, "'a'"),
    ]:
        with pytest.raises(error, match=match):
            call()


@pytest.mark.parametrize("name,shapes", [("gamma", (2.5,)), ("beta", (0.7, 3.0)), ("chi2", (3.0,)), ("t", (2.5,))])
def test_quantiles(name, shapes, x64):
    q = np.array([0.0, 1e-9, 0.1, 0.5, 0.99, 1.0, -0.1, 1.1, NAN])
    for function in ("ppf", "isf"):
        got = nj.jit(getattr(getattr(stats, name), function))(q, *shapes, 0.5, 2.0)
        np.testing.assert_allclose(got, getattr(getattr(oracle, name), function)(q, *shapes, 0.5, 2.0), rtol=1e-9)
        slope = nj.grad(getattr(getattr(stats, name), function))(0.3, *shapes)
        density = oracle.__dict__[name].pdf(getattr(getattr(oracle, name), function)(0.3, *shapes), *shapes)
        np.testing.assert_allclose(abs(slope), 1 / density, rtol=1e-9)


@functools.cache
def quantiles_and_slope(quantile):
    """A program of the quantiles of a batch, and of the slope of the last one."""
    return nj.jit(lambda q, *shapes: (nj.vmap(lambda q: quantile(q, *shapes))(q), nj.grad(quantile)(q[-1], *shapes)))


compiled = functools.cache(nj.jit)


@pytest.mark.parametrize("name, shapes", [
    ("binom", (1000, 0.01)), ("binom", (10 ** 6, 0.3)), ("binom", (5, 0.0)), ("nbinom", (3.0, 0.25)), ("nbinom", (0.5, 1e-3)),
    ("poisson", (3.0,)), ("poisson", (1e4,)), ("geom", (0.25,)), ("geom", (1e-6,)), ("bernoulli", (0.25,))])
def test_quantiles_of_counts(name, shapes, x64):
    own, other = getattr(stats, name), getattr(oracle, name)
    q, shapes = np.array([1e-5, 1e-3, 0.25, 0.3, 0.5, 0.9, 0.999]), tuple(map(float, shapes))
    for function in ("ppf", "isf"):
        want, quantile = getattr(other, function)(q, *shapes), getattr(own, function)
        np.testing.assert_array_equal(quantile(q, *shapes), want)
        many, slope = quantiles_and_slope(quantile)(q, *shapes)
        np.testing.assert_array_equal(many, want)
        assert slope == 0
    if name != "bernoulli":
        assert own.ppf(0.3, *shapes, loc=2) == own.ppf(0.3, *shapes) + 2
        assert nj.grad(own.ppf, len(shapes) + 1)(0.3, *shapes, 2.0) == 1


@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize("name, shapes", [("binom", (9, 0.3)), ("nbinom", (3.0, 0.4)), ("poisson", (3.0,)), ("geom", (0.25,))])
def test_quantiles_of_counts_invert_their_distribution_function(name, shapes, dtype):
    own, counts = getattr(stats, name), np.arange(1, 7).astype(dtype)
    for call in (lambda f: f, nj.jit):
        found = own.ppf(call(own.cdf)(counts, *shapes), *shapes)
        assert found.dtype == dtype
        np.testing.assert_array_equal(found, counts)


SLOPES_OF_BETABINOM = {place: nj.grad(stats.betabinom.cdf, place + 1) for place in (1, 2)}


@pytest.mark.parametrize("shapes", [(5, 2.0, 3.0), (10, 0.5, 0.5), (100, 30.0, 2.0), (100, 0.1, 0.2), (10, 1.0, 1.0)])
def test_probabilities_of_betabinom(shapes, x64):
    counts = np.array([0.0, 1.0, 2.0, 3.5, 4.0, 9.0])
    for name in ("cdf", "sf", "logcdf", "logsf"):
        own, other = getattr(stats.betabinom, name), getattr(oracle.betabinom, name)
        with np.errstate(all="ignore"):
            want = other(counts, *shapes)
        for call in (own, compiled(own)):
            np.testing.assert_allclose(call(counts, *map(float, shapes)), want, rtol=1e-9, atol=1e-13)
    for place in (1, 2):
        step = 1e-5 * (np.arange(3) == place)
        want = (oracle.betabinom.cdf(2, *(shapes + step)) - oracle.betabinom.cdf(2, *(shapes - step))) / 2e-5
        slope = SLOPES_OF_BETABINOM[place]
        for call in (slope, compiled(slope)):
            np.testing.assert_allclose(call(2.0, *map(float, shapes)), want, rtol=1e-5, atol=1e-10)
    assert stats.betabinom.cdf(2.0, 5.0, 2.0, 3.0, loc=1) == stats.betabinom.cdf(1.0, 5.0, 2.0, 3.0)
