"""linear_transpose of functions of integers: cotangents are integers, through calls and loops, too."""
from __future__ import annotations

import numpy as np
import pytest

import numjet as nj
import numjet.numpy as jnp
from numjet import lax

LINEAR = {
    "sum of two uses": (lambda x: x + x, [2, 2, 2, 2]),
    "slices": (lambda x: x[1] + x[2], [0, 1, 1, 0]),
    "two results": (lambda x: (x, 3 * x), [4, 4, 4, 4]),
    "joined": (lambda x: jnp.concatenate([x, x]), [2, 2, 2, 2]),
    "update": (lambda x: x.at[2].add(x[0]), [2, 1, 1, 1]),
    "call": (lambda x: nj.jit(lambda y: y + y)(x), [2, 2, 2, 2]),
    "branch": (lambda x: lax.cond(jnp.arange(2)[1] > 0, lambda y: y + y, lambda y: y, x), [2, 2, 2, 2]),
    "scan": (lambda x: lax.scan(lambda c, y: (c + y, c), jnp.zeros_like(x[0]), x), [4, 3, 2, 1]),
    "scan over a carry": (lambda x: lax.scan(lambda c, _: (c + c, None), x, None, length=3)[0], [8, 8, 8, 8]),
    "scan with a constant": (lambda x: lax.scan(lambda c, y: (c, x * y), jnp.int32(0), jnp.arange(3))[1], [3, 3, 3, 3]),
}


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("name", LINEAR)
def test_cotangents_add_up(name, compiled):
    function, want = LINEAR[name]
    x = jnp.arange(4)
    ones = nj.tree.map(lambda s: jnp.ones(s.shape, s.dtype), nj.eval_shape(function, x))
    transpose = nj.linear_transpose(function, x)
    (found,) = (nj.jit(transpose) if compiled else transpose)(ones)
    assert found.dtype == np.int32
    assert found.tolist() == want
