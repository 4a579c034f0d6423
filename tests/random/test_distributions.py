"""The numbers of every sampler have its distribution: Kolmogorov-Smirnov and chi-square tests at fixed keys."""
import math

import numpy as np
import pytest
from scipy import stats

import numjet as nj
from numjet import random
from tests.random.distributions import ARRANGEMENTS, CONTINUOUS, DISCRETE

COUNT = 4000
LEVEL = 1e-3      # keys are fixed: a right sampler passes always, or fails always, which these do not


def p_value_of_counts(counts, probabilities):
    """Pearson's chi-square test; values of small expectation are put together."""
    order = np.argsort(probabilities)[::-1]
    expected, found, total, seen = [], [], 0.0, 0
    for k in order:
        total, seen = total + probabilities[k] * counts.sum(), seen + counts[k]
        if total >= 10:
            expected.append(total)
            found.append(seen)
            total, seen = 0.0, 0
    expected[-1] += total
    found[-1] += seen
    expected = np.array(expected) * sum(found) / sum(expected)
    return stats.chisquare(found, expected).pvalue


@pytest.mark.parametrize("name", CONTINUOUS)
def test_continuous(name):
    draw, cdf = CONTINUOUS[name]
    x = np.asarray(draw(random.key(12), (COUNT,)), np.float64)
    assert x.shape == (COUNT,) and np.isfinite(x).all()
    assert stats.kstest(x, cdf).pvalue > LEVEL


@pytest.mark.parametrize("name", DISCRETE)
def test_discrete(name):
    draw, pmf = DISCRETE[name]
    x = np.asarray(draw(random.key(12), (COUNT,))).astype(np.int64)
    values = np.arange(x.max() + 1)
    probabilities = pmf(values)
    assert x.shape == (COUNT,) and x.min() >= 0 and probabilities[x].min() > 0
    assert p_value_of_counts(np.bincount(x), probabilities) > LEVEL


@pytest.mark.parametrize("name", ARRANGEMENTS)
def test_arrangements(name):
    """All 24 orders of four elements are equally frequent."""
    found = np.asarray(nj.jit(nj.vmap(ARRANGEMENTS[name]))(random.split(random.key(3), 2400)))
    assert (np.sort(found, -1) == np.arange(4)).all()
    orders = found @ (4 ** np.arange(4))
    assert p_value_of_counts(np.unique(orders, return_counts=True)[1], np.full(24, 1 / 24)) > LEVEL


@pytest.mark.parametrize("name", ["normal", "gamma", "beta", "t"])
@pytest.mark.parametrize("dtype", ["float64", "float16"])
def test_other_dtypes(name, dtype):
    draws = {"normal": lambda k, s, d: random.normal(k, s, d), "gamma": lambda k, s, d: random.gamma(k, 2.0, s, d),
             "beta": lambda k, s, d: random.beta(k, 2.0, 3.0, s, d), "t": lambda k, s, d: random.t(k, 5.0, s, d)}
    cdfs = {"normal": stats.norm().cdf, "gamma": stats.gamma(2.0).cdf, "beta": stats.beta(2.0, 3.0).cdf, "t": stats.t(5.0).cdf}
    with nj.enable_x64(True):
        x = draws[name](random.key(5), (COUNT,), dtype)
    assert x.dtype == dtype and stats.kstest(np.asarray(x, np.float64), cdfs[name]).pvalue > LEVEL


def test_numbers_of_one_key_are_independent():
    """Neighbours, halves, and the numbers of keys that were split are not correlated."""
    x = np.asarray(random.normal(random.key(8), (20_000,)), np.float64)
    first, second = (np.asarray(random.normal(k, (20_000,)), np.float64) for k in random.split(random.key(8)))
    for a, b in ((x[:-1], x[1:]), (x[:10_000], x[10_000:]), (first, second), (x, first)):
        assert abs(np.corrcoef(a, b)[0, 1]) < 4 / math.sqrt(len(a))


def test_every_sampler_is_tested():
    words = {name.split()[0] for table in (CONTINUOUS, DISCRETE, ARRANGEMENTS) for name in table}
    keys = {"PRNGKey", "clone", "fold_in", "key", "key_data", "key_dtype", "key_impl", "split", "wrap_key_data"}
    functions = {n for n, f in vars(random).items() if callable(f) and not n.startswith("_")} - keys
    assert functions <= words, functions - words
