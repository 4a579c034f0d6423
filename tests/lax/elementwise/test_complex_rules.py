"""The complex functions written in real arithmetic, against NumPy's in longer floats, and at special values."""
from __future__ import annotations

import numpy as np
import pytest

from numjet import lax
from numjet.lax.elementwise import complex_rules
from numjet.lax.elementwise.numpy_scalars import NumpyScalars

B = NumpyScalars()
NAMES = {"exp": "exp", "log": "log", "sin": "sin", "cos": "cos", "tan": "tan", "sinh": "sinh", "cosh": "cosh",
         "tanh": "tanh", "sqrt": "sqrt", "asin": "arcsin", "acos": "arccos", "atan": "arctan", "asinh": "arcsinh",
         "acosh": "arccosh", "atanh": "arctanh", "expm1": "expm1", "exp2": "exp2"}


def points(rng):
    """Near 0, around the unit circle, near 1, and far out."""
    normal = rng.normal(size=500) + 1j * rng.normal(size=500)
    circle = np.exp(1j * rng.uniform(0, 6.3, 500)) * (1 + 1e-4 * rng.normal(size=500))
    scaled = [normal * s for s in (1e-3, 1, 10)]
    return np.concatenate([*scaled, circle, 1 + 1e-3 * normal]).astype(np.complex64)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", NAMES)
def test_single_precision_against_double(name, rng):
    z = points(rng)
    expected = getattr(np, NAMES[name])(z.astype(np.complex128))
    got = getattr(complex_rules, name)(B, z)
    assert got.dtype == np.complex64
    error = np.abs(got - expected) / np.abs(expected) / np.finfo(np.float32).eps
    finite = np.isfinite(expected.astype(np.complex64)) & (np.abs(expected) > 1e-30)
    assert error[finite].max() < (12 if name == "exp2" else 4)


def test_log1p_keeps_the_modulus_near_zero(rng):
    z = (rng.normal(size=300) + 1j * rng.normal(size=300)) * 10.0 ** rng.uniform(-9, 1, 300)
    x, y = z.real.astype(np.longdouble), z.imag.astype(np.longdouble)
    expected = np.log1p(x * (2 + x) + y * y) / 2
    for got in (complex_rules.log1p(B, z).real, lax.log1p_p.eager(z).real):
        assert np.allclose(got, expected.astype(float), rtol=1e-13, atol=0)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", ["exp", "log", "sqrt", "asin", "acos", "atan", "asinh", "acosh", "atanh"])
def test_special_values_agree_with_numpy(name):
    values = [0.0, -0.0, 1.0, -1.0, 0.5, np.inf, -np.inf, 1e30]
    z = np.array([complex(a, b) for a in values for b in values])
    got, expected = getattr(complex_rules, name)(B, z), getattr(np, NAMES[name])(z)
    for g, e in ((got.real, expected.real), (got.imag, expected.imag)):
        known = ~np.isnan(e) & ~np.isnan(got) & ~((name == "exp") & np.isinf(z.imag))  # signs of zero unspecified there
        assert np.allclose(g[known], e[known], rtol=1e-9, atol=0)
        assert np.array_equal(np.signbit(g[known]), np.signbit(e[known]))
    assert (np.isnan(got) & ~np.isnan(expected)).sum() == 0


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_large_and_small_roots_do_not_overflow():
    z = np.array([3e38 + 3e38j, 1e-45 + 1e-45j, -3e38 + 1j], np.complex64)
    assert np.allclose(complex_rules.sqrt(B, z), np.sqrt(z.astype(np.complex128)), rtol=1e-6)


def test_powers_of_zero():
    zero, two = np.zeros(1, np.complex64), np.full(1, 2, np.complex64)
    with np.errstate(all="ignore"):
        assert complex_rules.pow(B, zero, zero) == 1 and complex_rules.pow(B, zero, two) == 0
        assert np.allclose(complex_rules.pow(B, two, two), 4)


def test_extrema_are_lexicographic():
    x, y = np.array([1 + 5j, 1 + 1j]), np.array([1 + 2j, 2 + 0j])
    assert complex_rules.larger(B, x, y).tolist() == np.maximum(x, y).tolist() == [1 + 5j, 2]
    assert complex_rules.smaller(B, x, y).tolist() == np.minimum(x, y).tolist()
