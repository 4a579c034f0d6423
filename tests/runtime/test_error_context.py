"""Errors of wrong calls are shown without exceptions that numjet handles on the way there."""
from __future__ import annotations

import numpy as np
import pytest

import numjet.numpy as jnp
from numjet.core.aval import ShapedArray

X = np.ones((3, 4), np.float32)
CALLS = {
    "a first evaluation": lambda: jnp.power(jnp.int32(2), jnp.int32(-1)),
    "sizes without a hash": lambda: ShapedArray(([], 2), np.dtype(np.float32)),
    "sizes that are no integers": lambda: jnp.broadcast_to(X, (object(), 4)),
    "repetitions that are no integers": lambda: jnp.tile(X, object()),
}


@pytest.mark.parametrize("name", CALLS)
def test_no_exception_is_shown_above(name):
    with pytest.raises((TypeError, ValueError)) as info:
        CALLS[name]()
    error = info.value
    assert error.__context__ is None or error.__suppress_context__
