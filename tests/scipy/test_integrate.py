"""numjet.scipy.integrate against SciPy."""
import numpy as np
import pytest
import scipy.integrate as oracle

import numjet as nj
from numjet.scipy import integrate
from numjet.testing.records import check_function

CUMULATIVE = [("cumulative_trapezoid", {}), ("cumulative_trapezoid", {"initial": 0}), ("cumulative_simpson", {}),
              ("cumulative_simpson", {"initial": 2.0})]


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 6, 9])
def test_samples(n):
    rng = np.random.default_rng(n)
    y, x, grid = rng.standard_normal((3, n)), np.sort(rng.standard_normal(n)), np.sort(rng.standard_normal((3, n)))
    with nj.enable_x64(True):
        for options in ({"dx": 0.3}, {"x": x}, {"x": grid}):
            for name, more in [("trapezoid", {}), ("simpson", {}), *(CUMULATIVE if n > 1 else [])]:
                ours, want = getattr(integrate, name), getattr(oracle, name)(y, **options, **more)
                np.testing.assert_allclose(ours(y, **options, **more), want, atol=1e-12)
                turned = {k: v.T if np.ndim(v) == 2 else v for k, v in options.items()}
                np.testing.assert_allclose(nj.jit(lambda y, t, f=ours, m=more: f(y, axis=0, **t, **m))(y.T, turned).T, want,
                                           atol=1e-12)


@pytest.mark.parametrize("name", ["simpson", "cumulative_trapezoid", "cumulative_simpson"])
def test_derivatives(name):
    rng = np.random.default_rng(0)
    with nj.enable_x64(True):
        samples = [rng.standard_normal(6), np.sort(rng.uniform(0, 9, 6))]
        check_function(lambda y, x: [getattr(integrate, name)(y, x=x)], samples, 2, name)


def test_errors():
    with pytest.raises(ValueError, match="`initial` must be `None` or `0`"):
        integrate.cumulative_trapezoid(np.ones(3), initial=3)
    with pytest.raises(ValueError, match="at least one sample"):
        integrate.simpson(np.ones(0))
    with pytest.raises(ValueError, match="vector of 3 positions"):
        integrate.cumulative_simpson(np.ones((2, 3)), x=np.ones(2))
