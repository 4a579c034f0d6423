"""Compiled code: programs that were compiled wrongly, and the checks that would have refused each of them."""
from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import numjet as nj
import numjet.numpy as jnp
from numjet.core.aval import ShapedArray
from numjet.cpu.control import Control
from numjet.cpu.values import Arr
from numjet.foundation.config import enable_checks


@pytest.fixture
def checked() -> Iterator[None]:
    with enable_checks(True):
        yield


# ------------------------------------------------------------------------------------------ definitions say what they read

def _rows_of_largest(n: int) -> tuple:
    def rows(x):
        u = jnp.sin(jnp.arange(3.0 * n)).reshape(n, 3)
        chosen = (jnp.argmax(u, 1)[:, None] == jnp.arange(3)).astype(jnp.float32)
        return jnp.mean(jnp.sum((u - x) ** 2, 1)[:, None] * chosen, 0)
    return rows, jnp.array([0.5, -0.2, 0.1]), jnp.array([0.0, 1.0, 0.0])


@pytest.mark.parametrize("n", (10_000, 100_000))
def test_residuals_computed_from_memory_that_another_one_takes_over(n: int) -> None:
    """One residual replaced an array element by element in its memory, while another read whole rows of that."""
    rows, x, cotangent = _rows_of_largest(n)
    expected = nj.vjp(rows, x)[1](cotangent)[0]
    for got in (nj.vjp(nj.jit(rows), x)[1](cotangent)[0], nj.jit(lambda x: nj.vjp(rows, x)[1](cotangent)[0])(x)):
        np.testing.assert_allclose(got, expected, 1e-4)


@pytest.mark.parametrize("reduction", (jnp.argmax, jnp.argmin))
def test_results_that_read_what_another_replaces(reduction) -> None:
    def both(x):
        u = jnp.sin(jnp.arange(300_000.0)).reshape(-1, 3) * x
        v = nj.lax.optimization_barrier(u)
        return v * 2, reduction(v, 1)
    for got, expected in zip(nj.jit(both)(1.5), both(jnp.float32(1.5)), strict=True):
        np.testing.assert_allclose(got, expected, 1e-5)


def test_hidden_reads_are_refused(checked: None) -> None:
    b = Control("f")
    x, y = (Arr(ShapedArray((50,), np.float32), storage=b.temporary(ShapedArray((50,), np.float32))) for _ in range(2))
    honest = b.compute((50,), np.float32, lambda i: b.add(b.read(x, i), b.read(y, i)), reads=(x, y))
    b.materialize(honest)
    silent = b.compute((50,), np.float32, lambda i: b.add(b.read(x, i), b.read(y, i)), reads=(x,))
    with pytest.raises(AssertionError, match=rf"reads \['{y.storage.buffer.name}'\], which are not among"):
        b.materialize(silent)
    through = b.compute((50,), np.float32, lambda i: b.read(honest, i), reads=(x,))
    with pytest.raises(AssertionError, match="not among what its parents read"):
        b.materialize(through)
