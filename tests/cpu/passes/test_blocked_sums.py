"""Long sums: their error does not grow with their length, whatever they are sums of and however they are compiled."""
from __future__ import annotations

import numpy as np
import pytest

import numjet as nj
import numjet.numpy as jnp
from numjet import _native

SUMS = {
    "sum": (jnp.sum, np.sum), "mean": (jnp.mean, np.mean), "of squares": (lambda x: jnp.sum(x * x), lambda x: np.sum(x * x)),
    "with a maximum": (lambda x: jnp.sum(x) + 0 * jnp.max(x), np.sum), "masked": (
        lambda x: jnp.sum(x, where=x > 0), np.sum), "norm": (jnp.linalg.norm, np.linalg.norm),
    "of rows": (lambda x: jnp.sum(x.reshape(1, -1), 1)[0], np.sum), "two": (
        lambda x: jnp.sum(x) / jnp.sum(jnp.cos(x)), lambda x: x.sum() / np.cos(x).sum()),
    "with what it sums": (lambda x: (y := jnp.sqrt(x), jnp.sum(y))[1], lambda x: np.sqrt(x).sum()),
}


@pytest.mark.parametrize("n", [2047, 2049, 5000, 33_000, 70_001, 1_000_003])
@pytest.mark.parametrize("name", SUMS)
def test_equal_terms(name, n):
    """Their rounding errors all go the same way."""
    function, exact = SUMS[name]
    x = np.full(n, 0.1, np.float32)
    want = exact(x.astype(np.float64))
    for found in (nj.jit(function)(x), function(jnp.asarray(x))):
        np.testing.assert_allclose(found, want, rtol=4e-6)


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64"])
def test_other_dtypes_and_sums_in_loops(dtype):
    with nj.enable_x64():
        x = jnp.full(100_000, 0.1 + (0.3j if dtype == "complex64" else 0), dtype)
        tolerance = 1e-14 if dtype == "float64" else 4e-6
        np.testing.assert_allclose(nj.jit(jnp.sum)(x), 100_000 * np.asarray(x)[0].astype(np.complex128), rtol=tolerance)
        loop = nj.jit(lambda x: nj.lax.fori_loop(0, 3, lambda i, c: c + jnp.sum(x * (i + 1)), jnp.zeros((), dtype)))
        np.testing.assert_allclose(loop(x), 600_000 * np.asarray(x)[0].astype(np.complex128), rtol=tolerance)


def test_special_values_and_signs_of_zero():
    x = np.zeros(5000, np.float32)
    assert not np.signbit(nj.jit(jnp.sum)(x)) and np.signbit(nj.jit(lambda x: jnp.sum(x) * -1)(x))
    for value in (np.inf, np.nan):
        y = x.copy()
        y[4999] = value
        np.testing.assert_array_equal(nj.jit(jnp.sum)(y), np.float32(value))


def test_sums_of_dynamic_lengths():
    total = nj.jit(lambda x: jnp.sum(x) / x.shape[0], dynamic_axes=({0: "n"},))
    for n in (5, 3000, 50_000):
        np.testing.assert_allclose(total(np.full(n, 0.1, np.float32)), np.float32(0.1), rtol=4e-6)


def test_the_number_of_threads_changes_nothing():
    x = np.random.default_rng(0).random(500_001, dtype=np.float32)
    run, before, found = nj.jit(lambda x: (jnp.sum(x), jnp.var(x))), _native.num_threads(), []
    try:
        for count in (1, 2, 3):
            _native.set_num_threads(count)
            found.append([np.asarray(v).tobytes() for v in run(x)])
    finally:
        _native.set_num_threads(before)
    assert found[0] == found[1] == found[2]


@pytest.mark.parametrize("last", [0, 1, 1023, 1024, 1025, 4097, 99_999, 100_000, 200_000, -5])
def test_sums_up_to_a_traced_limit(last):
    """The loop ends at the limit, in whatever block that is."""
    x = np.full(100_000, 0.1, np.float32)
    x[max(0, last):] = np.nan
    total = nj.jit(lambda x, n: jnp.sum(jnp.where(jnp.arange(100_000) < n, x, 0)))
    np.testing.assert_allclose(total(x, last), 0.1 * np.clip(last, 0, 100_000), rtol=4e-6)


@pytest.mark.parametrize("shape, axis", [((1_000_003, 2), 0), ((2_000_000, 4), 0), ((100_000, 33), 0), ((3, 300_000, 4), 1),
                                         ((300_000, 3, 2), (0, 1)), ((60_000, 5), 0), ((1500, 2, 700), 0)], ids=str)
def test_columns_of_equal_terms(shape, axis):
    """Rows are added in blocks, too, whatever else is reduced."""
    x = np.full(shape, 0.1, np.float32)
    want = x.astype(np.float64).sum(axis)
    sums = [function(jnp.asarray(x)) for function in (lambda x: jnp.sum(x, axis), nj.jit(lambda x: jnp.sum(x, axis)))]
    for found in sums:
        np.testing.assert_allclose(found, want, rtol=6e-6)
    np.testing.assert_array_equal(*sums)
    computed = nj.jit(lambda x: jnp.sum(jnp.cos(x), axis))(x)
    np.testing.assert_allclose(computed, np.cos(x.astype(np.float64)).sum(axis), rtol=6e-6)


def test_columns_of_many_sizes_and_dtypes():
    total = nj.jit(lambda x: jnp.sum(x, 0))
    rng = np.random.default_rng(0)
    for n in (*range(100_000, 100_006), 3000, 1024, 600_001, 17, 0):
        x = rng.random((n, 4), dtype=np.float32)
        np.testing.assert_allclose(total(x), x.astype(np.float64).sum(0), rtol=3e-6)
    x = np.full((300_000, 3), 0.1 + 0.3j, np.complex64)
    np.testing.assert_allclose(total(x), x.astype(np.complex128).sum(0), rtol=6e-6)
    assert total(np.full((300_000, 3), 7)).tolist() == [2_100_000] * 3
