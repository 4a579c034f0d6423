"""Bessel, Airy and Struve functions: errors in eps against mpmath, special points against SciPy, derivatives."""
from __future__ import annotations

import functools
import itertools

import mpmath
import numpy as np
import pytest
import scipy.special as oracle

import numjet as nj
import numjet.numpy as jnp
from numjet.scipy import special
from numjet.testing.records import check_function

RNG = np.random.default_rng(0)
N = 9
SMALL = np.concatenate([RNG.uniform(0, 3, N), RNG.uniform(0, 40, 2 * N), RNG.integers(0, 20, N) + 0.5, RNG.integers(0, 40, N)])
NEAR = np.concatenate([10 ** RNG.uniform(-3, 1, N), 10 ** RNG.uniform(-1, 2.3, 2 * N), RNG.uniform(0.01, 60, 2 * N)])
LARGE = 10 ** RNG.uniform(1.61, 2.5, N)
AROUND = LARGE * (1 + RNG.uniform(-0.9, 1, N) * 10 ** RNG.uniform(-3, 0, N))


def _modulus(kind, v, x):
    """What errors are relative to: J and Y oscillate beyond the turning point."""
    j, y = mpmath.besselj(v, x), mpmath.bessely(v, x)
    return mpmath.hypot(j, y) if x > v else abs(j if kind == "j" else y)


def _j(v, x):
    return mpmath.besselj(v, x), _modulus("j", v, x)


def _y(v, x):
    return mpmath.bessely(v, x), _modulus("y", v, x)


def _i(v, x):
    want = mpmath.besseli(v, x) * mpmath.exp(-x)
    return want, abs(want)


def _k(v, x):
    want = mpmath.besselk(v, x) * mpmath.exp(x)
    return want, abs(want)


def _struve(v, x):
    want = mpmath.struveh(v, x)
    return want, max(abs(want), abs(mpmath.bessely(v, x)) if x > 5 else 0)


def _modstruve(v, x):
    want = mpmath.struvel(v, x)
    return want, abs(want)


# in float32, so that both precisions have the same exact values
FUNCTIONS = {
    "jv": (_j, SMALL, NEAR, 30), "yv": (_y, SMALL, NEAR, 30), "ive": (_i, SMALL, NEAR, 20), "kve": (_k, SMALL, NEAR, 20),
    "jv of large order": (_j, LARGE, AROUND, None), "yv of large order": (_y, LARGE, AROUND, None),
    "ive of large order": (_i, LARGE, AROUND, None),
    "struve": (_struve, RNG.uniform(-2, 10, N), 10 ** RNG.uniform(-1, 2, N), 200),
    "modstruve": (_modstruve, RNG.uniform(-0.9, 10, N), 10 ** RNG.uniform(-1, 1.7, N), 200),
}


@functools.cache
def _exact(name):
    """Per point, the value and what errors are relative to."""
    exact, orders, points, _ = FUNCTIONS[name]
    with mpmath.workdps(30):
        return [exact(mpmath.mpf(float(v)), mpmath.mpf(float(x)))
                for v, x in zip(orders.astype(np.float32), points.astype(np.float32), strict=True)]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_errors_in_eps(name, dtype, x64):
    _, orders, points, most = FUNCTIONS[name]
    v, x = orders.astype(np.float32).astype(dtype), points.astype(np.float32).astype(dtype)
    got = np.asarray(nj.jit(getattr(special, name.split()[0]))(v, x))
    assert got.dtype == dtype
    info = np.finfo(dtype)
    with mpmath.workdps(30):
        for a, b, value, (want, size) in zip(v, x, got, _exact(name), strict=True):
            if info.tiny < abs(want) < info.max:
                bound = 30 + 2 * max(a, b) if most is None else most + (abs(a) if "struve" in name else 0)
                assert abs(mpmath.mpf(float(value)) - want) <= bound * float(info.eps) * size, (a, b, value, float(want))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_errors_of_airy_functions(dtype, x64):
    x = np.concatenate([RNG.uniform(-12, 12, 24), RNG.uniform(-60, 30, 10)]).astype(dtype)
    got = [np.asarray(g) for g in nj.jit(special.airy)(x)]
    eps, most = float(np.finfo(dtype).eps), float(np.finfo(dtype).max)
    with mpmath.workdps(30):
        for place, point in enumerate(x):
            z = mpmath.mpf(float(point))
            want = [f(z, derivative=k) for f in (mpmath.airyai, mpmath.airybi) for k in (0, 1)]
            modulus = [mpmath.hypot(want[k], want[k + 2]) for k in (0, 1)]
            sizes = [abs(w) for w in want] if point > 0 else [*modulus, *modulus]
            bound = (60 + 4 * abs(float(point)) ** 1.5) * eps
            for g, w, size in zip(got, want, sizes, strict=True):
                if abs(w) < most and abs(w) > float(np.finfo(dtype).tiny):
                    assert abs(mpmath.mpf(float(g[place])) - w) <= bound * size, (point, g[place], float(w))


ORDERS = [0.0, 1.0, 2.0, -1.0, -2.0, 0.5, -0.5, 2.3, -2.3, 50.0, -50.5]
POINTS = [0.0, -0.0, 1.0, -1.0, 2.5, -2.5, 30.0, -30.0, 1e-30, 1e5, -1e5, np.nan]


@pytest.mark.parametrize("name", ["jv", "yv", "iv", "kv", "ive", "kve", "struve", "modstruve", "hankel2e", "hyp0f1"])
def test_special_points(name, x64):
    """SciPy's values where they are finite; elsewhere it has NaN, or one infinity for all, where a value overflows."""
    infinities = [np.inf, -np.inf] if name == "hyp0f1" else []
    v, x = map(np.array, zip(*itertools.product([*ORDERS, *infinities], [*POINTS, *infinities]), strict=True))
    got, want = np.asarray(nj.jit(getattr(special, name))(v, x)), getattr(oracle, name)(v, x)
    known = np.isfinite(want) & (np.abs(want) > 1e-290)
    np.testing.assert_allclose(got[known], want[known], rtol=2e-11, atol=1e-13)
    assert np.all(np.abs(got[np.abs(want) < 1e-290]) < 1e-280)
    # Y of order -n - 1/2 is J of order n + 1/2, up to its sign: it vanishes at 0, where SciPy overflows
    vanishes = np.isin(v, -0.5 - np.arange(60)) & name.startswith("y")
    assert not np.isfinite(got[np.isinf(want) & ~vanishes]).any() and not got[np.isinf(want) & vanishes].any()
    assert np.all(np.isnan(got[np.isnan(x)]))
    if infinities:  # SciPy: NaN
        overflows = (x == np.inf) & np.isfinite(v) & ((v > 0) | (v != np.round(v)))
        np.testing.assert_array_equal(got[np.isinf(x)], np.where(overflows, oracle.gammasgn(v) * np.inf, np.nan)[np.isinf(x)])


def test_limits(x64):
    inf = np.inf
    assert special.jv(0, inf) == 0 == special.yv(0, inf) == special.kv(0, inf) == special.ive(0, inf)
    assert special.iv(0, inf) == inf and np.isnan(special.jv(inf, 1.0)) and np.isnan(special.jv(np.nan, 0.0))
    assert [float(v) for v in special.airy(inf)] == [0, 0, inf, inf]
    for x in (0.0, -0.0, 1.0, -1.0, 12.0, -12.0):
        np.testing.assert_allclose(special.airy(x), oracle.airy(x), rtol=1e-12)
        np.testing.assert_allclose(special.airye(x), oracle.airye(x), rtol=1e-12)
    for call in (special.j0, special.j1, special.y0, special.y1, special.k0, special.k1, special.k0e, special.k1e):
        np.testing.assert_allclose(call(1.7), getattr(oracle, call.__name__)(1.7), rtol=1e-14)
    for call in (special.jn, special.yn, special.kn):
        np.testing.assert_allclose(call(3, 1.7), getattr(oracle, call.__name__)(3, 1.7), rtol=1e-14)


@pytest.mark.parametrize("kind", "jyik")
def test_spherical_functions(kind, x64):
    n, x = np.arange(12)[:, None], np.array([0.0, -1.0, 1.0, -3.3, 5.0, 40.0, np.nan])
    name = f"spherical_{kind}n"
    for derivative in (False, True):
        want = getattr(oracle, name)(n, x, derivative)
        got = np.asarray(getattr(special, name)(n, x, derivative))
        known = np.isfinite(want) | (x >= 0)
        np.testing.assert_allclose(got[known], want[known], rtol=1e-11, atol=2e-14)
    slopes = nj.jit(nj.vmap(nj.grad(lambda x: getattr(special, name)(2, x))))(x[[2, 4]])
    np.testing.assert_allclose(slopes, getattr(oracle, name)(2, x[[2, 4]], True), rtol=1e-12)


DERIVATIVES = [
    ("jv", mpmath.besselj, 0.0, 0.0, 1), ("jv", mpmath.besselj, 2.3, 1.4, 2), ("jv", mpmath.besselj, -1.2, 30.0, 1),
    ("yv", mpmath.bessely, 1.5, 3.0, 1), ("iv", mpmath.besseli, 0.0, 0.0, 1), ("kv", mpmath.besselk, 0.3, 1.2, 2),
    ("ive", lambda v, x: mpmath.besseli(v, x) * mpmath.exp(-x), 2.5, 3.0, 1),
    ("kve", lambda v, x: mpmath.besselk(v, x) * mpmath.exp(x), 1.0, 5.0, 1), ("struve", mpmath.struveh, 1.3, 2.2, 1),
    ("modstruve", mpmath.struvel, 1.3, 2.2, 1), ("hyp0f1", lambda v, x: mpmath.hyp0f1(v, x), 1.3, -2.2, 2)]


@pytest.mark.parametrize("name,exact,v,x,order", DERIVATIVES)
def test_derivatives(name, exact, v, x, order, x64):
    f = nj.grad(getattr(special, name), 1)
    for n, derivative in enumerate((f, nj.grad(f, 1))[:order], 1):
        want = float(mpmath.diff(lambda x: exact(v, x).real, x, n))
        np.testing.assert_allclose(nj.jit(derivative)(v, x), want, rtol=1e-10, atol=1e-12)


def test_derivatives_by_name(x64):
    for name in ("jvp", "yvp", "ivp", "kvp", "h1vp", "h2vp"):
        for n in (0, 1, 3):
            np.testing.assert_allclose(getattr(special, name)(1.3, 2.2, n), getattr(oracle, name)(1.3, 2.2, n), rtol=1e-12)
    check_function(lambda x: list(special.airy(x)), [np.array([-3.0, 0.0, 2.0])], 2, "airy")
    check_function(lambda x: list(special.airye(x)[2:]), [np.array([-3.0, 2.0])], 1, "airye")
    slope = nj.grad(lambda x: special.hankel1e(1.3, x).imag)(2.2)
    turned = oracle.h1vp(1.3, 2.2) * np.exp(-2.2j) - 1j * oracle.hankel1e(1.3, 2.2)
    np.testing.assert_allclose(slope, turned.imag, rtol=1e-12)


def test_dtypes_shapes_and_errors():
    for dtype in ("float16", "bfloat16", "float32"):
        for call in (special.jv, special.kve, special.struve):
            assert call(1, jnp.ones(3, dtype)).dtype == dtype
        assert all(v.dtype == dtype for v in special.airy(jnp.ones(1, dtype)))
    assert special.jv(2, 3).dtype == "float32" and special.hankel1(1, jnp.ones(2, "float16")).dtype == "complex64"
    assert special.jv(1.0, jnp.zeros((0, 3))).shape == (0, 3) and special.yv(jnp.ones((2, 1)), jnp.ones((1, 4))).shape == (2, 4)
    v, x = jnp.array([0.5, 2.0, 60.0]), jnp.array([1.0, 20.0, 55.0])
    np.testing.assert_allclose(nj.vmap(special.jv)(v, x), oracle.jv(np.float32(v), np.float32(x)), rtol=3e-5)
    for call, error, match in [
        (lambda: special.j0(1j), ValueError, "j0 does not support complex"),
        (lambda: special.yn(1.5, 1.0), TypeError, "yn: expected integers as the order, got float32; yv takes real orders"),
        (lambda: special.spherical_jn(0.5, 1.0), TypeError, "spherical_jn: expected integers"),
        (lambda: special.jvp(1, 1.0, -1), ValueError, "jvp: expected an order of the derivative n >= 0, got -1"),
        (lambda: nj.grad(special.kv)(1.0, 2.0), NotImplementedError, "kv: expected a derivative to the last argument"),
    ]:
        with pytest.raises(error, match=match):
            call()


def test_phase_of_airy_functions_has_more_digits_than_a_float32():
    x = np.array([-1e6, -1e4, -1e3, -200, 5], np.float32)
    for function, reference in ((special.airy, oracle.airy), (special.airye, oracle.airye)):
        for got, want in zip(nj.jit(function)(x), reference(x.astype(np.float64)), strict=True):
            assert got.dtype == np.float32
            np.testing.assert_allclose(got, want, rtol=1e-6, atol=1e-38)
