"""tridiagonal and qdwh."""
import numpy as np
import pytest

import numjet as nj
from numjet import lax

DTYPES = ["float32", "float64", "complex64", "complex128"]


@pytest.fixture(autouse=True)
def _wide():
    with nj.enable_x64(True):
        yield


def random(shape, dtype, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=shape)
    if np.dtype(dtype).kind == "c":
        x = x + 1j * rng.normal(size=shape)
    return x.astype(dtype)


def tolerance(dtype):
    return 1e-4 if np.finfo(dtype).eps > 1e-10 else 1e-11


@pytest.mark.parametrize("jit", [False, True])
@pytest.mark.parametrize("lower", [False, True])
@pytest.mark.parametrize("dtype", DTYPES)
def test_tridiagonal(dtype, lower, jit):
    a = random((2, 6, 6), dtype)
    a = a + np.conj(np.swapaxes(a, 1, 2))
    given = np.tril(a) + 100 * np.triu(np.ones_like(a), 1) if lower else np.triu(a) + 100 * np.tril(np.ones_like(a), -1)
    f = lambda a: lax.linalg.tridiagonal(a, lower=lower)
    packed, d, e, taus = map(np.asarray, (nj.jit(f) if jit else f)(given))
    assert d.dtype == e.dtype == np.finfo(dtype).dtype and taus.shape == (2, 5)
    for k in range(2):
        t = np.diag(d[k]) + np.diag(e[k], 1) + np.diag(e[k], -1)
        np.testing.assert_allclose(np.linalg.eigvalsh(t), np.linalg.eigvalsh(a[k]), rtol=1e-3, atol=20 * tolerance(dtype))
        np.testing.assert_allclose(np.diag(packed[k]).real, d[k])
        np.testing.assert_allclose(np.diag(packed[k], -1 if lower else 1).real, e[k])
        other = np.triu_indices(6, 1) if lower else np.tril_indices(6, -1)
        assert (packed[k][other] == 100).all(), "the other triangle is neither read nor changed"


def test_the_reflections_of_tridiagonal_give_q():
    a = random((5, 5), "float64")
    a = a + a.T
    packed, d, e, taus = lax.linalg.tridiagonal(a)
    q = np.eye(5)
    q[1:, 1:] = lax.linalg.householder_product(np.asarray(packed)[1:, :-1], taus)
    np.testing.assert_allclose(q @ (np.diag(d) + np.diag(e, 1) + np.diag(e, -1)) @ q.T, a, rtol=1e-10, atol=1e-10)


def test_tridiagonal_of_order_one_and_batches():
    packed, d, e, taus = lax.linalg.tridiagonal(np.float32([[3]]))
    assert packed.tolist() == [[3]] and d.tolist() == [3] and e.shape == taus.shape == (0,)
    a = random((4, 3, 3), "float32")
    for one, many in zip(lax.linalg.tridiagonal(a), nj.jit(nj.vmap(lax.linalg.tridiagonal))(a), strict=True):
        np.testing.assert_allclose(one, many, rtol=1e-5)


@pytest.mark.parametrize("jit", [False, True])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(5, 5), (7, 3), (1, 1), (4, 1)])
def test_qdwh(shape, dtype, jit):
    x = random(shape, dtype)
    u, h, steps, converged = (nj.jit(lax.linalg.qdwh) if jit else lax.linalg.qdwh)(x)
    assert u.dtype == h.dtype == x.dtype and bool(converged) and int(steps) <= 8
    assert steps.weak_type and steps.dtype == nj.dtypes.canonicalize_dtype(int)
    u, h, tol = np.asarray(u), np.asarray(h), 5 * tolerance(dtype)
    np.testing.assert_allclose(u @ h, x, rtol=tol, atol=tol)
    np.testing.assert_allclose(np.conj(u.T) @ u, np.eye(shape[1]), rtol=tol, atol=tol)
    np.testing.assert_allclose(h, np.conj(h.T))
    assert np.linalg.eigvalsh(h).min() > -tol


def test_qdwh_of_hard_matrices():
    left, right = (np.linalg.qr(random((6, 6), "float64", k))[0] for k in (1, 2))
    values = np.array([1e3, 1, 1e-3, 1e-6, 1e-9, 1e-12])
    u, h, _, converged = lax.linalg.qdwh(left * values @ right)
    assert bool(converged)
    np.testing.assert_allclose(np.asarray(u), left @ right, atol=1e-2)  # well conditioned are only u's large directions
    np.testing.assert_allclose(np.asarray(u) @ np.asarray(h), left * values @ right, rtol=1e-9, atol=1e-9)
    zero = lax.linalg.qdwh(np.zeros((3, 3)))
    assert not np.asarray(zero[0]).any() and not np.asarray(zero[1]).any() and bool(zero[3])


def test_qdwh_of_a_part_and_few_iterations():
    x = np.full((4, 4), np.nan, np.float32)
    x[:3, :2] = random((3, 2), "float32")
    u, h, _, converged = map(np.asarray, lax.linalg.qdwh(x, dynamic_shape=(3, 2)))
    want_u, want_h, _, _ = map(np.asarray, lax.linalg.qdwh(x[:3, :2]))
    np.testing.assert_allclose(u[:3, :2], want_u, atol=1e-5)
    np.testing.assert_allclose(h[:2, :2], want_h, atol=1e-5)
    assert not u[3:].any() and not u[:, 2:].any() and not h[2:].any() and converged
    _, _, steps, converged = lax.linalg.qdwh(x[:3, :2], max_iterations=2)
    assert int(steps) == 2 and not bool(converged)
    batch = nj.vmap(lax.linalg.qdwh)(random((3, 4, 2), "float32"))
    assert np.asarray(batch[3]).all() and batch[0].shape == (3, 4, 2)


@pytest.mark.parametrize("call, error, message", [
    (lambda: lax.linalg.qdwh(np.ones((2, 3))), ValueError, r"qdwh: .* M >= N, got \(2, 3\)"),
    (lambda: lax.linalg.qdwh(np.ones((2, 3, 3))), ValueError, "qdwh expects one matrix"),
    (lambda: lax.linalg.qdwh(np.ones((3, 3), int)), TypeError, "qdwh does not accept dtype int"),
    (lambda: lax.linalg.tridiagonal(np.ones((2, 3))), ValueError, "tridiagonal must be a square matrix"),
    (lambda: lax.linalg.tridiagonal(np.ones((0, 0))), ValueError, "tridiagonal requires .* greater than zero"),
    (lambda: lax.linalg.tridiagonal(np.ones(3)), TypeError, "tridiagonal must have rank at least 2"),
])
def test_errors(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_integer_matrices_become_floats_when_they_are_symmetrized():
    a = np.array([[5, 1], [1, 3]], np.uint8)
    np.testing.assert_allclose(lax.linalg.cholesky(a), np.linalg.cholesky(a.astype(np.float32)), rtol=1e-6)
    np.testing.assert_allclose(lax.linalg.eigh(a)[1], np.linalg.eigvalsh(a.astype(np.float32)), rtol=1e-5)
    with pytest.raises(TypeError, match="does not accept dtype uint8"):
        lax.linalg.cholesky(a, symmetrize_input=False)
