"""while_loop and fori_loop: values, derivatives, batches that stop at different times."""

from __future__ import annotations

import numpy as np
import pytest

import numjet as nj
from numjet import lax
from numjet.control import fori_loop, while_loop
from numjet.core.aval import ShapedArray
from numjet.core.check import check_jaxpr
from numjet.core.stage import trace_to_closed
from numjet.foundation import dtypes, errors
from numjet.foundation.config import disable_jit
from numjet.transforms.dce import dce_jaxpr
from tests.control.calculus import (
    check_derivatives,
    check_vmap,
    equation,
    grad,
    jvp,
    names,
    program,
    staged,
    vmap,
)

F32, I32 = np.float32, np.int32


def grow(x, y):
    """Squares until 100 is passed; the number of steps depends on x."""
    big = lambda c: lax.lt(c[0], np.asarray(100, x.dtype))
    return list(while_loop(big, lambda c: (lax.mul(c[0], lax.mul(x, c[0])), lax.sin(lax.mul(c[1], c[0]))), (x, y)))


def power(n, x):
    return fori_loop(0, n, lambda i, c: lax.mul(c, x), x)


def test_values():
    assert float(while_loop(lambda c: lax.lt(c, F32(100)), lambda c: lax.mul(c, F32(2)), F32(3))) == 192
    assert int(while_loop(lambda c: lax.lt(c, 0), lambda c: lax.add(c, 1), I32(5))) == 5
    a, b = while_loop(lambda c: lax.lt(c[1], F32(20)), lambda c: (c[1], lax.add(c[0], c[1])), (F32(0), F32(1)))
    assert (float(a), float(b)) == (13, 21)


def test_weak_initial_values_take_the_dtype_of_the_body():
    out = while_loop(lambda c: lax.lt(c[0], 3), lambda c: (lax.add(c[0], 1), lax.convert_element_type(c[0], F32)), (0, 0))
    assert [o.dtype for o in out] == [I32, F32] and [float(o) for o in out] == [3, 2]


def test_body_that_returns_constants():
    assert [int(x) for x in while_loop(lambda c: c[0], lambda c: (False, 3), (True, 0))] == [0, 3]


@pytest.mark.parametrize(("lower", "upper", "want"), [(0, 5, 10), (2, 4, 5), (3, 3, 0), (4, 1, 0), (-2, 1, -3)])
def test_fori_loop(lower, upper, want):
    body = lambda i, c: lax.add(c, i)
    assert int(fori_loop(lower, upper, body, I32(0))) == want
    run = staged(lambda a, b: fori_loop(a, b, body, I32(0)), I32(0), I32(0))
    assert int(run(I32(lower), I32(upper))[0]) == want


def test_fori_loop_is_a_scan_for_known_bounds_and_a_while_loop_otherwise():
    known = program(lambda x: power(3, x), F32(0))
    assert names(known, inner=False) == ["scan"] and equation(known, "scan").params["length"] == 3
    assert "while" in names(program(power, I32(0), F32(0)), inner=False)


def test_the_index_of_fori_loop_is_weakly_typed_from_a_python_int():
    total = lambda lower: nj.jit(lambda n: fori_loop(lower, n, lambda i, x: x + i, 0))(I32(3))
    assert total(0).weak_type and not total(I32(0)).weak_type and int(total(0)) == 3
    assert nj.vmap(lambda n: fori_loop(0, n, lambda i, x: x + i, 0))(np.arange(3, dtype=I32)).weak_type


def test_a_condition_on_a_value_without_arrays():
    with pytest.raises(TypeError, match=r"cond_fun must return a boolean scalar, but got pytree PyTreeDef\(None\)"):
        while_loop(lambda c: c, lambda c: c, None)


def test_the_index_of_fori_loop_is_weakly_typed_for_known_bounds():
    seen = []
    fori_loop(np.uint8(0), np.uint8(2), lambda i, c: seen.append(i.aval) or c, F32(0))
    assert all(a.dtype == I32 and a.weak_type for a in seen)
    seen.clear()
    staged(lambda n: fori_loop(0, n, lambda i, c: seen.append(i.aval) or c, F32(0)), np.int8(3))
    assert all(a.dtype == np.int8 and not a.weak_type for a in seen)


# -------------------------------------------------------------------------------------------------------- derivatives


def test_derivatives(x64):
    check_derivatives(grow, [1.5, 0.3])
    check_derivatives(staged(grow, np.float64(0), np.float64(0)), [1.5, 0.3])


def test_derivatives_of_fori_loop_in_both_modes(x64):
    body = lambda i, c: lax.sin(lax.mul(c, lax.convert_element_type(lax.add(i, np.int64(1)), np.float64)))
    check_derivatives(lambda x: fori_loop(0, 4, body, x), [0.7])


def test_derivative_with_a_traced_bound(x64):
    run = staged(power, I32(0), np.float64(0))
    check_derivatives(lambda x: run(I32(4), x), [0.7])


def test_reverse_mode_around_a_loop_that_does_not_depend_on_the_argument():
    count = lambda n: while_loop(lambda c: lax.lt(c, n), lambda c: lax.add(c, F32(1)), F32(0))
    run = staged(lambda n, x: lax.mul(count(n), x), F32(0), F32(0))
    assert float(grad(lambda x: run(F32(3), x))(F32(2))[0]) == 3


def test_reverse_mode_through_known_carries_of_a_loop():
    # Linearized, the loop's primal part is known, and runs; a carry without a tangent stays without.
    def fun(x):
        n, y = while_loop(lambda c: lax.lt(c[0], I32(3)), lambda c: (lax.add(c[0], I32(1)), c[1]), (I32(0), F32(4)))
        return lax.mul(lax.mul(x, y), lax.convert_element_type(n, F32))

    assert float(grad(fun)(F32(2))[0]) == 12


def test_tangent_that_becomes_nonzero_later(x64):
    def fun(x):
        body = lambda c: (lax.add(c[0], I32(1)), lax.add(c[1], c[2]), lax.mul(c[2], x))
        return list(while_loop(lambda c: lax.lt(c[0], I32(4)), body, (I32(0), np.float64(1), np.float64(2))))[1:]

    check_derivatives(fun, [0.7])


# ------------------------------------------------------------------------------------------------------------ batches


def test_batches_that_stop_at_different_times(x64):
    check_vmap(grow, [np.array([1.5, 2.0, 30.0]), np.array([0.1, 0.2, 0.3])])


def test_batches_of_derivatives(x64):
    check_vmap(lambda x, y: jvp_tracers(x, y), [np.array([1.5, 2.0, 30.0]), np.array([0.1, 0.2, 0.3])])


def jvp_tracers(x, y):
    from numjet.lax.tangent import instantiate
    from numjet.transforms.jvp import jvp_flat

    return [instantiate(t) for t in jvp_flat(grow, [x, y], [np.float64(1), np.float64(2)])[1]]


def test_batched_bounds():
    run = staged(power, I32(0), F32(0))
    assert vmap(run, [np.array([0, 1, 3], I32), F32(2)], [0, None], 3)[0].tolist() == [2, 4, 16]
    assert vmap(run, [I32(2), np.array([1, 2, 3], F32)], [None, 0], 3)[0].tolist() == [1, 8, 27]


def test_what_a_batched_loop_passes_on_stays_without_a_batch():
    # The upper bound is carried, and only read: with a batched start it need not be batched.
    run = lambda a, b, x: fori_loop(a, b, lambda i, c: lax.add(c, x), x)
    closed = program(run, I32(0), I32(0), np.zeros(2, F32))
    from numjet.core.walk import eval_closed
    from numjet.transforms.vmap import batch_flat

    batched = trace_to_closed(
        lambda a, b, x: batch_flat(lambda *xs: eval_closed(closed, *xs), 4, [a, b, x], [0, None, None])[0],
        [ShapedArray((4,), np.dtype(I32)), ShapedArray((), np.dtype(I32)), ShapedArray((2,), np.dtype(F32))])
    shapes = [v.aval.shape for v in equation(batched, "while").outvars]
    assert shapes == [(4,), (4,), (), (4, 2)]


def test_a_lane_that_is_done_keeps_its_value_even_where_the_body_would_make_nan():
    fun = lambda x: while_loop(lambda c: lax.gt(c, F32(0.5)), lambda c: lax.sub(lax.sqrt(c), F32(1)), x)
    assert vmap(fun, [np.array([-3.0, 100.0], F32)], [0], 2)[0].tolist() == [-3, lone(fun, 100.0)]


def lone(fun, x):
    return float(fun(F32(x)))


# -------------------------------------------------------------------------------------------------- programs, errors


def test_dead_carries_are_dropped():
    def fun(x):
        body = lambda c: (lax.add(c[0], I32(1)), lax.mul(c[1], x), lax.sin(c[2]))
        return while_loop(lambda c: lax.lt(c[0], I32(3)), body, (I32(0), F32(1), F32(2)))[1]

    thin, _ = dce_jaxpr(program(fun, F32(0)).jaxpr)
    (eqn,) = thin.eqns
    assert len(eqn.outvars) == 2 and "sin" not in names(thin)


def test_dead_equations_of_the_condition_are_dropped_with_what_they_read():
    def fun(x, y):
        def running(c):
            lax.sin(y)  # nothing reads it
            return lax.lt(c[0], I32(3))

        return while_loop(running, lambda c: (lax.add(c[0], I32(1)), lax.mul(c[1], x), c[2]), (I32(0), F32(1), y))[1]

    thin, read = dce_jaxpr(program(fun, F32(2), F32(3)).jaxpr)
    check_jaxpr(thin)
    assert read == [True, False] and "sin" not in names(thin)


def test_carry_types():
    with pytest.raises(TypeError) as e:
        while_loop(lambda c: c["go"], lambda c: {"go": c["go"], "x": lax.reshape(c["x"], (4,))},
                   {"go": np.True_, "x": np.zeros((2, 2), F32)})
    assert "while_loop body function carry input and carry output must have equal types" in str(e.value)
    assert "c['x'] has type float32[2,2]" in str(e.value) and "float32[4]" in str(e.value)


def test_carry_structure():
    with pytest.raises(TypeError, match=r"The input carry c is a <class 'tuple'> but .* pytree leaf"):
        while_loop(lambda c: lax.lt(c[0], 3), lambda c: c[0], (0, 0))
    with pytest.raises(TypeError, match=r"The input carry component loop_carry\[1\] is a pytree leaf but .* <class 'tuple'>"):
        fori_loop(0, 3, lambda i, c: (c, c), F32(0))


@pytest.mark.parametrize(("cond", "text"), [
    (lambda c: c, r"must return a boolean scalar, but got output type\(s\) \[ShapedArray\(int32\[\]"),
    (lambda c: np.array([True, False]), r"ShapedArray\(bool\[2\]\).*jnp.all"),
    (lambda c: (lax.lt(c, 3),), r"must return a boolean scalar, but got pytree")])
def test_conditions(cond, text):
    with pytest.raises(TypeError, match=text):
        while_loop(cond, lambda c: lax.add(c, 1), 0)


def test_not_callable():
    with pytest.raises(TypeError, match="body_fun and cond_fun arguments should be callable"):
        while_loop(lambda c: c, 3, True)
    with pytest.raises(TypeError, match="body_fun argument should be callable"):
        fori_loop(0, 1, 3, True)


def test_bounds():
    with pytest.raises(TypeError, match="arguments to fori_loop must have equal types"):
        fori_loop(0.0, 3, lambda i, c: c, 0)
    with pytest.raises(TypeError, match="must be scalars"):
        fori_loop(0, np.zeros(2, I32), lambda i, c: c, 0)
    with pytest.raises(ValueError, match="Can only use `unroll` in `fori_loop` if the loop bounds are statically known"):
        staged(lambda n: fori_loop(0, n, lambda i, c: c, F32(0), unroll=2), I32(3))


def test_bounds_of_floats():
    """Known ones count by their whole parts, as in JAX; others are compared as they are."""
    for lower, upper, want in ((0.0, 3.0, 4), (0.5, 2.3, 2), (0.0, -3.0, 1), (F32(0.5), np.ceil(F32(2.3)), 4)):
        assert float(fori_loop(lower, upper, lambda i, c: c + i, F32(1))) == want
    assert float(nj.jit(lambda n: fori_loop(F32(0), n, lambda i, c: c + i, F32(1)))(F32(2.5))) == 4
    assert float(nj.jit(lambda n: fori_loop(0.5, n, lambda i, c: c + i, F32(1)))(3.0)) == 5.5
    assert float(nj.grad(lambda x: fori_loop(0.0, 2.3, lambda i, c: c * x, 1.0))(3.0)) == 6
    with pytest.raises(TypeError, match="fori_loop must have equal types, got int32 and float32"):
        fori_loop(0, F32(2), lambda i, c: c, 0)


def test_disable_jit_runs_in_python():
    seen = []
    with disable_jit():
        while_loop(lambda c: c < 3, lambda c: seen.append(c) or c + 1, 0)
        fori_loop(0, 2, lambda i, c: seen.append(int(i)) or c, 0)
    assert seen == [0, 1, 2, 0, 1]


def test_jvp_of_zero_tangents_runs_the_loop_once():
    assert jvp(lambda x: while_loop(lambda c: lax.lt(c, F32(3)), lambda c: lax.add(c, F32(1)), F32(0)), [F32(1)],
               [F32(1)])[0] == 0


@pytest.mark.parametrize(("upper", "position"), [(3, 1), (np.int32(3), 1), ("traced", 2)])
def test_errors_of_fori_loop_speak_of_its_arguments(upper, position):
    run = lambda n: fori_loop(0, n, lambda i, c: (c[0], c[1].astype(int)), (1.0, np.ones(2, np.float32)))
    with pytest.raises(TypeError, match=rf"(?s)loop_carry\[{position}\]\[1\] has type.*The loop is a fori_loop: loop_carry"
                                        rf"\[{position}\] is init_val"):
        nj.jit(run)(3) if upper == "traced" else run(upper)


def test_carries_that_the_body_never_changes_are_its_constants():
    def run(w, x, count):
        body = lambda c: (c[0] + 1, c[1] @ c[2], c[2], c[3])
        return while_loop(lambda c: c[0] < c[3], body, (0, x, w, count))[1:3]

    made = program(run, np.eye(2, dtype=F32), np.ones(2, F32), I32(3))
    found = equation(made, "while")
    assert (found.params["body_nconsts"], len(found.outvars)) == (1, 3)  # the condition reads the count, so it stays
    batched = nj.vmap(run, in_axes=(None, 0, 0), out_axes=(0, None))
    x, w = batched(np.eye(2, dtype=F32), np.ones((4, 2), F32), np.arange(4))
    assert x.shape == (4, 2) and w.shape == (2, 2)


def test_numpy_arrays_are_not_changed_without_jit():
    def run():
        value = np.array(1.0)

        def body(carry):
            x, y = carry
            x += 1
            return x, y + x

        return while_loop(lambda c: c[0] < 10, body, (value, value))[1]

    with disable_jit(True):
        assert run() == 55.0


@pytest.mark.parametrize("dtype", [dtypes.bfloat16, dtypes.int4, np.float16, np.uint8])
def test_bounds_of_any_real_dtype(dtype):
    """Also of those that NumPy has no kind for."""
    bounds = np.asarray(0, dtype), np.asarray(3, dtype)
    run = lambda low, high: fori_loop(low, high, lambda i, x: x + i.astype(np.int32), np.int32(0))
    assert run(*bounds) == nj.jit(run)(*bounds) == 3


def test_a_leaked_index_names_the_fori_loop():
    kept: list[object] = []
    fori_loop(0, 3, lambda i, x: (kept.append(i), x)[1], 1.0)
    with pytest.raises(errors.UnexpectedTracerError, match="traced for fori_loop"):
        kept[0] + 1  # type: ignore[operator]


@pytest.mark.parametrize("unroll", [None, False, 1])
def test_one_step_per_turn_needs_no_known_bounds(unroll):
    assert nj.jit(lambda n: fori_loop(0, n, lambda i, x: x + i, 0, unroll=unroll))(4) == 6


@pytest.mark.parametrize("unroll", [True, 0, 2])
def test_more_steps_per_turn_need_known_bounds(unroll):
    with pytest.raises(ValueError, match="if the loop bounds are statically known"):
        nj.jit(lambda n: fori_loop(0, n, lambda i, x: x + i, 0, unroll=unroll))(4)
