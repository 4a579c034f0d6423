"""numjet.scipy.linalg against SciPy: values, compiled values, derivatives, errors."""
from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg as sp

import numjet.scipy.linalg as sl
from numjet import jit, vmap
from numjet.foundation.config import enable_x64
from numjet.testing.records import check_function


def same(got, want, tol=1e-7):
    np.testing.assert_allclose(np.asarray(got), want, rtol=tol, atol=tol)


@pytest.fixture(params=[(1, False), (3, False), (3, True), (10, False), (10, True)])
def problem(request):
    n, complex = request.param
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((n, n)) + 2 * np.eye(n), rng.standard_normal((n, 2))
    if complex:
        a, b = a + 1j * rng.standard_normal((n, n)), b + 1j * rng.standard_normal((n, 2))
    with enable_x64():
        yield a, b, a @ a.conj().T + np.eye(n)


@pytest.fixture(params=["eager", "compiled"])
def run(request):
    return jit if request.param == "compiled" else lambda f: f


def test_cholesky(problem, run):
    _, b, definite = problem
    for lower in (False, True):
        same(run(lambda x, lower=lower: sl.cholesky(x, lower=lower))(definite), sp.cholesky(definite, lower=lower))
        solve = run(lambda x, y, lower=lower: sl.cho_solve(sl.cho_factor(x, lower=lower), y))
        same(solve(definite, b), np.linalg.solve(definite, b))


def test_lu(problem, run):
    a, b, _ = problem
    for got, want in zip(run(sl.lu)(a), sp.lu(a), strict=True):
        same(got, want)
    for got, want in zip(run(lambda x: sl.lu(x, permute_l=True))(b), sp.lu(b, permute_l=True), strict=True):
        same(got, want)
    for trans in (0, 1, 2):
        solve = run(lambda x, y, trans=trans: sl.lu_solve(sl.lu_factor(x), y, trans=trans))
        same(solve(a, b), sp.lu_solve(sp.lu_factor(a), b, trans=trans))


def test_solve(problem, run):
    a, b, definite = problem
    for kind in ("gen", "her", "pos"):
        same(run(lambda x, y, kind=kind: sl.solve(x, y, assume_a=kind))(definite, b), np.linalg.solve(definite, b))
    for trans in ("N", "T", "C"):
        for lower in (False, True):
            solve = run(lambda x, y, t=trans, low=lower: sl.solve_triangular(x, y, trans=t, lower=low))
            same(solve(a, b), sp.solve_triangular(a, b, trans=trans, lower=lower))


def test_forms(problem, run):
    a, b, definite = problem
    for output in ("real", "complex"):
        t, z = map(np.asarray, run(lambda x, o=output: sl.schur(x, output=o))(a))
        same(z @ t @ z.conj().T, a)
    same(np.tril(t, -1), np.zeros_like(t))
    h, q = map(np.asarray, run(lambda x: sl.hessenberg(x, calc_q=True))(a))
    same(q @ h @ q.conj().T, a)
    same(np.tril(h, -2), np.zeros_like(h))
    for mode in ("full", "economic"):
        q, r = run(lambda x, m=mode: sl.qr(x, mode=m))(b)
        same(q @ r, b)
    q, r, order = run(lambda x: sl.qr(x, pivoting=True))(a)
    same(q @ r, a[:, np.asarray(order)])
    same(run(lambda x: sl.eigh(x, eigvals_only=True))(definite), sp.eigvalsh(definite))
    same(run(lambda x: sl.svd(x, compute_uv=False))(b), sp.svdvals(b))


def test_functions(problem, run):
    a, _, _ = problem
    for factor in (0.01, 1.0, 4.0):
        np.testing.assert_allclose(run(sl.expm)(a * factor), sp.expm(a * factor), rtol=1e-6, atol=1e-6)
    for got, want in zip(run(sl.expm_frechet)(a, a.T), sp.expm_frechet(a, a.T), strict=True):
        same(got, want, 1e-6)
    root = np.asarray(run(sl.sqrtm)(a))
    same(root @ root, a)
    for got, want in zip(run(sl.polar)(a), sp.polar(a), strict=True):
        same(got, want)


def test_derivatives():
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((3, 3)) + 2 * np.eye(3), rng.standard_normal((3, 2))
    with enable_x64():
        check_function(lambda x: [sl.expm(x)], [a], 2, "expm")
        check_function(lambda x, y: [sl.solve(x @ x.T + np.eye(3), y, assume_a="pos")], [a, b], 2, "solve")
        check_function(lambda x, y: [sl.lu_solve(sl.lu_factor(x), y, trans=1)], [a, b], 2, "lu_solve")


def test_batches():
    many = np.stack([np.eye(2), 4 * np.eye(2)])
    same(vmap(sl.sqrtm)(many), np.sqrt(many))
    same(sl.expm(many), np.stack([sp.expm(x) for x in many]), 1e-4)
    same(vmap(lambda x: sl.solve(x, np.ones(2), assume_a="pos"))(many), [[1, 1], [0.25, 0.25]])


V = np.arange(1.0, 4)
SPECIAL = [("toeplitz", (V,)), ("toeplitz", (V, V[:2])), ("hankel", (V,)), ("hankel", (V, V[:2])), ("hankel", (V > 1,)),
           ("hankel", (np.array([np.nan, np.inf, 1]),)), ("circulant", (V,)),
           ("circulant", (V[0],)),
           ("companion", (V,)), ("hilbert", (4,)), ("dft", (5,)), ("dft", (3, "n")), ("block_diag", (np.eye(2), V, 5.0))]


@pytest.mark.parametrize(("name", "args"), SPECIAL)
def test_special_matrices(name, args):
    with enable_x64():
        same(getattr(sl, name)(*args), getattr(sp, name)(*args))


@pytest.mark.parametrize("shape", [(0, 0), (2, 0, 0)])
def test_hessenberg_form_of_nothing(shape):
    form, q = sl.hessenberg(np.zeros(shape, np.float32), calc_q=True)
    assert form.shape == q.shape == sl.hessenberg(np.zeros(shape, np.float32)).shape == shape
    with pytest.raises(ValueError, match="square"):
        sl.hessenberg(np.zeros((3, 0), np.float32))


def test_not_positive_definite_is_nan():
    assert np.isnan(np.asarray(sl.solve(-np.eye(2), np.ones(2), assume_a="pos"))).all()
    assert np.isnan(np.asarray(sl.cholesky(-np.eye(2), lower=True))[0, 0])


ERRORS = [
    (lambda: sl.solve(np.eye(2), np.eye(2), assume_a="foo"), ValueError, "assume_a"),
    (lambda: sl.lu_solve(sl.lu_factor(np.eye(2)), np.ones(2), trans=3), ValueError, "'trans'"),
    (lambda: sl.solve_triangular(np.eye(2), np.ones(2), trans="X"), ValueError, "Invalid 'trans'"),
    (lambda: sl.cho_solve((np.eye(2), True), np.ones(3)), ValueError, "inconsistent"),
    (lambda: sl.expm(np.ones((2, 3))), ValueError, "square"),
    (lambda: sl.eigh(np.eye(2), b=np.eye(2)), NotImplementedError, "b=None"),
    (lambda: sl.eigh(np.eye(2), type=2), NotImplementedError, "type=1"),
    (lambda: sl.schur(np.eye(2), output="x"), ValueError, "output"),
    (lambda: sl.qr(np.eye(2), mode="foo"), ValueError, "mode"),
    (lambda: sl.polar(np.eye(2), side="x"), ValueError, "side"),
    (lambda: sl.block_diag(np.ones((2, 2, 2))), ValueError, "at most 2 dimensions"),
    (lambda: sl.dft(2, "x"), ValueError, "scale"),
]


@pytest.mark.parametrize(("call", "kind", "message"), ERRORS)
def test_errors(call, kind, message):
    with pytest.raises(kind, match=message):
        call()


def test_functions_of_empty_matrices():
    empty = np.zeros((0, 0), np.float32)
    assert sl.sqrtm(empty).shape == sl.funm(empty, np.exp).shape == (0, 0)
    assert sl.sqrtm(empty).dtype == sl.funm(empty, np.exp).dtype == np.complex64


@pytest.mark.parametrize(("a_shape", "b_shape"), [
    ((2, 2, 2), (2, 2)), ((3, 2, 2), (3, 2)), ((1, 2, 2), (3, 2)), ((2, 3, 2, 2), (1, 3, 2))])
def test_a_vector_for_each_matrix(a_shape, b_shape):
    rng = np.random.default_rng(0)
    a = np.tril(rng.uniform(1, 2, a_shape)).astype(np.float32)
    b = rng.uniform(1, 2, b_shape).astype(np.float32)
    gram = a @ np.swapaxes(a, -1, -2)
    for fun, matrices in [
            (lambda y: sl.solve_triangular(a, y, lower=True), a), (lambda y: sl.lu_solve(sl.lu_factor(gram), y), gram),
            (lambda y: sl.cho_solve((a, True), y), gram), (lambda y: sl.solve(gram, y, assume_a="pos"), gram)]:
        with pytest.warns(FutureWarning, match="batched 1D solves"):
            x = fun(b)
        np.testing.assert_allclose(x, np.linalg.solve(matrices, b[..., None])[..., 0], rtol=2e-3)


def test_lists_are_matrices():
    a, b = [[2.0, 1.0], [1.0, 3.0]], [1.0, 2.0]
    same(sl.cholesky(a, lower=True), np.linalg.cholesky(a), 1e-5)
    same(sl.solve_triangular(a, b, lower=True), sp.solve_triangular(a, b, lower=True), 1e-5)
    same(sl.lu_solve(sl.lu_factor(a), b), np.linalg.solve(a, b), 1e-5)
    same(sl.cho_solve(sl.cho_factor(a), b), np.linalg.solve(a, b), 1e-5)
    same(sl.solve_sylvester(a, a, a), sp.solve_sylvester(a, a, a), 1e-5)
    same(sl.expm_frechet(a, a)[1], sp.expm_frechet(a, a)[1], 1e-2)
    same(sl.funm(a, np.exp), sp.expm(a), 1e-3)
    same(sl.svd(a, compute_uv=False), np.linalg.svd(a, compute_uv=False), 1e-5)
    same(sl.eigh(a, eigvals_only=True), np.linalg.eigvalsh(a), 1e-5)
    for function in (sl.qr, sl.lu, sl.polar, sl.schur, sl.hessenberg):
        assert function(a)[0].dtype == np.float32


@pytest.mark.parametrize("a", [2.0, np.ones(3, np.float32)])
def test_polar_factors_are_of_matrices(a):
    with pytest.raises(ValueError, match="expected matrices"):
        sl.polar(a)
