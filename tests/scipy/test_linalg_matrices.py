"""Matrices of scipy.linalg with a pattern, and methods with the Schur form, against SciPy."""
import numpy as np
import pytest
import scipy.linalg as oracle

import numjet as nj
import numjet.numpy as jnp
import numjet.scipy.linalg as sl
from numjet.testing.records import check_function


@pytest.fixture(autouse=True)
def wide():
    with nj.enable_x64(True):
        yield


def same(got, want, tol=1e-9):
    np.testing.assert_allclose(got, want, rtol=tol, atol=tol)


@pytest.mark.parametrize("n", [1, 2, 3, 4, 8])
def test_known_matrices(n):
    for kind in ("symmetric", "lower", "upper"):
        same(sl.pascal(n, kind), oracle.pascal(n, kind))
        same(sl.invpascal(n, kind), oracle.invpascal(n, kind))
    same(sl.helmert(n), oracle.helmert(n))
    same(sl.helmert(n, True), oracle.helmert(n, True))
    same(sl.invhilbert(n), oracle.invhilbert(n))
    if n != 3:
        same(sl.hadamard(n), oracle.hadamard(n))


@pytest.mark.parametrize("n", [1, 2, 3, 5, 8])
def test_matrices_of_vectors(n):
    a = np.random.default_rng(n).standard_normal((2, n))
    for m in (1, 3, 7):
        for mode in ("full", "valid", "same"):
            same(sl.convolution_matrix(a, m, mode)[1], oracle.convolution_matrix(a[1], m, mode))
    same(sl.fiedler(a)[1], oracle.fiedler(a[1]))
    if n > 1:
        for name in ("companion", "fiedler_companion"):
            same(getattr(sl, name)(a)[1], getattr(oracle, name)(a[1]))
        same(sl.leslie(a, a[:, 1:])[1], oracle.leslie(a[1], a[1, 1:]))
    assert sl.fiedler_companion(np.ones((2, 1))).shape == (2, 0, 0) and sl.pascal(0).shape == (0, 0)


@pytest.mark.parametrize("n", [1, 2, 5, 12])
def test_tridiagonal(n):
    rng = np.random.default_rng(n)
    d, e = rng.standard_normal(n), rng.standard_normal(n - 1)
    values, vectors = sl.eigh_tridiagonal(d + 0j, e * (0.6 + 0.8j))
    same(sl.eigh_tridiagonal(d, e, eigvals_only=True), values, 1e-13)
    same(sl.eigh_tridiagonal(d + 0j, e * 1j, eigvals_only=True), values, 1e-13)
    matrix = np.diag(d + 0j) + np.diag(e * (0.6 + 0.8j), -1) + np.diag(e * (0.6 - 0.8j), 1)
    same(matrix @ np.asarray(vectors), np.asarray(vectors) * np.asarray(values))
    same(sl.eigh_tridiagonal(d, e, eigvals_only=True, select="i", select_range=(0, n // 2)), values[:n // 2 + 1], 1e-13)


def test_tridiagonal_derivatives_and_batches():
    rng = np.random.default_rng(0)
    d, e = rng.standard_normal(4), rng.standard_normal(3)
    values = lambda d, e: sl.eigh_tridiagonal(d, e, eigvals_only=True)
    check_function(lambda d, e: [values(d, e)], [d, e], 2, "eigh_tridiagonal")
    both = np.stack([d, 2 * d]), np.stack([e, e])
    same(nj.vmap(values)(*both), values(*both))


@pytest.mark.parametrize("n", [1, 4, 9])
def test_schur_methods(n):
    rng = np.random.default_rng(n)
    a, z, b, c = (rng.standard_normal(s) for s in ((n, n), (n, n), (3, 3), (n, 3)))
    for got, want in zip(sl.rsf2csf(a, z), oracle.rsf2csf(a, z), strict=True):
        same(got, want, 1e-8)
    for got, want in zip(nj.jit(lambda x: sl.funm(x, jnp.exp, disp=False))(a), oracle.funm(a, np.exp, disp=False), strict=True):
        same(got, want, 1e-7)
    for method in ("schur", "eigen"):
        solve = nj.jit(lambda *v, m=method: sl.solve_sylvester(*v, method=m))
        same(solve(a, b, c), oracle.solve_sylvester(a, b, c), 1e-8)
        found = np.asarray(solve(a + 1j, b, np.stack([c, 2 * c])))[1]
        same((a + 1j) @ found + found @ b, 2 * c, 1e-8)
        assert np.isnan(solve(a, -a, a)).all()


@pytest.mark.parametrize("shape", [(4, 3), (3, 3), (2, 4)])
def test_products_with_q(shape):
    rng = np.random.default_rng(0)
    a, left, right = (rng.standard_normal(s) for s in (shape, (min(shape), 2), (2, shape[0])))
    a = a + 1j * rng.standard_normal(shape)
    for pivoting in (False, True):
        q, *rest = sl.qr(a, mode="economic", pivoting=pivoting)
        for conjugate in (False, True):
            q_ = q.conj() if conjugate else q
            for c, mode, want in ((left, "left", q_ @ left), (left[:, 0], "left", q_ @ left[:, 0]),
                                  (right, "right", right @ q_), (right[0], "right", right[0] @ q_)):
                got = sl.qr_multiply(a, c, mode, pivoting, conjugate)
                same(got[0], want)
                assert all((g == w).all() for g, w in zip(got[1:], rest, strict=True))


ONES = np.ones(3)


@pytest.mark.parametrize("call, error, text", [
    (lambda: sl.hadamard(3), ValueError, "positive power of 2"),
    (lambda: sl.helmert(0), ValueError, "positive integer"),
    (lambda: sl.pascal(3, "x"), ValueError, "Expected kind"),
    (lambda: sl.invhilbert(-1), ValueError, "non-negative"),
    (lambda: sl.companion(ONES[:1]), ValueError, "length of `a` along the last axis"),
    (lambda: sl.convolution_matrix(ONES, 0), ValueError, "n must be a positive integer"),
    (lambda: sl.convolution_matrix(ONES, 2, "x"), ValueError, "mode must be one of"),
    (lambda: sl.convolution_matrix(ONES[:0], 2), ValueError, r"len\(a\) must be at least 1"),
    (lambda: sl.convolution_matrix(1.0, 2), ValueError, "must be at least 1-dimensional"),
    (lambda: sl.fiedler_companion(ONES[:0]), ValueError, "nonzero"),
    (lambda: sl.leslie(ONES[:1], ONES[:0]), ValueError, "length of f along the last axis"),
    (lambda: sl.leslie(ONES, ONES), ValueError, "Incorrect lengths for f and s"),
    (lambda: sl.eigh_tridiagonal(ONES, ONES), TypeError, "incompatible shapes"),
    (lambda: sl.eigh_tridiagonal(ONES, 1j * ONES[1:]), TypeError, "must have same dtype"),
    (lambda: sl.eigh_tridiagonal(ONES.astype(int), ONES[1:].astype(int)), TypeError, "Only float32 and float64"),
    (lambda: sl.eigh_tridiagonal(ONES, ONES[1:], select="v"), NotImplementedError, "select='v'"),
    (lambda: sl.eigh_tridiagonal(ONES, ONES[1:], select="i", select_range=(1, 9)), ValueError, "within 0 and 2"),
    (lambda: sl.funm(np.ones((2, 3)), np.exp), ValueError, "expected square array_like input"),
    (lambda: sl.solve_sylvester(np.eye(2), np.eye(2), np.eye(3)), ValueError, "Incompatible shapes"),
    (lambda: sl.solve_sylvester(np.eye(2), np.eye(2), np.eye(2), method="x"), ValueError, "Unrecognized method"),
    (lambda: sl.qr_multiply(np.eye(2), np.eye(3)), ValueError, "c @ Q operation"),
    (lambda: sl.qr_multiply(np.eye(2), np.eye(3), "left"), ValueError, "Q @ c operation"),
    (lambda: sl.qr_multiply(ONES, ONES), ValueError, "expected matrices"),
    (lambda: sl.lu_solve((np.ones((3, 2)), np.zeros(2, np.int32)), ONES), ValueError, "expected square array_like input"),
    (lambda: sl.hessenberg(2.0), TypeError, "rank at least 2"),
    (lambda: sl.qr_multiply(np.eye(2), np.eye(2), "x"), ValueError, "mode must be"),
])
def test_errors(call, error, text):
    with pytest.raises(error, match=text):
        call()


def test_schur_methods_of_empty_matrices():
    empty = np.zeros((0, 0))
    assert [x.shape for x in sl.rsf2csf(empty, empty)] == [(0, 0), (0, 0)]
    assert sl.solve_sylvester(empty, empty, empty).shape == (0, 0)
