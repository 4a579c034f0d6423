"""Buffers that take each other's memory: machine code and interpreter agree, and both do what is worked out by hand."""
from __future__ import annotations

import numpy as np
import pytest

from numjet.cpu.codegen import llvm
from numjet.cpu.ir.nodes import For, SwapBuffers
from numjet.cpu.ir.parser import parse
from numjet.cpu.ir.printer import show
from numjet.cpu.ir.traversal import swapped, written
from numjet.cpu.native_code.jit import host
from numjet.cpu.passes import memory_plan, parallel_batches
from tests.cpu.loops import F32, agree

HEAD = """function f(x: float32[40]) -> (y: float32[40], z: float32[40], w: float32[40]) scratch 0 {
  temp a: float32[40] temp b: float32[40] temp c: float32[40]
  copy a[0] = x[0] count 40  fill b[0] = 2.0:float32 count 40  fill c[0] = 3.0:float32 count 40
"""
TAIL = "copy y[0] = a[0] count 40 copy z[0] = b[0] count 40 copy w[0] = c[0] count 40 }"
X = np.arange(40, dtype=F32) + 10


def run(body, **how):
    """The arrays that the names a, b and c stand for in the end."""
    return agree(parse(HEAD + body + TAIL), [X], every=True, **how).outputs


def test_text_reads_back():
    function = parse(HEAD + "swap (a, b, c) = (b, c, a)" + TAIL)
    (stmt,) = [s for s in function.body if isinstance(s, SwapBuffers)]
    assert [b.name for b in stmt.sources] == ["b", "c", "a"]
    assert show(parse(show(function))) == show(function)
    assert swapped(function.body) == list(stmt.targets)
    assert {b.cell for b in stmt.targets} | set(stmt.targets) == written([stmt])


def test_names_are_given_at_the_same_time():
    a, b, c = run("swap (a, b, c) = (b, c, a)")
    assert a[0] == 2 and b[0] == 3 and np.array_equal(c, X)


@pytest.mark.parametrize("trips", [0, 1, 2, 3, 4, 7])
def test_rotation_in_a_loop(trips):
    """a, b, c = b, c, a + b, written over a."""
    want = [X, np.full(40, 2.0), np.full(40, 3.0)]
    for _ in range(trips):
        want = [want[1], want[2], want[0] + want[1]]
    loop = "for i in 0 .. 40 vector () { store a[i] = add(a[i], b[i]) } -> () swap (a, b, c) = (b, c, a)"
    for got in (run(f"for s in 0 .. {trips} serial () {{ {loop} }} -> ()"),
                run(f"while (n: int64 = 0) {{ test lt(n, {trips}) {loop} next n = add(n, 1) }} -> (m)")):
        np.testing.assert_array_equal(got, want)


def test_a_value_read_before_is_not_taken_for_the_one_after():
    body = """let p: float32 = b[5] swap (a, b) = (b, a) let q: float32 = b[5] let r: float32 = a[6]
        store c[0] = p store c[1] = q store c[2] = r store a[7] = 1.0:float32 swap (a, b) = (b, a) store c[3] = a[7]"""
    c = run(body)[2]
    np.testing.assert_array_equal(c[:4], [2, X[5], 2, X[7]])


def test_in_one_branch():
    """Each element decides; what is read in the other branch, or in front of both, is not taken for what is there after."""
    body = """for i in 0 .. 40 serial () {
        if gt(a[i], 20.0:float32) { swap (a, b) = (b, a) yield () } else { store c[i] = a[i] yield () } -> ()
        store a[i] = add(a[i], 1.0:float32) } -> ()"""
    a, b, c = X.copy(), np.full(40, 2, F32), np.full(40, 3, F32)
    for i in range(40):
        if a[i] > 20:
            a, b = b, a
        else:
            c[i] = a[i]
        a[i] += 1
    np.testing.assert_array_equal(run(body), [a, b, c])


def test_reads_in_the_other_branch_do_not_survive():
    """Of a branch that writes and one that reads: what is read after both is what is there."""
    function = parse("""function f(x: float32[2]) -> (y: float32[2], z: float32[2]) scratch 0 { temp t: float32[2]
        copy t[0] = x[0] count 2
        if gt(x[0], 0.0:float32) { store t[0] = 5.0:float32 yield () } else { store y[0] = t[0] yield () } -> ()
        switch int64(x[1]) { case { store t[0] = 6.0:float32 yield () } case { store y[1] = t[0] yield () } } -> ()
        store z[0] = t[0] store z[1] = t[1] }""")
    assert agree(function, [np.array([1, 1], F32)]).outputs[1][0] == 5
    assert agree(function, [np.array([1, 0], F32)]).outputs[1][0] == 6
    assert agree(function, [np.array([-1, 1], F32)]).outputs[1][0] == -1


def test_gathers_and_shared_loops_follow():
    body = """for s in 0 .. 3 serial () {
        for i in 0 .. 40 parallel () { store c[i] = add(a[int64(sub(x[sub(39, i)], 10.0:float32))], b[i]) } -> ()
        swap (a, b, c) = (c, a, b) } -> ()"""
    a, b, c = X, np.full(40, 2, F32), np.full(40, 3, F32)
    for _ in range(3):
        a, b, c = a[::-1] + b, a, b
    np.testing.assert_array_equal(run(body), [a, b, c])


def test_memory_of_all_lives_as_long_as_that_of_any():
    """d is not touched until after the loop, and could not be in the memory of c."""
    function = parse("""function f(x: float32[40]) -> (y: float32[40]) scratch 0 {
        temp a: float32[40] temp b: float32[40] temp c: float32[40] temp d: float32[40]
        copy a[0] = x[0] count 40
        for s in 0 .. 3 serial () {
          for i in 0 .. 40 vector () { store b[i] = a[sub(39, i)] } -> ()
          for i in 0 .. 40 vector () { store c[i] = add(b[i], 1.0:float32) } -> ()
          swap (a, c) = (c, a) } -> ()
        for i in 0 .. 40 vector () { store d[i] = a[sub(39, i)] } -> ()
        copy y[0] = d[0] count 40 }""")
    memory_plan.plan(function)
    a, b, c, d = (t.offset for t in function.temps)
    assert len({a, b, c}) == 3 and d == b
    assert "alloca" in llvm.emit(function, host())


@pytest.mark.parametrize("trips", [1, 2, 3, 4])
def test_rows_in_chunks(trips):
    """Each chunk of rows goes through all iterations with names of its own; afterwards the names are where the loop left
    them."""
    text = f"""function f(x: float32[6400]) -> (y: float32[6400], z: float32[6400], w: float32[6400]) scratch 0 {{
        temp a: float32[6400] temp b: float32[6400] temp c: float32[6400]
        copy a[0] = x[0] count 6400 fill b[0] = 2.0:float32 count 6400 fill c[0] = 3.0:float32 count 6400
        for s in 0 .. {trips} serial () {{
          for r in 0 .. 64 serial () {{ for i in 0 .. 100 vector () {{
            store c[add(mul(r, 100), i)] = add(a[add(mul(r, 100), sub(99, i))], b[add(mul(r, 100), i)]) }} -> () }} -> ()
          swap (a, b) = (b, a) swap (a, c) = (c, a) }} -> ()
        copy y[0] = a[0] count 6400 copy z[0] = b[0] count 6400 copy w[0] = c[0] count 6400 }}"""
    x = np.random.default_rng(0).normal(size=(64, 100)).astype(F32)
    a, b, c = x, np.full_like(x, 2), np.full_like(x, 3)
    for _ in range(trips):
        a, b, c = a[:, ::-1] + b, a, b
    whole = parse(text)
    chunked = parse(text)
    (loop,) = [s for s in chunked.body if isinstance(s, For)]
    place = chunked.body.index(loop)
    chunked.body[place:place + 1] = parallel_batches.by_rows(loop, chunked.exprs)
    assert [s.mode for s in chunked.body if isinstance(s, For)] == ["parallel"]
    memory_plan.plan(chunked)
    assert "call i64 @nj_parallel_until_stopped(" in llvm.emit(chunked, host())
    for function in (whole, parse(show(chunked))):
        for got, want in zip(agree(function, [x.reshape(-1)]).outputs, (a, b, c), strict=True):
            np.testing.assert_array_equal(got.reshape(64, 100), want)
