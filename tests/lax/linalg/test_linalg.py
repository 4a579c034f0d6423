"""Records of linear algebra: samples on both backends, derivatives, special values, errors."""
from __future__ import annotations

from contextlib import nullcontext

import numpy as np
import pytest

from numjet import disable_jit, jit, make_jaxpr, vmap
from numjet.core.op import lookup
from numjet.foundation.config import enable_x64
from numjet.lax import linalg
from numjet.testing import records

NAMES = ("cholesky", "triangular_solve", "tridiagonal_solve", "lu", "lu_pivots_to_permutation", "lu_solve", "lu_inverse", "qr",
         "householder_product", "eigh", "svd", "eig", "schur", "hessenberg")


@pytest.mark.parametrize("name", NAMES)
def test_record(name):
    found = list(records.cases(lookup(name)))
    assert found
    records.check_compiled(*found)
    for case in found:
        records.check_batch(case)
        records.check_derivatives(case)


def matrices(*shape, complex=False, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal(shape)
    return x + 1j * rng.standard_normal(shape) if complex else x


def definite(*shape, complex=False):
    x = matrices(*shape, complex=complex)
    return x @ np.conj(np.swapaxes(x, -1, -2)) + np.diag(np.arange(1.0, shape[-1] + 1))


@pytest.mark.parametrize("complex", [False, True])
def test_derivatives_of_cholesky_and_eigh(complex):
    with enable_x64():
        x = definite(2, 4, 4, complex=complex)
        records.check_function(lambda a: [linalg.cholesky(a)], [x], 2, "cholesky")
        records.check_function(lambda a: [linalg.eigh(a)[1]], [x], 2, "eigenvalues")

        def function_of_matrix(a):  # does not depend on the phases of the vectors
            v, w = linalg.eigh(a)
            return [(v * np.sin(1.0) * (w * w)[..., None, :]) @ v.conj().mT]
        records.check_function(function_of_matrix, [x], 2, "function of a Hermitian matrix")


@pytest.mark.parametrize("shape", [(3, 3), (5, 3), (3, 5)])
def test_derivatives_of_complex_svd(shape):
    with enable_x64():
        def recombined(a):
            u, s, vh = linalg.svd(a, full_matrices=False)
            return [(u * (s * s)[..., None, :]) @ vh, s]
        records.check_function(recombined, [matrices(*shape, complex=True)], 2, "svd")


def test_derivatives_of_eigenvalues_twice():
    with enable_x64():
        records.check_function(lambda a: [linalg.eig(a, compute_left_eigenvectors=False,
                                                     compute_right_eigenvectors=False)[0] ** 3], [matrices(4, 4)], 2, "eig")


def test_eigenvector_derivatives_are_refused():
    with enable_x64(), pytest.raises(NotImplementedError, match="eigenvectors"):
        records.check_function(linalg.eig, [matrices(3, 3)], 1, "eig")


def test_full_svd_derivative_is_refused():
    with enable_x64(), pytest.raises(NotImplementedError, match="full_matrices=False"):
        records.check_function(linalg.svd, [matrices(3, 2)], 1, "svd")


@pytest.mark.parametrize("n", [2, 4, 12])
@pytest.mark.parametrize("transform", [lambda f: f, jit])
def test_not_positive_definite_is_nan(n, transform):
    good, bad = np.eye(n, dtype=np.float32), -np.ones((n, n), np.float32)
    out = np.asarray(transform(linalg.cholesky)(np.stack([good, bad])))
    assert np.array_equal(out[0], good)
    assert np.isnan(out[1][np.tril_indices(n)]).all()
    assert (out[1][np.triu_indices(n, 1)] == 0).all()


@pytest.mark.parametrize("n", [2, 5, 40])
@pytest.mark.parametrize("compiled", [True, False])
def test_infinite_matrix_is_nan_as_if_not_positive_definite(n, compiled):
    """A pivot that becomes NaN only in the middle of the factorization fails it, too."""
    x = np.eye(n, dtype=np.float32)
    x[1:, 0] = x[0, 1:] = np.inf
    x[1, 1] = np.inf
    with nullcontext() if compiled else disable_jit():
        factor = np.asarray(jit(linalg.cholesky)(x))
    assert np.isnan(factor[np.tril_indices(n)]).all()


@pytest.mark.parametrize("n", [2, 10])
@pytest.mark.parametrize("transform", [lambda f: f, jit])
def test_singular_matrices(n, transform):
    zeros = np.zeros((n, n), np.float32)
    out, pivots, order = transform(linalg.lu)(zeros)
    assert not np.asarray(out).any()
    assert pivots.tolist() == order.tolist() == list(range(n))
    solved = transform(lambda a, b: linalg.triangular_solve(a, b, left_side=True))(zeros, np.ones((n, 1), np.float32))
    assert not np.isfinite(np.asarray(solved)).all()


@pytest.mark.parametrize("function", [linalg.eigh, linalg.svd, lambda x: tuple(linalg.eig(x)), linalg.schur])
@pytest.mark.parametrize("transform", [lambda f: f, jit])
def test_nan_gives_nan(function, transform):
    x = np.stack([np.eye(3, dtype=np.float32), np.full((3, 3), np.nan, np.float32)])
    for out in transform(function)(x):
        assert np.isfinite(np.asarray(out)[0]).all()
        assert np.isnan(np.asarray(out)[1]).all()


@pytest.mark.parametrize("batch", [(), (3,), (40,), (2, 3)])
@pytest.mark.parametrize("n", [1, 2, 3, 5, 8, 9])
def test_compiled_solutions(n, batch):
    a = (matrices(*batch, n, n) + 3 * np.eye(n)).astype(np.float32)
    b = matrices(*batch, n, 2, seed=1).astype(np.float32)
    spd = a @ np.swapaxes(a, -1, -2)
    factor, lower = jit(lambda a, b: (linalg.cholesky(a), linalg.triangular_solve(
        linalg.cholesky(a), b, left_side=True, lower=True)))(spd, b)
    np.testing.assert_allclose(factor, np.linalg.cholesky(spd), rtol=2e-3, atol=1e-3)
    np.testing.assert_allclose(np.asarray(factor) @ np.asarray(lower), b, rtol=1e-2, atol=1e-3)
    lu, _, order = map(np.asarray, jit(linalg.lu)(a))
    product = (np.tril(lu, -1) + np.eye(n)) @ np.triu(lu)
    np.testing.assert_allclose(product, np.take_along_axis(a, order[..., None], -2), rtol=1e-3, atol=1e-4)


def test_one_matrix_for_a_batch_of_right_sides_is_not_copied():
    a, b = np.triu(matrices(3, 3)) + 2 * np.eye(3), matrices(5, 3, 2)
    solve = lambda a, b: linalg.triangular_solve(a, b, left_side=True)
    with enable_x64():
        np.testing.assert_allclose(vmap(solve, (None, 0))(a, b), np.linalg.solve(a, b))
        np.testing.assert_allclose(vmap(solve, (None, 2))(a, np.moveaxis(b, 0, 2)), np.linalg.solve(a, b))


def test_empty_svd_has_full_vectors():
    for transform in (lambda f: f, jit):
        u, s, vh = transform(linalg.svd)(np.zeros((3, 0), np.float32))
        assert u.tolist() == np.eye(3).tolist()
        assert s.shape == (0,)
        assert vh.shape == (0, 0)


def test_hessenberg_and_householder_product():
    x = matrices(4, 4).astype(np.float32)
    packed, taus = linalg.hessenberg(x)
    q = np.eye(4)
    q[1:, 1:] = linalg.householder_product(np.asarray(packed)[1:, :3], taus)
    np.testing.assert_allclose(q @ np.triu(packed, -1) @ q.T, x, atol=1e-5)


def test_cholesky_update_and_symmetric_product():
    with enable_x64():
        r, w = np.linalg.cholesky(definite(3, 3)).T, matrices(3)
        new = np.asarray(linalg.cholesky_update(r, w))
        np.testing.assert_allclose(new.T @ new, r.T @ r + np.outer(w, w))
        a, c = matrices(3, 2), definite(3, 3)
        np.testing.assert_allclose(linalg.symmetric_product(a, c, alpha=2.0, beta=3.0), 2 * a @ a.T + 3 * c)


def test_updates_are_operations_of_their_own():
    r, w, a = np.eye(3, dtype=np.float32), np.ones(3, np.float32), np.ones((3, 2), np.float32)
    for f, args in ((linalg.cholesky_update, (r, w)), (linalg.symmetric_product, (a, r)), (linalg.ormqr, (a, w[:2], r))):
        text = str(make_jaxpr(vmap(f))(*[np.stack([x, x]) for x in args]))
        assert f" = {f.__name__}" in text
        np.testing.assert_allclose(jit(f)(*args), f(*args), rtol=1e-5, atol=1e-6)


F = np.float32
ERRORS = [
    (lambda: linalg.cholesky(np.ones((2, 3), F)), ValueError, "square"),
    (lambda: linalg.lu(np.ones(3, F)), TypeError, "rank at least 2"),
    (lambda: linalg.lu(np.ones((2, 2), np.int32)), TypeError, "does not accept dtype int32"),
    (lambda: linalg.svd(np.ones((2, 2), np.float16)), NotImplementedError, "float32"),
    (lambda: linalg.eig(np.ones((2, 3), F)), ValueError, "square"),
    (lambda: linalg.triangular_solve(np.ones((2, 3), F), np.ones((2, 2), F)), ValueError, "square"),
    (lambda: linalg.triangular_solve(np.ones((3, 3), F), np.ones((2, 2), F)), ValueError, "Incompatible shapes"),
    (lambda: linalg.triangular_solve(np.ones((3, 3), F), np.ones((2, 3, 3), F)), TypeError, "batch dimensions"),
    (lambda: linalg.tridiagonal_solve(np.ones(3, F), np.ones(2, F), np.ones(3, F), np.ones((3, 1), F)), TypeError, "shape"),
    (lambda: linalg.lu_pivots_to_permutation(np.ones(3, np.int32), 2), ValueError, "permutation size"),
    (lambda: linalg.eigh(np.eye(3, dtype=F), subset_by_index=(0, 1)), NotImplementedError, "subset_by_index"),
    (lambda: linalg.schur(np.eye(3, dtype=F), sort_eig_vals=True), NotImplementedError, "sorted"),
    (lambda: linalg.householder_product(np.ones((2, 3), F), np.ones(2, F)), ValueError, "at least as many rows"),
    (lambda: linalg.hessenberg(np.ones((0, 0), F)), ValueError, "greater than zero"),
    (lambda: linalg.cholesky_update(np.eye(2, dtype=F), np.ones(3, F)), ValueError, "vector"),
    (lambda: linalg.symmetric_product(np.ones((2, 3), F), np.eye(3, dtype=F)), ValueError, "symmetric"),
    (lambda: linalg.symmetric_product(np.ones((2, 3), F), np.eye(2, dtype="f2")), TypeError,
     "same dtypes, got float32, float16"),
    (lambda: linalg.ormqr(np.ones((3, 2), F), np.ones(2, F), np.ones((2, 3), F)), ValueError, "same number of rows"),
    (lambda: linalg.ormqr(np.ones((3, 2), F), np.ones(2, F), np.ones((1, 3, 3), F)), TypeError, "batch dimensions"),
    (lambda: linalg.cholesky_update(np.eye(2, dtype=int), np.ones(2, int)), TypeError, "does not accept dtype int"),
]


@pytest.mark.parametrize(("call", "kind", "message"), ERRORS)
def test_errors(call, kind, message):
    with pytest.raises(kind, match=message):
        call()
