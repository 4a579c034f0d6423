"""checkpoint: equal results and derivatives, what is stored and what is computed again, policies, static arguments."""

from __future__ import annotations

import numpy as np
import pytest

import numjet as nj
from numjet import lax
from numjet.ad_checkpoint import Offloadable, Recompute, Saveable, print_saved_residuals
from numjet.control import checkpoint, checkpoint_name, checkpoint_policies, named_call, remat, scan
from numjet.control.call.jaxpr_transforms import without_consts
from numjet.core.stage import trace_to_closed
from numjet.core.trace import aval_of
from tests.control.calculus import check_derivatives, check_vmap, equation, grad, names, program, staged

F32 = np.float32
A = F32(0.7)
P = checkpoint_policies


def plain(x, y):
    h = checkpoint_name(lax.sin(lax.mul(x, y)), "h")
    return lax.mul(lax.exp(checkpoint_name(lax.cos(h), "g")), x)


def calls(x):
    """A function whose operations stand in a call."""
    closed = trace_to_closed(lambda x: [plain(x, x)], [aval_of(x)])
    return named_call(without_consts(closed), closed.consts, [x], "plain")[0]


@pytest.mark.parametrize("policy", [None, P.everything_saveable, P.dots_saveable, P.save_only_these_names("h")])
def test_derivatives(x64, policy):
    check_derivatives(checkpoint(plain, policy=policy), [0.7, 0.4])
    check_derivatives(staged(checkpoint(plain, policy=policy), np.float64(0), np.float64(0)), [0.7, 0.4])


def test_derivatives_in_a_scan(x64):
    body = checkpoint(lambda c, s: (plain(c, s), c))
    check_derivatives(lambda c, x: scan(body, c, x), [0.7, np.array([0.3, -0.4, 0.8])])


def test_batches(x64, rng):
    args = [rng.uniform(size=3), rng.uniform(size=3)]
    check_vmap(checkpoint(plain), args)
    check_vmap(grad(checkpoint(plain)), args)


def backward(policy, fun=lambda x: plain(x, x)):
    """(operations of the forward part, those within the staged checkpoint) of a gradient."""
    closed = program(grad(checkpoint(fun, policy=policy)), A)
    again = [e for e in closed.jaxpr.eqns if e.primitive.name == "remat2"]
    return names(closed, inner=False), names(again[0].params["jaxpr"]) if again else []


def test_everything_is_computed_again_by_default():
    closed = program(grad(checkpoint(lambda x: plain(x, x))), A)
    eqn = equation(closed, "remat2")
    assert eqn.params["differentiated"] and len(eqn.invars) == 2  # the input and the cotangent
    inside = names(eqn.params["jaxpr"])
    assert inside.count("sin") == 2 and "exp" in inside


def test_named_values_are_kept():
    _, inside = backward(P.save_only_these_names("h", "g"))
    assert inside.count("sin") == 1 and inside.count("cos") == 1  # the derivatives alone
    _, inside = backward(P.save_only_these_names("h"))
    assert inside.count("cos") == 2
    _, inside = backward(P.save_any_names_but_these("h"))
    assert inside.count("sin") == 2 and inside.count("cos") == 1


def test_policies_see_into_calls():
    _, inside = backward(P.save_only_these_names("h", "g"), calls)
    assert inside.count("sin") == 1 and inside.count("cos") == 1


def test_everything_kept_leaves_no_checkpoint():
    outside, inside = backward(P.everything_saveable)
    assert inside == [] and outside.count("exp") == 1


def test_dots():
    def fun(x):
        return lax.reduce_sum(lax.sin(lax.dot(lax.sin(x), x)), axes=(0, 1))

    x = np.ones((3, 3), F32)
    closed = program(grad(checkpoint(fun, policy=P.dots_with_no_batch_dims_saveable)), x)
    inside = names(equation(closed, "remat2").params["jaxpr"])
    assert inside.count("dot_general") == 2  # of the backward pass
    closed = program(grad(checkpoint(fun)), x)
    assert names(equation(closed, "remat2").params["jaxpr"]).count("dot_general") == 3


def test_the_other_policies():
    sin, name = lax.sin_p, equation(program(lambda x: checkpoint_name(x, "a"), A), "name").primitive
    dims = {"dimension_numbers": (((1,), (1,)), ((0,), (0,)))}
    assert not P.dots_with_no_batch_dims_saveable(lax.dot_general_p, **dims) and P.checkpoint_dots(lax.dot_general_p, **dims)
    assert P.checkpoint_dots_with_no_batch_dims is P.dots_with_no_batch_dims_saveable
    assert not P.nothing_saveable(sin)
    either = P.save_from_both_policies(P.dots_saveable, P.save_only_these_names("a"))
    assert either(name, name="a") and not either(name, name="b") and either(lax.dot_general_p)
    other = P.save_anything_except_these_names("a")
    assert other(sin) and other(name, name="b") and not other(name, name="a")
    offload = P.save_and_offload_only_these_names(names_which_can_be_saved=["a"], names_which_can_be_offloaded=["b"],
                                                  offload_src="device", offload_dst="pinned_host")
    assert offload(name, name="b") and not offload(name, name="c")
    assert not P.offload_dot_with_no_batch_dims("device", "pinned_host")(sin)


def test_static_arguments_keywords_and_pytrees():
    def fun(d, flag, *, scale, mode):
        assert isinstance(flag, bool) and isinstance(mode, str)
        out = lax.sin(lax.mul(d["x"], scale)) if flag else d["x"]
        return {"r": out, "mode": None}

    marked = remat(fun, static_argnums=(1,), static_argnames=("mode",))
    run = lambda x, y: marked({"x": x}, True, scale=y, mode="a")["r"]
    np.testing.assert_allclose(float(run(A, F32(2))), np.sin(1.4), rtol=1e-6)
    np.testing.assert_allclose([float(g) for g in grad(run)(A, F32(2))], [2 * np.cos(1.4), 0.7 * np.cos(1.4)], rtol=1e-5)
    assert float(marked({"x": A}, False, scale=A, mode="b")["r"]) == A
    assert run.__name__ == "<lambda>" and marked.__name__ == "fun"


def test_closed_over_values_are_differentiated():
    fun = lambda y: checkpoint(lambda x: lax.mul(lax.sin(x), y))(A)
    np.testing.assert_allclose(float(grad(fun)(F32(2))[0]), np.sin(0.7), rtol=1e-6)


def test_results_that_are_constants_or_inputs():
    fun = checkpoint(lambda x: (3.0, x, lax.sin(x)))
    a, b, _c = fun(A)
    assert float(a) == 3 and float(b) == A
    np.testing.assert_allclose(float(grad(lambda x: fun(x)[2])(A)[0]), np.cos(0.7), rtol=1e-6)
    np.testing.assert_allclose(float(grad(lambda x: fun(x)[1])(A)[0]), 1)


def test_concrete_is_gone():
    with pytest.raises(NotImplementedError, match="static_argnums"):
        checkpoint(lambda x: x, concrete=True)


def test_the_program():
    eqn = equation(program(checkpoint(lax.sin), A), "remat2")
    assert {k: v for k, v in eqn.params.items() if k != "jaxpr"} == {
        "prevent_cse": True, "differentiated": False, "policy": None}


def test_answers_of_policies():
    offload = P.save_and_offload_only_these_names(
        names_which_can_be_saved=["h"], names_which_can_be_offloaded=["g"], offload_src="device", offload_dst="pinned_host")
    kept = [offload(equation(program(lambda x, n=n: checkpoint_name(x, n), A), "name").primitive, name=n) for n in "hgx"]
    assert kept == [Saveable, Offloadable("device", "pinned_host"), Recompute]
    assert bool(Saveable) and not bool(Recompute) and repr(Recompute) == "Recompute"
    with pytest.raises(ValueError, match="should be exclusive"):
        P.save_and_offload_only_these_names(names_which_can_be_saved=["h"], names_which_can_be_offloaded=["h"],
                                            offload_src="device", offload_dst="pinned_host")


def test_print_saved_residuals(capsys):
    fun = lambda d, y: lax.mul(checkpoint_name(lax.sin(d["a"]), "s"), lax.exp(named_exp(y)))
    named_exp = nj.jit(lax.exp)
    print_saved_residuals(fun, {"a": A}, A)
    lines = capsys.readouterr().out.splitlines()
    assert [line.partition(" from /")[0] for line in lines].count("f32[] named 's'") == 1
    assert any(line.startswith("f32[] output of cos from ") and "test_checkpoint.py:" in line for line in lines)
    print_saved_residuals(checkpoint(fun), {"a": A}, A)
    assert set(capsys.readouterr().out.splitlines()) == {"f32[] from the argument d['a']", "f32[] from the argument y"}
    weights = np.ones((3, 3), np.float32)
    print_saved_residuals(lambda x: lax.dot(weights, x), np.ones(3, np.float32))
    assert capsys.readouterr().out == "f32[3,3] from a constant\n"


def test_xla_may_not_merge_what_is_computed_again():
    f = nj.checkpoint(lambda x: lax.sin(lax.sin(x)))
    assert "optimization_barrier" not in nj.jit(f).lower(2.0).as_text("stablehlo")
    assert "optimization_barrier" in nj.jit(nj.grad(f)).lower(2.0).as_text("stablehlo")
    merged = nj.checkpoint(lambda x: lax.sin(lax.sin(x)), prevent_cse=False)
    assert "optimization_barrier" not in nj.jit(nj.grad(merged)).lower(2.0).as_text("stablehlo")


def test_callbacks_with_effects_are_not_called_again():
    f = nj.checkpoint(lambda x: lax.sin(x) * nj.experimental.io_callback(lambda x: x, x, lax.stop_gradient(x)))
    assert np.isclose(float(f(F32(2))), 2 * np.sin(2))
    with pytest.raises(NotImplementedError, match=r"Effects not supported in partial-eval of `checkpoint`.*io_callback"):
        nj.grad(f)(F32(2))


def _tangent_program(f, x):
    return str(nj.make_jaxpr(nj.linearize(f, x)[1])(1.0))


def _sines_in_scan(x):
    return scan(lambda c, _: (lax.sin(lax.mul(c, c)), lax.cos(c)), x, None, length=3)


def _sines_in_cond(x):
    return lax.cond(x > 0, lambda x: lax.sin(lax.cos(x)), lambda x: lax.mul(x, x), x)


@pytest.mark.parametrize("f", [_sines_in_scan, _sines_in_cond])
@pytest.mark.parametrize("kept", [(), ("sin",), ("cos",), ("mul", "cos"), ("sin", "cos", "mul", "neg")])
def test_policies_see_into_loops_and_branches(f, kept):
    policy = lambda op, *_, **__: op.name in kept
    held = checkpoint(f, policy=policy)
    value, push = nj.linearize(f, 0.7)
    value_held, push_held = nj.linearize(held, 0.7)
    for got, want in zip(nj.tree.leaves((value_held, push_held(1.0))), nj.tree.leaves((value, push(1.0))), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-6)
    twice = [nj.grad(nj.grad(lambda x, g=g: sum(nj.numpy.sum(y) for y in nj.tree.leaves(g(x)))))(0.7) for g in (f, held)]
    np.testing.assert_allclose(twice[1], twice[0], rtol=1e-5)
    text = _tangent_program(held, 0.7)
    assert not any(f" {name} " in text for name in kept if name in ("sin", "cos"))
    if not kept:
        assert " sin " in text and " cos " in text


def test_recomputed_branches_are_thinned():
    both = lambda x: (lax.sin(x), lax.sin(x))
    text = _tangent_program(checkpoint(lambda x: lax.cond(x > 0, both, both, x)), 4.0)
    assert " sin " not in text and " cos " in text


def test_policy_keeps_nothing_that_does_not_change_in_a_scan():
    def f(x):
        return scan(lambda c, _: (lax.mul(c, lax.sin(x)), None), x, None, length=4)[0]
    held = checkpoint(f, policy=P.everything_saveable)
    np.testing.assert_allclose(nj.grad(held)(0.7), nj.grad(f)(0.7), rtol=1e-6)


def test_bodies_with_static_arguments_are_traced_once():
    count = 0

    def g(x, y, *, z):
        nonlocal count
        count += 1
        return lax.mul(x, y) if z else y
    f = checkpoint(g, static_argnums=0, static_argnames="z")
    for _ in range(3):
        assert float(f(2.0, 3.0, z=True)) == 6
    assert count == 1


def test_residuals_are_logged(caplog):
    f = checkpoint(lambda x: lax.cos(lax.sin(x)), policy=lambda op, *_, **__: op.name == "sin")
    nj.config.update("jax_log_checkpoint_residuals", True)
    try:
        nj.grad(f)(1.0)
    finally:
        nj.config.update("jax_log_checkpoint_residuals", False)
    assert "remat-decorated function saving inputs with shapes:\n  float32[]\nand saving these intermediates:\n" \
        "  float32[] from output of sin from test_checkpoint.py:" in caplog.text


@pytest.mark.parametrize("prevent_cse, at_once", [
    ((False, True), 2), (({"w": False}, True), 2), ((True, True), 3), ((False, False), 1)])
def test_some_arguments_may_be_held_back_from_the_compiler(prevent_cse, at_once):
    def layer(d, x):
        return lax.sin(x @ d["w"])
    held = checkpoint(layer, prevent_cse=prevent_cse)

    def loss(f, ws, x):
        for w in ws:
            x = f({"w": w}, x)
        return (x ** 2).sum()
    ws, x = [np.eye(3, dtype=F32), np.ones((3, 3), F32)], nj.numpy.arange(3, dtype=F32)
    g, plain = (nj.grad(lambda ws, x, f=f: loss(f, ws, x), (0, 1)) for f in (held, layer))
    for got, want in zip(nj.tree.leaves(nj.jit(g)(ws, x)), nj.tree.leaves(plain(ws, x)), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-5)
    lines = [line for line in nj.jit(g).lower(ws, x).as_text().splitlines() if "optimization_barrier" in line]
    assert max([line.split(" : ")[0].split("barrier ")[1].count(",") + 1 for line in lines], default=1) == at_once
    linear = checkpoint(lambda d, x: x @ d["w"], prevent_cse=prevent_cse)
    text = nj.jit(nj.grad(lambda ws, x: loss(linear, ws, x), (0, 1))).lower(ws, x).as_text()
    assert ("optimization_barrier" in text) == (at_once > 1)
    nj.vmap(nj.grad(lambda x: held({"w": ws[0]}, x).sum()))(np.ones((2, 3), F32))


def test_static_arguments_that_are_not_given():
    with pytest.raises(ValueError, match=r"can only take integer values greater than or equal to `-len\(args\)`"):
        checkpoint(lambda x, n: x, static_argnums=(5,))(1.0, 3)


def test_residuals_begin_with_arguments(capsys):
    held = np.arange(3.0, dtype=np.float32)
    print_saved_residuals(lambda x, y: held * lax.sin(x) * y, 2.0, 3.0)
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[1] for line in lines] == sorted(line.split()[1] for line in lines)   # from, then output
