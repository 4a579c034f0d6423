"""core.printer and core.parse: programs print, read back and print the same, and compute the same."""
from __future__ import annotations

import enum
import re

import numpy as np
import pytest

import numjet as nj
import numjet.numpy as jnp
from numjet import lax
from numjet.control import checkpoint_name
from numjet.core.check import check_jaxpr
from numjet.core.ir import ClosedJaxpr, Jaxpr
from numjet.core.op import all_ops
from numjet.core.parse import parse_jaxpr
from numjet.core.printer import jaxpr_text
from numjet.core.printing_rules import register_parameter_type
from numjet.core.trace import aval_of
from numjet.core.walk import eval_closed
from numjet.runtime import dispatch
from numjet.testing.records import cases

F32 = np.float32
X = np.array([0.5, -1.0, 2.0], F32)
M = np.arange(6, dtype=F32).reshape(2, 3)


def same_values(a, b):
    for x, y in zip(a, b, strict=True):
        np.testing.assert_array_equal(np.asarray(x), np.asarray(y))
        assert np.asarray(x).dtype == np.asarray(y).dtype


def round_trip(closed: ClosedJaxpr) -> ClosedJaxpr:
    text = str(closed)
    parsed = parse_jaxpr(text, closed.consts)
    assert str(parsed) == text
    check_jaxpr(parsed)
    return parsed


@pytest.mark.parametrize("name", sorted(n for n, op in all_ops().items() if not op.programs))
def test_records(name):
    op = all_ops()[name]
    for case in cases(op, limit=6):
        closed = dispatch.one_equation(op, [aval_of(x) for x in case.operands], case.params)
        parsed = round_trip(closed)
        if not op.compiled:
            same_values(eval_closed(closed, *case.operands), eval_closed(parsed, *case.operands))


def _nested(x):
    def outer(c, t):
        inner, ys = lax.scan(lambda d, u: (d * 0.5 + u, lax.sin(d)), c, M[0])
        return lax.cond(inner > 0, lambda v: v + t, lambda v: v - t, inner), ys
    c, ys = lax.scan(outer, F32(0.1), x)
    return lax.while_loop(lambda s: s[0] < 10, lambda s: (s[0] * 2 + 1, s[1] + s[0]), (c * c, 0.0)), ys


def _shared(x):
    f = nj.jit(lambda y: lax.sin(y) + 1.0)
    g = nj.jit(lambda y: f(y) * f(f(y)))
    return g(x) + f(x) + g(g(x))


PROGRAMS = {
    "empty": (lambda x: x, X), "no result": (lambda x: (), X), "literal result": (lambda x: (1.5, x), X),
    "literals": (lambda x: (x * 0.1, x + 1e30, x * -0.0, x - float("inf"), x * float("nan"), x * 1j), X),
    "bools": (lambda b: b & True, np.bool_(True)), "nested": (_nested, X), "shared": (_shared, X),
    "constants": (lambda x: x + M, X), "keys": (lambda x: nj.lax.sub(x, np.float16(0.1)), np.float16(1)),
    "branches": (lambda i, x: lax.switch(i, [lax.sin, lax.cos, lambda v: v * 2], x), np.int32(1), X),
    "checkpoint": (nj.checkpoint(lambda x: lax.sin(lax.cos(x))), X),
    "gradient": (nj.grad(lambda x: jnp.sum(lax.scan(lambda c, t: (c * t, c + t), 1.0, x)[1])), X),
    "integers": (lambda i: i * 3 - 7, np.int32(5)), "many inputs": (lambda *xs: sum(xs), *[X] * 40),
    "names": (lambda x: checkpoint_name(x, "two words"), X),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name):
    fun, *args = PROGRAMS[name]
    closed = nj.make_jaxpr(fun)(*args)
    parsed = round_trip(closed)
    same_values(eval_closed(closed, *args), eval_closed(parsed, *args))


def test_a_shared_program_is_one_object():
    parsed = round_trip(nj.make_jaxpr(_shared)(X))
    called = [e.params["jaxpr"] for e in parsed.eqns if e.primitive.name == "jit"]
    assert called[0].jaxpr is called[2].jaxpr


def test_a_program_held_twice_is_printed_twice():
    round_trip(nj.make_jaxpr(lambda x: x.at[np.array([0])].add(1.0).at[np.array([1])].add(2.0))(X))


def test_texts_as_jax_prints_them():
    f = nj.jit(lambda x: x + 1)
    assert str(nj.make_jaxpr(lambda x: x * 0.1)(X)) == (
        "{ lambda ; a:f32[3]. let b:f32[3] = mul a 0.10000000149011612:f32[] in (b,) }")
    assert str(nj.make_jaxpr(lambda x: (lax.sin(x), 1.0)[1])(X)) == (
        "{ lambda ; a:f32[3]. let _:f32[3] = sin a in (1.0:f32[],) }")
    assert str(nj.make_jaxpr(lambda x: x)(X)) == "{ lambda ; a:f32[3]. let  in (a,) }"
    assert str(nj.make_jaxpr(lambda x: f(f(x)))(X)) == """\
let lambda = { lambda ; a:f32[3]. let b:f32[3] = add a 1.0:f32[] in (b,) } in
{ lambda ; c:f32[3]. let
    d:f32[3] = jit[name=<lambda> jaxpr=lambda] c
    e:f32[3] = jit[name=<lambda> jaxpr=lambda] d
  in (e,) }"""
    assert str(nj.make_jaxpr(lambda x: lax.broadcast_in_dim(x, (2, 3), (1,)))(X)) == """\
{ lambda ; a:f32[3]. let
    b:f32[2,3] = broadcast_in_dim[broadcast_dimensions=(1,)] a
  in (b,) }"""


def test_lines_of_users_are_skipped_when_reading():
    closed = nj.make_jaxpr(lambda x: lax.sin(x) * 2)(X)
    text = jaxpr_text(closed, sources=True)
    assert "# test_parse.py:" in text
    assert str(parse_jaxpr(text)) == str(closed)


def test_names_of_scopes_stand_behind_equations():
    def g(x):
        with nj.named_scope("outer"), nj.named_scope("inner"):
            y = lax.sin(x)
        return nj.named_call(lax.cos, name="called")(nj.jit(nj.named_scope("of jit")(lax.tan))(y))

    closed = nj.make_jaxpr(g)(1.0)
    for program in (closed, closed.jaxpr):
        assert program.pretty_print(name_stack=True) == """\
{ lambda ; a:f32[]. let
    b:f32[] = sin a  # [outer/inner]
    c:f32[] = jit[
      name=tan
      jaxpr={ lambda ; b:f32[]. let
          c:f32[] = tan b  # [of jit]
        in (c,) }
    ] b
    d:f32[] = cos c  # [called]
  in (d,) }"""
    assert closed.pretty_print(print_shapes=False).splitlines()[1] == "    b = sin a"
    text = closed.pretty_print(name_stack=True, source_info=True)
    assert "# test_parse.py:" in text and "[of jit]" in text and str(parse_jaxpr(text)) == str(closed)
    assert "jaxpr={" in closed.pretty_print(custom_pp_eqn_rules=False, width=1000)
    colored = closed.pretty_print(use_color=True, source_info=True)
    assert "\x1b[34;1mlet\x1b[39;22m" in colored and "b\x1b[35m:f32[]\x1b[39m = sin a\x1b[2m  # test_parse.py" in colored
    assert re.sub(r"\x1b\[[0-9;]*m", "", colored) == closed.pretty_print(source_info=True)  # with the same line breaks


def test_weak_types_are_what_operations_give():
    closed = nj.make_jaxpr(lambda x: lax.fori_loop(0, 3, lambda i, c: c + i, x))(1.0)
    round_trip(closed)


def test_functions_cannot_be_read():
    @nj.custom_jvp
    def f(x):
        return x * 2
    f.defjvp(lambda p, t: (f(*p), t[0] * 2))
    text = str(nj.make_jaxpr(f)(X))
    with pytest.raises(ValueError, match=r"parameter 'jvp' of custom_jvp_call is a Python function"):
        parse_jaxpr(text)


@pytest.mark.parametrize(("text", "message"), [
    ("", "expected '{' at line 1, found 'the end'"),
    ("{ lambda ; a:f32[3]. let b:f32[3] = sine a in (b,) }", "an operation of the registry before this .not 'sine'."),
    ("{ lambda ; a:f32[3]. let b:f32[4] = sin a in (b,) }",
     r"sin before this to have results of type f32\[3\] \(not f32\[4\]\)"),
    ("{ lambda ; a:f32[3]. let b:f32[3] = sin c in (b,) }", "a bound variable .not 'c'."),
    ("{ lambda ; a:f33[3]. let  in (a,) }", "a dtype before this .not 'f33'."),
    ("{ lambda ; a:f32[3]. let\n b:f32[3] = rev a in (b,) }", r"parameters \['dimensions'\] of rev before this at line 2"),
    ("{ lambda ; a:f32[3]. let  in (a,) } x", "nothing more at line 1, found 'x'"),
    ("{ lambda ; a:f32[] a:f32[]. let  in (a,) }", "'a' is bound already"),
    ("{ lambda ; a:f32[3]. let b:i32[3] = round[rounding_method=Unknown(x=1)] a in (b,) }", "class that was registered"),
])
def test_errors(text, message):
    with pytest.raises(ValueError, match=message):
        parse_jaxpr(text)


def test_constants_are_given():
    closed = nj.make_jaxpr(lambda x: x + M)(X)
    with pytest.raises(ValueError, match="has 1 constants, got 0 values"):
        parse_jaxpr(str(closed))


def test_parameter_types():
    class Colour(enum.Enum):
        RED = 1
    assert register_parameter_type(Colour) is Colour
    with pytest.raises(TypeError, match="takes enums and NamedTuples"):
        register_parameter_type(int)


def test_jaxprs_without_constants_of_their_own_stay_jaxprs():
    closed = nj.make_jaxpr(lambda x: x.at[np.array([0])].add(1.0))(X)
    eqn = next(e for e in closed.eqns if e.primitive.name == "scatter-add")
    parsed = next(e for e in round_trip(closed).eqns if e.primitive.name == "scatter-add")
    assert type(eqn.params["update_jaxpr"]) is type(parsed.params["update_jaxpr"]) is Jaxpr
