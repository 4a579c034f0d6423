"""Airy's and confluent hypergeometric functions of complex numbers: errors against mpmath, special points, derivatives."""
from __future__ import annotations

import mpmath
import numpy as np
import pytest

import numjet as nj
from numjet.scipy import special

RNG = np.random.default_rng(0)
INF, NAN = np.inf, np.nan


def numbers(*sizes):
    return np.concatenate([size * (RNG.normal(0, 1, 10) + 1j * RNG.normal(0, 1, 10)) for size in sizes])


SMALL = np.concatenate([numbers(1e-6, 0.3, 1, 3), [-1.5, -3 + 0j, -10, 2, 10, 1e-300, -3 - 1e-12j, 3j, -3j, 1j, 1]])
POINTS = np.concatenate([numbers(1e-6, 0.3, 1, 3, 8, 25, 80),
                         [10j, -20j, 30 + 1j, 30 + 8j, 45j, 49j, -30 + 1j, 100, -100, -10]])


def errors(found, exact):
    return max(float(abs(mpmath.mpmathify(complex(x)) - y) / abs(y)) for x, y in zip(np.asarray(found), exact, strict=True)
               if 1e-36 < abs(y) < 1e38)


def exact_airy(z):
    return (mpmath.airyai(z), mpmath.airyai(z, derivative=1), mpmath.airybi(z), mpmath.airybi(z, derivative=1))


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_errors_of_airy(dtype, x64):
    z = SMALL.astype(dtype)
    plain, scaled = nj.jit(special.airy)(z), nj.jit(special.airye)(z)
    with mpmath.workdps(40):
        points = [mpmath.mpmathify(complex(x)) for x in z]
        exact = [exact_airy(x) for x in points]
        zeta = [2 * x * mpmath.sqrt(x) / 3 for x in points]
        for k in range(4):
            assert plain[k].dtype == dtype
            most = 1e-7 if dtype == np.complex64 else 1e-14
            assert errors(plain[k], [row[k] for row in exact]) < most
            scales = [mpmath.exp(t) if k < 2 else mpmath.exp(-abs(t.real)) for t in zeta]
            assert errors(scaled[k], [row[k] * by for row, by in zip(exact, scales, strict=True)]) < most


def test_airy_far_out_and_on_the_axis(x64):
    z = np.array([58.6 - 13.2j, -17.6 - 73.4j, -26.6 - 26.8j, 100 + 0j])
    with mpmath.workdps(60):
        exact = [exact_airy(mpmath.mpmathify(complex(x))) for x in z]
    for k, found in enumerate(special.airy(z)):
        np.testing.assert_allclose(found[:3], [complex(row[k]) for row in exact][:3], rtol=2e-13)
    np.testing.assert_allclose(special.airy(-3 + 0j), special.airy(-3.0), rtol=1e-14)
    np.testing.assert_array_equal(special.airy(complex(INF, 0)), [0, 0, INF, INF])
    assert np.isnan(np.asarray(special.airy(complex(NAN, 1)))).all()
    assert np.isfinite(np.asarray(special.airye(1e30 + 1e30j))).all()
    for x in (1e250, 1.7e308, INF):
        np.testing.assert_allclose(special.airye(complex(x, 0)), special.airye(x), rtol=1e-14)
    ai, ai_slope, bi, _ = special.airye(-1e250 + 1e250j)   # z^(-1/4) and z^(1/4) over sqrt(pi), which 2^-400 z has by 2^100
    near = special.airye((-1e250 + 1e250j) * 2.0**-400)
    np.testing.assert_allclose([ai, ai_slope], [near[0] * 2.0**-100, near[1] * 2.0**100], rtol=1e-14)
    assert np.isnan(complex(bi)) and np.isfinite(complex(special.airye(1e250 + 1e-120j)[2]))


def test_derivatives_of_airy(x64):
    z, step = np.array([1 + 2j, -3 + 1j, 0.3 - 0.2j, 4j]), 1e-5
    for function in (special.airy, special.airye):
        along = nj.jit(lambda z, tangent, function=function: nj.jvp(function, (z,), (tangent,))[1])
        for direction in (1, 1j):
            change = along(z, np.full_like(z, direction))
            ahead, behind = function(z + step * direction), function(z - step * direction)
            for found, a, b in zip(change, ahead, behind, strict=True):
                np.testing.assert_allclose(found, (np.asarray(a) - np.asarray(b)) / (2 * step), rtol=1e-7, atol=1e-8)
    second = nj.vmap(nj.grad(nj.grad(lambda z: special.airy(z)[2], holomorphic=True), holomorphic=True))(z)
    np.testing.assert_allclose(second, z * np.asarray(special.airy(z)[2]), rtol=1e-12)


# a, b, largest error relative to the modulus.
PARAMETERS = [(1.5, 2.5, 1e-14), (0.5, 1.0, 4e-14), (1.0, 2.0, 1e-14), (-1.5, 0.5, 1e-13), (-2.0, 1.5, 2e-14),
              (2.0, -1.5, 4e-14), (5.0, 2.0, 2e-14), (3.5, 3.5, 2e-14), (10.0, 3.0, 1e-12), (-7.3, 4.2, 2e-10),
              (0.25, 20.0, 1e-13), (0.0, 2.0, 1e-14), (-2.0, -3.0, 1e-14), (-4.5, -24.5, 1e-9), (3.25, -6.5, 1e-10),
              (-3.0, -18.5, 1e-12)]


def test_errors_of_hyp1f1(x64):
    function = nj.jit(special.hyp1f1)
    for a, b, most in PARAMETERS:
        with mpmath.workdps(40):
            exact = [mpmath.hyp1f1(a, b, mpmath.mpmathify(complex(z))) for z in POINTS]
            assert errors(function(a, b, POINTS), exact) < most, (a, b)
            narrow = POINTS.astype(np.complex64)[np.abs(POINTS) < 10]
            exact = [mpmath.hyp1f1(np.float32(a), np.float32(b), mpmath.mpmathify(complex(z))) for z in narrow]
            found = special.hyp1f1(np.float32(a), np.float32(b), narrow)
            assert found.dtype == np.complex64 and errors(found, exact) < 1e-7, (a, b)


def test_errors_of_hyp0f1(x64):
    function = nj.jit(special.hyp0f1)
    for v in (0.5, 1.5, -1.5, 2.0, 10.0, 30.25, 1e-8, -26 - 9.6e-14):
        with mpmath.workdps(40):
            exact = [mpmath.hyp0f1(v, mpmath.mpmathify(complex(z))) for z in POINTS]
        assert errors(function(v, POINTS), exact) < 4e-14, v


# a, b, c, largest error relative to the modulus.
GAUSS = [(0.5, 1.0, 1.5, 2e-14), (1.0, 1.0, 2.0, 2e-14), (0.25, 0.75, 2.5, 2e-14), (2.0, 3.0, 1.5, 4e-14),
         (-1.5, 0.5, 2.0, 2e-14), (3.3, -2.2, 0.7, 1e-12), (-2.0, 1.5, 0.5, 2e-14), (5.0, 7.0, 3.0, 2e-14),
         (8.0, 9.0, 10.0, 2e-14), (4.0, 0.5, 1.0, 4e-14), (-5.5, -2.875, 4.0, 2e-14), (16.6, 16.0, 12.3, 4e-14),
         (5.25, 3.5, -4.2, 2e-14), (2.25, 2.0, -28.125, 2e-14), (-15.0, 5.0, 0.9375, 2e-14)]
PLANE = np.concatenate([numbers(1e-6, 0.3, 1, 3, 1e2, 1e6), 1 + numbers(1e-3, 0.2), [
    np.exp(1j * np.pi / 3), 0.5, -1, 0.99, 1.2 + 1e-9j, 1.2 - 1e-9j, -5, 2.5 + 1e-10j, -1j, 0.9 + 0.9j]])


def test_errors_of_hyp2f1(x64):
    function = nj.jit(special.hyp2f1)
    for a, b, c, most in GAUSS:
        with mpmath.workdps(30):
            exact = [mpmath.hyp2f1(a, b, c, mpmath.mpmathify(complex(z))) for z in PLANE]
        assert errors(function(a, b, c, PLANE), exact) < most, (a, b, c)
    narrow = PLANE[:30].astype(np.complex64)
    found = special.hyp2f1(np.float32(0.5), np.float32(1), np.float32(1.5), narrow)
    exact = [mpmath.hyp2f1(0.5, 1, 1.5, mpmath.mpmathify(complex(z))) for z in narrow]
    assert found.dtype == np.complex64 and errors(found, exact) < 1e-7


def test_points_of_hyp2f1(x64):
    above = 0.6232252401402305 + 1.1107207345395915j
    for y, want in ((0.0, above), (-0.0, above.conjugate())):
        np.testing.assert_allclose(special.hyp2f1(0.5, 1, 1.5, complex(2, y)), want, rtol=1e-14)
    np.testing.assert_allclose(special.hyp2f1(0.5, 1, 2.5, 1 + 0j), 1.5, rtol=1e-14)
    np.testing.assert_allclose(special.hyp2f1(-1, 2, -2, 0.5j), 1 + 0.5j, rtol=1e-14)
    np.testing.assert_array_equal(special.hyp2f1(0, 18.5, -2.5, 1.375 + 0j), 1)
    want = -520335153.56378192 + 1774200340.7607115j
    np.testing.assert_allclose(special.hyp2f1(16.6, 16, -12.3, -0.346 - 1.337j), want, rtol=1e-13)
    np.testing.assert_array_equal([special.hyp2f1(0.5, 1, 1.5, 1 + 0j), special.hyp2f1(1, 2, -2, 0.5j)], INF)
    assert np.isnan([complex(special.hyp2f1(1, 2, 3, complex(INF, 0))), complex(special.hyp2f1(NAN, 1, 1, 1j))]).all()
    for x in (-30.0, -0.5, 0.7, 0.99):
        found = special.hyp2f1(0.5, 1.25, 1.75, complex(x, 0))
        assert found.imag == 0
        np.testing.assert_allclose(found.real, special.hyp2f1(0.5, 1.25, 1.75, x), rtol=1e-13)


def test_special_points_of_hypergeometric_functions(x64):
    np.testing.assert_array_equal([special.hyp1f1(1, -2, 1j), special.hyp1f1(-3, -2, 1j)], INF)
    np.testing.assert_array_equal([special.hyp1f1(1, 2, 0j), special.hyp1f1(0, 2, 1j), special.hyp0f1(1.5, 0j)], 1)
    unknown = [special.hyp1f1(1, 2, complex(INF, 0)), special.hyp1f1(NAN, 2, 1j), special.hyp1f1(1, NAN, 1j),
               special.hyp0f1(-1, 1j), special.hyp0f1(0.0, 1j), special.hyp0f1(NAN, 1j), special.hyp0f1(1, complex(0, INF))]
    assert np.isnan(np.asarray(unknown)).all()
    for x in (-20.0, -2.0, 3.0, 40.0):
        assert special.hyp1f1(1.5, 2.5, complex(x, 0)).imag == 0
        np.testing.assert_allclose(special.hyp1f1(1.5, 2.5, complex(x, 0)), special.hyp1f1(1.5, 2.5, x), rtol=1e-13)
        np.testing.assert_allclose(special.hyp0f1(1.5, complex(x, 0)), special.hyp0f1(1.5, x), rtol=1e-13)


def test_loops_of_hypergeometric_functions_end(x64):
    """Where parameters and points are huge: the value where it is known, else NaN."""
    found = [special.hyp1f1(1e8, 1e8, 100j), special.hyp1f1(1e17, 1e17, 100j), special.hyp0f1(1e300, 1e10j)]
    np.testing.assert_allclose(found, [np.exp(100j), np.exp(100j), 1], rtol=1e-14)
    unknown = [special.hyp1f1(1e10, 0.5, 1e17j), special.hyp1f1(1e8, 3e7, 100j), special.hyp1f1(-30000, 0.5, 3000j),
               special.hyp2f1(0.5, 0.7, 1.2, 1.7e308 * (1 + 1j)), special.hyp2f1(0.5, 0.7, 1.2, 1e308 * (1 + 1j)),
               special.hyp0f1(1e7, 1e10j)]
    assert np.isnan(np.asarray(unknown)).all()


def test_derivatives_of_hypergeometric_functions(x64):
    points = np.array([3 + 4j, -2 + 1j, 0.1j, 12j, 40 - 40j])
    for function, exact in ((lambda z: special.hyp1f1(1.5, 2.25, z), lambda z: mpmath.hyp1f1(1.5, 2.25, z)),
                            (lambda z: special.hyp0f1(1.5, z), lambda z: mpmath.hyp0f1(1.5, z)),
                            (lambda z: special.hyp2f1(0.5, 1.5, 2.25, z), lambda z: mpmath.hyp2f1(0.5, 1.5, 2.25, z))):
        first = nj.grad(function, holomorphic=True)
        second = nj.grad(first, holomorphic=True)
        found = nj.jit(nj.vmap(lambda z, first=first, second=second: (first(z), second(z))))(points)
        for order, values in enumerate(found, 1):
            with mpmath.workdps(40):
                want = [complex(mpmath.diff(exact, mpmath.mpmathify(complex(z)), order)) for z in points]
            np.testing.assert_allclose(values, want, rtol=1e-11)
    with pytest.raises(NotImplementedError, match="hyp1f1"):
        nj.grad(lambda a: abs(special.hyp1f1(a, 2.0, 1j)))(1.5)
