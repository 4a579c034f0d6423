"""The order of equations that needs less memory: chosen where it pays, with the same results, updates staying in place."""
from __future__ import annotations

import numpy as np

import numjet as nj
import numjet.numpy as jnp
from numjet import lax
from numjet.cpu.lowering import memory_scheduling
from numjet.transforms.simplify import simplify

X = np.linspace(0.01, 0.1, 400 * 300, dtype=np.float32).reshape(400, 300)


def program(fun, *args):
    return simplify(nj.make_jaxpr(fun)(*args)).jaxpr


def layers(x):
    """All products first, then their sums."""
    products = [(x * k) @ x.T for k in range(8)]
    return [jnp.sum(jnp.sin(p) @ p) for p in products]


def test_pieces_are_finished_one_by_one():
    jaxpr = program(layers, X)
    ordered = memory_scheduling.minimize_peak_memory(jaxpr)
    assert sorted(map(id, ordered.eqns)) == sorted(map(id, jaxpr.eqns))
    assert [e.primitive.name for e in ordered.eqns].index("reduce_sum") < 6
    assert memory_scheduling.peak(ordered.eqns, ordered.outvars) < memory_scheduling.peak(jaxpr.eqns, jaxpr.outvars) / 2
    made = set(jaxpr.invars)
    for eqn in ordered.eqns:
        assert all(a in made for a in eqn.invars if isinstance(a, type(jaxpr.invars[0])))
        made.update(eqn.outvars)


def test_results_are_the_same():
    with nj.disable_jit():
        expected = layers(jnp.array(X))
    np.testing.assert_allclose(nj.jit(layers)(X), expected, rtol=1e-5)


def test_small_programs_and_those_with_effects_stay():
    small = program(layers, X[:4, :4])
    assert memory_scheduling.minimize_peak_memory(small) is small

    def shown(x):
        nj.debug.print("{}", x[0, 0])
        return layers(x)
    loud = program(shown, X)
    assert memory_scheduling.minimize_peak_memory(loud) is loud


def test_a_chain_stays():
    def chain(x):
        for _ in range(5):
            x = jnp.tanh(x @ x)
        return x
    jaxpr = program(chain, X[:300])
    assert memory_scheduling.minimize_peak_memory(jaxpr) is jaxpr


def test_readers_stay_before_an_update():
    """sorted is read before it is overwritten: in another order the update would have to copy."""
    def fun(x):
        pieces = [jnp.sort(x * k) for k in range(8)]
        sums = [jnp.sum(p * p) for p in pieces]
        return [p.at[0].set(0.0).sum() for p in pieces], sums
    jaxpr = program(fun, X)
    ordered = memory_scheduling.minimize_peak_memory(jaxpr)
    assert ordered is not jaxpr
    place = {id(e): k for k, e in enumerate(ordered.eqns)}
    for update in (e for e in jaxpr.eqns if e.primitive.name.startswith("scatter")):
        readers = [e for e in jaxpr.eqns if update.invars[0] in e.invars and e is not update]
        assert readers and all(place[id(r)] < place[id(update)] for r in readers)
    assert not nj.explain(fun)(X).copies


def test_bodies_of_loops_are_ordered_too():
    def fun(x):
        return lax.fori_loop(0, 3, lambda _, s: s + sum(layers(x + s)), jnp.float32(0))
    stats = nj.jit(fun).lower(X).compile().memory_analysis()
    assert stats.temp_size_in_bytes < 5 * 400 * 400 * 4


def test_sums_of_many_large_arrays_are_stored_on_the_way():
    def fun(x):
        return sum((x * k) @ x.T for k in range(20))
    report = nj.explain(fun)(X)
    assert any("large arrays would have to stay" in o.why for o in report.operations)
    assert report.scratch_bytes < 10 * 400 * 400 * 4
    np.testing.assert_allclose(nj.jit(fun)(X), 190 * (X @ X.T), rtol=1e-5)


def test_a_small_part_lets_the_large_array_go():
    def fun(x):
        return jnp.concatenate([((x * k) @ x.T)[5:30] for k in range(8)])
    report = nj.explain(fun)(X)
    assert [o.why for o in report.operations if o.name == "slice"].count("the larger array that it is a part of can go") >= 7
    assert report.scratch_bytes < 5 * 400 * 400 * 4


def test_arrays_that_stay_anyway_do_not_count():
    """Ten arrays that are results themselves are not let go by storing what reads them."""
    def fun(x):
        made = [jnp.sort(x * k) for k in range(10)]
        return made, sum(made) * 2
    report = nj.explain(fun)(X)
    assert not any("would have to stay" in o.why for o in report.operations)


def test_old_values_are_read_before_they_are_overwritten():
    """The reader of a large array moves before the update; not one that needs its result, or keeps as much memory."""
    names = lambda fun: [e.primitive.name for e in memory_scheduling.minimize_peak_memory(program(fun, X[0], X[1])).eqns]

    def slice_late(x, y):
        new = lax.dynamic_update_slice(x * 2, y[:3], (1,))
        return new, x
    assert names(slice_late)[-1] == "dynamic_update_slice"

    def read_late(x, y, most=3):
        old = jnp.sin(x)
        new = lax.dynamic_update_slice(old, y[:3], (1,))
        return new, jnp.cos(old[5:5 + most])
    assert names(read_late).index("dynamic_update_slice") > names(read_late).index("slice", 2)

    def twice(x, y):
        old = jnp.sin(x)
        new = lax.dynamic_update_slice(old, y[:3], (1,))
        return new, lax.dynamic_slice(old, (jnp.int32(new[0]),), (4,))
    assert names(twice).index("dynamic_update_slice") < names(twice).index("dynamic_slice")
    for fun in (slice_late, read_late, twice):
        with nj.disable_jit():
            expected = fun(jnp.array(X[0]), jnp.array(X[1]))
        for got, want in zip(nj.jit(fun)(X[0], X[1]), expected, strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-6)
