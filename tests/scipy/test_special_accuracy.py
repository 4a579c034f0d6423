"""Errors of functions defined by integrals, in units in the last place, against mpmath with 40 digits."""
from __future__ import annotations

import itertools
from collections.abc import Callable

import mpmath
import numpy as np
import pytest

import numjet as nj
from numjet.foundation.config import enable_x64
from numjet.scipy import special

# name: (exact, ends of the intervals that are sampled, most ulps in float32 and float64)
FUNCTIONS: dict[str, tuple[Callable, tuple[float, ...], float, float]] = {
    "exp1": (mpmath.e1, (0.01, 0.5, 0.9, 1.3, 1.6, 40.0), 5, 5),
    "expi": (mpmath.ei, (0.5, 5.0, 18.0, 22.0, 31.0, 39.0, 45.0, 80.0), 8, 12),
    "i0": (lambda x: mpmath.besseli(0, x), (-8.0, 0.0, 8.0, 40.0), 6, 6),
    "i1": (lambda x: mpmath.besseli(1, x), (-8.0, 0.0, 8.0, 40.0), 6, 12),   # SciPy, outside of jit, is 10.4 off
    "i0e": (lambda x: mpmath.besseli(0, x) * mpmath.exp(-abs(x)), (-8.0, 0.0, 8.0, 80.0), 5, 5),
    "i1e": (lambda x: mpmath.besseli(1, x) * mpmath.exp(-abs(x)), (-8.0, 0.0, 8.0, 80.0), 5, 10),
}
COMPILED = {"i1": 6, "i1e": 5}   # float64, where compiled code is better


def _error(got: float, exact: Callable, x: float, dtype: np.dtype) -> float:
    with mpmath.workdps(40):
        want = exact(mpmath.mpf(x))
        return float(abs(mpmath.mpf(got) - want) / mpmath.mpf(float(np.spacing(dtype.type(abs(float(want)))))))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_errors_in_ulps(name, dtype):
    exact, ends, single, double = FUNCTIONS[name]
    rng = np.random.default_rng(0)
    points = np.concatenate([rng.uniform(a, b, 40) for a, b in itertools.pairwise(ends)]).astype(dtype)
    function, bound = getattr(special, name), single if dtype == np.float32 else double
    with enable_x64(True):
        eager, compiled = np.asarray(function(points)), np.asarray(nj.jit(function)(points))
    assert eager.dtype == compiled.dtype == dtype
    for values, most in ((eager, bound), (compiled, COMPILED.get(name, bound) if dtype == np.float64 else bound)):
        errors = [_error(float(v), exact, float(x), np.dtype(dtype)) for x, v in zip(points, values, strict=True)]
        assert max(errors) <= most, (points[int(np.argmax(errors))], max(errors))
