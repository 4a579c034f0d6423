"""Arrays with elements of others at every second or third index, as gradients of strided slices: stored without searching."""
from __future__ import annotations

import numpy as np
import pytest

import numjet as nj
import numjet.numpy as jnp
from numjet import lax

SHAPES = [(40,), (41,), (33, 5), (16, 1), (7, 16), (300, 3), (3, 4, 20), (9, 8), (1, 50)]


def text_of(f, *args):
    return nj.jit(f).lower(*args).compile().as_text()


@pytest.mark.parametrize("dtype", ["float32", "float64", "int8", "uint16", "complex64", "bfloat16"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_interleaved_parts(shape, dtype, x64):
    """The parts of an array by the remainder of their index, dilated and added up: along each axis, several results."""
    rng = np.random.default_rng(0)
    x = jnp.asarray(rng.integers(0, 100, shape), dtype)
    for axis, step in ((axis, step) for axis in range(len(shape)) for step in (2, 3, 5) if shape[axis] >= step):
        starts = range(step)
        at = [(slice(None),) * axis + (slice(start, None, step),) for start in starts]
        sizes = [np.asarray(x)[a].shape[axis] for a in at]

        def joined(x, scale, axis=axis, step=step, at=at, sizes=sizes, starts=starts):
            total, other = jnp.zeros_like(x), jnp.zeros_like(x)
            for a, n, start in zip(at, sizes, starts, strict=True):
                config = [(0, 0, 0)] * x.ndim
                config[axis] = (start, x.shape[axis] - start - (n + (n - 1) * (step - 1)), step - 1)
                part = lax.pad(x[a] * scale, jnp.zeros((), x.dtype), config)
                total, other = total + part, other - part * part
            return total, other, total * 2 - other
        scale = jnp.asarray(3, dtype)
        t = np.asarray(x) * np.asarray(3, x.dtype)
        want = (t, -t * t, t * 2 + t * t)
        for found, expected in zip(nj.jit(joined)(x, scale), want, strict=True):
            np.testing.assert_array_equal(found, expected.astype(found.dtype))


@pytest.mark.parametrize("low, high, between", [(0, 0, 1), (2, 3, 1), (-1, 2, 2), (1, -4, 2), (5, 5, 4), (-3, -3, 1),
                                                (0, 0, 9)])
def test_of_one_array(low, high, between):
    """Also where the filled elements are no zeros, and what is made of them is moved."""
    rng = np.random.default_rng(1)
    x = rng.standard_normal((23, 6)).astype(np.float32)
    pad = lambda x: lax.pad(x, jnp.float32(7), [(low, high, between), (1, 0, 0)])
    expected = pad(x)                                     # by NumPy, outside of jit
    for f in (lambda p: p, jnp.sin, lambda p: p[1:] * p[:-1], lambda p: p.T + 1, lambda p: jnp.sum(p * p, 1),
              lambda p: jnp.cumsum(p, 0), lambda p: p[::2], lambda p: p[::-1], lambda p: jnp.roll(p, 3, 0) - p):
        np.testing.assert_allclose(nj.jit(lambda x: f(pad(x)))(x), f(expected), rtol=1e-5, atol=1e-5)  # noqa: B023


@pytest.mark.parametrize("shape", [(300, 5), (64, 16), (1000,), (257, 2)], ids=str)
def test_gradients_of_strided_slices(shape):
    def f(x):
        even, odd, third = x[::2], x[1::2], x[::3]
        return jnp.sum(jnp.sin(even)) + jnp.sum(odd ** 2 * even[:odd.shape[0]]) + jnp.sum(jnp.cos(third))
    x = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
    even, odd, third = x[::2], x[1::2], x[::3]
    expected = np.zeros_like(x)
    expected[::2] += np.cos(even)
    expected[::2][:len(odd)] += odd ** 2
    expected[1::2] += 2 * odd * even[:len(odd)]
    expected[::3] -= np.sin(third)
    np.testing.assert_allclose(nj.jit(nj.grad(f))(x), expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("shape", [(300, 5), (1024, 4), (500, 16)], ids=str)
def test_no_element_is_searched_for(shape):
    """Neither divisions nor gathers: of each stored element it is known which array it comes from."""
    def f(x, y):
        dilated = lambda v, start: lax.pad(v, jnp.float32(0), [(start, 1 - start, 1)] + [(0, 0, 0)] * (v.ndim - 1))
        return dilated(jnp.sin(x), 0) + dilated(jnp.cos(y), 1)
    x = jnp.ones(shape)
    text = text_of(f, x, x)
    assert "rem" not in text and "gather" not in text and " sdiv " not in text


def test_code_of_a_recurrence_with_short_rows():
    """Of the gradient of an associative scan over rows of five, which are not written out where two elements are stored at a
    time: 17,000 lines then, and 14,600 where each element was searched for in all levels."""
    def last(a, b):
        return lax.associative_scan(lambda x, y: (x[0] * y[0], y[0] * x[1] + y[1]), (a, b))[1]
    a = jnp.ones((300, 5))
    text = text_of(nj.grad(lambda a, b: jnp.sum(last(a, b) ** 2), argnums=(0, 1)), a, a)
    assert text.count("\n") < 10_000
