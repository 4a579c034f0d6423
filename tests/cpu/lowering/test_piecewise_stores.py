"""Joined, padded and repeated arrays are stored piece by piece, in loops along the axes that they are made of."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import numjet as nj
import numjet.numpy as jnp

X = np.random.default_rng(0).normal(size=(40, 60)).astype(np.float32)


def loops(f: Any, *args: Any) -> str:
    return nj.jit(f).lower(*args).as_text("loops")


@pytest.mark.parametrize("mode", ["edge", "reflect", "symmetric", "wrap"])
@pytest.mark.parametrize("dtype", ["float32", "uint8", "complex64"])
def test_padded_arrays_are_copied_without_choosing(mode: str, dtype: str) -> None:
    x = (X * 50).astype(dtype)
    f = lambda x: jnp.pad(x, ((3, 5), (2, 7)), mode=mode)
    np.testing.assert_array_equal(nj.jit(f)(x), np.pad(x, ((3, 5), (2, 7)), mode=mode))
    wide = lambda x: jnp.pad(x, ((3, 5), (0, 0)), mode=mode)
    assert "select" not in loops(wide, x) or dtype == "complex64"


@pytest.mark.parametrize("make", [
    lambda m, x: m.repeat(x, 3, axis=1), lambda m, x: m.tile(x, (4, 3)), lambda m, x: m.tile(x, (2, 1, 1))])
def test_repeated_arrays_are_copied_without_dividing(make: Any) -> None:
    f = lambda x: make(jnp, x)
    np.testing.assert_array_equal(nj.jit(f)(X), make(np, X))
    text = loops(f, X)
    assert "div(" not in text and "rem(" not in text


def test_slices_of_joined_arrays_are_joined_slices() -> None:
    f = lambda x, y: jnp.concatenate([x, y, x])[1:99, 5:]
    np.testing.assert_array_equal(nj.jit(f)(X, -X), np.concatenate([X, -X, X])[1:99, 5:])
    inner = lambda x, y: jnp.concatenate([jnp.concatenate([x, y])[:, 1:], jnp.concatenate([y, x])[:, :2]], axis=1)
    np.testing.assert_array_equal(nj.jit(inner)(X, -X), np.concatenate([np.concatenate([X, -X])[:, 1:],
                                                                       np.concatenate([-X, X])[:, :2]], axis=1))
