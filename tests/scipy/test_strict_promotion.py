"""Library functions under strict promotion: what they combine by themselves has one dtype, for complex arguments, too."""
import numpy as np
import pytest

import numjet as nj
import numjet.numpy as jnp
from numjet import scipy as jsp
from numjet.scipy.sparse import linalg as sparse

A = np.array([[4.0, 1.0], [1.0, 3.0]], np.float32)
B = np.array([1.0, 2.0], np.float32)
X = np.arange(5.0, dtype=np.float32)
Y = np.array([0.0, 2.0, 1.0, 3.0, 1.0], np.float32)
INTERPOLATE = jsp.interpolate
CASES = {  # functions of what makes arrays complex
    "cg": lambda c: sparse.cg(c(A), c(B))[0],
    "minres": lambda c: sparse.minres(c(A), c(B))[0],
    "gmres": lambda c: sparse.gmres(c(A), c(B))[0],
    "bicgstab": lambda c: sparse.bicgstab(c(A), c(B))[0],
    "lsqr": lambda c: sparse.lsqr(c(A), c(B)).x,
    "LinearOperator": lambda c: sparse.LinearOperator((2, 2), lambda v: c(A) @ v).T @ c(B),
    "PPoly": lambda c: INTERPOLATE.PPoly(c(A), X[:3])(jnp.array([0.5, 1.5])),
    "BSpline": lambda c: INTERPOLATE.BSpline(jnp.array([0.0, 0.0, 1.0, 2.0, 2.0]), c(Y[:3]), 1)(jnp.array([0.5, 1.5])),
    "make_interp_spline": lambda c: INTERPOLATE.make_interp_spline(X, c(Y))(jnp.array([0.5, 2.5])),
    "CubicSpline": lambda c: INTERPOLATE.CubicSpline(X, c(Y))(jnp.array([0.5, 2.5])),
    "CubicSpline, periodic": lambda c: INTERPOLATE.CubicSpline(X[:4], c(Y[[0, 1, 3, 0]]), bc_type="periodic")(jnp.array([0.5])),
    "CubicHermiteSpline": lambda c: INTERPOLATE.CubicHermiteSpline(X, c(Y), c(Y))(jnp.array([0.5, 2.5])),
    "Akima1DInterpolator": lambda c: INTERPOLATE.Akima1DInterpolator(X, c(Y))(jnp.array([0.5, 2.5])),
    "RegularGridInterpolator": lambda c: INTERPOLATE.RegularGridInterpolator((np.arange(5),), c(Y))(jnp.array([[0.5], [2.5]])),
    "solve_ivp": lambda c: jsp.integrate.solve_ivp(lambda t, y: -y, (0.0, 1.0), c(B)).y[:, -1],
    "romb": lambda c: jsp.integrate.romb(c(Y)),
    "detrend": lambda c: jsp.signal.detrend(c(Y)),
    "upfirdn": lambda c: jsp.signal.upfirdn(B, c(Y), 2),
    "lfilter": lambda c: jsp.signal.lfilter(B[:1], B, c(Y)),
    "sosfilt": lambda c: jsp.signal.sosfilt(jnp.array([[1.0, 0, 0, 1, -0.5, 0]]), c(Y)),
    "funm": lambda c: jsp.linalg.funm(c(np.zeros((0, 0), np.float32)), lambda v: v),
    "expm_multiply": lambda c: sparse.expm_multiply(c(A), c(B)),
}


@pytest.mark.parametrize("name", CASES)
def test_results_are_those_of_standard_promotion(name):
    given = lambda x: jnp.asarray(x, "complex64")
    want = np.asarray(CASES[name](given))
    with nj.numpy_dtype_promotion("strict"):
        got = CASES[name](given)
    assert got.dtype == want.dtype and np.isfinite(want).all()
    np.testing.assert_array_equal(got, want)


def test_integers_meet_the_floats_of_defaults_and_coordinates():
    """A step of 1.0 between integer samples, and an image of integers at positions between its pixels."""
    with nj.numpy_dtype_promotion("strict"):
        assert float(jsp.integrate.romb(jnp.arange(5))) == 8.0
        assert jsp.ndimage.map_coordinates(jnp.arange(5) * 4, [jnp.array([0.25, 1.5])], 1).tolist() == [1, 6]
        assert jsp.integrate.solve_ivp(lambda t, y: -y, (0.0, 1.0), jnp.ones(1)).y.dtype == "float32"
        assert sparse.expm_multiply(jnp.eye(2, dtype="float16"), jnp.ones(2, "float16")).dtype == "float16"
