"""numjet.numpy.linalg against NumPy: values, compiled values, derivatives, singular matrices, errors."""
from __future__ import annotations

import numpy as np
import pytest

import numjet as nj
import numjet.numpy as jnp
from numjet import grad, hessian, jit, numpy_dtype_promotion, numpy_rank_promotion, vmap
from numjet.foundation.config import enable_x64
from numjet.lax import linalg
from numjet.testing.records import check_function

LA = jnp.linalg


def matrix(*shape, complex=False, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal(shape) + 2 * np.eye(*shape[-2:])
    return x + 1j * rng.standard_normal(shape) if complex else x


def definite(*shape, complex=False):
    x = matrix(*shape, complex=complex)
    return x @ np.conj(np.swapaxes(x, -1, -2)) + np.eye(shape[-1])


def same(got, want, tol=1e-9):
    np.testing.assert_allclose(np.asarray(got), want, rtol=tol, atol=tol)


SQUARE = {
    "inv": (LA.inv, np.linalg.inv), "det": (LA.det, np.linalg.det), "eigvalsh": (LA.eigvalsh, None),
    "slogdet": (LA.slogdet, np.linalg.slogdet), "matrix_rank": (LA.matrix_rank, np.linalg.matrix_rank),
    "cube": (lambda x: LA.matrix_power(x, -3), lambda x: np.linalg.matrix_power(x, -3)),
    "cond": (LA.cond, np.linalg.cond), "cond1": (lambda x: LA.cond(x, 1), lambda x: np.linalg.cond(x, 1)),
    "norm2": (lambda x: LA.norm(x, 2, (-2, -1)), lambda x: np.linalg.norm(x, 2, (-2, -1))),
    "norm-2": (lambda x: LA.norm(x, -2, (-2, -1)), lambda x: np.linalg.norm(x, -2, (-2, -1))),
    "nuc": (lambda x: LA.norm(x, "nuc", (-2, -1), True), lambda x: np.linalg.norm(x, "nuc", (-2, -1), True)),
    "svdvals": (LA.svdvals, lambda x: np.linalg.svd(x, compute_uv=False)), "pinv": (LA.pinv, np.linalg.pinv),
}


@pytest.mark.parametrize("transform", [lambda f: f, jit])
@pytest.mark.parametrize("complex", [False, True])
@pytest.mark.parametrize("shape", [(1, 1), (2, 2), (3, 3), (2, 4, 4), (9, 9)])
@pytest.mark.parametrize("name", list(SQUARE))
def test_square(name, shape, complex, transform):
    ours, theirs = SQUARE[name]
    with enable_x64():
        x = matrix(*shape, complex=complex) if theirs else definite(*shape, complex=complex)
        got, want = transform(ours)(x), (theirs or np.linalg.eigvalsh)(x)
        for g, w in zip(got, want, strict=True) if isinstance(got, tuple) else [(got, want)]:
            same(g, w)


@pytest.mark.parametrize("transform", [lambda f: f, jit])
@pytest.mark.parametrize(("a", "b"), [((3, 3), (3,)), ((3, 3), (3, 2)), ((9, 9), (9, 1)), ((2, 3, 3), (3, 2)),
                                      ((3, 3), (4, 3, 2)), ((2, 1, 3, 3), (4, 3, 2)), ((2, 3, 3), (3,))])
def test_solve(a, b, transform):
    with enable_x64():
        x, y = matrix(*a), np.random.default_rng(1).standard_normal(b)
        want = np.linalg.solve(x, y[:, None])[..., 0] if y.ndim == 1 else np.linalg.solve(x, y)
        same(transform(LA.solve)(x, y), want)


@pytest.mark.parametrize("shape", [(3, 3), (5, 3), (3, 5), (2, 4, 2)])
@pytest.mark.parametrize("complex", [False, True])
def test_factors(shape, complex):
    with enable_x64():
        x = matrix(*shape, complex=complex)
        for run in (lambda f: f, jit):
            q, r = run(LA.qr)(x)
            same(q @ r, x)
            same(run(lambda x: LA.qr(x, mode="r"))(x), np.asarray(r))
            u, s, vh = run(lambda x: LA.svd(x, full_matrices=False))(x)
            same((u * s[..., None, :]) @ vh, x)
            same(run(LA.pinv)(x), np.linalg.pinv(x))


@pytest.mark.parametrize("complex", [False, True])
def test_hermitian_factors(complex):
    with enable_x64():
        x = definite(2, 4, 4, complex=complex)
        same(LA.cholesky(x), np.linalg.cholesky(x))
        same(LA.cholesky(x, upper=True), np.conj(np.swapaxes(np.linalg.cholesky(x), -1, -2)))
        w, v = LA.eigh(x)
        same((v * w[..., None, :]) @ v.conj().mT, x)
        indefinite = x - 3 * np.eye(4)
        u, s, vh = LA.svd(indefinite, hermitian=True)
        same((u * s[..., None, :]) @ vh, indefinite)
        same(s, np.linalg.svd(indefinite, compute_uv=False))


def test_eig():
    with enable_x64():
        x = matrix(4, 4)
        w, v = LA.eig(x)
        same(x @ np.asarray(v), np.asarray(v * w))
        same(np.sort_complex(LA.eigvals(x)), np.sort_complex(np.linalg.eigvals(x)))


def test_lstsq():
    with enable_x64():
        a, b = matrix(5, 3), np.arange(5.0)
        for got, want in zip(LA.lstsq(a, b), np.linalg.lstsq(a, b, rcond=None), strict=True):
            same(got, want)
        a[:, 2] = a[:, 1]
        x, residuals, rank, _ = LA.lstsq(a, b, numpy_resid=True)
        same(x, np.linalg.lstsq(a, b, rcond=None)[0])
        assert (residuals.shape, int(rank)) == ((0,), 2)
        assert rank.dtype == jit(LA.lstsq)(a, b)[2].dtype == LA.matrix_rank(a).dtype == np.int64
    assert LA.lstsq(a, b)[2].dtype == np.int32


def test_tensors():
    with enable_x64():
        a = matrix(6, 6).reshape(2, 3, 6)
        same(LA.tensorinv(a), np.linalg.tensorinv(a))
        b = np.ones((2, 3))
        same(LA.tensorsolve(a, b), np.linalg.tensorsolve(a, b))


DERIVATIVES = {
    "solve": lambda x: [LA.solve(x, x[..., :1] + 1)], "inv": lambda x: [LA.inv(x)], "det": lambda x: [LA.det(x)],
    "slogdet": lambda x: list(LA.slogdet(x)), "qr": lambda x: list(LA.qr(x)), "svdvals": lambda x: [LA.svdvals(x)],
    "cholesky": lambda x: [LA.cholesky(x @ x.conj().mT + np.eye(x.shape[-1]))], "pinv": lambda x: [LA.pinv(x[..., :-1])],
    "eigvals": lambda x: [LA.eigvals(x).sum(-1), (LA.eigvals(x) ** 3).sum(-1)],
}


@pytest.mark.parametrize("complex", [False, True])
@pytest.mark.parametrize("shape", [(3, 3), (2, 4, 4)])
@pytest.mark.parametrize("name", list(DERIVATIVES))
def test_derivatives(name, shape, complex):
    with enable_x64():
        check_function(DERIVATIVES[name], [matrix(*shape, complex=complex)], 2, name)


def test_derivatives_of_determinants_of_singular_matrices():
    with enable_x64():
        low = np.arange(16.0).reshape(4, 4)              # rank 2: the adjugate is zero
        same(grad(LA.det)(low), np.zeros((4, 4)), 1e-6)
        three = np.diag([1.0, 2.0, 3.0, 0.0]) + np.triu(np.ones((4, 4)), 1)
        adjugate = np.array([[np.linalg.det(np.delete(np.delete(three, i, 0), j, 1)) * (-1) ** (i + j) for j in range(4)]
                             for i in range(4)])
        same(grad(LA.det)(three), adjugate)
        same(hessian(LA.det)(np.ones((2, 2)))[0, 0], [[0, 0], [0, 1]])


@pytest.mark.parametrize("transform", [lambda f: f, jit])
def test_singular_matrices(transform):
    zeros = np.zeros((4, 4), np.float32)
    assert not np.isfinite(np.asarray(transform(LA.inv)(zeros))).any()
    phase, size = transform(LA.slogdet)(zeros)
    assert (float(phase), float(size)) == (0.0, -np.inf)
    assert float(transform(LA.det)(zeros)) == 0
    assert np.isnan(np.asarray(transform(LA.cholesky)(-np.ones((2, 2), np.float32)))[0, 0])


def test_one_matrix_of_right_hand_sides_for_all_matrices():
    with enable_x64():
        a, b = matrix(3, 3, 3), matrix(3, 3)
        same(LA.solve(a, b), np.linalg.solve(a, b))


def test_vmap_of_solve():
    with enable_x64():
        a, b = matrix(3, 3), matrix(5, 3, 3)[..., 0]
        same(vmap(LA.solve, (None, 0))(a, b), np.linalg.solve(a, b.T).T)
        gradients = vmap(grad(lambda a, b: LA.solve(a, b).sum()), (None, 0))(a, b)
        assert gradients.shape == (5, 3, 3)


def test_dtypes():
    assert LA.inv(jnp.array([[2, 0], [0, 1]])).dtype == jnp.float32
    assert LA.slogdet(jnp.eye(2) * 1j).logabsdet.dtype == jnp.float32
    assert LA.eigvals(jnp.eye(2)).dtype == jnp.complex64
    assert LA.matrix_rank(jnp.eye(2)).dtype == jnp.int32


ERRORS = [
    (lambda: LA.inv(jnp.ones((2, 3))), ValueError, r"shape \[..., n, n\], got \(2, 3\)"),
    (lambda: LA.det(jnp.ones((2, 3))), ValueError, r"shape \[..., n, n\]"),
    (lambda: LA.slogdet(jnp.eye(2), method="x"), ValueError, "Unknown slogdet method"),
    (lambda: LA.solve(jnp.ones((2, 3)), jnp.ones(2)), ValueError, "solve"),
    (lambda: LA.solve(jnp.ones((3, 2, 2)), jnp.ones((3, 2))), ValueError, "Invalid shapes for solve"),
    (lambda: LA.solve(jnp.eye(2), jnp.ones(3)), ValueError, "inconsistent"),
    (lambda: LA.cholesky([[1.0]]), TypeError, "list"),
    (lambda: LA.cholesky(jnp.ones((2, 3))), ValueError, "square"),
    (lambda: LA.qr(jnp.eye(2), mode="foo"), ValueError, "Unsupported QR decomposition mode"),
    (lambda: LA.eigh(jnp.eye(2), UPLO="X"), ValueError, "UPLO must be"),
    (lambda: LA.pinv(jnp.eye(2), rtol=0.1, rcond=0.1), ValueError, "only one of rtol and rcond"),
    (lambda: LA.lstsq(jnp.ones((3, 2)), jnp.ones((2, 2))), ValueError, "Leading dimensions"),
    (lambda: LA.lstsq(jnp.ones((2, 3, 2)), jnp.ones((2, 2))), TypeError, "two-dimensional"),
    (lambda: LA.tensorinv(jnp.eye(4).reshape(2, 2, 2, 2), ind=0), ValueError, "positive integer"),
    (lambda: LA.cond(jnp.ones((2, 3)), p=1), ValueError, "square"),
    (lambda: LA.svd(jnp.ones(2)), TypeError, "rank at least 2"),
]


@pytest.mark.parametrize(("call", "kind", "message"), ERRORS)
def test_errors(call, kind, message):
    with pytest.raises(kind, match=message):
        call()


def test_operands_of_intermediate_results_have_equal_ranks():
    stack = np.stack([np.eye(3, dtype=np.float32), np.ones((3, 3), np.float32)])
    with numpy_rank_promotion("raise"), numpy_dtype_promotion("strict"):
        assert jnp.linalg.matrix_rank(stack).tolist() == [3, 1]
        assert jnp.linalg.pinv(stack, rtol=np.float32(1e-4)).shape == (2, 3, 3)
        assert jnp.linalg.slogdet(stack)[0].tolist() == [1, 0]


@pytest.mark.parametrize("shape", [(4, 3), (3, 4), (2, 3, 4), (3, 3), (0, 3), (3, 0)])
def test_packed_qr(shape):
    """NumPy's, of LAPACK; ormqr multiplies by its reflections."""
    a = np.random.default_rng(0).normal(size=shape).astype(np.float32)
    for qr in (jnp.linalg.qr, jit(jnp.linalg.qr, static_argnames="mode")):
        for got, expected in zip(qr(a, mode="raw"), np.linalg.qr(a, mode="raw"), strict=True):
            np.testing.assert_allclose(got, expected, atol=1e-5)
    packed, taus = jnp.linalg.qr(a, mode="raw")
    q = linalg.ormqr(packed.mT, taus, jnp.broadcast_to(jnp.eye(shape[-2]), (*shape[:-2], shape[-2], shape[-2])))
    np.testing.assert_allclose(q, jnp.linalg.qr(a, mode="complete").Q, atol=1e-5)


def test_products_in_derivative_rules_have_full_precision():
    a = np.eye(3, dtype=np.float32) * 2
    for fun, args in ((jnp.linalg.cholesky, (a,)), (nj.lax.linalg.triangular_solve, (a, a))):
        text = str(nj.make_jaxpr(lambda *xs, f=fun: nj.jvp(f, xs, xs))(*args))
        assert text.count("dot_general[") == text.count("Precision.HIGHEST, Precision.HIGHEST") > 0


def test_ranks_by_both_tolerances():
    m = np.array([[[1.0, 2], [3, 4]], [[1, 0], [0, 0.5]]])
    for x in (0.05, 0.1, 0.45, 2.0, 6.0):
        np.testing.assert_array_equal(LA.matrix_rank(m, tol=x), np.linalg.matrix_rank(m, tol=x))
        np.testing.assert_array_equal(LA.matrix_rank(m, rtol=x), np.linalg.matrix_rank(m, rtol=x))
    np.testing.assert_array_equal(LA.matrix_rank(m, tol=np.array([0.1, 0.7])), [2, 1])


def test_qr_mode_full_is_numpys_name_of_reduced():
    q, r = LA.qr(np.ones((3, 2), np.float32), mode="full")
    assert q.shape == (3, 2)
    assert r.shape == (2, 2)


def test_pinv_of_several_tolerances():
    a = np.array([[1.0, 0.0], [0.0, 0.15]], np.float32)
    same(LA.pinv(a, rtol=np.array([0.1, 0.2], np.float32)), np.stack([np.linalg.pinv(a), np.diag([1.0, 0.0])]), 1e-5)
    batch = np.stack([a, a])[:, None]
    assert LA.pinv(batch, rtol=np.array([0.1, 0.2, 0.3], np.float32)).shape == (2, 3, 2, 2)


def test_cond_of_singular_and_of_empty_matrices():
    assert float(LA.cond(np.zeros((3, 3), np.float32), -2)) == np.inf
    assert np.isnan(LA.cond(np.full((2, 2), np.nan, np.float32), -2))
    for p in (None, 1, -2):
        with pytest.raises(ValueError, match="must not be empty"):
            LA.cond(np.zeros((0, 0), np.float32), p)
        assert LA.cond(np.zeros((0, 3, 3), np.float32), p).shape == (0,)


def test_results_of_weak_matrices_are_weak():
    weak = jnp.full((2, 2), 2.0)
    assert weak.weak_type
    for outs in [linalg.eigh(weak), linalg.svd(weak), linalg.eig(weak), linalg.lu(weak), linalg.qr(weak, pivoting=True),
                 linalg.tridiagonal(weak), LA.qr(weak, mode="raw")]:
        assert all(x.weak_type for x in outs)
    for out in [LA.det(jnp.zeros((0, 0))), LA.pinv(weak)]:
        assert not out.weak_type


def test_the_first_thing_wrong_is_named():
    a = np.ones((3, 3), np.float32)
    with pytest.raises(ValueError, match="Leading dimensions"):
        LA.lstsq(a[None], a[0])
    with pytest.raises(TypeError, match="equal dtypes"):
        linalg.triangular_solve(a, a.astype(np.float16))
    with pytest.raises(TypeError, match="rank at least 2"):
        LA.svd(a[0], full_matrices=False, subset_by_index=(0, 1))
    with pytest.raises(ValueError, match="cannot both be set"):
        LA.svd(a, subset_by_index=(0, 1))
    assert LA.svd(a, subset_by_index=(0, 3)).S.shape == (3,)


def test_derivatives_of_pinv_take_no_square_of_the_longer_side(x64):
    """The derivative of 100,000 x 2 matrices and of their transposes; its rule took 80 GB."""
    a = np.random.default_rng(0).standard_normal((100_000, 2))
    for x in (a, a.T):
        _, t = nj.jvp(jnp.linalg.pinv, (x,), (x,))   # pinv(c x) = pinv(x) / c
        np.testing.assert_allclose(t, -np.asarray(jnp.linalg.pinv(x)), rtol=1e-9, atol=1e-15)


def test_derivatives_of_hermitian_pinv_are_those_of_the_hermitian_part(x64):
    a = np.array([[2.0, 0.5 + 1j], [0.5 - 1j, 3.0]])
    step = np.array([[0.3, 1.0], [0.2j, 0.1]])
    f = lambda a: jnp.linalg.pinv(a, hermitian=True)
    _, t = nj.jvp(f, (a,), (step,))
    h = 1e-6
    np.testing.assert_allclose(t, (np.asarray(f(a + h * step)) - np.asarray(f(a - h * step))) / (2 * h), rtol=1e-7, atol=1e-8)
