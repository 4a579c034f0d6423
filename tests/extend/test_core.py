"""Jaxprs that users walk, edit and evaluate, traces that users define, and questions about tracing."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import numjet as nj
import numjet.extend.core as jex
import numjet.numpy as jnp
from numjet import lax
from numjet.core import trace_state
from numjet.core.aval import ShapedArray
from numjet.core.trace import Trace, Tracer, aval_of
from numjet.core.walk import eval_jaxpr
from numjet.extend import linear_util as lu
from numjet.extend.core import primitives

F32 = ShapedArray((), np.dtype("float32"))


# ------------------------------------------------------------------------------------------------ interpreters

def interpret(jaxpr: jex.Jaxpr, consts: Any, args: Any, handle: Callable[..., Any]) -> list[Any]:
    """Evaluation of a program with another meaning of its operations."""
    env: dict[Any, Any] = {}
    read = lambda v: v.val if type(v) is jex.Literal else env[v]
    env.update(zip(jaxpr.invars, args, strict=True))
    env.update(zip(jaxpr.constvars, consts, strict=True))
    for eqn in jaxpr.eqns:
        out = handle(eqn, *map(read, eqn.invars), **eqn.primitive.get_bind_params(eqn.params))
        env.update(zip(eqn.outvars, out if eqn.primitive.multiple_results else [out], strict=True))
    return [read(v) for v in jaxpr.outvars]


def plain(eqn: Any, *args: Any, **params: Any) -> Any:
    with eqn.ctx.manager:
        return eqn.primitive.bind(*args, **params)


@nj.custom_jvp
def bent(x: Any) -> Any:
    return jnp.tanh(x)


bent.defjvp(lambda p, t: (bent(*p), 2 * t[0]))
PROGRAMS: dict[str, Callable[..., Any]] = {
    "arithmetic": lambda x: jnp.exp(jnp.tanh(x)) * 2 + 1,
    "bfloat16": lambda x: x.astype(jnp.bfloat16) * 2.0 - 1,
    "integers": lambda x: (x * 10).astype(int) // 3 + 2 * jnp.arange(3)[1],
    "constants": lambda x: x + jnp.arange(3.0),
    "jit": lambda x: nj.jit(lambda v: jnp.sin(v) + 1)(x) * 2,
    "cond": lambda x: lax.cond(x[0] > 0, jnp.sin, jnp.cos, x),
    "scan": lambda x: lax.scan(lambda c, v: (c * 0.5 + v, c), jnp.float32(0), x),
    "while": lambda x: lax.while_loop(lambda v: jnp.sum(v) < 10, lambda v: v * 2, x),
    "custom_jvp": bent,
    "checkpoint": nj.checkpoint(jnp.sin),
    "gather": lambda x: x[jnp.array([2, 0])] + x[-1],
    "random": lambda x: x + nj.random.normal(nj.random.key(1), (3,)),
    "linalg": lambda x: jnp.linalg.solve(jnp.eye(3) * x, x),
    "complex": lambda x: (x + 1j) ** 2,
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_an_interpreter_of_programs(name: str) -> None:
    fun, x = PROGRAMS[name], np.array([0.5, 1.5, 2.5], np.float32)
    closed = nj.make_jaxpr(fun)(x)
    want = nj.tree.leaves(fun(jnp.asarray(x)))
    for got in (interpret(closed.jaxpr, closed.consts, [x], plain), jex.jaxpr_as_fun(closed)(x),
                nj.jit(lambda v: interpret(closed.jaxpr, closed.literals, [v], plain))(x),
                eval_jaxpr(closed.jaxpr, closed.consts, x)):
        assert [g.dtype for g in got] == [w.dtype for w in want]
        for g, w in zip(got, want, strict=True):
            np.testing.assert_allclose(np.asarray(g, w.dtype), w, rtol=2e-2 if name == "bfloat16" else 1e-5)


def test_an_inverse_interpreter() -> None:
    inverses = {lax.exp_p: jnp.log, lax.tanh_p: jnp.arctanh, lax.neg_p: lambda y: -y}

    def inverse(fun: Callable[..., Any]) -> Callable[..., Any]:
        def run(*args: Any) -> Any:
            closed = nj.make_jaxpr(fun)(*args)
            env = dict(zip(closed.jaxpr.outvars, args, strict=True))
            for eqn in closed.jaxpr.eqns[::-1]:
                env[eqn.invars[0]] = inverses[eqn.primitive](env[eqn.outvars[0]])
            return env[closed.jaxpr.invars[0]]
        return run

    fun = lambda x: -jnp.exp(jnp.tanh(x))
    np.testing.assert_allclose(inverse(fun)(fun(0.7)), 0.7, rtol=1e-5)
    np.testing.assert_allclose(nj.jit(nj.vmap(inverse(fun)))(fun(jnp.array([0.1, 0.2]))), [0.1, 0.2], rtol=1e-5)
    np.testing.assert_allclose(nj.grad(inverse(fun))(fun(0.7)), 1 / nj.grad(fun)(0.7), rtol=1e-4)


def test_forward_mode_by_a_users_interpreter() -> None:
    rules = {lax.sin_p: lambda x, t: (jnp.sin(x[0]), jnp.cos(x[0]) * t[0]),
             lax.mul_p: lambda x, t: (x[0] * x[1], t[0] * x[1] + x[0] * t[1]),
             lax.add_p: lambda x, t: (x[0] + x[1], t[0] + t[1])}

    def handle(eqn: Any, *pairs: Any, **params: Any) -> Any:
        pairs = tuple(p if isinstance(p, tuple) else (p, 0.0) for p in pairs)
        if eqn.primitive is primitives.jit_p:
            inner = params["jaxpr"]
            return interpret(inner.jaxpr, inner.consts, pairs, handle)
        return rules[eqn.primitive]([p for p, _ in pairs], [t for _, t in pairs])

    fun = lambda x: nj.jit(lambda v: jnp.sin(v) * v)(x) + 2 * x
    closed = nj.make_jaxpr(fun)(1.0)
    (value, tangent), = interpret(closed.jaxpr, closed.consts, [(1.3, 1.0)], handle)
    np.testing.assert_allclose(value, fun(1.3), rtol=1e-6)
    np.testing.assert_allclose(tangent, nj.grad(fun)(1.3), rtol=1e-6)


def test_edited_programs() -> None:
    closed = nj.make_jaxpr(lambda x: jnp.sin(x) * 2)(1.0)
    eqns = [e.replace(primitive=lax.cos_p) if e.primitive is lax.sin_p else e for e in closed.jaxpr.eqns]
    edited = jex.ClosedJaxpr(closed.jaxpr.replace(eqns=eqns), closed.consts)
    np.testing.assert_allclose(nj.jit(jex.jaxpr_as_fun(edited))(0.5)[0], 2 * np.cos(0.5), rtol=1e-6)
    make = jex.gensym()
    x, y = make(F32), make(F32)
    eqn = jex.new_jaxpr_eqn([x, jex.Literal(np.float32(3), F32)], [y], lax.mul_p, {}, jex.no_effects)
    jaxpr = jex.Jaxpr(constvars=[], invars=[x], outvars=[y], eqns=[eqn], effects=jex.no_effects, debug_info=closed.debug_info)
    jex.check_jaxpr(jaxpr)
    assert float(eval_jaxpr(jaxpr, [], 2.0)[0]) == 6 and "test_core.py" in nj.extend.source_info_util.summarize(eqn.source_info)
    again = jex.JaxprEqn(eqn.invars, eqn.outvars, eqn.primitive, eqn.params, eqn.effects, eqn.source_info, eqn.ctx)
    for same in (again, eqn.replace(), eqn.replace(effects=eqn.effects, source_info=eqn.source_info, ctx=eqn.ctx)):
        assert (same.invars, same.outvars, same.primitive, same.params) == (eqn.invars, eqn.outvars, eqn.primitive, eqn.params)
        assert same.effects == eqn.effects and same.source_info == eqn.source_info
    assert str(closed.map_jaxpr(lambda j: jaxpr)) == jaxpr.pretty_print() and jaxpr.debug_info is closed.debug_info
    with pytest.raises(TypeError, match=r"Jaxpr\.replace changes .* got \['equations'\]"):
        jaxpr.replace(equations=[])
    with pytest.raises(NotImplementedError, match="is_high"):
        jex.Jaxpr([], [], [], [], is_high=True)


def test_parts_of_programs() -> None:
    closed = nj.make_jaxpr(nj.jit(lambda x: lax.cond(x > 0, jnp.sin, jnp.cos, x)))(1.0)
    (inner,) = jex.subjaxprs(closed.jaxpr)
    branches = list(jex.jaxprs_in_params(inner.eqns[-1].params))
    assert [b.eqns[0].primitive for b in branches] == [primitives.cos_p, primitives.sin_p]
    assert isinstance(closed.eqns[0].primitive, jex.Primitive) and closed.eqns[0].primitive is primitives.jit_p
    assert (closed.invars, closed.outvars, closed.constvars) == (closed.jaxpr.invars, closed.jaxpr.outvars, [])
    assert jex.Literal(np.float32(1), F32).hash == jex.Literal(np.float32(1), F32).hash
    assert isinstance(closed.debug_info.func_src_info, str) and closed.debug_info.arg_names == ("x",)
    info = jex.DebugInfo("jit", "f at here.py:1", ("x",))
    assert (info.traced_for, info.arg_names, info.result_paths) == ("jit", ("x",), None)
    assert "f at here.py:1" in info.func_src_info


def test_primitives_that_numjet_does_not_have() -> None:
    assert primitives.empty2_p.name == "empty2" and isinstance(primitives.empty2_p, jex.Primitive)
    with pytest.raises(NotImplementedError, match=r"no primitive 'empty2': use numjet\.numpy\.empty"):
        primitives.empty2_p.bind(1.0)


def test_functions_of_equations_with_rules() -> None:
    for fun, count in ((bent, 2), (ruled, 3)):
        (eqn,) = nj.make_jaxpr(fun)(1.0).eqns
        params = eqn.primitive.get_bind_params(eqn.params)
        assert len(params["subfuns"]) == count
        np.testing.assert_allclose(params["subfuns"][0].call_wrapped(0.5)[0], fun(0.5), rtol=1e-6)
        again = lambda x, e=eqn, p=params: e.primitive.bind(x, **p)[0]
        np.testing.assert_allclose(nj.grad(again)(0.5), nj.grad(fun)(0.5), rtol=1e-6)


# ------------------------------------------------------------------------------------------------ users' traces

class Counted(Tracer):
    """A value with a number beside it."""

    def __init__(self, trace: Any, value: Any, count: int):
        self._trace, self.value, self.count = trace, value, count

    aval = property(lambda self: aval_of(self.value))

    def full_lower(self) -> Any:
        return self


class CountTrace(Trace):
    """Counts the operations between inputs and results."""

    def __init__(self, parent: Any, tag: Any):
        self.parent_trace, self.tag = parent, tag

    def unwrap(self, x: Any) -> tuple[Any, int]:
        return (x.value, x.count) if isinstance(x, Counted) and x._trace.tag is self.tag else (x, 0)

    def process_primitive(self, primitive: Any, tracers: Any, params: Any) -> Any:
        values, counts = zip(*map(self.unwrap, tracers), strict=True)
        with jex.set_current_trace(self.parent_trace):
            out = primitive.bind(*values, **params)
        count = max(counts) + 1
        return [Counted(self, o, count) for o in out] if primitive.multiple_results else Counted(self, out, count)

    def process_custom_jvp_call(self, primitive: Any, fun: Any, jvp: Any, tracers: Any, *, symbolic_zeros: bool) -> Any:
        return fun.call_wrapped(*tracers)

    def process_custom_vjp_call(self, primitive: Any, fun: Any, fwd: Any, bwd: Any, tracers: Any, *, out_trees: Any,
                                symbolic_zeros: bool) -> Any:
        return fun.call_wrapped(*tracers)


def counted(fun: Callable[..., Any], kind: type[CountTrace] = CountTrace) -> Callable[..., Any]:
    def run(*args: Any) -> Any:
        with jex.take_current_trace() as parent:
            trace = kind(parent, jex.TraceTag())
            with jex.set_current_trace(trace):
                out = fun(*[Counted(trace, a, 0) for a in args])
            trace.invalidate()
        return trace.unwrap(out)
    return run


ruled = nj.custom_vjp(lambda x: jnp.sin(x) * 3)
ruled.defvjp(lambda x: (ruled(x), x), lambda x, ct: (7 * ct,))


@pytest.mark.parametrize(("fun", "count"), [
    (lambda x: x * 2 + 1, 2), (lambda x: jnp.sin(jnp.cos(x)), 2), (nj.jit(lambda x: x + 1 - 2), 1), (bent, 1), (ruled, 2),
])
def test_a_users_trace(fun: Callable[..., Any], count: int) -> None:
    value, found = counted(fun)(jnp.float32(0.5))
    np.testing.assert_allclose(value, fun(0.5), rtol=1e-6)
    assert found == count
    batch = jnp.array([0.1, 0.2])
    np.testing.assert_allclose(nj.vmap(lambda x: counted(fun)(x)[0])(batch), nj.vmap(fun)(batch), rtol=1e-6)
    np.testing.assert_allclose(nj.jit(lambda x: counted(fun)(x)[0])(0.5), fun(0.5), rtol=1e-6)


def test_custom_jvp_of_a_users_functions() -> None:
    fun, jvp = lu.wrap_init(lambda x: [jnp.sin(x)]), lu.wrap_init(lambda x, t: [jnp.sin(x), 5 * t])
    f = lambda x: primitives.custom_jvp_call_p.bind(x, subfuns=(fun, jvp), symbolic_zeros=False)[0]
    for way in (f, nj.jit(f)):
        np.testing.assert_allclose([way(0.5), nj.grad(way)(0.5)], [np.sin(0.5), 5], rtol=1e-6)
    np.testing.assert_allclose(counted(nj.jit(bent))(jnp.float32(0.5))[0], np.tanh(0.5), rtol=1e-6)


def test_a_branch_that_is_known_is_an_operation_of_a_users_trace() -> None:
    seen: list[Any] = []

    class Seeing(CountTrace):
        def process_primitive(self, primitive: Any, tracers: Any, params: Any) -> Any:
            seen.append(primitive)
            return super().process_primitive(primitive, tracers, params)
    out, _ = counted(lambda x: nj.lax.cond(True, jnp.sin, jnp.cos, x), Seeing)(0.5)
    np.testing.assert_allclose(out, np.sin(0.5), rtol=1e-6)
    assert seen == [nj.lax.cond_p]


def test_a_remainder_needs_no_common_dtype_in_a_users_trace() -> None:
    """As in libraries of units, whose rule of `rem` converts its operands to one unit."""
    class InUnits(CountTrace):
        def process_primitive(self, primitive: Any, tracers: Any, params: Any) -> Any:
            values, _ = zip(*map(self.unwrap, tracers), strict=True)
            with jex.set_current_trace(self.parent_trace):
                if primitive is nj.lax.rem_p or (primitive is nj.lax.add_p and values[0].dtype != values[1].dtype):
                    values = tuple(map(jnp.float32, values))
            return super().process_primitive(primitive, values, params)

    def numbers(x: int, y: int) -> float:
        return float(counted(jnp.remainder, InUnits)(jnp.int32(x), jnp.int32(y))[0])
    assert [numbers(7, 3), numbers(-7, 3), numbers(7, -3), numbers(-7, -3), numbers(6, 3)] == [1, 2, -2, -1, 0]


def test_a_trace_without_rules() -> None:
    with jex.set_current_trace(Trace()), pytest.raises(NotImplementedError, match="Trace must define process_primitive"):
        jnp.sin(1.0)
    with pytest.raises(TypeError, match=r"takes a core\.Trace or None, got 3"):
        jex.set_current_trace(3)


# ------------------------------------------------------------------------------------------------ questions about tracing

def test_questions_about_tracing() -> None:
    seen: dict[str, Any] = {}

    def ask(name: str) -> Callable[[Any], Any]:
        def fun(x: Any) -> Any:
            state = jex.get_opaque_trace_state(convention="flax")
            seen[name] = (jex.unsafe_am_i_under_a_jit_DO_NOT_USE(), jex.unsafe_am_i_under_a_vmap_DO_NOT_USE(),
                          jex.unsafe_get_axis_names_DO_NOT_USE(), jex.nonempty_axis_env_DO_NOT_USE(), state == outside,
                          state == jex.get_opaque_trace_state())
            return x
        return fun

    outside = jex.get_opaque_trace_state()
    ask("eager")(1.0)
    nj.jit(ask("jit"))(1.0)
    nj.vmap(ask("vmap"), axis_name="i")(jnp.ones(2))
    nj.grad(ask("grad"))(1.0)
    nj.jit(nj.vmap(ask("both")))(jnp.ones(2))
    assert seen == {"eager": (False, False, [], False, True, True), "jit": (True, False, [], False, False, True),
                    "vmap": (False, True, ["i"], True, False, True), "grad": (False, False, [], False, False, True),
                    "both": (True, True, [], False, False, True)}
    with pytest.raises(TypeError, match="unhashable"):
        hash(outside)


def test_blocks_that_evaluate() -> None:
    def fun(x: Any) -> Any:
        with jex.take_current_trace() as trace:
            assert trace is not jex.find_top_trace() and float(jnp.sin(0.0)) == 0
        assert jex.find_top_trace(x) is trace
        return x
    assert nj.jit(fun)(1.0) == 1


def test_which_values_are_there() -> None:
    seen = []
    def look(x: Any) -> Any:
        seen.append(tuple(map(trace_state.is_concrete, (x, x * 2, jnp.ones(1)))))
        return x * 1.0
    nj.grad(look)(1.0), nj.grad(nj.grad(look))(1.0), nj.jvp(look, (1.0,), (1.0,))
    assert set(seen) == {(True, True, True)} and trace_state.to_concrete_value(2) == 2
    seen.clear()
    nj.jit(look)(1.0), nj.jit(nj.grad(look))(1.0), nj.grad(nj.jit(look))(1.0), nj.make_jaxpr(look)(1.0)
    assert set(seen) == {(False, False, False)}
    seen.clear()
    nj.vmap(look)(jnp.ones(2))
    assert seen == [(False, False, True)]


def test_values_and_types() -> None:
    assert jex.concrete_or_error(int, 3.5) == 3 and jex.concrete_or_error(None, "x") == "x"
    with pytest.raises(nj.errors.ConcretizationTypeError, match="in the test"):
        nj.jit(lambda x: jex.concrete_or_error(int, x, "in the test"))(1)
    assert all(map(jex.valid_jaxtype, (1, 1.0, np.ones(2), jnp.ones(2))))
    assert not any(map(jex.valid_jaxtype, ("a", None, np.array(["a"]))))
    wide = ShapedArray((3, 2), np.dtype("float32"))
    assert jex.mapped_aval(2, -1, wide).shape == (3,) and jex.unmapped_aval(5, 1, wide).shape == (3, 5, 2)
    assert jex.mapped_aval(2, None, wide) is jex.unmapped_aval(2, None, wide) is wide
    with pytest.raises(ValueError, match="does not have 7 elements"):
        jex.mapped_aval(7, 0, wide)
    assert [jex.primal_dtype_to_tangent_dtype(d) for d in (np.int32, np.float32)] == [nj.float0, np.float32]
    assert np.ndarray in jex.array_types and type(jnp.ones(1)) in jex.array_types
    with pytest.raises(TypeError, match="sharding"):
        ShapedArray((), np.float32, sharding="x")
    with pytest.raises(TypeError, match=r"memory_space must be a jax.memory.Space, got 'Device'"):
        ShapedArray((), np.float32, memory_space="Device")
    assert ShapedArray((), np.float32, memory_space=nj.memory.Space.Host).update_weak_type(True).weak_type


def test_types_of_annotations() -> None:
    assert issubclass(type(jnp.ones(1)), nj.Array) and not issubclass(Tracer, nj.Array) and not issubclass(int, nj.Array)
    like = nj.typing.ArrayLike
    assert all(isinstance(x, like) for x in (jnp.ones(1), np.ones(1), 1.0)) and not isinstance("a", like)
    assert nj.jit(lambda x: isinstance(x, nj.Array))(1.0)


# ------------------------------------------------------------------------------------------------ call primitives

def test_call_primitives() -> None:
    prim, fun = jex.CallPrimitive("marked"), lu.wrap_init(lambda x, y: [x * jnp.sin(y), y])
    f = lambda x, y: prim.bind(fun, x, y)[0]
    x = np.array([0.3, 0.7], np.float32)
    for way in (lambda g: g(x, x), lambda g: nj.jit(g)(x, x), lambda g: nj.vmap(g)(x, x),
                lambda g: nj.jit(nj.vmap(nj.grad(g, 1)))(x, x), lambda g: nj.vmap(nj.grad(nj.jit(g)))(x, x)):
        np.testing.assert_allclose(way(f), way(lambda a, b: a * jnp.sin(b)), rtol=1e-6)
    (eqn,) = nj.make_jaxpr(f)(1.0, 2.0).eqns
    params = eqn.primitive.get_bind_params(eqn.params)
    assert list(params) == ["subfuns"] and eqn.primitive.call_primitive
    np.testing.assert_allclose(prim.bind(2.0, 3.0, **params)[0], 2 * np.sin(3), rtol=1e-6)
    np.testing.assert_allclose(primitives.closed_call_p.bind(2.0, 3.0, call_jaxpr=nj.make_jaxpr(f)(1.0, 1.0))[0], 2 * np.sin(3))
    linear = nj.linear_transpose(lambda v: prim.bind(lu.wrap_init(lambda u: [3 * u]), v)[0], 1.0)
    assert float(linear(2.0)[0]) == 6


class WholeTrace(CountTrace):
    """A trace whose choices are made by lax.select_n, as libraries write their rules."""

    def process_primitive(self, primitive: Any, tracers: Any, params: Any) -> Any:
        if primitive is not nj.lax.select_n_p:
            return super().process_primitive(primitive, tracers, params)
        with jex.set_current_trace(self.parent_trace):
            return Counted(self, nj.lax.select_n(*[self.unwrap(x)[0] for x in tracers]), 1)


@pytest.mark.parametrize("fun", [jnp.sinc, lambda x: jnp.heaviside(x, 1.0), jnp.nan_to_num, lambda x: jnp.frexp(x)[1]])
def test_users_traces_get_choices_between_values_of_one_shape(fun: Callable[..., Any]) -> None:
    x = jnp.array([[0.0, 0.3], [-2.0, 5.0]])
    np.testing.assert_allclose(counted(fun, WholeTrace)(x)[0], fun(x), rtol=1e-6)


def test_programs_without_inputs_are_functions_too():
    closed = nj.make_jaxpr(lambda: jnp.ones(2))()
    assert jex.jaxpr_as_fun(closed)()[0].tolist() == [1, 1]
    assert jex.jaxpr_as_fun(nj.make_jaxpr(lambda x, y: x - y)(1.0, 2.0), 5.0)(2.0) == [3.0]
