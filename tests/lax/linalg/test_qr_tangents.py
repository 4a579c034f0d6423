"""Tangents of complete QR factors of tall matrices against differences, also where a reflection is the identity."""
from __future__ import annotations

import numpy as np
import pytest

import numjet as nj
import numjet.numpy as jnp

CASES = [((4, 2), "float64"), ((5, 1), "float64"), ((2, 4, 2), "float64"), ((40, 20), "float64"), ((4, 2), "complex128"),
         ((6, 5), "complex128")]


def random(shape, dtype, seed):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal(shape)
    return x + 1j * rng.standard_normal(shape) if dtype == "complex128" else x


def complete(x):
    return jnp.linalg.qr(x, mode="complete")


@pytest.mark.parametrize(("shape", "dtype"), CASES)
def test_complete_factors(shape, dtype):
    with nj.enable_x64():
        a, t = random(shape, dtype, 0), random(shape, dtype, 1)
        step = 1e-6
        for transform in (nj.jit, lambda f: f):
            factors, tangents = transform(lambda a, t: nj.jvp(complete, (a,), (t,)))(a, t)
            after, before = (complete(a + sign * step * t) for sign in (1, -1))
            for dx, x1, x0 in zip(tangents, after, before, strict=True):
                np.testing.assert_allclose(dx, (x1 - x0) / (2 * step), rtol=1e-6, atol=1e-7)
        q, r = map(np.asarray, factors)
        dq, dr = map(np.asarray, tangents)
        np.testing.assert_allclose(dq @ r + q @ dr, t, atol=1e-12)


def test_reverse_and_second_order():
    with nj.enable_x64():
        a, w = random((4, 2), "float64", 0), random((4, 4), "float64", 2)
        nj.test_util.check_grads(lambda a: jnp.sum(w * complete(a)[0]), (a,), order=2)


@pytest.mark.parametrize("a", [np.eye(4, 2), np.eye(3, 2) + 0j, [[1., 2.], [0, 1], [0, 1]], [[1., 2.], [2, 1], [0, 0]]])
def test_reflections_that_are_the_identity(a):
    """The other columns of Q jump there; the derivatives are those of some Q that stays unitary."""
    with nj.enable_x64():
        a = jnp.asarray(a)
        t = jnp.arange(1.0, a.size + 1).reshape(a.shape).astype(a.dtype)
        (q, r), (dq, dr) = nj.jvp(complete, (a,), (t,))
        np.testing.assert_allclose(dq @ r + q @ dr, t, atol=1e-12)
        np.testing.assert_allclose(q.mT.conj() @ dq + dq.mT.conj() @ q, 0, atol=1e-12)
        second = nj.jvp(lambda a: nj.jvp(complete, (a,), (t,))[1], (a,), (t,))[1]
        assert all(bool(jnp.isfinite(x).all()) for x in second)


def test_no_columns():
    (q, r), (dq, dr) = nj.jvp(complete, (np.zeros((2, 0), np.float32),), (np.zeros((2, 0), np.float32),))
    assert np.array_equal(q, np.eye(2)) and np.array_equal(dq, np.zeros((2, 2))) and r.shape == dr.shape == (2, 0)
