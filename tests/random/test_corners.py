"""Samplers at singular and empty arguments."""
import numpy as np
import pytest
import scipy.special

import numjet
from numjet import enable_x64, random


def test_singular_covariances_have_no_cholesky_factor():
    key = random.key(0)
    for method, fails in (("cholesky", True), ("eigh", False), ("svd", False)):
        out = random.multivariate_normal(key, np.zeros(3, np.float32), np.ones((3, 3), np.float32), (4,), method=method)
        assert np.isnan(out).all() if fails else np.isfinite(out).all()


def test_indefinite_and_empty_covariances():
    key, mean = random.key(0), np.zeros(2, np.float32)
    for cov in (-np.eye(2, dtype=np.float32), np.array([[1, 2], [2, 1]], np.float32)):
        for method in ("cholesky", "eigh"):
            assert np.isnan(random.multivariate_normal(key, mean, cov, method=method)).any()
    for method in ("cholesky", "eigh", "svd"):
        nothing = random.multivariate_normal(key, mean[:0], np.zeros((0, 0), np.float32), (2, 3), method=method)
        assert nothing.shape == (2, 3, 0)


def test_empty_orthogonal_matrices_and_axes_of_permutations():
    key = random.key(0)
    for n, m in ((0, 0), (0, 3), (3, 0)):
        assert random.orthogonal(key, n, (2,), m=m).shape == (2, n, m)
    with pytest.raises(ValueError, match="axis 3 is out of bounds"):
        random.permutation(key, 10, axis=3)


def test_parameters_say_in_which_dtype_counts_and_vectors_are_drawn():
    key = random.key(0)
    p = np.array([0.5, 0.2, 0.9], np.float32)
    with enable_x64(True):
        counts = random.binomial(key, 10, p)
        assert counts.dtype == np.float64 and counts.tolist() == [6, 1, 10]                # JAX's of float32
        assert random.binomial(key, 10, p.astype(np.float64)).tolist() == [4, 1, 8]        # of float64
        for dtype in (np.float16, np.float32, np.float64):
            for method in ("cholesky", "eigh", "svd"):
                assert random.multivariate_normal(key, np.zeros(2, dtype), np.eye(2, dtype=dtype), method=method).dtype == dtype
        vectors = random.multivariate_normal(key, np.array([0, 1], np.int32), np.eye(2, dtype=np.int32))
        assert vectors.dtype == np.float32
        np.testing.assert_allclose(vectors, [1.622642159, 3.02526474], rtol=1e-6)
    shift = random.multivariate_normal(key, np.array([1j, 1], np.complex64), np.eye(2, dtype=np.float32), dtype=np.float32)
    np.testing.assert_allclose(shift, vectors + np.array([1j, 0]), rtol=1e-6)


def test_no_members_of_an_empty_population():
    key, nothing = random.key(0), np.zeros((0, 3), np.float32)
    for p in (None, np.zeros(0, np.float32)):
        for replace in (True, False):
            assert random.choice(key, 0, (0,), replace, p).tolist() == []
            assert random.choice(key, nothing, (2, 0), replace, p).shape == (2, 0, 3)   # as NumPy; JAX forgets the axis of 3


def test_dtypes_of_draws():
    key = random.key(3)
    for dtype in ("float16", "bfloat16"):
        np.testing.assert_array_equal(random.binomial(key, 10, 0.3, (50,), dtype), random.binomial(key, 10, 0.3, (50,)))
    assert random.rademacher(key, (5,), bool).tolist() == [True] * 5
    assert set(random.rademacher(key, (9,), np.uint8).tolist()) == {1, 255}
    np.testing.assert_allclose(random.lognormal(key, 0.7, (5,), complex),
                               np.exp(0.7 * np.asarray(random.normal(key, (5,), complex))), rtol=1e-5)


def test_multinomial_counts_of_every_dtype():
    key, p = random.key(42), np.float32([0.2, 0.3, 0.5])
    for dtype in ("int32", "uint8", "int4", "bfloat16", "complex64", "float32"):
        counts = random.multinomial(key, 10, p, dtype=dtype)
        assert counts.dtype.name == dtype and np.asarray(counts).tolist() == [1, 2, 7]  # JAX's
    many = random.multinomial(key, 3000, p)
    assert random.multinomial(key, 3000, p, dtype=int).tolist() == many.tolist() and many.sum() == 3000
    np.testing.assert_array_equal(random.multinomial(key, 3000, p, dtype="bfloat16"), many.astype("bfloat16"))
    with pytest.raises(TypeError, match="only supports number, bool"):
        random.multinomial(key, 10, p, dtype=str)


def test_matrices_are_factored_by_the_library():
    """LAPACK's Cholesky and QR, in place of loops over columns."""
    programs = [
        numjet.make_jaxpr(lambda key: random.multivariate_normal(key, np.zeros(40), np.eye(40)))(random.key(0)),
        numjet.make_jaxpr(lambda key: random.orthogonal(key, 40))(random.key(0)),
    ]
    names = [{eqn.primitive.name for eqn in program.eqns} for program in programs]
    assert "cholesky" in names[0] and "qr" in names[1] and "scan" not in names[0] | names[1]


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "complex64"])
@pytest.mark.parametrize("n, m", [(1, 1), (3, 5), (9, 8)])
def test_orthogonal_in_every_dtype(dtype, n, m):
    q = np.asarray(random.orthogonal(random.key(1), n, (2,), dtype, m).astype(np.complex64))
    short = q if n <= m else q.swapaxes(-1, -2)
    unit = np.broadcast_to(np.eye(min(n, m)), (2, min(n, m), min(n, m)))
    np.testing.assert_allclose(short @ short.conj().swapaxes(-1, -2), unit, atol=3e-2 if "16" in dtype else 1e-5)


def test_classes_drawn_without_replacement_are_indices_of_32_bits():
    logits = np.zeros(5, np.float32)
    for wide, want in ((False, np.int32), (True, np.int64)):
        with enable_x64(wide):
            assert random.categorical(random.key(0), logits, shape=(3,), replace=False).dtype == np.int32
            assert random.categorical(random.key(0), logits, shape=(3,)).dtype == want


@pytest.mark.parametrize("a", [1e-3, 1e-2, 0.1])
@pytest.mark.parametrize("log", [False, True])
def test_slopes_of_gamma_samples_that_vanish(log, a):
    """Tiny x: a log(x) - lgamma(a + 1) stays, as the distribution function does."""
    draw = (lambda a: random.loggamma(random.key(0), a, (200,))) if log else lambda a: random.gamma(random.key(0), a, (200,))
    x, slope = numjet.jvp(draw, (np.float32(a),), (np.float32(1),))
    assert np.isfinite(slope).all()
    wide = np.asarray(x, np.float64)
    logs = wide if log else np.log(wide, where=wide > 0, out=np.full(200, -np.inf))
    small = (logs < -12) & np.isfinite(logs)
    by_a = (scipy.special.digamma(a + 1) - logs[small]) / a
    np.testing.assert_allclose(np.asarray(slope)[small], by_a if log else np.exp(logs[small]) * by_a, rtol=1e-4, atol=1e-37)
