"""Sums that float16 does not hold, on the way to results that it holds."""
from __future__ import annotations

import numpy as np
import pytest

import numjet as nj
from numjet import numpy as jnp

MANY = 70_000


def test_exponentials_of_many():
    zeros = jnp.zeros(MANY, np.float16)
    assert float(nj.nn.logsumexp(zeros)) == pytest.approx(np.log(MANY), rel=1e-3)
    assert float(nj.nn.logmeanexp(zeros)) == pytest.approx(0, abs=1e-2)
    out, sign = nj.scipy.special.logsumexp(zeros, b=jnp.full(MANY, -1, np.float16), return_sign=True)
    assert out.dtype == sign.dtype == np.float16 and float(sign) == -1 and np.isfinite(float(out))


@pytest.mark.parametrize("wrap", [lambda f: f, nj.jit], ids=["now", "compiled"])
def test_gradients_of_log_softmax(wrap):
    x = np.random.default_rng(0).normal(size=MANY).astype(np.float16)
    weights = np.exp(x.astype(np.float64))
    slopes = wrap(nj.grad(lambda v: nj.nn.log_softmax(v).sum()))(x)
    assert slopes.dtype == np.float16
    np.testing.assert_allclose(np.float64(slopes), 1 - MANY * weights / weights.sum(), rtol=1e-2, atol=1e-2)


def test_norms():
    x = jnp.full((3, 3), 100, np.float16)
    for fun in (jnp.linalg.norm, jnp.linalg.matrix_norm, jnp.linalg.vector_norm, lambda v: jnp.linalg.norm(v.ravel(), 2)):
        assert float(fun(x)) == 300 and fun(x).dtype == np.float16
        np.testing.assert_allclose(np.float64(nj.grad(fun)(x)), np.full((3, 3), 1 / 3), rtol=1e-3)
    assert float(jnp.linalg.norm(x.ravel(), 3)) == pytest.approx(100 * 9 ** (1 / 3), rel=1e-3)
    assert float(jnp.linalg.norm(jnp.ones(MANY, np.float16))) == pytest.approx(np.sqrt(MANY), rel=1e-3)
