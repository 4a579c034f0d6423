"""debug_nans and debug_infs: the error names operation, line, pass, iterations, lanes and element; masked values are let be."""
from __future__ import annotations

import importlib.util
import pathlib
from typing import Any

import numpy as np
import pytest

import numjet as nj
import numjet.numpy as jnp
from numjet import lax
from numjet.cpu import compiler
from numjet.foundation.config import Override

EXAMPLES = pathlib.Path(__file__).parents[2] / "examples"


def found(fun: Any, *args: Any) -> Any:
    """The error of a call, whose message begins with the phrase that people search for; None where there is none."""
    try:
        with nj.debug_nans(True):
            nj.block_until_ready(fun(*args))
    except FloatingPointError as error:
        assert str(error).startswith(f"invalid value ({error.kind}) encountered in ")
        assert (error.file or __file__) == __file__
        return error
    return None


def place(error: Any) -> tuple[Any, ...]:
    return error.primitive, error.backward, tuple(i.number for i in error.iterations), error.lanes


def root(w: Any, xs: Any) -> Any:
    """A loop whose derivative is NaN where x is 0."""
    def step(c: Any, x: Any) -> tuple[Any, Any]:
        return 0.9 * c + jnp.sqrt(x * w), jnp.sin(c)
    c, ys = lax.scan(step, 0.0, xs)
    return c + jnp.sum(ys)


W, XS = np.ones(5, np.float32), np.ones((5, 9), np.float32)
XS[3, 7] = 0
WS, XSS = np.ones((4, 5), np.float32), np.ones((4, 5, 9), np.float32)
XSS[2, 3, 7] = 0


def test_the_example() -> None:
    spec = importlib.util.spec_from_file_location("nan_location", EXAMPLES / "nan_location.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    error: Any = module.locate()
    line = module.energy.__code__.co_firstlineno + 3
    assert place(error) == ("mul", True, (737,), (12,)) and error.line == line
    assert (f"encountered in mul at {error.file}:{line} in energy.<locals>.step, in the backward pass, iteration 737 of a scan "
            "of 1000 steps, lane 12 of a vmap of 32") in str(error)
    assert not np.isnan(module.run()["gradients"]).any()


@pytest.mark.parametrize(("fun", "args", "expected"), [
    (nj.vmap(nj.grad(root)), (W, XS), ((7,), (3,))),
    (nj.grad(lambda w, xs: nj.vmap(root)(w, xs).sum()), (W, XS), ((7,), (3,))),
    (nj.grad(lambda w, xs: nj.vmap(lambda x: root(w, x))(xs).sum()), (1.0, XS), ((7,), (3,))),
    (nj.grad(lambda w, xs: nj.vmap(nj.jit(root))(w, xs).sum()), (W, XS), ((7,), (3,))),
    (nj.vmap(nj.grad(nj.checkpoint(root))), (W, XS), ((7,), (3,))),
    (nj.vmap(nj.vmap(nj.grad(root))), (WS, XSS), ((7,), (2, 3))),
    (nj.vmap(nj.vmap(nj.grad(root)), in_axes=1, out_axes=1), (WS, XSS), ((7,), (3, 2))),
    (nj.vmap(lambda w, xs: nj.grad(lambda w: nj.vmap(root)(w, xs).sum())(w)), (WS, XSS), ((7,), (2, 3))),
], ids=["vmap of grad", "grad of vmap", "shared operand", "jit inside", "checkpoint", "two vmaps", "other axes",
        "vmap of grad of vmap"])
@pytest.mark.parametrize("compiled", [True, False])
def test_backward_passes_of_loops_under_vmap(fun: Any, args: Any, expected: Any, compiled: bool) -> None:
    error = found(nj.jit(fun) if compiled else fun, *args)
    assert place(error) == ("mul", True, *expected)
    assert error.line == root.__code__.co_firstlineno + 3


def outer_inner(x: Any) -> Any:
    inner = lambda i, c: lax.fori_loop(0, 4, lambda j, d: jnp.where((i == 3) & (j == 2), jnp.log(-d), d), c)
    return lax.fori_loop(0, 5, inner, x)


def in_branch(x: Any) -> Any:
    return lax.scan(lambda c, i: (lax.cond(i == 4, lambda c: jnp.sqrt(-c), lambda c: c, c), c), x, jnp.arange(6))[1]


@pytest.mark.parametrize(("fun", "arg", "expected"), [
    (lambda x: jnp.log(x) * 2, -1.0, ("log", False, (), ())),
    (nj.vmap(lambda x: jnp.log(x) * 2), np.float32([1, 2, -1]), ("log", False, (), (2,))),
    (outer_inner, 2.5, ("log", False, (3, 2), ())),
    (nj.vmap(outer_inner), np.float32([-1, 2.5]), ("log", False, (3, 2), (1,))),
    (lambda x: lax.scan(lambda c, x: (c, jnp.sqrt(x)), 0.0, x)[1], np.float32([1, 2, -1, 4]), ("sqrt", False, (2,), ())),
    (lambda x: lax.scan(lambda c, x: (c, jnp.sqrt(x)), 0.0, x, reverse=True)[1], np.float32([1, -1, 2]),
     ("sqrt", False, (1,), ())),
    (lambda x: lax.while_loop(lambda c: c[0] < 10, lambda c: (c[0] + 1, jnp.sqrt(c[1] - 1)), (0, x)), 2.5,
     ("sqrt", False, (2,), ())),
    (in_branch, 2.0, ("sqrt", False, (4,), ())),
    (nj.grad(lambda x: lax.cond(x > 0, lambda x: jnp.sqrt(x - 1) * (x - 1), lambda x: x, x)), 1.0, ("div", True, (), ())),
    (lambda x: nj.jvp(lambda w: root(w, XS[3]), (x,), (x,)), 1.0, ("div", False, (7,), ())),
])
def test_forward_passes_loops_and_branches(fun: Any, arg: Any, expected: Any) -> None:
    assert place(found(nj.jit(fun), arg)) == expected


def test_a_loop_of_unknown_length_counts_backwards_from_its_end() -> None:
    def f(n: Any, w: Any) -> Any:
        return lax.fori_loop(0, n, lambda i, c: c + jnp.sqrt(jnp.where(i == 7, 0.0, 1.0) * w) * c, 1.0)
    error = found(nj.jit(nj.grad(f, 1)), 20, 1.0)
    assert error.backward and "iteration 12 from the end of a while loop" in str(error)


def test_rules_of_users_belong_to_the_backward_pass() -> None:
    f = nj.custom_vjp(lambda x: x * 2)
    f.defvjp(lambda x: (x * 2, x), lambda x, g: (g * jnp.log(x - 2),))
    error = found(nj.jit(nj.vmap(nj.grad(f))), np.float32([3, 1, 3]))
    assert place(error) == ("log", True, (), (1,))


MASKED = [
    (lambda x: jnp.where(x > 0, jnp.log(x), 0), ("log", False, (), ())),
    (lambda x: jnp.where(x > 0, lax.scan(lambda c, x: (c, jnp.log(x)), 0.0, x)[1], 0), ("log", False, (1,), ())),
    (lambda x: lax.fori_loop(0, 6, lambda i, c: jnp.where(i == 5, 1.0, jnp.where(i == 3, jnp.log(-c), c)), x),
     ("log", False, (0,), ())),
]


@pytest.mark.parametrize(("fun", "seen"), MASKED)
def test_values_that_a_later_where_masks_are_let_be_unless_asked_for(fun: Any, seen: Any) -> None:
    x = np.float32([1, -1])
    assert found(nj.jit(fun), x) is None
    with Override("numjet_debug_masked_nans", True):
        assert place(found(nj.jit(fun), x)) == seen


def test_masked_values_do_not_hide_others() -> None:
    error = found(nj.jit(lambda x: (jnp.where(x > 0, jnp.log(x), 0), jnp.sqrt(-x - 1))), np.float32([1, -1]))
    assert error.primitive == "sqrt" and error.index == (0,)

    def body(c: Any, i: Any) -> tuple[Any, Any]:
        masked = jnp.where(i == 2, jnp.log(-c), c)
        return jnp.where(i == 3, 1.0, masked), jnp.where(i == 4, jnp.sqrt(-c), 0)
    error = found(nj.jit(lambda x: lax.scan(body, x, jnp.arange(6))), 1.0)
    assert place(error) == ("sqrt", False, (4,), ())


def test_arguments_and_constants() -> None:
    error = found(nj.jit(lambda x: x * 2), np.float32([1, np.nan]))
    assert "Argument number 0 of the program holds it already" in str(error) and error.index == (1,)
    error = found(nj.jit(lambda x: jnp.where(x > 0, x, jnp.nan)), np.float32([1, -1]))
    assert error.primitive == "select_n" and error.index == (1,)


def test_which_kind() -> None:
    with nj.debug_infs(True):
        assert found(nj.jit(lambda x: jnp.log(x)), np.zeros(3, np.float32)).kind == "inf"
        assert found(nj.jit(lambda x: jnp.sqrt(x - 1)), np.zeros(3, np.float32)).kind == "nan"
        assert found(lambda x: jnp.log(x), np.zeros(3, np.float32)).kind == "inf"


_MASK = np.array([True, False, True])


@pytest.mark.parametrize("fun", [
    lambda x: jnp.max(x, where=_MASK, initial=-np.inf), lambda x: jnp.min(x, where=_MASK, initial=9),
    lambda x: nj.nn.logsumexp(x, where=_MASK), lambda x: nj.nn.softmax(x, where=_MASK),
    lambda x: nj.grad(lambda x: nj.nn.logsumexp(x, where=_MASK))(x),
    lambda x: nj.vmap(lambda y: jnp.max(x, where=y, initial=0))(_MASK),
    lambda x: nj.random.binomial(nj.random.key(0), 10.0, 0.3, (3,)), lambda x: jnp.nanmax(x), lambda x: jnp.nanargmin(x)])
def test_what_a_library_function_masks_is_let_be(fun: Any) -> None:
    x = np.float32([1, 2, 3])
    expected = np.asarray(fun(x))
    with nj.debug_infs(True), nj.debug_nans(True):
        np.testing.assert_allclose(fun(x), expected, rtol=1e-6)
    with nj.debug_infs(True):
        error = found(lambda x: jnp.max(x, where=_MASK, initial=0), np.float32([1, 2, np.inf]))
        assert error.kind == "inf"


def test_programs_are_as_before_when_the_flag_is_off() -> None:
    f = nj.jit(nj.vmap(lambda x: jnp.log(x)))
    text = lambda: compiler.as_text(nj.make_jaxpr(f)(np.ones(3, np.float32)), "f")
    before = text()
    with nj.debug_nans(True):
        assert text() != before
    assert text() == before
    assert np.isnan(f(-np.ones(3, np.float32))).all()


@pytest.mark.parametrize("make", [
    lambda: jnp.array([1.0, np.nan]), lambda: jnp.asarray(np.nan), lambda: jnp.array(np.array([0, np.nan])),
    lambda: jnp.asarray([[np.nan]], jnp.float16), lambda: jnp.float32(np.nan), lambda: jnp.array([complex(0, np.nan)])])
def test_arrays_made_of_invalid_values(make):
    error = found(make)
    assert error.primitive in ("array", "convert_element_type") and error.line
    assert np.isnan(make()).any()


def test_copies_of_invalid_arrays():
    x = jnp.array([1.0, np.nan])
    assert found(jnp.array, x).primitive == found(x.copy).primitive == "copy"
    assert found(jnp.asarray, x) is None  # no copy: nothing is made
    with nj.debug_infs(True), pytest.raises(FloatingPointError, match=r"invalid value \(inf\) encountered in array"):
        jnp.array([np.inf])


def test_invalid_results_of_a_branch_chosen_eagerly() -> None:
    """It may hold them as literals, and so run no operation."""
    branches = lambda: np.nan, lambda: 2.0
    assert found(lambda: lax.cond(True, *branches)).primitive == "cond"
    assert found(lambda: lax.switch(0, branches)).primitive == "cond"
    assert found(lambda: lax.cond(False, *branches)) is None


def test_errors_of_shards_say_so() -> None:
    """After the place where the value was made."""
    spec = nj.sharding.PartitionSpec("x")
    mesh = nj.make_mesh((1,), ("x",))
    run = nj.shard_map(lambda x: 0 / x, mesh=mesh, in_specs=spec, out_specs=spec)
    assert found(run, jnp.ones(1)) is None
    error = found(run, jnp.zeros(1))
    assert error.primitive == "div" and str(error).endswith("Invalid value (nan) encountered in sharded computation.")
