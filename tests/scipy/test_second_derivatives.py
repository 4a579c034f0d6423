"""Second derivatives where terms cancel: near 0, and at the ends of the domain; mpmath's values."""
from __future__ import annotations

import mpmath
import numpy as np
import pytest

import numjet as nj
import numjet.numpy as jnp
from numjet.scipy import special

FUNCTIONS = {
    "arcsin": (jnp.arcsin, mpmath.asin), "arccos": (jnp.arccos, mpmath.acos), "arctanh": (jnp.arctanh, mpmath.atanh),
    "jnp.i0": (jnp.i0, lambda x: mpmath.besseli(0, x)), "i0": (special.i0, lambda x: mpmath.besseli(0, x)),
    "i1": (special.i1, lambda x: mpmath.besseli(1, x)),
    "i1e": (special.i1e, lambda x: mpmath.besseli(1, x) * mpmath.exp(-x)),
}
POINTS = np.float32([1e-30, 1e-6, 0.3, 0.75])


@pytest.mark.parametrize("name", FUNCTIONS)
def test_second_derivatives_keep_their_digits(name):
    function, exact = FUNCTIONS[name]
    with mpmath.workdps(120):
        want = [float(mpmath.diff(exact, mpmath.mpf(float(x)), 2, h=mpmath.mpf(10) ** -45)) for x in POINTS]
    for wrap in (lambda f: f, nj.jit):
        np.testing.assert_allclose(wrap(nj.vmap(nj.grad(nj.grad(function))))(POINTS), want, rtol=3e-6)


def test_ends_of_the_domain():
    curvature = nj.vmap(nj.grad(nj.grad(jnp.arcsin)))(np.float32([-1, -0.0, 0.0, 1]))
    np.testing.assert_array_equal(curvature, [-np.inf, 0, 0, np.inf])
    for x in (-2.0, -1e-6):  # entr is -inf there
        assert nj.grad(special.entr)(x) == nj.jvp(special.entr, (x,), (1.0,))[1] == nj.grad(nj.grad(special.entr))(x) == 0
