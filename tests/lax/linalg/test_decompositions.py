"""Eigenvectors and singular vectors of sizes around the edges of drivers and blocks, and vectors that nothing reads."""
from __future__ import annotations

import numpy as np
import pytest

import numjet.numpy as jnp
from numjet import _native, grad, hessian, jit, lax, make_jaxpr
from numjet.lax import linalg
from numjet.transforms import dce

# Drivers take up to 48 columns of svd and 64 rows of eigh; blocks are 64 wide, strips 96; twice as many rows go by QR.
SHAPES = [(48, 48), (49, 49), (66, 65), (65, 66), (97, 97), (99, 50), (100, 50), (50, 100), (193, 51), (51, 193)]
ORDERS = [1, 63, 64, 65, 66, 97, 130]
DTYPES = ("float32", "float64", "complex64")


@pytest.fixture(autouse=True)
def wide(x64):
    """With 64-bit numbers."""


def random(dtype: str, *shape: int) -> np.ndarray:
    rng = np.random.default_rng(0)
    x = rng.standard_normal(shape)
    return (x + 1j * rng.standard_normal(shape) if dtype.startswith("complex") else x).astype(dtype)


def hermitian(dtype: str, n: int) -> np.ndarray:
    x = random(dtype, n, n)
    return x + x.conj().T


def assert_unitary(x: np.ndarray, ulps: float) -> None:
    wide = x.astype(np.complex128)
    assert np.abs(wide.conj().T @ wide - np.eye(x.shape[1])).max() < ulps * np.finfo(x.dtype).eps


def assert_singular_vectors(a: np.ndarray, full: bool) -> None:
    u, s, vt = map(np.asarray, jit(lambda a: jnp.linalg.svd(a, full_matrices=full))(a))
    k = min(a.shape)
    assert u.shape == (a.shape[0], a.shape[0] if full else k) and vt.shape == (a.shape[1] if full else k, a.shape[1])
    assert (np.diff(s) <= 0).all() and (s >= 0).all()
    assert_unitary(u, 100)
    assert_unitary(vt.conj().T, 100)
    assert np.abs((u[:, :k] * s).astype(np.complex128) @ vt[:k] - a).max() < 100 * np.finfo(a.dtype).eps * s[0]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("full", [False, True])
@pytest.mark.parametrize("shape", SHAPES)
def test_singular_vectors(shape, full, dtype):
    assert_singular_vectors(random(dtype, *shape), full)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("lower", [False, True])
@pytest.mark.parametrize("n", ORDERS)
def test_eigenvectors_of_one_triangle(n, lower, dtype):
    a = hermitian(dtype, n)
    one = np.tril(a) + 7 * np.tri(n, dtype=dtype).T - 7 * np.eye(n, dtype=dtype) if lower else (
        np.triu(a) + 7 * np.tri(n, dtype=dtype) - 7 * np.eye(n, dtype=dtype))
    v, w = map(np.asarray, jit(lambda a: linalg.eigh(a, lower=lower, symmetrize_input=False))(one))
    assert (np.diff(w) >= 0).all()
    assert_unitary(v, 100)
    assert np.abs((v * w).astype(np.complex128) @ v.conj().T - a).max() < 100 * np.finfo(dtype).eps * np.abs(w).max()


@pytest.mark.parametrize("scale", [0.0, 1e-30, 1e-15, 1e15, 1e30])
def test_huge_and_tiny_numbers(scale):
    a = random("float64", 70, 70) * scale
    u, s, vt = map(np.asarray, jit(jnp.linalg.svd)(a.astype(np.float32)))
    assert np.isfinite(s).all() and np.abs((u * s.astype(np.float64)) @ vt - a).max() <= 3e-5 * scale
    v, w = map(np.asarray, jit(linalg.eigh)((a + a.T).astype(np.float32)))
    assert np.abs((v * w.astype(np.float64)) @ v.T - a - a.T).max() <= 3e-5 * scale


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_nan_in_a_batch_stays_in_its_matrix(bad):
    a = random("float32", 3, 70, 70)
    a[1, 3, 4] = bad
    for f in (jnp.linalg.svd, jnp.linalg.eigh, jnp.linalg.svdvals, jnp.linalg.eigvalsh):
        outs = jit(f)(a)
        for out in outs if isinstance(outs, tuple) else (outs,):
            assert np.isnan(out[1]).all() and np.isfinite(np.delete(np.asarray(out), 1, 0)).all()


@pytest.mark.parametrize("f", [jnp.linalg.svd, jnp.linalg.eigh])
def test_the_same_bits_on_any_number_of_threads(f):
    a = hermitian("float32", 200)
    before, run = _native.num_threads(), jit(f)
    try:
        _native.set_num_threads(1)
        one = [np.asarray(x) for x in run(a)]
        _native.set_num_threads(3)
        for x, y in zip(one, run(a), strict=True):
            np.testing.assert_array_equal(x, y)
    finally:
        _native.set_num_threads(before)


def operations(f, *args) -> list[tuple[str, dict]]:
    thin, _ = dce.dce_jaxpr(make_jaxpr(f)(*args).jaxpr)
    return [(e.primitive.name, dict(e.params)) for e in thin.eqns if e.primitive.name in ("eig", "eigh", "eigvalsh", "svd")]


def test_eigenvectors_that_nothing_reads_are_not_computed():
    a = hermitian("float64", 20)
    assert operations(lambda a: linalg.eigh(a)[1], a) == [("eigvalsh", {"lower": True})]
    assert operations(lambda a: linalg.eigh(a)[0], a)[0][0] == "eigh"
    w = jit(lambda a: linalg.eigh(a, lower=False, symmetrize_input=False)[1])(np.triu(a))
    np.testing.assert_allclose(w, np.linalg.eigvalsh(a), rtol=1e-12, atol=1e-12)
    total = jit(lambda a: lax.fori_loop(0, 3, lambda i, s: s + linalg.eigh(a)[1][i], 0.0))(a)
    np.testing.assert_allclose(total, np.linalg.eigvalsh(a)[:3].sum(), rtol=1e-12)


@pytest.mark.parametrize("wanted", range(3))
def test_one_side_of_eigenvectors_is_computed_where_the_other_is_not_read(wanted):
    a = random("float64", 6, 6)
    (_, params), = operations(lambda a: linalg.eig(a)[wanted], a)
    assert [params["compute_left_eigenvectors"], params["compute_right_eigenvectors"]] == [wanted == 1, wanted == 2]
    np.testing.assert_array_equal(jit(lambda a: linalg.eig(a)[wanted])(a).shape, linalg.eig(a)[wanted].shape)
    np.testing.assert_allclose(jit(lambda a: linalg.eig(a)[wanted])(a), linalg.eig(a)[wanted], rtol=1e-10, atol=1e-12)


def test_singular_vectors_that_nothing_reads_are_not_computed():
    a = random("float64", 9, 7)
    (_, params), = operations(lambda a: jnp.linalg.svd(a)[1], a)
    assert not params["compute_uv"]
    (_, params), = operations(lambda a: jnp.linalg.svd(a)[2], a)
    assert params["compute_uv"]
    np.testing.assert_allclose(jit(lambda a: jnp.linalg.svd(a)[1])(a), np.linalg.svd(a)[1], rtol=1e-12)


def test_derivatives_of_eigenvalues_alone():
    a = hermitian("float64", 4)
    alone, beside = lambda a: jnp.linalg.eigvalsh(a)[0], lambda a: jnp.linalg.eigh(a)[0][0]
    np.testing.assert_allclose(grad(alone)(a), grad(beside)(a), rtol=1e-12)
    jitted = jit(lambda a: linalg.eigh(a)[1][0])   # differentiated after its vectors are gone
    np.testing.assert_allclose(hessian(jitted)(a), hessian(lambda a: linalg.eigh(a)[1][0])(a), rtol=1e-9, atol=1e-9)
