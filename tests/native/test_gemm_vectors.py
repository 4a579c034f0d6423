"""Products of vectors, of a few rows or columns, and of long sums, by the kernel of matrix products."""
from __future__ import annotations

import numpy as np
import pytest

from numjet.cpu.kernels.products import result
from tests.native.gemm_checks import COMPLEX, FLOATS, INTEGERS, check, dtype_of, multiply, numbers


@pytest.mark.parametrize("dtype", [*FLOATS, "int8", "uint8", "int64", *COMPLEX])
def test_few_rows_and_a_large_matrix(dtype, level):
    """Of 4 MiB at least: read once, in order, whichever way it lies."""
    one = dtype_of(dtype)
    for m, k in ((3, 517), (16, 600), (1, 700)):
        n = max(2050, (4 << 20) // (k * one.itemsize) + 1)
        x, y = numbers((1, m, k), one, 0), numbers((1, k, n), one, 1)
        check(x, y)
        check(x, np.asfortranarray(y[0])[None], numbers((1, m, n), result(one), 2))


@pytest.mark.parametrize("dtype", [*FLOATS, *INTEGERS, *COMPLEX])
@pytest.mark.parametrize("size", [(1, 300, 129), (300, 1, 129), (1, 5, 1100)], ids=str)
def test_vectors(dtype, size, level):
    m, n, k = size
    one = dtype_of(dtype)
    x, y = numbers((2, m, k), one, 0), numbers((2, k, n), one, 1)
    for left in (x, np.ascontiguousarray(x.swapaxes(1, 2)).swapaxes(1, 2)):
        for right in (y, np.ascontiguousarray(y.swapaxes(1, 2)).swapaxes(1, 2)):
            check(left, right)
            check(left, right, numbers((2, m, n), result(one), 2))
    check(numbers((2, m, 2 * k), one, 0)[:, :, ::2], y)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("n", [1, 3, 16, 17, 32])
def test_few_columns(dtype, n, level):
    one = dtype_of(dtype)
    for m, k in ((64, 5), (203, 16), (1003, 65)):
        x, y = numbers((1, m, k + 3), one, 0)[:, :, 1:k + 1], numbers((1, k, n), one, 1)
        check(x, y)
        check(x, y, numbers((1, m, n), one, 2))


@pytest.mark.parametrize("dtype", [*FLOATS, "int8", "int32", "uint64", *COMPLEX])
@pytest.mark.parametrize("size", [(4, 4, 40001), (17, 9, 9000), (1, 1, 70000), (1, 20, 20000)], ids=str)
def test_long_sums(dtype, size):
    """They are cut into parts, which are added in order."""
    m, n, k = size
    one = dtype_of(dtype)
    x, y = numbers((1, m, k), one, 0), numbers((1, k, n), one, 1)
    check(x, y)
    check(np.asfortranarray(x[0])[None], y, numbers((1, m, n), result(one), 2))


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "complex64"])
@pytest.mark.parametrize("size", [(1, 1), (1, 2), (1, 3), (1, 8), (1, 17), (2, 1), (5, 1), (17, 1), (4, 4), (33, 20)], ids=str)
def test_equal_terms_add_up_without_a_bias(dtype, size, level):
    """In one go, each of 200,000 equal terms would be rounded the same way: errors of 1e-4 to 1e-3."""
    (m, n), k, one = size, 200_000, dtype_of(dtype)
    x, y = np.full((1, m, k), 13.051116, one), np.full((1, k, n), -11.7, one)
    expected = k * complex(x[0, 0, 0]) * complex(y[0, 0, 0])
    for left in (x, np.asfortranarray(x[0])[None]):
        for right in (y, np.asfortranarray(y[0])[None]):
            found = multiply(left, right)
            assert np.abs(found / expected - 1).max() < 3e-5


def test_the_largest_small_integers(level):
    """Steps of four products of int8 have operands with and without a sign."""
    for dtype in ("int8", "uint8", "int16", "uint16"):
        info = np.iinfo(dtype)
        for left in (info.min, info.max):
            for right in (info.min, info.max):
                check(np.full((1, 20, 37), left, dtype), np.full((1, 37, 50), right, dtype))
