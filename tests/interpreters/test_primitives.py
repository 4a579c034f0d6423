"""Primitives that users define: every order of transformations with all rules, and a clear error for every rule that misses."""
from __future__ import annotations

import functools
import itertools
import random
import typing
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import numjet as nj
import numjet.numpy as jnp
from numjet import lax
from numjet.core.aval import ShapedArray
from numjet.core.op import Op, overridden
from numjet.core.primitive import Primitive
from numjet.interpreters import ad, batching, mlir, partial_eval, xla

Fun = Callable[..., Any]
X = np.array([0.3, 1.1, 2.0], np.float32)


def lowered(prim: Primitive, fun: Fun, multiple: bool = False) -> None:
    """Evaluates and compiles a primitive by a function."""
    prim.multiple_results = multiple
    prim.def_impl(functools.partial(xla.apply_primitive, prim))
    mlir.register_lowering(prim, mlir.lower_fun(fun, multiple_results=multiple))


def scale_primitive() -> Primitive:
    """x * y, bilinear."""
    prim = Primitive("scale")
    prim.def_abstract_eval(lambda x, y: ShapedArray(np.broadcast_shapes(x.shape, y.shape), x.dtype))
    lowered(prim, lambda x, y: x * y)
    ad.defbilinear(prim, lambda ct, x, y: prim.bind(ct, y), lambda ct, x, y: prim.bind(x, ct))
    batching.defvectorized(prim)
    return prim


SCALE = scale_primitive()


def wave_primitive() -> Primitive:
    """k * sin(x) * y: nonlinear, with a parameter; its tangents apply another primitive."""
    prim = Primitive("wave")
    prim.def_abstract_eval(lambda x, y, *, k: ShapedArray(x.shape, x.dtype))
    lowered(prim, lambda x, y, *, k: k * jnp.sin(x) * y)
    ad.defjvp(prim, lambda t, x, y, *, k: SCALE.bind(t, k * jnp.cos(x) * y),
              lambda t, x, y, *, k: SCALE.bind(t, k * jnp.sin(x)))
    batching.defvectorized(prim)
    return prim


def both_primitive() -> Primitive:
    """(sin(x), x * n): two results, one of them without derivative."""
    prim = Primitive("both")
    prim.def_abstract_eval(lambda x, *, n: [ShapedArray(x.shape, x.dtype), ShapedArray(x.shape, np.dtype("int32"))])
    lowered(prim, lambda x, *, n: [jnp.sin(x), jnp.full(x.shape, n)], multiple=True)

    def jvp(primals: Any, tangents: Any, *, n: int) -> Any:
        (x,), (t,) = primals, tangents
        out = prim.bind(x, n=n)
        return out, [t * jnp.cos(x), ad.Zero(out[1].aval.to_tangent_aval())]

    ad.primitive_jvps[prim] = jvp
    batching.primitive_batchers[prim] = lambda args, dims, *, n: (prim.bind(*args, n=n), [dims[0], dims[0]])
    return prim


WAVE, BOTH = wave_primitive(), both_primitive()
FUNCTIONS: dict[str, tuple[Fun, Fun]] = {
    "wave": (lambda x: WAVE.bind(x, x + 1, k=0.5), lambda x: 0.5 * jnp.sin(x) * (x + 1)),
    "both": (lambda x: BOTH.bind(x, n=3)[0] * BOTH.bind(x, n=3)[1], lambda x: jnp.sin(x) * 3),
}
TRANSFORMATIONS: dict[str, Callable[[Fun], Fun]] = {
    "jit": nj.jit,
    "grad": lambda f: nj.grad(lambda x: jnp.sum(f(x))),
    "vmap": lambda f: lambda x: jnp.sum(nj.vmap(f)(jnp.stack([x, 0.5 * x])), 0),
    "vmap out": lambda f: lambda x: jnp.sum(nj.vmap(f, 1, 1)(jnp.stack([x, 0.5 * x], 1)), 1),
    "jvp": lambda f: lambda x: nj.jvp(f, (x,), (2 * x,))[1],
    "scan": lambda f: lambda x: lax.scan(lambda c, _: (f(c), None), x, None, length=2)[0],
    "cond": lambda f: lambda x: lax.cond(jnp.sum(x) > 0, f, lambda y: y, x),
    "checkpoint": nj.checkpoint,
}
ORDERS = [*itertools.product(TRANSFORMATIONS, repeat=2),
          *random.Random(0).sample(list(itertools.product(TRANSFORMATIONS, repeat=3)), 40)]


@pytest.mark.parametrize("order", ORDERS, ids="-".join)
def test_every_order_of_transformations(order: tuple[str, ...]) -> None:
    for mine, plain in FUNCTIONS.values():
        for name in order:
            mine, plain = TRANSFORMATIONS[name](mine), TRANSFORMATIONS[name](plain)
        np.testing.assert_allclose(mine(X), plain(X), rtol=2e-5, atol=2e-5)


def test_equations_of_primitives_print_and_evaluate() -> None:
    closed = nj.make_jaxpr(lambda x: WAVE.bind(x, 2.0, k=3))(1.0)
    assert str(closed) == "{ lambda ; a:f32[]. let b:f32[] = wave[k=3] a 2.0:f32[] in (b,) }"
    assert closed.eqns[0].primitive is WAVE
    np.testing.assert_allclose(nj.core.walk.eval_jaxpr(closed.jaxpr, closed.consts, 1.0)[0], 6 * np.sin(1), rtol=1e-6)


# ------------------------------------------------------------------------------------------------ rules that miss

def bare(*rules: str) -> Primitive:
    """A primitive 2 * x with some of its rules."""
    prim = Primitive("bare")
    known: dict[str, Callable[[], Any]] = {
        "impl": lambda: prim.def_impl(lambda x: 2 * x),
        "types": lambda: prim.def_abstract_eval(lambda x: x),
        "jvp": lambda: ad.primitive_jvps.__setitem__(prim, lambda ps, ts: (prim.bind(*ps), prim.bind(*ts))),
        "transpose": lambda: ad.primitive_transposes.__setitem__(prim, lambda ct, x: [2 * ct]),
        "batch": lambda: batching.defvectorized(prim),
        "lowering": lambda: mlir.register_lowering(prim, mlir.lower_fun(lambda x: 2 * x, multiple_results=False)),
    }
    for rule in rules:
        known[rule]()
    return prim


MISSING = {
    "impl": (("types", "lowering"), lambda f: f(1.0), "Evaluation rule for 'bare'.*def_impl"),
    "types": (("impl", "lowering"), lambda f: nj.jit(f)(1.0), "Abstract evaluation for 'bare'.*def_abstract_eval"),
    "jvp": (("impl", "types", "transpose"), lambda f: nj.grad(f)(1.0), "Differentiation rule for 'bare'.*primitive_jvps"),
    "transpose": (("impl", "types", "jvp"), lambda f: nj.grad(f)(1.0), r"Transpose rule .* for 'bare'.*primitive_transposes"),
    "batch": (("impl", "types"), lambda f: nj.vmap(f)(X), "Batching rule for 'bare'.*primitive_batchers"),
    "lowering": (("impl", "types"), lambda f: nj.jit(f)(1.0), "MLIR translation rule for primitive 'bare' not found for "
                 "platform cpu.*register_lowering.*pure_callback"),
}


@pytest.mark.parametrize("rule", MISSING)
def test_a_missing_rule_is_named(rule: str) -> None:
    rules, use, text = MISSING[rule]
    with pytest.raises(NotImplementedError, match=f"(?s){text}"):
        use(bare(*rules).bind)
    assert use(bare(*rules, rule, "impl", "types").bind) is not None


def test_primitives_have_what_operations_have() -> None:
    names = [name for name in typing.get_type_hints(Op) if not name.startswith("_")]
    assert len(names) > 30 and [name for name in names if not hasattr(Primitive("new"), name)] == []


def test_an_impl_alone_evaluates() -> None:
    prim = Primitive("python")
    prim.def_impl(lambda x, *, k: (isinstance(x, nj.Array), k))
    assert prim.bind(np.float32(1), k=2) == (True, 2)
    assert prim.bind(1.0, k=2) == (False, 2)


def test_none_of_a_jvp_rule_is_a_zero_tangent() -> None:
    prim = Primitive("with_workspace")
    lowered(prim, lambda x: [2 * x, x * x], multiple=True)
    prim.def_abstract_eval(lambda x: [x, x])
    ad.primitive_jvps[prim] = lambda ps, ts: (prim.bind(*ps), [2 * ts[0], None])
    for grad in (nj.grad, lambda fun: nj.jit(nj.grad(fun)), lambda fun: nj.grad(nj.jit(fun))):
        np.testing.assert_array_equal(grad(lambda x: jnp.sum(prim.bind(x)[0] + prim.bind(x)[1]))(X), np.full(3, 2, np.float32))
    tangents = nj.jvp(prim.bind, (X,), (X,))[1]
    np.testing.assert_array_equal(tangents, [2 * X, 0 * X])


# ------------------------------------------------------------------------------------------------ bad rules

def test_rules_of_wrong_types_are_refused() -> None:
    prim = bare("impl", "types", "transpose")
    ad.primitive_jvps[prim] = lambda ps, ts: (prim.bind(*ps), jnp.ones(7))
    with pytest.raises(TypeError, match=r"JVP rule of primitive 'bare' gives a tangent of type f32\[7\].*f32\[3\]"):
        nj.jvp(prim.bind, (X,), (X,))
    ad.deflinear2(prim, lambda ct, x: [jnp.ones(7)])
    with pytest.raises(TypeError, match=r"transpose rule of primitive 'bare' gives a cotangent of type f32\[7\] for operand 0"):
        nj.grad(lambda x: jnp.sum(prim.bind(x)))(X)
    ad.deflinear2(prim, lambda ct, x: [ct, ct])
    with pytest.raises(TypeError, match="must give a list of 1, got 2"):
        nj.grad(lambda x: jnp.sum(prim.bind(x)))(X)
    batching.primitive_batchers[prim] = lambda args, dims: (prim.bind(*args), 5)
    with pytest.raises(ValueError, match=r"batch axis 5 of a result of type f32\[3\], which has 1 axes"):
        nj.vmap(prim.bind)(X)
    mlir.register_lowering(prim, mlir.lower_fun(lambda x: jnp.ones(2), multiple_results=False))
    with pytest.raises(TypeError, match=r"gives results of types f32\[2\], but .* says f32\[3\]"):
        nj.jit(prim.bind)(X)
    prim.def_abstract_eval(lambda x: "f32")
    with pytest.raises(TypeError, match=r"must give core.ShapedArray objects , got 'f32'"):
        nj.jit(prim.bind)(X)


def test_own_operations_take_rules_of_derivatives_and_batches() -> None:
    f = lambda x: nj.jit(lambda v: lax.tan_p.bind(v))(x)
    before = float(nj.grad(f)(0.5))
    ad.defjvp(lax.tan_p, lambda t, x: 100 * t)
    batching.primitive_batchers[lax.tan_p] = lambda args, dims: (args[0] * 7, dims[0])
    try:
        assert float(nj.grad(f)(0.5)) == 100 and nj.vmap(f)(jnp.ones(2)).tolist() == [7, 7]
        assert ad.primitive_jvps[lax.tan_p].__name__ == "rule"
    finally:
        del ad.primitive_jvps[lax.tan_p], batching.primitive_batchers[lax.tan_p]
    assert float(nj.grad(f)(0.5)) == before and float(nj.vmap(f)(jnp.zeros(2))[0]) == 0


def test_rules_of_users_may_call_those_that_they_replace() -> None:
    tables = ad.primitive_jvps, batching.primitive_batchers
    own = [table[lax.tan_p] for table in tables]
    f = lambda x: lax.tan_p.bind(x)
    before = float(nj.grad(f)(0.5))
    try:
        tables[0][lax.tan_p] = lambda *args: [x * 2 for x in own[0](*args)]
        tables[1][lax.tan_p] = lambda args, dims: (own[1](args, dims)[0] * 3, dims[0])
        assert float(nj.grad(f)(0.5)) == 2 * before
        assert nj.vmap(f)(jnp.ones(2)).tolist() == pytest.approx([3 * np.tan(1)] * 2)
    finally:
        for table, rule in zip(tables, own, strict=True):
            table[lax.tan_p] = rule
    assert float(nj.grad(f)(0.5)) == before and not overridden


def test_own_operations_keep_what_the_compiler_knows() -> None:
    with pytest.raises(TypeError, match="'sin' is numjet's own operation"):
        mlir.register_lowering(lax.sin_p, mlir.lower_fun(jnp.sin))
    with pytest.raises(TypeError, match="own operation"):
        lax.sin_p.def_abstract_eval(lambda x: x)
    with pytest.raises(AttributeError, match="does not change in 'cpu'"):
        lax.sin_p.put_rule("cpu", None)
    with pytest.raises(TypeError, match=r"numjet\.extend"):
        ad.primitive_jvps[jnp.sin] = lambda *args: None


def test_rules_of_own_operations_can_be_called() -> None:
    np.testing.assert_allclose(ad.primitive_jvps[lax.sin_p]((1.0,), (2.0,))[1], 2 * np.cos(1.0), rtol=1e-6)
    scalar = ShapedArray((), np.dtype("float32"))
    ct, none = ad.primitive_transposes[lax.mul_p](jnp.float32(2), ad.UndefinedPrimal(scalar), jnp.float32(3))
    assert (float(ct), none) == (6.0, None)
    out, dim = batching.primitive_batchers[lax.reduce_sum_p]((jnp.ones((3, 2)),), (1,), axes=(0,))
    assert (out.tolist(), dim) == ([3.0, 3.0], 0)
    assert lax.sin_p in ad.primitive_jvps and lax.sort_p not in ad.primitive_transposes
    assert lax.add_p in list(ad.primitive_transposes) and len(batching.primitive_batchers) > 100


# ------------------------------------------------------------------------------------------------ tables

def test_tables_hold_what_they_were_given() -> None:
    prim, rule = Primitive("tabled"), lambda *args: args
    for table in (ad.primitive_jvps, ad.primitive_transposes, batching.primitive_batchers, batching.fancy_primitive_batchers):
        assert prim not in table
        table[prim] = rule
        assert table[prim] is rule and prim in table
        del table[prim]
        assert prim not in table
    with pytest.raises(TypeError, match="must be a function"):
        ad.primitive_jvps[prim] = 3
    ad.primitive_jvps[prim] = rule
    ad.primitive_jvps[prim] = None
    assert prim not in ad.primitive_jvps
    for refused in (batching.spmd_axis_primitive_batchers, partial_eval.custom_partial_eval_rules):
        assert prim not in refused
        with pytest.raises(NotImplementedError, match="tabled"):
            refused[prim] = rule


def test_get_primitive_transpose_of_an_operation_that_is_not_linear() -> None:
    with pytest.raises(NotImplementedError, match=r"Transpose rule .* for 'sort' not implemented"):
        ad.get_primitive_transpose(lax.sort_p)


@pytest.mark.parametrize("batched", [True, False])
def test_batching_rules_that_see_the_axis(batched: bool) -> None:
    seen = []

    def fancy(axis: Any, args: Any, dims: Any) -> Any:
        seen.append((axis.name, axis.size, dims))
        return args[0], dims[0]

    def with_axis(size: int, name: Any, main: Any, args: Any, dims: Any) -> Any:
        seen.append((name, size, dims))
        return args[0], dims[0]

    for table, rule in ((batching.fancy_primitive_batchers, fancy), (batching.axis_primitive_batchers, with_axis)):
        prim = bare("impl", "types")
        table[prim] = rule
        np.testing.assert_array_equal(nj.vmap(lambda x, p=prim: p.bind(x if batched else 1.0) + x, axis_name="i")(X),
                                      2 * X if batched else 1 + X)
    assert seen == [("i", 3, (0 if batched else None,))] * 2


def test_batchers_of_simple_forms() -> None:
    reducer = Primitive("total")
    reducer.def_impl(lambda x, *, axes: jnp.sum(x, axes))
    batching.defreducer(reducer)
    x = jnp.arange(24.0).reshape(2, 3, 4)
    for axis in range(3):
        found = nj.vmap(lambda v: reducer.bind(v, axes=(1,)), axis)(x)
        np.testing.assert_array_equal(found, nj.vmap(lambda v: jnp.sum(v, 1), axis)(x))
    adder = Primitive("adder")
    adder.def_impl(jnp.add)
    batching.defbroadcasting(adder)
    np.testing.assert_array_equal(nj.vmap(adder.bind, (0, None))(X, x[0]), X[:, None, None] + x[0])
    np.testing.assert_array_equal(nj.vmap(adder.bind, (1, 0))(x[0], jnp.ones(4)), x[0].T + 1)
    mapped = nj.vmap(SCALE.bind, (0, None))(X, 2.0), nj.vmap(SCALE.bind, (1, 0))(x[0], x[0].T)
    np.testing.assert_array_equal(mapped[0], 2 * X)
    np.testing.assert_array_equal(mapped[1], (x[0] ** 2).T)
    assert batching.bdim_at_front(x, 2, 4).shape == (4, 2, 3) and batching.bdim_at_front(x, None, 5).shape == (5, 2, 3, 4)
    assert batching.broadcast(x, 7, 1).shape == (2, 7, 3, 4) and batching.moveaxis(x, -1, 0).shape == (4, 2, 3)


# ------------------------------------------------------------------------------------------------ lowering

def test_rules_that_call_others() -> None:
    prim = bare("types")

    def rule(ctx: Any, x: Any, **params: Any) -> Any:
        assert ctx.module_context.platforms == ("cpu",) and ctx.avals_in == ctx.avals_out == (ShapedArray((3,), np.float32),)
        return mlir.lower_fun(lambda v: 5 * v, multiple_results=False)(ctx, x, **params)

    assert mlir.register_lowering(prim, rule) is rule
    np.testing.assert_array_equal(nj.jit(prim.bind)(X), 5 * X)


def test_rules_by_platform() -> None:
    prim = bare("types", "lowering")
    mlir.register_lowering(prim, mlir.lower_fun(lambda x: 3 * x, multiple_results=False), platform="cpu")
    mlir.register_lowering(prim, mlir.lower_fun(lambda x: 4 * x, multiple_results=False), platform="cuda")
    np.testing.assert_array_equal(nj.jit(prim.bind)(X), 3 * X)
    gpu = bare("types")
    mlir.register_lowering(gpu, mlir.lower_fun(lambda x: 4 * x, multiple_results=False), platform="gpu")
    with pytest.raises(NotImplementedError, match="not found for platform cpu"):
        nj.jit(gpu.bind)(X)
    with pytest.raises(NotImplementedError, match="unknown platform abacus"):
        mlir.register_lowering(gpu, lambda ctx, x: x, platform="abacus")


def test_a_rule_that_writes_mlir_is_refused() -> None:
    prim = bare("types")
    for rule in (lambda ctx, x: mlir.ir_constant(1), lambda ctx, x: [object()], lambda ctx, x: mlir.ModuleContext()):
        mlir.register_lowering(prim, rule)
        with pytest.raises(NotImplementedError, match=r"'bare' writes MLIR by hand.*lower_fun.*pure_callback.*ffi"):
            nj.jit(prim.bind)(X)
    mlir.register_lowering(prim, lambda ctx, x: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        nj.jit(prim.bind)(X)


def test_python_callbacks_in_rules() -> None:
    prim = bare("types")

    def rule(ctx: Any, x: Any) -> Any:
        results, _, _ = mlir.emit_python_callback(ctx, lambda v: [np.asarray(v) * 7], None, [x], ctx.avals_in, ctx.avals_out,
                                                  has_side_effect=False)
        return results

    mlir.register_lowering(prim, rule)
    np.testing.assert_array_equal(nj.jit(prim.bind)(X), 7 * X)


# ------------------------------------------------------------------------------------------------ effects, dead code

def test_effects_keep_an_equation() -> None:
    class Logged(nj.core.effects.Effect):
        pass

    mlir.lowerable_effects.add_type(Logged)
    runs: list[float] = []
    prim = Primitive("log_it")
    prim.def_effectful_abstract_eval(lambda x: (x, {Logged()}))
    prim.def_impl(functools.partial(xla.apply_primitive, prim))
    mlir.register_lowering(prim, mlir.lower_fun(
        lambda x: nj.io_callback(lambda v: runs.append(float(v)) or v, x, x), multiple_results=False))
    closed = nj.make_jaxpr(lambda x: prim.bind(x) * 0 + 1)(2.0)
    assert [type(e).__name__ for e in closed.effects] == ["Logged"] and prim.is_effectful
    nj.jit(lambda x: (prim.bind(x), x)[1])(2.0)
    nj.effects_barrier()
    assert runs == [2.0]


def test_dead_code_rules() -> None:
    prim = both_primitive()

    def rule(used: list[bool], eqn: Any) -> Any:
        if not used[1]:
            return [True], nj.make_jaxpr(jnp.sin)(1.0).eqns[0].replace(invars=eqn.invars, outvars=eqn.outvars[:1])
        return [True], eqn

    partial_eval.dce_rules[prim] = rule
    assert partial_eval.dce_rules[prim] is rule
    jaxpr, used = partial_eval.dce_jaxpr(nj.make_jaxpr(lambda x: prim.bind(x, n=1))(1.0).jaxpr, [True, False])
    assert [e.primitive.name for e in jaxpr.eqns] == ["sin"] and used == [True]


# ------------------------------------------------------------------------------------------------ flags of primitives

def test_flags() -> None:
    prim = Primitive("flagged")
    assert str(prim) == repr(prim) == "flagged"
    assert not (prim.multiple_results or prim.call_primitive or prim.map_primitive)
    with pytest.raises(NotImplementedError, match="map_primitive"):
        prim.map_primitive = True
    with pytest.raises(AttributeError):
        lax.sin_p.multiple_results = True
    assert isinstance(lax.sin_p, Primitive) and not lax.sin_p.multiple_results
    assert lax.sin_p.impl(0.0) == 0 and lax.exp_p.bind(0.0, accuracy=None) == 1
    assert prim.get_bind_params({"k": 1}) == {"k": 1}


def test_a_subclass_may_handle_its_operands() -> None:
    class Negated(Primitive):
        def bind(self, *args: Any, **params: Any) -> Any:
            return super().bind(*[-a for a in args], **params)

    prim = Negated("negated")
    lowered(prim, lambda x: 2 * x)
    prim.def_abstract_eval(lambda x: x)
    assert float(prim.bind(1.0)) == -2
    closed = nj.make_jaxpr(prim.bind)(1.0)
    assert [e.primitive.name for e in closed.eqns] == ["neg", "negated"]


# ------------------------------------------------------------------------------------------------ functions of programs

def test_jvp_of_flat_functions() -> None:
    outs, tangents = ad.jvp(lambda x, y: [x * y, y], (2.0, 3.0), (1.0, ad.Zero(ShapedArray((), np.dtype("float32")))))
    assert (list(map(float, outs)), list(map(float, tangents))) == ([6.0, 3.0], [3.0, 0.0])
    assert type(ad.jvp(lambda x: [1.0], (2.0,), (1.0,), instantiate=False)[1][0]) is ad.Zero
    with pytest.raises(NotImplementedError, match=r"numjet\.linearize"):
        ad.linearize(None, None)


def test_zeros() -> None:
    zero = ad.Zero(ShapedArray((2,), np.dtype("float32")))
    assert zero.instantiate().tolist() == [0, 0] == ad.instantiate_zeros(zero).tolist()
    assert ad.add_tangents(zero, 1.0) == 1.0 and float(ad.add_jaxvals(1.0, 2.0)) == 3
    assert ad.is_undefined_primal(ad.UndefinedPrimal(zero.aval)) and not ad.is_undefined_primal(1.0)


def test_partial_evaluation() -> None:
    scalar = ShapedArray((), np.dtype("float32"))
    known, unknown = partial_eval.PartialVal.known(2.0), partial_eval.PartialVal.unknown(scalar)
    kinds = []

    def fun(x: Any, y: Any) -> list[Any]:
        kinds.append((isinstance(x, partial_eval.JaxprTracer), isinstance(y, partial_eval.JaxprTracer)))
        return [jnp.sin(x), jnp.sin(x) * y]

    jaxpr, results, consts = partial_eval.trace_to_jaxpr_nounits(fun, [known, unknown])
    assert kinds == [(False, True)]
    assert [r.is_known() for r in results] == [True, False]
    np.testing.assert_allclose(results[0].get_known(), np.sin(2), rtol=1e-6)
    assert [e.primitive.name for e in jaxpr.eqns] == ["mul"] and results[1].get_aval().shape == ()
    np.testing.assert_allclose(nj.core.walk.eval_jaxpr(jaxpr, consts, 3.0)[0], 3 * np.sin(2), rtol=1e-6)
    jaxpr, results, consts = partial_eval.trace_to_jaxpr_nounits(fun, [known, known], instantiate=True)
    assert not any(r.is_known() for r in results) and len(jaxpr.outvars) == 2


def test_tracing_and_dead_code() -> None:
    scalar = ShapedArray((), np.dtype("float32"))
    const = jnp.arange(3.0)
    jaxpr, outs, consts = partial_eval.trace_to_jaxpr_dynamic(lambda x, y: [x * const, jnp.sin(y)], [scalar, scalar])
    assert [a.shape for a in outs] == [(3,), ()] and len(consts) == len(jaxpr.constvars) == 1
    thin, consts_kept, kept = partial_eval.dce_jaxpr_consts(jaxpr, [False, True])
    assert (consts_kept, kept, len(thin.eqns), thin.constvars) == ([False], [False, True], 1, [])
    assert partial_eval.dce_jaxpr(jaxpr, [False, False], instantiate=[True, False])[1] == [True, False]
    ruled = nj.custom_jvp(lambda x, y: (x + 1, y + 1))
    ruled.defjvp(lambda primals, tangents: (ruled(*primals), tangents))
    call = nj.make_jaxpr(ruled)(1.0, 2.0).eqns[0]
    kept, smaller = partial_eval.dce_jaxpr_closed_call_rule([True, False], call)
    assert kept == [True, False] and len(smaller.invars) == len(smaller.outvars) == 1
    assert partial_eval.dce_jaxpr_call_rule([False, False], call) == ([False, False], None)


def test_symbolic_zeros_are_nodes_without_children():
    """So functions that return them are transformed."""
    zero = ad.Zero(ShapedArray((2,), np.dtype(np.float32)))
    assert nj.tree.leaves((zero, ad.UndefinedPrimal(zero.aval), 1)) == [1]
    out, kept = nj.vmap(lambda x: (2 * x, zero))(np.arange(3.0))
    assert out.tolist() == [0, 2, 4] and type(kept) is ad.Zero and kept.aval is zero.aval


def test_types_with_their_own_way_to_be_mapped_over_are_declared_and_refused_by_vmap():
    @nj.tree_util.register_pytree_node_class
    class Box(list):
        def tree_flatten(self):
            return tuple(self), None

        @classmethod
        def tree_unflatten(cls, _, children):
            return cls(children)
    keep: Any = lambda cont, *args: args[-2]
    batching.register_vmappable(Box, int, int, keep, keep, None)
    double: Fun = nj.vmap(lambda box: 2 * box[0])
    with pytest.raises(NotImplementedError, match=r"vmap over a value of .*Box.*register_vmappable"):
        double(Box([X]))
    assert nj.vmap(lambda box, x: box[0] + x, in_axes=(None, 0))(Box([1.0]), X).shape == (3,)
    batching.unregister_vmappable(Box)
    assert double(Box([X])).shape == (3,)
    with pytest.raises(KeyError):
        batching.unregister_vmappable(Box)


def test_a_rule_that_fails_is_asked_only_where_it_is_lowered() -> None:
    other = bare("types", "batch")
    mlir.register_lowering(other, lambda ctx, x: ctx.dialect_of_another_platform.call(x))
    f = lambda x: nj.lax.platform_dependent(x, cpu=jnp.sin, other=other.bind)
    np.testing.assert_allclose(nj.jit(f)(X), np.sin(X), rtol=1e-6)
    assert "bare" not in nj.jit(f).lower(X).as_text()
    with pytest.raises(AttributeError, match="dialect_of_another_platform"):
        nj.jit(other.bind)(X)
