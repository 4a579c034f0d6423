"""Sorting, searching, sets and counting, compared with NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import numjet as nj
import numjet.numpy as jnp
from tests.numpy.helpers import assert_same, check

RNG = np.random.default_rng(0)
P = np.array([3, 1, 2, 1, 3, 0], np.int32)
Q = np.array([9, 1, 3, 3], np.int32)
X = RNG.normal(size=(4, 5)).astype(np.float32)
N = np.array([1, np.nan, 0, -1, np.inf, np.nan], np.float32)


@pytest.mark.parametrize("axis", [0, 1, -1, None])
def test_sort(axis: int | None) -> None:
    check(lambda x: jnp.sort(x, axis), np.sort(X, axis), X)
    check(lambda x: jnp.argsort(x, axis), np.argsort(X, axis), X)
    check(lambda x: jnp.sort(x, axis, descending=True), np.flip(np.sort(X, axis), 0 if axis is None else axis), X)


def test_order_of_equals_and_nans() -> None:
    check(jnp.sort, np.sort(N), N)
    check(jnp.argsort, np.argsort(P, kind="stable"), P)
    check(lambda x: jnp.argsort(x, descending=True), np.argsort(-P, kind="stable"), P)
    check(lambda x, y: jnp.lexsort((x, y)), np.lexsort((P, P[::-1])), P, P[::-1])
    check(jnp.sort_complex, np.sort_complex(P[:4]), P[:4], dtype=False)
    assert jnp.argsort(P, dtype="uint8").dtype == jnp.uint8


def test_partition() -> None:
    out = np.asarray(nj.jit(lambda x: jnp.partition(x, 2, axis=1))(X))
    assert_same(out[:, 2], np.sort(X, 1)[:, 2])
    assert (out[:, :2] <= out[:, 2:3]).all()
    assert (out[:, 3:] >= out[:, 2:3]).all()
    assert_same(np.take_along_axis(X, np.asarray(jnp.argpartition(X, 2, axis=1)), 1)[:, 2], out[:, 2])


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("method", ["scan", "scan_unrolled", "sort", "compare_all"])
@pytest.mark.parametrize(
    ("a", "v"),
    [
        (np.array([1, 2, 2, 3], np.int32), np.array([[0, 2, 2], [3, 9, 1]], np.int32)),
        (np.sort(N), N),
        (np.sort(X.ravel()), X[0]),
        (np.array([5], np.int32), np.array([4, 5, 6], np.int32)),
    ],
)
def test_searchsorted(a: Any, v: Any, side: str, method: str) -> None:
    check(lambda x, y: jnp.searchsorted(x, y, side=side, method=method), np.searchsorted(a, v, side), a, v)


def test_searchsorted_more() -> None:
    assert jnp.searchsorted(jnp.zeros(0), 1.0).tolist() == 0
    a = np.array([3, 1, 2], np.int32)
    check(lambda x, v, s: jnp.searchsorted(x, v, sorter=s), np.searchsorted(a, Q, sorter=[1, 2, 0]), a, Q, np.array([1, 2, 0]))
    for bins in (np.array([-1, 0, 1], np.float32), np.array([1, 0, -1], np.float32)):
        for right in (False, True):
            check(lambda x, b, right=right: jnp.digitize(x, b, right), np.digitize(N[2:5], bins, right), N[2:5], bins)


def test_unique() -> None:
    assert_same(jnp.unique(P, True, True, True), np.unique(P, True, True, True))
    assert_same(jnp.unique(N), np.unique(N))
    assert jnp.unique(N, equal_nan=False).shape == (6,)
    rows = np.array([[1, 2], [1, 2], [0, 3]], np.int32)
    for axis in (0, 1):
        assert_same(jnp.unique(rows, True, True, True, axis), np.unique(rows, True, True, True, axis))
    assert jnp.unique(rows, return_inverse=True)[1].shape == rows.shape
    assert jnp.unique(jnp.zeros(0)).shape == (0,)


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_unique_fills_with_a_part(axis: int) -> None:
    x = np.arange(24).reshape(2, 3, 4) % 2
    part = np.arange(x.size // x.shape[axis]).reshape(np.delete(x.shape, axis))
    want = np.concatenate([np.unique(x, axis=axis), *[np.expand_dims(part, axis)] * 5], axis).take(range(5), axis)
    np.testing.assert_array_equal(jnp.unique(x, axis=axis, size=5, fill_value=part), want)
    with pytest.raises(ValueError):
        jnp.unique(x, axis=axis, size=5, fill_value=np.arange(7))


def test_unique_with_a_size() -> None:
    fn = nj.jit(lambda x: jnp.unique(x, size=6, fill_value=-1, return_index=True, return_inverse=True, return_counts=True))
    values, first, inverse, counts = fn(P)
    assert values.tolist() == [0, 1, 2, 3, -1, -1]
    assert first.tolist() == [5, 1, 2, 0, 5, 5]
    assert inverse.tolist() == [3, 1, 2, 1, 3, 0]
    assert counts.tolist() == [1, 2, 1, 2, 0, 0]
    assert nj.jit(lambda x: jnp.unique(x, size=2))(P).tolist() == [0, 1]
    assert jnp.unique_counts(P).counts.tolist() == [1, 2, 1, 2]
    assert jnp.unique_inverse(P).inverse_indices.tolist() == [3, 1, 2, 1, 3, 0]
    assert jnp.unique_all(P).indices.tolist() == [5, 1, 2, 0]
    assert jnp.unique_values(P).tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("name", ["union1d", "intersect1d", "setdiff1d", "setxor1d"])
def test_sets(name: str) -> None:
    want = getattr(np, name)(P, Q)
    assert_same(getattr(jnp, name)(P, Q), want)
    padded = nj.jit(lambda x, y: getattr(jnp, name)(x, y, size=8, fill_value=-7))(P, Q)
    assert padded.tolist() == [*want.tolist(), *[-7] * (8 - want.size)]
    with pytest.raises(nj.errors.ConcretizationTypeError, match="size="):
        nj.jit(getattr(jnp, name))(P, Q)


def test_intersections_with_nothing() -> None:
    none, some = jnp.zeros(0, jnp.int32), jnp.arange(3, dtype=jnp.int32)
    values, first, second = jnp.intersect1d(none, some, size=2, fill_value=-1, return_indices=True)
    assert not values.weak_type and values.tolist() == [-1, -1]
    assert first.tolist() == [0, 0] and second.tolist() == [3, 3]


def test_intersect_places_and_isin() -> None:
    assert_same(jnp.intersect1d(P, Q, return_indices=True), np.intersect1d(P, Q, return_indices=True))
    for invert in (False, True):
        check(lambda x, y, i=invert: jnp.isin(x, y, invert=i), np.isin(P, Q, invert=invert), P, Q)
    check(lambda x, y: jnp.isin(x, y, method="sort"), np.isin(P, Q), P, Q)


def test_nonzero() -> None:
    m = np.array([[0, 5, 0], [7, 0, 1]], np.int32)
    assert_same(list(jnp.nonzero(m)), list(np.nonzero(m)))
    assert_same(jnp.argwhere(m), np.argwhere(m))
    assert_same(jnp.flatnonzero(m), np.flatnonzero(m))
    assert_same(list(jnp.where(m > 0)), list(np.where(m > 0)))
    rows, columns = nj.jit(lambda x: jnp.nonzero(x, size=4, fill_value=(8, 9)))(m)
    assert (rows.tolist(), columns.tolist()) == ([0, 1, 1, 8], [1, 0, 2, 9])
    assert nj.jit(lambda x: jnp.nonzero(x, size=2))(m)[1].tolist() == [1, 0]
    assert nj.jit(lambda x: jnp.argwhere(x, size=4))(m)[-1].tolist() == [0, 0]


def test_nonzero_of_values_known_while_tracing() -> None:
    assert nj.jit(lambda x: x[jnp.nonzero(jnp.array([0, 1, 1]))[0]])(P).tolist() == [1, 2]


def test_counts() -> None:
    assert_same(jnp.bincount(P), np.bincount(P))
    assert nj.jit(lambda x: jnp.bincount(x, length=3))(P).tolist() == [1, 2, 1]
    with nj.enable_x64(True):
        assert jnp.bincount(jnp.array([1, 0], jnp.int32)).dtype == np.int64
    x, y = X.ravel(), X.T.ravel()
    for bins in (4, np.array([-1, 0, 0.5, 2], np.float32)):
        for density in (False, True):
            check(
                lambda v, b=bins, d=density: jnp.histogram(v, b, density=d),
                np.histogram(x, bins, density=density),
                x,
                dtype=False,
                rtol=1e-5,
            )
    check(lambda v: jnp.histogram(v, 3, (-1, 1)), np.histogram(x, 3, (-1, 1)), x, dtype=False, rtol=1e-5)
    check(lambda v, w: jnp.histogram(v, 3, weights=w), np.histogram(x, 3, weights=y), x, y, dtype=False, rtol=1e-5)
    check(lambda v, w: jnp.histogram2d(v, w, 3), np.histogram2d(x, y, 3), x, y, dtype=False, rtol=1e-5)
    counts, edges = jnp.histogramdd(X[:, :3], (2, 3, 2), weights=X[:, 3])
    want, places = np.histogramdd(X[:, :3], (2, 3, 2), weights=X[:, 3])
    assert_same([counts, *edges], [want, *places], rtol=1e-5, dtype=False)


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: jnp.sort(P, kind="quicksort"), TypeError, "stable"),
        (lambda: jnp.sort([2, 1]), TypeError, "requires ndarray"),
        (lambda: jnp.sort(P, axis=1), ValueError, "out of bounds"),
        (lambda: jnp.lexsort(()), TypeError, "sequence of keys"),
        (lambda: jnp.searchsorted(X, 1), ValueError, "1-dimensional"),
        (lambda: jnp.searchsorted(P, 1, side="up"), ValueError, "side"),
        (lambda: jnp.partition(P, 9), ValueError, "out of bounds"),
        (lambda: nj.jit(jnp.nonzero)(P), nj.errors.ConcretizationTypeError, "size="),
        (lambda: nj.jit(jnp.unique)(P), nj.errors.ConcretizationTypeError, "size="),
        (lambda: jnp.nonzero(1), ValueError, "0d"),
        (lambda: nj.jit(jnp.bincount)(P), nj.errors.ConcretizationTypeError, "length="),
        (lambda: jnp.bincount(N), TypeError, "integer"),
        (lambda: jnp.histogram(N, "auto"), NotImplementedError, "string"),
        (lambda: jnp.isin(P, Q, method="x"), ValueError, "method"),
    ],
)
def test_errors(call: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        call()


def test_fillers_of_sets():
    a, b = np.array([5, 3, 4], np.int32), np.array([5, 9], np.int32)
    assert jnp.setxor1d(a, b, size=5).tolist() == [3, 4, 9, 3, 3] and jnp.setxor1d(a, a, size=2).tolist() == [0, 0]
    assert jnp.setxor1d(a, b, size=4, fill_value=2.5).tolist() == [3.0, 4.0, 9.0, 2.5]
    assert jnp.intersect1d(a, b, size=2, fill_value=2.5).tolist() == [5.0, 2.5]
    assert jnp.setdiff1d(a, b + 0.5, size=4, fill_value=9).dtype == np.int32


def test_complex_nans_are_one():
    x = np.array([complex(np.nan, 1), -np.inf + 1j * np.nan, 1, complex(1, np.nan)], np.complex64)
    values, counts = jnp.unique(x, return_counts=True)
    assert values[0] == 1 and np.isnan(values[1]) and counts.tolist() == [1, 3]
    assert jnp.unique(x, equal_nan=False).size == 4


@pytest.mark.parametrize("dtype", ["float32", "complex64"])
@pytest.mark.parametrize(("a", "b"), [([np.nan, 1], [2, np.nan]), ([np.nan, np.nan, 1], [2, 1]), ([np.nan], [np.nan]),
                                      ([], [np.nan, np.nan]), ([1, 1, 2], [2, 3])])
def test_setxor1d_keeps_nan(a, b, dtype):
    """No NaN equals another one: each array that has any leaves one."""
    a, b = np.array(a, dtype), np.array(b, dtype)
    want = np.setxor1d(a, b)
    np.testing.assert_array_equal(jnp.setxor1d(a, b), want)
    np.testing.assert_array_equal(nj.jit(lambda a, b: jnp.setxor1d(a, b, size=4, fill_value=7))(a, b)[:want.size], want)
    if len(set(a.tolist())) == len(a):
        np.testing.assert_array_equal(jnp.setxor1d(a, b, assume_unique=True), np.setxor1d(a, b, assume_unique=True))


def test_inverse_indices_count_the_values_that_a_size_cuts() -> None:
    fn = nj.jit(lambda x, size: jnp.unique(x, return_inverse=True, size=size), static_argnums=1)
    for size in range(6):
        values, inverse = fn(P, size)
        assert inverse.tolist() == [3, 1, 2, 1, 3, 0]
        assert values.tolist() == [0, 1, 2, 3, 0][:size]


def test_fill_values_broadcast_to_the_result() -> None:
    assert jnp.unique(P, size=5, fill_value=jnp.array([9, 8, 7, 6, 5])).tolist() == [0, 1, 2, 3, 5]
    rows = jnp.array([[1, 2], [1, 2]])
    assert jnp.unique(rows, axis=0, size=2, fill_value=jnp.array([[5, 6]])).tolist() == [[1, 2], [5, 6]]
    with pytest.raises(ValueError, match="Incompatible shapes for broadcasting"):
        jnp.unique(P, size=5, fill_value=jnp.array([7, 8]))


def test_histogram_of_integers_under_strict_promotion():
    with nj.numpy_dtype_promotion("strict"):
        counts, edges = jnp.histogram(np.array([1, 2, 2], np.int8), 2, weights=np.array([1, 2, 3], np.int8))
    assert counts.tolist() == [1, 5] and counts.dtype == edges.dtype == np.float32


def test_edges_of_halves_have_the_digits_of_the_weights():
    x, weights = np.float16([-2.53, 0.1, 2.6]), np.float32([1, 2, 3])
    for got, want in zip(jnp.histogram(x, weights=weights), np.histogram(x.astype(np.float32), weights=weights), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-6, atol=1e-6)
