"""Loops that shift what they carry: windows that slide, whatever is done with them; values, and what an iteration writes."""
import numpy as np
import pytest

import numjet as nj
import numjet.numpy as jnp
from numjet import lax
from numjet.foundation.tree import tree_leaves
from tests.cpu.traffic import lowered, written

N, T = 200, 500
fori = lax.fori_loop
join = jnp.concatenate


def array(seed=0, n=N):
    return jnp.asarray(np.random.default_rng(seed).normal(size=n).astype(np.float32))


def new(c):
    """Something that depends on both ends, and neither grows nor dies out."""
    return jnp.sin(c[-1:]) * 0.5 + 0.3 * c[:1] + 0.1


def left(c):
    return join([c[1:], new(c)])


def right(c):
    return join([new(c), c[:-1]])


SHIFTS = {
    "to the front": lambda u: fori(0, T, lambda i, c: left(c) + 0, u),
    "to the back": lambda u: fori(0, T, lambda i, c: right(c), u),
    "by three": lambda u: fori(0, T, lambda i, c: join([c[3:], jnp.sin(c[:3])]), u),
    "by two things": lambda u: fori(0, T, lambda i, c: join([c[2:], c[:1] * 0.5, jnp.array([0.1])]), u),
    "by one and two": lambda u: fori(0, T, lambda i, c: join([left(c)[2:], jnp.cos(c[:2])]), u),
    "there and back": lambda u: fori(0, T, lambda i, c: join([c[-2:] * 0.3, left(c)[:-2]]), u),
    "roll": lambda u: fori(0, T, lambda i, c: jnp.roll(c, -1).at[-1].set(new(c)[0]), u),
    "roll back": lambda u: fori(0, T, lambda i, c: jnp.roll(c, 1).at[0].set(new(c)[0]), u),
    "roll only": lambda u: fori(0, T, lambda i, c: jnp.roll(c, 3), u),
    "zeros": lambda u: fori(0, T, lambda i, c: jnp.pad(c[1:], (0, 1)).at[-1].add(c[0] * 0.9), u),
    "old values read later": lambda u: fori(0, T, lambda i, c: jnp.roll(c, -1).at[5].set(c[0]).at[0].add(c[7] * 1e-3), u),
    "reads of all": lambda u: fori(0, T, lambda i, s: (join([s[0][1:], (s[0] @ s[0][::-1])[None] * 1e-3]),
                                                       s[1] * 0.5 + s[0].max()), (u, 0.0)),
    "stacked results": lambda u: lax.scan(lambda c, i: (left(c), c[::50].sum() + i), u, jnp.arange(300.0)),
    "until": lambda u: lax.while_loop(lambda s: (s[0] < 300) & (s[1][0] < 1e3), lambda s: (s[0] + 1, left(s[1])), (0, u)),
    "nested": lambda u: fori(0, 9, lambda j, c: fori(0, 50, lambda i, c: left(c), c).at[3].add(0.1), u),
    "nested both": lambda u: fori(0, 9, lambda j, c: left(fori(j, 60, lambda i, c: right(c), c)), u),
    "rows": lambda u: fori(0, T, lambda i, c: left(c), u.reshape(20, 10)),
    "columns": lambda u: fori(0, T, lambda i, c: join([c[:, 1:], new(c.T).T], 1), u.reshape(2, 100)),
    "columns back": lambda u: fori(0, T, lambda i, c: join([new(c.T).T, c[:, :-1]], 1), u.reshape(2, 100)),
    "columns, old values read": lambda u: fori(0, T, lambda i, c: join([c[:, 1:], new(c.T).T], 1).at[0, 0].add(c[3, 0] * 0.1),
                                               u.reshape(10, 20)),
    "a branch after": lambda u: fori(0, T, lambda i, c: lax.cond(c[0] > 0.2, lambda c: c.at[3].add(0.1), lambda c: c, left(c)),
                                     u),
    "in a branch": lambda u: fori(0, T, lambda i, c: lax.cond(c[i % 7] > 0.2, left, lambda c: c, c), u),
    "in branches": lambda u: fori(0, T, lambda i, c: lax.switch(i % 3, [left, lambda c: c.at[3].add(0.1), right], c), u),
    "two": lambda u: fori(0, T, lambda i, s: (left(s[0]), join([s[1][1:], s[0][:1]])), (u, u * 2)),
    "complex": lambda u: fori(0, T, lambda i, c: join([c[1:], new(c) * (0.9 + 0.1j)]), u + 0j),
}


def check(fun, *args):
    with nj.disable_jit():
        want = [np.asarray(x) for x in tree_leaves(fun(*args))]
    for g, w in zip(tree_leaves(nj.jit(fun)(*args)), want, strict=True):
        np.testing.assert_allclose(np.asarray(g), w, rtol=1e-4, atol=1e-4)


def test_elementwise_afterwards_is_no_shift():
    check(SHIFTS["to the front"], array())


@pytest.mark.parametrize("name", [n for n in SHIFTS if n != "to the front"])
def test_an_iteration_writes_what_is_new(name):
    """The arrays are copied in and out once; a row or column of each is written per iteration, and small temporaries."""
    fun, x = SHIFTS[name], array()
    check(fun, x)
    got = written(fun, x, trips=T)
    words = 2 if name == "complex" else 1
    carried = 2 if name == "two" else 1
    assert got.copied <= 2 * words * carried * N
    assert got.stored <= 60 * T * words + 300
    windows = sum(t.size for t in lowered(fun, x).temps if t.name.startswith("window"))
    assert 2 * N < windows / carried <= (2 * N + 3 * 20) * words


@pytest.mark.parametrize("name", ["roll", "to the back", "rows", "columns", "nested", "in a branch"])
def test_mapped(name):
    fun, xs = SHIFTS[name], jnp.stack([array(k) for k in range(3)])
    want = np.stack([np.asarray(fun(x)) for x in xs])
    np.testing.assert_allclose(np.asarray(nj.jit(nj.vmap(fun))(xs)), want, rtol=1e-4, atol=1e-4)
    if name != "in a branch":   # there a mask chooses between whole arrays
        got = written(nj.vmap(fun), xs, trips=T)
        assert got.copied <= 9 * N and got.stored <= 180 * T


@pytest.mark.parametrize("name", ["roll", "roll back", "to the back", "rows", "zeros", "old values read later"])
def test_gradient(name):
    """The cotangent slides the other way."""
    loss = lambda u: (SHIFTS[name](u) ** 2).sum()
    x = array()
    with nj.disable_jit():
        want = nj.grad(loss)(x)
    np.testing.assert_allclose(np.asarray(nj.jit(nj.grad(loss))(x)), np.asarray(want), rtol=1e-3, atol=1e-4)
    got = written(nj.grad(loss), x, trips=T)
    assert got.copied <= 6 * N and got.stored <= 150 * T


def test_old_windows_that_are_still_read():
    """Two shifts in one iteration, with the array before both read afterwards; and shifts of an old value."""
    check(lambda u: fori(0, T, lambda i, c: left(left(c)).at[1].set(c[-1] * 0.5 + c[0]), u), array())
    check(lambda u: fori(0, T, lambda i, c: left(left(left(c))) * (1 + 0 * c), u), array())
    check(lambda u: lax.scan(lambda c, _: (left(left(left(c))), c), u, None, length=50), array())
    check(lambda u: fori(0, T, lambda i, c: lax.cond(c[0] > 0, lambda c: left(c), lambda c: c[::-1] * 0.5, c), u), array())
    check(lambda u: fori(0, T, lambda i, s: (left(s[0]), s[0]), (u, u)), array())
    check(lambda u: fori(0, T, lambda i, s: (left(s[1]), right(s[0])), (u, u * 2)), array())
    check(lambda u: (fori(0, T, lambda i, c: right(c), u), u, u.sum()), array())
    check(lambda u: fori(0, 9, lambda j, c: fori(0, 30, lambda i, d: left(d), c) * 0.5 + c, u), array())


def test_small_arrays_and_long_pieces_are_moved():
    """A window pays for long arrays of which little is new."""
    for n, by in ((40, 1), (200, 120)):
        fun = lambda u, by=by: fori(0, 50, lambda i, c: join([c[by:], jnp.sin(c[:by])]), u)
        check(fun, array(n=n))
        assert not any(t.name.startswith("window") for t in lowered(fun, array(n=n)).temps)


@pytest.mark.parametrize("trips", [0, 1, 2])
def test_few_iterations(trips):
    check(lambda u: fori(0, trips, lambda i, c: right(c), u), array())
    check(lambda u, n: fori(0, n, lambda i, c: left(c), u), array(), trips)


def test_padding_at_both_ends_is_no_shift_by_what_comes_behind():
    def run(u):
        return fori(0, 3, lambda i, c: lax.pad(c[2:-1], np.float32(0.5), [(1, 2, 0)]), u)
    want = np.asarray(array())
    for _ in range(3):
        want = np.pad(want[2:-1], (1, 2), constant_values=0.5)
    assert nj.jit(run)(array()).tolist() == want.tolist()
