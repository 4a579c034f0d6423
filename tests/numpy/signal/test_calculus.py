"""Differences, convolutions, moments, polynomials and windows, compared with NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import numjet as nj
import numjet.numpy as jnp
from tests.numpy.helpers import assert_same, check, check_grad

RNG = np.random.default_rng(0)
A = RNG.normal(size=(3, 4)).astype(np.float32)
V, W, U = (RNG.normal(size=n).astype(np.float32) for n in (6, 4, 3))
C = (U + 1j * U[::-1]).astype(np.complex64)
T = np.array([0, 1, 3], np.float32)
POSITIVE = np.array([1, 2, 3, 1], np.int32)

CALLS: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = [
    ("diff", (A,), {}),
    ("diff", (A, 2), {}),
    ("diff", (A,), {"axis": 0, "prepend": 0, "append": A}),
    ("diff", (V, 9), {}),
    ("diff", (V > 0,), {}),
    ("ediff1d", (A,), {"to_end": U, "to_begin": U}),
    ("gradient", (V,), {}),
    ("gradient", (A, 2.0), {}),
    ("gradient", (A, T, 0.5), {}),
    ("gradient", (A,), {"axis": 1}),
    ("trapezoid", (A,), {}),
    ("trapezoid", (A, W), {}),
    ("trapezoid", (A,), {"dx": 2, "axis": 0}),
    ("trapezoid", (A,), {"dx": W, "axis": 0}),
    ("trapezoid", (A, T), {"axis": 0}),
    ("trapezoid", (A, A**2), {"axis": 0}),
    ("cov", (A,), {}),
    ("cov", (A,), {"rowvar": False}),
    ("cov", (V,), {}),
    ("cov", (V, V[::-1]), {"bias": True}),
    ("cov", (C, C * 1j), {}),
    ("cov", (A,), {"fweights": POSITIVE, "aweights": W**2}),
    ("cov", (A,), {"aweights": W**2, "ddof": 0}),
    ("corrcoef", (A,), {}),
    ("vander", (U,), {}),
    ("vander", (U, 2, True), {}),
    ("polyadd", (V, U), {}),
    ("polysub", (U, V), {}),
    ("polymul", (V, U), {}),
    ("polydiv", (V, U[:2]), {}),
    ("polyval", (U, A), {}),
    ("polyval", (A, np.float32(0.5)), {}),
    ("polyval", (np.tile(V, 4), U), {}),
    ("polyder", (V,), {}),
    ("polyder", (V, 2), {}),
    ("polyint", (V,), {}),
    ("polyint", (V, 2, T[1:]), {}),
    ("poly", (U,), {}),
    ("polyfit", (V, W.repeat(2)[:6], 2), {}),
    ("polyfit", (V, np.stack([V**2, V], 1), 2), {"w": np.arange(1, 7, dtype=np.float32)}),
]


@pytest.mark.parametrize(("name", "args", "kwargs"), CALLS, ids=[f"{i}-{c[0]}" for i, c in enumerate(CALLS)])
def test_as_numpy(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    want = getattr(np, name)(*args, **kwargs)
    if name == "polydiv":  # NumPy cuts the remainder's leading zeros
        want = (want[0], np.concatenate([np.zeros(args[0].size - want[1].size, np.float32), want[1]]))
    check(getattr(jnp, name), want, *args, rtol=1e-4, dtype=False, **kwargs)


@pytest.mark.parametrize("mode", ["full", "same", "valid"])
@pytest.mark.parametrize("name", ["convolve", "correlate"])
@pytest.mark.parametrize(("a", "b"), [(V, U), (U, V), (V, W), (W, V), (C, C * 2j), (V, U[:1])])
def test_convolutions(name: str, mode: str, a: np.ndarray, b: np.ndarray) -> None:
    check(lambda x, y: getattr(jnp, name)(x, y, mode), getattr(np, name)(a, b, mode), a, b, rtol=1e-5)


@pytest.mark.parametrize("count", [0, 1, 2, 5, 8])
def test_windows(count: int) -> None:
    for name in ("bartlett", "blackman", "hamming", "hanning"):
        assert_same(getattr(jnp, name)(count), getattr(np, name)(count), rtol=2e-6)
    assert_same(jnp.kaiser(count, 3.5), np.kaiser(count, 3.5), rtol=2e-6)


@pytest.mark.parametrize("count", [5.7, np.float32(5), np.array(5.5), jnp.array(5, jnp.bfloat16), jnp.array(5.0), "5"])
def test_windows_count_as_int_does(count: Any) -> None:
    for window in (jnp.bartlett, jnp.blackman, jnp.hamming, jnp.hanning):
        assert_same(window(count), np.asarray(window(5)))
    assert_same(jnp.kaiser(count, 3.5), np.asarray(jnp.kaiser(5, 3.5)))
    assert jnp.hanning(jnp.array(True)).shape == (1,)


def test_windows_refuse_what_is_no_number() -> None:
    with pytest.raises(TypeError, match="M, the number of points, must be a number, got None"):
        jnp.hanning(None)
    with pytest.raises(nj.errors.ConcretizationTypeError):
        nj.jit(jnp.hanning)(5)


@pytest.mark.parametrize(
    "fn",
    [
        jnp.diff,
        lambda x: jnp.gradient(x)[0],
        jnp.trapezoid,
        jnp.cov,
        lambda x: jnp.convolve(x[0], U),
        lambda x: jnp.polyval(x[0], U),
        lambda x: jnp.polydiv(x[0], x[1, :2])[1],
        lambda x: jnp.poly(x[0]),
        lambda x: jnp.correlate(U, x[0], "full"),
    ],
)
def test_derivatives(fn: Any) -> None:
    x = A + np.sign(A).astype(np.float32)
    check_grad(fn, x, eps=1e-3, tol=5e-2)


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: jnp.diff(V, -1), ValueError, "non-negative"),
        (lambda: jnp.diff(1.0), ValueError, "one dimensional"),
        (lambda: jnp.gradient(V[:1]), ValueError, "too small"),
        (lambda: jnp.gradient(V, edge_order=2), NotImplementedError, "edge_order"),
        (lambda: jnp.convolve(A, V), ValueError, "1-dimensional"),
        (lambda: jnp.convolve(V, V[:0]), ValueError, "empty"),
        (lambda: jnp.convolve(V, V, "x"), ValueError, "mode"),
        (lambda: jnp.cov(A[None]), ValueError, "two axes"),
        (lambda: jnp.cov(A, fweights=W), TypeError, "integer"),
        (lambda: jnp.vander(A), ValueError, "one-dimensional"),
        (lambda: jnp.polyder(V, -1), ValueError, "positive"),
        (lambda: jnp.polyval([1], V), TypeError, "requires ndarray"),
        (lambda: jnp.poly(A[None]), ValueError, "input must be 1d or non-empty square 2d array"),
        (lambda: jnp.polyint(A[0], 2, k=[1, 2]), TypeError, "polyint requires ndarray or scalar arguments, got .*list"),
        (lambda: jnp.polyder(A), ValueError, "vector of coefficients"),
        (lambda: jnp.polyint(V[0]), TypeError, "vector of coefficients"),
    ],
)
def test_errors(call: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        call()


def test_constants_have_no_roots_when_traced_either() -> None:
    for p in (jnp.float32(3), jnp.ones(1), jnp.ones(0)):
        assert nj.jit(jnp.roots)(p).shape == jnp.roots(p).shape == (0,)
    assert nj.vmap(jnp.roots)(jnp.ones(3)).shape == (3, 0)


def test_roots() -> None:
    p = np.array([0, 1, 2, 0, 0], np.float32)
    assert_same(jnp.roots(p), np.roots(p).astype(np.complex64))
    assert_same(jnp.roots(C), np.roots(C), rtol=1e-5)
    assert jnp.roots(np.zeros(3)).shape == (0,)
    want = np.array([-2, 0, 0, np.nan + 1j * np.nan], np.complex64)
    assert_same(nj.jit(lambda p: jnp.roots(p, strip_zeros=False))(p), want)
    with pytest.raises(nj.errors.ConcretizationTypeError, match="strip_zeros=False"):
        nj.jit(jnp.roots)(p)


def test_fits() -> None:
    x, y = V, V**2 - 3 * V + U.repeat(2) / 100
    for got, want in zip(jnp.polyfit(x, y, 2, full=True), np.polyfit(x, y, 2, full=True), strict=True):
        np.testing.assert_allclose(got, want, rtol=2e-3, atol=1e-6)
    for cov in (True, "unscaled"):
        for values in (y, np.stack([y, x], 1)):
            got, want = jnp.polyfit(x, values, 2, cov=cov)[1], np.polyfit(x, values, 2, cov=cov)[1]
            np.testing.assert_allclose(got, want, rtol=2e-3, atol=1e-5)
    check_grad(lambda y: jnp.polyfit(x, y, 1), y)
    for bad, error, text in (((x, y, -1), ValueError, "deg >= 0"), ((x[None], y, 1), TypeError, "1D vector"),
                             ((x, y[:3], 1), TypeError, "same length"), ((x[:0], y[:0], 1), TypeError, "non-empty")):
        with pytest.raises(error, match=text):
            jnp.polyfit(*bad)
    with pytest.raises(ValueError, match="must exceed order"):
        jnp.polyfit(x[:2], y[:2], 1, cov=True)


def test_polynomials_of_matrices_and_of_high_degree(x64):
    a = np.array([[1.0, 2], [3, 4]])
    np.testing.assert_allclose(jnp.poly(a), np.poly(a), rtol=1e-12)
    p = np.arange(1.0, 21)  # factors of derivatives and integrals that need 64 bits
    np.testing.assert_allclose(jnp.polyint(p, 10), np.polyint(p, 10), rtol=1e-14)
    np.testing.assert_allclose(jnp.polyder(p, 9), np.polyder(p, 9), rtol=1e-14)


@pytest.mark.parametrize("zeros", [[-1.0, 0.0, np.nan], [np.inf, -np.inf, 1.0], [np.nan], [2.0, 2.0, -1.0, 0.5]])
def test_polynomials_of_special_zeros(zeros) -> None:
    """No coefficient depends on what it is not a product of: the first one is 1 whatever the zeros are."""
    np.testing.assert_allclose(jnp.poly(jnp.array(zeros)), np.poly(zeros), rtol=1e-6)


def test_trimmed_remainders_lose_what_rounding_leaves():
    divide = lambda u, v: jnp.polydiv(jnp.array(u), jnp.array(v), trim_leading_zeros=True)[1].tolist()
    assert divide([1.0, 0, 1e-7, 1], [1.0, 0, 0]) == [1] and divide([1.0, 0, 0.25, 1], [1.0, 0, 0]) == [0.25, 1]
    assert divide([1.0, 5, 6], [1.0, 2]) == []
    assert np.isnan(divide([np.nan, 1.0, 2.0], [np.nan, 1.0])).all() and len(divide([np.nan, 1.0, 2.0], [np.nan, 1.0])) == 3


@pytest.mark.parametrize("period", [4, 7, 8, 3.5, 2 * np.pi])
@pytest.mark.parametrize("discont", [None, 1, 2, 1.42, 5.0])
@pytest.mark.parametrize("axis", [0, 1])
def test_unwrap_of_integers(axis, discont, period):
    p = np.array([[0, 3, -1, 0], [2, 2, -3, 0], [0, 2, 0, -1]], np.int16)
    expected = np.unwrap(p, axis=axis, discont=discont, period=period)
    np.testing.assert_allclose(jnp.unwrap(p, axis=axis, discont=discont, period=period), expected, rtol=1e-5, atol=1e-5)


def test_bools_have_no_differences():
    with pytest.raises(TypeError, match="bools have no differences"):
        jnp.ediff1d(np.array([True, False]))
