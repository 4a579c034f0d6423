"""Cumulative reductions."""
from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import numjet as nj
from numjet import lax
from tests.lax.lax_gradients import by_loop, grad, jvp, vjp, vmap

X = np.array([[3, -1, 2, 5], [0, 7, -4, 5], [2, 2, 2, -9]], np.float32)
NAN, INF = np.nan, np.inf
REFERENCES = {"cumsum": np.add, "cumprod": np.multiply, "cummax": np.maximum, "cummin": np.minimum,
              "cumlogsumexp": np.logaddexp}


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("name", REFERENCES)
def test_values(name, axis, reverse):
    for dtype in (np.float32, np.float16, ml_dtypes.bfloat16) + (() if name == "cumlogsumexp" else (np.int8,)):
        out = np.asarray(getattr(lax, name)(X.astype(dtype), axis, reverse))
        x = np.flip(X, axis) if reverse else X
        expected = REFERENCES[name].accumulate(x, axis)
        expected = np.flip(expected, axis) if reverse else expected
        assert out.dtype == dtype
        wrapped = expected.astype(np.int64).astype(np.int8) if dtype is np.int8 else expected
        np.testing.assert_allclose(out.astype(np.float64), wrapped, rtol=2e-2)


def test_small_floats_accumulate_in_float32():
    assert lax.cumsum(np.ones(5000, np.float16)).tolist()[-1] == 5000


def test_special_values():
    np.testing.assert_array_equal(np.asarray(lax.cummax(np.float32([1, NAN, 2]))), np.float32([1, NAN, NAN]))
    assert lax.cumlogsumexp(np.float32([-INF, -INF, 0, INF])).tolist() == [-INF, -INF, 0, INF]
    assert lax.cumsum(np.zeros((0, 3), np.float32)).shape == (0, 3)
    np.testing.assert_allclose(np.asarray(lax.cumlogsumexp(np.complex64([1 + 1j, 2, -INF]))),
                               [1 + 1j, 2.21357 + 0.252711j, 2.21357 + 0.252711j], rtol=1e-5)


@pytest.mark.parametrize("x, reverse, expected", [
    ([1, 1, 2, 2], False, [1.5, 0.5, 1.5, 0.5]), ([1, 1, 1, 1], False, [2, 1, 0.75, 0.25]),
    ([1, 1, 1, 1, 1, 0], True, [0.25, 0.75, 0.5, 1, 2.5, 1]), ([1, 1, 1, 1, 1, 0], False, [2.25, 1.25, 1, 0.5, 1, 0])])
def test_ties_share_the_gradient_of_a_running_maximum(x, reverse, expected):
    x = np.float32(x)
    assert grad(lambda v: lax.cummax(v, 0, reverse), x).tolist() == expected
    assert grad(lambda v: lax.cummin(v, 0, reverse), -x).tolist() == expected


@pytest.mark.parametrize("x", [[2, 3, 5, 7, 11], [2, 0, 5, 0, 11], [0, 0, 5, 7, 1]], ids=str)
def test_the_gradient_of_a_running_product_is_right_at_zeros(x):
    x = np.float32(x)
    expected = [sum(np.prod(np.delete(x[:k + 1], i)) for k in range(i, 5)) for i in range(5)]
    np.testing.assert_allclose(grad(lax.cumprod, x), expected)


@pytest.mark.parametrize("x, slopes", [
    ([INF, 1, -INF], [4.0, 0, 0]), ([1, INF, 2], [1, 3, 0]), ([INF, INF, 1], [2.5, 1.5, 0])])
def test_the_derivatives_of_cumlogsumexp_beside_infinity(x, slopes):
    """Finite elements have no share of an infinite sum, and equal infinities equal ones."""
    x, weights = np.float32(x), np.float32([1, 1, 2])
    slope = nj.grad(lambda x: nj.numpy.vdot(lax.cumlogsumexp(x), weights))
    for call in (slope, nj.jit(slope), nj.grad(lambda x: nj.numpy.vdot(nj.numpy.logaddexp.accumulate(x), weights))):
        assert call(x).tolist() == slopes
    tangent = nj.jvp(lax.cumlogsumexp, (x,), (np.eye(3, dtype=np.float32)[0],))[1]
    assert (tangent @ weights).tolist() == slopes[0]
    for mode in (nj.jacfwd, nj.grad):
        assert not np.any(mode(lambda x: nj.numpy.vdot(slope(x), weights))(x))


def test_the_tangent_of_cumlogsumexp_where_nothing_has_been_added():
    t = jvp(lax.cumlogsumexp, [np.float32([-INF, 1, 2])], [np.ones(3, np.float32)])
    np.testing.assert_allclose(t, [1, 1, 1], rtol=1e-6)
    slopes = nj.jacobian(lax.cumlogsumexp)(np.float32([-INF, -INF, 2]))
    assert slopes.tolist() == [[1, 0, 0], [0, 0, 0], [0, 0, 1]]
    assert nj.jacobian(lambda x: lax.cumlogsumexp(x, reverse=True))(np.float32([1, -INF])).tolist() == [[1, 0], [0, 1]]


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 8, 9])
@pytest.mark.parametrize("name", REFERENCES)
def test_tangents_of_every_length(name, n, x64):
    rng = np.random.default_rng(n)
    x, t = rng.standard_normal((2, n, 2))
    fun = lambda v: getattr(lax, name)(v, 0)
    difference = (np.asarray(fun(x + 1e-6 * t)) - np.asarray(fun(x - 1e-6 * t))) / 2e-6
    np.testing.assert_allclose(jvp(fun, [x], [t]), difference, atol=1e-7)
    np.testing.assert_allclose(np.sum(grad(fun, x) * t), np.sum(difference), rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("dim", [0, 1, 2])
@pytest.mark.parametrize("name", REFERENCES)
def test_batches(name, dim):
    x = np.random.default_rng(0).standard_normal((2, 3, 4)).astype(np.float32)
    fun = lambda v: getattr(lax, name)(v, 1, True)
    np.testing.assert_allclose(vmap(fun, [x], [dim]), by_loop(fun, [x], [dim]), rtol=1e-6)


@pytest.mark.parametrize("fun, error, message", [
    (lambda: lax.cumsum(X, 2), ValueError, "axis 2 is out of bounds for array of shape"),
    (lambda: lax.cumsum(X, -1), ValueError, "not negative"),
    (lambda: lax.cumsum(1.0, 0), ValueError, "out of bounds"),
    (lambda: lax.cumsum(X > 0), TypeError, "cumsum does not accept dtype bool"),
    (lambda: lax.cummax(X > 0), TypeError, "cummax does not accept dtype bool"),
    (lambda: lax.cumlogsumexp(X.astype(np.int32)), TypeError, "cumlogsumexp does not accept dtype int32"),
])
def test_errors(fun, error, message):
    with pytest.raises(error, match=message):
        fun()


# ------------------------------------------------------------------------------------------------ recurrences

@pytest.mark.parametrize("reverse", [False, True])
def test_linear_recurrence_and_its_derivatives(reverse, x64):
    rng = np.random.default_rng(0)
    a, b, ta, tb, ct = rng.standard_normal((5, 2, 4))
    fun = lambda u, v: lax.linear_recurrence_p.bind(u, v, axis=1, reverse=reverse)
    y, expected = np.zeros(2), np.zeros((2, 4))
    for k in reversed(range(4)) if reverse else range(4):
        expected[:, k] = y = a[:, k] * y + b[:, k]
    np.testing.assert_allclose(np.asarray(fun(a, b)), expected)
    difference = (np.asarray(fun(a + 1e-6 * ta, b + 1e-6 * tb)) - np.asarray(fun(a - 1e-6 * ta, b - 1e-6 * tb))) / 2e-6
    np.testing.assert_allclose(jvp(fun, [a, b], [ta, tb]), difference, atol=1e-7)
    ct_a, ct_b = vjp(fun, [a, b], ct)
    np.testing.assert_allclose(np.sum(ct_a * ta + ct_b * tb), np.sum(difference * ct), atol=1e-7)


@pytest.mark.parametrize("a, b, error, message", [
    (X, X[0], TypeError, "one shape and dtype"), (X.astype(int), X.astype(int), TypeError, "floats or complex"),
    (X[0], X[0], ValueError, "axis 1 is out of bounds")])
def test_errors_of_linear_recurrence(a, b, error, message):
    with pytest.raises(error, match=message):
        lax.linear_recurrence_p.bind(a, b, axis=1, reverse=False)
