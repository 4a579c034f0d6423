"""Interleaved elements, positions in narrow types, and what ranges of loop variables allow."""
from __future__ import annotations

import re

import numpy as np
import pytest

from numjet.cpu.analysis.ranges import Ranges
from numjet.cpu.codegen import llvm
from numjet.cpu.ir.nodes import INT64, Exprs, Let, Store
from numjet.cpu.ir.parser import parse
from numjet.cpu.ir.printer import show
from numjet.cpu.native_code import jit
from numjet.cpu.verification.verifier import LoopIRError, check
from tests.cpu.codegen.test_statements import Build, floats
from tests.cpu.loops import BF16, F32, F64, agree, special, targets


def reversed_groups(dtype, n, step):
    """Each group's parts are reversed; with room for no element more than needed."""
    b = Build([(dtype, n * step)], [(dtype, n * step)])
    i, e = b.index(), b.e
    body = [Store(b.y[0], b.add(b.mul(i, step), k), e.load(b.x[0], b.add(b.mul(i, step), step - 1 - k)))
            for k in (*range(1, step), 0)]
    f = b.function(b.loop(i, n, body))
    x = special(dtype, n * step)
    got = agree(f, [x], every=True).outputs[0]
    np.testing.assert_array_equal(got.view(f"u{dtype.itemsize}"),
                                  x.reshape(n, step)[:, ::-1].reshape(-1).view(f"u{dtype.itemsize}"))
    return llvm.emit(f, jit.host())


@pytest.mark.parametrize("dtype", [F32, F64, np.dtype(np.int16), BF16], ids=str)
@pytest.mark.parametrize("step", [2, 3, 5, 6, 8])
@pytest.mark.parametrize("n", [1, 7, 33, 150])
def test_groups(n, step, dtype):
    text = reversed_groups(dtype, n, step)
    assert "scatter" not in text and "gather" not in text


def test_larger_groups_are_gathered():
    text = reversed_groups(F32, 33, 9)
    assert "scatter" in text and "gather" in text


def test_groups_at_the_end_of_a_buffer_are_gathered():
    """Elements 0, 2, ..., 18 of 19: the last group is not there."""
    b = Build([(F32, 19)], [(F32, 10)])
    i, e = b.index(), b.e
    f = b.function(b.loop(i, 10, [Store(b.y[0], i, e.load(b.x[0], b.mul(i, 2)))]))
    agree(f, [floats(19)], every=True)
    assert "gather" in llvm.emit(f, jit.host())


@pytest.mark.parametrize("rows", [12, 20])
def test_repeated_rows_of_loaded_scalars(rows):
    """Each row of 8 scalars several times: LLVM's least effort must not fold the loads into the vectors that are shuffled."""
    b = Build([(F32, 24)], [(F32, 24 * rows)])
    r, i, e = b.index("r"), b.index(), b.e
    body = [Store(b.y[0], b.add(b.add(b.mul(r, 8 * rows), b.mul(i, 8)), k), e.load(b.x[0], b.add(b.mul(r, 8), k)))
            for k in range(8)]
    f = b.function(b.loop(r, 3, [b.loop(i, rows, body)], "serial"))
    agree(f, [floats(24)], every=True)
    for target in targets().values():
        text = llvm.emit(f, target)
        assert jit.compile_object(text, 0, target)
        repeated = {*re.findall(r"insertelement <\d+ x float> poison, float (%v\d+),", text)}
        assert repeated <= {*re.findall(r"(%v\d+) = freeze", text)}


@pytest.mark.parametrize("n", [4, 16, 40, 100])
def test_complex_product(n):
    """In a row of a matrix, in place for the second output, so that what is stored is read again."""
    b = Build([(F32, 6 * n), (F32, 6 * n)], [(F32, 6 * n), (F32, 6 * n)])
    r, i, e = b.index("r"), b.index(), b.e
    place = [b.add(b.mul(r, 2 * n), b.mul(i, 2), k) for k in range(2)]
    (a, c), (p, q) = ([e.load(x, k) for k in place] for x in b.x)

    def times(x, y, op, u, v):
        return e.prim(op, e.prim("mul", x, y), e.prim("mul", u, v))

    body = [Store(b.y[0], place[0], times(a, p, "sub", c, q)), Store(b.y[0], place[1], times(a, q, "add", c, p)),
            Store(b.y[1], place[0], a), Store(b.y[1], place[1], e.prim("add", e.load(b.y[1], place[0]), c))]
    agree(b.function(b.loop(r, 3, [b.loop(i, n, body)], "serial")), [floats(6 * n), floats(6 * n)], every=True)


@pytest.mark.parametrize("start", [0, 7])
def test_positions_compared_and_divided(start):
    """As in a pad, a reshape and a float iota; with lanes beyond 32 bits, too."""
    b = Build([(INT64, 1)], [(F32, 200), (INT64, 200), (F64, 200), (INT64, 200), (F32, 200)])
    i, e = b.index(), b.e
    huge = b.add(b.mul(i, 2**31 - 3), e.load(b.x[0], e.index(0)))
    inside = e.prim("and", e.prim("ge", i, e.index(10)), e.prim("lt", b.add(i, 5), e.index(150)))
    body = [Store(b.y[0], i, e.prim("select", inside, e.convert(i, F32), e.const(-1, F32))),
            Store(b.y[1], i, b.add(b.mul(e.prim("rem", b.add(i, 3), e.index(7)), 100), e.prim("div", i, e.index(7)))),
            Store(b.y[2], i, e.convert(b.mul(e.prim("div", huge, e.index(3)), i), F64)),
            Store(b.y[3], i, e.prim("rem", huge, b.add(i, 1))),
            Store(b.y[4], i, e.convert(e.prim("lt", huge, b.mul(i, 2**31)), F32))]
    f = b.function(b.loop(i, 200, body, start=start))
    for x in (5, -2**40):
        agree(f, [np.array([x])], every=True)


def test_ranges():
    e, ranges = Exprs(), Ranges()
    i, n = e.var(INT64, "i"), e.var(INT64, "n")
    ranges.bind(i, 0, 9)

    def of(expr):
        return ranges.of(expr)

    def index(k):
        return e.index(k)

    assert of(e.prim("sub", e.prim("mul", i, index(-3)), index(2))) == (-29, -2)
    assert of(e.prim("rem", i, index(4))) == (0, 3) and of(e.prim("div", i, index(4))) == (0, 2)
    assert of(e.prim("rem", e.prim("neg", i), index(4))) == (-2**63, 2**63 - 1)
    assert of(e.prim("max", index(0), e.prim("min", n, index(7)))) == (0, 7)
    assert of(e.prim("and", n, index(7))) == (0, 7)
    assert of(e.prim("select", e.prim("lt", i, n), i, index(-5))) == (-5, 9)
    assert of(e.convert(e.load(Build([(np.dtype(np.int8), 1)]).x[0], i), INT64)) == (-128, 127)
    assert of(e.prim("mul", n, index(2))) == (-2**63, 2**63 - 1)
    assert of(e.prim("mul", e.prim("add", index(2**62), i), index(2))) == (-2**63, 2**63 - 1)


def test_known_range_lets_a_load_leave_a_conditional_loop():
    """A clamped index is always in range, so the loop need not run for the load to be safe."""
    b = Build([(F32, 8), (INT64, 1)], [(F32, 50)])
    i, e, v = b.index(), b.e, b.index("v")
    n = e.load(b.x[1], e.index(0))
    clamped = e.prim("max", e.index(0), e.prim("min", v, e.index(7)))
    f = b.function(Let(v, n), b.loop(i, n, [Store(b.y[0], i, e.load(b.x[0], clamped))], "serial"))
    for count in (0, 3, 50):
        agree(f, [floats(8), np.array([count])])
    text = llvm.emit(f, jit.host())
    assert text.index("load float") < text.index("loop")


@pytest.mark.parametrize("dtype", [F32, F64, np.dtype(bool), BF16, np.dtype(np.int16)], ids=str)
@pytest.mark.parametrize("n", [0, 1, 9, 40, 100])
def test_masked_loads(n, dtype):
    """Beyond both ends of a buffer: run, reversed run, stride, gather, one place; masks by lane and for all."""
    b = Build([(dtype, n), (np.dtype(np.int32), 150), (np.dtype(bool), 1)], [(dtype, 150)] * 7)
    i, e = b.index(), b.e

    def guarded(index, *more):
        ok = e.prim("and", e.prim("ge", index, e.index(0)), e.prim("lt", index, e.index(n)))
        for cond in more:
            ok = e.prim("and", ok, cond)
        return e.make("load", dtype, (index, ok), b.x[0])

    at = e.convert(e.load(b.x[1], i), INT64)
    flag, odd = e.load(b.x[2], e.index(0)), e.prim("eq", e.prim("and", i, e.index(1)), e.index(1))
    values = [guarded(b.add(i, -30)), guarded(b.add(b.mul(i, -1), 60)), guarded(b.add(b.mul(i, 2), -20)), guarded(at),
              guarded(e.index(7), odd), guarded(e.index(5), flag), guarded(b.add(i, -3), flag)]
    positions = np.random.default_rng(0).integers(-9, n + 9, 150).astype(np.int32)
    for mode in ("vector", "serial"):
        f = b.function(b.loop(i, 150, [Store(y, i, v) for y, v in zip(b.y, values, strict=True)], mode))
        for given in (False, True):
            agree(f, [special(dtype, n), positions, np.array([given])], every=True)


def test_masked_load_in_a_branch_by_lane_and_in_text():
    f = parse("""function f(x: float32[50]) -> (y: float32[100]) scratch 0 {
      for i1 in 0 .. 100 vector () {
        if lt(x[0], x[i1 if lt(i1, 50)]) {
          store y[i1] = x[sub(i1, 20) if and(ge(i1, 20), lt(i1, 70))]
          yield () } else { yield () } -> ()
      } -> () }""")
    check(f)
    assert show(parse(show(f))) == show(f) and "x[i1 if lt(i1, 50)]" in show(f)
    agree(f, [floats(50)], every=True)
    with pytest.raises(LoopIRError, match="mask of a load must be bool"):
        check(parse("function f(x: int64[1]) -> (y: int64[1]) scratch 0 { store y[0] = x[3 if 1] }"))
