"""Programs on shapes with more elements than 64 bits count are refused when they are compiled."""
from __future__ import annotations

import pytest

import numjet as nj
import numjet.numpy as jnp
from numjet import lax


@pytest.mark.parametrize("fun", [
    lambda x: jnp.broadcast_to(x, (2 ** 32, 2 ** 32)).sum(), lambda x: jnp.zeros((2 ** 33, 2 ** 31)) + x,
    lambda x: lax.pad(jnp.ones(3) * x, 0.0, [(2 ** 62, 2 ** 62, 0)]).sum(),
    lambda x: lax.cond(x > 5, lambda: jnp.broadcast_to(x, (2 ** 32, 2 ** 31)).max(), lambda: x),
])
def test_shapes_that_nobody_can_count(fun):
    with pytest.raises(OverflowError, match="more elements than can be counted"):
        nj.jit(fun)(1.0)


def test_large_shapes_without_elements():
    assert nj.jit(lambda x: jnp.broadcast_to(x, (0, 2 ** 40)).sum())(1.0) == 0
