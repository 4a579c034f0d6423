"""Samples against JAX's: bits, integers and choices exactly, others up to rounding."""
import zlib

import numpy as np
import pytest
from scipy import special

import numjet as nj
import numjet.numpy as jnp
from numjet import random
from numjet.random import counts, key_bits
from tests.random.digests import DIGESTS
from tests.random.values import VALUES

EXACT = {"bits", "uniform", "randint", "permutation", "rademacher"}
CHOICES = {"choice", "bernoulli", "categorical", "poisson", "binomial", "geometric", "multinomial"}
BITS64 = [15571024786774969728, 837714335556982463]
UNIFORM64 = [0.8441069450823528, 0.04541258512665647]
RANDINT64 = [946239547446147269, 2305089687191887805]


def _plain(value):
    value = np.asarray(value)
    if value.dtype.kind == "c":
        return np.stack([value.real, value.imag])
    return value.astype(np.float32) if value.dtype.name in ("bfloat16", "float16") else value


def _call(name, kwargs, key):
    return getattr(random, name)(key, **{k: jnp.array(v) if isinstance(v, list) else v for k, v in kwargs.items()})


def _assert_like(name, got, want):
    want = np.asarray(want, got.dtype)
    assert got.shape == want.shape
    if name in EXACT | CHOICES:
        np.testing.assert_array_equal(got, want)
    else:
        np.testing.assert_allclose(got, want, rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize("name, kwargs, want", VALUES, ids=[f"{n}-{i}" for i, (n, _, _) in enumerate(VALUES)])
def test_samples_are_those_of_jax(name, kwargs, want):
    _assert_like(name, _plain(_call(name, kwargs, random.key(7))), want)


@pytest.mark.parametrize("name", ["uniform", "normal", "randint", "permutation", "gamma", "poisson", "categorical", "choice"])
def test_traced_and_raw_keys_give_the_same(name):
    kwargs, want = next((k, w) for n, k, w in VALUES if n == name)
    traced = nj.jit(lambda key: _call(name, kwargs, key))(random.key(7))
    _assert_like(name, _plain(traced), want)
    _assert_like(name, _plain(_call(name, kwargs, random.PRNGKey(7))), want)


@pytest.mark.parametrize("name, kwargs", [
    ("uniform", {"shape": (3,)}), ("normal", {"shape": ()}), ("bits", {"shape": (2,), "dtype": "uint8"}),
    ("randint", {"shape": (3,), "minval": 0, "maxval": 9}), ("gamma", {"a": 0.7, "shape": (2,)}),
    ("permutation", {"x": 5}), ("poisson", {"lam": 12.0, "shape": (2,)})])
def test_vmap_over_keys_is_a_loop_over_keys(name, kwargs):
    keys = random.split(random.key(1), 3)
    batched = nj.vmap(lambda key: _call(name, kwargs, key))(keys)
    np.testing.assert_allclose(batched, np.stack([_call(name, kwargs, k) for k in keys]), rtol=1e-5)


def test_x64_values():
    with nj.enable_x64(True):
        key = random.key(7)
        assert random.bits(key, (2,)).tolist() == BITS64
        assert random.uniform(key, (2,)).tolist() == UNIFORM64
        assert random.randint(key, (2,), -2 ** 60, 2 ** 61).tolist() == RANDINT64


def test_empty_shapes():
    for name, kwargs in (("normal", {}), ("gamma", {"a": 2.0}), ("randint", {"minval": 0, "maxval": 3}), ("poisson",
                                                                                                          {"lam": 1.0})):
        assert _call(name, {"shape": (0, 2), **kwargs}, random.key(0)).shape == (0, 2)


@pytest.mark.parametrize("draw, mean, variance", [
    (lambda k, s: random.normal(k, s), 0, 1), (lambda k, s: random.gamma(k, 2.5, s), 2.5, 2.5),
    (lambda k, s: random.poisson(k, 30.0, s), 30, 30), (lambda k, s: random.binomial(k, 100.0, 0.7, s), 70, 21),
    (lambda k, s: random.beta(k, 2.0, 2.0, s), 0.5, 0.05), (lambda k, s: random.wald(k, 1.0, s), 1, 1),
    (lambda k, s: random.truncated_normal(k, -1.0, 1.0, s), 0, 0.2911), (lambda k, s: random.laplace(k, s), 0, 2)])
def test_moments(draw, mean, variance):
    x = np.asarray(draw(random.key(3), (20000,)), np.float64)
    assert abs(x.mean() - mean) < 5 * np.sqrt(variance / x.size)
    assert abs(x.var() / variance - 1) < 0.1


@pytest.mark.parametrize("draw", [
    lambda a: random.truncated_normal(random.key(0), -a, a, (6,)), lambda a: random.pareto(random.key(0), a, (6,)),
    lambda a: random.uniform(random.key(0), (6,), minval=-a, maxval=a), lambda a: random.lognormal(random.key(0), a, (6,))])
def test_samples_move_with_their_parameters(draw):
    with nj.enable_x64(True):
        got = nj.jacrev(draw)(1.3)
        step = 1e-6
        want = (np.asarray(draw(1.3 + step)) - np.asarray(draw(1.3 - step))) / (2 * step)
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("a", [0.4, 1.0, 7.0])
def test_gamma_samples_keep_their_quantile_when_a_moves(a):
    with nj.enable_x64(True):
        x = np.asarray(random.gamma(random.key(0), a, (6,)))
        slope = nj.jacfwd(lambda a: random.gamma(random.key(0), a, (6,)))(a)
        y = np.asarray(random.loggamma(random.key(0), a, (6,)))
        log_slope = nj.jacrev(lambda a: random.loggamma(random.key(0), a, (6,)))(a)
    for value, found in ((x, slope), (np.exp(y), np.exp(y) * np.asarray(log_slope))):
        quantile, step = special.gammainc(a, value), 1e-5
        want = (special.gammaincinv(a + step, quantile) - special.gammaincinv(a - step, quantile)) / (2 * step)
        np.testing.assert_allclose(found, want, rtol=1e-4)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_gamma_numbers_of_half_dtypes_are_rounded_once(dtype):
    """u ** (1 / a) in halves was off by 90 %: now the smallest numbers, too, have the quantiles of the distribution."""
    key, half = random.key(3), jnp.dtype(dtype)
    for a in (0.25, 0.5, 2.0):
        x = np.sort(np.asarray(random.gamma(key, a, (20_000,), half)).astype(np.float64))
        logs = np.sort(np.asarray(random.loggamma(key, a, (20_000,), half)).astype(np.float64))
        for share in (0.05, 0.2, 0.5, 0.9):
            want = float(special.gammaincinv(a, share))
            assert abs(float(special.gammainc(a, x[int(share * 20_000)])) - share) < 0.02, (a, share, want)
            assert abs(float(special.gammainc(a, np.exp(logs[int(share * 20_000)]))) - share) < 0.02


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
def test_the_signs_of_balls_are_those_of_rademacher(dtype):
    key = random.key(5)
    half = jnp.dtype(dtype)
    signs = np.sign(np.asarray(random.ball(key, 3, 2, (50,), half)).astype(np.float64))
    coin = random.rademacher(random.split(random.split(key)[0])[1], (50, 3))
    assert (signs == np.asarray(coin)).all()


OLDER_BITS = {
    ("uint8", (5,)): [143, 35, 95, 55, 29], ("uint16", ()): 345,
    ("uint16", (2, 3)): [[20137, 63263, 64300], [20622, 16513, 41486]],
    ("uint32", ()): 1797259609, ("uint32", (5,)): [2467461003, 428148500, 1688610540, 3840466878, 2562233961],
    ("uint32", (2, 3)): [[2467461003, 428148500, 3186719485], [3840466878, 2562233961, 1946702221]], ("uint32", (0,)): []}


def test_bits_that_depend_on_the_size_of_the_array():
    """The flag's other value gives the numbers of programs before it was the default."""
    key = random.key(0)
    with nj.threefry_partitionable(False):
        for (dtype, shape), expected in OLDER_BITS.items():
            assert random.bits(key, shape, dtype).tolist() == expected
        keys = random.split(key, 3)
        assert random.key_data(keys).tolist() == [[2467461003, 428148500], [3186719485, 3840466878], [2562233961, 1946702221]]
        assert random.key_data(random.fold_in(key, 7)).tolist() == [2716826189, 292468403]
        assert random.permutation(key, 6).tolist() == [1, 0, 2, 5, 4, 3]
        assert random.poisson(key, 3.0, (3,)).tolist() == [2, 2, 3] and random.randint(key, (3,), 0, 99).tolist() == [63, 95, 0]
        np.testing.assert_allclose(random.gamma(key, 2.0, (3,)), [0.77287, 1.40346, 1.14161], rtol=1e-5)
        assert nj.vmap(random.bits)(keys).tolist() == [int(random.bits(k)) for k in keys]
        with nj.enable_x64(True):
            assert random.bits(key, (3,), "uint64").tolist() == [10597664315880824766, 1838883807893689961,
                                                                 13686855971547664781]
    assert random.bits(key, (2,)).tolist() == [4070199207, 4202968722]


@pytest.mark.parametrize("method", ["cholesky", "eigh", "svd"])
def test_multivariate_normal_by_each_factorization(method):
    cov = np.array([[2.0, 0.5, 0.2], [0.5, 1.0, -0.3], [0.2, -0.3, 0.5]], np.float32)
    draw = lambda key, cov: random.multivariate_normal(key, jnp.arange(3.0), cov, (20000,), method=method)
    for x in map(np.asarray, (draw(random.key(1), cov), nj.jit(draw)(random.key(1), cov))):
        assert np.allclose(np.cov(x.T), cov, atol=0.06) and np.allclose(x.mean(0), [0, 1, 2], atol=0.04)
    if method != "cholesky":
        flat = np.asarray(draw(random.key(1), np.ones((3, 3), np.float32)) - jnp.arange(3.0))
        assert np.allclose(flat, flat[:, :1], atol=1e-2)


def test_binomial_of_bad_parameters_is_nan():
    inf, nan = np.inf, np.nan
    n, p = jnp.array([-1, 0, nan, inf, 5, 5, 5, inf, -1, inf]), jnp.array([0.5, 0.5, 0.5, 0.5, nan, -0.1, 1.1, nan, nan, -0.1])
    out = np.asarray(random.binomial(random.key(0), n, p))
    assert np.array_equal(out, [nan, 0, nan, inf, nan, nan, nan, nan, nan, nan], equal_nan=True)


def test_more_numbers_than_32_bits_count():
    out = nj.eval_shape(lambda seed: random.normal(random.key(seed), (10 ** 6, 10 ** 6)), 0)
    assert out.shape == (10 ** 6, 10 ** 6)
    high, low = key_bits._wide_counters((3, 5))
    assert low.tolist() == np.arange(15).reshape(3, 5).tolist() and not high.any()


def test_modes():
    logits = jnp.arange(5.0)
    precise = random.categorical(random.key(0), logits, shape=(9,), mode="high").tolist()
    assert random.categorical(random.key(0), logits, shape=(9,), mode="highest").tolist() == precise
    with pytest.raises(ValueError, match="mode"):
        random.gumbel(random.key(0), mode="medium")


@pytest.mark.parametrize("name, seed, args, digest", DIGESTS)
def test_bits_of_jax(name, seed, args, digest):
    """Bits, uniform numbers, integers, permutations and derived keys are those of JAX, byte for byte."""
    with nj.enable_x64(name.endswith("64")):
        name = name.removesuffix("64")
        out = getattr(random, name)(random.key(seed), *args)
        data = random.key_data(out) if name in ("split", "fold_in") else out
        assert zlib.crc32(np.ascontiguousarray(np.asarray(data)).tobytes()) == digest


def test_rejection_draws_while_a_wanted_element_lacks_a_value():
    """None at all where no element is wanted: small means are counted by another loop."""
    rounds = []

    def propose(u, v):
        nj.debug.callback(lambda: rounds.append(1))
        return u, v < 0.5
    for wanted in (np.zeros(50, bool), np.arange(50) == 7):
        counts._rejection(key_bits.words(random.key(0)), jnp.asarray(wanted), np.dtype(np.float32), propose)
        nj.effects_barrier()
        assert bool(rounds) == wanted.any()
