"""One long row is sorted by several threads, in buckets, to the same bits as by one."""
import numpy as np
import pytest

import numjet as nj
import numjet.numpy as jnp

BUCKETED = 1 << 16   # kBucketed of native/kernels/sort/buckets.h


@pytest.fixture(autouse=True)
def _threads():
    with nj.enable_x64(True):
        yield
    nj.config.update("num_threads", None)


def values(dtype, n):
    rng, kind = np.random.default_rng(n), np.dtype(dtype).kind
    if kind != "f":
        return rng.integers(-100 if kind == "i" else 0, 100 if kind == "i" else 2 ** 31, n).astype(dtype)
    x = rng.normal(size=n).astype(dtype)
    x[::97] = x[1]
    return x


def by_threads(fun, x):
    found = []
    for threads in (1, 2):
        nj.config.update("num_threads", threads)
        found.append(np.asarray(fun(jnp.asarray(x))))
    assert found[0].tobytes() == found[1].tobytes()
    return found[1]


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "uint32", "int64", "uint64", "int16", "float16"])
@pytest.mark.parametrize("n", [BUCKETED - 1, BUCKETED, BUCKETED + 1, 3 * BUCKETED + 5])
def test_the_same_bits(dtype, n):
    x = values(dtype, n)
    np.testing.assert_array_equal(by_threads(jnp.sort, x), np.sort(x))
    np.testing.assert_array_equal(by_threads(jnp.argsort, x), np.argsort(x, kind="stable"))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_nans_and_zeros_of_both_signs(dtype):
    x = values(dtype, 2 * BUCKETED)
    x[::5], x[::7], x[::11] = -0.0, 0.0, np.nan
    np.testing.assert_array_equal(by_threads(jnp.sort, x), np.sort(x))
    x[::11] = 1   # zeros alone
    np.testing.assert_array_equal(by_threads(jnp.sort, x), np.sort(x))


def test_sorted_reversed_and_equal_rows():
    x = np.arange(BUCKETED + 3, dtype=np.int32)
    for row in (x, x[::-1].copy(), np.zeros_like(x), x % 2):
        np.testing.assert_array_equal(by_threads(jnp.sort, row), np.sort(row))
    rows = np.stack([x[::-1], x % 5])
    np.testing.assert_array_equal(by_threads(jnp.sort, rows), np.sort(rows))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("n", [1000, BUCKETED])
def test_payloads_of_nans_stay_in_order(dtype, n):
    x, bits = values(dtype, n), np.dtype(f"i{np.dtype(dtype).itemsize}")
    x[::3] = np.nan   # a third of the samples
    x.view(bits)[::3] += np.arange(len(x[::3]), dtype=bits) % 1000
    x[::6] = -x[::6]
    found = by_threads(jnp.sort, x)
    assert by_threads(nj.jit(jnp.sort), x).tobytes() == found.tobytes()
    assert found[-len(x[::3]):].tobytes() == x[::3].tobytes()
    x[10:] = np.nan
    np.testing.assert_array_equal(by_threads(jnp.sort, x), np.sort(x))


@pytest.mark.parametrize("dtype", ["float32", "int32", "uint64", "float64"])
def test_skewed_rows(dtype):
    """Of few different numbers, near the ends of the dtype, and of a period."""
    n = BUCKETED + 7
    few = np.random.default_rng(0).zipf(1.5, n).clip(0, 1e9).astype(dtype)
    ends = np.iinfo(dtype) if np.dtype(dtype).kind != "f" else np.finfo(dtype)
    end = np.where(np.arange(n) % 3 == 0, np.dtype(dtype).type(ends.max), np.dtype(dtype).type(ends.min))
    period = (np.arange(n) % 512).astype(dtype)
    for row in (few, end, period, np.where(few < 3, ends.max, few).astype(dtype)):
        np.testing.assert_array_equal(by_threads(jnp.sort, row), np.sort(row))


def test_infinities():
    x = values("float32", 2 * BUCKETED)
    x[::2], x[1::4] = np.inf, -np.inf
    np.testing.assert_array_equal(by_threads(jnp.sort, x), np.sort(x))


def test_donated_and_strided_rows():
    x = values("float32", 2 * BUCKETED)
    nj.config.update("num_threads", 2)
    np.testing.assert_array_equal(nj.jit(jnp.sort, donate_argnums=0)(jnp.array(x)), np.sort(x))
    np.testing.assert_array_equal(nj.jit(lambda x: jnp.sort(x[::2]))(x), np.sort(x[::2]))
    np.testing.assert_array_equal(nj.jit(lambda x: jnp.sort(x.reshape(-1, 1), axis=0))(x)[:, 0], np.sort(x))
    np.testing.assert_array_equal(nj.jit(lambda x: jnp.sort(x[::-1]) + 1)(x), np.sort(x) + 1)
