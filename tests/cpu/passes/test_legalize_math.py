"""Mathematical functions in compiled code: by arithmetic where mathlib has them, else from the C library."""
from __future__ import annotations

import re

import numpy as np
import pytest

from numjet.cpu.codegen import llvm
from numjet.cpu.ir.nodes import (
    INT64,
    MATH,
    Buffer,
    Call,
    Carry,
    Check,
    Copy,
    Exprs,
    Fill,
    For,
    Function,
    If,
    Let,
    Store,
    Switch,
    While,
)
from numjet.cpu.ir.printer import show
from numjet.cpu.ir.traversal import expressions, walk
from numjet.cpu.native_code import jit
from numjet.cpu.passes import legalize_math as module
from numjet.cpu.passes.legalize_math import expand_math
from numjet.cpu.verification.interpreter import interpret
from tests.cpu.loops import BOOL, F32, F64, execute, loads, map_function, plan


def _inputs(op, dtype):
    x = np.linspace(0.05, 0.95, 200).astype(dtype)
    return [x + (op == "acosh"), x[::-1].copy()][:MATH[op]]


@pytest.mark.parametrize("dtype", [F32, F64], ids=str)
@pytest.mark.parametrize("op", MATH)
def test_function(op, dtype):
    inputs = _inputs(op, dtype)
    f = map_function("f", [(dtype, 200)] * len(inputs), dtype, 200, lambda e, i, *xs: e.prim(op, *loads(e, xs, i)))
    expected = interpret(f, inputs).outputs
    try:
        expand_math(f)
    except NotImplementedError as error:
        assert f"'{op}' of {dtype}" in str(error)
        return
    for a, b in zip(execute(plan(f), inputs).outputs, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=64 * np.finfo(dtype).eps)


def test_c_library_where_there_is_no_expansion(monkeypatch):
    monkeypatch.setattr(module, "expand", lambda *_, **__: None)
    for dtype, name in ((F32, "sinf"), (F64, "sin")):
        x = _inputs("sin", dtype)
        f = map_function("f", [(dtype, 200)], dtype, 200, lambda e, i, a: e.prim("sin", e.load(a, i)))
        expand_math(f)
        assert f"libm.{name}(" in show(f)
        np.testing.assert_allclose(execute(f, x).outputs[0], np.sin(x[0]), rtol=1e-6)
    f = map_function("f", [(F32, 9)], F32, 9, lambda e, i, a: e.prim("digamma", e.load(a, i)))
    with pytest.raises(NotImplementedError, match="'digamma' of float32"):
        expand_math(f)


def test_every_statement_is_rewritten(monkeypatch):
    """An operation is found wherever an expression can stand."""
    monkeypatch.setattr(module, "expand", lambda e, op, x, exponents: e.prim("sqrt", x))
    e = Exprs()
    x, y = Buffer("x", F32, 9, "input"), Buffer("y", F32, 9, "output")
    v = e.prim("exp", e.load(x, e.index(0)))
    n, yes = e.convert(v, INT64), e.prim("gt", v, v)
    names = iter("abcdefghijk")

    def var(dtype=F32):
        return e.var(dtype, next(names))

    a, i = var(), var(INT64)
    f = Function("f", [x], [y], e, [
        Let(a, v), Store(y, n, v), For(i, n, n, [Store(y, i, v)], [Carry(var(), v, v, var(), "add", v)]),
        While([Carry(var(), v, v, var())], [Let(var(), v)], yes, [Let(var(), v)]),
        If(yes, [Let(var(), v)], [], [(var(), v, v)]),
        Switch(n, [[]], [(var(), (v,))]), Copy(y, n, x, n, n), Fill(y, n, v, n), Call("g", [(y, n), v], (y,), (y,)),
        Check(yes, 1, (n,))])
    text = show(expand_math(f))
    assert "exp(" not in text and text.count("sqrt(") == 1
    assert all(e.op != "exp" for e in expressions(f.body))
    assert [type(s) for s in walk(f.body)].count(Let) == 4 and yes.dtype == BOOL


# --- operations that a block holds many of

def _nested(op: str, times: int, dtype, modes=("vector", "serial")) -> Function:
    def compute(e, i, *xs):
        value, *more = loads(e, xs, i)
        for _ in range(times):
            value = e.prim(op, value, *more)
        return value
    return map_function("f", [(dtype, 200)] * MATH[op], dtype, 200, compute, modes)


@pytest.mark.parametrize("dtype", [F32, F64], ids=str)
@pytest.mark.parametrize("op", ["sin", "exp", "tanh", "atan2", "logistic", "erf"])
def test_frequent_operations_are_calls_of_one_function(op, dtype, monkeypatch):
    """With the results of as many expansions, bit by bit but for the signs of NaNs, which are the code generator's."""
    inputs = [np.concatenate([x, [np.nan, np.inf, -0.0, 1e6, 1e-40]]).astype(dtype)[-200:] for x in _inputs(op, dtype)]
    results = []
    for frequent in (module.FREQUENT, 10**9):
        monkeypatch.setattr(module, "FREQUENT", frequent)
        f = plan(expand_math(_nested(op, 80, dtype)))
        calls = llvm.emit(f, jit.host()).count(f"@math.{op}.")
        assert bool(re.search(rf"(?<![.\w]){op}\(", show(f))) == (frequent < 80) == (calls > 160) != (calls == 0)
        results.append(execute(f, inputs).outputs)
    for a, b in zip(*results, strict=True):
        np.testing.assert_array_equal(np.isnan(a), np.isnan(b))
        np.testing.assert_array_equal(np.nan_to_num(a).view(np.uint8), np.nan_to_num(b).view(np.uint8))


def test_frequent_operations_grow_the_text_by_calls_only():
    sizes = [llvm.emit(plan(expand_math(_nested("sin", times, F32, ["vector"]))), jit.host()).count("\n")
             for times in (120, 140, 160)]
    assert sizes[2] - sizes[1] == sizes[1] - sizes[0] <= 3 * 20


def test_a_loop_has_no_calls_for_code_that_fits_the_cache():
    """The 25 exponentials of a bilateral filter are a few kilobytes; calls spilled registers for a quarter of its time."""
    assert "exp(" not in show(expand_math(_nested("exp", 25, F32)))
    assert "exp(" in show(expand_math(_nested("exp", 80, F32)))


def test_operations_are_counted_by_block():
    """Many loops with one operation each are no reason for calls in any of them."""
    assert "sin(" not in show(expand_math(_nested("sin", 1, F32, ["vector"] * 3 * module.FREQUENT)))
