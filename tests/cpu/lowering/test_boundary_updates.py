"""Updates of most of an array, as boundary conditions leave: what is around the window is copied, the rest stored directly."""
import numpy as np
import pytest

import numjet as nj
import numjet.numpy as jnp
from numjet import lax
from numjet.foundation.tree import tree_leaves
from tests.cpu.traffic import lowered, written

N, T = 2000, 7
X = jnp.asarray(np.random.default_rng(0).normal(size=N).astype(np.float32))


def steps(step, shape=(N,)):
    return lambda u: lax.fori_loop(0, T, lambda i, c: step(c), u.reshape(shape))


# name -> (program, arrays carried)
INTERIORS = {
    "set": (steps(lambda c: c.at[1:-1].set(0.5 * (c[:-2] + c[2:]))), 1),
    "added": (steps(lambda c: c.at[1:-1].add(0.1 * (c[:-2] - 2 * c[1:-1] + c[2:]))), 1),
    "multiplied": (steps(lambda c: c.at[1:-1].multiply(c[2:])), 1),
    "greatest": (steps(lambda c: c.at[2:].max(c[:-2])), 1),
    "a plane": (steps(lambda c: c.at[1:-1, 1:-1].set(0.25 * (c[:-2, 1:-1] + c[2:, 1:-1] + c[1:-1, 2:] + c[1:-1, :-2])),
                      (40, 50)), 1),
    "one side": (steps(lambda c: c.at[3:, :-5].set(0.25 * (c[:-3, 5:] + c[3:, :-5])), (40, 50)), 1),
    "a space": (steps(lambda c: c.at[1:-1, 1:-1, 1:-1].set(0.5 * (c[:-2, 1:-1, 1:-1] + c[2:, 1:-1, 1:-1])), (10, 10, 20)), 1),
    "leapfrog": (lambda u: lax.fori_loop(0, T, lambda i, c: (c[1], c[1].at[1:-1].set(
        2 * c[1][1:-1] - c[0][1:-1] + 0.1 * (c[1][:-2] - 2 * c[1][1:-1] + c[1][2:]))), (u, u * 0.5)), 2),
    "until it idempotent_after_exit": (lambda u: lax.while_loop(lambda s: (s[1] > 1e-9) & (s[2] < T), lambda s: (lambda n: (
        n, jnp.abs(n - s[0]).max(), s[2] + 1))(s[0].at[1:-1].set(0.5 * (s[0][:-2] + s[0][2:]))), (u, 1.0, 0)), 1),
    "nothing of the old": (steps(lambda c: c.at[1:-1].set(jnp.arange(1998.0))), 1),
    "complex": (lambda u: steps(lambda c: c.at[1:-1].set(0.5j * (c[:-2] + c[2:])))(u + 0j), 2),
}


@pytest.mark.parametrize("name", INTERIORS)
def test_each_element_is_written_once(name):
    """Per iteration; arguments are copied in and results out."""
    fun, carried = INTERIORS[name]
    with nj.disable_jit():
        want = tree_leaves(fun(X))
    for got in (tree_leaves(nj.jit(fun)(X)), [g[1] for g in tree_leaves(nj.jit(nj.vmap(fun))(jnp.stack([X * 0.5, X])))]):
        for g, w in zip(got, want, strict=True):
            np.testing.assert_allclose(np.asarray(g), np.asarray(w), rtol=1e-4, atol=1e-5)
    made = written(fun, X, trips=T)
    words = 2 if name == "complex" else 1
    assert made.stored <= (T * words + 2) * N and made.copied <= 2 * carried * N
    assert sum(t.size for t in lowered(fun, X).temps) <= (3 if name == "leapfrog" else 2) * N * words


def test_outside_of_loops():
    fun = lambda u: u.at[1:-1].set(u[2:] * 2)
    np.testing.assert_allclose(np.asarray(nj.jit(fun)(X)), np.asarray(fun(X)))
    assert written(fun, X, trips=1) == (N, 0)
    again = lambda u: (lambda v: (v.at[2:].add(v[:-2]), v.sum()))(u * 2)
    for g, w in zip(nj.jit(again)(X), again(X), strict=True):
        np.testing.assert_allclose(np.asarray(g), np.asarray(w), rtol=1e-5)


@pytest.mark.parametrize("start", [-5, 0, 1, 3])
def test_windows_at_or_over_an_end(start):
    """Dropped where the mode drops them, moved where it clips."""
    numbers = lax.ScatterDimensionNumbers((0,), (), (0,))
    for mode in ("drop", "clip"):
        fun = lambda u, mode=mode: lax.scatter(u, jnp.array([start]), u[3:] * 2, numbers, mode=mode)
        np.testing.assert_array_equal(np.asarray(nj.jit(fun)(X)), np.asarray(fun(X)))


def test_gradient():
    fun = nj.grad(lambda u: (steps(lambda c: c.at[1:-1].set(jnp.sin(c[:-2] + c[2:])))(u) ** 2).sum())
    with nj.disable_jit():
        want = np.asarray(fun(X))
    np.testing.assert_allclose(np.asarray(nj.jit(fun)(X)), want, rtol=1e-3, atol=1e-4)
