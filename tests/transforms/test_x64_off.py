"""Derivatives of float64 arrays that were made while jax_enable_x64 was on, after it is off again."""
from __future__ import annotations

import numpy as np
import pytest

import numjet as nj
import numjet.numpy as jnp
from numjet import lax

FUNCTIONS = {
    "slice": lambda x: (x[1:3] ** 2).sum(), "strided slice": lambda x: (x[::2] ** 2).sum(),
    "roll": lambda x: (jnp.roll(x, 1) * x).sum(),
    "scan": lambda x: lax.scan(lambda c, y: (c + y * y, c * y), x[0], x)[1].sum(),
    "fft": lambda x: jnp.abs(jnp.fft.rfft(x)).sum(),
    "convolution": lambda x: (jnp.convolve(x, x[:3]) ** 2).sum(), "mean": lambda x: ((x - x.mean()) ** 2).sum(),
    "variance": lambda x: x.var(), "cummax": lambda x: lax.cummax(x).sum(), "update": lambda x: (x.at[1].set(2.0) ** 2).sum(),
    "sort": lambda x: (jnp.sort(x) * x).sum(), "top_k": lambda x: lax.top_k(x, 2)[0].sum(),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", FUNCTIONS)
def test_gradients_of_64_bits(name):
    fun = FUNCTIONS[name]
    with nj.enable_x64():
        x = jnp.arange(6.0)
        expected = nj.grad(fun)(x)
    for gradient in (nj.grad(fun), nj.jit(nj.grad(fun))):
        found = gradient(x)
        assert found.dtype == np.float64
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)
