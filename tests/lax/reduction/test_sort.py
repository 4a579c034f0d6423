"""sort, sort_key_val and top_k."""
from __future__ import annotations

import os

import ml_dtypes
import numpy as np
import pytest

import numjet as nj
from numjet import _native, lax
from numjet.cpu.kernels import DTYPE_CODES
from numjet.lax.reduction.sort import KERNEL_DTYPES, top_k_p
from tests.lax.lax_gradients import by_loop, jvp, vjp, vmap

X = np.array([[3, -1, 2, 5], [0, 7, -4, 5], [2, 2, 2, -9]], np.float32)
NAN, INF = np.nan, np.inf


def test_the_kernels_codes():
    assert {name: code for code, name in enumerate(KERNEL_DTYPES)} == DTYPE_CODES


@pytest.mark.parametrize("dtype", [np.float32, np.float16, ml_dtypes.bfloat16, np.int8, np.uint64, bool,
                                   ml_dtypes.int4])
@pytest.mark.parametrize("dimension", [0, 1, -1])
def test_values(dtype, dimension, x64):
    x = X.astype(np.int64).astype(dtype)
    out = np.asarray(lax.sort(x, dimension))
    assert out.dtype == x.dtype
    np.testing.assert_array_equal(out.astype(np.float64), np.sort(x.astype(np.float64), dimension))


def test_nan_is_last_and_zeros_keep_their_order():
    out = np.asarray(lax.sort(np.float32([NAN, -NAN, 0.0, -0.0, INF, 0.0, -INF])))
    np.testing.assert_array_equal(out, np.float32([-INF, 0, 0, 0, INF, NAN, NAN]))
    assert np.signbit(out[1:4]).tolist() == [False, True, False]


@pytest.mark.parametrize("keys, order", [
    ([0.0, -0.0, 0.0, -0.0], [0, 1, 2, 3]), ([NAN, -NAN, NAN], [0, 1, 2]), ([2, 1, 2, 1], [1, 3, 0, 2])])
def test_equal_keys_keep_their_order(keys, order):
    for dtype in (np.float32, ml_dtypes.bfloat16, np.float16):
        assert lax.sort_key_val(np.array(keys, dtype), np.arange(len(keys)))[1].tolist() == order


def test_complex_numbers_are_ordered_by_real_then_imaginary_part():
    keys = np.complex64([complex(2, 0), complex(1, NAN), complex(NAN, 0), complex(1, -1), complex(1, 1)])
    assert lax.sort_key_val(keys, np.arange(5))[1].tolist() == [3, 4, 1, 0, 2]


def test_several_keys_and_payload():
    a, b, payload = np.int32([1, 0, 1, 0]), np.float32([2, 5, -2, 4]), np.arange(4)
    out = lax.sort((a, b, payload), num_keys=2)
    assert isinstance(out, tuple)
    assert [x.tolist() for x in out] == [[0, 0, 1, 1], [4, 5, -2, 2], [3, 1, 2, 0]]


def test_tangents_are_permuted():
    t = np.arange(12, dtype=np.float32).reshape(3, 4)
    order = np.argsort(X, 0, kind="stable")
    np.testing.assert_array_equal(jvp(lambda x: lax.sort(x, 0), [X], [t]), np.take_along_axis(t, order, 0))
    values = jvp(lambda k, v: lax.sort_key_val(k, v, 0)[1], [X, -X], [np.zeros_like(X), t])
    np.testing.assert_array_equal(values, np.take_along_axis(t, order, 0))


def test_cotangents_are_permuted_back():
    ct = np.arange(12, dtype=np.float32).reshape(3, 4)
    expected = np.zeros_like(X)
    np.put_along_axis(expected, np.argsort(X, 1, kind="stable"), ct, 1)
    np.testing.assert_array_equal(vjp(lax.sort, [X], ct)[0], expected)


@pytest.mark.parametrize("dims", [(0, None), (None, 1), (2, 0), (1, 1)], ids=str)
def test_batches(dims):
    args = [X if d is None else np.stack([X, -X, X[::-1]], d) for d in dims]
    fun = lambda k, v: lax.sort_key_val(k, v, 1)[1]
    np.testing.assert_array_equal(vmap(fun, args, list(dims)), by_loop(fun, args, list(dims)))


@pytest.mark.parametrize("x, k, values, indices", [
    (np.float32([NAN, -0.0, 0.0, INF, -NAN]), 5, [NAN, INF, 0.0, -0.0, -NAN], [0, 3, 2, 1, 4]),
    (np.int32([3, 1, 3, 2]), 3, [3, 3, 2], [0, 2, 3]), (np.uint8([3, 1, 255]), 2, [255, 3], [2, 0]),
    (np.int8([-128, 127, 0]), 3, [127, 0, -128], [1, 2, 0]), (np.array([True, False, True]), 2, [True, True], [0, 2]),
    (np.array([1, -2, 3], ml_dtypes.bfloat16), 2, [3, 1], [2, 0]), (np.float32([1, 2]), 0, [], [])])
def test_top_k(x, k, values, indices):
    top, where = lax.top_k(x, k)
    assert (top.dtype, where.dtype) == (x.dtype, np.int32)
    np.testing.assert_array_equal(np.asarray(top), np.array(values, x.dtype))
    assert where.tolist() == indices


SELECTED = ["float32", "float64", "float16", "bfloat16", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32",
            "uint64", "bool"]


@pytest.mark.parametrize("k", [1, 7, 40, 300, 1000])
@pytest.mark.parametrize("name", SELECTED)
def test_compiled_top_k_selects_and_orders_as_defined(name, k, x64):
    """Rows longer than what the kernel gathers at a time, with ties, NaNs of both signs and zeros of both signs."""
    dtype = np.dtype(getattr(ml_dtypes, name, None) or name)
    rng = np.random.default_rng(k)
    x = (rng.normal(size=(3, 1000)) * 40).round().astype(np.int64).clip(0 if name.startswith("u") else -128, 127)
    x = x.astype(dtype)
    if "float" in name:
        x[:, ::50] = rng.choice(np.array([NAN, -NAN, 0.0, -0.0], np.float32), (3, 20)).astype(dtype)
    expected = top_k_p.eager(x, k=k, axis=1)
    for out, wanted in zip(nj.jit(lambda x: lax.top_k(x, k))(x), expected, strict=True):
        assert np.asarray(out).tobytes() == wanted.tobytes()
    for out, wanted in zip(nj.jit(lambda x: lax.top_k(x, k, axis=0))(x.T), expected, strict=True):
        assert np.asarray(out).tobytes() == wanted.T.tobytes()


@pytest.mark.parametrize("order", ["ascending", "descending", "equal"])
def test_top_k_of_ordered_rows(order):
    x = {"ascending": np.arange(5000), "descending": -np.arange(5000), "equal": np.zeros(5000)}[order].astype(np.float32)
    values, where = nj.jit(lambda x: lax.top_k(x, 100))(x)
    np.testing.assert_array_equal(np.asarray(where), np.arange(4999, 4899, -1) if order == "ascending" else np.arange(100))
    np.testing.assert_array_equal(np.asarray(values), x[np.asarray(where)])


def test_top_k_shares_its_rows_among_threads():
    x = np.random.default_rng(0).normal(size=(64, 4000)).astype(np.float32)
    f, x = nj.jit(lambda x: lax.top_k(x, 9)), nj.numpy.asarray(x)   # threads share the copy of an ndarray, too
    before = _native.num_threads()
    results, shared = [], []
    try:
        for count in (1, 2):
            _native.set_num_threads(count)
            regions = _native.parallel_regions()
            results.append([np.asarray(out).tobytes() for out in f(x)])
            shared.append(_native.parallel_regions() - regions)
    finally:
        _native.set_num_threads(before)
    assert results[0] == results[1]
    assert shared == [0, 1 if len(os.sched_getaffinity(0)) > 1 else 0]


def test_top_k_along_an_axis_and_its_derivative():
    top, where = lax.top_k(X, 2, axis=0)
    np.testing.assert_array_equal(np.asarray(top), np.take_along_axis(X, np.asarray(where), 0))
    ct = np.arange(1, 9, dtype=np.float32).reshape(2, 4)
    expected = np.zeros_like(X)
    np.put_along_axis(expected, np.asarray(where), ct, 0)
    np.testing.assert_array_equal(vjp(lambda x: lax.top_k(x, 2, axis=0)[0], [X], ct)[0], expected)
    stack = np.stack([X, -X], 1)
    fun = lambda x: lax.top_k(x, 2)[1]
    np.testing.assert_array_equal(vmap(fun, [stack], [1]), by_loop(fun, [stack], [1]))


@pytest.mark.parametrize("fun, error, message", [
    (lambda: lax.sort((X, X[0])), TypeError, "equal shapes"),
    (lambda: lax.sort((X, X), num_keys=3), ValueError, r"num_keys=3 must be between 1 and len\(operand\)=2"),
    (lambda: lax.sort((X, X), num_keys=0), ValueError, "num_keys=0"),
    (lambda: lax.sort(()), TypeError, "at least one operand"),
    (lambda: lax.sort(X, dimension=2), ValueError, "axis 2 is out of bounds"),
    (lambda: lax.sort(1.0), ValueError, "out of bounds for array of dimension 0"),
    (lambda: lax.top_k(X, 5), ValueError, "no larger than size along axis"),
    (lambda: lax.top_k(X, -1), ValueError, "nonnegative"),
    (lambda: lax.top_k(X, 1, axis=4), ValueError, "axis 4 is out of bounds"),
    (lambda: lax.top_k(X.astype(np.complex64), 1), ValueError, "complex"),
])
def test_errors(fun, error, message):
    with pytest.raises(error, match=message):
        fun()
