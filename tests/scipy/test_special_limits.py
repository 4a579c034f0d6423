"""Special functions at poles that cancel, next to overflow, and where the terms of their series cancel."""
from __future__ import annotations

import numpy as np
import pytest
import scipy.special as reference

import numjet as nj
from numjet import numpy as jnp
from numjet.scipy import special


@pytest.mark.parametrize("a, b", [(-1, 1), (-2, 1), (-2, 2), (-3, 3), (-4, 1), (-4, 4), (1, -3), (-2, 3), (-3, 2.5), (0, 0),
                                  (0, 1), (-0.0, 1), (2.5, 3)])
def test_beta_at_poles(a, b):
    """Some cancel the poles of Gamma(a + b): B(-n, m) is finite for m <= n."""
    with nj.enable_x64(True):
        np.testing.assert_allclose(special.beta(float(a), float(b)), reference.beta(a, b), rtol=1e-12)
        np.testing.assert_allclose(special.betaln(float(a), float(b)), reference.betaln(a, b), rtol=1e-12, atol=1e-14)


def test_beta_near_poles_is_as_before():
    slopes = nj.grad(special.betaln, (0, 1))(2.0, 3.0)
    psi = reference.digamma
    np.testing.assert_allclose(slopes, [psi(2) - psi(5), psi(3) - psi(5)], rtol=1e-6)
    assert np.isnan(special.betaln(-1.0, jnp.nan)) and np.isnan(special.beta(jnp.nan, -2.0))


@pytest.mark.parametrize("dtype, x, wanted", [(np.float32, 91.0, reference.i0e(91) * np.exp(91.0)),
                                              (np.float64, 713.0, 6.705128263670996e307)])
def test_modified_bessel_functions_before_they_overflow(dtype, x, wanted):
    with nj.enable_x64(True):
        for fun in (special.i0, jnp.i0):
            np.testing.assert_allclose(fun(dtype(x)), wanted, rtol=300 * np.finfo(dtype).eps)
            assert np.isfinite(nj.grad(fun)(dtype(x)))
        np.testing.assert_allclose(special.i1(dtype(x)), wanted * reference.i1e(x) / reference.i0e(x),
                                   rtol=300 * np.finfo(dtype).eps)


def test_gauss_function_of_large_parameters_left_of_zero():
    """The alternating series loses all digits; after Pfaff's transformation no term is negative. By mpmath."""
    with nj.enable_x64(True):
        np.testing.assert_allclose(special.hyp2f1(100.0, 100.0, 300.0, -0.5), 3.95042591453997531e-7, rtol=1e-12)
        np.testing.assert_allclose(special.hyp2f1(1.0, 2.0, 3.0, -0.25), reference.hyp2f1(1, 2, 3, -0.25), rtol=1e-14)


@pytest.mark.parametrize("a, b", [(1e-300, 1.0), (1e-300, 2.5), (1e-305, 1e-200), (1e-21, 3.0), (1e-308, 1e-308),
                                  (1e-250, 1e50)])
def test_beta_next_to_zero(a, b):
    """exp of a logarithm of 690 would lose three digits. The derivative is about -1 / a**2."""
    with nj.enable_x64(True):
        np.testing.assert_allclose(special.beta(a, b), reference.beta(a, b), rtol=2e-15)
        if a == 1e-21:
            np.testing.assert_allclose(nj.grad(special.beta)(a, b), -1 / a ** 2, rtol=1e-14)


@pytest.mark.parametrize("n, k", [(1e-300, 1), (1e-20, 2), (1e-310, 3), (1e-17, 7), (-1e-25, 4), (1e-16, -1), (0, 2), (3, 5),
                                  (1e-20, 0.5), (0.5, 1.5), (2.25, 6), (-0.5, 3)])
def test_binomial_coefficients_of_tiny_numbers(n, k):
    """n - k is rounded to a whole number, but the coefficient is not 0."""
    with nj.enable_x64(True):
        np.testing.assert_allclose(special.binom(n, k), reference.binom(n, k), rtol=4e-15)


@pytest.mark.parametrize("a, b", [(np.inf, 1.0), (1.0, np.inf), (np.inf, np.inf), (0.0, np.inf), (-np.inf, 1.0),
                                  (-1.0, -np.inf), (np.inf, -np.inf), (1e-200, -1e-200), (1.5e308, 1.7e308),
                                  (1e-200, 3e-200), (0.0, -2.0),
                                  (np.nan, np.inf)])
def test_arithmetic_geometric_means_at_the_ends_of_the_range(a, b):
    with nj.enable_x64(True):
        np.testing.assert_allclose(special.agm(a, b), reference.agm(a, b), rtol=1e-14)


def test_quantiles_of_no_degrees_of_freedom():
    p = np.array([0.0, 0.5, 1.0])
    np.testing.assert_array_equal(special.chdtri(0.0, p), reference.chdtri(0.0, p))


@pytest.mark.parametrize("name, count", [("expn", 2), ("hyp1f1", 3), ("hyp2f1", 4), ("ndtr", 1), ("log_ndtr", 1),
                                         ("spence", 1)])
def test_lists_where_jax_takes_them(name, count):
    args = [[1.0, 2.0]] * (count - 1) + [[0.5, 0.25]]
    np.testing.assert_allclose(getattr(special, name)(*args), getattr(reference, name)(*args), rtol=1e-5)


# Function, arguments; its slopes and second derivatives there, in the order (0, 1, 00, 01, 11). By mpmath.
DERIVATIVES = [
    ("poch", (1.0, 0.0), (0.0, -0.5772156649015329, 0.0, 1.6449340668482264, 1.978111990655945)),
    ("poch", (-0.5, 0.0), (0.0, 0.03648997397857652, 0.0, 8.934802200544679, 8.936133718745637)),
    ("poch", (30.0, 1e-5), (3.389620179053875e-07, 3.3845530178063794, -1.1487922051867502e-08, 0.033897343242614744,
                            11.488707638802396)),
    ("boxcox", (0.5, 0.0), (2.0, 0.2402265069591007, -4.0, -1.3862943611198906, -0.11100821728443397)),
    ("boxcox", (7.0, 1.0), (1.0, 7.621371043387192, 0.0, 1.9459101490553132, 11.2632220706009152)),
    ("boxcox1p", (-0.5, 0.0), (2.0, 0.2402265069591007, -4.0, -1.3862943611198906, -0.11100821728443397)),
    ("betaln", (-0.5, 1e10), (-22.989360955861883, 5.0000000025e-11, 8.934802200444679, -1.0000000001e-10,
                              -5.00000000500000e-21)),
    ("kl_div", (1.0, np.inf), (-np.inf, 1.0, 1.0, 0.0, 0.0)),
    ("owens_t", (np.inf, 0.0), (0.0, 0.0, 0.0, 0.0, 0.0)),
]


@pytest.mark.parametrize("name, args, wanted", DERIVATIVES, ids=[f"{name}{args}" for name, args, _ in DERIVATIVES])
def test_derivatives_where_formulas_are_0_times_infinity(name, args, wanted):
    function = getattr(special, name)
    with nj.enable_x64(True):
        for mode in (lambda f: f, nj.jit):
            slopes = mode(nj.grad(function, (0, 1)))(*args)
            (second, mixed), (_, last) = mode(nj.hessian(function, (0, 1)))(*args)
            np.testing.assert_allclose([*slopes, second, mixed, last], wanted, rtol=1e-9)


def test_beta_of_a_negative_and_a_huge_number():
    """By Stirling's series of the huge one, as the difference of the logarithms of its gamma functions cancels. By mpmath."""
    with nj.enable_x64(True):
        np.testing.assert_allclose(special.beta(-0.5, np.array([1e10, 1e30])), [-354490.7701678097, -3544907701811032.5],
                                   rtol=1e-12)
        np.testing.assert_allclose(special.betaln(-100.5, np.array([111.0, 1e4])), [31.48118299810619, 560.2264757237514],
                                   rtol=1e-13)
    assert special.poch(-2.0, 0.0) == special.poch(0.0, 0.0) == 1


def test_power_transforms_have_slopes_at_the_end_of_their_domain():
    powers = np.array([0.5, 1.0, 2.0], np.float32)
    for transform, end in ((special.boxcox, 0.0), (special.boxcox1p, -1.0)):
        in_x, in_power = (nj.vmap(nj.grad(transform, k), (None, 0))(end, powers) for k in (0, 1))
        np.testing.assert_allclose(in_x, [np.inf, 1, 0])
        np.testing.assert_allclose(in_power, 1 / powers ** 2)
        assert np.isnan(nj.grad(transform)(end - 1, 1.0))


def test_infinite_slopes_by_constants_do_not_matter():
    """A constant argument has no tangent in forward mode: not one of 0, times an infinite slope."""
    for function in (special.rel_entr, special.kl_div):
        assert np.isfinite(nj.jvp(lambda p, f=function: f(p, 1e-38), (1e10,), (1.0,))[1])
        assert np.isfinite(nj.jvp(lambda q, f=function: f(2.0, q), (np.inf,), (1.0,))[1])


@pytest.mark.parametrize("name", ["jv", "yv", "iv", "kv", "jve", "yve", "ive", "kve"])
def test_bessel_functions_at_0_have_the_sign_of_their_poles(name):
    """Next to 0 they are huge or negligible; Y of half a negative odd number has no pole."""
    orders = np.array([-0.5, -1, -1.5, -2, -2.25, -2.5, -2.75, -3, 0.75, 1, 2.5])
    with nj.enable_x64(True):
        near = getattr(reference, name)(orders, 1e-30)
        want = np.where(np.abs(near) > 1, np.sign(near) * np.inf, 0)
        np.testing.assert_array_equal(getattr(special, name)(orders, 0.0), want)


def test_modified_spherical_function_at_minus_infinity():
    """k grows for negative arguments, and so do its derivatives."""
    orders, end = np.array([0, 1, 3, 6]), np.float32(-np.inf)
    assert special.spherical_kn(orders, end).tolist() == [-np.inf] * 4
    assert special.spherical_kn(orders, end, derivative=True).tolist() == [np.inf] * 4


@pytest.mark.parametrize("name", ["spherical_in", "spherical_jn", "spherical_kn", "spherical_yn"])
def test_spherical_functions_of_negative_orders_are_nan(name):
    for derivative in (False, True):
        assert np.isnan(getattr(special, name)(np.array([-1, -2]), np.float32(0.5), derivative)).all()


@pytest.mark.parametrize("a, b, c, x, want", [
    (1, 2, 2, -np.inf, 0), (3.5, 3.25, 3.25, -np.inf, 0), (3.5, 3.25, 3.25, np.inf, np.inf), (1, 2, 2, np.inf, 0),
    (-1, 2, 2, -np.inf, np.inf), (-2, 1, 3, -np.inf, np.inf), (-1, 1, 3, np.inf, -np.inf), (-1.5, 2, 2, -np.inf, np.inf),
    (0.5, 1.5, 4.5, -np.inf, 0)])
def test_gauss_function_at_infinities(a, b, c, x, want):
    """Powers of 1 - x where c is b, polynomials, and what decays."""
    for call in (special.hyp2f1, nj.jit(special.hyp2f1)):
        assert call(*map(np.float32, (a, b, c, x))) == want
