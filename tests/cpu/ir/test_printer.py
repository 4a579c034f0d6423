"""The text of loop IR: readable, and read back exactly."""
from __future__ import annotations

import numpy as np
import pytest

from numjet.cpu.ir.nodes import (
    BOOL,
    INT64,
    Buffer,
    Call,
    Carry,
    Check,
    Comment,
    Copy,
    Exprs,
    Fill,
    For,
    Function,
    If,
    Let,
    Store,
    SwapBuffers,
    Switch,
    While,
)
from numjet.cpu.ir.parser import LoopSyntaxError, parse
from numjet.cpu.ir.printer import show, show_expr, show_statement
from tests.cpu.loops import BF16, F32, F64, INTS, special

DOT = """\
function dot(x: float32[8], y: float32[8]) -> (z: float32[1]) scratch 64 {
  temp t: float32[16] at 0
  const k: uint8[3] = 0x0102ff
  for i1 in 0 .. 8 vector (c2: float32 = -0.0:float32) {
    $1 = mul(x[i1], y[i1])
    next c2 = add(c2, $1) combine add $1
  } -> (r3)
  store z[0] = r3
}
"""


def test_the_text_of_a_reduction():
    function = parse(DOT)
    assert show(function) == DOT
    loop = function.body[0]
    assert isinstance(loop, For) and loop.carries[0].next.args[1] is loop.carries[0].term
    assert function.temps[0].offset == 0 and list(function.consts[0].data) == [1, 2, 255]
    assert function.exprs.var(F32, "v").attr == "v4"


def every_statement() -> Function:
    e = Exprs()
    x, y, t = Buffer("x", F32, 8, "input"), Buffer("y", F32, 8, "output"), Buffer("t", F32, 8, "temp")
    u = Buffer("u", F32, 8, "temp")
    dtypes = (INT64, INT64, F32, BOOL, F32, F32, INT64)
    i, n, v, flag, r, s, q = (e.var(dtype, hint) for dtype, hint in zip(dtypes, "invfrsq", strict=True))
    zero = e.index(0)
    body = [
        Comment('quoted "text"', "file.py", 7), Comment("nowhere"), Let(v, e.load(x, zero)),
        For(i, zero, e.index(4), [Store(y, i, e.prim("add", v, e.load(x, i)))], mode="parallel"),
        While([Carry(n, zero, e.prim("add", n, e.index(1)), q)], [Let(flag, e.prim("lt", n, e.index(3)))], flag,
              [Store(y, n, v)]),
        If(e.prim("ge", v, v), [Store(y, zero, v)], [], [(r, v, e.prim("neg", v))]),
        Switch(q, [[], [Fill(t, zero, r, e.index(8))]], [(s, (v, r))]), Switch(zero, [[]], []),
        Copy(y, zero, t, e.index(2), e.index(3)), Check(e.prim("ne", s, r), 5, (q,)), Check(e.const(True, BOOL), 6, (), True),
        SwapBuffers((t, u), (u, t)),
        Call("solve", [(x, e.index(1)), e.const(2.5, F64), e.index(-3)], (x,), (y, t), True), Call("none", [])]
    return Function("f", [x], [y], e, body, [t, u])


def test_every_statement_reads_back():
    text = show(every_statement())
    again = parse(text)
    assert show(again) == text
    assert [vars(c) for c in again.body[:2]] == [vars(Comment('quoted "text"', "file.py", 7)), vars(Comment("nowhere"))]
    assert again.body[-2].checked and not again.body[-1].checked
    assert [s.deferrable for s in again.body if isinstance(s, Check)] == [False, True]


@pytest.mark.parametrize("dtype", [BOOL, *INTS, np.dtype(np.float16), BF16, F32, F64], ids=str)
def test_constants_keep_their_bits(dtype):
    y = Buffer("y", dtype, 99, "output")
    e = Exprs()
    values = special(dtype)
    f = Function("f", [], [y], e, [Store(y, e.index(k), e.const(v, dtype)) for k, v in enumerate(values)])
    for value, store in zip(values, parse(show(f)).body, strict=True):
        assert store.value.attr.dtype == dtype and store.value.attr.tobytes() == value.tobytes()


def test_nan_payloads_are_kept():
    e = Exprs()
    nan = np.array(0xFFC12345, np.uint32).view(np.float32)[()]
    f = Function("f", [], [Buffer("y", F32, 1, "output")], e)
    f.body.append(Store(f.outputs[0], e.index(0), e.make("const", F32, (), nan)))
    assert parse(show(f)).body[0].value.attr.tobytes() == nan.tobytes()


def test_odd_operations_read_back():
    """Conversions, bit casts, library calls, rare values, and a result dtype that is not the usual one."""
    e = Exprs()
    x, y = Buffer("x", F32, 1, "input"), Buffer("y", F32, 1, "output")
    v = e.load(x, e.index(0))
    slow = e.make("libm", F32, (v,), "sinf")
    rare = e.make("select_rare", F32, (e.prim("gt", v, e.const(9, F32)), slow, v))
    cast = e.bitcast(e.bitcast(rare, INTS[2]), F32)
    odd = e.make("popcount", F32, (e.convert(e.prim("mul", cast, e.convert(e.lookup("exp2_16", e.index(-3)), F32)), BF16),))
    f = Function("f", [x], [y], e, [Store(y, e.index(0), odd)])
    text = show(f)
    assert "libm.sinf(" in text and "bitcast.int32(" in text and "bfloat16(" in text and "popcount.float32(" in text
    assert "lookup.exp2_16(-3)" in text
    with pytest.raises(LoopSyntaxError, match=r"expected a table, one of exp2_16, exp2_16_miss, .*; got 'exp3'"):
        parse(text.replace("exp2_16", "exp3"))
    assert show(parse(text)) == text


def test_shared_expressions_are_written_once():
    e = Exprs()
    y = Buffer("y", INT64, 1, "output")
    value = e.var(INT64, "v")
    start = Let(value, e.index(1))
    total = value
    for _ in range(200):
        total = e.prim("add", total, total)
    f = Function("f", [], [y], e, [start, Store(y, e.index(0), total)])
    text = show(f)
    assert len(text) < 10000
    assert show(parse(text)) == text
    assert "$1 = add(v1, v1)" in show_expr(total) and "store y[0] = " in show_statement(f.body[1])


def test_syntax_errors_tell_what_was_expected():
    for text, message in (("function f(", "expected a dtype|expected '\\)'|expected ':'"),
                          ("function f() -> () scratch x {}", "expected a whole number, got 'x'"),
                          ("function f() -> () scratch 0 { jump }", "expected a statement .*got 'jump'"),
                          ("function f() -> (y: int7[1]) scratch 0 {}", "expected a dtype .*got 'int7'"),
                          ("function f() -> () scratch 0 { store z[0] = 1 }", "expected a buffer, got 'z'")):
        with pytest.raises(LoopSyntaxError, match=message):
            parse(text)


def test_comments_end_with_the_line():
    function = parse('# one\nfunction f() -> (y: int64[1]) scratch 0 { # two\n  note "#" "a # b" 3\n  store y[0] = 1 # }\n}\n')
    assert function.body[0].text == "#" and len(function.body) == 2


def test_annotations_read_back():
    text = ("function f(x: int64[1]) -> (y: int64[1]) scratch 0 {\n"
            "  for i in 0 .. 9 serial fused cancellation_point 7 () {\n  } -> ()\n  while idempotent_after_exit "
            "cancellation_point 3 (n: int64 = 0) {\n    test lt(n, 3)\n    next n = add(n, 1)\n  } -> (m)\n"
            "  store y[0] = m\n}\n")
    loop, repeat, _ = parse(text).body
    assert show(parse(text)) == text and (loop.fused, loop.cancellation_point, repeat.cancellation_point) == (True, 7, 3)


@pytest.mark.parametrize(("body", "message"), [
    ("store y[0] = add(1)", "line 2: expected 2 operands of 'add', got 1"), ("store y[0] = select(1)", "line 2: expected 3"),
    ("store y[0] = inf", "line 2: expected ':' and a dtype after inf"), ("note 1 2 3", "line 2: expected a string, got '1'"),
    ("copy y[0] = z[0] count 1", "line 2: expected a buffer, got 'z'"),
    ("swap (q) = (q)", "line 2: expected a buffer, got 'q'"),
    ("if true {\n yield (1)\n } else {\n yield ()\n } -> (v: int64)", "line 6: expected 1 results of each branch, got 1, 0"),
    ("store y[0] = bitcast.int7(1)", "line 2: expected a dtype"), ("call f(", "line 2: expected '\\)', got the end")])
def test_syntax_errors_name_the_line(body, message):
    with pytest.raises(LoopSyntaxError, match=message):
        parse("function f() -> (y: int64[1]) scratch 0 {\n" + body)
