"""One long row is sorted by two threads, to the same bits as by one."""
import numpy as np
import pytest

import numjet as nj
import numjet.numpy as jnp

HALVED = 1 << 16   # kHalved of native/kernels/sort/halves.h


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
@pytest.mark.parametrize("n", [HALVED - 1, HALVED, HALVED + 1, 3 * HALVED + 5])
def test_the_same_bits(dtype, n):
    x = values(dtype, n)
    np.testing.assert_array_equal(by_threads(jnp.sort, x), np.sort(x))
    np.testing.assert_array_equal(by_threads(jnp.argsort, x), np.argsort(x, kind="stable"))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_nans_and_zeros_of_both_signs(dtype):
    x = values(dtype, 2 * HALVED)
    x[::5], x[::7], x[::11] = -0.0, 0.0, np.nan
    np.testing.assert_array_equal(by_threads(jnp.sort, x), np.sort(x))
    x[::11] = 1   # zeros alone
    np.testing.assert_array_equal(by_threads(jnp.sort, x), np.sort(x))


def test_sorted_reversed_and_equal_rows():
    x = np.arange(HALVED + 3, dtype=np.int32)
    for row in (x, x[::-1].copy(), np.zeros_like(x), x % 2):
        np.testing.assert_array_equal(by_threads(jnp.sort, row), np.sort(row))
    rows = np.stack([x[::-1], x % 5])
    np.testing.assert_array_equal(by_threads(jnp.sort, rows), np.sort(rows))
