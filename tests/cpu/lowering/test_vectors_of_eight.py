"""Arrays of 8 elements outside of loops: vectors, which fill a register, and not 8 scalars."""
from __future__ import annotations

import numpy as np
import pytest

import numjet as nj
import numjet.numpy as jnp


def _unrolled(x):
    for k in range(100):
        x = jnp.sin(x) * 0.5 + k
    return x


def test_one_loop_stores_them():
    report = str(nj.explain(_unrolled)(jnp.ones(8)))
    assert "vector loop over 8" in report and "a few elements" not in report
    assert "a few elements" in str(nj.explain(_unrolled)(jnp.ones(7)))


@pytest.mark.parametrize("size", [7, 8, 9])
def test_states_that_are_taken_apart(size):
    """Equations of motion, whose Jacobian's rows are vectors."""
    def f(x):
        parts = [x[(k + 1) % size] * jnp.cos(x[k]) - 0.1 * x[k - 1] for k in range(size)]
        return jnp.stack(parts)

    x = np.linspace(0.1, 1, size).astype(np.float32)
    expected = np.zeros((size, size), np.float32)
    for k in range(size):
        expected[k, (k + 1) % size] += np.cos(x[k])
        expected[k, k] -= x[(k + 1) % size] * np.sin(x[k])
        expected[k, (k - 1) % size] -= 0.1
    for jacobian in (nj.jacfwd, nj.jacrev):
        np.testing.assert_allclose(nj.jit(jacobian(f))(x), expected, rtol=1e-5, atol=1e-6)
