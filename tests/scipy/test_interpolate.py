"""numjet.scipy.interpolate against SciPy."""
import numpy as np
import pytest
import scipy.interpolate as oracle

import numjet as nj
import numjet.numpy as jnp
from numjet.scipy.interpolate import RegularGridInterpolator
from numjet.testing.records import check_function

GRID = (np.array([0.0, 1.0, 4.0]), np.array([-1.0, 0.0, 0.5, 3.0]))


@pytest.mark.parametrize("fill_value", [np.nan, 7.0, None])
@pytest.mark.parametrize("method", ["linear", "nearest"])
def test_grid(method, fill_value):
    rng = np.random.default_rng(0)
    values, points = rng.standard_normal((3, 4, 2)), rng.uniform(-2, 5, (6, 5, 2))
    points[0, 0, 0] = np.nan
    with nj.enable_x64(True):
        for grid in (GRID, (GRID[0][::-1], GRID[1])):
            want = oracle.RegularGridInterpolator(grid, values, method, False, fill_value)(points)
            ours = RegularGridInterpolator(grid, values, method, False, fill_value)
            np.testing.assert_allclose(ours(points), want, atol=1e-12)
            np.testing.assert_allclose(nj.jit(lambda f, x: f(x))(ours, points), want, atol=1e-12)
            np.testing.assert_allclose(nj.vmap(ours)(points), want, atol=1e-12)
            if fill_value is not None and grid is GRID:
                make = lambda grid, fill, x: RegularGridInterpolator(grid, values, method, False, fill)(x)
                np.testing.assert_allclose(nj.jit(make)(grid, fill_value, points), want, atol=1e-12)
            np.testing.assert_allclose(ours((points[..., 0], points[..., 1])), want, atol=1e-12)


def test_grid_derivatives():
    rng = np.random.default_rng(0)
    with nj.enable_x64(True):
        check_function(lambda v, x: [RegularGridInterpolator(GRID, v)(x)],
                       [rng.standard_normal((3, 4)), rng.uniform(0, 3, (5, 2))], 2, "RegularGridInterpolator")


def test_grid_dtypes_and_shapes():
    grid = RegularGridInterpolator((jnp.arange(3),), jnp.arange(3))
    assert grid(jnp.array([0.5, 1.5])).tolist() == [0.5, 1.5] and grid(0.5).shape == (1,)
    assert RegularGridInterpolator((jnp.arange(2),), jnp.ones(2, "complex64"))(jnp.ones(1)).dtype == "complex64"
    assert nj.tree_util.tree_leaves(grid)[0].tolist() == [0, 1, 2]


def test_a_tuple_of_one_array_is_the_array_of_points():
    grids = [make((np.arange(3.0),), np.arange(3.0) ** 2) for make in (RegularGridInterpolator, oracle.RegularGridInterpolator)]
    for shape in ((2,), (2, 1), (1, 1, 1), (0,)):
        ours, theirs = (grid((np.full(shape, 0.5),)) for grid in grids)
        assert ours.shape == theirs.shape and (ours == theirs).all()
    with pytest.raises(ValueError, match="have dimension 3"):
        grids[0]((np.ones((2, 3)),))


@pytest.mark.parametrize("make, error, text", [
    (lambda p, v: RegularGridInterpolator(p, v, "spline"), ValueError, "method 'spline' is not defined"),
    (lambda p, v: RegularGridInterpolator(p, v, bounds_error=True), NotImplementedError, "bounds_error"),
    (lambda p, v: RegularGridInterpolator((*p, p[0]), v), ValueError, "3 point arrays, but values has 2"),
    (lambda p, v: RegularGridInterpolator(p, v[:2]), ValueError, "3 points and 2 values in dimension 0"),
    (lambda p, v: RegularGridInterpolator(p, v, fill_value=1j), ValueError, "compatible with values"),
    (lambda p, v: RegularGridInterpolator((p[0] * 0, p[1]), v), ValueError, "strictly ascending"),
    (lambda p, v: RegularGridInterpolator((p[0][:1],), v[:1]), ValueError, "at least two"),
    (lambda p, v: RegularGridInterpolator(p, v)(np.ones((2, 1))), ValueError, "have dimension 1"),
    (lambda p, v: RegularGridInterpolator([[1, 2, 3]], v), TypeError, "list"),
])
def test_grid_errors(make, error, text):
    with pytest.raises(error, match=text):
        make(GRID, np.ones((3, 4)))
