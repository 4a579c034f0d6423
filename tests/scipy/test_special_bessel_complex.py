"""Bessel functions of complex arguments: errors in eps against mpmath, SciPy's values at special points, derivatives."""
from __future__ import annotations

import mpmath
import numpy as np
import pytest
import scipy.special as oracle

import numjet as nj
import numjet.numpy as jnp
from numjet.foundation.config import enable_x64
from numjet.scipy import special
from numjet.scipy.special import complex_bessel

RNG = np.random.default_rng(0)
N = 6
ORDERS = np.concatenate([RNG.uniform(-5, 5, N), RNG.integers(-8, 9, N), RNG.uniform(0, 40, N), RNG.uniform(40, 120, N // 2)])
SIZES = np.where(RNG.random(ORDERS.size) < 0.5, 10 ** RNG.uniform(-3, 1, ORDERS.size), 10 ** RNG.uniform(-1, 2.3, ORDERS.size))
DIRECTIONS = np.exp(1j * RNG.uniform(-np.pi, np.pi, ORDERS.size))
DIRECTIONS[::4] = RNG.choice([1, 1j, -1, -1j], DIRECTIONS[::4].size)
POINTS = SIZES * DIRECTIONS
SPECIAL_ORDERS, SPECIAL = (a.ravel() for a in np.meshgrid([0, 0.5, 1, -2, 2.3, -2.3], np.array([
    complex(-1, 0), complex(-1, -0.0), complex(1, -0.0), 2j, complex(-0.0, -2), complex(-30, -0.0), 1e-30 + 1e-30j, 1e-200j,
    700j, complex(3, -1e-20), complex(-3, -1e-20)]), indexing="ij"))

# kind: the function and the exponent of its factor; ju, yu and iu are used in half planes alone
ORDINARY = {
    "ju": (mpmath.besselj, 1j), "yu": (mpmath.bessely, 1j), "h1e": (mpmath.hankel1, -1j), "h2e": (mpmath.hankel2, 1j)}
MODIFIED = {"iu": (mpmath.besseli, -1), "ke": (mpmath.besselk, 1)}
SAME = {"j": oracle.jv, "y": oracle.yv, "h1": oracle.hankel1, "h1e": oracle.hankel1e, "h2": oracle.hankel2,
        "h2e": oracle.hankel2e, "i": oracle.iv, "k": oracle.kv, "ke": oracle.kve}


@pytest.fixture(scope="module", params=[False, True], ids=["ordinary", "modified"])
def values(request):
    """The functions of a family at POINTS, moved to its half plane, and at the special points: one program."""
    z = POINTS if request.param else np.where(POINTS.imag < 0, POINTS.conj(), POINTS)
    z = np.where(z.real < 0, -z, z) if request.param else z
    with enable_x64(True):
        family = nj.jit(lambda v, z: complex_bessel.all_kinds(request.param, v, z))
        found = family(np.concatenate([ORDERS, SPECIAL_ORDERS]), np.concatenate([z, SPECIAL]))
        return request.param, z, {kind: np.asarray(v) for kind, v in found.items()}


def test_errors_in_eps(values):
    """Relative to the value and the smaller of two functions that have no zeros in common."""
    modified, points, found = values
    pair = (mpmath.besseli, mpmath.besselk) if modified else (mpmath.hankel1, mpmath.hankel2)
    checked = 0
    with mpmath.workdps(30):
        for k, (v, z) in enumerate(zip(map(float, ORDERS), map(mpmath.mpmathify, points), strict=True)):
            least = min(abs(f(v, z)) for f in pair)
            for kind, (exact, exponent) in (MODIFIED if modified else ORDINARY).items():
                factor, want = mpmath.exp(exponent * z), exact(v, z)
                if 1e-290 < abs(want * factor) < 1e290:
                    bound = (60 + (abs(v) if abs(v) > 40 else 0)) * 2.3e-16 * (abs(want) + least) * abs(factor)
                    assert abs(mpmath.mpmathify(complex(found[kind][k])) - want * factor) <= bound, (kind, v, z)
                    checked += 1
    assert checked > 35


def test_branches_tiny_and_large_arguments(values):
    """SciPy's values where they are finite."""
    for kind in SAME.keys() & values[2].keys():
        got, want = values[2][kind][len(ORDERS):], SAME[kind](SPECIAL_ORDERS, SPECIAL)
        known = np.isfinite(want) & (np.abs(want) > 1e-290)
        assert known.sum() > 40
        np.testing.assert_allclose(got[known], want[known], rtol=1e-11, err_msg=kind)


def test_derivatives_and_dtypes():
    """The derivative of kve is that of an analytic function; jit, vmap over the last axis, float32, orders and shapes."""
    z = jnp.array([[1 + 2j, -3 - 0.5j]], np.complex64)
    slope = lambda z: nj.jvp(lambda z: special.kve(1.25, z), (z,), (jnp.ones_like(z),))
    got = nj.jit(nj.vmap(slope, -1, -1))(z)
    exact = lambda z: mpmath.besselk(1.25, z) * mpmath.exp(z)
    for order in (0, 1):
        want = [[complex(mpmath.diff(exact, complex(point), order)) for point in np.asarray(z)[0]]]
        assert got[order].dtype == np.complex64 and got[order].shape == z.shape
        np.testing.assert_allclose(got[order], want, rtol=1e-5)
    with pytest.raises(NotImplementedError, match="kve: expected a derivative to the last argument"):
        nj.grad(lambda v: special.kve(v, z).real.sum())(1.25)
    with pytest.raises(ValueError, match="jv does not support complex"):
        special.jv(1j, 1j)


def test_spherical_functions_at_zero_and_infinity(x64):
    z = np.array([0.3 + 0.4j, complex(-2, 0.0), -2.1 - 0.3j, 7j, 0, complex(np.inf, 0), complex(np.nan, 1)])
    got = np.asarray(special.spherical_jn(np.array([[0], [1], [4]]), z))
    np.testing.assert_allclose(got[:, :5], oracle.spherical_jn(np.array([[0], [1], [4]]), z[:5]), rtol=1e-12)
    assert np.isnan(got[:, 5:]).all()


@pytest.mark.parametrize("name", ["yve", "ive"])
def test_scaled_functions(name, x64):
    """Their factor is real in the whole plane; SciPy's values."""
    v, z = np.array([0.5, -2.3]), np.array([[1 - 2j], [-3 + 0.5j], [-3 - 0.5j], [900j]])
    np.testing.assert_allclose(getattr(special, name)(v, z), getattr(oracle, name)(v, z), rtol=1e-11)
