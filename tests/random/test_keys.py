"""Keys: seeds, kinds, derivation, errors."""
import numpy as np
import pytest

import numjet as nj
import numjet.numpy as jnp
from numjet import random

TOP = 2 ** 32 - 1


@pytest.mark.parametrize("seed, words, wide", [
    (0, [0, 0], [0, 0]), (1, [0, 1], [0, 1]), (-1, [0, TOP], [TOP, TOP]), (2 ** 32, [0, 0], [1, 0]),
    (2 ** 33 + 5, [0, 5], [2, 5]), (-2 ** 40, [0, 0], [TOP - 255, 0]), (2 ** 63 - 1, [0, TOP], [2 ** 31 - 1, TOP]),
    (True, [0, 1], [0, 1]), (np.int8(-3), [0, TOP - 2], [0, TOP - 2])])
def test_seeds(seed, words, wide):
    assert random.PRNGKey(seed).tolist() == words
    assert random.key_data(random.key(seed)).tolist() == words
    with nj.enable_x64(True):
        assert random.PRNGKey(seed).tolist() == wide


def test_traced_seeds():
    assert nj.jit(random.PRNGKey)(-1).tolist() == [0, TOP]
    assert nj.vmap(random.PRNGKey)(jnp.arange(3)).tolist() == [[0, 0], [0, 1], [0, 2]]
    assert random.key_data(nj.jit(random.key)(5)).tolist() == [0, 5]


@pytest.mark.parametrize("seed, error, text", [
    (1.5, TypeError, "must be an integer"), (np.array([1, 2]), TypeError, "scalar seed"), (2 ** 64, OverflowError, "64 bits")])
def test_seed_errors(seed, error, text):
    for make in (random.key, random.PRNGKey):
        with pytest.raises(error, match=text):
            make(seed)


def test_generators():
    assert random.key_impl(random.key(0)) == "threefry2x32" == random.key_impl(random.PRNGKey(0))
    with pytest.raises(NotImplementedError, match="rbg"):
        random.key(0, impl="rbg")
    with pytest.raises(ValueError, match="unrecognized"):
        random.key(0, impl="dice")


def test_split_and_fold_in_are_jax_s():
    raw = random.PRNGKey(0)
    assert random.split(raw).tolist() == [[1797259609, 2579123966], [928981903, 3453687069]]
    assert random.key_data(random.split(random.key(0))).tolist() == random.split(raw).tolist()
    assert random.fold_in(raw, 7).tolist() == [2716826189, 292468403]
    assert random.fold_in(raw, jnp.array(7)).tolist() == [2716826189, 292468403]
    assert random.split(raw, (2, 3)).shape == (2, 3, 2)
    assert random.split(random.key(0), (2, 3)).shape == (2, 3)
    assert random.split(random.key(0), 0).shape == (0,)
    assert random.split(raw, (2, 3)).reshape(6, 2).tolist() == random.split(raw, 6).tolist()


def test_vmapped_derivation():
    keys = random.split(random.key(3), 4)
    assert random.key_data(nj.vmap(random.split)(keys)).tolist() == [random.key_data(random.split(k)).tolist() for k in keys]
    folded = nj.vmap(random.fold_in, (None, 0))(random.key(3), jnp.arange(4))
    assert random.key_data(folded).tolist() == [random.key_data(random.fold_in(random.key(3), i)).tolist() for i in range(4)]


def test_wrap_and_clone():
    data = random.key_data(random.key(9))
    assert random.key_data(random.wrap_key_data(data)).tolist() == [0, 9]
    assert random.key_data(random.clone(random.key(9))).tolist() == [0, 9]
    assert random.key(9).dtype == random.key_dtype()
    for bad in (np.zeros(3, np.uint32), np.zeros(2, np.int32)):
        with pytest.raises(TypeError, match="invalid PRNG key data"):
            random.wrap_key_data(bad)


@pytest.mark.parametrize("call, error, text", [
    (lambda k: random.split(random.split(k)), ValueError, "split accepts a single key"),
    (lambda k: random.normal(random.split(k)), ValueError, "vmap"),
    (lambda k: random.normal(3), TypeError, "key"), (lambda k: random.normal(None), TypeError, "unexpected PRNG key type"),
    (lambda k: random.normal(np.zeros(2)), TypeError, "key"),
    (lambda k: random.normal(jnp.zeros(3, "uint32")), TypeError, "end with"),
    (lambda k: random.fold_in(k, jnp.arange(2)), TypeError, "scalar"),
    (lambda k: random.fold_in(k, -1), OverflowError, "out of bounds"),
    (lambda k: random.normal(k, (2,), int), ValueError, "float or complex"),
    (lambda k: random.uniform(k, (2,), "int32"), ValueError, "must be a float dtype, got int32"),
    (lambda k: random.uniform(k, (2.0,)), TypeError, "integer"), (lambda k: random.uniform(k, (-1,)), ValueError, "nonneg"),
    (lambda k: random.bits(k, (2,), "int32"), ValueError, "unsigned"),
    (lambda k: random.randint(k, (2,), 0, 5, "float32"), TypeError, "only accepts integer dtypes"),
    (lambda k: random.randint(k, (2,), 0, 2 ** 40), OverflowError, "out of bounds"),
    (lambda k: random.randint(k, (2,), 0, jnp.arange(3)), ValueError, "ncompatible"),
    (lambda k: random.bernoulli(k, 1), TypeError, "floating dtype"),
    (lambda k: random.bernoulli(k, 0.5, mode="x"), ValueError, "mode"),
    (lambda k: random.gamma(k, jnp.ones(3), (2,)), ValueError, "ncompatible"),
    (lambda k: random.permutation(k, 1.5), TypeError, "integer or at least 1-dimensional"),
    (lambda k: random.permutation(k, jnp.ones(3), 1), ValueError, "axis 1"),
    (lambda k: random.permutation(k, [1, 2]), TypeError, "list"),
    (lambda k: random.choice(k, 0), ValueError, "greater than 0"),
    (lambda k: random.choice(k, 3, (4,), False), ValueError, "larger sample"),
    (lambda k: random.choice(k, 3, p=jnp.ones(2)), ValueError, "1D vector"),
    (lambda k: random.categorical(k, jnp.ones((2, 3)), shape=(4, 2), replace=False), ValueError, "categories"),
    (lambda k: random.dirichlet(k, 1.0), ValueError, "ndim >= 1"),
    (lambda k: random.poisson(k, 1.0, (2,), "float32"), ValueError, "int dtype"),
    (lambda k: random.multivariate_normal(k, jnp.ones(2), jnp.ones((3, 3))), ValueError, "cov.shape"),
    (lambda k: random.multivariate_normal(k, jnp.ones(2), jnp.ones((2, 2)), method="svd"), NotImplementedError, "cholesky")])
def test_errors(call, error, text):
    with pytest.raises(error, match=text):
        call(random.key(0))


def test_shuffles_keep_what_they_shuffle():
    x = jnp.arange(60).reshape(20, 3)
    rows = np.asarray(random.permutation(random.key(1), x))
    assert sorted(rows.tolist()) == x.tolist() and rows.tolist() != x.tolist()
    columns = np.asarray(random.permutation(random.key(1), x, axis=1, independent=True))
    assert np.sort(columns, 1).tolist() == x.tolist()
    assert random.choice(random.key(0), x, (4, 2), axis=1).shape == (20, 4, 2)
    assert random.permutation(random.key(0), -3).shape == (0,)
