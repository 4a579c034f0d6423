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


def chain(count: int, axis: int) -> Any:
    """Joins the states of an unrolled loop."""
    def f(x: Any) -> Any:
        states = []
        for _ in range(count):
            x = x * 1.01 + 0.5
            states.append(x)
        return jnp.stack(states, axis)
    return f


MANY = {
    "rows": chain(18, 0), "columns": chain(18, -1), "between": chain(13, 1), "turned": lambda x: chain(18, 0)(x).T,
    "read": lambda x: jnp.tanh(chain(14, 0)(x)), "summed": lambda x: chain(14, 0)(x).sum(0),
    "product": lambda x: chain(14, 0)(x).reshape(-1, 60) @ x.T, "rows of 3": lambda x: jnp.concatenate(
        [x[i:i + 3] * i for i in range(12)]), "different": lambda x: jnp.concatenate([x[:, :k] + k for k in range(1, 12)], 1),
    "part": lambda x: chain(18, 0)(x)[7], "parts of parts": lambda x: jnp.stack([chain(9, 0)(x * k) for k in range(10)], 1),
}


@pytest.mark.parametrize("name", MANY)
def test_many_pieces_are_stored_without_a_search(name: str) -> None:
    f = MANY[name]
    with nj.enable_checks(True):
        found = nj.jit(f)(X)
    with nj.disable_jit():
        np.testing.assert_allclose(found, f(jnp.asarray(X)), rtol=2e-5)
    assert "select" not in loops(f, X)


def matrix(v: Any) -> Any:
    return jnp.array([[jnp.sin(v[i] * (j + 1)) for j in range(5)] for i in range(5)])


@pytest.mark.parametrize("f", [nj.vmap(matrix), nj.vmap(lambda v: matrix(v) @ matrix(v + 1)), nj.vmap(
    lambda v: jnp.stack([jnp.exp(v[:3] * i) for i in range(8)])), nj.grad(lambda v: jnp.sum(nj.vmap(matrix)(v) ** 2))])
def test_costly_pieces_are_computed_once(f: Any) -> None:
    v = X[:, :5]
    with nj.disable_jit():
        np.testing.assert_allclose(nj.jit(f)(v), f(jnp.asarray(v)), rtol=1e-4, atol=1e-5)
    text = loops(f, v)
    assert text.count("sin(") + text.count("exp(") + text.count("cos(") <= 105 and "select(lt(" not in text


def test_steps_are_linear_in_the_number_of_pieces() -> None:
    """The text of the loops grows as the pieces do."""
    sizes = [len(loops(chain(n, 0), X)) for n in (12, 24, 48)]
    assert sizes[2] < 2.2 * sizes[1] < 4.9 * sizes[0]
