"""Loops that update what they carry: in place, whatever is nested in what; values, and how often arrays are copied."""
import numpy as np
import pytest

import numjet as nj
import numjet.numpy as jnp
from numjet import lax
from numjet.api.stages import trace_call
from numjet.cpu import compiler
from numjet.cpu.ir.nodes import Copy, For, While
from numjet.cpu.ir.traversal import blocks, walk
from numjet.foundation.config import index_checks
from numjet.foundation.tree import tree_leaves

N = 50
fori = lax.fori_loop


def planned(fun, *args, donated=()):
    return compiler.planned(trace_call(fun, args, {})[0], "f", donated)


def check(fun, *args):
    """Compiled, with and without donated arguments, and op by op give the same; the planned program."""
    kept = [np.array(a) for a in args]
    with nj.disable_jit(), index_checks("off"):   # one loop ends at the end of an array
        want = [np.asarray(x) for x in tree_leaves(fun(*args))]
    for donated in ((), tuple(range(len(args)))):
        given = [jnp.array(a) for a in kept]
        got = nj.jit(fun, donate_argnums=donated)(*given)
        for g, w in zip(tree_leaves(got), want, strict=True):
            np.testing.assert_allclose(np.asarray(g), w, rtol=1e-5, atol=1e-6)
        for a, k in zip(given, kept, strict=True):
            assert donated or np.array_equal(np.asarray(a), k)
    return planned(fun, *args)


def copies(function):
    """Whole arrays copied outside of loops, and inside of them."""
    whole = lambda block: sum(isinstance(s, Copy) and s.count.attr == N for s in walk(block))
    inside = sum(whole(c) for s in function.body if isinstance(s, For | While) for c in blocks(s))
    return whole(function.body) - inside, inside


def bytes_of(function):
    return sum(t.nbytes for t in function.temps)


def array(seed=0, n=N):
    return jnp.asarray(np.random.default_rng(seed).normal(size=n).astype(np.float32))


def add_one(i, b):
    return b.at[i].add(1)


def until(b):
    """A while whose number of trips depends on the data: counts an element up."""
    return lax.while_loop(lambda s: s[1][s[0]] < 2, lambda s: (s[0] + 1, s[1].at[s[0]].add(3.0)), (0, b))[1]


def overlapping(b, i):
    return lax.dynamic_update_slice(b, lax.dynamic_slice(b, (i,), (20,)) * 2, (i + 7,)), None


def stacking(b, _):
    b, ys = lax.scan(lambda b, i: (b.at[i].multiply(2.0), b[i + 1] * 3), b, jnp.arange(20))
    return b.at[:20].add(ys), ys.sum()


IN_PLACE = {
    "a loop in a loop": lambda x: fori(0, 5, lambda j, b: fori(0, 3, add_one, b), x),
    "three loops": lambda x: fori(0, 5, lambda j, b: fori(0, 3, lambda k, b: fori(k, j, add_one, b), b), x),
    "updates around the inner loop": lambda x: fori(0, 5, lambda j, b: add_one(j, fori(0, 3, add_one, add_one(7, b))), x),
    "two inner loops": lambda x: fori(0, 5, lambda j, b: fori(1, j, add_one, fori(0, 3, add_one, b)), x),
    "a while in a loop": lambda x: fori(0, 5, lambda j, b: until(b), x),
    "a while": until,
    "a loop in a while": lambda x: lax.while_loop(lambda b: b[0] < 9, lambda b: fori(0, 3, add_one, b), x),
    "loops without trips": lambda x: fori(0, 5, lambda j, b: fori(j, 2, add_one, fori(0, 0, add_one, b)), x),
    "scan in scan": lambda x: lax.scan(lambda b, j: (lax.scan(overlapping, b, jnp.arange(3) + j)[0], None), x, jnp.arange(4)),
    "stacked results": lambda x: lax.scan(stacking, x, None, length=4),
    "rows of an input": lambda x: lax.scan(lambda b, row: (fori(0, 3, lambda i, b: b.at[i].add(row[i]), b), None), x,
                                           jnp.arange(20.0).reshape(5, 4)),
    "one branch": lambda x: fori(0, 5, lambda j, b: lax.cond(b[j] > 0, lambda b: add_one(j, b), lambda b: b, b), x),
    "a loop in a branch": lambda x: fori(0, 5, lambda j, b: lax.cond(b[j] > 0, lambda b: fori(0, j, add_one, b),
                                                                     lambda b: b, b), x),
    "a branch in inner loops": lambda x: fori(0, 5, lambda j, b: fori(0, 3, lambda i, b: lax.cond(
        b[i] > 0, lambda b: b, lambda b: add_one(i + j, b), b), b), x),
    "several branches": lambda x: fori(0, 5, lambda j, b: lax.switch(j, [lambda b: add_one(j, b), lambda b: b, until,
                                                                        lambda b: b.at[3:30].set(0)], b), x),
}


@pytest.mark.parametrize("name", IN_PLACE)
def test_updates_in_place(name):
    """The argument is copied once, and not at all when it is donated; there is no second buffer."""
    fun = IN_PLACE[name]
    function = check(fun, array())
    assert copies(function) == (1, 0)
    assert bytes_of(function) <= 2 * 20 * 4  # stacked results and what is stepped through
    donated = planned(fun, array(), donated=(True,))
    (given,) = [s for s in walk(donated.body) if isinstance(s, Copy) and s.count.attr == N]
    assert given.target in donated.outputs and given.source in donated.inputs  # the same memory, for the caller


RECOMPUTED = {
    "in the inner loop": lambda x: fori(0, 5, lambda j, b: fori(0, 3, lambda i, b: b[::-1] * 0.5, b), x),
    "and updated": lambda x: fori(0, 5, lambda j, b: fori(0, j, lambda i, b: add_one(i, b[::-1] * 0.5), add_one(j, b)), x),
    "after the inner loop": lambda x: fori(0, 5, lambda j, b: fori(0, j, lambda i, b: b[::-1] * 0.5, b)[::-1] + j, x),
    "around an update": lambda x: fori(0, 5, lambda j, b: fori(0, 3, add_one, b)[::-1] * 0.5, x),
    "by two loops": lambda x: fori(0, 5, lambda j, b: fori(0, j, lambda i, b: jnp.roll(b, 1), fori(
        0, 3, lambda i, b: b[::-1] * 0.5, b)), x),
    "in one branch": lambda x: fori(0, 9, lambda j, b: lax.cond(b[j] > 0, lambda b: b[::-1] * -0.5, lambda b: b, b), x),
    "in some branches": lambda x: fori(0, 9, lambda j, b: lax.switch(j % 5, [
        lambda b: b[::-1] * 0.5, lambda b: add_one(j, b), lambda b: fori(0, j, lambda i, b: jnp.roll(b, 1), b),
        lambda b: fori(0, j, lambda i, b: jnp.roll(b, 1), add_one(j, b))[::-1] + b[3], lambda b: add_one(j, b * 2)], b), x),
    "in a branch of the inner loop": lambda x: fori(0, 5, lambda j, b: fori(0, j, lambda i, b: lax.cond(
        b[i] > 0, lambda b: b[::-1] * -0.5, lambda b: add_one(i, b), b), b)[::-1] + j, x),
    "in a while": lambda x: fori(0, 5, lambda j, b: lax.while_loop(lambda b: b[3] ** 2 > 0.1, lambda b: b[::-1] * 0.5, b), x),
}


@pytest.mark.parametrize("name", RECOMPUTED)
def test_second_array_is_handed_on(name):
    """An inner loop leaves its value in either of two arrays, and the outer one goes on from there, without a third one."""
    function = check(RECOMPUTED[name], array())
    assert copies(function) == (2, 0)  # the argument and the result
    assert bytes_of(function) == 2 * N * 4


def test_result_stored_early_is_not_overwritten_by_an_inner_loop():
    """The new value is wanted before the loop's end, and the old one begins an inner loop that needs two arrays."""
    def body(j, b):
        new = jnp.sin(b[::-1]) * 0.5
        return new.at[0].add(fori(0, 3, lambda i, b: b[::-1] * 0.5 + new[i], b).sum())
    check(lambda x: fori(0, 4, body, x), array())

    def both(c, _):
        b = c[1]
        new = jnp.exp(-b[::-1] ** 2)
        after = fori(0, 3, lambda i, b: b[::-1] * 0.5 + new.max(), b)
        return (after, new), new[3]
    check(lambda x, y: lax.scan(both, (x, y), None, length=5), array(), array(1))


def test_old_value_read_after_the_inner_loop_is_copied():
    def body(j, b):
        return b.at[j].set((fori(0, 3, add_one, b) * b).sum())
    function = check(lambda x: fori(0, 5, body, x), array())
    assert copies(function) == (1, 1)
    check(lambda x: fori(0, 5, lambda j, b: fori(0, 3, add_one, b) + b, x), array())
    check(lambda x: (fori(0, 5, add_one, x), x, x.sum()), array())


def test_old_elements_are_read_before_they_are_overwritten():
    """What reads an old value, not computed yet, is stored before a loop takes the memory over."""
    def body(j, b):
        turned = b[::-1]
        return fori(0, 5, lambda i, b: b.at[i].add(turned[i] + turned[N - 1 - i]), b) * 0.5
    check(lambda x: fori(0, 4, body, x), array())
    check(lambda x: fori(0, 4, lambda j, c: fori(0, 3, lambda i, c: (add_one(i, c[0]), c[1].at[i].add(c[0][i])),
                                                  (c[0], c[0][::-1])), (x, x)), array())


@pytest.mark.parametrize("trips", [0, 1, 2, 3])
def test_carries_that_change_places(trips):
    inner = lambda c: fori(0, trips, lambda i, c: (c[1], add_one(i, c[0])), c)
    check(lambda x, y: inner((x, y)), array(), array(1))
    check(lambda x, y: fori(0, 3, lambda j, c: inner(c), (x, y)), array(), array(1))
    check(lambda x, y: fori(0, 3, lambda j, c: inner((c[1], c[0])), (x, y)), array(), array(1))
    check(lambda x: fori(0, 3, lambda j, c: inner((c[0], c[0])), (x, x)), array())
    check(lambda x, y: fori(0, 3, lambda j, c: (fori(0, trips, lambda i, b: b[::-1] * 0.5, c[1]), c[0]), (x, y)),
          array(), array(1))


def test_condition_of_a_while_updates_a_copy():
    """What the condition makes of the state is its own."""
    check(lambda x: lax.while_loop(lambda b: add_one(0, b).sum() < 90, lambda b: b + 1, x), array())
    check(lambda x: lax.while_loop(lambda b: fori(0, 3, add_one, b)[:5].sum() < 90, lambda b: add_one(1, b), x), array())


def test_branches_that_leave_results_in_different_places():
    def swap(j, c):
        return lax.cond(c[0][j] > 0, lambda a, b: (a, add_one(j, b)), lambda a, b: (b, a), *c)
    check(lambda x, y: fori(0, 6, swap, (x, y)), array(), array(1))
    check(lambda x: fori(0, 6, lambda j, b: lax.cond(b[j] > 0, lambda b: fori(0, j, lambda i, b: b[::-1] * 0.5, b),
                                                     lambda b: add_one(j, b), b)[::-1], x), array())
    check(lambda x: fori(0, 6, lambda j, b: lax.cond(b[j] > 0, lambda b: (b, b), lambda b: (add_one(j, b), b), b)[0], x),
          array())
    check(lambda x: (lax.cond(x[0] > 0, lambda b: b, lambda b: b + 1, x), lax.cond(x[1] > 0, lambda b: add_one(0, b),
                                                                                  lambda b: b, x), x), array())


@pytest.mark.parametrize("dtype", [np.complex64, np.int32, np.float16])
def test_other_dtypes(dtype):
    x = jnp.asarray(np.arange(N) % 7, dtype)
    for fun in (IN_PLACE["a loop in a loop"], lambda x: fori(0, 5, lambda j, b: fori(0, 3, lambda i, b: b[::-1] + 1, b), x)):
        check(fun, x)


def test_reverse_mode():
    product = lambda x: fori(0, 3, lambda j, b: fori(0, 4, lambda i, b: b.at[i].multiply(b[i + 1]), b), x).sum()
    choose = lambda j, b: lax.cond(b[j] > 0, lambda b: b.at[j].multiply(b[j + 1]), lambda b: b, b)
    chosen = lambda x: fori(0, 3, choose, x).sum()
    for fun in (product, chosen):
        check(nj.grad(fun), array())
        check(nj.vmap(nj.grad(fun)), array(n=3 * N).reshape(3, N))


def test_steps_that_read_the_first_value_are_not_disturbed():
    """Inputs and constants of a loop that are parts of the array with which it begins, computed or not."""
    def body(b, _):
        b, ys = lax.scan(lambda c, row: (add_one(3, c).at[4].multiply(row[1]), row.sum() + c[2]), b, (b * 2).reshape(10, 5))
        return fori(0, 3, lambda i, c: c.at[i].add(b[::-1][i]), b).at[:10].add(ys), None
    check(lambda x: lax.scan(body, x, None, length=3), array())


def test_branch_beside_other_results_in_the_same_buffer():
    def both(j, c):
        a, b = c
        return lax.cond(a[j] > 0, lambda a, b: (a[::-1] * 0.5 + b, a), lambda a, b: (b, add_one(j, a)), a, b)
    check(lambda x, y: fori(0, 6, both, (x, y)), array(), array(1))

    def first_branch_then_loop(j, b):
        new = lax.cond(b[j] > 0, lambda b: b[::-1] * 0.5, lambda b: b, b)
        return add_one(j, new) + fori(0, 3, lambda i, b: b[::-1] * 0.5, b)[j]
    check(lambda x: fori(0, 6, first_branch_then_loop, x), array())

    def loop_then_branch(b, j):
        old = b
        b = fori(0, j, lambda i, b: b[::-1] * 0.5, b)
        return lax.cond(b[j] > 0, lambda b: jnp.roll(b, 1) - b, lambda b: b, b), old[3] + b[2]
    check(lambda x: lax.scan(loop_then_branch, x, jnp.arange(6)), array())
    check(lambda x: lax.scan(lambda b, j: (loop_then_branch(b, j)[0], b), x, jnp.arange(6)), array())


def test_large_arrays_on_several_threads():
    """Arrays that inner loops exchange are known to be different places, by threads, too."""
    def body(j, b):
        b = fori(0, j % 3, lambda i, b: jnp.roll(b, 1) * 0.5 + b, b)
        return jnp.roll(b, 3) - b * 0.25
    x = array(n=200_000)
    function = check(lambda x: fori(0, 4, body, x), x)
    assert sum(isinstance(s, For) and s.mode == "parallel" for s in walk(function.body)) == 2


def test_registers_written_in_an_inner_loop_end_with_it():
    """An update of a large array comes after a loop that updates a small one element by element."""
    def run(x, n):
        def inner(i, c):
            return c[0] - c[2][i], c[1].at[i].set(c[0] @ c[2][i]), c[2]

        def outer(c):
            x, s, k = c
            q, a, _ = lax.fori_loop(0, jnp.minimum(n, k), inner, (x, jnp.zeros(5), s))
            return q + a.sum(), s.at[k % 5].set(q), k + 1
        return lax.while_loop(lambda c: c[2] < 7, outer, (x, jnp.zeros((5, 20)), 0))
    check(run, jnp.arange(20.0) / 200, jnp.asarray(3))
