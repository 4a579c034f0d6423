"""Zeros of special functions, nodes of quadrature and shifted polynomials, beside SciPy's."""
import numpy as np
import pytest
import scipy.special as theirs

import numjet as nj
import numjet.numpy as jnp
from numjet.scipy import special

_ZEROS = [
    "ai_zeros", "bei_zeros", "beip_zeros", "ber_zeros", "berp_zeros", "bi_zeros", "kei_zeros", "keip_zeros", "ker_zeros",
    "kerp_zeros", "erf_zeros", "fresnel_zeros", "fresnelc_zeros", "fresnels_zeros", "y0_zeros", "y1_zeros", "y1p_zeros",
]
_QUADRATURES = {
    "roots_legendre": (), "roots_chebyt": (), "roots_chebyu": (), "roots_chebyc": (), "roots_chebys": (), "roots_hermite": (),
    "roots_hermitenorm": (), "roots_laguerre": (), "roots_sh_legendre": (), "roots_sh_chebyt": (), "roots_sh_chebyu": (),
    "roots_genlaguerre": (0.5,), "roots_gegenbauer": (1.5,), "roots_jacobi": (0.5, 1.5), "roots_sh_jacobi": (2.5, 1.5),
}
_POLYNOMIALS = {
    "eval_chebyc": (), "eval_chebys": (), "eval_sh_chebyt": (), "eval_sh_chebyu": (), "eval_sh_legendre": (),
    "eval_sh_jacobi": (2.5, 1.5),
}


@pytest.mark.parametrize("name", _ZEROS)
@pytest.mark.parametrize("count", [1, 7])
def test_zeros(name, count):
    with nj.enable_x64(True):
        found, expected = getattr(special, name)(count), getattr(theirs, name)(count)
        for a, b in zip(nj.tree.leaves(found), nj.tree.leaves(expected), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("name", _QUADRATURES)
@pytest.mark.parametrize("n", [1, 2, 9])
def test_quadratures(name, n):
    with nj.enable_x64(True):
        found, expected = (getattr(m, name)(n, *_QUADRATURES[name], mu=True) for m in (special, theirs))
        for a, b in zip(found, expected, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", _POLYNOMIALS)
@pytest.mark.parametrize("n", [0, 1, 5])
def test_polynomials(name, n):
    x = np.linspace(0.05, 0.95, 9)
    with nj.enable_x64(True):
        f = lambda x: getattr(special, name)(n, *_POLYNOMIALS[name], x)
        expected = getattr(theirs, name)(n, *_POLYNOMIALS[name], x)
        for g in (f, nj.jit(f), nj.vmap(f)):
            np.testing.assert_allclose(g(jnp.asarray(x)), expected, rtol=1e-10, atol=1e-12)
        slope = (getattr(theirs, name)(n, *_POLYNOMIALS[name], x + 1e-6)
                 - getattr(theirs, name)(n, *_POLYNOMIALS[name], x - 1e-6)) / 2e-6
        np.testing.assert_allclose(nj.vmap(nj.grad(f))(jnp.asarray(x)), slope, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", ["spherical_in", "spherical_kn", "spherical_yn", "spherical_jn"])
@pytest.mark.parametrize("derivative", [False, True])
def test_spherical_functions(name, derivative):
    z = np.array([0.3, 1.0, 4.0, 20.0])
    with nj.enable_x64(True):
        for n in (0, 1, 4):
            found = getattr(special, name)(n, jnp.asarray(z), derivative)
            np.testing.assert_allclose(found, getattr(theirs, name)(n, z, derivative), rtol=1e-9)


def test_scaled_bessel_function():
    z = np.array([0.5, 3.0, 1 + 2j, -2 + 5j])
    with nj.enable_x64(True):
        np.testing.assert_allclose(special.jve(1.5, jnp.asarray(z)), theirs.jve(1.5, z), rtol=1e-9)
