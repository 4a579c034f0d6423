"""Reverse mode of while loops: by differences, inside of all other operations, of second order, within bounded memory."""

from __future__ import annotations

from math import comb

import numpy as np
import pytest

import numjet as nj
import numjet.numpy as jnp
from numjet import lax
from numjet.control.loops.reverse import default_rows, reverse_steps
from numjet.core.aval import ShapedArray
from numjet.core.trace import aval_of
from numjet.core.walk import all_eqns
from numjet.foundation.config import Setting, config
from numjet.testing.reference import Reference
from tests.control.calculus import check_derivatives, staged

few_bytes = Setting("numjet_loop_checkpoint_bytes")
W = np.array([[0.3, -0.2, 0.1], [0.5, 0.1, -0.4], [0.2, 0.3, 0.6]])


def newton(a, x):
    """A square root, to a tolerance: the number of steps depends on the data."""
    def far(c):
        return jnp.abs(c[0] * c[0] - a) > 1e-3

    return lax.while_loop(far, lambda c: ((c[0] + a / c[0]) / 2, c[1] * jnp.cos(c[0]) + x), (x, x))


def decay(x, n=5):
    """A counter that differs from the data, a carry that stays, one that nobody reads, constants."""
    def body(c):
        i, y, w, total = c
        return i + 1, jnp.sin(y @ w) * x[0] + y, w, total + jnp.sum(y)

    return lax.while_loop(lambda c: c[0] < n, body, (0, x, x[:, None] * W, 0.0))[1:]


def until(x):
    """Stops when the sum is large; steps are taken by an inner loop of as many steps as the counter says."""
    def step(c):
        inner = lax.fori_loop(0, c[0], lambda j, y: y * (1 + x * 0.1) + 0.01 * j, c[1])
        return c[0] + 1, inner + x

    return lax.while_loop(lambda c: c[1] < 4, step, (jnp.asarray(0), x))[1]


def branches(x):
    def step(c):
        y = lax.cond(c[1] > 1.5, lambda y: y * 0.7, lambda y: y + x * jnp.cos(y), c[1])
        return c[0] + 1, y

    return lax.while_loop(lambda c: c[0] < 7, step, (jnp.asarray(0), x))[1]


def scans(x):
    def step(c):
        return lax.scan(lambda y, a: (jnp.sin(y + a), y * a), c, x * np.arange(3.0))[0] * 0.4 + c

    return lax.while_loop(lambda c: c < 1.2, step, x)


def in_a_scan(x):
    def step(c, n):
        y = lax.fori_loop(0, n, lambda i, y: y * x + jnp.sin(y), c)
        return y, y

    return lax.scan(step, x, jnp.array([2, 0, 3]))[1]


def in_a_branch(x):
    return lax.cond(x > 0, lambda y: until(y), lambda y: y, x)


def custom(x):
    @nj.custom_vjp
    def twice(y):
        return 2 * y

    twice.defvjp(lambda y: (2 * y, None), lambda _, ct: (2 * ct,))
    return lax.while_loop(lambda c: c < 9, lambda c: twice(c) + x, x)


ONE = [np.float64(0.7)]
PROGRAMS = {
    "newton": (newton, [np.float64(2.5), np.float64(0.8)], True),
    "decay": (decay, [np.array([0.3, -0.8, 0.5])], True),
    "until": (until, ONE, True),
    "branches": (branches, ONE, True),
    "scans": (scans, ONE, True),
    "in_a_scan": (in_a_scan, ONE, True),
    "in_a_branch": (in_a_branch, ONE, True),
    "custom": (custom, ONE, False),
}


def total(fun):
    return lambda *xs: sum(jnp.sum(leaf) for leaf in nj.tree.leaves(fun(*xs)))


def differences(fun, args, step=1e-5):
    """Central differences of a function of arrays with respect to each of its arguments."""
    found = []
    for k, x in enumerate(args):
        g = np.zeros(np.shape(x))
        for i in np.ndindex(g.shape):
            d = np.zeros(g.shape)
            d[i] = step
            up, down = [fun(*[a + s * d if j == k else a for j, a in enumerate(args)]) for s in (1, -1)]
            g[i] = (float(up) - float(down)) / (2 * step)
        found.append(g)
    return found


# whole jitted functions: the eager slots would evaluate nothing but numbers around them
ALL_IN_PROGRAMS = pytest.mark.parametrize("evaluation", ["compiled"], indirect=True)


@ALL_IN_PROGRAMS
@pytest.mark.parametrize("name", PROGRAMS)
def test_gradients_and_second_derivatives(x64, name):
    fun, args, forward = PROGRAMS[name]
    every = tuple(range(len(args)))
    value, gradient = nj.jit(total(fun)), nj.jit(nj.grad(total(fun), every))
    for got, want in zip(gradient(*args), differences(value, args), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-6, atol=1e-8)
    weighted = lambda *xs: sum(jnp.sum(jnp.cos(g)) for g in nj.grad(total(fun), every)(*xs))
    wants = differences(nj.jit(weighted), args)
    for got, want in zip(nj.jit(nj.grad(weighted, every))(*args), wants, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-7)
    if forward:
        for got, want in zip(nj.jit(nj.jacfwd(weighted, every))(*args), wants, strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("name", PROGRAMS)
def test_batches_of_gradients_and_gradients_of_batches(x64, name):
    fun, args, _ = PROGRAMS[name]
    batch = [np.stack([a, a * 1.3, a * 0.6, a * 0.1]) for a in args]
    every = tuple(range(len(args)))
    want = [np.stack(g) for g in zip(*[nj.grad(total(fun), every)(*xs) for xs in zip(*batch, strict=True)], strict=True)]
    for found in (nj.vmap(nj.grad(total(fun), every))(*batch), nj.grad(total(nj.vmap(fun)), every)(*batch),
                  nj.jit(nj.vmap(nj.grad(total(fun), every)))(*batch)):
        for got, w in zip(found, want, strict=True):
            np.testing.assert_allclose(got, w, rtol=1e-10, atol=1e-12)


def test_one_loop_for_some_arguments_of_a_batch(x64):
    loop = lambda x, n: lax.fori_loop(0, n, lambda i, y: jnp.sin(y * x), x)
    counts = np.array([0, 3, 1, 6])
    want = [nj.grad(loop)(0.9, n) for n in counts]
    np.testing.assert_allclose(nj.vmap(nj.grad(loop), (None, 0))(0.9, counts), want)
    shared = nj.grad(lambda x: nj.vmap(loop, (None, 0))(x, counts).sum())(0.9)
    np.testing.assert_allclose(shared, np.sum(want))


@ALL_IN_PROGRAMS
@pytest.mark.parametrize("rows", [1, 2, 3, 8, 64])
@pytest.mark.parametrize("count", [0, 1, 2, 3, 9, 10, 40, 200])
def test_every_step_is_reversed_once_and_repeated_as_rarely_as_the_rows_allow(x64, rows, count):
    calls = []

    def back(k, state, cts):
        return [cts[0] - 1, cts[1] + jnp.where((state[0] == k) & (cts[0] == k), 0, 1)]

    def on(k, state):
        nj.debug.callback(lambda k: calls.append(int(k)), k)
        return [state[0] + 1]

    start = [jnp.asarray(count - 1), jnp.asarray(0)]
    left, wrong = nj.jit(lambda n: reverse_steps(n, [jnp.asarray(0)], start, on, back, rows))(np.int64(count))
    nj.effects_barrier()
    assert (int(left), int(wrong)) == (-1, 0)
    assert len(calls) == advances(count, rows)


def advances(count, rows):
    """The fewest computed steps with which so many can be reversed: Griewank and Walther's formula."""
    if count < 2:
        return 0
    r = 0
    while comb(rows + r, r) < count:
        r += 1
    return r * count - comb(rows + r, r - 1)


def test_a_million_steps_need_no_more_memory_than_ten(x64):
    loop = lambda x, n: lax.fori_loop(0, n, lambda i, y: y + 1e-6 * jnp.sin(y) * x, x)
    made = nj.make_jaxpr(nj.grad(lambda x, n: jnp.sum(loop(x, n))))(jnp.ones(8), 10)
    largest = max(v.aval.size for e in all_eqns(made.jaxpr) for v in e.outvars)
    assert largest == 8 * (default_rows([ShapedArray((8,), np.dtype(np.float64))]) + 1)
    got = nj.jit(nj.grad(loop))(np.float64(1), 1_000_000)
    exact = lambda x: 2 * np.arctan(np.exp(x) * np.tan(x / 2))  # of the differential equation y' = x sin y, which it follows
    assert abs(got - (exact(1 + 1e-6) - exact(1 - 1e-6)) / 2e-6) < 1e-5


def test_rows_fit_the_budget():
    state = [ShapedArray((1000,), np.dtype(np.float32)), ShapedArray((), np.dtype(np.int32))]
    with few_bytes(400_400):
        assert default_rows(state) == 100
    with few_bytes(1):
        assert default_rows(state) == 8
    assert default_rows(state) == 1024 == default_rows([])
    assert config.loop_checkpoint_bytes == 1 << 26


def test_few_rows_give_the_same_gradient(x64):
    gradient = nj.jit(nj.grad(lambda x, n: lax.fori_loop(0, n, lambda i, y: jnp.sin(y * x) + y, x)))
    want = gradient(0.7, 500)
    with few_bytes(1):
        assert abs(gradient(0.7, 500) - want) < 1e-9 * abs(want)


def test_only_the_values_that_steps_need_are_stored():
    def loop(x, big):
        body = lambda c: (c[0] + 1, jnp.sin(c[1]) * c[2][0], c[2], c[3] + jnp.sum(c[2]))
        return lax.while_loop(lambda c: c[0] < 4, body, (0, x, big, 0.0))[1]

    made = nj.make_jaxpr(nj.grad(loop))(1.0, jnp.ones(10_000))
    assert max(v.aval.size for e in all_eqns(made.jaxpr) for v in e.outvars) < 10_000


def test_counted_loops_are_not_run_to_count_their_steps():
    steps = []

    def run(x, n):
        return lax.fori_loop(0, n, lambda i, y: steps.append(1) or jnp.sin(y), x)

    made = nj.make_jaxpr(nj.grad(run))(1.0, 3)
    sines = [e for e in all_eqns(made.jaxpr) if e.primitive.name == "sin"]
    assert len(sines) == 2  # forwards, and the states in front of steps; a cosine backwards


def test_linear_loops_can_be_transposed(x64):
    run = nj.jit(lambda n, x: lax.fori_loop(0, n, lambda i, y: W @ y, x))
    (found,) = nj.linear_transpose(lambda x: run(3, x), np.zeros(3))(np.arange(3.0))
    np.testing.assert_allclose(found, np.linalg.matrix_power(W.T, 3) @ np.arange(3.0))


def test_keys_and_integers_are_stored_too(x64):
    def loop(x, key):
        def body(c):
            key, y, n = c
            key, own = nj.random.split(key)
            return key, y * x + nj.random.normal(own) * jnp.sin(y), n + 1

        return lax.while_loop(lambda c: c[2] < 5, body, (key, x, 0))[1]

    for key in (nj.random.key(0), nj.random.PRNGKey(0)):
        value = lambda x, key=key: loop(x, key)
        (want,) = differences(value, ONE)
        assert abs(nj.grad(value)(*ONE) - want) < 1e-6


def test_complex_values(x64):
    fun = lambda x: jnp.abs(lax.while_loop(lambda z: jnp.abs(z) < 3, lambda z: z * z + x + 1j, x + 0.5j))
    (want,) = differences(fun, ONE)
    assert abs(nj.grad(fun)(*ONE) - want) < 1e-5


def test_effects_are_refused():
    def loop(x, n):
        def body(i, y):
            nj.debug.print("{}", y)
            return jnp.sin(y)

        return lax.fori_loop(0, n, body, x)

    with pytest.raises(NotImplementedError, match=r"repeat the side effects in them: \['Debug'\]\. Take callbacks"):
        nj.jit(nj.grad(loop))(1.0, 3)


def test_a_condition_on_the_transposed_value_is_refused():
    with pytest.raises(ValueError, match="with respect to a value that its condition depends on"):
        nj.linear_transpose(lambda x: lax.while_loop(lambda y: y < 3, lambda y: 2 * y, x), 1.0)(1.0)


def test_in_forward_mode_nothing_is_stored(x64):
    check_derivatives(staged(until, np.float64(0)), ONE)
    assert aval_of(until(0.7)).dtype == np.float64


def test_steps_are_counted_in_64_bits_outside_of_programs_too():
    f = lambda x: lax.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, c[1] * x), (np.int32(0), x))[1]
    with nj.disable_jit():
        closed = nj.make_jaxpr(nj.grad(f))(2.0)
        assert float(Reference().closed(closed, [np.float32(2)])[0]) == 32.0
        assert float(nj.grad(f)(2.0)) == 32.0
