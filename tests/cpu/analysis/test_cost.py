"""The cost model: estimates in proportion to the work."""
from __future__ import annotations

import pytest

from numjet.cpu.analysis import cost
from numjet.cpu.ir.nodes import INT64, Buffer, Exprs, For, Function, Store
from numjet.cpu.ir.parser import parse
from numjet.cpu.native_code import jit
from numjet.cpu.passes import legalize_math
from tests.cpu.loops import F32

HOST = jit.host()


def test_estimates_grow_with_the_work():
    def estimate(text: str, size: int) -> float:
        e = Exprs()
        x, y, i = Buffer("x", F32, size, "input"), Buffer("y", F32, size, "output"), e.var(INT64, "i")
        loop = For(i, e.index(0), e.index(size), [Store(y, i, e.prim(text, e.load(x, i)))], [], "vector")
        return cost.estimate_ns(legalize_math.expand_math(Function("f", [x], [y], e, [loop])), HOST)
    assert estimate("neg", 1000) < estimate("exp", 1000) < estimate("exp", 10_000) == pytest.approx(
        10 * estimate("exp", 1000), rel=0.01)


def test_loops_of_unknown_length_and_branches_count():
    def nanoseconds(body: str) -> float:
        text = f"function f(x: float32[64], n: int64[1]) -> (y: float32[64]) scratch 0 {{\n{body}}}\n"
        return cost.estimate_ns(parse(text), HOST)
    one = "  for i in 0 .. {} serial () {{\n    store y[rem(i, 64)] = sqrt(x[rem(i, 64)])\n  }} -> ()\n"
    known, unknown = nanoseconds(one.format(cost.UNKNOWN_TRIPS)), nanoseconds(one.format("n[0]"))
    assert unknown == pytest.approx(known, rel=0.01)
    branch = "  if lt(n[0], 3) {{\n{}  yield ()\n  }} else {{\n{}  yield ()\n  }} -> ()\n"
    long, short = one.format(100), one.replace("i in", "j in").replace("(i,", "(j,").format(10)
    assert nanoseconds(branch.format(long, short)) == pytest.approx(nanoseconds(branch.format(short, long)))
    assert nanoseconds(branch.format(long, short)) < 1.2 * nanoseconds(long)


def test_calls_into_python_are_worth_the_queue():
    call = "call nj.callback.1(&x[0], &y[0]) reads (x) writes (y)"
    text = f"function f(x: float32[1]) -> (y: float32[1]) scratch 0 {{\n  {call}\n}}\n"
    assert cost.estimate_ns(parse(text), HOST) >= cost.CALLBACK_NS
