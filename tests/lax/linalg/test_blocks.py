"""Factors and systems of sizes around the edges of blocks: residuals, numbers of threads, special values, batches."""
from __future__ import annotations

import numpy as np
import pytest

import numjet.numpy as jnp
from numjet import _native, jit
from numjet.lax import linalg

DTYPES = ("float32", "float64", "complex64", "complex128")
# Panels are 16 columns wide, blocks 64 and 96; systems are halved down to 32.
SHAPES = [(9, 9), (16, 17), (33, 16), (65, 64), (97, 129), (200, 97), (193, 193)]
SQUARE = [9, 33, 65, 96, 193]


@pytest.fixture(autouse=True)
def wide(x64):
    """With 64-bit numbers."""


@pytest.fixture
def threads():
    before = _native.num_threads()
    yield _native.set_num_threads
    _native.set_num_threads(before)


def random(dtype: str, *shape: int, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    x = rng.standard_normal(shape)
    return (x + 1j * rng.standard_normal(shape) if dtype.startswith("complex") else x).astype(dtype)


def definite(dtype: str, n: int) -> np.ndarray:
    x = random(dtype, n, n)
    return (x @ x.conj().T / max(n, 1) + np.eye(n)).astype(dtype)


def exact(x) -> np.ndarray:
    return np.asarray(x).astype(np.complex128)


def relative(difference: np.ndarray, to: np.ndarray) -> float:
    """In units of the last place of `to`."""
    return float(np.linalg.norm(difference) / np.linalg.norm(exact(to)) / np.finfo(to.dtype).eps)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("m", "n"), SHAPES)
def test_lu(m, n, dtype):
    a, k = random(dtype, m, n), min(m, n)
    lu, pivots, order = map(np.asarray, jit(linalg.lu)(a))
    lower, upper = exact(np.tril(lu, -1)[:, :k]) + np.eye(m, k), exact(np.triu(lu)[:k])
    assert relative(lower @ upper - a[order], a) < 10 * np.sqrt(max(m, n))
    assert np.abs(np.tril(lu, -1)).max(initial=0) < 1.5  # as the largest element is the pivot
    assert sorted(order) == list(range(m)) and (pivots >= np.arange(k)).all()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("m", "n", "full_matrices"), [*[(*s, False) for s in SHAPES], (97, 33, True), (16, 40, True)])
def test_qr(m, n, full_matrices, dtype):
    a = random(dtype, m, n)
    q, r = map(np.asarray, jit(lambda x: linalg.qr(x, full_matrices=full_matrices))(a))
    assert relative(exact(q) @ exact(r) - a, a) < 10
    assert not np.tril(r, -1).any()
    one = np.eye(q.shape[1])
    assert relative(exact(q).conj().T @ exact(q) - one, one.astype(dtype)) < 10
    np.testing.assert_allclose(np.abs(np.diagonal(r)), np.abs(np.diagonal(np.linalg.qr(exact(a))[1])),
                               rtol=2000 * np.finfo(dtype).eps * max(m, n))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", SQUARE)
def test_cholesky(n, dtype):
    a = definite(dtype, n)
    factor = np.asarray(jit(lambda x: linalg.cholesky(x, symmetrize_input=False))(a))
    assert relative(exact(factor) @ exact(factor).conj().T - a, a) < 10
    assert not np.triu(factor, 1).any()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", SQUARE)
def test_inverse(n, dtype):
    a = random(dtype, n, n)
    inverse = exact(jit(jnp.linalg.inv)(a))
    assert relative(inverse @ exact(a) - np.eye(n), np.eye(n).astype(dtype)) < 20 * np.linalg.cond(exact(a))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("n", "columns"), [(33, 1), (97, 10), (130, 150)])
@pytest.mark.parametrize("left_side", [False, True])
@pytest.mark.parametrize("lower", [False, True])
@pytest.mark.parametrize("op", ["none", "transposed", "adjoint"])
def test_triangles(n, columns, left_side, lower, op, dtype):
    a = random(dtype, n, n) / n + 2 * np.eye(n, dtype=dtype)
    b = random(dtype, *(n, columns) if left_side else (columns, n))
    x = exact(jit(lambda a, b: linalg.triangular_solve(
        a, b, left_side=left_side, lower=lower, transpose_a=op != "none", conjugate_a=op == "adjoint"))(a, b))
    triangle = exact((np.tril if lower else np.triu)(a))
    triangle = {"none": triangle, "transposed": triangle.T, "adjoint": triangle.conj().T}[op]
    assert relative((triangle @ x if left_side else x @ triangle) - b, b) < 20


@pytest.mark.parametrize("dtype", DTYPES)
def test_results_do_not_depend_on_the_number_of_threads(dtype, threads):
    n = 300
    a, s, b = random(dtype, n, n), definite(dtype, n), random(dtype, n, 70)
    tall, small = random(dtype, 400, 130), random(dtype, 20, 30, 30)
    run = jit(lambda a, s, b, tall, small: (
        linalg.lu(a), linalg.qr(tall), linalg.cholesky(s), jnp.linalg.inv(a), jnp.linalg.solve(a, b),
        linalg.triangular_solve(s, b, left_side=True), linalg.qr(small), linalg.lu(small)))
    results = []
    for count in (1, 2):
        threads(count)
        results.append([np.asarray(x).tobytes() for group in run(a, s, b, tall, small)
                        for x in (group if isinstance(group, tuple) else (group,))])
    assert results[0] == results[1]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", [40, 70])
def test_batches_are_their_matrices(n, dtype):
    batch = random(dtype, 5, n, n)
    spd = np.stack([definite(dtype, n) * k for k in range(1, 6)]).astype(dtype)
    for function, x in ((linalg.lu, batch), (linalg.qr, batch), (lambda v: (linalg.cholesky(v),), spd),
                        (lambda v: (jnp.linalg.inv(v),), batch)):
        together = jit(function)(x)
        for k in range(5):
            for whole, single in zip(together, jit(function)(x[k]), strict=True):
                assert np.array_equal(np.asarray(whole)[k], np.asarray(single))


@pytest.mark.parametrize("dtype", ["float32", "complex128"])
@pytest.mark.parametrize("place", [(0, 0), (150, 3), (299, 299)])
def test_nan_reaches_the_result(place, dtype):
    a, s = random(dtype, 300, 300), definite(dtype, 300)
    a[place] = s[place] = np.nan
    lu, _, order = map(np.asarray, jit(linalg.lu)(a))
    assert np.isnan(lu[-1, -1]) and sorted(order) == list(range(300))
    assert np.isnan(np.asarray(jit(linalg.qr)(a)[1])[:, place[1]:]).any()
    factor = np.asarray(jit(linalg.cholesky)(s))
    assert np.isnan(factor[-1, -1]) and not factor[np.triu_indices(300, 1)].any()


@pytest.mark.parametrize("bad", [0, 100, 259])
def test_not_positive_definite_is_nan_throughout(bad):
    s = definite("float64", 260)
    s[bad, bad] = -1
    factor = np.asarray(jit(linalg.cholesky)(np.stack([definite("float64", 260), s])))
    assert np.isfinite(factor[0]).all() and np.isnan(factor[1][np.tril_indices(260)]).all()


def test_singular_matrices_have_no_finite_inverse():
    a = random("float64", 150, 150)
    a[:, 70] = 0
    lu = np.asarray(jit(linalg.lu)(a)[0])
    assert lu[-1, -1] != 0 and (lu[np.arange(150), np.arange(150)] == 0).sum() == 1
    assert not np.isfinite(np.asarray(jit(jnp.linalg.inv)(a))).all()


@pytest.mark.parametrize(("dtype", "scale"), [("float32", 1e-30), ("float32", 1e30), ("float64", 1e-200), ("float64", 1e200)])
def test_columns_whose_squares_leave_the_range(dtype, scale):
    """Each column keeps its own accuracy, as squares of its norm are not needed."""
    a = random(dtype, 100, 40)
    plain, scaled = (tuple(map(np.asarray, jit(lambda x: linalg.qr(x, full_matrices=False))(x)))
                     for x in (a, (a * np.where(np.arange(40) % 3 == 0, scale, 1)).astype(dtype)))
    np.testing.assert_allclose(scaled[0], plain[0], atol=1e4 * np.finfo(dtype).eps)
    assert np.isfinite(scaled[1]).all()


def test_columns_of_zeros_and_denormal_numbers():
    a = random("float32", 60, 20)
    a[:, 4] = 0
    a[:, 7] = 1e-42
    q, r = map(np.asarray, jit(lambda x: linalg.qr(x, full_matrices=False))(a))
    assert np.isfinite(q).all() and relative(exact(q) @ exact(r) - a, a) < 10
    one = np.eye(20)
    assert relative(exact(q).T @ exact(q) - one, one.astype(np.float32)) < 20


def test_tiny_pivots_are_divided_by():
    a = np.array([[1e-40, 1e-40], [5e-41, 2.0]], np.float32).repeat(10, 0).repeat(10, 1) * np.tri(20, 20)
    a += np.diag(np.full(20, 1e-39, np.float32))
    lu = np.asarray(jit(linalg.lu)(a.astype(np.float32))[0])
    assert np.isfinite(lu).all()


@pytest.mark.parametrize("shape", [(0, 0), (0, 3), (3, 0), (2, 0, 0), (0, 4, 4)])
def test_empty_matrices(shape):
    x = np.zeros(shape, np.float32)
    lu, pivots, order = jit(linalg.lu)(x)
    assert lu.shape == shape and pivots.shape[-1] == min(shape[-2:]) and order.shape[-1] == shape[-2]
    q, r = jit(lambda a: linalg.qr(a, full_matrices=False))(x)
    assert q.shape[-1] == r.shape[-2] == min(shape[-2:])
    if shape[-1] == shape[-2]:
        assert jit(linalg.cholesky)(x).shape == jit(jnp.linalg.inv)(x).shape == shape
