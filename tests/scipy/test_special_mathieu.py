"""Mathieu functions and tables of zeros against SciPy; derivatives, batches, programs, errors."""
import numpy as np
import pytest
import scipy.special as oracle

import numjet as nj
import numjet.numpy as jnp
from numjet.scipy import special
from numjet.scipy.special import zeros
from numjet.test_util import check_grads

Q = np.array([-5.0, -0.3, 0.0, 1.0, 25.0, 300.0])
TABLES = sorted(name for name in vars(zeros) if name.endswith("_zeros"))
OF_ORDER = ("jn_zeros", "jnp_zeros", "yn_zeros", "ynp_zeros")


def test_characteristic_values(x64):
    m = np.arange(1, 8)[:, None]
    for name in ("mathieu_a", "mathieu_b"):
        want = getattr(oracle, name)(m, Q)
        np.testing.assert_allclose(getattr(special, name)(m, Q), want, rtol=1e-11, atol=1e-11)
        np.testing.assert_allclose(nj.jit(lambda q, name=name: getattr(special, name)(m, q))(Q), want, rtol=1e-11, atol=1e-11)
    assert np.isnan(special.mathieu_b(0, 1.0)) and np.isnan(special.mathieu_a(np.array([-1, 0]), 1.0)).tolist() == [True, False]


def test_functions(x64):
    m, x = np.arange(1, 6)[:, None, None], np.array([0.0, 30.0, 77.0, -190.0])
    for name in ("mathieu_cem", "mathieu_sem"):
        for got, want in zip(getattr(special, name)(m, Q[:, None], x), getattr(oracle, name)(m, Q[:, None], x), strict=True):
            np.testing.assert_allclose(got, want, atol=1e-9)


def test_derivatives_and_batches(x64):
    check_grads(lambda q: special.mathieu_a(2, q), (1.5,), 2, eps=1e-4, atol=1e-4)
    check_grads(lambda q, x: special.mathieu_cem(1, q, x)[0], (1.5, 40.0), 2, eps=1e-4, atol=1e-4)
    _, slope = special.mathieu_sem(2, 3.0, 25.0)
    by_degree = nj.grad(lambda x: special.mathieu_sem(2, 3.0, x)[0])(25.0)
    np.testing.assert_allclose(by_degree * 180 / np.pi, slope, rtol=1e-10)
    np.testing.assert_allclose(nj.vmap(lambda q: special.mathieu_a(3, q))(Q), oracle.mathieu_a(3, Q), rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("dtype", [jnp.float32, jnp.float16, jnp.bfloat16])
def test_dtypes(dtype):
    q = jnp.array([0.5, 2.0], dtype)
    got = special.mathieu_a(2, q)
    assert got.dtype == dtype
    np.testing.assert_allclose(np.asarray(got, float), oracle.mathieu_a(2, np.asarray(q, float)), rtol=2 * jnp.finfo(dtype).eps)
    assert all(v.dtype == dtype for v in special.mathieu_cem(0, q, q))


def test_errors():
    with pytest.raises(nj.errors.ConcretizationTypeError, match="mathieu_a"):
        nj.jit(special.mathieu_a)(1, 2.0)
    with pytest.raises(TypeError, match="integers"):
        special.mathieu_b(1.5, 2.0)
    with pytest.raises(nj.errors.ConcretizationTypeError, match="static"):
        nj.jit(special.ai_zeros)(3)
    with pytest.raises(ValueError):
        special.jn_zeros(0, 0)


@pytest.mark.parametrize("name", TABLES)
def test_zeros(name, x64):
    args = (2, 4) if name in OF_ORDER else (4,)
    got, want = getattr(special, name)(*args), getattr(oracle, name)(*args)
    for g, w in zip(nj.tree.leaves(got), want if isinstance(want, tuple) else [want], strict=True):
        assert isinstance(g, nj.Array)
        np.testing.assert_array_equal(g, w)
    assert getattr(special, name)(np.int64(1) if name not in OF_ORDER else 0, *([1] if name in OF_ORDER else [])) is not None
    if name == "jn_zeros":
        np.testing.assert_allclose(special.jv(2, got), 0, atol=1e-12)
        np.testing.assert_array_equal(nj.jit(lambda x: x * special.jn_zeros(2, 4))(1.0), got)
