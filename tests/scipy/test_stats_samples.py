"""Distributions of vectors, density estimates and statistics of samples in numjet.scipy.stats, against SciPy."""
import numpy as np
import pytest
from scipy import stats as oracle

import numjet as nj
import numjet.numpy as jnp
from numjet.scipy import stats

RNG = np.random.default_rng(0)
NAN = np.nan


@pytest.fixture(autouse=True)
def wide():
    with nj.enable_x64(True):
        yield


# -------------------------------------------------------------------------------------------- vectors

def test_multinomial():
    x, p = np.array([[1, 2, 3], [6, 0, 0], [2, 2, 3], [8, -1, -1]]), np.array([0.2, 0.3, 0.5])
    want = oracle.multinomial.logpmf(x, 6, p)
    np.testing.assert_allclose(stats.multinomial.logpmf(x, 6, p), want, rtol=1e-12)
    np.testing.assert_allclose(stats.multinomial.pmf(x, np.full(4, 6), p), np.exp(want), rtol=1e-12)
    assert stats.multinomial.pmf(jnp.array([1, 0]), 1, jnp.array([1.0, 0.0])) == pytest.approx(1)
    with pytest.raises(ValueError, match=r"x and n must be of integer type; got x.dtype=float64, n.dtype=int64"):
        stats.multinomial.logpmf(jnp.array([1.0, 2.0]), jnp.array(3), p)
    slopes = nj.grad(lambda p: stats.multinomial.logpmf(jnp.array([1, 2, 3]), 6, p))(jnp.array(p))
    np.testing.assert_allclose(slopes, [1 / 0.2, 2 / 0.3, 3 / 0.5])


def test_dirichlet():
    alpha = np.array([0.5, 2.0, 3.0])
    x = RNG.dirichlet(alpha, 5).T
    want = np.array([oracle.dirichlet.logpdf(v, alpha) for v in x.T])
    np.testing.assert_allclose(stats.dirichlet.logpdf(x, alpha), want, rtol=1e-9)
    np.testing.assert_allclose(stats.dirichlet.pdf(x[:-1], alpha), np.exp(want), rtol=1e-9)
    np.testing.assert_allclose(nj.jit(stats.dirichlet.logpdf)(x[:, 0], alpha), want[0], rtol=1e-9)
    for outside in ([0.2, 0.3, 0.6], [-0.1, 0.6, 0.5]):
        assert stats.dirichlet.logpdf(jnp.array(outside), alpha) == -np.inf
    slopes = nj.grad(stats.dirichlet.logpdf, argnums=(0, 1))(jnp.array([-0.1, 0.6, 0.5]), jnp.array(alpha))
    assert not np.any(slopes)
    with pytest.raises(ValueError, match=r"one entry fewer; got x.shape=.5,., alpha.shape=.3,."):
        stats.dirichlet.logpdf(jnp.ones(5), alpha)
    with pytest.raises(ValueError, match="`alpha` must be one-dimensional"):
        stats.dirichlet.logpdf(jnp.ones(3), jnp.ones((2, 3)))


def test_multivariate_normal():
    root = RNG.normal(size=(3, 3))
    cov, mean, x = root @ root.T + np.eye(3), RNG.normal(size=3), RNG.normal(size=(4, 2, 3))
    want = oracle.multivariate_normal.logpdf(x, mean, cov)
    np.testing.assert_allclose(stats.multivariate_normal.logpdf(x, mean, cov), want, rtol=1e-10)
    np.testing.assert_allclose(stats.multivariate_normal.pdf(x, mean, cov), np.exp(want), rtol=1e-10)
    batch = stats.multivariate_normal.logpdf(x, mean, np.stack([cov, 2 * cov]))
    np.testing.assert_allclose(batch[:, 0], want[:, 0], rtol=1e-10)
    np.testing.assert_allclose(batch[:, 1], oracle.multivariate_normal.logpdf(x, mean, 2 * cov)[:, 1], rtol=1e-10)
    mapped = nj.vmap(stats.multivariate_normal.logpdf, (0, None, None))
    np.testing.assert_allclose(mapped(x, mean, cov), want, rtol=1e-10)
    np.testing.assert_allclose(stats.multivariate_normal.logpdf(x, mean, 2.0),
                               oracle.multivariate_normal.logpdf(x, mean, 2.0), rtol=1e-10)
    want = oracle.norm.logpdf(x, 0.5, np.sqrt(2))
    np.testing.assert_allclose(stats.multivariate_normal.logpdf(x, 0.5, 2.0), want, rtol=1e-10)
    slope = nj.grad(stats.multivariate_normal.logpdf, argnums=1)(x[0, 0], mean, cov)
    np.testing.assert_allclose(slope, np.linalg.solve(cov, x[0, 0] - mean), rtol=1e-9)
    assert np.isnan(stats.multivariate_normal.logpdf(jnp.zeros(2), jnp.zeros(2), -jnp.eye(2)))


def test_errors_of_multivariate_normal():
    with pytest.raises(ValueError, match=r"got incompatible shapes.*got x .4, 2., mean .2,., cov .3, 3."):
        stats.multivariate_normal.logpdf(jnp.ones((4, 2)), jnp.ones(2), jnp.eye(3))
    with pytest.raises(NotImplementedError, match="allow_singular"):
        stats.multivariate_normal.logpdf(jnp.ones(2), jnp.ones(2), jnp.eye(2), allow_singular=True)


# -------------------------------------------------------------------------------------------- density estimates

@pytest.mark.parametrize("method", [None, "silverman", 0.3, lambda kde: 0.2 * kde.d])
@pytest.mark.parametrize("shape", [(6,), (1, 6), (2, 6)])
def test_kde(shape, method):
    data, weights = RNG.normal(size=shape), RNG.uniform(0.5, 1, 6)
    ours, theirs = stats.gaussian_kde(data, method, weights), oracle.gaussian_kde(data, method, weights)
    points = RNG.normal(size=(ours.d, 4))
    for name in ("evaluate", "pdf", "logpdf", "__call__"):
        np.testing.assert_allclose(getattr(ours, name)(points), getattr(theirs, name)(points), rtol=1e-9)
    for name in ("covariance", "inv_cov", "weights", "neff", "d", "n", "dataset"):
        np.testing.assert_allclose(getattr(ours, name), getattr(theirs, name), rtol=1e-9)
    np.testing.assert_allclose(ours.integrate_kde(ours), theirs.integrate_kde(theirs), rtol=1e-9)
    mean, cov = np.ones(ours.d), 2 * np.eye(ours.d)
    np.testing.assert_allclose(ours.integrate_gaussian(mean, cov), theirs.integrate_gaussian(mean, cov), rtol=1e-9)
    if ours.d == 1:
        np.testing.assert_allclose(ours.integrate_box_1d(-1, 0.5), theirs.integrate_box_1d(-1, 0.5), rtol=1e-9)
    np.testing.assert_allclose(nj.jit(lambda kde, x: kde.pdf(x))(ours, points), theirs.pdf(points), rtol=1e-9)


def test_densities_of_kde_have_the_dtype_of_data_points_and_weights():
    with nj.enable_x64():
        data, points, weights = np.linspace(0, 1, 6, dtype=np.float32) ** 2, np.linspace(0, 1, 3), np.arange(1.0, 7)
        narrow, wide = stats.gaussian_kde(data), stats.gaussian_kde(data.astype(np.float64))
        np.testing.assert_allclose(narrow.evaluate(points), wide.evaluate(points), rtol=1e-5)
        assert narrow.evaluate(points).dtype == narrow.logpdf(points).dtype == np.float64
        assert narrow.evaluate(points.astype(np.float32)).dtype == narrow.evaluate(np.arange(3)).dtype == np.float32
        assert narrow.integrate_gaussian(0.0, points[1]).dtype == np.float64
        np.testing.assert_allclose(narrow.integrate_kde(wide), wide.integrate_kde(narrow), rtol=1e-6)
        assert stats.gaussian_kde(data, weights=weights).dataset.dtype == np.float64
        assert stats.gaussian_kde(data, weights=weights.astype(int)).weights.dtype == np.float32


def test_kde_with_weights_of_0_and_below(x64):
    """The density also depends on a weight that is 0, and may be negative where weights are."""
    data, weights, step = jnp.array([1.0, 2.0, 4.0, 7.0]), np.array([1.0, 2.0, 3.0, 0.0]), 1e-6
    parts = lambda kde: (kde.evaluate(5.0)[0], kde.logpdf(5.0)[0], kde.integrate_gaussian(0.0, 2.0), kde.integrate_kde(kde))
    density = nj.jit(lambda weight: parts(stats.gaussian_kde(data, 0.5, jnp.array(weights).at[3].set(weight))))
    rise = np.subtract(density(step), density(0.0)) / step
    for mode in (nj.jacrev, nj.jacfwd):
        np.testing.assert_allclose(mode(density)(0.0), rise, rtol=1e-4)
    kde = stats.gaussian_kde(data, 0.2, np.array([1.0, -1.5, 1.0, 2.0]))
    kernels = oracle.norm.pdf(2.0, data, np.sqrt(kde.covariance[0, 0]))
    np.testing.assert_allclose(kde.evaluate(2.0), [kernels @ np.asarray(kde.weights)], rtol=1e-12)
    assert kde.evaluate(2.0) < 0


def test_kde_samples():
    kde = stats.gaussian_kde(jnp.array([[0.0, 4.0, 4.0], [1.0, 5.0, 9.0]]), 0.05, jnp.array([1.0, 2.0, 1.0]))
    drawn = np.asarray(kde.resample(nj.random.key(0), (40, 100)))
    assert drawn.shape == (2, 40, 100) and kde.resample(nj.random.key(0)).shape == (2,)
    np.testing.assert_allclose(drawn.mean((1, 2)), [3.0, 5.0], atol=0.2)
    spread = np.cov(kde.dataset, aweights=kde.weights, ddof=0) + kde.covariance
    np.testing.assert_allclose(np.cov(drawn.reshape(2, -1)), spread, atol=0.3)


def test_errors_of_kde():
    line, plane = stats.gaussian_kde(jnp.array([1.0, 2.0, 4.0])), stats.gaussian_kde(RNG.normal(size=(2, 5)))
    for call, error, message in [
        (lambda: stats.gaussian_kde([1.0, 2.0]), TypeError, "gaussian_kde requires ndarray or scalar arguments"),
        (lambda: stats.gaussian_kde(jnp.array([1j, 2])), NotImplementedError, "complex"),
        (lambda: stats.gaussian_kde(jnp.ones(1)), ValueError, "multiple elements"),
        (lambda: stats.gaussian_kde(jnp.ones((2, 2, 2))), ValueError, r"shape \(n,\) or \(d, n\)"),
        (lambda: stats.gaussian_kde(jnp.arange(3.0), "x"), ValueError, "`bw_method` should be 'scott'"),
        (lambda: stats.gaussian_kde(jnp.arange(3.0), None, jnp.ones(2)), ValueError, "of length n"),
        (lambda: stats.gaussian_kde(jnp.arange(3.0), None, jnp.ones((3, 2))), ValueError, "one-dimensional"),
        (lambda: line.pdf(jnp.ones((2, 3))), ValueError, "points have dimension 2, dataset has dimension 1"),
        (lambda: line.integrate_box(1, 2), NotImplementedError, "integrate_box_1d"),
        (lambda: line.set_bandwidth(1), NotImplementedError, "bandwidth"),
        (lambda: line.integrate_kde(1), TypeError, "expected a gaussian_kde"),
        (lambda: line.integrate_kde(plane), ValueError, "not the same dimensionality"),
        (lambda: plane.integrate_box_1d(0, 1), ValueError, "only handles 1D"),
        (lambda: plane.integrate_gaussian(jnp.ones(3), jnp.eye(2)), ValueError, "mean does not have dimension 2"),
        (lambda: plane.integrate_gaussian(jnp.ones(2), jnp.eye(3)), ValueError, "covariance does not have dimension 2"),
    ]:
        with pytest.raises(error, match=message):
            call()


# -------------------------------------------------------------------------------------------- samples

@pytest.mark.parametrize("axis", [0, 1, -1, None])
@pytest.mark.parametrize("keepdims", [False, True])
def test_mode(axis, keepdims):
    a = RNG.integers(0, 4, (5, 7))
    ours, theirs = stats.mode(a, axis, keepdims=keepdims), oracle.mode(a, axis, keepdims=keepdims)
    np.testing.assert_array_equal(ours.mode, theirs.mode)
    np.testing.assert_array_equal(ours.count, theirs.count)
    np.testing.assert_array_equal(nj.jit(lambda v: stats.mode(v, axis).mode)(a), np.asarray(oracle.mode(a, axis).mode))


def test_mode_of_special_arrays():
    assert [float(v) for v in stats.mode(jnp.array(3.0))] == [3, 1]
    found = stats.mode(jnp.array([NAN, NAN, NAN, 1.0, 1.0]))
    assert np.isnan(found.mode) and found.count == 3
    empty = stats.mode(jnp.zeros((0, 3)))
    assert np.isnan(empty.mode).all() and not empty.count.any() and empty.mode.shape == (3,)
    with pytest.raises(NotImplementedError, match="`nan_policy` of omit"):
        stats.mode(jnp.ones(2), nan_policy="omit")
    with pytest.raises(ValueError, match="Illegal nan_policy value 'x'"):
        stats.mode(jnp.ones(2), nan_policy="x")
    with pytest.raises(ValueError, match="axis 2 is out of bounds for array of dimension 1"):
        stats.mode(jnp.ones(2), axis=2)


@pytest.mark.parametrize("method", ["average", "min", "max", "dense", "ordinal"])
@pytest.mark.parametrize("axis", [0, 1, None])
def test_rankdata(method, axis):
    a = RNG.integers(0, 4, (6, 5))
    want = oracle.rankdata(a, method, axis=axis)
    np.testing.assert_array_equal(stats.rankdata(a, method, axis=axis), want)
    np.testing.assert_array_equal(nj.jit(lambda v: stats.rankdata(v, method, axis=axis))(a), want)


def test_ranks_of_halves_are_default_floats():
    found = stats.rankdata(np.arange(3000, dtype=np.float16) > 1500, "ordinal")
    assert found.dtype == stats.rankdata(np.array([], np.float16)).dtype == np.array(found).dtype
    assert found.dtype.itemsize >= 4 and float(found.max()) == 3000


def test_rankdata_of_special_arrays():
    np.testing.assert_array_equal(stats.rankdata(jnp.array([[1, NAN], [2, 2.0]]), axis=1), [[NAN, NAN], [1.5, 1.5]])
    assert stats.rankdata(jnp.zeros((2, 0, 3)), axis=0).shape == (2, 0, 3) and stats.rankdata(jnp.array(3)).tolist() == [1]
    with pytest.raises(ValueError, match="unknown method 'foo'"):
        stats.rankdata(jnp.ones(2), "foo")
    with pytest.raises(NotImplementedError, match="`nan_policy` of omit"):
        stats.rankdata(jnp.ones(2), nan_policy="omit")
    for f in (stats.rankdata, stats.mode):
        with pytest.raises(NotImplementedError, match=f"JIT compile `{f.__name__}`, we cannot know whether `x` contains nans"):
            f(jnp.ones(2), nan_policy="raise")


@pytest.mark.parametrize("axis", [0, 1, None])
@pytest.mark.parametrize("policy", ["propagate", "omit"])
def test_sem(axis, policy):
    a = RNG.normal(size=(6, 5))
    a[2, 3] = NAN
    want = np.ma.getdata(oracle.sem(a, axis, nan_policy=policy))
    np.testing.assert_allclose(stats.sem(a, axis, nan_policy=policy), want, rtol=1e-12)
    assert stats.sem(a, axis, nan_policy=policy, keepdims=True).ndim == 2
    np.testing.assert_allclose(stats.sem(jnp.array([1, 3, 2, 2]), ddof=0), oracle.sem([1, 3, 2, 2], ddof=0))
    with pytest.raises(ValueError, match="raise is not supported"):
        stats.sem(jnp.ones(3), nan_policy="raise")


# -------------------------------------------------------------------------------------------- the list

API = {
    "bernoulli": "cdf logpmf pmf ppf", "beta": "cdf logcdf logpdf logsf pdf sf", "betabinom": "logpmf pmf",
    "binom": "logpmf pmf",
    "cauchy": "cdf isf logcdf logpdf logsf pdf ppf sf", "chi2": "cdf logcdf logpdf logsf pdf sf", "dirichlet": "logpdf pdf",
    "expon": "cdf logcdf logpdf logsf pdf ppf sf", "gamma": "cdf logcdf logpdf logsf pdf sf", "gennorm": "cdf logpdf pdf",
    "geom": "logpmf pmf", "gumbel_l": "cdf logcdf logpdf logsf pdf ppf sf", "gumbel_r": "cdf logcdf logpdf logsf pdf ppf sf",
    "laplace": "cdf logpdf pdf", "logistic": "cdf isf logpdf pdf ppf sf", "multinomial": "logpmf pmf",
    "multivariate_normal": "logpdf pdf", "nbinom": "logpmf pmf", "norm": "cdf isf logcdf logpdf logsf pdf ppf sf",
    "pareto": "cdf logcdf logpdf logsf pdf ppf sf", "poisson": "cdf entropy logpmf pmf", "t": "logpdf pdf",
    "truncnorm": "cdf logcdf logpdf logsf pdf sf", "uniform": "cdf logpdf pdf ppf", "vonmises": "logpdf pdf",
    "wrapcauchy": "logpdf pdf",
}


@pytest.mark.parametrize("name", API)
def test_every_function_of_the_list_is_there(name):
    assert not [fn for fn in API[name].split() if not callable(getattr(getattr(stats, name), fn, None))]
