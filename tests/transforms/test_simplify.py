"""transforms.simplify: what programs become, that values stay bit for bit, and that the pass is linear."""
from __future__ import annotations

import numpy as np
import pytest

import numjet as nj
from numjet import lax
from numjet.control import checkpoint_name
from numjet.core.check import check_jaxpr
from numjet.core.ir import ClosedJaxpr, Literal
from numjet.core.walk import all_eqns, eval_closed
from numjet.testing import generator, programs, verdict
from numjet.transforms import simplify as module
from numjet.transforms.simplify import simplify
from numjet.transforms.value_numbering import value_key

F32 = np.float32
X = np.array([0.5, -1.0, 2.0], F32)
SPECIAL = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-45, 3.5, -1.0], F32)
INTS = np.array([0, 1, -1, 2**31 - 1, -2**31, 7], np.int32)


def simplified(fun, *args) -> ClosedJaxpr:
    """The simplified program of a function, checked to be well formed and to compute the same."""
    closed = nj.make_jaxpr(fun)(*args)
    made = simplify(closed)
    check_jaxpr(made)
    assert made.in_avals == closed.in_avals
    assert made.out_avals == closed.out_avals
    with nj.disable_jit():
        pairs = list(zip(eval_closed(made, *args), eval_closed(closed, *args), strict=True))
    for x, y in pairs:
        np.testing.assert_array_equal(np.asarray(x).reshape(-1).view(np.uint8), np.asarray(y).reshape(-1).view(np.uint8))
    return made


def names(closed: ClosedJaxpr, inner: bool = False) -> list[str]:
    return [e.primitive.name for e in (all_eqns(closed.jaxpr) if inner else closed.eqns)]


# ------------------------------------------------------------------------------------------------ products

PRODUCTS = [((3, 4), (4, 5), (((1,), (0,)), ((), ())), (1, 0)),
            ((6, 3, 4), (6, 5, 4), (((2,), (2,)), ((0,), (0,))), (0, 2, 1)),
            ((3, 2, 4), (4, 5), (((2,), (0,)), ((), ())), (2, 0, 1)),
            ((4, 3), (2, 4, 5), (((0,), (1,)), ((), ())), (1, 2, 0))]


@pytest.mark.parametrize("left, right, numbers, order", PRODUCTS, ids=str)
def test_transposed_products_are_turned(left, right, numbers, order):
    x, y = (np.arange(np.prod(s), dtype=F32).reshape(s) - 5 for s in (left, right))
    made = simplified(lambda a, b: lax.transpose(lax.dot_general(a, b, numbers), order), x, y)
    assert names(made) == ["dot_general"]


def test_products_that_stay():
    x, y, z = np.ones((3, 4), F32), np.ones((4, 5), F32), np.ones((2, 3, 4), F32)
    assert names(simplified(lambda a, b: (a @ b, (a @ b).T), x, y)) == ["dot_general", "transpose"]
    whole = (((2,), (0,)), ((), ()))
    kept = simplified(lambda a, b: lax.transpose(lax.dot_general(a, b, whole), (1, 0, 2)), z, y)
    assert names(kept) == ["dot_general", "transpose"]


def test_the_gradient_of_a_weight_on_the_right_needs_no_transpose():
    made = simplified(nj.grad(lambda w, x: (x @ w).sum()), np.ones((4, 5), F32), np.ones((3, 4), F32))
    assert "transpose" not in names(made, inner=True)


# ------------------------------------------------------------------------------------------------ calls

def test_calls_are_written_out():
    f = nj.jit(lambda x: lax.sin(x) * 2)

    @nj.custom_jvp
    def g(x):
        return f(x) + 1
    g.defjvp(lambda p, t: (g(*p), t[0]))

    @nj.custom_vjp
    def h(x):
        return lax.cos(x)
    h.defvjp(lambda x: (h(x), None), lambda _, ct: (ct,))
    assert names(simplified(lambda x: h(nj.jit(g)(x)), X)) == ["sin", "mul", "add", "cos"]


def test_one_program_called_twice_is_written_down_twice():
    f = nj.jit(lambda x: lax.sin(x))
    made = simplified(lambda x: f(f(x)), X)
    assert names(made) == ["sin", "sin"]
    assert made.eqns[1].invars[0] is made.eqns[0].outvars[0]


def test_constants_of_calls_are_embedded():
    table = np.arange(3, dtype=F32)
    made = simplified(lambda x: nj.jit(lambda y: y + table)(x), X)
    assert names(made) == ["add"]
    assert len(made.consts) == 1


def test_checkpoints_stay_unless_they_may_be_merged():
    f = lambda x: lax.sin(lax.cos(x))
    kept = simplified(lambda x: (nj.checkpoint(f)(x), nj.checkpoint(f)(x)), X)
    assert names(kept) == ["remat2", "remat2"]
    merged = simplified(lambda x: (nj.checkpoint(f, prevent_cse=False)(x), f(x)), X)
    assert names(merged) == ["cos", "sin"]


# ------------------------------------------------------------------------------------------------ repetitions

def test_equal_equations_are_one():
    assert names(simplified(lambda x: lax.sin(x) + lax.sin(x), X)) == ["sin", "add"]
    assert names(simplified(lambda x: lax.sort((x, x), num_keys=1)[0] + lax.sort((x, x), num_keys=1)[1], X)) == ["sort", "add"]


def test_different_parameters_and_operands_are_not_equal():
    made = simplified(lambda x: (lax.cumsum(x), lax.cumsum(x, reverse=True), x * 0.0, x * -0.0, x - 1, 1 - x), X)
    assert names(made) == ["cumsum", "cumsum", "mul", "mul", "sub", "sub"]


def test_loops_over_the_same_are_one():
    body = lambda c, t: (c * t, c)
    assert names(simplified(lambda x: (lax.scan(body, 1.0, x), lax.scan(body, 1.0, x)), X)) == ["scan"]


def test_nothing_is_shared_between_programs_inside():
    def f(x):
        return lax.cond(x[0] > 0, lambda: lax.sin(x), lambda: lax.sin(x) * 2)
    assert names(simplified(f, X), inner=True).count("sin") == 2


def test_keys_tell_types_and_signs_apart():
    assert len({value_key(v) for v in (0, 0.0, -0.0, False, None, "", (), ())}) == 7
    assert value_key(float("nan")) == value_key(float("nan"))
    assert value_key([1, (2.0,)]) == value_key([1, (2.0,)]) != value_key([1, (2,)])
    assert value_key(np.arange(3)) == value_key(np.arange(3)) != value_key(np.arange(4))


def test_effects_stay_in_order(capfd):
    def f(x):
        nj.debug.print("{x}", x=x, ordered=True)
        nj.debug.print("{x}", x=x, ordered=True)
        return nj.jit(lambda y: y)(x)
    closed = simplify(nj.make_jaxpr(f)(F32(1)))
    assert names(closed) == ["debug_print", "debug_print"]
    check_jaxpr(closed)


# ------------------------------------------------------------------------------------------------ folding

def test_known_scalars_are_computed():
    made = simplified(lambda x: x * lax.exp(F32(2.0)), X)
    assert names(made) == ["mul"]
    assert isinstance(made.eqns[0].invars[1], Literal)


def test_results_may_be_known():
    made = simplified(lambda x: lax.sin(F32(0.0)), X)
    assert not made.eqns
    assert isinstance(made.jaxpr.outvars[0], Literal)


def test_small_constants_are_computed_large_ones_are_not():
    small, large = np.arange(8, dtype=F32), np.arange(2000, dtype=F32)
    assert names(simplified(lambda: lax.sin(small))) == []
    assert names(simplified(lambda: lax.sin(large))) == ["sin"]
    assert names(simplified(lambda: lax.reduce_sum(np.ones(1 << 19, F32), axes=(0,)))) == ["reduce_sum"]
    assert names(simplified(lambda: lax.broadcast(F32(1), (8,)))) == ["broadcast_in_dim"]


def test_loops_are_never_run():
    made = simplify(nj.make_jaxpr(lambda: lax.while_loop(lambda i: i >= 0, lambda i: lax.rem(i + 1, 5), 0))())
    assert names(made) == ["while"]


def test_python_functions_are_not_called():
    def no(x):
        raise AssertionError("called")
    shape = nj.ShapeDtypeStruct((), F32)
    made = simplify(nj.make_jaxpr(lambda: nj.pure_callback(no, shape, F32(1)))())
    assert names(made) == ["pure_callback"]


def test_a_known_branch_is_chosen():
    f = lambda x, i: lax.switch(i, [lax.sin, lax.cos, lax.tan], x)
    assert names(simplified(lambda x: f(x, np.int32(1)), X)) == ["cos"]
    assert names(simplified(lambda x: f(x, np.int32(9)), X)) == ["tan"]
    assert names(simplified(lambda x: f(x, lax.max(np.int32(-3), np.int32(-4))), X)) == ["sin"]


# ------------------------------------------------------------------------------------------------ identities

T = np.arange(24, dtype=F32).reshape(2, 3, 4)
GONE = {
    "x * 1": (lambda x: x * 1.0, SPECIAL), "1 * x": (lambda x: 1.0 * x, SPECIAL), "x / 1": (lambda x: x / 1.0, SPECIAL),
    "x - 0": (lambda x: x - 0.0, SPECIAL), "x + -0": (lambda x: x + -0.0, SPECIAL), "ints + 0": (lambda x: x + 0, INTS),
    "0 + ints": (lambda x: 0 + x, INTS), "ints * 1": (lambda x: x * 1, INTS), "ints - 0": (lambda x: x - 0, INTS),
    "ints & -1": (lambda x: x & -1, INTS), "ints | 0": (lambda x: x | 0, INTS), "ints ^ 0": (lambda x: x ^ 0, INTS),
    "neg neg": (lambda x: lax.neg(lax.neg(x)), SPECIAL), "not not": (lambda x: ~~x, INTS),
    "rev rev": (lambda x: lax.rev(lax.rev(x, (0,)), (0,)), SPECIAL),
    "transposes": (lambda x: lax.transpose(lax.transpose(x, (2, 0, 1)), (1, 2, 0)), T),
    "reshapes": (lambda x: lax.reshape(lax.reshape(x, (6, 4)), (2, 3, 4)), T),
    "power": (lambda x: lax.integer_pow(x, 1), SPECIAL),
    "splat one": (lambda x: x * lax.broadcast(F32(1), (8,)), SPECIAL), "stop": (lax.stop_gradient, SPECIAL),
    "name": (lambda x: checkpoint_name(x, "a"), SPECIAL), "pad": (lambda x: lax.pad(x, F32(0), [(0, 0, 0)]), SPECIAL),
    "whole slice": (lambda x: lax.dynamic_slice(x, (np.int32(5),), (8,)), SPECIAL),
    "select same": (lambda x: lax.select(x > 0, x, x), SPECIAL), "concatenate": (lambda x: lax.concatenate([x], 0), SPECIAL),
}


@pytest.mark.parametrize("name", GONE)
def test_identities(name):
    fun, x = GONE[name]
    made = simplified(fun, x)
    assert not made.eqns
    assert made.jaxpr.outvars[0] is made.jaxpr.invars[0]


STAYS = {
    "x + 0": (lambda x: x + 0.0, SPECIAL), "x - -0": (lambda x: x - -0.0, SPECIAL), "x * 0": (lambda x: x * 0.0, SPECIAL),
    "0 - x": (lambda x: 0.0 - x, SPECIAL), "1 / x": (lambda x: 1.0 / x, SPECIAL), "x - x": (lambda x: x - x, SPECIAL),
    "x / x": (lambda x: x / x, SPECIAL), "x * -1": (lambda x: x * -1.0, SPECIAL), "ints & 0": (lambda x: x & 1, INTS),
    "narrow and wide": (lambda x: x.astype(np.float16).astype(F32), SPECIAL), "complex": (lambda x: x * (1 + 0j), SPECIAL + 0j),
    "rev of another axis": (lambda x: lax.rev(lax.rev(x, (0,)), (1,)), T),
}


@pytest.mark.parametrize("name", STAYS)
def test_what_is_not_exact_stays(name):
    fun, x = STAYS[name]
    assert simplified(fun, x).eqns


def test_movements_are_joined():
    made = simplified(lambda x: lax.transpose(lax.transpose(x, (2, 0, 1)), (2, 0, 1)), T)
    assert [e.params["permutation"] for e in made.eqns] == [(1, 2, 0)]
    assert names(simplified(lambda x: lax.reshape(lax.reshape(x, (24,)), (4, 6)), T)) == ["reshape"]
    made = simplified(lambda x: lax.broadcast_in_dim(lax.broadcast_in_dim(x, (2, 3), (1,)), (4, 2, 5, 3), (1, 3)), X)
    assert [e.params["broadcast_dimensions"] for e in made.eqns] == [(3,)]


def test_weak_types_of_results_stay():
    made = simplified(lambda x: x * F32(1), 2.0)
    assert not made.out_avals[0].weak_type


def test_rules_hold_at_random():
    for seed in range(16):
        p = generator.Generator(seed, 6, 2, large=False).program()
        with p.context():
            args = programs.arguments(p)
            closed = nj.make_jaxpr(programs.load(p))(*args)
            made = simplify(closed)
            check_jaxpr(made)
            with nj.disable_jit():
                got, want = ([np.asarray(x) for x in eval_closed(c, *map(nj.numpy.asarray, args))] for c in (made, closed))
            assert verdict.compare(got, want, closed, args, verdict.Verdict()) is None, programs.source(p)


# ------------------------------------------------------------------------------------------------ cost

def chain(n: int):
    f = nj.jit(lambda y: lax.sin(y) * 1.0 + 0.5)

    def fun(x):
        for _ in range(n):
            x = f(x) + f(x)
        return x
    return nj.make_jaxpr(fun)(X)


def test_the_pass_is_linear(monkeypatch):
    """Counted, not timed: keys made per equation, with calls that share one program."""
    counts = []
    real = module.equation_key
    monkeypatch.setattr(module, "equation_key", lambda *a: counts.append(1) or real(*a))
    found = []
    for n in (50, 100, 200):
        counts.clear()
        made = simplify(chain(n))
        found.append(len(counts))
        assert len(made.eqns) == 3 * n
    assert found[2] - found[1] == 2 * (found[1] - found[0])


def test_a_program_inside_is_simplified_once(monkeypatch):
    real, calls = module._simplified, []
    monkeypatch.setattr(module, "_simplified", lambda *a, **k: calls.append(1) or real(*a, **k))
    body = lambda c, t: (lax.sin(c) + t, c)

    def f(x):
        c = F32(0)
        for _ in range(10):
            c, _ys = lax.scan(body, c, x)
        return c
    closed = nj.make_jaxpr(f)(X)
    simplify(closed)
    programs_inside = len({id(e.params["jaxpr"]) for e in closed.eqns if e.primitive.name == "scan"})
    assert len(calls) == 1 + programs_inside
