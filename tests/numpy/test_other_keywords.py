"""Keyword arguments beside NumPy's: sizes, values for what is missing, promises, copies in place of writes, texts, files."""
from __future__ import annotations

import io
import re

import ml_dtypes
import numpy as np
import pytest

import numjet as nj
import numjet.numpy as jnp
from tests.operands import quietly

X = np.array([[3, 1, 2], [0, 5, 4]], np.float32)
I = np.array([3, 1, 3, 2, 1])
DTYPES = pytest.mark.parametrize("dtype", [np.int8, np.uint32, np.float16, ml_dtypes.bfloat16, np.float32, bool, np.complex64])


def assert_equal(got, want):
    """The same numbers, here and in a list of lists or an array."""
    want = np.asarray(want)
    assert got.shape == want.shape
    np.testing.assert_array_equal(np.asarray(got).astype(np.complex64), want.astype(np.complex64))


# ------------------------------------------------------------------------------------------------ sizes

@pytest.mark.parametrize("jitted", [False, True])
@DTYPES
def test_sizes_of_sets_are_filled_up_or_cut_off(dtype, jitted):
    x = np.array([1, 0, 1, 0, 0]).astype(dtype)
    run = nj.jit if jitted else lambda f: f
    values, indices, inverse, counts = run(lambda x: tuple(jnp.unique_all(x, size=4, fill_value=1)))(x)
    assert values.dtype == dtype
    assert_equal(values, [0, 1, 1, 1])
    assert_equal(indices, [1, 0, 1, 1])
    assert_equal(inverse, [1, 0, 1, 0, 0])
    assert_equal(counts, [3, 2, 0, 0])
    assert_equal(run(lambda x: jnp.unique_values(x, size=1))(x), [0])
    assert_equal(run(lambda x: jnp.unique_values(x, size=3, fill_value=1))(x), [0, 1, 1])
    values, counts = run(lambda x: tuple(jnp.unique_counts(x, size=3, fill_value=0)))(x)
    assert_equal(values, [0, 1, 0])
    assert_equal(counts, [3, 2, 0])
    values, inverse = run(lambda x: tuple(jnp.unique_inverse(x, size=3, fill_value=1)))(x)
    assert_equal(values, [0, 1, 1])
    assert_equal(inverse, [1, 0, 1, 0, 0])
    assert_equal(run(lambda x: jnp.union1d(x, x[:1], size=4, fill_value=1))(x), [0, 1, 1, 1])
    assert_equal(jnp.unique(x, sorted=False), [0, 1])


def test_sizes_of_sets_of_nothing():
    assert_equal(jnp.unique_values(I[:0], size=2, fill_value=3), [3, 3])
    with pytest.raises(ValueError, match="fill_value must be specified"):
        jnp.unique_values(I[:0], size=2)


@DTYPES
def test_sizes_of_what_is_chosen(dtype):
    x, mask = X.astype(dtype), np.array([True, False, True])
    for run in (lambda f: f, nj.jit):
        chosen = run(lambda c, x: jnp.compress(c, x, axis=1, size=3, fill_value=1))(mask, x)
        assert chosen.dtype == dtype
        assert_equal(chosen, np.stack([x[:, 0], x[:, 2], np.ones(2, dtype)], 1))
        assert_equal(run(lambda c, x: jnp.compress(c, x, size=1, fill_value=1))(mask, x), x[0, :1])
        rows = nj.vmap(lambda c: jnp.compress(c, x, axis=1, size=1, fill_value=0))(np.eye(3, dtype=bool))
        assert_equal(rows, np.moveaxis(x, 1, 0)[..., None])
    for size in (0, 2, 4, 6):
        found = nj.jit(lambda x, size=size: jnp.where(x, size=size, fill_value=(7, 8)))(x)
        for got, want, other in zip(found, np.nonzero(x), (7, 8), strict=True):
            assert_equal(got, np.append(want, [other] * 6)[:size])
    assert_equal(jnp.where(x, size=6, fill_value=7)[1], np.append(np.nonzero(x)[1], [7] * 6)[:6])
    for options in ({"size": 2}, {"fill_value": 2}):
        with pytest.raises(ValueError, match="size and fill_value"):
            jnp.where(x, x, x, **options)


def test_sizes_of_masks():
    for size in (4, 8):
        for got, want in zip(jnp.mask_indices(3, jnp.triu, size=size), np.triu_indices(3), strict=True):
            assert_equal(got, np.append(want, [0, 0])[:size])


def test_slopes_go_through_what_is_chosen():
    slopes = nj.grad(lambda x: jnp.compress(np.array([True, False, True]), x, axis=1, size=4, fill_value=-1).sum())(X)
    assert_equal(slopes, [[1, 0, 1], [1, 0, 1]])


# ------------------------------------------------------------------------------------------------ indices

@DTYPES
def test_values_of_what_is_out_of_bounds(dtype):
    x = X.astype(dtype)
    ones = np.stack([x[:, 0], np.ones(2, dtype)], 1)
    for run in (lambda f: f, nj.jit):
        assert_equal(run(lambda x: jnp.take(x, np.array([0, 9]), axis=1, fill_value=1))(x), ones)
        along = run(lambda x: jnp.take_along_axis(x, np.array([[0, 9]]), 1, fill_value=1))(x)
        assert along.dtype == dtype
        assert_equal(along, ones)
        promised = run(lambda x: jnp.take(x, np.array([0, 2]), axis=1, unique_indices=True, indices_are_sorted=True))(x)
        assert_equal(promised, x[:, ::2])
        assert_equal(run(lambda x: jnp.delete(x, np.array([0, 2]), axis=1, assume_unique_indices=True))(x), x[:, 1:2])


def test_negative_indices_are_out_of_bounds_if_asked_for():
    last = np.array([[0, -1]])
    assert_equal(jnp.take_along_axis(X, last, 1, wrap_negative_indices=True), X[:, [0, 2]])
    assert_equal(jnp.take_along_axis(X, last, 1, wrap_negative_indices=False, mode="clip"), X[:, [0, 0]])
    assert_equal(jnp.take_along_axis(X, last, 1, wrap_negative_indices=False, fill_value=5), [[3, 5], [0, 5]])
    assert np.isnan(jnp.take_along_axis(X, last, 1, wrap_negative_indices=False)[:, 1]).all()


@pytest.mark.parametrize("mode, at, want", [
    ("clip", 5, [[3, 1, 9], [0, 5, 9]]), ("clip", -4, [[9, 1, 2], [9, 5, 4]]), ("drop", 5, X), ("fill", 5, X), (None, 5, X),
    ("fill", -1, [[3, 1, 9], [0, 5, 9]]), ("promise_in_bounds", 1, [[3, 9, 2], [0, 9, 4]])])
def test_modes_of_put_along_axis(mode, at, want):
    put = lambda x: jnp.put_along_axis(x, np.array([[at]]), 9, 1, inplace=False, mode=mode)
    for run in (lambda f: f, nj.jit):
        for dtype in (np.float16, ml_dtypes.bfloat16, np.int8, np.complex64):
            assert_equal(run(put)(jnp.asarray(X, dtype)), want)
    with pytest.raises(ValueError, match="mode"):
        jnp.put_along_axis(jnp.asarray(X), np.array([[1]]), 9, 1, inplace=False, mode="wrong")


def test_writers_make_arrays_or_refuse():
    x, mask, values = jnp.asarray(X), X > 1, jnp.array([7.0, 8])
    placed, masked = X.copy(), X.copy()
    np.place(placed, mask, [7, 8])
    np.putmask(masked, mask, [7, 8])
    assert_equal(jnp.place(x, mask, values, inplace=False), placed)
    assert_equal(jnp.putmask(x, mask, values, inplace=False), masked)
    for wrong in (lambda: jnp.place(x, mask, values, inplace=True), lambda: jnp.putmask(x, mask, values, inplace=True),
                  lambda: jnp.put_along_axis(x, np.array([[1]]), 9, 1, inplace=True),
                  lambda: jnp.fill_diagonal(x, 1, wrap=True, inplace=True)):
        with pytest.raises(ValueError, match="immutable"):
            wrong()
    for wrong in (lambda: jnp.copyto(x, 1, casting="no"), lambda: jnp.copyto(x, 1, where=mask)):
        with pytest.raises(TypeError, match="immutable"):
            wrong()
    for shape in ((5, 2), (7, 2), (2, 5), (3, 3), (1, 1)):
        tall = np.zeros(shape, np.float32)
        np.fill_diagonal(tall, 1, wrap=True)
        assert_equal(jnp.fill_diagonal(jnp.zeros(shape), 1, wrap=True, inplace=False), tall)


@pytest.mark.parametrize("axis", [0, 1, -1])
@DTYPES
def test_partitions_along_axes(axis, dtype):
    if np.dtype(dtype).kind == "c":
        with pytest.raises((TypeError, NotImplementedError)):
            jnp.partition(X.astype(dtype), 1, axis=axis)
        return
    x, kth = X.astype(dtype), 1
    for got in (jnp.partition(x, kth, axis=axis), jnp.take_along_axis(x, jnp.argpartition(x, kth, axis=axis), axis)):
        assert_equal(jnp.sort(got, axis), np.sort(x.astype(np.float32), axis))
        assert_equal(jnp.take(got, kth, axis), np.take(np.sort(x.astype(np.float32), axis), kth, axis))


@pytest.mark.parametrize("method", ["scan", "scan_unrolled", "sort", "compare_all"])
@pytest.mark.parametrize("dtype", [np.int8, np.float16, ml_dtypes.bfloat16, np.float32])
def test_methods_of_searching(method, dtype):
    edges, x = np.array([1, 2, 3], dtype), I.astype(dtype)
    for values in (x, x[:0], x[0]):
        assert_equal(jnp.searchsorted(edges, values, method=method), np.searchsorted(edges.astype(float), values.astype(float)))
        assert_equal(jnp.digitize(values, edges, method=method), np.digitize(values.astype(float), edges.astype(float)))
    for wrong in (lambda: jnp.searchsorted(edges, x, method="guess"), lambda: jnp.digitize(x, edges, method="guess")):
        with pytest.raises(ValueError, match="guess"):
            wrong()


# ------------------------------------------------------------------------------------------------ numbers

@DTYPES
def test_polynomials_lose_leading_zeros_if_asked_for(dtype):
    a, b = (np.array(p).astype(dtype) for p in ([0, 0, 1, 0, 1], [0, 1, 1]))
    if dtype is not bool:
        product = np.polymul(a[2:].astype(np.complex64), b[1:].astype(np.complex64))
        assert_equal(jnp.polymul(a, b, trim_leading_zeros=True), product)
        assert_equal(jnp.polymul(a, b, trim_leading_zeros=False), np.append([0, 0, 0], product))
        quotient, rest = jnp.polydiv(a, b[1:], trim_leading_zeros=True)
        assert_equal(rest, [2])
        assert_equal(quotient, np.array([0, 0, 1, -1]).astype(quotient.dtype))


def test_roots_at_infinity_are_left_out_or_nan():
    p = jnp.array([0.0, 0, 1, -3, 2, 0])
    np.testing.assert_allclose(np.sort(np.real(jnp.roots(p, strip_zeros=True))), [0, 1, 2], atol=1e-5)
    found = np.asarray(nj.jit(lambda p: jnp.roots(p, strip_zeros=False))(p))
    np.testing.assert_allclose(np.sort(found.real), [0, 1, 2, np.nan, np.nan], atol=1e-5)
    assert jnp.roots(jnp.zeros(2), strip_zeros=True).shape == (0,)


def test_products_of_small_integers_stay_small_if_asked_for():
    for dtype in (np.int8, np.uint8, np.int16):
        x = np.array([100, 100], dtype)
        narrow, broad = (jnp.prod(x, promote_integers=promote) for promote in (False, True))
        assert narrow.dtype == dtype and narrow == np.prod(x, dtype=dtype)
        assert broad.dtype.itemsize == 4 and broad == 10000


def test_matrices_are_made_symmetric_or_a_triangle_is_read():
    m = np.array([[4, 1], [2, 3]], np.float32)
    for dtype in (np.float32, np.complex64):
        x = m.astype(dtype)
        np.testing.assert_allclose(jnp.linalg.eigvalsh(x, symmetrize_input=True), np.linalg.eigvalsh((m + m.T) / 2), rtol=1e-6)
        for triangle in "LU":
            np.testing.assert_allclose(jnp.linalg.eigvalsh(x, UPLO=triangle, symmetrize_input=False),
                                       np.linalg.eigvalsh(m, UPLO=triangle), rtol=1e-6)


def test_residuals_are_those_of_numpy_if_asked_for():
    for a, b in ((X.T, np.ones(3, np.float32)), (X, np.ones(2, np.float32))):
        want = np.linalg.lstsq(a, b, rcond=None)[1]
        assert jnp.linalg.lstsq(a, b, numpy_resid=True)[1].shape == want.shape
        np.testing.assert_allclose(jnp.linalg.lstsq(a, b, numpy_resid=True)[1], want, rtol=1e-4)
        assert jnp.linalg.lstsq(a, b, numpy_resid=False)[1].shape == (1,)


def test_singular_values_below_a_bound_are_zeros():
    x, y = np.arange(4.0, dtype=np.float32), np.array([1, 3, 2, 0], np.float32)
    with quietly():
        want = np.polyfit(x, y, 1, rcond=0.5, full=True)
    found = jnp.polyfit(x, y, 1, rcond=0.5, full=True)
    np.testing.assert_allclose(found[0], want[0], rtol=1e-5)
    assert found[2] == want[2] == 1
    a, b = X.T, np.ones(3, np.float32)
    np.testing.assert_allclose(jnp.linalg.lstsq(a, b, rcond=0.5)[0], np.linalg.lstsq(a, b, rcond=0.5)[0], rtol=1e-5)


# ------------------------------------------------------------------------------------------------ dtypes, texts, files

@pytest.mark.parametrize("dtype", [np.int8, np.float16, ml_dtypes.bfloat16, np.float32, np.complex64])
def test_dtypes_of_new_arrays(dtype):
    for made, want in ((jnp.dstack([X, X], dtype=dtype), np.dstack([X, X])),
                       (jnp.row_stack([X, X], dtype=dtype), np.vstack([X, X])),
                       (jnp.loadtxt(io.StringIO("1 2\n3 4"), dtype=dtype), [[1, 2], [3, 4]]),
                       (jnp.genfromtxt(io.StringIO("1 2\n3 4"), dtype=dtype), [[1, 2], [3, 4]]),
                       (jnp.empty_like(X, dtype=dtype, shape=(0, 2)), np.zeros((0, 2)))):
        assert made.dtype == dtype
        assert_equal(made, want)
    for n in (0, 1, 4, 5):
        found = jnp.fft.rfftfreq(max(n, 1), dtype=dtype)
        assert found.dtype == (np.float32 if dtype is np.int8 else dtype)  # frequencies are no integers
        np.testing.assert_allclose(np.asarray(found).astype(np.complex64), np.fft.rfftfreq(max(n, 1)), rtol=4e-3)
    assert jnp.empty_like(X, shape=3).shape == (3,)


@pytest.mark.parametrize("dtype", [ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, ml_dtypes.int4, np.float16, np.int8])
def test_texts_of_numbers_in_dtypes_that_numpy_cannot_read(dtype):
    for made in (jnp.fromstring("1 2 3", dtype=dtype, sep=" "), jnp.loadtxt(io.StringIO("1 2 3"), dtype=dtype)):
        assert made.dtype == dtype and made.tolist() == [1, 2, 3]


def test_frequencies_are_not_true_or_false():
    with pytest.raises(TypeError, match="bool"):
        jnp.fft.rfftfreq(4, dtype=bool)


def test_orders_of_memory():
    assert_equal(jnp.require(X, requirements="C"), X)
    with pytest.raises(ValueError, match="'F' cannot be met"):
        jnp.require(X, requirements=["F", "W"])
    with pytest.raises(NotImplementedError, match="row by row"):
        jnp.asfortranarray(X, dtype=np.int32)
    x = jnp.asarray(X)
    for shares in (jnp.may_share_memory(x, x, max_work=1), jnp.shares_memory(x, x, max_work=1)):
        assert shares is True
    assert not jnp.shares_memory(x, x + 1, max_work=1)


def test_texts_of_arrays():
    x = jnp.asarray(X * 1e-9)
    assert jnp.array_str(x, max_line_width=10, suppress_small=True) == np.array_str(X * 1e-9, 10, suppress_small=True)
    lines = jnp.array_repr(x, max_line_width=20, suppress_small=True).splitlines()
    assert lines[:3] == ["Array([[0., 0.,", "        0.],", "       [0., 0.,"] and lines[-1] == "      dtype=float32)"
    options, numbers = np.get_printoptions(), np.float32([np.nan, np.inf, 1.25, 1e-9, *range(9)])
    try:
        for change in (lambda: jnp.set_printoptions(threshold=5, edgeitems=1), lambda: jnp.set_printoptions(linewidth=20),
                       lambda: jnp.set_printoptions(suppress=True), lambda: jnp.set_printoptions(nanstr="N", infstr="I"),
                       lambda: jnp.set_printoptions(sign="+", floatmode="fixed", override_repr=None),
                       lambda: jnp.set_printoptions(formatter={"float": lambda x: "f"})):
            change()
            assert np.get_printoptions() != options
            assert jnp.array_str(jnp.asarray(numbers)) == np.array_str(numbers)
    finally:
        np.set_printoptions(**options)
    with pytest.raises(TypeError, match="wrong"):
        jnp.set_printoptions(wrong=1)


def test_objects_are_not_saved_if_they_may_not_be():
    objects = np.array([1, "x"], object)
    for save in (lambda f: jnp.save(f, objects, allow_pickle=False), lambda f: jnp.savez(f, a=objects, allow_pickle=False),
                 lambda f: jnp.savez_compressed(f, a=objects, allow_pickle=False)):
        with pytest.raises(ValueError, match=re.escape("allow_pickle=False")):
            save(io.BytesIO())
