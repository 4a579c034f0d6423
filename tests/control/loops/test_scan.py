"""scan and map: values against Python loops, derivatives, batches, what is stored for the backward pass, errors."""

from __future__ import annotations

import functools
from typing import NamedTuple

import numpy as np
import pytest

import numjet as nj
import numjet.numpy as jnp
from numjet import lax
from numjet.control import map as lax_map, scan
from numjet.core.aval import ShapedArray
from numjet.core.check import check_jaxpr
from numjet.core.stage import trace_to_closed
from numjet.core.trace import aval_of
from numjet.foundation import dtypes, errors
from numjet.foundation.config import disable_jit
from numjet.transforms.dce import dce_jaxpr
from tests.control.calculus import (
    check_derivatives,
    check_vmap,
    equation,
    grad,
    names,
    program,
    staged,
    vjp,
)

X = np.array([0.3, -0.2, 0.9, 0.5])


def recurrence(a, c, x):
    """Carry, stacked results and a constant, all nonlinear."""

    def body(carry, s):
        new = lax.sin(lax.add(lax.mul(carry, s), a))
        return new, lax.mul(carry, lax.exp(s))

    return scan(body, c, x)


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("unroll", [1, 3, True])
def test_values_are_those_of_a_python_loop(reverse, unroll):
    x = X.astype(np.float32)
    carry, want = 2.0, []
    for s in x[::-1] if reverse else x:
        want.append(carry + s)
        carry = carry * s
    got, ys = scan(lambda c, s: (lax.mul(c, s), lax.add(c, s)), np.float32(2), x, reverse=reverse, unroll=unroll)
    np.testing.assert_allclose(np.asarray(got), carry, rtol=1e-6)
    np.testing.assert_allclose(np.asarray(ys), want[::-1] if reverse else want, rtol=1e-6)


def test_pytrees_of_several_dtypes():
    init = {"n": np.int32(0), "z": (np.zeros(2, np.float32), np.array(True))}
    xs = [np.arange(6, dtype=np.float32).reshape(3, 2), np.array([True, False, True])]

    def body(c, x):
        flag = lax.bitwise_and(c["z"][1], x[1])
        return {"n": lax.add(c["n"], np.int32(2)), "z": (lax.add(c["z"][0], x[0]), flag)}, {"n": c["n"], "x": x[0]}

    last, ys = scan(body, init, xs)
    assert int(last["n"]) == 6 and not bool(last["z"][1])
    np.testing.assert_array_equal(np.asarray(last["z"][0]), [6, 9])
    np.testing.assert_array_equal(np.asarray(ys["n"]), [0, 2, 4])
    assert ys["n"].dtype == np.int32
    np.testing.assert_array_equal(np.asarray(ys["x"]), xs[0])


def test_no_inputs_and_no_results():
    last, ys = scan(lambda c, _: (lax.mul(c, np.float32(2)), None), np.float32(1), None, length=5)
    assert float(last) == 32 and ys is None


def test_length_zero_returns_the_carry_and_empty_results():
    last, ys = scan(lambda c, x: (lax.add(c, x), x), np.float32(7), np.zeros((0,), np.float32))
    assert float(last) == 7 and ys.shape == (0,) and ys.dtype == np.float32


def test_a_negative_length_is_refused():
    with pytest.raises(ValueError, match="negative `length`: -3"):
        scan(lambda c, _: (c, None), np.float32(7), None, length=-3)


def test_a_traced_unroll_is_refused():
    with pytest.raises(errors.ConcretizationTypeError, match="`unroll` argument to `scan`"):
        nj.jit(lambda n: scan(lambda c, _: (c, None), np.float32(7), None, length=3, unroll=n))(2)


def test_weakly_typed_initial_values_take_the_dtype_of_the_loop():
    half = np.ones(3, np.float16)
    assert scan(lambda c, x: (lax.add(x, x), None), 0, half)[0].dtype == np.float16
    out = scan(lambda c, x: ({"a": x, "b": c["b"]}, None), {"a": 0, "b": 1}, np.ones(3, np.float32))[0]
    assert out["a"].dtype == np.float32 and out["b"].dtype == np.int32 and out["b"].weak_type


def test_promotion_goes_on_until_nothing_changes():
    body = lambda c, x: ((c[1], c[2], lax.add(x, x)), None)
    out = scan(body, (0, 0, 0), np.ones(4, np.float32))[0]
    assert [o.dtype for o in out] == [np.float32] * 3
    assert [float(o) for o in out] == [2, 2, 2]


def test_results_that_are_constants():
    last, ys = scan(lambda c, x: (2.0, 3), np.float32(0), np.ones(3, np.float32))
    assert float(last) == 2 and np.asarray(ys).tolist() == [3, 3, 3] and ys.dtype == np.int32


# -------------------------------------------------------------------------------------------------------- derivatives


def test_derivatives(x64):
    check_derivatives(recurrence, [0.4, 0.7, X])


def test_derivatives_of_a_staged_scan(x64):
    args = [np.float64(0.4), np.float64(0.7), X]
    check_derivatives(staged(lambda *a: list(recurrence(*a)), *args), args)


def test_derivatives_backwards_with_several_carries(x64):
    w = np.array([[0.2, -0.5], [0.7, 0.1]])

    def fun(w, h, x):
        def body(carry, s):
            h, n = carry
            h = lax.tanh(lax.add(lax.dot(w, h), s))
            return (h, lax.add(n, np.int64(1))), lax.mul(h, lax.convert_element_type(n, np.float64))

        (h, _), ys = scan(body, (h, np.int64(0)), x, reverse=True)
        return h, ys

    check_derivatives(fun, [w, np.array([0.1, 0.3]), np.random.default_rng(1).uniform(-1, 1, (4, 2))])


def test_nested_scans(x64):
    def fun(a, x):
        inner = lambda c, s: (lax.mul(lax.sin(c), lax.add(s, a)), c)
        outer = lambda c, s: (lambda r: (r[0], lax.reduce_sum(r[1], axes=(0,))))(scan(inner, c, s))
        return scan(outer, a, x)

    check_derivatives(fun, [0.6, X.reshape(2, 2)])


def test_carry_whose_derivative_becomes_nonzero_later(x64):
    # The first carry starts with a zero tangent and gets one from the second in the second step.
    def fun(x):
        body = lambda c, s: ((lax.mul(c[1], s), lax.sin(lax.mul(c[1], x))), c[0])
        (a, b), ys = scan(body, (np.float64(1), np.float64(0.5)), X)
        return a, b, ys

    check_derivatives(fun, [0.8])


def test_only_some_results_have_cotangents(x64):
    fun = lambda a, c, x: recurrence(a, c, x)[1]
    check_derivatives(fun, [0.4, 0.7, X])


def test_gradient_of_integer_carry_and_inputs_is_not_needed():
    def fun(x):
        body = lambda c, i: (lax.mul(c, lax.add(x, lax.convert_element_type(i, np.float32))), i)
        return scan(body, np.float32(1), np.arange(1, 4, dtype=np.int32))[0]

    x = np.float32(0.5)
    assert float(fun(x)) == 1.5 * 2.5 * 3.5
    np.testing.assert_allclose(np.asarray(grad(fun)(x)[0]), 2.5 * 3.5 + 1.5 * 3.5 + 1.5 * 2.5, rtol=1e-6)


def test_transposing_a_scan_with_a_counter_that_is_not_linear():
    # The program is linear in x, and its counter is computed beside it.
    def fun(x):
        body = lambda c, _: ((lax.add(c[0], np.float32(1)), lax.mul(c[1], lax.add(c[0], np.float32(2)))), c[1])
        (_, last), ys = scan(body, (np.float32(0), x), None, length=3)
        return last, ys

    closed = program(fun, np.float32(0))
    from numjet.core.op import Undefined
    from numjet.transforms.transpose import backward_pass

    cts = [np.float32(10), np.ones(3, np.float32)]
    (ct,) = backward_pass(closed.jaxpr, closed.consts, [Undefined(aval_of(np.float32(0)))], cts)
    assert float(ct) == 10 * 2 * 3 * 4 + 1 + 2 + 6


def test_batches(x64, rng):
    check_vmap(recurrence, [rng.uniform(size=3), rng.uniform(size=3), rng.uniform(size=(3, 4))])


def test_batches_of_gradients(x64, rng):
    check_vmap(grad(lambda *a: list(recurrence(*a))), [rng.uniform(size=3), rng.uniform(size=3), rng.uniform(size=(3, 4))])


def test_gradient_of_a_batch(x64, rng):
    from numjet.transforms.vmap import batch_flat

    def fun(a, c, x):
        return batch_flat(lambda *args: list(recurrence(*args)), 3, [a, c, x], [None, 0, 1])[0]

    check_derivatives(fun, [0.4, rng.uniform(size=3), rng.uniform(size=(4, 3))])


# ----------------------------------------------------------------------------------------------------------- programs


def test_the_program_is_one_equation_with_the_parameters_of_jax():
    closed = program(lambda c, x: scan(lambda c, s: (lax.mul(c, s), c), c, x), np.float32(0), np.ones(4, np.float32))
    (eqn,) = closed.jaxpr.eqns
    assert eqn.primitive.name == "scan"
    params = {k: v for k, v in eqn.params.items() if k != "jaxpr"}
    assert params == {"reverse": False, "length": 4, "num_consts": 0, "num_carry": 1, "unroll": 1}
    assert names(eqn.params["jaxpr"]) == ["mul"]


def test_closed_over_values_become_operands():
    def fun(a, x):
        return scan(lambda c, s: (lax.add(lax.mul(c, a), s), None), np.float32(0), x)[0]

    (eqn,) = program(fun, np.float32(2), np.ones(3, np.float32)).jaxpr.eqns
    assert eqn.params["num_consts"] == 1 and not eqn.params["jaxpr"].consts


def _gradient_scans(fun, *args):
    """The forward and the backward scan of a gradient."""
    closed = program(grad(fun), *args)
    return equation(closed, "scan", 0), equation(closed, "scan", 1)


def test_loop_invariant_residuals_are_computed_once():
    def fun(w, c, x):
        return scan(lambda c, s: (lax.mul(lax.mul(c, lax.exp(w)), s), None), c, x)[0]

    _forward, backward = _gradient_scans(fun, np.float32(1), np.float32(1), np.ones(5, np.float32))
    stacked = [v.aval.shape for v in backward.invars if v.aval.shape]
    # What varies: the slices, and c * exp(w), c and the like; exp(w) itself is a constant of the backward scan.
    assert backward.params["num_consts"] >= 1
    assert all(s == (5,) for s in stacked)
    assert "exp" not in names(backward.params["jaxpr"])


def test_inputs_needed_in_the_backward_pass_are_not_stacked_again():
    def fun(c, x):
        return scan(lambda c, s: (lax.mul(c, lax.sin(s)), None), c, x)[0]

    forward, _backward = _gradient_scans(lambda c: fun(c, np.ones(5, np.float32)), np.float32(1))
    assert len(forward.outvars) == 2  # the carry, and sin(s)


def test_a_result_that_is_also_a_residual_is_stacked_once():
    def fun(c, x):
        def body(c, s):
            y = lax.exp(lax.mul(c, s))
            return y, y

        return total_of(scan(body, c, x))

    def total_of(pair):
        return lax.add(pair[0], lax.reduce_sum(pair[1], axes=(0,)))

    forward, _ = _gradient_scans(lambda c: fun(c, np.ones(5, np.float32)), np.float32(1))
    # Results: the carry, and y; the residual exp(...) is y.
    assert len(forward.outvars) == 2


def test_dead_carries_and_results_are_dropped():
    def fun(x):
        body = lambda c, s: ((lax.add(c[0], s), lax.mul(c[1], s)), (c[0], lax.sin(c[1])))
        (a, _), (ys, _) = scan(body, (np.float32(0), np.float32(1)), x)
        return a, ys

    closed = program(fun, np.ones(4, np.float32))
    thin, used = dce_jaxpr(closed.jaxpr)
    eqn = thin.eqns[0]
    assert used == [True] and eqn.params["num_carry"] == 1 and len(eqn.outvars) == 2
    assert names(eqn.params["jaxpr"]) == ["add"]


def test_a_carry_that_another_needs_is_kept():
    body = lambda c, s: ((lax.add(c[0], c[1]), lax.mul(c[1], s)), None)
    closed = program(lambda x: scan(body, (np.float32(0), np.float32(1)), x)[0][0], np.ones(4, np.float32))
    thin, _ = dce_jaxpr(closed.jaxpr)
    assert thin.eqns[0].params["num_carry"] == 2


def test_disable_jit_runs_the_body_in_python():
    seen = []

    def body(c, s):
        seen.append(float(s))
        return lax.add(c, s), c

    with disable_jit():
        last, ys = scan(body, np.float32(1), np.arange(3, dtype=np.float32), reverse=True)
    assert seen == [2, 1, 0] and float(last) == 4 and np.asarray(ys).tolist() == [4, 3, 1]


# ------------------------------------------------------------------------------------------------------------- errors


def test_carry_of_another_shape_names_path_and_types():
    def body(carry, x):
        return {"a": carry["a"], "b": lax.concatenate([carry["b"], carry["b"]], 0)}, x

    with pytest.raises(TypeError) as e:
        scan(body, {"a": 1.0, "b": np.ones(3, np.float32)}, np.ones(2, np.float32))
    text = str(e.value)
    assert "scan body function carry input and carry output must have equal types" in text
    assert "carry['b'] has type float32[3]" in text and "float32[6]" in text and "shapes do not match" in text


def test_carry_of_another_dtype():
    with pytest.raises(TypeError, match=r"The input carry c has type int32\[\] .* float32\[\], so the dtypes do not match"):
        scan(lambda c, x: (x, None), np.int32(0), np.ones(2, np.float32))


def test_carry_of_another_structure():
    with pytest.raises(TypeError, match=r"same pytree structure(.|\n)*c\['a'\] is a pytree leaf .* <class 'tuple'>"):
        scan(lambda c, x: ({"a": (c["a"], x)}, None), {"a": np.float32(0)}, np.ones(2, np.float32))


@pytest.mark.parametrize("body", [lambda c, x: c, lambda c, x: (c, c, c), lambda c, x: {"c": c, "y": c}])
def test_body_without_a_pair(body):
    with pytest.raises(TypeError, match=r"scan body output must be a pair, got .*float32\[\]"):
        scan(body, np.float32(0), np.ones(2, np.float32))


def test_different_lengths_list_all_shapes():
    with pytest.raises(ValueError) as e:
        scan(lambda c, x: (c, None), 0.0, {"a": np.ones(3), "b": np.ones((2, 5))})
    assert "different leading axis sizes: 3, 2" in str(e.value)
    assert "xs['a'] float32[3]" in str(e.value) and "xs['b'] float32[2,5]" in str(e.value)


def test_length_that_disagrees():
    with pytest.raises(ValueError, match=r"`length` argument of 4 which disagrees with leading axis sizes \[3\]"):
        scan(lambda c, x: (c, None), 0.0, np.ones(3), length=4)


def test_no_length():
    with pytest.raises(ValueError, match="no values to scan over and `length` not provided"):
        scan(lambda c, x: (c, None), 0.0, None)


def test_scalar_input():
    with pytest.raises(ValueError, match=r"no leading axis to scan over: 1\.5"):
        scan(lambda c, x: (c, None), 0.0, 1.5)


def test_input_that_is_no_array():
    with pytest.raises(TypeError, match="abc"):
        scan(lambda c, x: (c, None), 0.0, "abc")


def test_traced_length():
    def fun(n):
        return [scan(lambda c, x: (c, None), 0.0, None, length=n)[0]]

    with pytest.raises(errors.ConcretizationTypeError, match="The `length` argument to `scan` expects a concrete `int`"):
        trace_to_closed(fun, [ShapedArray((), np.dtype("int32"))])


@pytest.mark.parametrize("unroll", [-1, 1.5, "all"])
def test_bad_unroll(unroll):
    with pytest.raises(ValueError, match="`unroll` must be a `bool` or a non-negative `int`"):
        scan(lambda c, x: (c, None), 0.0, np.ones(3), unroll=unroll)


def test_not_callable():
    with pytest.raises(TypeError, match="f argument should be a callable"):
        scan(3, 0.0, np.ones(3))


# ---------------------------------------------------------------------------------------------------------------- map


@pytest.mark.parametrize("batch_size", [None, 1, 2, 3, 7, 100])
def test_map(batch_size):
    xs = {"a": np.arange(7, dtype=np.float32), "b": np.arange(14, dtype=np.float32).reshape(7, 2)}
    out = lax_map(lambda x: [lax.mul(x["a"], x["a"]), lax.mul(x["a"], x["b"])], xs, batch_size=batch_size)
    np.testing.assert_array_equal(np.asarray(out[0]), np.arange(7.0) ** 2)
    np.testing.assert_array_equal(np.asarray(out[1]), np.arange(7.0)[:, None] * xs["b"])


def test_map_of_nothing():
    assert lax_map(lax.sin, np.zeros((0, 3), np.float32), batch_size=4).shape == (0, 3)


def test_map_derivatives(x64):
    check_derivatives(lambda a, x: lax_map(lambda s: lax.sin(lax.mul(s, a)), x, batch_size=3), [0.7, X])


def test_map_with_a_bad_batch_size():
    with pytest.raises(ValueError, match="batch_size must not be negative"):
        lax_map(lax.sin, np.ones(3, np.float32), batch_size=-1)
    assert lax_map(lax.sin, np.ones(3, np.float32), batch_size=0).shape == (3,)


def test_float0_and_key_dtypes_pass_through():
    keys = np.zeros(3, dtypes.key_dtype)
    _, ys = scan(lambda c, k: (c, k), np.float32(0), keys)
    assert ys.dtype == dtypes.key_dtype and ys.shape == (3,)


def test_vjp_for_a_scan_without_steps(x64):
    out = vjp(lambda a, c, x: recurrence(a, c, x)[0], [0.4, 0.7, np.zeros(0)], [np.float64(3)])
    assert [np.asarray(o).tolist() for o in out] == [0.0, 3.0, []]


class _Step:
    """A body that is an object: equal to itself alone, unlike a frozen dataclass."""

    def __init__(self, factor):
        self.factor, self.traces = factor, 0

    def __call__(self, c, x):
        self.traces += 1
        return c * self.factor + x, None


def test_bodies_that_are_objects_are_traced_once_until_what_they_hold_changes():
    step, xs = _Step(2.0), jnp.arange(3.0)
    assert [float(lax.scan(step, 1.0, xs)[0]) for _ in range(3)] == [12.0] * 3 and step.traces == 1
    step.factor = 3.0
    assert float(lax.scan(step, 1.0, xs)[0]) == 32.0 and step.traces == 2
    step.factor = [3.0]  # a list may change unseen
    step.__class__ = type("Indexed", (_Step,), {"__call__": lambda self, c, x: (c * self.factor[0] + x, None)})
    assert float(lax.scan(step, 1.0, xs)[0]) == 32.0
    step.factor[0] = 2.0
    assert float(lax.scan(step, 1.0, xs)[0]) == 12.0


def test_partial_bodies_are_traced_once():
    count = 0

    def scaled(factor, c, x):
        nonlocal count
        count += 1
        return c * factor + x, None

    twice = functools.partial(scaled, 2.0)
    assert [float(lax.scan(twice, 1.0, jnp.arange(3.0))[0]) for _ in range(2)] == [12.0, 12.0] and count == 1


def test_unchanged_carries_are_constants_and_slices_that_are_returned_are_the_operand():
    def run(xs, c, k):
        body = lambda c, x: ((c[0] + c[1], c[1], c[3], c[2]), (x[0], c[1], k, x[1] * 2, c[0]))
        return scan(body, c, xs)

    args = (np.arange(3, dtype=np.float32), np.ones(3, np.float32)), (1.0, 2.0, 3.0, 4.0), np.float32(7)
    made = nj.make_jaxpr(run)(*args)
    (eqn,) = made.jaxpr.eqns
    assert (eqn.params["num_consts"], eqn.params["num_carry"], len(eqn.outvars)) == (2, 3, 7)
    carry, ys = run(*args)
    assert [float(c) for c in carry] == [7.0, 2.0, 4.0, 3.0]
    assert [y.tolist() for y in ys] == [[0, 1, 2], [2] * 3, [7] * 3, [2] * 3, [1, 3, 5]]
    assert all(isinstance(y, nj.Array) for y in nj.tree.leaves((carry, ys)))


def test_vmap_leaves_carries_alone_that_no_step_changes():
    def run(x, y):
        own = lambda _, y: scan(lambda y, _: (y, None), y, None, length=1)[0]
        return lax.cond(x < 0, own, own, x, y)

    assert nj.vmap(run, (0, None), None)(np.arange(3.0), 3.0) == 3.0


@pytest.mark.parametrize(("unroll", "sines", "loops"), [(1, 1, 1), (2, 3, 1), (True, 5, 0)])
@pytest.mark.parametrize("reverse", [False, True])
def test_unrolled_loops_in_stablehlo(unroll, sines, loops, reverse):
    step = lambda c, x: (lax.sin(c + x), c)
    run = lambda c, xs: scan(step, c, xs, unroll=unroll, reverse=reverse)
    text = nj.jit(run).lower(1.0, np.ones(5, np.float32)).as_text()
    assert text.count("stablehlo.sine") == sines and text.count("stablehlo.while") == loops


@pytest.mark.parametrize(("name", "value", "text"), [
    ("reverse", 4, "invalid scan param reverse of type int, bool required: 4"),
    ("num_consts", -3, "invalid scan param num_consts of type int, non-negative int required: -3")])
def test_parameters_of_a_changed_program_are_checked(name, value, text):
    made = nj.make_jaxpr(lambda c, xs: scan(lambda c, x: (c + x, c), c, xs))(1.0, np.ones(5, np.float32))
    made.jaxpr.eqns[0].params[name] = value
    with pytest.raises(errors.JaxprTypeError, match=text):
        check_jaxpr(made)


class Pair(NamedTuple):
    carry: object
    y: object


@pytest.mark.parametrize("pair", [lambda c, y: [c, y], Pair])
def test_the_pair_may_be_a_list_or_a_namedtuple(pair):
    """And so is the result; of transformed loops, too."""
    run = lambda c: scan(lambda c, x: pair(c * x, c), c, np.arange(1, 4, dtype=np.float32))
    for transform in (lambda f: f, nj.jit, nj.checkpoint):
        carry, ys = found = transform(run)(np.float32(2))
        assert type(found) is type(pair(0, 0)) and carry == 12 and ys.tolist() == [2, 2, 4]
    assert nj.grad(lambda c: run(c)[0])(np.float32(2)) == 6


def test_values_without_an_axis_to_scan_over_are_all_named():
    with pytest.raises(ValueError, match=r"no leading axis to scan over: 0, 2\.5\."):
        scan(lambda c, x: (c, x), 0, [0, np.ones(2), 2.5])


@pytest.mark.parametrize("dtype", ["int8", "uint32"])
def test_a_weak_carry_that_meets_another_type_is_strong_from_the_start(dtype):
    """Its dtype stays; what other carries get from it is strong, too."""
    carry, _ = scan(lambda c, x: ((c[1], c[0] + x), None), (0, 0.0), np.ones(5, dtype))
    assert [aval_of(x) for x in carry] == [ShapedArray((), np.dtype(np.float32))] * 2


def test_wrong_lengths_of_references_are_named():
    with pytest.raises(ValueError, match=r"length` argument of 1 which disagrees with .* \[7\]: xs float32\[7\]"):
        scan(lambda c, x: (c, None), 0, nj.new_ref(jnp.zeros(7)), length=1)
