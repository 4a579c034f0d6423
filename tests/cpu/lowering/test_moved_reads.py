"""Arrays that data movement reads again by way of other arrays: computed once, however many levels there are."""
from __future__ import annotations

import numpy as np
import pytest

import numjet as nj
import numjet.numpy as jnp
from numjet import lax
from numjet.cpu.lowering.moved_reads import evaluations


def _linear_recurrence(a, b):
    return lax.associative_scan(lambda x, y: (x[0] * y[0], y[0] * x[1] + y[1]), (a, b))[1]


def _gradient():
    return nj.jit(nj.grad(lambda a, b: jnp.sum(_linear_recurrence(a, b) ** 2), argnums=(0, 1)))


def _length(n):
    """Of the code of a gradient through the levels of n elements."""
    a = jnp.ones((n, 16))
    return len(_gradient().lower(a, a).compile().as_text())


def test_code_grows_with_the_number_of_levels():
    assert _length(512) < 2 * _length(64)   # nine levels and six; each doubled what is above it


@pytest.mark.parametrize("n", [1, 7, 64, 300])
def test_gradient_of_a_recurrence(n):
    rng = np.random.default_rng(n)
    a, b = (jnp.asarray(rng.uniform(-1, 1, (n, 5)), jnp.float32) for _ in range(2))

    def in_turn(a, b):
        step = lambda x, ab: (ab[0] * x + ab[1],) * 2
        return jnp.sum(lax.scan(step, jnp.zeros(5), (a, b))[1] ** 2)

    for found, expected in zip(_gradient()(a, b), nj.grad(in_turn, argnums=(0, 1))(a, b), strict=True):
        np.testing.assert_allclose(found, expected, rtol=2e-4, atol=2e-5)


def _evaluations(f, *args):
    """By the name of the operation that makes an array, how often its elements are computed."""
    jaxpr = nj.make_jaxpr(f)(*args).jaxpr
    found = evaluations(jaxpr, [True] * len(jaxpr.eqns))
    return {eqn.primitive.name: found[v] for eqn in jaxpr.eqns for v in eqn.outvars if v in found}


def _padded(x, before):
    return lax.pad(x, jnp.zeros((), x.dtype), [(before, 3 - before, 0)])


def test_reads_by_way_of_elementwise_operations():
    assert _evaluations(lambda x: _padded(-jnp.sin(x), 0) + _padded(2 * jnp.sin(x), 1), jnp.ones(8)) == {}  # two sines
    assert _evaluations(lambda x: (lambda s: _padded(-s, 0) + _padded(2 * s, 1))(jnp.sin(x)), jnp.ones(8)) == {"sin": 2.75}


def test_halves_are_read_once():
    assert _evaluations(lambda x: (lambda s: (s[:4] * 2, -s[4:]))(jnp.sin(x)), jnp.ones(8)) == {}


def test_an_array_that_is_stored_reads_its_operands_once():
    def f(x):
        s = jnp.sin(x)
        c = jnp.cos(s)
        return _padded(c, 0) + _padded(c, 1)
    assert _evaluations(f, jnp.ones(8)) == {"cos": 2.75}


def test_pieces_of_a_join_read_apart():
    butterfly = lambda x: (lambda s: jnp.concatenate([s + x, s - x]))(jnp.sin(x))
    assert _evaluations(butterfly, jnp.ones(8)) == {"sin": 2.0}
    assert _evaluations(lambda x: jnp.concatenate([jnp.sin(x), jnp.cos(x)]), jnp.ones(8)) == {}


def _fourier(x):
    """The transform by halves, each of which the level above reads in two pieces."""
    n = x.shape[0]
    if n == 1:
        return x
    even, odd = _fourier(x[::2]), _fourier(x[1::2])
    turned = np.exp(-2j * np.pi * np.arange(n // 2) / n).astype(np.complex64) * odd
    return jnp.concatenate([even + turned, even - turned])


def test_transform_by_halves():
    texts = []
    for n in (128, 512):
        x = np.random.default_rng(0).standard_normal(n).astype(np.complex64)
        np.testing.assert_allclose(nj.jit(_fourier)(x), np.fft.fft(x), rtol=1e-4, atol=1e-4)
        texts.append(nj.jit(_fourier).lower(x).compile().as_text())
    assert len(texts[1]) < 5 * len(texts[0])   # 13 times, where each level computed the one below twice


def test_interleaved_columns_are_computed_in_lanes_of_their_own():
    """Of each iteration's two columns only one takes the exponential, whose lanes go along the rows of four."""
    def f(x):
        return jnp.stack([x[:, 1::2], x[:, ::2] * jnp.exp(x[:, :4])], -1).reshape(x.shape)
    x = np.random.default_rng(0).standard_normal((1000, 8)).astype(np.float32)
    assert "vector loop over 1,000 x 4:" in str(nj.explain(f)(x))
    expected = np.stack([x[:, 1::2], x[:, ::2] * np.exp(x[:, :4])], -1).reshape(x.shape)
    np.testing.assert_allclose(nj.jit(f)(x), expected, rtol=1e-5)


def test_parts_that_are_padded_are_stored():
    """The gradient of a wrapped border adds three padded parts along each axis; one loop would compute each part everywhere."""
    def f(x, c):
        return nj.vjp(lambda x: jnp.pad(x, 5, mode="wrap"), x)[1](jnp.sin(c))[0]
    x, c = jnp.ones((60, 60)), jnp.asarray(np.random.default_rng(0).standard_normal((70, 70)), jnp.float32)
    found = _evaluations(lambda c: f(x, c), c)
    assert "sin" not in found and found["split"] > 2
    report = str(nj.explain(f)(x, c))
    assert report.count("split f32[70,5]: stored, what moves data reads it 12 times") == 2
    assert report.count("split f32[5,60]: stored") == 2
    s = np.sin(np.asarray(c))
    rows = s[5:65].copy()
    rows[55:] += s[:5]
    rows[:5] += s[65:]
    expected = rows[:, 5:65].copy()
    expected[:, 55:] += rows[:, :5]
    expected[:, :5] += rows[:, 65:]
    np.testing.assert_allclose(nj.jit(f)(x, c), expected, rtol=1e-5, atol=1e-6)


def test_one_padding_is_cut_at_its_borders():
    assert _evaluations(lambda x: _padded(jnp.sin(x), 1), jnp.ones(8)) == {}


def test_rows_that_are_searched_for_are_stored_before_they_are_repeated():
    x = jnp.asarray(np.random.default_rng(0).standard_normal((50, 50)), jnp.float32)
    f = lambda x: jnp.diag(jnp.diag(x)) + x
    assert "gather f32[50]: stored, broadcast_in_dim repeats it" in str(nj.explain(f)(x))
    np.testing.assert_array_equal(nj.jit(f)(x), np.diag(np.diag(x)) + np.asarray(x))
    column = lambda x: jnp.diag(x)[:, None] + x   # each element is found once
    assert "gather f32[50]: fused" in str(nj.explain(column)(x))


def test_rows_that_are_searched_for_are_stored_before_they_become_columns():
    x = jnp.asarray(np.random.default_rng(0).standard_normal((64, 64)), jnp.float32)
    f = lambda x: (x + 2 * jnp.roll(x, 1, 0)).T
    assert "add f32[64,64]: stored, its rows become columns" in str(nj.explain(f)(x))
    np.testing.assert_array_equal(nj.jit(f)(x), (x + 2 * np.roll(x, 1, 0)).T)
    plain = lambda x: jnp.sin(x).T + 1
    few = lambda x: jnp.moveaxis(jnp.pad(x[:, :3], 1), 0, 1)   # short rows have lanes of their own
    for other in (plain, few):
        assert "rows become columns" not in str(nj.explain(other)(x))


def test_gathered_rows_of_a_join_are_stored_one_after_the_other():
    rng = np.random.default_rng(0)
    x, at = rng.standard_normal((50, 8)).astype(np.float32), rng.standard_normal((50, 3)).astype(np.float32)
    i, j = rng.integers(0, 50, 200), rng.integers(0, 50, 200)

    def messages(np, x, at, i, j):
        return np.concatenate([x[i], x[j], ((at[i] - at[j]) ** 2).sum(1, keepdims=True)], 1)
    ours = lambda *args: messages(jnp, *args)
    assert "200 x 17" not in str(nj.explain(ours)(x, at, i, j))
    np.testing.assert_allclose(nj.jit(ours)(x, at, i, j), messages(np, x, at, i, j), rtol=1e-5)
