"""Faddeeva's function and its kin, trigonometric integrals, Owen's T and the complex gamma function: errors against mpmath."""
import mpmath
import numpy as np
import pytest
from scipy import special as oracle

import numjet as nj
from numjet.scipy import special
from numjet.testing.records import check_function

RNG = np.random.default_rng(0)
REAL = np.concatenate([scale * RNG.standard_normal(40) for scale in (1e-6, 0.1, 1, 3, 8)])
COMPLEX = np.concatenate([scale * (RNG.standard_normal(40) + 1j * RNG.standard_normal(40)) for scale in (0.1, 1, 3)])
FAR = np.array([1e-9 + 40j, 1e3 + 1e-3j, -2e5 + 3j, 1e9 + 1e9j, 1e17 + 0j, 30 + 0j, 0.2 - 5j])
WOFZ = np.concatenate([COMPLEX, FAR])


def _faddeeva(z):
    return mpmath.exp(-z * z) * mpmath.erfc(mpmath.mpc(0, -1) * z)


# name: (exact, points, how errors are counted, most units of eps in float32, in float64)
FUNCTIONS = {
    "wofz": (_faddeeva, WOFZ, "relative", 80, 200),
    "erfcx": (lambda x: mpmath.exp(x * x) * mpmath.erfc(x), REAL[REAL > -8], "relative", 20, 20),
    "dawsn": (lambda x: mpmath.sqrt(mpmath.pi) / 2 * mpmath.exp(-x * x) * mpmath.erfi(x), REAL, "relative", 60, 60),
    "fresnel": (lambda x: (mpmath.fresnels(x), mpmath.fresnelc(x)), REAL, "relative", 30, 30),
    "sici": (lambda x: (mpmath.si(x), mpmath.ci(abs(x))), REAL, "absolute", 30, 30),
    "loggamma": (mpmath.loggamma, COMPLEX, "absolute", 100, 100),
}


def _error(got, want, how):
    size = 1 + abs(want) if how == "absolute" else abs(want)
    return float(abs(mpmath.mpmathify(complex(got)) - want) / size)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_errors_in_eps(name, dtype):
    exact, points, how, single, double = FUNCTIONS[name]
    x = points.astype(np.result_type(dtype, np.complex64) if points.dtype.kind == "c" and dtype == np.float32 else points.dtype)
    x = x.astype(dtype) if points.dtype.kind == "f" else x
    if dtype == np.float32 and name == "wofz":
        x = x[np.abs(x) < 1e8]
    with nj.enable_x64(True):
        found = nj.jit(getattr(special, name))(x)
    parts = [np.asarray(v) for v in (found if isinstance(found, tuple) else (found,))]
    worst = 0.0
    with mpmath.workdps(60):
        for k, point in enumerate(x):
            want = exact(mpmath.mpmathify(point.item()))
            want = want if isinstance(want, tuple) else (want,)
            worst = max(worst, *(_error(p[k], w, how) for p, w in zip(parts, want, strict=True)))
    assert worst <= (single if dtype == np.float32 else double) * np.finfo(dtype).eps, worst


def test_owens_t():
    h, a = (3 * RNG.standard_normal(500) for _ in range(2))
    with nj.enable_x64(True):
        np.testing.assert_allclose(special.owens_t(h, a), oracle.owens_t(h, a), rtol=1e-12, atol=1e-300)
        edges = np.array([0.0, -0.0, 1.0, -2.0, np.inf, -np.inf, np.nan])
        grid = edges[:, None], edges[None, :]
        np.testing.assert_allclose(special.owens_t(*grid), oracle.owens_t(*grid), rtol=1e-14)


def test_owens_t_in_single_precision():
    """A rule of fewer points: errors of some units in the last place all over the range."""
    h, a = (v.ravel() for v in np.meshgrid(np.linspace(-9, 9, 181), np.r_[np.linspace(-3, 3, 121), -50, 1e3, np.inf]))
    h, a = h.astype(np.float32), a.astype(np.float32)
    want = oracle.owens_t(h.astype(np.float64), a.astype(np.float64))
    regular = np.abs(want) > 1e-37
    error = np.abs(special.owens_t(h, a) / np.where(regular, want, 1) - 1)[regular] / np.finfo(np.float32).eps
    assert error.max() < 20


def test_owens_t_of_halves_is_float32():
    half = special.owens_t(np.array([1.0], np.float16), np.float16(0.5))
    np.testing.assert_array_equal(half, special.owens_t(np.array([1.0], np.float32), np.float32(0.5)))
    assert half.dtype == np.float32


@pytest.mark.parametrize("name", ["erfcx", "dawsn", "fresnel", "sici", "loggamma", "wofz"])
def test_special_points(name):
    edges = np.array([0.0, -0.0, np.inf, -np.inf, np.nan])
    with nj.enable_x64(True):
        np.testing.assert_array_equal(np.asarray(getattr(special, name)(edges)), np.asarray(getattr(oracle, name)(edges)))


def test_gamma_of_complex_numbers():
    z = np.array([-0.5 + 0j, -1.5 + 0j, 0.5 + 1j, 0.5 - 1j, -2.5 + 1e-12j, -2.5 - 1e-12j, 4 + 2j])
    with nj.enable_x64(True):
        np.testing.assert_allclose(special.gamma(z), oracle.gamma(z), rtol=1e-13, atol=1e-13)
        poles = np.asarray(special.gamma(np.array([0j, -1 + 0j, -5 + 0j])))
        assert np.isnan(poles.real).all() and np.isnan(poles.imag).all()
        np.testing.assert_allclose(special.erfcx(z), oracle.erfcx(z), rtol=1e-13)


@pytest.mark.parametrize("name", ["erfcx", "dawsn", "fresnel", "sici", "wofz", "loggamma", "owens_t"])
def test_derivatives(name):
    function = getattr(special, name)
    flat = lambda *v: list(out) if isinstance(out := function(*v), tuple) else [out]
    x = [np.array([0.3, 1.1, 2.6, 5.0])] * (2 if name == "owens_t" else 1)
    with nj.enable_x64(True):
        check_function(flat, x if name != "wofz" else [x[0] + 0.5j], 2, name)
        if name in ("wofz", "loggamma", "erfcx"):
            check_function(flat, [x[0] - 1 + 0.5j], 1, name)


def test_dtypes_and_errors():
    for name in ("erfcx", "dawsn", "loggamma"):
        for dtype in ("float16", "bfloat16", "float32"):
            assert getattr(special, name)(nj.numpy.ones(2, dtype)).dtype == dtype
        assert getattr(special, name)(2).dtype == "float32"
    assert special.wofz(nj.numpy.ones(2, "float16")).dtype == "complex64"
    assert [v.dtype for v in special.fresnel(nj.numpy.ones((), "float16"))] == ["float16", "float16"]
    for name in ("i0", "i1"):
        with pytest.raises(TypeError, match="does not support complex-valued inputs"):
            getattr(special, name)(1j)
