"""Samplers called again: straight to their programs, with the bits, errors and warnings of the first call."""
from __future__ import annotations

import sys

import numpy as np
import pytest

import numjet as nj
import numjet.numpy as jnp
from numjet import random
from numjet.foundation.config import config

CALLS = {
    "bits": lambda key: random.bits(key, (3,)), "uniform": lambda key: random.uniform(key, (5,)),
    "range": lambda key: random.uniform(key, (2, 3), minval=-1.0, maxval=4.0), "normal": lambda key: random.normal(key, (8,)),
    "no shape": random.normal, "by name": lambda key: random.normal(key=key, shape=(2,), dtype="float16"),
    "randint": lambda key: random.randint(key, (7,), -3, 11), "bernoulli": lambda key: random.bernoulli(key, 0.3, (9,)),
    "rademacher": lambda key: random.rademacher(key, (4,)), "exponential": lambda key: random.exponential(key, (4,)),
    "gumbel": lambda key: random.gumbel(key, (4,), mode="high"), "laplace": lambda key: random.laplace(key, (0,)),
    "logistic": lambda key: random.logistic(key, (4,)), "cauchy": lambda key: random.cauchy(key, (1,)),
    "maxwell": lambda key: random.maxwell(key, (4,)), "split": random.split, "many keys": lambda key: random.split(key, (2, 2))}


def words(x):
    return np.asarray(random.key_data(x) if jnp.issubdtype(x.dtype, nj.dtypes.prng_key) else x)


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("make", [random.key, random.PRNGKey])
def test_later_calls_give_what_jit_gives(name, make):
    jitted = nj.jit(CALLS[name])
    for seed in range(5):
        found, expected = CALLS[name](make(seed)), jitted(make(seed))
        assert found.dtype == expected.dtype and found.weak_type == expected.weak_type
        np.testing.assert_array_equal(words(found), words(expected))


def test_later_calls_run_no_python():
    key, seen = random.key(0), []
    for _ in range(4):
        random.normal(key, (8,))
    sys.setprofile(lambda frame, event, _: seen.append(frame.f_code.co_name) if event == "call" else None)
    try:
        random.normal(key, (8,))
    finally:
        sys.setprofile(None)
    assert seen == ["<lambda>"]


def test_flags_count():
    key = random.key(3)
    for _ in range(4):
        random.normal(key, (2,))
    with nj.enable_x64(True):
        assert random.normal(key, (2,)).dtype == np.float64
    with nj.debug_key_reuse(True), pytest.raises(nj.errors.KeyReuseError):
        random.normal(key, (2,))
        random.normal(key, (2,))
    words = random.PRNGKey(0)
    for _ in range(4):
        random.normal(words, (2,))
    before = config.read("jax_legacy_prng_key")
    try:
        config.update("jax_legacy_prng_key", "error")
        with pytest.raises(ValueError, match="Legacy uint32 key"):
            random.normal(words, (2,))
    finally:
        config.update("jax_legacy_prng_key", before)


def test_errors_each_time():
    for _ in range(4):
        with pytest.raises(TypeError, match="unexpected PRNG key type"):
            random.normal(3, (2,))
        with pytest.raises(ValueError, match="single key"):
            random.normal(random.split(random.key(0)), (2,))
        with pytest.raises(TypeError, match="takes from 1 to 3 positional"):
            random.normal(random.key(0), (2,), "float32", 5)
    key = random.key(1)
    nj.device_put(0)
    for _ in range(4):
        random.normal(key, (2,))
    key.delete()
    with pytest.raises(RuntimeError, match="deleted"):
        random.normal(key, (2,))


def test_transformations_trace_the_function():
    key = random.key(0)
    for _ in range(4):
        random.uniform(key, (3,))
    text = str(nj.make_jaxpr(lambda k: random.uniform(k, (3,)))(key))
    assert "random_bits" in text or "threefry" in text or "shift_right_logical" in text
    rows = nj.vmap(lambda k: random.uniform(k, (3,)))(random.split(key, 4))
    np.testing.assert_array_equal(rows[1], random.uniform(random.split(key, 4)[1], (3,)))
