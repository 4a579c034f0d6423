"""concatenate, split, pad and tile."""
from __future__ import annotations

import numpy as np
import pytest

from numjet import lax
from tests.lax.lax_gradients import by_loop, vjp, vmap

X = np.arange(12, dtype=np.float32).reshape(3, 4)
V = np.arange(5, dtype=np.float32)


def padded(x, value, config):
    """By the definition: the element at low + i * (interior + 1), where that is in the result."""
    shape = [low + high + n + max(n - 1, 0) * k for n, (low, high, k) in zip(x.shape, config, strict=True)]
    out = np.full(shape, value, x.dtype)
    for index in np.ndindex(*x.shape):
        place = tuple(low + i * (k + 1) for i, (low, _, k) in zip(index, config, strict=True))
        if all(0 <= p < n for p, n in zip(place, shape, strict=True)):
            out[place] = x[index]
    return out


CONFIGS = [((1, 2, 0), (0, 0, 0)), ((0, 0, 2), (-1, 3, 0)), ((-1, -1, 1), (2, -3, 3)), ((-4, 4, 1), (0, -4, 0)),
           ((5, -6, 0), (-3, 0, 0))]


@pytest.mark.parametrize("config", CONFIGS, ids=str)
def test_pad(config):
    np.testing.assert_array_equal(np.asarray(lax.pad(X, np.float32(-7), config)), padded(X, -7, config))


@pytest.mark.parametrize("x, config, expected", [
    (np.arange(3.0, dtype=np.float32), ((-1, 2, 2),), [9, 9, 1, 9, 9, 2, 9, 9]),
    (np.arange(0.0, dtype=np.float32), ((1, 2, 2),), [9, 9, 9]),
    (np.arange(1.0, dtype=np.float32), ((-1, 0, 5),), []),
])
def test_pad_at_the_edges(x, config, expected):
    assert lax.pad(x, 9.0, config).tolist() == expected


@pytest.mark.parametrize("config", CONFIGS, ids=str)
def test_the_cotangents_of_pad_are_of_its_elements_and_of_the_padding(config):
    shape = padded(X, 0, config).shape
    ct = np.arange(1, 1 + np.prod(shape), dtype=np.float32).reshape(shape)
    from_x, from_value = vjp(lambda x, v: lax.pad(x, v, config), [X, np.float32(2)], ct)
    mask = padded(np.ones_like(X), 0, config) == 1
    where = padded(np.arange(1, 13, dtype=np.float32).reshape(X.shape), 0, config)
    expected = np.zeros(13, np.float32)
    expected[where[mask].astype(int)] = ct[mask]
    np.testing.assert_array_equal(from_x, expected[1:].reshape(X.shape))
    assert from_value == ct[~mask].sum()


def test_the_cotangent_of_a_padding_value_is_finite_beside_infinite_ones():
    ct = np.array([1, np.inf, 2], np.float32)
    assert vjp(lambda v: lax.pad(np.zeros(1, np.float32), v, ((1, 1, 0),)), [np.float32(0)], ct)[0] == 3


@pytest.mark.parametrize("dims", [(0, None), (2, None), (None, 0), (1, 0)], ids=str)
def test_batched_pad(dims):
    args = [np.stack([X, -X], axis=dims[0]) if dims[0] is not None else X,
            np.array([5, 6], np.float32) if dims[1] is not None else np.float32(5)]
    fun = lambda x, v: lax.pad(x, v, ((1, 0, 1), (-1, 2, 0)))
    np.testing.assert_array_equal(vmap(fun, args, list(dims)), by_loop(fun, args, list(dims)))


def test_concatenate_and_split_are_inverse():
    parts = [X, X[:0], X[:1] + 100]
    joined = lax.concatenate(parts, 0)
    np.testing.assert_array_equal(np.asarray(joined), np.concatenate(parts))
    for part, back in zip(parts, lax.split(joined, (3, 0, 1), -2), strict=True):
        np.testing.assert_array_equal(np.asarray(back), part)
    assert lax.concatenate([joined], 0) is joined


def test_the_cotangent_of_concatenate_is_split():
    ct = np.arange(20, dtype=np.float32).reshape(5, 4)
    first, second = vjp(lambda x, y: lax.concatenate([x, y], 0), [X, X[:2]], ct)
    np.testing.assert_array_equal(first, ct[:3])
    np.testing.assert_array_equal(second, ct[3:])


def test_a_part_that_nobody_reads_has_a_zero_cotangent():
    (ct,) = vjp(lambda x: lax.split(x, (1, 2), 0)[1], [X], np.ones((2, 4), np.float32))
    np.testing.assert_array_equal(ct, np.repeat([[0], [1], [1]], 4, 1))


@pytest.mark.parametrize("dims", [(0, None), (None, 1), (2, 0)], ids=str)
def test_batched_concatenate(dims):
    args = [np.stack([X, -X], axis=d) if d is not None else X for d in dims]
    fun = lambda x, y: lax.concatenate([x, y], 1)
    np.testing.assert_array_equal(vmap(fun, args, list(dims)), by_loop(fun, args, list(dims)))


@pytest.mark.parametrize("reps", [(1, 1), (2, 3), (0, 2)])
def test_tile(reps):
    np.testing.assert_array_equal(np.asarray(lax.tile(X, reps)), np.tile(X, reps))
    ct = np.arange(np.tile(X, reps).size, dtype=np.float32).reshape(np.tile(X, reps).shape)
    blocks = ct.reshape(reps[0], 3, reps[1], 4).sum((0, 2))
    np.testing.assert_array_equal(vjp(lambda x: lax.tile(x, reps), [X], ct)[0], blocks)


@pytest.mark.parametrize("fun, error, message", [
    (lambda: lax.pad(X, np.int32(0), ((0, 0, 0), (0, 0, 0))), TypeError, "same dtype: got float32 and int32"),
    (lambda: lax.pad(X, 0.0, ((0, 0, 0),)), ValueError, "length of padding_config"),
    (lambda: lax.pad(X, 0.0, ((0, 0, -1), (0, 0, 0))), ValueError, "interior padding"),
    (lambda: lax.pad(X, 0.0, ((-2, -2, 0), (0, 0, 0))), ValueError, "Dimension size after padding"),
    (lambda: lax.pad(X, X, ((0, 0, 0), (0, 0, 0))), ValueError, "must be a scalar"),
    (lambda: lax.pad(X, 0.0, ((0, 0), (0, 0))), ValueError, "low, high, interior"),
    (lambda: lax.concatenate([X, V], 0), TypeError, "different numbers of dimensions"),
    (lambda: lax.concatenate([], 0), ValueError, "non-empty"),
    (lambda: lax.concatenate([X, X[:2]], 1), TypeError, "differ in dimensions other than"),
    (lambda: lax.concatenate([X, X], 2), TypeError, "dimension out of bounds"),
    (lambda: lax.concatenate([X, X], -1), TypeError, "dimension out of bounds"),
    (lambda: lax.concatenate([X, X.astype(np.int32)], 0), TypeError, "same dtypes, got float32, int32"),
    (lambda: lax.split(X, (1, 1), 0), ValueError, "Sum of sizes 2 must be equal to dimension 0"),
    (lambda: lax.split(X, (1, -1, 3), 0), ValueError, "nonnegative"),
    (lambda: lax.split(X, (1, 3), 2), ValueError, "out of bounds"),
    (lambda: lax.tile(X, (2,)), TypeError, "reps length must be equal"),
    (lambda: lax.tile(X, (2, -1)), TypeError, "nonnegative"),
])
def test_errors(fun, error, message):
    with pytest.raises(error, match=message):
        fun()
