"""Compiled sums and products of complex numbers: values along every axis, and whole vectors instead of gathered elements."""
from __future__ import annotations

import numpy as np
import pytest

import numjet as nj
import numjet.numpy as jnp
from numjet.cpu import compiler
from numjet.cpu.codegen import llvm
from numjet.cpu.native_code import jit

SHAPES = [((255,), 0), ((256,), 0), ((1000,), 0), ((3, 300), 1), ((4, 257, 5), 1), ((4, 20, 30), (1, 2)), ((2, 300), 0),
          ((300, 20), 0), ((5000, 18), 0), ((300, 3, 16), (0, 1)), ((0, 300), 1), ((300, 0), 0), ((1, 256), 1)]


def _numbers(shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """On a ring around the unit circle, so that products stay near it."""
    rng = np.random.default_rng(0)
    return (np.exp(1j * rng.uniform(0, 6, shape)) * rng.uniform(0.98, 1.02, shape)).astype(dtype)


@pytest.mark.parametrize("made", [lambda x: x, lambda x: x * x, lambda x: x[..., ::-1]], ids=["stored", "computed", "reversed"])
@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("name", ["sum", "prod"])
def test_values(name, dtype, made):
    with nj.enable_x64(dtype == "complex128"):
        for shape, axis in SHAPES:
            x = _numbers(shape, dtype)
            found = nj.jit(lambda x, axis=axis: getattr(jnp, name)(made(x), axis=axis))(x)
            expected = getattr(np, name)(made(x.astype(np.complex128)), axis=axis)
            assert found.dtype == dtype
            tolerance = 2e-3 if dtype == "complex64" else 1e-11
            np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("special, expected", [(np.nan, np.isnan), (0, lambda x: x == 0)])
def test_special_factors(special, expected):
    x = _numbers((777,), np.dtype("complex64"))
    for place in (0, 63, 64, 700, 776):
        changed = x.copy()
        changed[place] = special
        assert expected(np.asarray(nj.jit(jnp.prod)(changed)))


@pytest.mark.parametrize("name, axis", [("sum", None), ("sum", 0), ("sum", 1), ("prod", 0), ("prod", 1), ("prod", None)])
def test_large_ones_gather_nothing(name, axis):
    traced = nj.make_jaxpr(nj.jit(lambda x: getattr(jnp, name)(x, axis=axis)))(np.ones((1000, 1024), np.complex64))
    assert "gather" not in llvm.emit(compiler.planned(traced, "f"), jit.host())
