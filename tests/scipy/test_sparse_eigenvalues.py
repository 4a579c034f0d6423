"""eigsh, svds and expm_multiply: values, derivatives and batches against dense methods and SciPy; degenerate spaces; errors."""
from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg as dense

import numjet as nj
import numjet.numpy as jnp
from numjet.scipy.sparse.linalg import LinearOperator, eigsh, expm_multiply, svds

RNG = np.random.default_rng(0)


def _hermitian(n, complex_=False):
    a = RNG.standard_normal((n, n)) + (1j * RNG.standard_normal((n, n)) if complex_ else 0)
    return (a + a.conj().T) / 2


@pytest.mark.parametrize("which, places", [("LA", slice(-3, None)), ("SA", slice(0, 3)), ("LM", None), ("SM", None)])
def test_eigenvalues(which, places, x64):
    for a in (_hermitian(40), *([_hermitian(40, True)] if which == "LM" else [])):
        every = np.linalg.eigvalsh(a)
        order = np.argsort(np.abs(every))
        want = every[places] if places else np.sort(every[order[-3:] if which == "LM" else order[:3]])
        operator = LinearOperator(a.shape, lambda v, a=a: jnp.asarray(a) @ v, dtype=a.dtype)
        values, vectors = eigsh(operator if which == "LA" else a, 3, which)
        np.testing.assert_allclose(values, want, atol=1e-11)
        np.testing.assert_allclose(a @ vectors, np.asarray(vectors) * values, atol=1e-10)
        np.testing.assert_allclose(np.conj(vectors.T) @ vectors, np.eye(3), atol=1e-10)


def test_eigenvalues_in_float32_and_options():
    a = _hermitian(30).astype(np.float32)
    want = np.linalg.eigvalsh(a)[-2:]
    for options in ({"v0": np.ones(30)}, {"ncv": 8, "tol": 1e-4}):
        values = eigsh(a, 2, "LA", return_eigenvectors=False, **options)
        assert values.dtype == np.float32
        np.testing.assert_allclose(values, want, rtol=1e-3 if "tol" in options else 1e-5)


def test_spaces_that_are_invariant(x64):
    """Lanczos's vectors end early, and others take their place: multiple eigenvalues are found as often as they are there."""
    for a in (np.eye(12), np.zeros((12, 12)), np.diag([3.0, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1, 1])):
        values, vectors = eigsh(a, 3)
        np.testing.assert_allclose(values, np.linalg.eigvalsh(a)[-3:], atol=1e-12)
        np.testing.assert_allclose(vectors.T @ vectors, np.eye(3), atol=1e-10)


@pytest.mark.parametrize("complex_", [False, True])
def test_derivatives_of_eigenvalues(complex_, x64):
    a = _hermitian(12, complex_)

    def few(m):
        values, vectors = eigsh((m + jnp.conj(m.T)) / 2, 2, "LA")
        return jnp.sum(values ** 2) + jnp.sum(jnp.abs(vectors[0]) ** 2)

    def every(m):
        values, vectors = jnp.linalg.eigh((m + jnp.conj(m.T)) / 2)
        return jnp.sum(values[-2:] ** 2) + jnp.sum(jnp.abs(vectors[0, -2:]) ** 2)
    np.testing.assert_allclose(nj.jit(nj.grad(few))(a), nj.grad(every)(a), atol=1e-9)
    if not complex_:
        second = [nj.jvp(nj.grad(f), (a,), (a @ a,))[1] for f in (few, every)]
        np.testing.assert_allclose(*second, atol=1e-7)
        both = nj.vmap(lambda s: eigsh(s * a, 2, "LA")[0])(jnp.array([1.0, 2.0]))
        np.testing.assert_allclose(both[1], 2 * both[0], rtol=1e-9)


@pytest.mark.parametrize("shape", [(9, 14), (14, 9)])
def test_singular_values(shape, x64):
    a = RNG.standard_normal(shape)
    u, s, vh = np.linalg.svd(a)
    for which, places in (("LM", slice(0, 3)),) if shape[0] < 10 else (("SM", slice(6, 9)),):
        left, values, right = svds(a, 3, which)
        np.testing.assert_allclose(values, s[places][::-1], rtol=1e-9)
        np.testing.assert_allclose(np.asarray(left) * values @ right, (u[:, places] * s[places]) @ vh[places], atol=1e-9)
    values = lambda m: svds(m, 2, return_singular_vectors=False)
    np.testing.assert_allclose(nj.grad(lambda m: values(m).sum())(a), u[:, :2] @ vh[:2], atol=1e-9)


def _at_times(a, b, *times):
    return np.stack([dense.expm(t * a) @ b for t in np.linspace(*times)])


@pytest.mark.parametrize("dtype, limit", [(np.float32, 3e-5), (np.float64, 1e-12), (np.complex128, 1e-12), (np.float16, 5e-2)])
def test_products_of_exponentials(dtype, limit, x64):
    a, b = _hermitian(8, dtype == np.complex128).astype(dtype), RNG.standard_normal((8, 2)).astype(dtype)
    want = dense.expm(a.astype(np.complex128)) @ b
    want = want if dtype == np.complex128 else want.real
    for got in (expm_multiply(a, b), nj.jit(expm_multiply)(a, b), expm_multiply(a, b[:, 0])[:, None]):
        assert got.dtype == dtype
        np.testing.assert_allclose(got, want[:, :got.shape[1]], atol=limit * np.abs(want).max())
    if dtype == np.float64:
        operator = LinearOperator((8, 8), lambda v: jnp.asarray(a) @ v, dtype=np.float64)
        np.testing.assert_allclose(expm_multiply(operator, b), want, rtol=1e-11)
        for times in ((0.0, 2.0, 5), (0.5, -1.0, 4, False)):
            np.testing.assert_allclose(expm_multiply(a, b, *times), _at_times(a, b, *times), rtol=1e-10)
        assert expm_multiply(a, b, 0.0, 1.0).shape == (50, 8, 2)


def test_derivatives_of_products_of_exponentials(x64):
    a, b = _hermitian(6), RNG.standard_normal(6)
    exact = lambda a, b: jnp.sum(nj.scipy.linalg.expm(a) @ b * jnp.arange(6.0))
    steps = lambda a, b: jnp.sum(expm_multiply(a, b, steps=2) * jnp.arange(6.0))
    for got, want in zip(nj.grad(steps, (0, 1))(a, b), nj.grad(exact, (0, 1))(a, b), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-9)
    found = [nj.jvp(f, (a, b), (a @ a, b))[1] for f in (lambda a, b: jnp.sum(expm_multiply(a, b) * jnp.arange(6.0)), exact)]
    np.testing.assert_allclose(*found, rtol=1e-10)
    both = nj.vmap(expm_multiply, (0, None))(np.stack([a, 9 * a]), b)
    np.testing.assert_allclose(both[1], dense.expm(9 * a) @ b, rtol=1e-9)


@pytest.mark.parametrize("call, error, match", [
    (lambda: eigsh(np.ones((3, 2)), 1), ValueError, "square"), (lambda: eigsh(np.eye(3), 3), ValueError, "eigh for all"),
    (lambda: eigsh(np.eye(3), 0), ValueError, "0 < k"), (lambda: eigsh(np.eye(3), 1, "BE"), ValueError, "which"),
    (lambda: eigsh(np.eye(9), 4, ncv=4), ValueError, "ncv"), (lambda: eigsh(np.eye(9), 1, v0=np.ones(3)), ValueError, "v0"),
    (lambda: eigsh(jnp.eye(9, dtype=jnp.float16), 1), TypeError, "astype"),
    (lambda: svds(np.eye(4), 1, "LA"), ValueError, "LM"),
    (lambda: expm_multiply(np.eye(3), np.ones(2)), ValueError, "n, m"),
    (lambda: expm_multiply(np.eye(3), np.ones(3), 0.0), ValueError, "start and stop")])
def test_errors(call, error, match):
    with pytest.raises(error, match=match):
        call()
