"""Integrals of complex numbers: errors against mpmath, points on cuts and at infinities, derivatives."""
from __future__ import annotations

import mpmath
import numpy as np
import pytest

import numjet as nj
import numjet.numpy as jnp
from numjet.scipy import special

RNG = np.random.default_rng(0)
INF, NAN, PI = np.inf, np.nan, np.pi


def numbers(size, count=12):
    return size * (RNG.normal(0, 1, count) + 1j * RNG.normal(0, 1, count))


def anywhere(low, high, count=24):
    return 10 ** RNG.uniform(low, high, count) * np.exp(1j * RNG.uniform(-3.1, 3.1, count))


AROUND = np.concatenate([numbers(size) for size in (1e-6, 0.3, 1.0, 3.0, 8.0, 25.0)])
BESIDE_THE_CUT = np.array([-x + y * 1j for x in (1, 5, 25, 39, 41, 60) for y in (0.0, 1e-9, 0.1, 1, -2)])
INTEGRALS = np.concatenate([AROUND, BESIDE_THE_CUT])
FOURS = [np.concatenate([numbers(1.0), anywhere(-8, 8), RNG.uniform(0, 3, 6) + 0j]) for _ in range(4)]
RIGHT = [abs(x.real) + 1j * x.imag for x in FOURS]
# Function, number of the result, exact function, arguments, largest error relative to the modulus.
EXACT = [("exp1", None, mpmath.e1, (INTEGRALS,), 4e-15), ("expi", None, mpmath.ei, (INTEGRALS,), 3e-15),
         ("sici", 0, mpmath.si, (INTEGRALS,), 2e-15), ("sici", 1, mpmath.ci, (INTEGRALS,), 5e-15),
         ("shichi", 0, mpmath.shi, (INTEGRALS,), 2e-15), ("shichi", 1, mpmath.chi, (INTEGRALS,), 2e-15),
         ("spence", None, lambda z: mpmath.polylog(2, 1 - z), (INTEGRALS,), 2e-15),
         ("elliprf", None, mpmath.elliprf, tuple(FOURS[:3]), 1e-15), ("elliprd", None, mpmath.elliprd, tuple(FOURS[:3]), 1e-15),
         ("elliprc", None, mpmath.elliprc, tuple(FOURS[:2]), 1e-15), ("elliprg", None, mpmath.elliprg, tuple(FOURS[:3]), 1e-14),
         ("elliprj", None, mpmath.elliprj, tuple(RIGHT), 1e-13)]


def _part(found, part):
    return np.asarray(found if part is None else found[part])


@pytest.mark.parametrize("name, part, exact, args, most", EXACT)
def test_errors(name, part, exact, args, most, x64):
    function = getattr(special, name)
    for dtype, bound in ((np.complex128, most), (np.complex64, 1e-7)):
        given = [x.astype(dtype) for x in args]
        found = _part(nj.jit(function)(*given), part)
        assert found.dtype == dtype
        eager = _part(function(*given), part)
        assert (abs(found - eager)[np.isfinite(eager)] <= 1e-14 * abs(eager)[np.isfinite(eager)]).all()
        with mpmath.workdps(30):
            want = [exact(*(mpmath.mpmathify(complex(x)) for x in row)) for row in zip(*given, strict=True)]
            errors = [float(abs(mpmath.mpmathify(complex(x)) - y) / abs(y)) for x, y in zip(found, want, strict=True)
                      if abs(y) < 1e38 and abs(y) > 1e-37]
        assert max(errors) < bound, (name, max(errors))


# Function, argument, value: on the cut, at 0 and at infinities.
POINTS = [("exp1", complex(-2, 0.0), -4.954234356001890 - PI * 1j), ("exp1", complex(-2, -0.0), -4.954234356001890 + PI * 1j),
          ("exp1", 0j, INF), ("exp1", complex(INF, 0), 0), ("exp1", complex(1, INF), 0),
          ("exp1", complex(NAN, 1), NAN + NAN * 1j), ("expi", complex(INF, 0), INF),
          ("expi", 2 + 0j, 4.954234356001890), ("expi", -2 + 0j, -0.04890051070806112), ("expi", 0j, -INF),
          ("expi", complex(-INF, 0), 0), ("spence", 0j, PI ** 2 / 6), ("spence", 1 + 0j, 0), ("spence", 2 + 0j, -PI ** 2 / 12),
          ("spence", complex(-2, 0.0), 2.320180423313098 - 3.451392295223203j),
          ("spence", complex(-2, -0.0), 2.320180423313098 + 3.451392295223203j), ("spence", complex(INF, 1), NAN)]


@pytest.mark.parametrize("name, z, want", POINTS)
def test_points(name, z, want, x64):
    for function in (getattr(special, name), nj.jit(getattr(special, name))):
        np.testing.assert_allclose(function(z), want, rtol=1e-14, atol=1e-15)


def test_sides_of_the_cuts_of_cosine_integrals(x64):
    for z, turn in ((complex(-2, 0.0), PI), (complex(-2, -1e-300), -PI), (2 + 0j, 0)):
        for function, (odd, even) in ((special.sici, (1.605412976802695, 0.4229808287748650)),
                                      (special.shichi, (2.501567433354976, 2.452666922646915))):
            found = function(z)
            np.testing.assert_allclose(found, [odd * np.sign(z.real), even + turn * 1j], rtol=1e-14)


def test_what_is_real_of_real_numbers(x64):
    x = np.array([0.5, 3.0, 5.0, 40.0])
    z = x + 0j
    for found in (special.exp1(z), special.expi(z), *special.sici(z), *special.shichi(z), special.spence(z)):
        assert (np.asarray(found).imag == 0).all()
    np.testing.assert_array_equal(np.asarray(special.sici(1j * x)[0]).real, 0)
    np.testing.assert_array_equal(np.asarray(special.shichi(1j * x)[0]).real, 0)


def test_elliptic_integrals_on_the_cut_and_of_zeros(x64):
    np.testing.assert_array_equal([special.elliprf(-1 + 0j, 1, 2), special.elliprg(1, 2, -1 + 0j), special.elliprc(1, 0j)], NAN)
    np.testing.assert_array_equal([special.elliprf(0j, 0, 1), special.elliprd(1, 2, 0j), special.elliprj(0j, 0, 1, 1j)], INF)
    np.testing.assert_array_equal([special.elliprf(INF, 1j, 1), special.elliprj(1j, -1j, 2, INF)], 0)
    np.testing.assert_allclose(special.elliprg(0j, 0, 1j), 0.5 * np.sqrt(1j), rtol=1e-15)
    np.testing.assert_allclose(special.elliprc(1 + 1j, -1.0), 0.6872098445070481 + 0.04601692658382597j, rtol=1e-14)
    np.testing.assert_allclose(special.elliprj(1 + 0j, 2, 3, -1), special.elliprj(1.0, 2.0, 3.0, -1.0), rtol=1e-15)
    np.testing.assert_allclose(special.exp1(-712 + 1j), -1.2571543434669668e306 + 1.9518582701792164e306j, rtol=1e-12)
    assert np.isnan(complex(special.elliprj(-1 + 1j, 1, 2, 1)))   # where Carlson's algorithm does not hold


REST = {"elliprf": (1 + 1j, 2), "elliprd": (1 + 1j, 2), "elliprg": (1 + 1j, 2), "elliprc": (1 + 1j,),
        "elliprj": (1 + 1j, 2, 3 + 1j)}
@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_wrightomega(dtype, x64):
    """The branch of Lambert's W is that of the imaginary part: ceil((Im z - pi) / 2 pi)."""
    z = np.concatenate([numbers(size, 40) for size in (0.3, 1.0, 3.0, 8.0, 25.0)]).astype(dtype)
    found = nj.jit(special.wrightomega)(z)
    assert found.dtype == dtype
    with mpmath.workdps(40):
        for x, w in zip(map(complex, z), np.asarray(found), strict=True):
            want = mpmath.lambertw(mpmath.exp(x), int(np.ceil((x.imag - PI) / (2 * PI))))
            assert abs(want - complex(w)) < (1e-7 if dtype == np.complex64 else 2e-15) * abs(want) + 1e-44, x
    np.testing.assert_allclose(nj.vmap(nj.grad(special.wrightomega, holomorphic=True))(z[:9]), found[:9] / (1 + found[:9]),
                               rtol=1e-6 if dtype == np.complex64 else 1e-14)


# Argument and value, on the cuts and at the ends.
OMEGA = [(complex(-5, PI), -0.006783811352096971), (complex(-5, -PI), -6.936847407220218), (complex(-1, PI), -1),
         (complex(-1, -PI), -1), (complex(-800, 4), -806.6929436723199 + 0.8594727734167926j), (complex(-INF, 1), 0),
         (complex(-INF, 4), complex(-INF, 4)),
         (complex(INF, 2), complex(INF, 2)), (complex(NAN, 0), complex(NAN, NAN)), (1e30 + 1e30j, 1e30 + 1e30j)]


@pytest.mark.parametrize("z, want", OMEGA)
def test_points_of_wrightomega(z, want, x64):
    for function in (special.wrightomega, nj.jit(special.wrightomega)):
        np.testing.assert_allclose(function(z), want, rtol=1e-14, atol=1e-15)


DERIVATIVES = [("exp1", None, mpmath.e1), ("expi", None, mpmath.ei), ("sici", 0, mpmath.si), ("sici", 1, mpmath.ci),
               ("shichi", 0, mpmath.shi), ("shichi", 1, mpmath.chi), ("spence", None, lambda z: mpmath.polylog(2, 1 - z)),
               *((name, None, lambda z, name=name: getattr(mpmath, name)(z, *REST[name])) for name in REST)]


@pytest.mark.parametrize("name, part, exact", DERIVATIVES)
def test_derivatives(name, part, exact, x64):
    def function(z):
        found = getattr(special, name)(z, *REST.get(name, ()))
        return found if part is None else found[part]
    points = np.array([0.5 + 0.25j, 2 - 1j, 1 + 0j, 0.05 + 3j])
    first = nj.grad(function, holomorphic=True)
    second = nj.grad(first, holomorphic=True)
    found = nj.jit(nj.vmap(lambda z: (first(z), second(z))))(points)   # one program, as they share most of their terms
    for order, values in enumerate(found, 1):
        with mpmath.workdps(30):
            want = [complex(mpmath.diff(exact, mpmath.mpmathify(complex(z)), order)) for z in points]
        np.testing.assert_allclose(values, want, rtol=1e-10)


@pytest.mark.parametrize("name", ["exp1", "expi", "sici", "shichi", "spence", "airy", "wrightomega"])
def test_nothing_is_mixed_where_programs_may_not(name):
    """Real constants meet complex arguments inside, also under strict promotion; in programs and in derivatives, too."""
    function = lambda z: sum(nj.tree.leaves(getattr(special, name)(z)))
    point = jnp.array([0.5 + 1j])
    expected = function(point), nj.jvp(function, (point,), (point,))[1]
    with nj.numpy_dtype_promotion("strict"):
        found = [(function(point), nj.jvp(function, (point,), (point,))[1]),
                 nj.jit(lambda z: nj.jvp(function, (z,), (z,)))(point)]
    for pair in found:
        for got, want in zip(pair, expected, strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-5)
