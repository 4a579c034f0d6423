"""Carries that change places, and new values stored over old ones: nothing is copied per iteration, whatever the loop."""
import numpy as np
import pytest

import numjet as nj
import numjet.numpy as jnp
from numjet import lax
from numjet.api.stages import trace_call
from numjet.cpu.lowering.loops import carry_buffers
from numjet.cpu.lowering.lower import lower
from numjet.foundation.tree import tree_leaves
from tests.cpu.traffic import lowered, written

N, T = 60, 7
fori = lax.fori_loop


def array(seed):
    return jnp.asarray(np.random.default_rng(seed).normal(size=N).astype(np.float32))


A, B, C = array(0), array(1), array(2)


def lap(u):
    return jnp.roll(u, 1) - 2 * u + jnp.roll(u, -1)


def loop(step, *init):
    return fori(0, T, lambda i, c: step(*c), init)


# name -> (program, arguments, memory in arrays)
FREE = {
    "swap": (lambda a, b: loop(lambda a, b: (b, a), a, b), (A, B), 2),
    "rotation": (lambda a, b, c: loop(lambda a, b, c: (b, c, a), a, b, c), (A, B, C), 3),
    "rotation the other way": (lambda a, b, c: loop(lambda a, b, c: (c, a, b), a, b, c), (A, B, C), 3),
    "swap and stay": (lambda a, b, c: loop(lambda a, b, c: (b, a, c * 0.5), a, b, c), (A, B, C), 2),
    "leapfrog": (lambda a, b: loop(lambda p, u: (u, 2 * u - p + 0.1 * lap(u)), a, b), (A, B), 2),
    "leapfrog by scan": (lambda a, b: lax.scan(lambda c, x: ((c[1], 2 * c[1] - c[0] + 0.1 * lap(c[1]) + x), c[1][3]), (a, b),
                                               jnp.arange(7.0)), (A, B), 2.2),
    "leapfrog by while": (lambda a, b: lax.while_loop(lambda c: c[2] < 5, lambda c: (
        c[1], 2 * c[1] - c[0] + 0.1 * lap(c[1]), c[2] + 1), (a, b, 0))[:2], (A, B), 2),
    "history": (lambda a, b, c: loop(lambda a, b, c: (b, c, (3 * c - 3 * b + a) * 0.5), a, b, c), (A, B, C), 3),
    "history with neighbours": (lambda a, b, c: loop(lambda a, b, c: (b, c, lap(c) * 0.3 + a), a, b, c), (A, B, C), 3),
    "two buffers": (lambda a, b: loop(lambda a, b: (lap(a) * 0.3, a), a, b), (A, B), 2),
    "a stencil": (lambda a: loop(lambda a: (a + 0.1 * lap(a),), a), (A,), 2),
    "swap and update": (lambda a, b: loop(lambda a, b: (b, a.at[3].add(1.0)), a, b), (A, B), 2),
    "nested": (lambda a, b: fori(0, 3, lambda j, c: loop(lambda p, u: (u, 2 * u - p + 0.1 * lap(u)), *c), (a, b)), (A, B), 2),
    "around an inner loop": (lambda a, b: fori(0, 3, lambda j, c: (c[1], fori(0, 4, lambda i, u: u + 0.1 * lap(u), c[0])),
                                               (a, b)), (A, B), 3),
    "by a branch": (lambda a, b: fori(0, T, lambda i, c: lax.cond(c[0][i] > 0, lambda a, b: (b, a), lambda a, b: (a, b), *c),
                                      (a, b)), (A, B), 2),
    "by branches": (lambda a, b, c: fori(0, T, lambda i, s: lax.switch(i % 3, [
        lambda a, b, c: (b, c, a), lambda a, b, c: (b, a, c), lambda a, b, c: (lap(b) * 0.3, c, b)], *s), (a, b, c)),
        (A, B, C), 4),
}


@pytest.mark.parametrize("name", FREE)
def test_nothing_is_copied_per_iteration(name):
    """Arguments are copied in, results out, and that is all."""
    fun, args, arrays = FREE[name]
    check(fun, *args)
    assert written(fun, *args, trips=T).copied <= 2 * len(args) * N
    assert sum(t.nbytes for t in lowered(fun, *args).temps) <= arrays * N * 4


IN_PLACE = {
    "elementwise": (lambda a: loop(lambda a: (jnp.sin(a) * 0.5,), a), (A,)),
    "coupled": (lambda a, b: loop(lambda a, b: (a + 0.1 * b, b - 0.1 * a), a, b), (A, B)),
    "one after the other": (lambda a, b: loop(lambda a, b: (a + 0.1 * (b - jnp.sin(a)), b - jnp.sin(a)), a, b), (A, B)),
    "of one another": (lambda a, b: loop(lambda a, b: (b * 0.5, a + 1), a, b), (A, B)),
    "with a result": (lambda a: lax.scan(lambda a, _: (a * 0.5, a[3]), a, None, length=T), (A,)),
    "complex": (lambda a, b: loop(lambda a: (a * (0.5 + 0.25j),), a + 1j * b)[0], (A, B)),
}


@pytest.mark.parametrize("name", IN_PLACE)
def test_elementwise_steps_need_no_second_array(name):
    fun, args = IN_PLACE[name]
    check(fun, *args)
    assert written(fun, *args, trips=T).copied <= len(args) * N  # the arguments
    extra = [t for t in lowered(fun, *args).temps if t.size >= N]
    assert len(extra) <= (1 if name == "complex" else 0)


def check(fun, *args):
    """Compiled, mapped and op by op give the same."""
    with nj.disable_jit():
        want = [np.asarray(x) for x in tree_leaves(fun(*args))]
    for got in (tree_leaves(nj.jit(fun)(*args)),
                [x[1] for x in tree_leaves(nj.jit(nj.vmap(fun))(*[jnp.stack([a * 0.5, a]) for a in args]))]):
        for g, w in zip(got, want, strict=True):
            np.testing.assert_allclose(np.asarray(g), w, rtol=2e-5, atol=2e-5)


def test_old_values_that_others_read():
    """Of a value that is read at other places, beside other results, or later: what is read is the old one."""
    check(lambda a, b: loop(lambda a, b: (a * 0.5, b[::-1] + a[::-1]), a, b), A, B)
    check(lambda a, b: loop(lambda a, b: (a * 0.5 + b[::-1], b * 0.5 + a[::-1]), a, b), A, B)
    check(lambda a, b: lax.scan(lambda c, _: ((c[0] * 0.5, c[1] + c[0].sum()), c[0][::-1]), (a, b), None, length=T), A, B)
    check(lambda a, b: lax.scan(lambda c, _: ((c[1], c[0] * 0.5), c[0]), (a, b), None, length=T), A, B)
    check(lambda a: loop(lambda a: ((a * 0.5).reshape(6, 10).T.reshape(-1) + a,), a), A)
    check(lambda a, b: loop(lambda a, b: (a, a), a, b), A, B)
    check(lambda a, b: loop(lambda a, b: (b, b * 0.5), a, b), A, B)
    check(lambda a, b: loop(lambda a, b: (jnp.where(a[3] > 0, a * 0.5, b), jnp.where(a[3] > 0, b, a)), a, b), A, B)


def test_kernels_leave_results_where_they_are():
    """What a library wrote becomes the carried array: it is not copied."""
    m = jnp.asarray(np.random.default_rng(0).normal(size=(40, 40)).astype(np.float32)) / 7
    fun = lambda a, b: loop(lambda a, b: (b, a @ b), a, b)
    assert written(fun, m, m.T, trips=T).copied == 4 * 1600
    check(fun, m, m.T)
    check(lambda a: loop(lambda a: (jnp.sort(a) * -0.5,), a), A)
    assert written(lambda a: loop(lambda a: (jnp.sort(a),), a), A, trips=T).copied <= 2 * N


def test_constants_that_become_the_next_value_are_copied():
    """They are wanted again in the next iteration."""
    check(lambda a, b: fori(0, T, lambda i, c: jnp.where(i == 3, 1, 0) * c + b, a), A, B)
    check(lambda a, b: fori(0, T, lambda i, c: lax.cond(i % 3 == 1, lambda c: b, lambda c: c * 0.5, c), a), A, B)
    check(lambda a, b: fori(0, 3, lambda j, d: (fori(0, T, lambda i, c: lax.cond(i == 2, lambda c: d[1], lambda c: lap(c) * 0.3,
                                                                                  c), d[0]), d[1] * 0.5), (a, b)), A, B)


@pytest.mark.parametrize("dtype", [np.complex64, np.int32, np.float16, np.bool_])
def test_other_dtypes(dtype):
    x, y = (jnp.asarray(np.arange(N) % k, dtype) for k in (7, 5))
    check(lambda a, b: loop(lambda a, b: (b, a[::-1]), a, b), x, y)


def test_reverse_mode():
    fun = lambda a, b: sum(x.sum() for x in loop(lambda p, u: (u, 2 * u - p * u + 0.1 * lap(u)), a * 0.1, b * 0.1))
    check(nj.grad(fun, (0, 1)), A, B)
    turned = lambda a, b: loop(lambda a, b: (b, a), a, b)[0] @ B
    np.testing.assert_allclose(nj.grad(turned)(A, B), np.zeros(N))
    np.testing.assert_allclose(nj.grad(turned, 1)(A, B), B)


def test_threads_see_where_arrays_are():
    """Large arrays are shared among threads inside of a loop in which buffers change places."""
    a, b = (jnp.asarray(np.random.default_rng(s).normal(size=150_000).astype(np.float32)) for s in (0, 1))
    want = [np.asarray(a), np.asarray(b)]
    for _ in range(5):
        p, u = want
        want = [u, 2 * u - p + np.float32(0.1) * (np.roll(u, 1) - 2 * u + np.roll(u, -1))]
    got = nj.jit(lambda a, b: fori(0, 5, lambda i, c: (c[1], 2 * c[1] - c[0] + 0.1 * lap(c[1])), (a, b)))(a, b)
    for g, w in zip(got, want, strict=True):
        np.testing.assert_allclose(np.asarray(g), w, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("body", [
    lambda c: (*c[1:], c[0]),                                     # each takes the memory of the next
    lambda c: tuple(2 * v + sum(c[:4]) for v in c),               # some are read by all
    lambda c: tuple(v[::-1] + w for v, w in zip(c, (*c[1:], c[0]), strict=True))])
def test_assignment_takes_steps_in_proportion_to_the_number_of_carries(monkeypatch: pytest.MonkeyPatch, body) -> None:
    operands, steps = carry_buffers._operands, []
    monkeypatch.setattr(carry_buffers, "_operands", lambda x: steps.append(x) or operands(x))
    monkeypatch.setattr(carry_buffers, "_loop_nest", lambda x: steps.append(x) or (x.shape, x.content.flat is not None))
    counts = []
    for n in (40, 80):
        steps.clear()
        jaxpr = trace_call(lambda *c: lax.fori_loop(0, 9, lambda i, c: body(c), c), [jnp.ones(100) for _ in range(n)], {})[0]
        lower(jaxpr, "f")
        counts.append(len(steps))
    assert counts[1] <= 2.2 * counts[0] + 10
