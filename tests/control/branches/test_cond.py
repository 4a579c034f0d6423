"""cond and switch: values, derivatives, batches with equal and with different predicates, shared residuals, errors."""

from __future__ import annotations

import numpy as np
import pytest

import numjet as nj
from numjet import lax
from numjet.control import cond, switch
from numjet.core.aval import ShapedArray
from numjet.core.check import check_jaxpr
from numjet.core.stage import trace_to_closed
from numjet.foundation.config import disable_jit
from numjet.transforms.dce import dce_jaxpr
from tests.control.calculus import check_derivatives, check_vmap, equation, grad, names, program, staged, vmap

F32, I32 = np.float32, np.int32


def pick(p, x, y):
    return cond(p, lambda x, y: lax.sin(lax.mul(x, y)), lambda x, y: lax.mul(lax.exp(x), lax.mul(y, y)), x, y)


def pick3(i, x, y):
    branches = [lax.mul, lambda x, y: lax.mul(lax.sin(x), lax.cos(y)), lambda x, y: lax.exp(lax.mul(x, lax.mul(x, y)))]
    return switch(i, branches, x, y)


@pytest.mark.parametrize("p", [True, False, np.True_, 3, 0.0, np.array(0.5, F32)])
def test_known_predicates(p):
    assert float(cond(p, lambda x: lax.neg(x), lambda x: x, F32(2))) == (-2 if p else 2)


def test_a_known_predicate_leaves_only_the_chosen_branch_in_the_program():
    closed = program(lambda x: cond(True, lax.sin, lax.cos, x), F32(0))
    assert names(closed) == ["sin"]


@pytest.mark.parametrize(("index", "taken"), [(-5, 0), (0, 0), (1, 1), (2, 2), (9, 2)])
def test_switch_clamps_its_index(index, taken):
    branches = [lambda x, k=k: lax.add(x, F32(k)) for k in range(3)]
    assert float(switch(I32(index), branches, F32(10))) == 10 + taken
    assert float(staged(lambda i, x: switch(i, branches, x), I32(0), F32(0))(I32(index), F32(10))[0]) == 10 + taken


@pytest.mark.parametrize("dtype", [np.uint8, np.int64, np.uint32])
def test_switch_takes_any_integer(dtype):
    assert float(switch(dtype(1), [lax.neg, lax.abs], F32(-3))) == 3


def test_switch_with_one_branch_just_calls_it():
    assert names(program(lambda i, x: switch(i, [lax.sin], x), I32(0), F32(0))) == ["sin"]


def test_pytrees_and_closures():
    a = np.arange(3, dtype=F32)

    def fun(p, x):
        out = cond(p, lambda d: {"r": (lax.add(d["x"], a), d["n"])}, lambda d: {"r": (a, I32(0))}, {"x": x, "n": I32(7)})
        return out["r"]

    run = staged(fun, np.True_, a)
    for p in (np.True_, np.False_):
        got = [np.asarray(o).tolist() for o in run(p, 2 * a)]
        assert got == [[np.asarray(o).tolist() for o in fun(p, 2 * a)]][0]
        assert got == ([[0, 3, 6], 7] if p else [[0, 1, 2], 0])


def test_operand_keyword_and_predicate_by_number():
    assert float(cond(True, lambda x: lax.add(x, x), lambda x: x, operand=F32(2))) == 4
    assert cond(True, lambda x: 1, lambda x: 2, operand=None).dtype == I32
    with pytest.raises(TypeError, match="'operand' keyword"):
        cond(True, lambda x: x, lambda x: x, 1.0, operand=2.0)


def test_results_are_weakly_typed_only_if_all_branches_say_so():
    assert not cond(True, lambda x: 2.0, lambda x: x, F32(1)).weak_type
    assert cond(True, lambda: 2.0, lambda: 3.0).weak_type
    closed = program(lambda p, x: cond(p, lambda x: 2.0, lambda x: x, x), np.True_, F32(1))
    assert not closed.out_avals[0].weak_type


def test_only_one_branch_runs():
    # The branch that is not taken would loop for ever if it ran.
    from numjet.control import while_loop

    forever = lambda x: while_loop(lambda c: lax.eq(c, c), lambda c: c, x)
    run = staged(lambda p, x: cond(p, forever, lax.neg, x), np.True_, F32(0))
    assert float(run(np.False_, F32(3))[0]) == -3


# -------------------------------------------------------------------------------------------------------- derivatives


@pytest.mark.parametrize("p", [True, False])
@pytest.mark.parametrize("known", [True, False])
def test_derivatives(x64, p, known):
    run = staged(pick, np.True_, np.float64(0), np.float64(0))
    check_derivatives((lambda x, y: pick(p, x, y)) if known else (lambda x, y: run(np.bool_(p), x, y)), [0.4, 1.3])


@pytest.mark.parametrize("i", [0, 1, 2])
def test_derivatives_of_switch_in_a_program(x64, i):
    check_derivatives(staged(lambda x, y: pick3(i, x, y), np.float64(0), np.float64(0)), [0.4, 1.3])
    run = staged(pick3, I32(0), np.float64(0), np.float64(0))
    check_derivatives(lambda x, y: run(I32(i), x, y), [0.4, 1.3])


def test_predicate_that_depends_on_what_is_differentiated(x64):
    fun = lambda x: cond(lax.gt(x, np.float64(0)), lambda x: lax.mul(x, lax.sin(x)), lambda x: lax.mul(x, x), x)
    for x in (0.7, -0.7):
        check_derivatives(fun, [x])
        check_derivatives(staged(fun, np.float64(0)), [x])


def test_branches_of_which_one_ignores_the_operand(x64):
    run = staged(lambda p, x: cond(p, lambda x: np.float64(3), lax.sin, x), np.True_, np.float64(0))
    for p in (np.True_, np.False_):
        check_derivatives(lambda x, p=p: run(p, x), [0.4])


def test_residuals_of_branches_share_places():
    closed = program(lambda p, x, y: grad(lambda x, y: pick(p, x, y))(x, y), np.True_, np.ones(5, F32), np.ones(5, F32))
    forward = equation(closed, "cond")
    extra = [v for v in forward.outvars if v.aval.shape == (5,)]
    # sin: cos(x y), (x and y are operands); exp: exp(x), y y, ... : at most the larger of both, not the sum.
    assert len(extra) - 1 <= 3
    assert "exp" not in names(equation(closed, "cond", 1).params["branches"][0])


def test_unused_results_and_operands_are_dropped():
    def fun(p, x, y):
        return cond(p, lambda x, y: (lax.sin(x), lax.exp(y)), lambda x, y: (x, y), x, y)[0]

    thin, used = dce_jaxpr(program(fun, np.True_, F32(0), F32(0)).jaxpr)
    assert used == [True, True, False]
    assert "exp" not in names(thin) and len(thin.eqns[-1].outvars) == 1


# ------------------------------------------------------------------------------------------------------------ batches


def test_batches(x64, rng):
    args = [rng.uniform(size=3), rng.uniform(size=3)]
    for p in (np.True_, np.False_):
        run = staged(pick, p, *[a[0] for a in args])
        check_vmap(lambda x, y, p=p, run=run: run(p, x, y), args)


def test_batched_predicates_become_a_select(x64, rng):
    run = staged(pick, np.True_, np.float64(0), np.float64(0))
    check_vmap(run, [np.array([True, False, True]), rng.uniform(size=3), rng.uniform(size=3)])


def test_batched_switch(x64, rng):
    run = staged(pick3, I32(0), np.zeros(2), np.zeros(2))
    check_vmap(run, [np.array([2, 7, -1], I32), rng.uniform(size=(3, 2)), rng.uniform(size=(3, 2))])


def test_batches_of_gradients(x64, rng):
    run = staged(pick, np.True_, np.float64(0), np.float64(0))
    check_vmap(lambda p, x, y: grad(lambda x, y: run(p, x, y))(x, y),
               [np.array([True, False, True]), rng.uniform(size=3), rng.uniform(size=3)])


def test_gradient_of_a_batch_ignores_infinite_derivatives_of_the_other_branch():
    def root(x):
        return cond(lax.gt(x, F32(0)), lax.sqrt, lambda x: lax.mul(x, F32(0)), x)

    out = grad(lambda xs: vmap_tracers(root, xs))(np.array([4.0, 0.0], F32))[0]
    np.testing.assert_allclose(np.asarray(out), [0.25, 0.0])


def vmap_tracers(fun, xs):
    from numjet.transforms.vmap import batch_flat

    return batch_flat(lambda x: [fun(x)], 2, [xs], [0])[0][0]


def test_no_batch_for_branches_that_ignore_it(x64):
    out = vmap(lambda x: cond(True, lambda x: np.float64(3), lambda x: np.float64(4), x), [np.zeros(2)], [0], 2)
    assert out[0].tolist() == [3, 3]


# ------------------------------------------------------------------------------------------------------------- errors


def test_branches_of_different_dtypes():
    def to_int(x):
        return {"a": (x, lax.convert_element_type(x, I32))}

    with pytest.raises(TypeError) as e:
        cond(True, lambda x: {"a": (x, x)}, to_int, np.ones(2, F32))
    text = str(e.value)
    assert "cond branches must have equal output types but they differ" in text
    assert "The output of true_fun at path ['a'][1] has type float32[2]" in text
    assert "output of false_fun has type int32[2], so the dtypes do not match" in text
    assert f"false_fun is to_int at {__file__}:" in text


def test_branches_of_different_shapes_and_structures():
    with pytest.raises(TypeError, match="so the shapes do not match"):
        cond(False, lambda x: x, lambda x: lax.reshape(x, (1, 2)), np.ones(2, F32))
    with pytest.raises(TypeError, match=r"same pytree structure(.|\n)*true_fun output at path \['a'\] is a <class 'tuple'>"):
        cond(True, lambda x: {"a": (x, x)}, lambda x: {"a": x}, F32(1))
    with pytest.raises(TypeError, match=r"branch2 output is a <class 'list'>"):
        switch(0, [lambda x: x, lambda x: x, lambda x: [x]], F32(1))


@pytest.mark.parametrize(("pred", "text"), [(np.array([True, False]), r"Pred must be a scalar, got .* of shape \(2,\)"),
                                            ("a", "Pred must be a scalar, got a of type <class"),
                                            (None, "cond predicate is None"),
                                            (abs, "Pred type must be either boolean or number, got <built-in function abs>"),
                                            (1j, "Pred type must be either boolean or number")])
def test_bad_predicates(pred, text):
    with pytest.raises(TypeError, match=text):
        cond(pred, lambda x: x, lambda x: x, 1.0)


@pytest.mark.parametrize(("index", "error", "text"), [
    (0.5, TypeError, "Index type must be an integer, got 0.5 as float32"),
    (np.arange(2), TypeError, r"Branch index must be scalar, got \[0 1\] of shape \(2,\)"),
    ("a", TypeError, "Index type must be an integer, got a. It is a str"),
    ((1.0, 1.0), TypeError, r"Branch index must be scalar, got \(1.0, 1.0\) of shape \(2,\)"),
    (abs, TypeError, "Index type must be an integer, got <built-in function abs>")])
def test_bad_indices(index, error, text):
    with pytest.raises(error, match=text):
        switch(index, [lax.sin, lax.cos], 1.0)


def test_bad_branches():
    with pytest.raises(ValueError, match="Empty branch sequence"):
        switch(0, [], 1.0)
    with pytest.raises(TypeError, match="true_fun and false_fun arguments should be callable"):
        cond(True, None, lambda x: x, 1.0)
    with pytest.raises(TypeError, match="sequence of callables"):
        switch(0, [lax.sin, 3], 1.0)


def test_disable_jit_calls_one_function():
    called = []
    with disable_jit():
        cond(True, lambda: called.append("t"), lambda: called.append("f"))
        switch(1, [lambda: called.append(0), lambda: called.append(1)])
    assert called == ["t", 1]


def test_the_program_has_the_form_of_jax():
    closed = trace_to_closed(lambda p, x: [cond(p, lax.sin, lax.cos, x)],
                             [ShapedArray((), np.dtype(bool)), ShapedArray((), np.dtype(F32))])
    assert names(closed, inner=False) == ["convert_element_type", "cond"]
    assert [names(b) for b in equation(closed, "cond").params["branches"]] == [["cos"], ["sin"]]


def test_an_operand_for_each_function():
    for p in (True, False):
        f = lambda p: cond(p, (1.0, 2.0), lambda t: t[1] * 10, {"a": 5.0}, lambda d: d["a"])
        assert float(f(p)) == float(nj.jit(f)(p)) == (20.0 if p else 5.0)


def test_weak_types_are_those_of_the_first_branch():
    weak, strong = lambda: 1.0, lambda: np.float32(2)
    for branches, expected in (((weak, strong), True), ((strong, weak), False), ((strong, weak, weak), False)):
        assert nj.jit(lambda i, branches=branches: switch(i, branches))(1).weak_type is expected
        assert switch(1, branches).weak_type is expected


def test_results_that_every_branch_passes_through_do_not_depend_on_the_index():
    def f(p, a, b):
        return cond(p > 0, lambda a, b: (a, b + 1, a, b), lambda a, b: (a, b - 1, b, b), a, b)

    passed, chosen, mixed, shared = nj.vmap(f, (0, None, None), (None, 0, 0, None))(np.arange(3), F32(1), 2.0)
    assert (passed, shared.shape) == (1, ()) and shared.weak_type and isinstance(shared, nj.Array)
    assert chosen.tolist() == [1, 3, 3] and mixed.tolist() == [2, 1, 1]
    closed = trace_to_closed(lambda p, a, b: list(f(p, a, b)), [ShapedArray((), np.dtype(F32))] * 3)
    assert [len(b.jaxpr.outvars) for b in equation(closed, "cond").params["branches"]] == [2, 2]
    assert closed.jaxpr.outvars[0] is closed.jaxpr.invars[1]
    with pytest.raises(ValueError, match="out_axes"):
        nj.vmap(f, (0, None, None), (None, 0, None, None))(np.arange(3), F32(1), 2.0)


def test_branches_that_only_pass_values_through():
    f = nj.jit(lambda i, x, y: switch(i, [lambda x, y: (y, x)] * 3, x, y))
    assert f(1, 2.0, 3.0) == (3.0, 2.0)
    assert nj.grad(lambda x: f(1, x, 3.0)[1])(2.0) == 1


@pytest.mark.parametrize("operand", [True, 1, 1.0, 1j, F32(1), np.ones(2), (1.0, {"a": 2})], ids=str)
def test_results_of_known_branches_are_arrays(operand):
    """A branch that returns its operand: a Python number or NumPy's becomes an array, of the type that jit gives."""
    for choose in (lambda x: switch(0, [lambda x: x, lambda x: x], x), lambda x: cond(True, lambda x: x, lambda x: x, x)):
        got, want = nj.tree.leaves(choose(operand)), nj.tree.leaves(nj.jit(choose)(operand))
        assert all(isinstance(x, nj.Array) for x in got)
        assert [(nj.typeof(x), x.tolist()) for x in got] == [(nj.typeof(x), x.tolist()) for x in want]


class Callable:
    """A pytree that can be called."""

    def __init__(self, x):
        self.x = x

    def __call__(self):
        raise AssertionError


nj.tree_util.register_pytree_node(Callable, lambda c: ((c.x,), None), lambda _, xs: Callable(*xs))


def test_operands_may_be_callable():
    functions = lambda a, b: a + getattr(b, "x", b), lambda a, b: a - getattr(b, "x", b)
    assert cond(True, *functions, 3, Callable(4)) == 7 and cond(False, *functions, 3, Callable(4)) == -1
    assert cond(True, 3, lambda a: a, Callable(4), lambda b: b.x) == 3


def test_branches_of_a_changed_program_are_checked():
    made = nj.make_jaxpr(lambda i, x: switch(i, [nj.numpy.sin, nj.numpy.cos], x))(0, 1.0)
    (eqn,) = [e for e in made.jaxpr.eqns if e.primitive.name == "cond"]
    eqn.params["branches"] = (4, 2)
    with pytest.raises(nj.errors.JaxprTypeError, match=r"invalid cond param branches of type tuple, tuple of ClosedJaxpr"):
        check_jaxpr(made)


def test_a_function_of_several_branches_is_traced_once():
    calls = []

    def square(x):
        calls.append(x)
        return x ** 2
    assert float(lax.cond(True, square, square, 3.0)) == 9.0 and len(calls) == 1
    calls.clear()
    assert float(nj.jit(lambda i, x: lax.switch(i, [lax.sin, square, square, lax.neg, square], x))(2, 3.0)) == 9.0
    assert len(calls) == 1
