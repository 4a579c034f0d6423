"""The jit operation: a call keeps its name and stays a call under every transformation; derived programs are shared."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest

from numjet import lax
from numjet.control import checkpoint, cond, fori_loop, map as lax_map, named_call, scan, while_loop
from numjet.control.call.body_tracing import trace_body
from numjet.control.call.jaxpr_transforms import jvp_program, without_consts
from numjet.core.stage import trace_to_closed
from numjet.core.trace import aval_of
from numjet.core.walk import eval_closed
from numjet.foundation import events, tree
from numjet.transforms.dce import dce_jaxpr
from tests.control.calculus import check_derivatives, check_vmap, equation, grad, jvp, names, program, staged

F32 = np.float32
TABLE = np.array([1.0, 2.0, 3.0])


def called(fun, *example):
    """fun as a call."""
    closed = trace_to_closed(lambda *xs: list(fun(*xs)), [aval_of(x) for x in example])
    body = without_consts(closed)
    return lambda *xs: named_call(body, closed.consts, list(xs), "fun")


def work(x, y):
    return lax.sin(lax.mul(x, y)), lax.mul(x, np.asarray(TABLE, x.dtype)), y


ARGS = [np.array([0.1, 0.2, 0.3]), np.array([0.5, 0.6, 0.7])]


def test_derivatives(x64):
    run = called(work, *ARGS)
    check_derivatives(run, ARGS)
    check_derivatives(staged(run, *ARGS), ARGS)


def test_batches(x64, rng):
    run = called(work, *ARGS)
    args = [rng.uniform(size=(3, 3)), rng.uniform(size=(3, 3))]
    check_vmap(run, args)
    check_vmap(grad(lambda x, y: run(x, y)[:1]), args)


def test_a_gradient_is_two_calls():
    args = [a.astype(F32) for a in ARGS]
    run = called(work, *args)
    closed = program(grad(lambda x, y: run(x, y)[0]), *args)
    assert [e.params["name"] for e in closed.jaxpr.eqns if e.primitive.name == "jit"] == ["fun", "fun"]
    forward = equation(closed, "jit")
    # Residuals that are arguments are not returned by the call: three results, and cos(x y).
    assert len(forward.outvars) == 4


def test_unused_results_and_arguments_are_dropped():
    args = [a.astype(F32) for a in ARGS]
    run = called(work, *args)
    thin, used = dce_jaxpr(program(lambda x, y: run(x, y)[1], *args).jaxpr)
    eqn = thin.eqns[-1]
    assert used == [True, False] and names(eqn.params["jaxpr"]) == ["mul"]
    assert len(eqn.params["donated_invars"]) == len(eqn.invars)


def test_a_call_that_only_passes_values_on_is_not_made():
    run = called(lambda x, y: (y, x), F32(1), F32(2))
    assert [float(v) for v in grad(lambda x, y: run(x, y)[0])(F32(1), F32(2))] == [0, 1]


def test_constant_results():
    run = called(lambda x: (2.0, x), F32(1))
    out = run(F32(3))
    assert [float(v) for v in out] == [2, 3] and out[0].weak_type
    assert float(grad(lambda x: run(x)[1])(F32(1))[0]) == 1


def test_derived_programs_are_made_once():
    closed = trace_to_closed(lambda x: [lax.sin(x)], [aval_of(F32(1))])
    assert jvp_program(closed, (True,), False) is jvp_program(closed, (True,), False)


# ----------------------------------------------------------------------------------------------- remembered functions


def traced(fun, *args):
    leaves, in_tree = tree.tree_flatten(args)
    return trace_body(fun, in_tree, [aval_of(x) for x in leaves], "test")


def test_a_function_is_traced_once_per_signature():
    fun = lambda x: lax.sin(x)
    first = traced(fun, F32(1))
    assert traced(fun, F32(2)) is first
    assert traced(fun, np.ones(3, F32)) is not first
    assert traced(fun, F32(3)) is first


STEP = lambda c, s: (lax.mul(c, s), lax.sin(c))
WEIGHTS = np.ones(3, F32)


def _branchy(c, s):
    return cond(lax.gt(c, s), lambda c: lax.mul(lax.sin(c), lax.exp(s)), lambda c: lax.mul(c, c), c), c


def _closes(i, c):
    return lax.mul(c, WEIGHTS)


LOOPS = {
    "scan": lambda c, x: scan(STEP, c, x)[1],
    "scan of a lambda": lambda c, x: scan(lambda c, s: (lax.mul(c, s), lax.sin(c)), c, x)[1],
    "scan of cond": lambda c, x: scan(_branchy, c, x)[1],
    "fori_loop": lambda c, x: fori_loop(0, 3, _closes, x),
    "map": lambda c, x: lax_map(lax.sin, x),
    "checkpoint in scan": lambda c, x: scan(checkpoint(STEP), c, x)[1],
}


@pytest.mark.parametrize("name", LOOPS)
def test_an_eager_loop_is_compiled_once(evaluation, name):
    run = grad(lambda c, x: grad(lambda *a: lax.reduce_sum(LOOPS[name](*a), axes=(0,)))(c, x)[1])
    args = F32(0.5), np.ones(3, F32)
    with events.counting() as first:
        run(*args)
    assert ("compile" in first) == (evaluation == "compiled")
    with events.counting() as second:
        run(*args)
    assert "compile" not in second


def test_an_eager_while_loop_is_compiled_once(evaluation):
    def run(x):
        body = lambda c: (lax.add(c[0], np.int32(1)), lax.mul(c[1], c[1]))
        return while_loop(lambda c: lax.lt(c[0], np.int32(3)), body, (np.int32(0), x))[1]

    first = [float(t) for t in jvp(run, [F32(1.1)], [F32(1)])]
    with events.counting() as second:
        assert [float(t) for t in jvp(run, [F32(1.1)], [F32(1)])] == first
    assert "compile" not in second


def test_what_is_remembered_dies_with_the_function():
    def run():
        table = np.ones(3, F32)
        fori_loop(0, 2, lambda i, c: lax.mul(c, table), table)
        return weakref.ref(table)

    alive = run()
    gc.collect()
    assert alive() is None


def test_a_function_is_traced_again_when_what_it_reads_changed():
    k = F32(1)

    def helper(x):
        return lax.mul(x, k)

    def fun(x):
        return helper(x)

    first = float(eval_closed(traced(fun, F32(2)).jaxpr, F32(2))[0])
    k = F32(5)
    assert (first, float(eval_closed(traced(fun, F32(2)).jaxpr, F32(2))[0])) == (2, 10)


GLOBAL = 1.0


def reads_global(x):
    return lax.mul(x, F32(GLOBAL))


def test_a_function_is_traced_again_when_a_global_changed(monkeypatch):
    body = lambda c, _: (reads_global(c), None)
    assert float(scan(body, F32(2), None, length=1)[0]) == 2
    monkeypatch.setitem(globals(), "GLOBAL", 3.0)
    assert float(scan(body, F32(2), None, length=1)[0]) == 6


SETTINGS = {"k": 2.0}


def test_a_function_that_reads_what_may_change_within_is_always_traced_again():
    fun = lambda x: lax.mul(x, F32(SETTINGS["k"]))
    assert traced(fun, F32(1)) is not traced(fun, F32(1))
    items = [F32(2)]
    body = lambda c, _: (lax.mul(c, items[0]), None)
    first = float(scan(body, F32(3), None, length=1)[0])
    items[0] = F32(5)
    assert (first, float(scan(body, F32(3), None, length=1)[0])) == (6, 15)


def test_the_elements_of_a_closed_over_array_are_read_when_the_loop_runs():
    table = np.ones(2, F32)
    body = lambda c, _: (lax.mul(c, table), None)
    first = np.asarray(scan(body, np.ones(2, F32), None, length=1)[0]).tolist()
    table[:] = 5
    assert (first, np.asarray(scan(body, np.ones(2, F32), None, length=1)[0]).tolist()) == ([1, 1], [5, 5])


def test_what_closes_over_a_traced_value_is_not_remembered():
    bodies = []

    def outer(y):
        def inner(x):
            return lax.mul(x, y)

        bodies.append(traced(inner, F32(1)))
        bodies.append(traced(inner, F32(1)))
        return y

    program(outer, F32(1))
    assert bodies[0] is not bodies[1]


@pytest.mark.parametrize("call", [lambda f: f, lambda f: type("Callable", (), {"__call__": lambda self, x: f(x)})()])
def test_any_callable_can_be_traced(call):
    assert names(traced(call(lambda x: lax.sin(x)), F32(1)).jaxpr) == ["sin"]
