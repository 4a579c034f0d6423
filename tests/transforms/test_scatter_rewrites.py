"""Sums with arrays of zeros but for a few places, and choices between an array and its updates: what they become, and that
an iteration forwards, backwards and mapped then costs what it changes."""
import numpy as np
import pytest

import numjet as nj
import numjet.numpy as jnp
from numjet import lax
from numjet.core.walk import all_eqns
from numjet.transforms.simplify import simplify
from tests.cpu.traffic import lowered, written

N, T = 3000, 25
fori = lax.fori_loop


def array(seed=0, n=N):
    return jnp.asarray(np.random.default_rng(seed).normal(size=n).astype(np.float32))


X, M = array(), array().reshape(60, 50)

# name -> program of one array
STEPS = {
    "one element": lambda u: fori(0, T, lambda i, c: c.at[i].set(jnp.sin(c[i - 1])), u),
    "added": lambda u: fori(0, T, lambda i, c: c.at[i + 1].add(c[i] * c[i + 2]), u),
    "multiplied": lambda u: fori(0, T, lambda i, c: c.at[i].multiply(c[i + 1]), u),
    "two in a row": lambda u: fori(0, T, lambda i, c: c.at[i].set(jnp.cos(c[7])).at[i + 1].add(c[i + 2] ** 2), u),
    "changed places": lambda u: fori(0, T, lambda i, c: c.at[i].set(c[i + 1]).at[i + 1].set(c[i]), u),
    "blocks": lambda u: fori(0, T, lambda i, c: lax.dynamic_update_slice(
        c, jnp.sin(lax.dynamic_slice(c, (i,), (9,))), (i + 4,)), u),
    "history": lambda u: fori(2, T, lambda i, h: h.at[i].set(h[i - 1] + 0.1 * jnp.sin(h[i - 2])), u),
    "interpolated history": lambda u: fori(5, T, lambda i, h: h.at[i].set(h[i - 1] - 0.1 * h[jnp.floor(jnp.abs(h[0])).astype(
        int) % 5] * h[i - 5]), u),
    "rows": lambda u: fori(1, T, lambda i, c: c.at[i].set(jnp.tanh(c[i - 1] + c[i + 1])), u.reshape(60, 50)),
    "columns": lambda u: fori(1, T, lambda i, c: c.at[:, i].set(jnp.tanh(c[:, i - 1])), u.reshape(60, 50)),
    "rows by neighbours": lambda u: fori(0, 3, lambda s, c: fori(1, 59, lambda i, c: c.at[i, 1:-1].set(0.25 * (
        c[i - 1, 1:-1] + c[i + 1, 1:-1] + c[i, 2:] + c[i, :-2])), c), u.reshape(60, 50)),
    "stacked": lambda u: lax.scan(lambda c, i: (c.at[i].multiply(c[i + 1]), c[i] ** 2), u, jnp.arange(T)),
    "sorted rows": lambda u: fori(0, T, lambda i, c: c.at[i].set(jnp.sort(c[i] * c[i + 1])), u.reshape(60, 50)),
    "known places": lambda u: fori(0, T, lambda i, c: c.at[3].set(jnp.sin(c[9]) + c[2900]).at[10:14].multiply(c[5:9]), u),
    "a branch": lambda u: fori(0, T, lambda i, c: lax.cond(c[i] > 0, lambda c: c.at[i].multiply(c[i + 1]), lambda c: c, c), u),
    "two branches": lambda u: fori(0, T, lambda i, c: lax.cond(c[i] > 0, lambda c: c.at[i].set(c[i + 1] * 2),
                                                               lambda c: c.at[i + 2].add(c[5]), c), u),
    "several branches": lambda u: fori(0, T, lambda i, c: lax.switch((c[i] * 3).astype(int), [
        lambda c: c.at[i].add(c[0] ** 2), lambda c: c, lambda c: c.at[2].min(c[i])], c), u),
    "a choice": lambda u: fori(0, T, lambda i, c: jnp.where(c[i] > 0, c.at[i].add(jnp.cos(c[i + 1])), c), u),
    "a choice of blocks": lambda u: fori(0, T, lambda i, c: jnp.where(
        c[i] > 0, c, lax.dynamic_update_slice(c, c[:3] * 2, (i,))), u),
    "a choice of updates that read each other": lambda u: fori(0, T, lambda i, c: jnp.where(c[i] > 0, (
        lambda d: d.at[i + 1].multiply(jnp.sin(d[i]) + d[3]))(c.at[i].add(c[i + 2])), c), u),
    "a condition": lambda u: lax.while_loop(lambda s: (s[0] < 20) & (s[1][s[0]] < 1.5), lambda s: (
        s[0] + 1, s[1].at[s[0] + 1].add(s[1][s[0]] ** 2)), (0, u))[1],
}


def loss(fun):
    return lambda *args: sum((x ** 2).sum() for x in nj.tree.leaves(fun(*args)))


@pytest.mark.parametrize("name", STEPS)
def test_mapped_loops_update_in_place(name):
    """With a mask per element of the batch, too."""
    fun, xs = STEPS[name], jnp.stack([array(k) for k in range(3)])
    want = [np.stack([np.asarray(p) for p in parts]) for parts in zip(*[nj.tree.leaves(fun(x)) for x in xs], strict=True)]
    for g, w in zip(nj.tree.leaves(nj.jit(nj.vmap(fun))(xs)), want, strict=True):
        np.testing.assert_allclose(np.asarray(g), w, rtol=1e-4, atol=1e-5)
    got = written(nj.vmap(fun), xs, trips=T)
    assert got.copied <= xs.size and got.stored <= T * 400 * 9 + (3 * 60 * 60 * 60 * 5 if "neigh" in name else 0)


@pytest.mark.parametrize("name", [n for n in STEPS if n != "a condition"])
def test_gradient_costs_what_is_updated(name):
    """In time and memory: nothing of the size of the array is made or kept per iteration."""
    fun, x = loss(STEPS[name]), array(1) * 0.5
    with nj.disable_jit():
        want = np.asarray(nj.grad(fun)(x))
    np.testing.assert_allclose(np.asarray(nj.jit(nj.grad(fun))(x)), want, rtol=2e-3, atol=2e-4)
    got = written(nj.grad(fun), x, trips=T)
    rows = 3 * 60 * 60 * 40 if "neigh" in name else T * 50 * 30 if "rows" in name or "columns" in name else T * 60
    assert got.copied <= 3 * N and got.stored <= 3 * N + rows
    kept = sum(t.nbytes for t in lowered(nj.grad(fun), x).temps)
    assert kept <= 4 * (3 * N + (3 * 60 * 60 if "neigh" in name else T * 50 * 5))


@pytest.mark.parametrize("name", ["one element", "a branch", "rows", "a choice"])
def test_mapped_gradient(name):
    fun, xs = nj.grad(loss(STEPS[name])), jnp.stack([array(k) * 0.5 for k in range(3)])
    want = np.stack([np.asarray(fun(x)) for x in xs])
    np.testing.assert_allclose(np.asarray(nj.jit(nj.vmap(fun))(xs)), want, rtol=2e-3, atol=2e-4)
    got = written(nj.vmap(fun), xs, trips=T)
    assert got.total <= 8 * xs.size + T * 50 * 90


def names(fun, *args):
    return [e.primitive.name for e in all_eqns(simplify(nj.make_jaxpr(fun)(*args)).jaxpr)]


def same(fun, *args):
    """Compiled and op by op agree."""
    with nj.disable_jit():
        want = nj.tree.leaves(fun(*args))
    for g, w in zip(nj.tree.leaves(nj.jit(fun)(*args)), want, strict=True):
        np.testing.assert_allclose(np.asarray(g), np.asarray(w), rtol=1e-6)


@pytest.mark.parametrize("kind", ["set", "add", "multiply", "min", "max"])
@pytest.mark.parametrize("mode", ["drop", "clip"])
@pytest.mark.parametrize("dtype", [np.float32, np.int32, np.complex64])
def test_choices_of_every_update(kind, mode, dtype):
    """By a scalar, and by one per row; places out of bounds; values that are not finite."""
    if dtype is np.complex64 and kind in ("min", "max"):
        return
    given = np.where(np.arange(400) % 9 == 4, np.nan, X[:400]) if dtype is np.float32 else np.asarray(X[:400] * 9)
    x = jnp.asarray(given.astype(dtype))
    values = jnp.asarray(np.array([np.inf, -3, 0.5] if dtype is np.float32 else [7, -3, 2]).astype(dtype))
    update = lambda x, at: getattr(x.at[at], kind)(values, mode=mode)
    choose = lambda p, x, at: jnp.where(p, update(x, at), x)
    for p in (True, False):
        for at in ([3, 5, 399], [2, 1, 500], [-700, 4, 6]):
            same(choose, jnp.array(p), x, jnp.array(at))
            same(lambda p, x, at: jnp.where(p, x, update(x, at)), jnp.array(p), x, jnp.array(at))
    rows, at = x.reshape(4, 100), jnp.array([[1, 2, 3], [5, 99, 130], [-150, 7, 8], [0, 1, 2]])
    same(nj.vmap(choose), jnp.array([True, False, True, True]), rows, at)
    assert "select_n" in names(choose, jnp.array(True), x, jnp.array([3, 5, 9]))


def test_a_choice_touches_no_whole_array():
    choose = lambda p, x: jnp.where(p, x.at[3].set(1.0), x)
    sizes = [e.outvars[0].aval.size for e in all_eqns(simplify(nj.make_jaxpr(choose)(True, X)).jaxpr)
             if e.primitive.name == "select_n"]
    assert max(sizes) == 1


def test_what_is_used_otherwise_stays():
    """An update that is wanted besides; updates of different arrays; a mask of the array's own shape; a large update."""
    both = lambda p, x: (lambda y: (jnp.where(p, y, x), y.sum()))(x.at[3].set(1.0))
    apart = lambda p, x: jnp.where(p, x.at[3].set(1.0), x + 1)
    masked = lambda p, x: jnp.where(x > 0, x.at[3].set(1.0), x)
    large = lambda p, x: jnp.where(p, x.at[:2000].set(1.0), x)
    for fun in (both, apart, masked, large):
        for p in (True, False):
            same(fun, jnp.array(p), X)
        assert max(e.outvars[0].aval.size for e in all_eqns(simplify(nj.make_jaxpr(fun)(True, X)).jaxpr)
                   if e.primitive.name == "select_n") == N


def test_sums_in_order():
    """Cotangents of several reads: an update for each, no array of zeros, and the first dense one is what is updated."""
    fun = lambda x, i: (x * x).sum() + 3 * x[i] * x[5] + lax.dynamic_slice(x, (i,), (4,)).sum() * x[7]
    grad = nj.grad(fun)
    found = names(grad, X, 11)
    assert found.count("dynamic_update_slice") == 4 and "pad" not in found
    np.testing.assert_allclose(np.asarray(nj.jit(grad)(X, 11)), np.asarray(grad(X, 11)), rtol=1e-5, atol=1e-5)
    only = nj.grad(lambda x, i: x[i] * x[i + 1])
    np.testing.assert_allclose(np.asarray(nj.jit(only)(X, 2998)), np.asarray(only(X, 2998)), rtol=1e-5)
    repeated = nj.grad(lambda x: (x[jnp.array([1, 1, 2])] ** 2).sum() + (x ** 3).sum())
    np.testing.assert_allclose(np.asarray(nj.jit(repeated)(X)), np.asarray(repeated(X)), rtol=1e-5)


@pytest.mark.parametrize("shape", [(30, 100), (100,), (20, 4, 30)])
def test_gradients_of_many_reads_cost_what_is_read(shape):
    """Cotangents of rows that an unrolled loop reads are added to these rows: no loop over the array asks for each."""
    def unrolled(x):
        return sum(jnp.sum(jnp.sin(x[i]) * x[i - 1]) for i in range(shape[0]))
    x = jnp.asarray(np.random.default_rng(3).normal(size=shape).astype(np.float32))
    expected = np.cos(x) * np.roll(x, 1, 0) + np.sin(np.roll(x, -1, 0))
    np.testing.assert_allclose(nj.jit(nj.grad(unrolled))(x), expected, rtol=1e-4, atol=1e-5)
    got = written(nj.grad(unrolled), x, trips=1)
    assert got.stored + got.copied <= 8 * x.size
