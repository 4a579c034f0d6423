"""custom_vjp, custom_gradient, closure_convert: rules under every transformation, and the errors of bad rules."""

from __future__ import annotations

import functools

import numpy as np
import pytest

import numjet as nj
import numjet.numpy as jnp
from numjet import lax
from numjet.control import (
    CustomVJPPrimal,
    SymbolicZero,
    closure_convert,
    cond,
    custom_gradient,
    custom_vjp,
    scan,
)
from numjet.foundation import errors
from tests.control.calculus import check_derivatives, check_vmap, equation, grad, jvp, program, staged

F32 = np.float32
A, B = F32(0.5), F32(2)


def make():
    @custom_vjp
    def f(x, y):
        return lax.mul(lax.sin(x), y)

    def fwd(x, y):
        return f(x, y), (x, y)

    def bwd(res, ct):
        x, y = res
        return lax.mul(lax.mul(ct, lax.cos(x)), y), lax.mul(ct, lax.full_like(ct, 100))

    f.defvjp(fwd, bwd)
    return f


f = make()
SLOPE = np.cos(0.5) * 2


def test_evaluation_runs_python():
    g = custom_vjp(lambda x: lax.neg(x) if x < 0 else x)
    g.defvjp(lambda x: (g(x), None), lambda _, ct: (ct,))
    assert float(g(F32(-2))) == 2 and float(grad(g)(F32(-2))[0]) == 1


@pytest.mark.parametrize("fun", [f, staged(f, A, B), lambda x, y: cond(True, f, lax.mul, x, y)])
def test_the_rule_is_used(fun):
    np.testing.assert_allclose([float(g) for g in grad(fun)(A, B)], [SLOPE, 100], rtol=1e-6)


def test_in_a_scan_and_to_second_order():
    fun = lambda x, y: scan(lambda c, _: (f(c, y), None), x, None, length=2)[0]
    first = np.sin(0.5) * 2
    got = [float(g) for g in grad(fun)(A, B)]
    np.testing.assert_allclose(got, [2 * np.cos(first) * SLOPE, 100 * np.cos(first) * 2 + 100], rtol=1e-5)
    second = grad(lambda x: grad(f)(x, B)[0])(A)[0]
    np.testing.assert_allclose(float(second), -np.sin(0.5) * 2, rtol=1e-5)


def test_true_derivatives(x64):
    g = custom_vjp(lambda d, y: {"r": lax.mul(lax.exp(d["x"]), y), "n": np.int32(3)})
    g.defvjp(lambda d, y: (g(d, y), (lax.exp(d["x"]), y)),
             lambda res, ct: ({"x": lax.mul(lax.mul(ct["r"], res[0]), res[1])}, lax.mul(ct["r"], res[0])))
    fun = lambda x, y: g({"x": x}, y)["r"]
    out = [float(v) for v in grad(fun)(np.float64(0.3), np.float64(0.8))]
    np.testing.assert_allclose(out, [np.exp(0.3) * 0.8, np.exp(0.3)], rtol=1e-12)
    second = grad(lambda x, y: grad(fun)(x, y)[0])(np.float64(0.3), np.float64(0.8))
    np.testing.assert_allclose([float(v) for v in second], [np.exp(0.3) * 0.8, np.exp(0.3)], rtol=1e-12)


@pytest.mark.parametrize("in_program", [False, True])
def test_batches(in_program):
    from numjet.transforms.vmap import batch_flat

    xs, ys = np.array([0.1, 0.2, 0.5], F32), np.array([1, 2, 3], F32)
    fun = staged(f, A, B) if in_program else f
    check_vmap(fun, [xs, ys])
    check_vmap(grad(fun), [xs, ys])
    flat = lambda x, y: out if isinstance(out := fun(x, y), list) else [out]
    got = grad(lambda xs, y: batch_flat(flat, 3, [xs, y], [0, None])[0][0])(xs, B)
    np.testing.assert_allclose(np.asarray(got[0]), np.cos(xs) * 2, rtol=1e-6)
    assert float(got[1]) == 300  # the cotangent of what is not batched is summed


def test_batch_of_a_linearized_program():
    from numjet.transforms.linearize import linearize_flat
    from numjet.transforms.transpose import transpose_flat
    from numjet.transforms.vmap import batch_flat

    def gradient(x, y):
        _, linear = linearize_flat(lambda x, y: [scan(lambda c, _: (f(c, y), None), x, None, length=1)[0]], [x, y])
        return transpose_flat(linear.jaxpr, linear.consts, [F32(1)])

    outs, _ = batch_flat(gradient, 2, [np.array([0.5, 0.1], F32), B], [0, None])
    np.testing.assert_allclose(np.asarray(outs[0]), np.cos([0.5, 0.1]) * 2, rtol=1e-6)


def test_none_and_integers_have_no_cotangent():
    g = custom_vjp(lambda n, d, x: lax.mul(x, d["a"]))
    g.defvjp(lambda n, d, x: (g(n, d, x), d["a"]), lambda a, ct: (None, None, lax.mul(ct, a)))
    got = grad(lambda a, b, x: g(np.int32(2), {"a": a, "b": b}, x))(A, B, F32(3))
    assert [float(v) for v in got] == [0, 0, 0.5]


def test_a_list_is_taken_for_a_tuple_of_cotangents():
    g = custom_vjp(lambda x: x)
    g.defvjp(lambda x: (x, None), lambda _, ct: [lax.mul(ct, F32(3))])
    assert float(grad(g)(A)[0]) == 3


def test_cotangents_of_another_float_dtype_are_converted():
    g = custom_vjp(lambda x: x)
    g.defvjp(lambda x: (x, None), lambda _, ct: (lax.convert_element_type(ct, np.float16),))
    assert grad(g)(A)[0].dtype == F32


def test_nondiff_arguments():
    @functools.partial(custom_vjp, nondiff_argnums=(0, 2))
    def g(fun, x, k):
        return lax.mul(fun(x), F32(k))

    g.defvjp(lambda fun, x, k: (g(fun, x, k), x), lambda fun, k, x, ct: (lax.mul(ct, F32(10 * k)),))
    assert float(grad(lambda x: g(lax.sin, x, 3))(A)[0]) == 30
    with pytest.raises(errors.UnexpectedTracerError, match="nondiff_argnums"):
        grad(lambda k: g(lax.sin, A, k))(B)


def test_symbolic_zeros():
    seen = {}
    g = custom_vjp(lambda x, y: (lax.mul(x, y), lax.add(x, y)))

    def fwd(x, y):
        seen["fwd"] = (type(x), x.perturbed, y.perturbed)
        return g(x.value, y.value), y.value

    def bwd(y, cts):
        seen["bwd"] = [type(c) is SymbolicZero for c in cts]
        return lax.mul(cts[0], y), SymbolicZero(cts[1].aval)

    g.defvjp(fwd, bwd, symbolic_zeros=True)
    assert float(grad(lambda x: g(x, B)[0])(A)[0]) == 2
    assert seen == {"fwd": (CustomVJPPrimal, True, False), "bwd": [False, True]}


def test_the_staged_equation():
    eqn = equation(program(f, A, B), "custom_vjp_call")
    assert eqn.params["name"] == "f" and repr(eqn.params["fwd"]) == "fwd" and repr(eqn.params["bwd"]) == "bwd"


# ----------------------------------------------------------------------------------------------------- forward mode


@pytest.mark.parametrize("fun", [f, nj.jit(f)])
def test_forward_mode_is_the_transpose_of_the_backward_rule(fun):
    out, tangent = nj.jvp(fun, (A, B), (F32(1), F32(1)))
    assert float(out) == pytest.approx(np.sin(A) * B) and float(tangent) == pytest.approx(np.cos(A) * B + 100)
    slope = lambda x: nj.jvp(lambda x: fun(x, B), (x,), (F32(1),))[1]
    for curve in (nj.jvp(slope, (A,), (F32(1),))[1], nj.grad(slope)(A)):
        assert float(curve) == pytest.approx(-np.sin(A) * B)


def test_forward_mode_through_loops_and_batches():
    looped = lambda x, y: scan(lambda c, _: (f(c, y), None), x, None, length=2)[0]
    first, second = np.cos(A) * B, np.cos(np.sin(A) * B) * B
    assert float(jvp(looped, [A, B], [F32(1), F32(0)])[0]) == pytest.approx(first * second)
    xs = np.linspace(-1, 1, 9, dtype=F32)
    got = nj.jit(nj.vmap(lambda x: nj.jvp(lambda x: f(x, B), (x,), (F32(1),))[1]))(xs)
    np.testing.assert_allclose(got, np.cos(xs) * B, rtol=1e-6)
    np.testing.assert_allclose(nj.jacfwd(nj.vmap(f, (0, None)))(xs, B), np.diag(np.cos(xs) * B), rtol=1e-6)


def test_forward_mode_with_arguments_that_have_no_cotangent():
    @custom_vjp
    def taken(table, i):
        return table[i]

    taken.defvjp(lambda table, i: (table[i], (i, table)), lambda res, ct: (jnp.zeros_like(res[1]).at[res[0]].set(ct), None))
    table = jnp.arange(4.0)
    assert float(nj.jvp(lambda t: taken(t, 2), (table,), (table * 10,))[1]) == 20


# ------------------------------------------------------------------------------------------------------------- errors


@pytest.mark.parametrize("bwd", [
    lambda res, ct: (lax.mul(ct, ct), None),  # not linear
    lambda res, ct: (jnp.clip(ct, -1, 1), None),
    lambda res, ct: (nj.pure_callback(lambda c: 2 * c, ct, ct), None),  # no derivative
])
def test_forward_mode_of_rules_that_cannot_be_transposed(bwd):
    g = with_rules(lambda x, y: (lax.mul(x, y), None), bwd)
    assert np.isfinite(float(nj.grad(g)(A, B)))
    for fun in (g, staged(g, A, B), lambda x, y: scan(lambda c, _: (g(c, y), None), x, None, length=2)[0]):
        with pytest.raises(TypeError, match=r"can't apply forward-mode autodiff \(jvp\) to a custom_vjp function.*<lambda>"):
            jvp(fun, [A, B], [F32(1), F32(1)])


def with_rules(fwd, bwd):
    g = custom_vjp(lambda x, y: lax.mul(x, y))
    g.defvjp(fwd, bwd)
    return g


def good(x, y):
    return lax.mul(x, y), None


@pytest.mark.parametrize(("fwd", "bwd", "error", "text"), [
    (good, lambda r, ct: (ct,), TypeError, "must produce a tuple of length equal to the number of arguments"),
    (good, lambda r, ct: ct, TypeError, "must produce an output with the same container"),
    (good, lambda r, ct: (ct, {"a": ct}), TypeError, "must produce an output with the same container"),
    (good, lambda r, ct: (ct, np.ones(2, F32)), ValueError, r"at output\[1\] .* float32\[2\] .* so the shapes do not match"),
    (good, lambda r, ct: (ct, np.complex64(1)), ValueError, r"at output\[1\] .* so the dtypes do not match"),
    (lambda x, y: lax.mul(x, y), lambda r, ct: (ct, ct), TypeError, "must produce a pair .* residuals")])
def test_bad_rules(fwd, bwd, error, text):
    with pytest.raises(error, match=text):
        grad(with_rules(fwd, bwd))(A, B)


def test_fwd_with_another_structure_than_the_function():
    run = staged(with_rules(lambda x, y: ((x, y), None), lambda r, ct: (ct, ct)), A, B)
    with pytest.raises(TypeError, match=r"container/pytree structure:\n.*float32.*, .*\nwhile the custom_vjp-decorated"):
        grad(run)(A, B)
    run = staged(with_rules(lambda x, y: (np.ones(3, F32), None), lambda r, ct: (ct, ct)), A, B)
    with pytest.raises(TypeError, match=r"shapes/dtypes of:\n    float32\[3\]\nwhile the .*\n    float32\[\]"):
        grad(run)(A, B)


def test_one_cotangent_stands_for_all_leaves_of_an_argument():
    g = custom_vjp(lambda pair, y: lax.mul(pair[0], y))
    g.defvjp(lambda pair, y: (g(pair, y), y), lambda y, ct: (lax.mul(y, ct), None))
    first, second = nj.grad(g)((A, A), B)
    assert float(first) == float(second) == 2


@nj.tree_util.register_pytree_node_class
class Unequal:
    """A node that equals no other: each has an object of its own among its static data."""

    def __init__(self, x, own=None):
        self.x, self.own = x, object()

    def tree_flatten(self):
        return [self.x], self.own

    @classmethod
    def tree_unflatten(cls, own, children):
        return cls(*children, own)


def test_none_for_an_argument_whose_node_equals_no_other():
    f = custom_vjp(lambda x, node: x * node.x)
    f.defvjp(lambda x, node: (x * node.x, node.x), lambda y, ct: (ct * y, None))
    np.testing.assert_array_equal(nj.grad(f)(2.0, Unequal(3.0)), 3.0)
    np.testing.assert_array_equal(nj.grad(lambda y: f(2.0, Unequal(y)))(3.0), 0.0)


def test_a_symbolic_zero_of_another_shape():
    g = custom_vjp(lambda x, y: (x, y))
    g.defvjp(lambda x, y: ((x.value, y.value), None), lambda _, cts: cts[:1] * 2, symbolic_zeros=True)
    with pytest.raises(ValueError, match=r"output\[1\] .*Consider just returning a None here"):
        nj.grad(lambda x, y: lax.reduce_sum(g(x, y)[1], axes=(0,)), 1)(np.ones(1, F32), np.ones(2, F32))


def test_rules_may_return_python_numbers():
    g = custom_vjp(lambda x: 3.0)
    g.defvjp(lambda x: (3.0, None), lambda _, ct: (ct,))
    assert float(nj.grad(lambda x: jnp.square(g(x)))(A)) == 6


def test_no_rule():
    with pytest.raises(AttributeError, match="No VJP defined for custom_vjp function <lambda> using defvjp"):
        custom_vjp(lambda x: x)(A)


# ------------------------------------------------------------------------------------- custom_gradient, closure_convert


def test_custom_gradient():
    single = custom_gradient(lambda x: (lax.mul(x, x), lambda ct: lax.mul(ct, lax.mul(x, F32(10)))))
    assert float(single(F32(3))) == 9 and float(grad(single)(F32(3))[0]) == 30
    pair = custom_gradient(lambda x, y: (lax.mul(x, y), lambda ct: (lax.mul(ct, y), lax.mul(ct, F32(7)))))
    assert [float(v) for v in grad(pair)(A, B)] == [2, 7]
    assert [float(v) for v in grad(staged(pair, A, B))(A, B)] == [2, 7]
    assert float(grad(lambda x: grad(single)(x)[0])(F32(3))[0]) == 10


def test_closure_convert(x64):
    def solve(fun, x):
        return apply(*closure_convert(fun, x), x)

    def apply(converted, values, x):
        @functools.partial(custom_vjp, nondiff_argnums=(0,))
        def run(converted, x, *values):
            return converted(x, *values)

        def bwd(converted, res, ct):
            _x, *_values = res
            return tuple(vjp_all(converted, res, ct))

        run.defvjp(lambda converted, x, *values: (run(converted, x, *values), (x, *values)), bwd)
        return run(converted, x, *values)

    def vjp_all(converted, args, ct):
        from tests.control.calculus import vjp

        return vjp(converted, args, [ct])

    fun = lambda a, x: solve(lambda s: lax.mul(lax.sin(s), a), x)
    check_derivatives_reverse(fun, [np.float64(0.7), np.float64(0.4)])


def check_derivatives_reverse(fun, args):
    eps = 1e-6
    got = grad(fun)(*args)
    for i, g in enumerate(got):
        up, down = ([a + (s * eps if j == i else 0) for j, a in enumerate(args)] for s in (1, -1))
        np.testing.assert_allclose(float(g), (float(fun(*up)) - float(fun(*down))) / (2 * eps), rtol=1e-6)


def test_closure_convert_moves_only_what_is_traced():
    table = np.arange(3, dtype=F32)
    moved = []

    def outer(y):
        converted, values = closure_convert(lambda x: lax.mul(lax.mul(x, table), y), table)
        moved.extend(values)
        with pytest.raises(TypeError, match="structure as the example"):
            converted([table], *values)
        with pytest.raises(TypeError, match="inputs to the closure produced by closure_convert"):
            converted(table, values)
        return converted(table, *values)

    np.testing.assert_allclose(float(grad(outer)(B)[0]), 5)
    assert len(moved) == 1


def test_true_derivatives_of_a_function_with_rules_are_those_without(x64):
    g = custom_vjp(lambda x: lax.tanh(x))
    g.defvjp(lambda x: (lax.tanh(x), x), lambda x, ct: (lax.mul(ct, lax.sub(np.float64(1), lax.square(lax.tanh(x)))),))
    got = grad(lambda x: grad(g)(x)[0])(np.float64(0.4))[0]
    check_derivatives(lambda x: lax.tanh(x), [0.4])
    np.testing.assert_allclose(float(got), float(grad(lambda x: grad(lax.tanh)(x)[0])(np.float64(0.4))[0]), rtol=1e-12)


def test_python_numbers_reach_the_rules_as_arrays():
    @nj.custom_vjp
    def gently(x, limit):
        return x
    gently.defvjp(lambda x, limit: (x, -limit), lambda negative, ct: (jnp.clip(ct, negative, -negative), None))
    slope = nj.grad(lambda v: jnp.sum(gently(v, 2.0) ** 3))
    for f in (slope, nj.jit(slope), nj.vmap(slope)):
        np.testing.assert_allclose(f(jnp.array([0.1, 1.0, 10.0])), [0.03, 2.0, 2.0], rtol=1e-6)


def test_optimize_remat_calls_the_function_where_no_residual_is_read():
    from_fwd = []

    @custom_vjp
    def tan(x):
        return lax.tan(x)

    def fwd(x):
        from_fwd.append(1)
        return lax.sin(x), x

    tan.defvjp(fwd, lambda x, ct: (lax.mul(ct, lax.cos(x)),), optimize_remat=True)
    value = lambda f: nj.value_and_grad(f)(F32(0.5))
    kept, g = value(tan)
    assert np.isclose(float(kept), np.sin(0.5)) and np.isclose(float(g), np.cos(0.5))
    for f in (nj.checkpoint(tan), nj.jit(nj.checkpoint(tan)), lambda x: nj.vmap(nj.checkpoint(tan))(x[None])[0]):
        again, g = value(f)
        assert np.isclose(float(again), np.tan(0.5)) and np.isclose(float(g), np.cos(0.5))
    assert from_fwd
    assert np.isclose(float(nj.grad(nj.grad(tan))(F32(0.5))), -np.sin(0.5))
    second = nj.jit(nj.jacfwd(nj.checkpoint(nj.grad(tan))))
    assert np.isclose(float(second(F32(0.5))), -np.sin(0.5))
    with pytest.raises(NotImplementedError, match="does not support symbolic_zeros"):
        tan.defvjp(fwd, fwd, symbolic_zeros=True, optimize_remat=True)
    tan.defvjp(lambda x: (lax.convert_element_type(x, np.float16), x), lambda x, ct: (ct,), optimize_remat=True)
    with pytest.raises(TypeError, match="results of the types of the function's own"):
        nj.grad(tan)(F32(0.5))


def test_residuals_that_are_numbers_stay_numbers():
    seen = []

    @custom_vjp
    def f(x):
        return x

    def bwd(residuals, ct):
        seen.append(residuals)
        return (ct * residuals["n"],)
    f.defvjp(lambda x: (x, {"n": 3, "x": x, "flag": True}), bwd)
    for g in (nj.grad(f), nj.jit(nj.grad(f)), nj.grad(nj.jit(f)), nj.grad(lambda x: nj.vmap(f)(jnp.stack([x, x]))[0])):
        assert float(g(2.0)) == 3.0
    assert all(type(r["n"]) is int and r["flag"] is True for r in seen)


def overwriting(name="float32"):
    """A function whose backward rule gives new state as the cotangent of the old, whatever the cotangent of its result."""
    @nj.custom_vjp
    def quantized(x, state):
        return x.astype(name).astype("float32")

    quantized.defvjp(lambda x, state: (quantized(x, state), (x, state)), lambda res, ct: (ct, res[1] + abs(res[0])))
    return quantized


@nj.custom_vjp
def straight(x, y):
    return x * y


straight.defvjp(lambda x, y: (x * y, y), lambda y, ct: (ct * y, None))


@pytest.mark.parametrize("wrap", [lambda f: f, nj.jit, nj.checkpoint])
def test_backward_rules_run_where_no_cotangent_comes(wrap):
    """Libraries carry the state of quantization through gradients so."""
    quantized = overwriting("float16")
    found = nj.grad(wrap(lambda x, s: straight(x, 2 * quantized(x, s))), argnums=(0, 1))(np.float32(3), np.float32(10))
    np.testing.assert_allclose(found, (6, 13))


def test_backward_rules_run_in_loops_where_no_cotangent_comes():
    quantized = overwriting()
    def loss(x, state):
        return nj.lax.scan(lambda c, s: (straight(c, quantized(c, s)) / 3, None), x, state)[0]
    found = nj.grad(loss, argnums=1)(np.float32(3), np.float32([10, 20]))
    np.testing.assert_allclose(found, (13, 23))


def test_backward_rules_of_what_no_result_needs_do_not_run():
    quantized = overwriting()
    for fun in (lambda x, s: nj.lax.stop_gradient(quantized(x, s)) + x, lambda x, s: (quantized(x, s), x)[1],
                lambda x, s: jnp.round(quantized(x, s)).astype(int).astype(float) + x):
        np.testing.assert_array_equal(nj.grad(fun, argnums=(0, 1))(np.float32(3), np.float32(10)), (1, 0))
