"""The verifier of loop IR: every rule has a function that breaks it."""
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
from numjet.cpu.verification.accesses import MOST, AccessWalk
from numjet.cpu.verification.verifier import LoopIRError, check, verify
from tests.cpu.ir.test_printer import every_statement
from tests.cpu.loops import BF16, F32, F64

e = Exprs()
X, Y, Z = Buffer("x", F32, 8, "input"), Buffer("y", F32, 8, "output"), Buffer("z", F64, 8, "output")
T, U, V = Buffer("t", F32, 8, "temp"), Buffer("u", F32, 8, "temp"), Buffer("v", F32, 4, "temp")
ZERO, ONE, F1 = e.index(0), e.index(1), e.const(1, F32)
A, B, I = e.var(F32, "a"), e.var(F32, "b"), e.var(INT64, "i")
S = e.load(X, ZERO)


def total(**changes) -> For:
    values = {"var": A, "init": F1, "next": e.prim("add", A, S), "out": B, "combine": "add", "term": S} | changes
    return For(I, ZERO, e.index(8), [], [Carry(**values)], "vector")


BROKEN = {
    "variable a.* is not bound here": [Store(Y, ZERO, A)],
    "is bound twice": [Let(A, F1), Let(A, F1)],
    "only variables can be bound": [Let(F1, F1)],
    "its value float32": [Let(I, F1)],
    "what is stored to %y must be float32, got int64": [Store(Y, ZERO, ZERO)],
    "an index must be int64": [Store(Y, F1, F1)],
    "index 8 is outside of %x": [Store(Y, ZERO, e.load(X, e.index(8)))],
    "index -1 is outside of %y": [Store(Y, e.index(-1), F1)],
    "input buffer %x must not be written": [Store(X, ZERO, F1)],
    "does not belong": [Store(Buffer("w", F32, 1, "output"), ZERO, F1)],
    "copy from float32 to float64": [Copy(Z, ZERO, X, ZERO, ONE)],
    "names the same buffers on both sides": [SwapBuffers((T, U), (U, U))],
    "names the same buffers on both sides, each": [SwapBuffers((T, T), (T, T))],
    "among temporaries of one dtype": [SwapBuffers((Y, T), (T, Y))],
    "among temporaries of one dtype and size": [SwapBuffers((T, V), (V, T))],
    "buffer %w1 does not belong": [SwapBuffers((Buffer("w1", F32, 8, "temp"),), (T,))],
    "what fills %z must be float64": [Fill(Z, ZERO, F1, ONE)],
    "'add' does not take \\(float32, int64\\)": [Store(Y, ZERO, e.make("add", F32, (F1, ZERO)))],
    "'sqrt' does not take \\(int64\\)": [Let(I, e.prim("sqrt", ZERO))],
    "'neg' does not take \\(bool\\)": [Let(e.var(BOOL), e.prim("neg", e.const(True, BOOL)))],
    "'add' does not take \\(bfloat16, bfloat16\\)": [Let(e.var(BF16), e.prim("add", *[e.const(1, BF16)] * 2))],
    "'xor' does not take \\(float32": [Let(A, e.prim("xor", F1, F1))],
    "'add' takes 2 operands, got 1": [Let(A, e.make("add", F32, (F1,)))],
    "no operation 'frobnicate'": [Let(A, e.make("frobnicate", F32, (F1,)))],
    "bitcast from float32 to int64": [Let(I, e.bitcast(F1, INT64))],
    "select needs \\(bool, T, T\\)": [Let(A, e.prim("select", F1, F1, F1))],
    "lookup of float32 in 'exp2_16' by int64": [Let(A, e.make("lookup", F32, (e.index(1),), "exp2_16"))],
    "lookup of float64 in 'exp3' by int64": [Let(A, e.make("lookup", F64, (e.index(1),), "exp3"))],
    "'sinf' mixes dtypes": [Let(A, e.make("libm", F32, (ZERO,), "sinf"))],
    "its type is float32": [Let(A, e.make("const", F32, (), np.float64(1)))],
    "a condition must be bool": [If(ONE, [], [])],
    "a result must be float32": [If(e.const(True, BOOL), [], [], [(A, F1, ZERO)])],
    "the index of a switch must be int64": [Switch(F1, [[]])],
    "a switch needs a branch": [Switch(ZERO, [])],
    "1 results for 2 branches": [Switch(ZERO, [[], []], [(A, (F1,))])],
    "code other than 0": [Check(e.const(True, BOOL), 0)],
    "a value of a check must be int64": [Check(e.const(True, BOOL), 1, (F1,))],
    "neither among its reads nor its writes": [Call("f", [(X, ZERO)])],
    "gets a bfloat16 by value": [Call("f", [e.const(1, BF16)])],
    "a loop's mode is one of": [For(I, ZERO, ONE, [], mode="fast")],
    "needs constant bounds": [Let(A, F1), For(I, ZERO, e.convert(A, INT64), [], mode="unroll")],
    "a bound must be int64": [For(I, F1, ONE, [])],
    "variable i.* is not bound here": [For(I, ZERO, ONE, []), Store(Y, I, F1)],
    "the next value of a carry must be float32": [While([Carry(A, F1, ONE, B)], [], e.const(False, BOOL), [])],
    "what a carry starts with": [total(init=ZERO)],
    "combines by one of": [total(combine="sub")],
    "combining carry a.* is used in the loop's body": [For(I, ZERO, ONE, [Store(Y, I, A)], total().carries, "vector")],
    "does not combine": [For(I, ZERO, ONE, [], total(combine=None).carries, "parallel")],
}


@pytest.mark.parametrize("message", BROKEN)
def test_broken_rule(message):
    function = Function("broken", [X], [Y, Z], e, BROKEN[message], [T, U, V])
    with pytest.raises(LoopIRError, match=message) as caught:
        check(function)
    assert "function 'broken', statement:" in str(caught.value)


def test_valid_functions_pass():
    assert check(Function("f", [X], [Y], e, [total(), Store(Y, ZERO, B)]))
    assert check(every_statement())


def test_buffers_are_checked():
    with pytest.raises(LoopIRError, match="two buffers"):
        check(Function("f", [X], [Buffer("x", F32, 1, "output")], e))
    with pytest.raises(LoopIRError, match="needs data of"):
        check(Function("f", [], [], e, consts=[Buffer("k", F32, 2, "const", np.zeros(3, np.float32))]))


@pytest.mark.parametrize("mode", ["serial", "vector"])
def test_loops_of_any_length_are_verified_in_bounded_memory(mode):
    """Iterations are enumerated only where there are few: 2**62 must not become an array."""
    fresh, out = Exprs(), Buffer("y", F32, 1 << 62, "output")
    n = fresh.var(INT64, "n")
    store = Store(out, n, fresh.const(1, F32))
    verify(Function("f", [], [out], fresh, [For(n, fresh.index(0), fresh.index(1 << 62), [store], [], mode)]))
    assert AccessWalk().positions(1 << 62).size == MOST + 1


def nested_selects(depth: int) -> Function:
    """A loop that reads an unset element at the end of a chain of selects over iterations, each of which reads memory."""
    fresh = Exprs()
    n = fresh.var(INT64, "n")
    value = fresh.load(T, n)
    for k in range(depth):
        value = fresh.prim("select", fresh.prim("lt", n, fresh.index(8 - k % 2)), value, fresh.load(X, n))
    return Function("f", [X], [Y], fresh, [For(n, fresh.index(0), fresh.index(8), [Store(Y, n, value)], [])], [T])


def test_loads_under_any_number_of_selects_are_checked():
    with pytest.raises(LoopIRError, match=r"%t is read before anything is written to it|nothing can have written it"):
        verify(nested_selects(8))


class Counting(AccessWalk):
    """Counts the expressions evaluated and the accesses of a walk."""

    def __init__(self):
        super().__init__()
        self.evaluated = self.accesses = 0

    def loop(self, stmt):
        self.walk(stmt, self.iterations(stmt))

    def access(self, *args):
        self.accesses += 1

    def _evaluate(self, expr):
        self.evaluated += 1
        return super()._evaluate(expr)


def test_walks_visit_each_load_and_each_value_once():
    counted = []
    for depth in (20, 40):
        walk = Counting()
        walk.block(nested_selects(depth).body)
        counted.append((walk.accesses, walk.evaluated))
    assert counted[0] == counted[1] == (3, counted[0][1])   # X[n] is one expression, T[n] another, and a store


def test_values_are_computed_where_indices_need_them_and_once():
    fresh, walk = Exprs(), Counting()
    index, data, lets = fresh.index(3), fresh.index(5), []
    for _ in range(50):
        index, data = fresh.prim("add", index, fresh.index(1)), fresh.prim("add", data, fresh.index(7))
        lets += [Let(fresh.var(INT64), index), Let(fresh.var(INT64), data)]
        index, data = lets[-2].var, lets[-1].var
        lets.append(Store(Y, fresh.prim("mul", index, fresh.index(0)), F1))
    walk.block(lets)
    assert walk.accesses == 50 and walk.evaluated <= 4 * 50
    assert walk.value(data) == 5 + 50 * 7


@pytest.mark.parametrize("ranges, unset", [
    ([(0, 8)], None), ([(0, 7)], 7), ([(0, 4), (4, 8)], None), ([(0, 4), (5, 8)], 4), ([(1, 8), (1, 8)], 0),
    ([(7, 8), (0, 7)], None)])
def test_reads_of_elements_that_no_loop_wrote_are_found(ranges, unset):
    fresh = Exprs()

    def loop(start, stop, store):
        n = fresh.var(INT64, "n")
        return For(n, fresh.index(start), fresh.index(stop), [store(n)], [])

    body = [loop(start, stop, lambda n: Store(T, n, fresh.const(1, F32))) for start, stop in ranges]
    body.append(loop(0, 8, lambda n: Store(Y, n, fresh.load(T, n))))
    function = Function("f", [], [Y], fresh, body, [T])
    if unset is None:
        verify(function)
    else:
        with pytest.raises(LoopIRError, match=rf"%t\[{unset}\] is read, and nothing can have written it before"):
            verify(function)
