"""Tridiagonal systems by our own elimination: rows exchanged or not, singular ones, many right-hand sides, and memory."""
import numpy as np
import pytest

import numjet as nj
from numjet import lax
from numjet.lax.linalg.triangular import tridiagonal_solve_p

SIZES = [(1, 1), (2, 1), (3, 2), (4, 9), (30, 1), (31, 40)]
solve = nj.jit(lax.linalg.tridiagonal_solve)


def dense(low, middle, up):
    return np.stack([np.diag(d) + np.diag(a[1:], -1) + np.diag(c[:-1], 1) for a, d, c in zip(low, middle, up, strict=True)])


def system(n, k, dtype, middle):
    rng = np.random.default_rng(n + k)
    low, diagonal, up = (rng.standard_normal((3, n)) * scale for scale in (1, middle, 1))
    return [x.astype(dtype) for x in (low, diagonal, up, rng.standard_normal((3, n, k)))]


@pytest.mark.parametrize(("n", "k"), SIZES)
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize("middle", [4.0, 0.2])   # rows stay; rows are exchanged
def test_residuals(n, k, dtype, middle):
    with nj.enable_x64():
        *bands, b = system(n, k, dtype, middle)
        x = np.asarray(solve(*bands, b))
        assert x.dtype == dtype
        matrices = dense(*bands)
        size = np.linalg.norm(matrices, axis=(1, 2)) * np.linalg.norm(x, axis=(1, 2)) + np.linalg.norm(b, axis=(1, 2))
        assert np.all(np.linalg.norm(matrices @ x - b, axis=(1, 2)) <= 20 * np.finfo(dtype).eps * size)


def test_a_singular_matrix_gives_nan_and_spoils_no_other():
    *bands, b = system(6, 5, "float32", 4.0)
    bands[1][1, 0] = bands[0][1, 1] = 0   # a column of zeros
    x = np.asarray(solve(*bands, b))
    assert np.isnan(x[1]).all()
    np.testing.assert_allclose(x[[0, 2]], np.linalg.solve(dense(*bands)[[0, 2]], b[[0, 2]]), rtol=1e-4, atol=1e-5)
    large = np.asarray(tridiagonal_solve_p.bind(*bands, b, perturb_singular=True))
    assert np.isfinite(large).all() and np.abs(large[1]).max() > 1e4


def test_memory_of_a_batch_is_that_of_one_matrix():
    temporary = lambda *lead: solve.lower(*[np.ones((*lead, 64), "float32")] * 3, np.ones((*lead, 64, 7), "float32")) \
        .compile().memory_analysis().temp_size_in_bytes
    assert temporary() == temporary(50) >= 4 * 64 * 4
