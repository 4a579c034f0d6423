"""Work on constants runs once, when a program is compiled."""
import threading

import numpy as np
import pytest

import numjet as nj
import numjet.numpy as jnp
from numjet import lax
from numjet.foundation import events
from numjet.runtime.prologue import split
from numjet.transforms.simplify import simplify

EDGES = np.random.default_rng(0).integers(0, 500, 3000)
MATRIX = np.random.default_rng(1).normal(size=(40, 40)).astype(np.float32) + 9 * np.eye(40, dtype=np.float32)
VECTOR = np.linspace(0, 1, 3000, dtype=np.float32)

# name -> function of one array, its argument, and what is kept
CASES = {
    "order": (lambda x: x[jnp.argsort(EDGES)], VECTOR, [(3000,)]),
    "inverse": (lambda x: jnp.linalg.inv(MATRIX) @ x, VECTOR[:40], [(40, 40)]),
    "two results": (lambda x: x * jnp.sort(VECTOR[::-1]) + jnp.cumsum(VECTOR), VECTOR, [(3000,), (3000,)]),
    "a number": (lambda x: x * jnp.sum(jnp.asarray(VECTOR) ** 2), VECTOR, [()]),
    "a result": (lambda x: (x, jnp.sort(jnp.asarray(EDGES))), VECTOR, [(3000,)]),
    "a loop": (lambda x: x + lax.fori_loop(0, 9, lambda i, c: jnp.sort(-c), jnp.asarray(VECTOR)), VECTOR, [(3000,)]),
    "in a loop": (lambda x: lax.fori_loop(0, 9, lambda i, c: c + jnp.sort(-VECTOR), x), VECTOR, [(3000,)]),
    "cheap at the end": (lambda x: x + 2 * jnp.sort(-VECTOR)[::-1].reshape(50, 60).T, np.ones((60, 50), np.float32), [(3000,)]),
}


def prologues():
    return events.counters().get("prologue", 0)


@pytest.mark.parametrize("name", CASES)
def test_what_depends_on_constants_alone_is_kept(name):
    fun, x, kept = CASES[name]
    before = prologues()
    compiled = nj.jit(fun)
    for _ in range(3):
        for got, want in zip(nj.tree.leaves(compiled(x)), nj.tree.leaves(fun(x)), strict=True):
            np.testing.assert_allclose(np.asarray(got), np.asarray(want), rtol=1e-4, atol=1e-5)
    assert prologues() == before + 1
    parts = split(simplify(nj.make_jaxpr(fun)(x)))
    assert sorted(v.aval.shape for v in parts.kept) == kept and not parts.prologue.in_avals
    assert not any(e.primitive.name in ("sort", "lu", "cumsum", "reduce_sum") for e in parts.rest.eqns)


@pytest.mark.parametrize("fun", [
    lambda x: x + jnp.asarray(VECTOR)[::-1] * 2,                                  # costs nothing where it is read
    lambda x: x + jnp.exp(jnp.asarray(VECTOR)),                                   # little work
    lambda x: x[:50] + jnp.sort(VECTOR[:50]),                                     # a small array
    lambda x: x + jnp.sin(jnp.arange(3000.0)),                                    # no array of the program's own
    lambda x: x + nj.pure_callback(lambda v: v, nj.ShapeDtypeStruct((3000,), np.float32), jnp.sort(x)) + x[0],
    lambda x: x + nj.pure_callback(np.sort, nj.ShapeDtypeStruct((3000,), np.float32), jnp.asarray(VECTOR)),   # a callback
], ids=["cheap", "little", "small", "computed", "not constant", "callback"])
def test_what_is_not_worth_it_or_may_not_run_early_stays(fun):
    assert split(simplify(nj.make_jaxpr(fun)(VECTOR))) is None


def test_results_that_would_take_much_memory_stay():
    points = jnp.asarray(VECTOR)
    pairs = lambda x: x + jnp.exp(-jnp.abs(points[:, None] - points[None])) @ x
    assert split(simplify(nj.make_jaxpr(pairs)(VECTOR))) is None


def test_nothing_runs_early_where_nans_are_looked_for_or_programs_are_forbidden():
    fun, x, _ = CASES["order"]
    before = prologues()
    with nj.debug_nans(True):
        nj.jit(lambda x: fun(x))(x)
    with nj.no_execution(True):
        nj.jit(lambda x: fun(x)).lower(x).compile()
    assert prologues() == before


def test_effects_stay_in_place(capfd):
    def fun(x):
        nj.debug.print("largest {}", jnp.sort(jnp.asarray(VECTOR))[-1])
        return x
    compiled = nj.jit(fun)
    for _ in range(2):
        nj.block_until_ready(compiled(VECTOR))
        nj.effects_barrier()
    assert capfd.readouterr().out.count("largest 1.0") == 2


def test_threads_and_transformations():
    fun = lambda x: (x * jnp.sort(-VECTOR)).sum()
    compiled, found = nj.jit(nj.vmap(nj.grad(fun))), []
    xs = np.ones((3, 3000), np.float32)
    threads = [threading.Thread(target=lambda: found.append(np.asarray(compiled(xs)))) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert len(found) == 4
    for got in found:
        np.testing.assert_array_equal(got, np.broadcast_to(np.sort(-VECTOR), (3, 3000)))
