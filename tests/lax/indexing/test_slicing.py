"""Static and dynamic slices: values, clamping, errors."""

from __future__ import annotations

import numpy as np
import pytest

from numjet import lax
from numjet.core.op import Undefined, Zero
from numjet.core.stage import trace_to_closed
from numjet.core.trace import aval_of
from numjet.foundation import dtypes
from numjet.transforms.jvp import jvp_flat
from numjet.transforms.transpose import backward_pass
from numjet.transforms.vmap import batch_flat, move_to

X = np.arange(12, dtype=np.float32).reshape(3, 4)


def same(got, want):
    got = np.asarray(got)
    assert got.dtype == np.asarray(want).dtype and got.shape == np.shape(want)
    np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize(
    "lo, hi, strides",
    [
        ((0, 0), (3, 4), None),
        ((1, 2), (3, 3), None),
        ((0, 1), (3, 4), (2, 3)),
        ((2, 2), (2, 4), (1, 5)),
        ((3, 0), (3, 0), None),
    ],
)
def test_slice_is_numpys(lo, hi, strides):
    steps = strides or (1, 1)
    same(lax.slice(X, lo, hi, strides), X[lo[0] : hi[0] : steps[0], lo[1] : hi[1] : steps[1]])


@pytest.mark.parametrize("dtype", ["bool", "uint8", "bfloat16", "complex64"])
def test_slices_move_any_dtype(dtype):
    x = (X > 3) if dtype == "bool" else X.astype(dtypes.as_dtype(dtype))
    same(lax.slice(x, (1, 0), (3, 2)), x[1:3, 0:2])
    same(lax.dynamic_slice(x, (np.int32(9), 1), (1, 2)), x[2:, 1:3])
    same(lax.dynamic_update_slice(x, x[:1, :1], (2, 3)), np.r_[x[:2].ravel(), x[2, :3], x[0, 0]].reshape(3, 4))


def test_slices_move_keys():
    keys = np.arange(8, dtype=np.uint32).reshape(4, 2).view(dtypes.key_dtype)[:, 0]
    assert lax.slice(keys, (1,), (4,), (2,))._value.tobytes() == keys[1::2].tobytes()
    assert lax.dynamic_slice(keys, (3,), (2,))._value.tobytes() == keys[2:].tobytes()
    assert lax.dynamic_update_slice(keys, keys[3:], (0,))._value[0].tobytes() == keys[3].tobytes()


def test_in_dim():
    same(lax.slice_in_dim(X, -3, -1, axis=1), X[:, -3:-1])
    same(lax.slice_in_dim(X, 0, None, stride=3, axis=-1), X[:, ::3])
    same(lax.index_in_dim(X, -1, axis=1), X[:, -1:])
    same(lax.index_in_dim(X, 2, keepdims=False), X[2])
    same(lax.dynamic_slice_in_dim(X, np.int32(-1), 2, axis=1), X[:, 2:])
    same(lax.dynamic_index_in_dim(X, np.int32(1), 0, keepdims=False), X[1])
    same(lax.dynamic_index_in_dim(X, np.int32(9), -1), X[:, 3:])
    same(lax.dynamic_update_slice_in_dim(X, X[:, :2], 9, axis=1), np.c_[X[:, :2], X[:, :2]])
    same(lax.dynamic_update_index_in_dim(X, X[0], 1, axis=0), np.stack([X[0], X[0], X[2]]))
    same(lax.dynamic_update_index_in_dim(X, X[:1], np.int32(-1), axis=0), np.stack([X[0], X[1], X[0]]))


@pytest.mark.parametrize("start, first", [(0, 0), (2, 2), (-1, 3), (-9, 0), (99, 3)])
@pytest.mark.parametrize("wrap", [int, np.int8, np.int32, np.int64])
def test_dynamic_starts_wrap_then_clamp(start, first, wrap):
    x = np.arange(5, dtype=np.int32)
    same(lax.dynamic_slice(x, (wrap(start),), (2,)), x[first : first + 2])


def test_starts_of_narrow_dtypes_reach_long_axes():
    x = np.arange(300, dtype=np.int32)
    same(lax.dynamic_slice(x, (np.int8(-3),), (2,)), x[297:299])
    same(lax.dynamic_slice(x, (np.uint8(200),), (2,)), x[200:202])
    same(lax.dynamic_slice(x, (np.uint32(2**32 - 1),), (1,)), x[299:])
    same(lax.dynamic_slice(x, (np.array(-3),), (2,), allow_negative_indices=False), x[:2])
    same(lax.dynamic_slice(X, np.array([1, -2]), (1, 2)), X[1:2, 2:])


@pytest.mark.parametrize(
    "call, error, text",
    [
        (lambda: lax.slice(X, (0,), (3,)), TypeError, "length equal to the number of dimensions"),
        (lambda: lax.slice(X, (0, 0), (3, 5)), TypeError, "less than or equal to operand shape"),
        (lambda: lax.slice(X, (0, -1), (3, 4)), TypeError, "greater than or equal to zero"),
        (lambda: lax.slice(X, (0, 3), (3, 2)), TypeError, "greater than or equal to start_indices"),
        (lambda: lax.slice(X, (0, 0), (3, 4), (1, 0)), TypeError, "strides must be positive"),
        (lambda: lax.slice([1.0], (0,), (1,)), TypeError, "list"),
        (lambda: lax.index_in_dim(X, 7), IndexError, "index 7 is out of bounds for axis 0 with size 3"),
        (
            lambda: lax.dynamic_slice(X, (0,), (1, 1)),
            ValueError,
            r"Length of slice indices must match .* \(1 vs \(3, 4\)\)",
        ),
        (lambda: lax.dynamic_slice(X, (0, 0), (1, 5)), TypeError, "less than or equal to operand shape"),
        (lambda: lax.dynamic_slice(X, (0, 0), (1, -1)), TypeError, "greater than or equal to zero"),
        (lambda: lax.dynamic_slice(X, (0, 0.5), (1, 1)), TypeError, "integers of the same type"),
        (
            lambda: lax.dynamic_slice(X, (np.array(0, np.int8), np.array(0, np.uint8)), (1, 1)),
            TypeError,
            "integers of the same type",
        ),
        (lambda: lax.dynamic_slice(X, (True, 0), (1, 1)), TypeError, "integers of the same type, got: bool"),
        (lambda: lax.dynamic_slice(X, (0, np.arange(2)), (1, 1)), TypeError, "must be scalars"),
        (lambda: lax.dynamic_slice(X, np.zeros((2, 2), int), (1, 1)), ValueError, "1D sequence"),
        (
            lambda: lax.dynamic_slice(X, (-1, 0), (1, 1), allow_negative_indices=False),
            ValueError,
            "out of bounds for dimension 3",
        ),
        (lambda: lax.dynamic_update_slice(X, X[0], (0, 0)), TypeError, "same rank"),
        (lambda: lax.dynamic_update_slice(X[:2], X, (0, 0)), TypeError, "must be smaller"),
        (lambda: lax.dynamic_update_slice(X, X[:1].astype(int), (0, 0)), TypeError, "same dtypes, got float32, int32"),
        (lambda: lax.dynamic_update_index_in_dim(X, np.float32(1), 0, 0), TypeError, "rank 2 or 1"),
    ],
)
def test_errors(call, error, text):
    with pytest.raises(error, match=text):
        call()


def test_derivatives_and_batches_of_dynamic_slices(rng):
    x, u, i = rng.standard_normal(6).astype(np.float32), rng.standard_normal(2).astype(np.float32), np.int32(9)
    zero = Zero(aval_of(i).to_tangent_aval())
    update = lambda x, u, i: [lax.dynamic_update_slice(x, u, (i,))]
    _, (t,) = jvp_flat(update, [x, u, i], [x, 2 * u, zero])
    same(t, np.r_[x[:4], 2 * u])
    closed = trace_to_closed(lambda x, u: update(x, u, i), [aval_of(x), aval_of(u)])
    ct_x, ct_u = backward_pass(closed.jaxpr, closed.consts, [Undefined(aval_of(x)), Undefined(aval_of(u))], [x])
    same(ct_x, np.r_[x[:4], 0, 0].astype(np.float32))
    same(ct_u, x[4:])
    places = np.array([0, 9, -1], np.int32)
    (out,), (dim,) = batch_flat(lambda i: update(x, u, i), 3, [places], [0])
    want = np.stack([np.asarray(update(x, u, i)[0]) for i in places])
    same(move_to(out, dim, 0, 3), want)
    (out,), (dim,) = batch_flat(lambda i: [lax.dynamic_slice(x, (i,), (2,))], 3, [places], [0])
    same(move_to(out, dim, 0, 3), np.stack([x[:2], x[4:], x[4:]]))


def test_slice_under_staging_names_the_static_bounds():
    with pytest.raises(TypeError, match="__index__"):
        trace_to_closed(lambda i: [lax.slice(X, (0, i), (3, 4))], [aval_of(np.int32(0))])
