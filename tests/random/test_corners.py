"""Samplers at singular and empty arguments."""
import numpy as np
import pytest

from numjet import random


def test_singular_covariances_have_no_cholesky_factor():
    key = random.key(0)
    for method, fails in (("cholesky", True), ("eigh", False), ("svd", False)):
        out = random.multivariate_normal(key, np.zeros(3, np.float32), np.ones((3, 3), np.float32), (4,), method=method)
        assert np.isnan(out).all() if fails else np.isfinite(out).all()


def test_empty_orthogonal_matrices_and_axes_of_permutations():
    key = random.key(0)
    for n, m in ((0, 0), (0, 3), (3, 0)):
        assert random.orthogonal(key, n, (2,), m=m).shape == (2, n, m)
    with pytest.raises(ValueError, match="axis 3 is out of bounds"):
        random.permutation(key, 10, axis=3)


def test_dtypes_of_draws():
    key = random.key(3)
    for dtype in ("float16", "bfloat16"):
        np.testing.assert_array_equal(random.binomial(key, 10, 0.3, (50,), dtype), random.binomial(key, 10, 0.3, (50,)))
    assert random.rademacher(key, (5,), bool).tolist() == [True] * 5
    assert set(random.rademacher(key, (9,), np.uint8).tolist()) == {1, 255}
    np.testing.assert_allclose(random.lognormal(key, 0.7, (5,), complex),
                               np.exp(0.7 * np.asarray(random.normal(key, (5,), complex))), rtol=1e-5)
