"""QR factors of matrices of one panel of few rows, which are made on the stack."""
import numpy as np
import pytest

import numjet as nj
import numjet.numpy as jnp
from numjet import lax

EDGES = [(1, 1), (2, 1), (3, 3), (6, 3), (17, 16), (32, 16), (33, 16), (64, 5), (65, 5), (18, 17)]


@pytest.mark.parametrize(("m", "n"), EDGES)
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64"])
@pytest.mark.parametrize("scale", [1.0, 1e-30, 1e30])
def test_factors_multiply_to_the_matrix(m, n, dtype, scale):
    rng = np.random.default_rng(m + n)
    with nj.enable_x64():
        a = (rng.standard_normal((3, m, n)) * scale).astype(dtype)
        a[1, :, n // 2] = 0
        q, r = (np.asarray(x, "complex128") for x in nj.jit(jnp.linalg.qr)(a))
        error = 50 * np.finfo(dtype).eps
        np.testing.assert_allclose(q @ r / scale, a.astype("complex128") / scale, atol=error * 4)
        np.testing.assert_allclose(np.conj(q.swapaxes(-1, -2)) @ q, np.broadcast_to(np.eye(n), (3, n, n)), atol=error)
        assert np.all(np.tril(r, -1) == 0)


def test_signs_are_those_of_lapack():
    a = np.random.default_rng(0).standard_normal((7, 4)).astype("float32")
    q, r = np.linalg.qr(a)
    found = nj.jit(jnp.linalg.qr)(a)
    np.testing.assert_allclose(found[0], q, atol=1e-5)
    np.testing.assert_allclose(found[1], r, atol=1e-5)


def taken(function, x):
    return nj.jit(function).lower(x).compile().memory_analysis().temp_size_in_bytes


ROUTINES = [lambda x: jnp.linalg.qr(x, mode="raw"), lambda x: lax.linalg.householder_product(x, x[0])]


@pytest.mark.parametrize("function", ROUTINES)
def test_small_factors_take_no_memory_of_the_pool(function):
    small, large = (taken(function, jnp.ones((m, 8), "float32")) for m in (64, 65))
    assert small < large / 4
