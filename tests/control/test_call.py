"""The jit operation: a call keeps its name and stays a call under every transformation; derived programs are shared."""

from __future__ import annotations

import numpy as np
import pytest

from numjet import lax
from numjet.control import named_call, scan
from numjet.control.bodies import trace_body
from numjet.control.programs import jvp_program, without_consts
from numjet.core.stage import trace_to_closed
from numjet.core.trace import aval_of
from numjet.core.walk import eval_closed
from numjet.foundation import tree
from numjet.transforms.dce import dce_jaxpr
from tests.control.calculus import check_derivatives, check_vmap, equation, grad, names, program, staged

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
    assert len(eqn.params["donated"]) == len(eqn.invars)


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
    count = []

    def fun(x):
        count.append(1)
        return lax.sin(x)

    assert traced(fun, F32(1)) is traced(fun, F32(2))
    assert len(count) == 1
    traced(fun, np.ones(3, F32))
    assert len(count) == 2


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
    body = lambda c, _: (reads_global(c), None)  # noqa: E731
    assert float(scan(body, F32(2), None, length=1)[0]) == 2
    monkeypatch.setitem(globals(), "GLOBAL", 3.0)
    assert float(scan(body, F32(2), None, length=1)[0]) == 6


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
