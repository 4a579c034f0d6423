"""Elliptic integrals, Lambert's W and their kin: errors in units in the last place against mpmath, limits, derivatives."""
from __future__ import annotations

import mpmath
import numpy as np
import pytest
import scipy.special as oracle

import numjet as nj
import numjet.numpy as jnp
from numjet.foundation.config import enable_x64
from numjet.scipy import special
from numjet.testing.records import check_function

RNG = np.random.default_rng(0)
N = 60
POWERS = 10 ** RNG.uniform(-12, 12, (3, N))
PARAMETERS = np.concatenate([RNG.uniform(-3, 1, N), -10 ** RNG.uniform(-8, 8, N), 1 - 10 ** RNG.uniform(-6, 0, N)])
ANGLES = RNG.uniform(-7, 7, 3 * N)
STEEP = RNG.uniform(-1.4, 1.4, N)
LINE = np.concatenate([RNG.uniform(-30, 3, N), RNG.uniform(-1.5, 1.5, N), RNG.uniform(3, 60, N)])

# name, exact function, arguments, most ulps in both precisions
FUNCTIONS = [
    ("ellipk", mpmath.ellipk, (PARAMETERS,), 6),
    ("ellipe", mpmath.ellipe, (PARAMETERS,), 7),
    ("ellipkm1", lambda p: mpmath.elliprf(0, p, 1), (10 ** RNG.uniform(-30, 3, N),), 6),
    ("ellipkinc", mpmath.ellipf, (ANGLES[::4], PARAMETERS[::4]), 14),
    ("ellipeinc", mpmath.ellipe, (ANGLES[::4], PARAMETERS[::4]), 10),
    ("ellipkinc", mpmath.ellipf, (STEEP, 0.9 * RNG.uniform(0.1, 1, N) / np.sin(STEEP) ** 2), 9),
    ("ellipeinc", mpmath.ellipe, (STEEP, 0.9 * RNG.uniform(0.1, 1, N) / np.sin(STEEP) ** 2), 12),
    ("elliprf", mpmath.elliprf, tuple(POWERS), 6),
    ("elliprd", mpmath.elliprd, tuple(POWERS), 7),
    ("elliprf", mpmath.elliprf, (0 * POWERS[0], *POWERS[1:]), 6),
    ("elliprd", mpmath.elliprd, (POWERS[0], 0 * POWERS[0], POWERS[2]), 7),
    ("wrightomega", lambda x: mpmath.lambertw(mpmath.e ** x).real, (LINE,), 5),
    ("exprel", lambda x: mpmath.expm1(x) / x, (LINE,), 2),
    ("log_expit", lambda x: -mpmath.log1p(mpmath.e ** -x), (LINE,), 3),
    ("cosm1", lambda x: -2 * mpmath.sin(x / 2) ** 2, (np.concatenate([LINE / 10, LINE / 1000]),), 4),
]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name,exact,args,most", FUNCTIONS)
def test_errors_in_ulps(name, exact, args, most, dtype):
    given = [np.asarray(a, dtype) for a in args]
    with enable_x64(True):
        got = np.asarray(nj.jit(getattr(special, name))(*given))
    assert got.dtype == dtype
    with mpmath.workdps(40):
        for *xs, value in zip(*given, got, strict=True):
            want = exact(*(mpmath.mpf(float(x)) for x in xs))
            error = abs(mpmath.mpf(float(value)) - want) / mpmath.mpf(float(np.spacing(dtype(abs(float(want))))))
            assert error <= most, (xs, value, float(error))


LIMITS = {
    "ellipk": [(0.0,), (1.0,), (2.0,), (-np.inf,), (np.nan,)],
    "ellipe": [(0.0,), (1.0,), (2.0,), (-np.inf,), (np.nan,)],
    "ellipkm1": [(0.0,), (1.0,), (-1.0,), (np.inf,), (np.nan,)],
    "ellipkinc": [(0.0, 0.5), (1.5, 1.0), (np.inf, 0.5), (2.0, 1.0), (1.0, -np.inf), (np.nan, 0.5), (1.0, np.nan), (-1.0, 0.3)],
    "ellipeinc": [(0.0, 0.5), (1.5, 1.0), (np.inf, 0.5), (2.0, 1.0), (1.0, -np.inf), (np.nan, 0.5), (1.0, np.nan), (-1.0, 0.3)],
    "elliprf": [(0.0, 0.0, 1.0), (1.0, 1.0, 0.0), (-1.0, 1.0, 1.0), (1.0, 1.0, np.inf),
                (1e-300, 1e300, 1e300), (np.nan, 1.0, 1.0)],
    "elliprd": [(0.0, 0.0, 1.0), (1.0, 1.0, 0.0), (-1.0, 1.0, 1.0), (1.0, 1.0, np.inf),
                (1e300, 1e300, 1e300), (np.nan, 1.0, 1.0)],
    "wrightomega": [(-np.inf,), (np.inf,), (np.nan,), (-745.0,), (-60.0,), (1e25,)],
    "exprel": [(-np.inf,), (np.inf,), (np.nan,), (710.0,), (0.0,)],
    "log_expit": [(-np.inf,), (np.inf,), (np.nan,), (0.0,)],
    "cosm1": [(0.0,), (np.nan,), (np.inf,)],
}


@pytest.mark.parametrize("name", LIMITS)
def test_limits(name):
    with enable_x64(True):
        for args in LIMITS[name]:
            np.testing.assert_allclose(getattr(special, name)(*args), getattr(oracle, name)(*args), rtol=1e-13, err_msg=args)


@pytest.mark.parametrize("name,args", [
    ("ellipk", (0.0,)), ("ellipk", (-3.0,)), ("ellipkm1", (0.3,)), ("ellipe", (0.0,)), ("ellipe", (0.7,)),
    ("ellipkinc", (1.0, 0.5)),
    ("ellipkinc", (-4.0, -0.5)), ("ellipeinc", (2.0, 0.5)), ("ellipeinc", (0.4, -2.0)), ("elliprf", (0.3, 1.2, 2.0)),
    ("elliprd", (0.3, 1.2, 2.0)), ("wrightomega", (-3.0,)), ("wrightomega", (2.0,)), ("exprel", (0.0,)), ("exprel", (3.0,)),
    ("log_expit", (0.5,)), ("cosm1", (0.4,)),
])
def test_derivatives(name, args):
    with enable_x64(True):
        check_function(lambda *xs: [getattr(special, name)(*xs)], [np.float64(x) for x in args], 2, name)


@pytest.mark.parametrize("k", [-3, -1, 0, 1, 2])
def test_branches_of_lambert(k):
    angles = RNG.uniform(-np.pi, np.pi, (2, 500))
    z = np.concatenate([10 ** RNG.uniform(-8, 8, 500) * np.exp(1j * angles[0]), RNG.uniform(-3, 3, 300) + 0j,
                        -1 / np.e + 10 ** RNG.uniform(-6, 0, 500) * np.exp(1j * angles[1]), [0, np.inf, np.nan, 1e300, 1e-300]])
    with enable_x64(True):
        got, want = np.asarray(nj.jit(special.lambertw)(z, k)), oracle.lambertw(z, k)
        np.testing.assert_allclose(got.real, want.real, rtol=1e-9, atol=1e-13)
        np.testing.assert_allclose(got.imag, want.imag, rtol=1e-9, atol=1e-13)
        np.testing.assert_allclose(got[:1300] * np.exp(got[:1300]), z[:1300], rtol=1e-13)
    single = np.asarray(special.lambertw(z[:1300].astype(np.complex64), k))
    assert single.dtype == np.complex64
    np.testing.assert_allclose(single, want[:1300], rtol=3e-3)   # a root of rounding, beside the branch point


def test_derivatives_of_lambert():
    with enable_x64(True):
        w = complex(special.lambertw(2.0))
        np.testing.assert_allclose(nj.grad(lambda x: special.lambertw(x).real)(2.0), w.real / (2 * (1 + w.real)))
        second = nj.grad(nj.grad(lambda x: special.lambertw(x).real))(2.0)
        np.testing.assert_allclose(second, -w.real ** 2 * (w.real + 2) / (4 * (1 + w.real) ** 3), rtol=1e-12)
        branches = nj.vmap(special.lambertw, (None, 0))(1.0 + 1j, jnp.array([-1, 0, 2]))
        np.testing.assert_allclose(branches, oracle.lambertw(1 + 1j, [-1, 0, 2]), rtol=1e-13)
    assert special.ellipk(jnp.bfloat16(0.5)).dtype == jnp.bfloat16
    for call, error, match in [
        (lambda: special.lambertw(1.0, 0.5), TypeError, "integers"),
        (lambda: special.ellipk(1j), ValueError, "complex"),
    ]:
        with pytest.raises(error, match=match):
            call()


# Function, arguments of very different sizes.
FAR_APART = [
    ("elliprd", (0.0, 1e300, 1e-30)), ("elliprd", (5e-324, 1e308, 1e-30)), ("elliprf", (0.0, 1e-300, 1e300)),
    ("elliprc", (1e300, 1e-300)), ("elliprg", (5e-324, 1e-10, 1e300)), ("elliprj", (1.0, 2.0, 3.0, 1e-20)),
    ("elliprj", (1.0, 2.0, 3.0, 1e100)), ("elliprj", (0.0, 1e-100, 3e100, 1e-5)), ("elliprj", (1e200, 2e200, 3e200, 1e200))]


def test_carlson_forms_of_numbers_far_apart(x64):
    def values(*tables):
        return [getattr(special, name)(*args) for (name, _), args in zip(FAR_APART, tables, strict=True)]
    arguments = [args for _, args in FAR_APART]
    with mpmath.workdps(100):
        exact = [float(getattr(mpmath, name)(*map(mpmath.mpf, args))) for name, args in FAR_APART]
    for turn in (1, 1 + 0j):
        found = nj.jit(values)(*([turn * x for x in args] for args in arguments))
        np.testing.assert_allclose(found, exact, rtol=1e-14)
    np.testing.assert_allclose(special.elliprd(0, np.float32(1e38), np.float32(1e-30)), 3e11, rtol=1e-6)
    small = np.full(3, 1e-8), np.array([1e-4, 1.0, 10.0])
    slopes = nj.vmap(nj.grad(lambda p, x: special.elliprj(x, 2.0, 3.0, p)))(*small)
    with mpmath.workdps(40):
        want = [float(mpmath.diff(lambda p, x=x: mpmath.elliprj(x, 2, 3, p), mpmath.mpf(1e-8), h=mpmath.mpf(1e-16)))
                for x in small[1]]
    np.testing.assert_allclose(slopes, want, rtol=1e-7)
