"""Keys: seeds, kinds, derivation, errors."""
import pickle
from contextlib import nullcontext

import numpy as np
import pytest

import numjet as nj
import numjet.numpy as jnp
from numjet import random
from numjet.extend.random import define_prng_impl

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
    for bad, error, text in (("dice", ValueError, "unrecognized PRNG"), ("philox4x32", NotImplementedError, "define_prng_impl"),
                             (object(), TypeError, "unrecognized type .* PRNG")):
        with pytest.raises(error, match=text):
            random.key(0, impl=bad)
    with pytest.raises(ValueError, match="Cannot specify both"):
        random.key(0, impl="rbg", dtype=random.key_dtype("rbg"))


@pytest.mark.parametrize("impl, second, folded", [  # by JAX 0.10.2 on a CPU
    ("rbg", [195045567, 4062205631, 195045567, 4062205631], [276534068, 1641862660, 276534068, 1641862660]),
    ("unsafe_rbg", [3848958661, 3271070264, 2639373597, 23941900], [56543296, 1826787330, 2453521982, 2503663986])])
def test_block_generators(impl, second, folded):
    key = random.key(7, impl=impl)
    assert key.dtype == random.key_dtype(impl) and random.key_impl(key) == impl
    assert random.key_data(key).tolist() == [0, 7, 0, 7] == random.PRNGKey(7, impl=impl).tolist()
    assert random.key_data(random.split(key, 3))[1].tolist() == second
    assert random.key_data(random.fold_in(key, 3)).tolist() == folded
    for dtype, bits in (("uint32", [3109483441, 1367189518]), ("uint16", [62385, 43022]), ("uint8", [177, 14])):
        assert random.bits(key, (2,), dtype).tolist() == bits
    with nj.default_prng_impl(impl):
        assert random.bits(random.PRNGKey(7)).tolist() == 3109483441
        assert random.split(random.PRNGKey(7), 3)[1].tolist() == second
    with pytest.raises(TypeError, match=r"end with \(2,\)"):
        random.bits(random.PRNGKey(7, impl=impl))


@pytest.mark.parametrize("impl", ["rbg", "unsafe_rbg"])
def test_wide_keys_move_whole(impl):
    keys = random.split(random.key(1, impl=impl), 6).reshape(2, 3)
    words = np.asarray(random.key_data(keys))
    moves = [lambda x: x[:, 1], lambda x: x.T if x.ndim == 2 else x.transpose(1, 0, 2), lambda x: jnp.concatenate([x, x]),
             lambda x: jnp.where(jnp.array([True, False]).reshape(2, *[1] * (x.ndim - 1)), x, x[::-1]),
             lambda x: x.at[0].set(x[1]),
             lambda x: nj.lax.dynamic_slice_in_dim(x, 1, 1), lambda x: x.at[jnp.array([5])].get(mode="clip")]
    for move in moves:
        for call in (move, nj.jit(move)):
            assert np.array_equal(random.key_data(call(keys)), move(jnp.asarray(words)))
    assert (keys == keys).all() and not (keys != keys).any() and not (keys == keys[::-1]).any()
    outside = random.key_data(keys.at[9].get(mode="fill"))
    assert (outside == 2 ** 32 - 1).all() and outside.shape == (3, 4)
    assert nj.vmap(nj.vmap(random.normal))(keys).shape == (2, 3) and random.gamma(keys[0, 0], 0.5, (3,)).shape == (3,)


def test_a_generator_of_one_s_own():
    made = define_prng_impl(
        key_shape=(2, 2), name="plain", tag="plain", seed=lambda s: jnp.full((2, 2), s).astype("uint32"),
        split=lambda words, shape: words + jnp.arange(np.prod(shape, dtype=int), dtype="uint32").reshape(*shape, 1, 1),
        random_bits=lambda words, width, shape: jnp.broadcast_to(words.sum().astype(f"uint{width}"), shape),
        fold_in=lambda words, data: words + data)
    key = random.key(5, impl=made)
    assert random.key_impl(key) is made and random.key(5, dtype=key.dtype).dtype == key.dtype
    assert random.key_data(key).tolist() == [[5, 5], [5, 5]] and random.bits(key, (2,)).tolist() == [20, 20]
    assert random.key_data(random.split(key))[1].tolist() == [[6, 6], [6, 6]]
    assert nj.jit(nj.vmap(random.bits))(random.split(random.fold_in(key, 1), 2)).tolist() == [24, 28]
    assert random.key_data(random.wrap_key_data(random.key_data(key), impl=made)).shape == (2, 2)
    with pytest.raises(NotImplementedError, match="2 or 4 words"):
        define_prng_impl(key_shape=(6,), seed=None, split=None, random_bits=None, fold_in=None)


def test_legacy_keys():
    for mode, manager in (("allow", nullcontext()), ("warn", pytest.warns(UserWarning, match="Legacy uint32 key")),
                          ("error", pytest.raises(ValueError, match="Legacy uint32 key"))):
        with nj.legacy_prng_key(mode), manager:
            random.uniform(jnp.zeros(2, "uint32"))


def test_keys_promote_with_their_kind():
    key = random.key(0)
    assert jnp.result_type(key, key) == key.dtype and jnp.append(random.split(key), key).shape == (3,)
    assert jnp.full(2, key, dtype=key.dtype).shape == jnp.full_like(random.split(key), key).shape == (2,)
    with pytest.raises(TypeError, match="add does not accept dtypes key<fry>, int32"):
        jnp.add(key, 1)
    with pytest.raises(TypeError, match="key<rbg>"):
        jnp.concatenate([key[None], random.key(0, impl="rbg")[None]])


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
    (lambda k: random.multivariate_normal(k, jnp.ones(2), jnp.ones((2, 2)), method="lu"), ValueError, "method must be"),
    (lambda k: random.choice(k, 5, 2), TypeError, "sequence of integers")])
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


def test_keys_are_no_numpy_arrays():
    key = random.key(0)
    with pytest.raises(TypeError, match=r"PRNGKey dtype cannot be converted .* Use random.key_data"):
        np.asarray(key)
    assert key.dtype.type.__name__ == random.key(0, impl="rbg").dtype.type.__name__ == "prng_key"
    assert pickle.loads(pickle.dumps(key.dtype)) == key.dtype


@pytest.mark.parametrize("convert", [bool, int, float, complex])
def test_keys_are_no_numbers(convert):
    with pytest.raises(TypeError, match="key array cannot be converted to"):
        convert(random.key(0))


def test_out_sharding():
    sharding = nj.sharding.NamedSharding(nj.make_mesh((1,), ("x",)), nj.sharding.PartitionSpec("x"))
    for call in (random.normal, random.gamma, random.randint, random.permutation):
        args = {random.normal: ((4,),), random.gamma: (2.0, (4,)), random.randint: ((4,), 0, 9), random.permutation: (4,)}[call]
        out = call(random.key(0), *args, out_sharding=sharding)
        assert out.tolist() == call(random.key(0), *args).tolist() and out.sharding.is_equivalent_to(sharding, 1)


@pytest.mark.parametrize("equal_nan", [False, True])
def test_arrays_of_keys_are_compared(equal_nan):
    keys = random.split(random.key(1))
    assert jnp.array_equal(keys, random.split(random.key(1)), equal_nan=equal_nan)
    assert not jnp.array_equal(keys, random.split(random.key(2)), equal_nan=equal_nan)


def test_out_sharding_of_new_arrays():
    sharding = nj.sharding.NamedSharding(nj.make_mesh((1,), ("x",)), nj.sharding.PartitionSpec("x"))
    for make in (lambda **k: jnp.ones((4, 2), **k), lambda **k: jnp.arange(4, **k), lambda **k: jnp.full((4,), 2.0, **k)):
        out = make(out_sharding=sharding)
        assert out.tolist() == make().tolist() and out.sharding.is_equivalent_to(sharding, out.ndim)
    logits = jnp.ones((4, 3), out_sharding=sharding)
    assert random.categorical(random.key(0), logits, shape=(4,), out_sharding=sharding).shape == (4,)
    with pytest.raises(ValueError, match="got both"):
        jnp.ones(3, device=nj.devices()[0], out_sharding=sharding)
