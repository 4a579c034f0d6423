"""Generators of random numbers with a state: what they draw, under transformations too; and the names of the cache on disk."""

from __future__ import annotations

import numpy as np
import pytest

import numjet as nj
import numjet.numpy as jnp
from numjet import random
from numjet.experimental.compilation_cache import compilation_cache
from numjet.experimental.random import stateful_rng


def key(n, seed=0):
    return random.fold_in(random.key(seed), n)


def test_draws_are_those_of_keys_folded_with_a_counter():
    rng = stateful_rng(0)
    np.testing.assert_array_equal(random.key_data(rng.key()), [1797259609, 2579123966])  # JAX's
    np.testing.assert_array_equal(random.key_data(rng.key((2,))), random.key_data(random.split(key(1), 2)))
    assert float(rng.uniform(1, 3)) == float(random.uniform(key(2), minval=1.0, maxval=3.0))
    np.testing.assert_array_equal(rng.normal(1.0, np.array([2.0, 3.0], np.float32)),
                                  1 + np.array([2.0, 3.0], np.float32) * np.asarray(random.normal(key(3), (2,))))
    np.testing.assert_array_equal(rng.integers(10, size=4), random.randint(key(4), (4,), 0, 10))
    np.testing.assert_array_equal(rng.random(3), random.uniform(key(5), (3,)))
    assert [float(stateful_rng(42).uniform()), repr(stateful_rng(1)).count("Ref(0")] == [pytest.approx(0.5302608), 1]


def test_generators_in_compiled_functions_loops_and_batches():
    rng, plain = stateful_rng(3), stateful_rng(3)
    draw = nj.jit(lambda g: (g.uniform(), g.uniform()))
    assert [float(x) for x in (*draw(rng), *draw(rng))] == [float(plain.uniform()) for _ in range(4)]
    total = nj.lax.fori_loop(0, 3, lambda i, c: c + rng.uniform(), 0.0)
    assert float(total) == pytest.approx(sum(float(plain.uniform()) for _ in range(3)))
    parts = stateful_rng(0).split(3)
    np.testing.assert_allclose(nj.vmap(lambda g: g.uniform())(parts), [0.07174575, 0.01633251, 0.04355359], rtol=1e-6)  # JAX's
    children = stateful_rng(0).spawn(2)
    assert len({float(c.uniform()) for c in children}) == 2
    assert float(nj.jit(lambda seed: stateful_rng(seed).uniform())(42)) == pytest.approx(0.5302608)


def test_dtypes_and_kinds():
    rng = stateful_rng(0, impl="rbg")
    assert rng.integers(3, 10, size=2, dtype="int8").dtype == np.int8
    assert rng.normal(size=(2, 3), dtype="float16").shape == (2, 3)
    assert str(random.key_impl(rng.key())) == "rbg" and stateful_rng().uniform().shape == ()


@pytest.mark.parametrize(("call", "text"), [
    (lambda: nj.jit(lambda: stateful_rng().uniform())(), "requires an explicit seed"),
    (lambda: stateful_rng(1.5), "integer"), (lambda: stateful_rng(0).uniform(size=(2.5,)), "integer"),
    (lambda: random.uniform(stateful_rng(0)), "key"),
])
def test_bad_input(call, text):
    with pytest.raises(TypeError, match=text):
        call()


def test_a_split_generator_is_mapped_over():
    with pytest.raises(ValueError, match="was split into the shape"):
        stateful_rng(0).split(2).uniform()


def test_the_folder_of_the_cache(tmp_path):
    before, off = nj.config.jax_compilation_cache_dir, nj.config.read("numjet_cache")
    try:
        nj.config.update("numjet_cache", None)
        compilation_cache.set_cache_dir(tmp_path / "programs")
        nj.jit(lambda x: jnp.sin(x) * 12.25)(1.0)
        assert list((tmp_path / "programs").iterdir())
        compilation_cache.reset_cache()
        assert nj.config.jax_compilation_cache_dir == str(tmp_path / "programs")
    finally:
        nj.config.update("jax_compilation_cache_dir", before)
        nj.config.update("numjet_cache", off)
