"""Cumulative operations along every axis, in shapes around the widths of vectors."""
from __future__ import annotations

import numpy as np
import pytest

import numjet as nj
import numjet.numpy as jnp
from numjet import lax

PREFIXES = {"sum": (lax.cumsum, np.add), "prod": (lax.cumprod, np.multiply), "max": (lax.cummax, np.maximum),
            "min": (lax.cummin, np.minimum), "logsumexp": (lax.cumlogsumexp, np.logaddexp)}


def _agree(kind: str, x: np.ndarray, axis: int, reverse: bool) -> None:
    function, combine = PREFIXES[kind]
    flip = (lambda a: np.flip(a, axis)) if reverse else (lambda a: a)
    expected = flip(combine.accumulate(flip(x.astype(np.float64)), axis=axis))
    got = nj.jit(lambda x: function(x, axis=axis, reverse=reverse))(x)
    tolerance = 2e-2 if x.dtype == np.float16 else 1e-4
    np.testing.assert_allclose(np.asarray(got, np.float64), expected, tolerance, tolerance, err_msg=f"{x.shape} {axis}")


@pytest.mark.parametrize("kind", PREFIXES)
@pytest.mark.parametrize("columns", (1, 2, 3, 7, 8, 9, 17))
@pytest.mark.parametrize("n", (1, 2, 8, 9, 40))
def test_middle_axis(kind: str, columns: int, n: int) -> None:
    rng = np.random.default_rng(n * columns)
    x = rng.uniform(0.5, 1.25, (3, n, columns)).astype(np.float32)
    for reverse in (False, True):
        _agree(kind, x, 1, reverse)
        _agree(kind, x[1], 0, reverse)


@pytest.mark.parametrize("dtype", (np.float16, np.int32, np.uint8, np.float32))
@pytest.mark.parametrize("shape", ((2, 9, 8), (2, 9, 2, 3), (9, 1, 4), (2, 20, 1, 5), (2, 16, 2, 1), (1, 9, 4)))
def test_dtypes_and_short_trailing_axes(dtype: type, shape: tuple[int, ...]) -> None:
    x = np.random.default_rng(0).integers(0, 3, shape).astype(dtype)
    for axis in range(len(shape)):
        for reverse in (False, True):
            _agree("sum", x, axis, reverse)
            _agree("max", x, axis, reverse)


def test_under_vmap_and_grad() -> None:
    x = np.random.default_rng(1).standard_normal((3, 9, 8)).astype(np.float32)
    weights = np.arange(72, dtype=np.float32).reshape(9, 8)
    got = nj.jit(nj.vmap(nj.grad(lambda x: jnp.sum(jnp.cumsum(x, axis=0) * weights))))(x)
    expected = np.flip(np.cumsum(np.flip(weights, 0), axis=0), 0)
    np.testing.assert_allclose(got, np.broadcast_to(expected, (3, 9, 8)), 1e-5)


def test_complex_totals() -> None:
    x = (np.arange(144) + 1j * np.arange(144)[::-1]).reshape(2, 9, 8).astype(np.complex64)
    np.testing.assert_allclose(nj.jit(lambda x: jnp.cumsum(x, axis=1))(x), np.cumsum(x, axis=1), 1e-5)
