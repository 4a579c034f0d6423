"""custom_jvp: the rule is used under every transformation and in every order of them; the errors of bad rules."""

from __future__ import annotations

import functools

import numpy as np
import pytest

import numjet as nj
from numjet import lax
from numjet.control import SymbolicZero, cond, custom_jvp, scan, while_loop
from numjet.control.custom.custom_calls import zero_from_primal
from numjet.core.walk import eval_closed
from numjet.foundation import dtypes, errors
from tests.control.calculus import check_derivatives, check_vmap, equation, grad, jvp, names, program, staged, vmap

F32 = np.float32


def make():
    """sin(x) y, whose derivative with respect to y is said to be 100 (so that one sees which rule ran)."""

    @custom_jvp
    def f(x, y):
        return lax.mul(lax.sin(x), y)

    @f.defjvp
    def f_jvp(primals, tangents):
        (x, y), (tx, ty) = primals, tangents
        slope = lax.mul(lax.cos(x), y)
        return f(x, y), lax.add(lax.mul(slope, tx), lax.mul(lax.full_like(ty, 100), ty))

    return f


f = make()
A, B = F32(0.5), F32(2)
SLOPE = np.cos(0.5) * 2


def test_evaluation_runs_python():
    @custom_jvp
    def g(x):
        return lax.neg(x) if x < 0 else x

    g.defjvp(lambda p, t: (g(*p), t[0]))
    assert float(g(F32(-2))) == 2


@pytest.mark.parametrize("fun", [f, staged(f, A, B), lambda x, y: cond(True, f, lax.mul, x, y)])
def test_the_rule_is_used(fun):
    assert np.isclose(float(lax.add(*[fun(A, B)[0] if isinstance(fun(A, B), list) else fun(A, B)] * 2)), 4 * np.sin(0.5))
    got = [float(g) for g in grad(fun)(A, B)]
    np.testing.assert_allclose(got, [SLOPE, 100], rtol=1e-6)
    np.testing.assert_allclose(jvp(fun, [A, B], [F32(1), F32(1)])[0], SLOPE + 100, rtol=1e-6)


@pytest.mark.parametrize("loop", ["scan", "while"])
def test_the_rule_is_used_in_loops(loop):
    def in_scan(x, y):
        return scan(lambda c, _: (f(c, y), None), x, None, length=2)[0]

    def in_while(x, y):
        body = lambda c: (lax.add(c[0], np.int32(1)), f(c[1], y))
        return while_loop(lambda c: lax.lt(c[0], np.int32(2)), body, (np.int32(0), x))[1]

    fun = in_scan if loop == "scan" else in_while
    first = np.sin(0.5) * 2
    want = 100 * np.cos(first) * 2 + 100
    np.testing.assert_allclose(jvp(fun, [A, B], [F32(0), F32(1)])[0], want, rtol=1e-5)
    if loop == "scan":
        np.testing.assert_allclose(np.asarray(grad(fun)(A, B)[1]), want, rtol=1e-5)


def test_second_order_differentiates_the_rule():
    second = grad(lambda x, y: grad(f)(x, y)[0])(A, B)
    np.testing.assert_allclose([float(s) for s in second], [-np.sin(0.5) * 2, np.cos(0.5)], rtol=1e-5)
    forward = jvp(lambda x: jvp_of(lambda x: f(x, B), x), [A], [F32(1)])[0]
    np.testing.assert_allclose(forward, -np.sin(0.5) * 2, rtol=1e-5)


def jvp_of(fun, x):
    from numjet.transforms.jvp import jvp_flat

    return jvp_flat(lambda x: [fun(x)], [x], [F32(1)])[1][0]


@pytest.mark.parametrize("in_program", [False, True])
def test_batches(in_program):
    xs, ys = np.array([0.1, 0.2, 0.5], F32), np.array([1, 2, 3], F32)
    fun = staged(f, A, B) if in_program else f
    check_vmap(fun, [xs, ys])
    check_vmap(grad(fun), [xs, ys])
    got = grad(lambda xs, y: batch(fun, xs, y))(xs, B)
    np.testing.assert_allclose(np.asarray(got[0]), np.cos(xs) * 2, rtol=1e-6)
    assert float(got[1]) == 300


def batch(fun, xs, y):
    from numjet.transforms.vmap import batch_flat

    return batch_flat(lambda x, y: flat(fun(x, y)), len(xs.shape) and xs.shape[0], [xs, y], [0, None])[0][0]


def flat(out):
    return out if isinstance(out, list) else [out]


def test_true_derivatives_to_second_order(x64):
    @custom_jvp
    def g(x, y):
        return {"r": lax.mul(lax.exp(x), y)}

    g.defjvp(lambda p, t: (g(*p), {"r": lax.add(lax.mul(g(*p)["r"], t[0]), lax.mul(lax.exp(p[0]), t[1]))}))
    check_derivatives(lambda x, y: g(x, y)["r"], [0.3, 0.8])


def test_defjvps_of_constants_are_not_called():
    """The slope by a constant may be infinite; times a tangent of zeros it would be NaN."""
    g = custom_jvp(lambda x, y: lax.mul(x, y))
    g.defjvps(lambda t, out, x, y: lax.mul(t, y), lambda t, out, x, y: {}[x])
    for mode in (lambda f: f, nj.jit):
        assert float(mode(lambda x: nj.jvp(lambda x: g(x, B), (x,), (x,))[1])(A)) == float(A * B)


def test_defjvps_gets_arrays_for_the_leaves_of_an_argument_without_tangents():
    """Rules are not called for arguments that are not differentiated at all."""
    g = custom_jvp(lambda x, y: lax.add(lax.mul(x["a"], x["b"]), y))
    g.defjvps(lambda t, out, x, y: lax.add(lax.mul(t["a"], x["b"]), lax.mul(t["b"], x["a"])), lambda t, out, x, y: {}[y])
    assert nj.grad(lambda a: g({"a": a, "b": B}, A))(A) == B


def test_defjvps():
    g = custom_jvp(lambda x, y=B: lax.mul(x, y))
    g.defjvps(lambda t, out, x, y: lax.mul(t, F32(7)), None)
    assert [float(v) for v in grad(g)(A, B)] == [7, 0]
    assert float(grad(lambda x: g(x))(A)[0]) == 7 and float(grad(lambda y: g(A, y=y))(B)[0]) == 0
    h = custom_jvp(lambda x: x)
    h.defjvps(None)
    assert float(grad(h)(A)[0]) == 0


def test_nondiff_arguments_by_number_and_by_name():
    for options in ({"nondiff_argnums": (0, 2)}, {"nondiff_argnames": ("fun", "k")}):

        @functools.partial(custom_jvp, **options)
        def g(fun, x, k):
            return fun(x)

        g.defjvp(lambda fun, k, p, t: (fun(p[0]), lax.mul(t[0], F32(k))))
        assert float(grad(lambda x, g=g: g(lax.sin, x, k=5))(A)[0]) == 5
        assert float(staged(lambda x, g=g: g(lax.sin, x, 3), A)(A)[0]) == pytest.approx(np.sin(0.5))


def test_nondiff_arguments_that_are_differentiated_have_derivative_zero():
    @functools.partial(custom_jvp, nondiff_argnums=(0,))
    def g(k, x):
        return lax.mul(k["k"], x)

    g.defjvp(lambda k, p, t: (g(k, *p), lax.mul(t[0], F32(7))))
    assert float(grad(lambda k: g({"k": k}, F32(3)))(A)[0]) == 0
    assert float(grad(lambda k: g({"k": k}, k))(A)[0]) == 7


def test_integer_arguments_have_float0_tangents():
    seen = []
    g = custom_jvp(lambda n, x: lax.mul(x, F32(2)))
    g.defjvp(lambda p, t: seen.append(t[0].dtype) or (g(*p), lax.mul(t[1], F32(2))))
    assert float(grad(lambda x: g(3, x))(A)[0]) == 2
    assert seen[0].names == ("float0",) or "float0" in str(seen[0])


def test_zero_tangents_of_pytrees():
    one, two = zero_from_primal((1, {"a": np.ones(2, np.float32)}))
    assert one.dtype == dtypes.float0 and two["a"].tolist() == [0, 0]
    assert zero_from_primal([1.0], symbolic_zeros=True)[0].dtype == np.float32
    assert SymbolicZero.from_primal_value(1).dtype == dtypes.float0


def test_symbolic_zeros():
    kinds = []
    g = custom_jvp(lambda x, y: lax.mul(x, y))

    def rule(p, t):
        kinds.append([type(v) is SymbolicZero for v in t])
        return g(*p), lax.mul(t[0], p[1]) if type(t[1]) is SymbolicZero else t[1]

    g.defjvp(rule, symbolic_zeros=True)
    assert float(grad(lambda x: g(x, B))(A)[0]) == 2 and kinds == [[False, True]]
    zero = custom_jvp(lambda x: x)
    zero.defjvp(lambda p, t: (p[0], SymbolicZero(p[0].aval if hasattr(p[0], "aval") else _aval(p[0]))), symbolic_zeros=True)
    assert float(grad(zero)(A)[0]) == 0


def _aval(x):
    from numjet.core.trace import aval_of

    return aval_of(x)


def test_methods():
    class Scaled:
        k = F32(3)

        @custom_jvp
        def value(self, x):
            return lax.mul(x, self.k)

    Scaled.value.nondiff_argnums = (0,)
    Scaled.value.defjvp(lambda self, p, t: (self.value(p[0]), lax.mul(t[0], F32(11))))
    assert float(Scaled().value(F32(2))) == 6 and float(grad(Scaled().value)(A)[0]) == 11


def test_the_staged_equation():
    closed = program(f, A, B)
    eqn = equation(closed, "custom_jvp_call")
    assert eqn.params["name"] == "f" and names(eqn.params["call_jaxpr"]) == ["sin", "mul"]
    assert repr(eqn.params["jvp"]) == "f_jvp" and eqn.params["symbolic_zeros"] is False


# ------------------------------------------------------------------------------------------------------------- errors


def with_rule(rule):
    g = custom_jvp(lambda x, y: {"a": lax.mul(x, y)})
    g.defjvp(rule)
    return lambda x: g(x, B)["a"]


@pytest.mark.parametrize(("rule", "text"), [
    (lambda p, t: p[0], "must produce a pair .* representing primal and tangent outputs"),
    (lambda p, t: ({"a": p[0]}, t[0]), "primal and tangent outputs with equal container"),
    (lambda p, t: ({"a": p[0]}, {"a": np.ones(2, F32)}), r"Expected float32\[\] .* but got float32\[2\]"),
    (lambda p, t: ({"a": p[0]}, {"a": np.int32(1)}), r"Expected float32\[\] .* but got int32\[\]")])
def test_bad_rules(rule, text):
    with pytest.raises(TypeError, match=text):
        jvp(with_rule(rule), [A], [F32(1)])


def test_rule_with_another_structure_than_the_function():
    run = staged(with_rule(lambda p, t: ({"b": p[0]}, {"b": t[0]})), A)
    with pytest.raises(TypeError, match=r"of the same container/pytree structure\).*\n.*float32.*\nwhile the"):
        jvp(run, [A], [F32(1)])
    run = staged(with_rule(lambda p, t: ({"a": np.ones(3, F32)}, {"a": np.ones(3, F32)})), A)
    with pytest.raises(TypeError, match=r"shapes/dtypes of:\n    {'a': float32\[3\]}\nwhile the .*\n    {'a': float32\[\]}"):
        jvp(run, [A], [F32(1)])


@pytest.mark.parametrize("stage", [False, True])
def test_results_that_are_the_same_for_a_batch_are_not_mapped(stage):
    @custom_jvp
    def total(x):
        return lax.psum(x, "lanes")

    total.defjvp(lambda xs, ts: (total(*xs), ts[0]))
    run = lambda x: eval_closed(nj.make_jaxpr(total)(x), x)[0] if stage else total(x)
    whole = nj.vmap(lambda _, x: run(x), axis_name="lanes", in_axes=(0, None), out_axes=None)
    assert float(whole(np.arange(4, dtype=F32), A)) == 2
    assert float(nj.grad(lambda x: whole(np.arange(4, dtype=F32), x))(A)) == 1


def test_at_compile_time_the_function_runs_on_known_values():
    g = custom_jvp(lambda x: lax.neg(x) if x < 0 else x)
    g.defjvp(lambda xs, ts: (g(*xs), ts[0]))

    @nj.jit
    def run(y):
        with nj.ensure_compile_time_eval():
            return g(F32(-2)) + y

    assert float(run(A)) == 2.5


def test_no_rule():
    with pytest.raises(AttributeError, match="No JVP defined for custom_jvp function g using defjvp"):
        @custom_jvp
        def g(x):
            return x

        g(A)


def test_derivative_with_respect_to_a_closed_over_value():
    def outer(y):
        g = custom_jvp(lambda x: lax.mul(x, y))
        g.defjvp(lambda p, t: (g(*p), t[0]))
        return g(A)

    with pytest.raises(errors.UnexpectedTracerError):
        grad(outer)(B)
    with pytest.raises(errors.UnexpectedTracerError, match="closes over"):
        grad(staged(outer, B))(B)


def test_defjvps_with_nondiff_argnums():
    with pytest.raises(TypeError, match="defjvps"):
        custom_jvp(lambda k, x: x, nondiff_argnums=(0,)).defjvps(None)


def test_unknown_nondiff_argname():
    with pytest.raises(ValueError, match=r"nondiff_argnames \['z'\] are no parameters"):
        custom_jvp(lambda x: x, nondiff_argnames=("z",))


def test_batched_result_of_a_rule_that_ignores_the_batch():
    g = custom_jvp(lambda x: F32(3))
    g.defjvp(lambda p, t: (F32(3), F32(5)))
    assert vmap(grad(g), [np.zeros(2, F32)], [0], 2)[0].tolist() == [0, 0]


def test_python_numbers_have_dtypes_in_functions():
    """As in JAX: outside of programs, too, under jvp and without transformations. Rules get numbers as they are."""
    seen = []

    @nj.custom_jvp
    def double(x):
        seen.append(x.dtype)
        return x * 2

    @double.defjvp
    def rule(primals, tangents):
        return double(*primals), tangents[0] * 2
    out, tangent = nj.jvp(double, (0.5,), (1.0,))
    assert (float(out), float(tangent)) == (1.0, 2.0) and float(double(3)) == 6.0 and float(nj.grad(double)(0.5)) == 2.0
    assert seen[:2] == [np.float32, np.int32]
    slope = nj.jvp(nj.scipy.special.logit, (0.25,), (1.0,))[1]
    np.testing.assert_allclose(slope, 1 / (0.25 * 0.75), rtol=1e-6)

    @nj.custom_vjp
    def triple(x):
        return x.astype(x.dtype) * 3
    triple.defvjp(lambda x: (triple(x), x.astype(x.dtype)), lambda x, ct: (3 * ct.astype(x.dtype),))
    assert float(triple(0.5)) == 1.5 and float(nj.vjp(triple, 0.5)[1](1.0)[0]) == 3.0
