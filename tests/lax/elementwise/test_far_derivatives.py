"""Derivatives where squares of operands overflow or vanish, but the derivatives do not."""
from __future__ import annotations

import numpy as np
import pytest

import numjet as nj
from numjet import numpy as jnp


@pytest.mark.parametrize("dtype, far", [(np.float16, 3e4), (np.float32, 1e22), (np.float32, 3e38)])
@pytest.mark.parametrize("wrap", [lambda f: f, nj.jit], ids=["now", "compiled"])
def test_asinh(dtype, far, wrap):
    for x in (far, -far, 0.5, 0.0, 100.0):
        slope = wrap(nj.grad(jnp.arcsinh))(dtype(x))
        np.testing.assert_allclose(np.float64(slope), 1 / np.hypot(1, np.float64(dtype(x))), rtol=4 * np.finfo(dtype).eps)
    assert abs(float(nj.grad(nj.grad(jnp.arcsinh))(np.float32(1e22)))) < 1e-40


@pytest.mark.parametrize("dtype, y, x", [(np.float32, 1e22, 1e22), (np.float32, 1e-30, -2e-30), (np.float32, -3e30, 1e25),
                                         (np.float16, 300, 300), (np.float16, 3e-3, 4e-3), (np.float32, 3, 4)])
def test_atan2(dtype, y, x):
    slopes = nj.grad(jnp.arctan2, (0, 1))(dtype(y), dtype(x))
    y, x = np.float64(dtype(y)), np.float64(dtype(x))
    wanted = x / (x * x + y * y), -y / (x * x + y * y)
    np.testing.assert_allclose(np.float64(slopes), wanted, rtol=8 * np.finfo(dtype).eps)


def test_atan2_of_infinity_and_twice():
    assert [float(v) for v in nj.grad(jnp.arctan2, (0, 1))(np.float32(1), np.float32(np.inf))][1] == 0
    bends = nj.hessian(lambda v: jnp.arctan2(v[0], v[1]))(jnp.array([2.0, 2.0]))
    np.testing.assert_allclose(bends, [[-0.125, 0], [0, 0.125]], atol=1e-7)
    for y, x in ((np.inf, 0.5), (-2.0, np.inf), (np.inf, np.inf)):
        assert not np.any(nj.grad(jnp.arctan2, (0, 1))(y, x)) and not np.any(nj.jit(nj.hessian(jnp.arctan2, (0, 1)))(y, x))
