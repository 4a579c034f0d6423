"""numjet.scipy.ndimage against SciPy and values of its modes."""
import numpy as np
import pytest
import scipy.ndimage as oracle

import numjet as nj
import numjet.numpy as jnp
from numjet.scipy.ndimage import map_coordinates
from numjet.testing.records import check_function

# the modes of SciPy that do the same; "constant" and "wrap" of SciPy interpolate differently beyond the ends
SAME = {"nearest": "nearest", "mirror": "mirror", "reflect": "reflect", "wrap": "grid-wrap", "constant": "grid-constant"}


@pytest.mark.parametrize("shape", [(1,), (5,), (3, 4), (2, 3, 4)])
@pytest.mark.parametrize("mode", SAME)
@pytest.mark.parametrize("order", [0, 1])
def test_modes(shape, mode, order):
    rng = np.random.default_rng(0)
    x = rng.standard_normal(shape)
    where = rng.uniform(-9, 9, (len(shape), 4, 5))
    run = lambda x, *c: map_coordinates(x, c, order, mode, cval=7)
    with nj.enable_x64(True):
        want = oracle.map_coordinates(x, where, order=order, mode=SAME[mode], cval=7)
        np.testing.assert_allclose(run(x, *where), want, atol=1e-12)
        np.testing.assert_allclose(nj.jit(run)(x, *where), want, atol=1e-12)
        np.testing.assert_allclose(nj.vmap(run, (None, *[0] * len(shape)))(x, *where), want, atol=1e-12)


def test_derivatives():
    rng = np.random.default_rng(1)
    with nj.enable_x64(True):
        check_function(lambda x, r, c: [map_coordinates(x, [r, c], 1, "mirror")],
                       [rng.standard_normal((3, 4)), rng.uniform(0, 2, 5), rng.uniform(0, 3, 5)], 2, "map_coordinates")


def test_dtypes():
    at = [np.array([1.5, 2.5, 0.4], np.float32)]
    assert map_coordinates(jnp.arange(5), at, 1).tolist() == [2, 3, 0]
    assert map_coordinates(jnp.arange(5), [np.array([9.0, 1.0])], 1, cval=1.7).tolist() == [1, 1]
    assert map_coordinates(jnp.arange(5.0), [np.array([1, 7])], 1).tolist() == [1, 0]
    between = [np.array([0, 0.2, 0.5, 1, 1.2, 2], np.float32)]
    assert map_coordinates(np.array([True, False, True]), between, 1).tolist() == [True, True, True, False, True, True]
    for dtype in ("float16", "bfloat16", "int8", "bool", "complex64"):
        assert map_coordinates(jnp.ones(3, dtype), at, 1).dtype == dtype
    assert np.isnan(map_coordinates(jnp.ones(3), [np.array([np.nan], np.float32)], 1)).all()


def test_errors():
    x = jnp.ones((2, 2))
    with pytest.raises(ValueError, match=r"length input.ndim, but 1 != 2"):
        map_coordinates(x, [x], 1)
    with pytest.raises(ValueError, match=r"length input.ndim, but 3 != 2"):
        map_coordinates(x, [[x], [x], [x]], 1)
    assert map_coordinates(x, [[0, 1.0], [0.5, 1]], 1).tolist() == [1, 1]
    assert map_coordinates([1.0, 2.0], [[0.5]], 1).tolist() == [1.5]
    with pytest.raises(NotImplementedError, match="does not yet support mode odd"):
        map_coordinates(x, [x, x], 1, "odd")
    with pytest.raises(NotImplementedError, match="requires order<=1"):
        map_coordinates(x, [x, x], 3)


def test_weights_are_as_precise_as_the_array():
    with nj.enable_x64(True):
        at = np.array([0.1, 0.7], np.float32)
        want = oracle.map_coordinates(np.array([1.0, 4.0]), at[None], order=1)
        np.testing.assert_allclose(map_coordinates(np.array([1.0, 4.0]), [at], 1), want, rtol=1e-14)


@pytest.mark.parametrize("order", [0, 1])
def test_positions_of_bools(order):
    assert map_coordinates(jnp.arange(3.0), [np.array([True, False])], order).tolist() == [1, 0]
