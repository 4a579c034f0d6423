"""core.check: well-formed programs pass, each kind of fault is found and shown with its equation and line."""
from __future__ import annotations

import numpy as np
import pytest

import numjet as nj
from numjet import lax
from numjet.core.aval import ShapedArray
from numjet.core.check import check_jaxpr
from numjet.core.ir import ClosedJaxpr, Jaxpr, JaxprEqn, Literal, Var
from numjet.core.op import lookup
from numjet.errors import JaxprTypeError
from numjet.foundation import source
from numjet.foundation.config import enable_checks
from numjet.runtime import dispatch

F32 = ShapedArray((3,), "float32")
I32 = ShapedArray((), "int32")
X = np.ones(3, np.float32)


def program(outs=(F32,), op="sin", operands=1, params=None, read=None, **fields) -> Jaxpr:
    """lambda a. b = op a; b, with parts replaced."""
    a = Var(F32)
    results = [Var(v) for v in outs]
    eqn = JaxprEqn([a] * operands if read is None else read, results, lookup(op), params or {}, source_info=source.user_frame())
    made = {"constvars": [], "invars": [a], "outvars": results, "eqns": [eqn], **fields}
    return Jaxpr(**made)


def test_a_good_program():
    check_jaxpr(program())
    check_jaxpr(ClosedJaxpr(program()))


def test_traced_programs_and_their_derivatives():
    def f(x):
        c, ys = lax.scan(lambda c, t: (c * lax.sin(t), c), 1.0, x)
        return lax.cond(c > 0, lambda: c, lambda: lax.reduce_sum(ys, axes=(0,)))
    for g, x in ((f, X), (nj.grad(f), X), (nj.vmap(nj.grad(f)), np.ones((2, 3), np.float32))):
        check_jaxpr(nj.make_jaxpr(g)(x))


@pytest.mark.parametrize(("jaxpr", "message"), [
    (lambda: program(outs=(F32.update(shape=(4,)),)), r"result 0 is bound as ShapedArray\(float32\[4\]\), but the operation "
                                                      r"gives ShapedArray\(float32\[3\]\)"),
    (lambda: program(outs=(F32, F32)), "the equation has 2 results, the operation gives 1"),
    (lambda: program(read=[Var(F32)]), "nothing before binds it"),
    (lambda: program(outvars=[Var(F32)]), "nothing before binds it"),
    (lambda: program(read=["a"]), "neither variable nor literal"),
    (lambda: program(op="add", read=[Literal(1.5, I32)] * 2, outs=(I32,)), "a Python float cannot stand for int32"),
    (lambda: program(read=[Literal(np.float64(1), F32.update(shape=()))], outs=(F32.update(shape=()),)), "has dtype float64"),
    (lambda: program(read=[Literal(X, F32)]), "literals are scalars"),
    (lambda: program(op="rev", params={"dimensions": (5,)}), "in equation:"),
    (lambda: program(effects=frozenset({"print"})), "the program says its effects are {'print'}"),
])
def test_faults(jaxpr, message):
    with pytest.raises(JaxprTypeError, match=message):
        check_jaxpr(jaxpr())


def test_weakness_is_no_fault():
    """It decides promotions while a program is traced; rules that replace operands of it may drop it."""
    check_jaxpr(program(outs=(F32.update(weak_type=True),)))
    with enable_checks(True):
        f = nj.checkpoint(nj.jit(lambda x: lax.convert_element_type(lax.sin(x), np.float32)))
        assert nj.grad(f)(1.0).tolist() == nj.grad(lambda x: nj.numpy.sin(x))(1.0).tolist()


def test_names_of_variables_are_those_of_the_program_that_is_shown():
    bad = nj.make_jaxpr(lambda x: lax.sin(x) + lax.cos(x))(1.0)
    bad.eqns[1].invars[0] = Var(bad.eqns[1].invars[0].aval)
    with pytest.raises(JaxprTypeError, match=r"Variable 'd' not defined\n\nin equation:\n\nc:f32\[\] = cos d\n\nfrom") as info:
        check_jaxpr(bad)
    assert "while checking jaxpr:\n\n{ lambda ; a:f32[]. let\n    b:f32[] = sin a\n    c:f32[] = cos d\n" in str(info.value)
    bad = nj.make_jaxpr(lambda x: lax.sin(x) + lax.cos(x))(1.0)
    bad.eqns[0].outvars[0].aval = I32
    with pytest.raises(JaxprTypeError, match=r"Value for variable 'b' inconsistently typed as f32\[\] for let-binder of type "
                                             r"i32\[\]\n\nin equation:\n\nb:i32\[\] = sin a\n"):
        check_jaxpr(bad)


def test_long_programs_are_shortened():
    def f(x):
        for _ in range(300):
            x = lax.sin(x)
        return x
    bad = nj.make_jaxpr(f)(1.0)
    bad.eqns[200].invars[0] = Var(bad.eqns[0].invars[0].aval)
    with pytest.raises(JaxprTypeError, match="not defined") as info:
        check_jaxpr(bad)
    assert str(info.value).count("\n") < 200


def test_bound_twice():
    v = Var(F32)
    with pytest.raises(JaxprTypeError, match="bound twice"):
        check_jaxpr(Jaxpr([], [v, v], [v], []))


def test_the_message_shows_equation_line_and_function():
    def user(x):
        return lax.sin(x)
    closed = nj.make_jaxpr(user)(X)
    closed.eqns[0].outvars[0].aval = F32.update(dtype="int32")
    with pytest.raises(JaxprTypeError) as info:
        check_jaxpr(closed)
    text = str(info.value)
    assert "b:i32[3] = sin a" in text
    assert f"test_check.py:{user.__code__.co_firstlineno + 1} " in text
    assert "traced from user at " in text


def test_programs_inside_are_checked():
    closed = nj.make_jaxpr(lambda x: lax.scan(lambda c, t: (lax.sin(c), t), 1.0, x))(X)
    inner = closed.eqns[0].params["jaxpr"]
    inner.eqns[0].invars[0] = Var(inner.eqns[0].invars[0].aval)
    with pytest.raises(JaxprTypeError, match="nothing before binds it"):
        check_jaxpr(closed)


def test_constants_have_the_types_of_their_variables():
    closed = nj.make_jaxpr(lambda x: x + np.arange(3, dtype=np.float32))(X)
    closed.consts[0] = np.arange(4, dtype=np.float32)
    with pytest.raises(JaxprTypeError, match=r"a constant of type float32\[4\] stands for a variable of type float32\[3\]"):
        check_jaxpr(closed)


def test_no_program():
    with pytest.raises(JaxprTypeError, match="takes a Jaxpr or ClosedJaxpr, got int"):
        check_jaxpr(3)


def test_the_flag_checks_what_is_traced_and_compiled():
    sin = lookup("sin")
    good = sin.abstract
    calls = []
    bad = lambda *a: good(*a) if calls.append(a) or len(calls) == 1 else good(*a).update(shape=(7,))
    object.__setattr__(sin, "abstract", bad)
    try:
        with enable_checks(True), pytest.raises(JaxprTypeError, match="in equation:"):
            nj.make_jaxpr(lax.sin)(X)
        calls.clear()
        with enable_checks(False):
            nj.make_jaxpr(lax.sin)(X)
    finally:
        object.__setattr__(sin, "abstract", good)  # records do not change otherwise


@pytest.mark.parametrize(("raised", "expected"), [(ZeroDivisionError, JaxprTypeError), (TimeoutError, TimeoutError)])
def test_errors_of_rules_and_of_signal_handlers(raised, expected):
    def rule(*_):
        raise raised("raised in a rule")
    checked, sin = program(), lookup("sin")
    good = sin.abstract
    object.__setattr__(sin, "abstract", rule)
    try:
        with pytest.raises(expected, match="raised in a rule"):
            check_jaxpr(checked)
    finally:
        object.__setattr__(sin, "abstract", good)


def test_everything_compiled_is_checked():
    bad = ClosedJaxpr(program(outs=(F32.update(shape=(4,)),)))
    with enable_checks(True), pytest.raises(JaxprTypeError, match="result 0"):
        dispatch.compile_closed(bad)
