"""Iteration limits: which iterations are found to be dead, and that bounds at the end say so."""
import numpy as np
import pytest

from numjet.cpu.ir.nodes import Call, For
from numjet.cpu.ir.parser import parse
from numjet.cpu.ir.printer import show
from numjet.cpu.ir.traversal import walk
from numjet.cpu.passes import limited_loops, limits, short_buffers
from numjet.cpu.verification.interpreter import interpret
from numjet.cpu.verification.verifier import check

HEAD = "function f(n: int32[1], x: float32[400]) -> (y: float32[{size}]) scratch 0 {{\n"
ROWS = """  temp t: float32[400]
  for i1 in 0 .. 100 serial () {
    for i2 in 0 .. 4 vector () {
      $1 = add(mul(i1, 4), i2)
      store t[$1] = neg(x[$1])
    } -> ()
  } -> ()
  for i3 in 0 .. 400 vector () {
    store y[i3] = %s
  } -> ()
}
"""
UPDATES = """  fill y[0] = 0.0:float32 count 4
  for i1 in 0 .. 2 serial () {
    for i2 in 0 .. 50 serial () {
      for i3 in 0 .. 4 vector () {
        $1 = add(add(mul(i1, 200), mul(i2, 4)), i3)
        store y[i3] = add(y[i3], select(lt(int32(add(mul(i1, 50), i2)), n[0]), x[$1], 0.0:float32))
      } -> ()
    } -> ()
  } -> ()
}
"""


def made(text, size, asked):
    """The function with limits; `asked`: only the first n rows of the result count."""
    function = parse(HEAD.format(size=size) + text)
    if asked:
        n = function.exprs.load(function.inputs[0], function.exprs.index(0))
        function.leading[function.outputs[0]] = n, size // 100, 0
    limits.find(function)
    assert show(parse(show(function))) == show(function)
    return function


def limited(function):
    return [s.var.attr for s in walk(function.body) if isinstance(s, For) and s.limit is not None]


def results(function, n):
    x = np.random.default_rng(0).standard_normal(400).astype(np.float32)
    return interpret(function, [np.array([n], np.int32), x]).outputs[0]


@pytest.mark.parametrize(("text", "size", "asked", "loops"), [
    (ROWS % "mul(t[i3], 2.0:float32)", 400, True, ["i1", "i3"]),
    (ROWS % "mul(t[i3], 2.0:float32)", 400, False, []),
    (ROWS % "mul(t[sub(399, i3)], 2.0:float32)", 400, True, ["i3"]),   # the last rows are read
    (ROWS % "mul(y[sub(399, i3)], t[i3])", 400, True, []),             # iterations read what others wrote
    (UPDATES, 4, False, ["i1", "i2"]),
    (UPDATES.replace("0.0:float32))", "1.0:float32))"), 4, False, []),  # padding changes the sum
])
def test_dead_iterations_are_found(text, size, asked, loops):
    function = made(text, size, asked)
    assert limited(function) == loops
    whole = parse(HEAD.format(size=size) + text)
    limited_loops.apply(function)
    check(function)
    for n in (0, 1, 37, 100):
        rows = n * size // 100 if asked else size
        np.testing.assert_array_equal(results(function, n)[:rows], results(whole, n)[:rows])


def test_what_a_function_reads_of_its_inputs():
    function = made(ROWS % "mul(t[i3], 2.0:float32)", 400, True)
    assert short_buffers.short(function).inputs == {}
    limited_loops.apply(function)
    assert short_buffers.short(function).inputs == {1: (0, 4, 0)}
    function = made(ROWS % "mul(t[i3], x[sub(399, i3)])", 400, True)
    limited_loops.apply(function)
    assert short_buffers.short(function).inputs == {}


PRODUCT = """  temp t: float32[400]
  temp w: float32[16]
  fill w[0] = 1.0:float32 count 16
  call nj_gemm(11, 1, 100, 4, 4, &x[0], 0, 4, 1, &w[0], 0, 4, 1, &t[0], 0) reads (x, w) writes (t)
  for i3 in 0 .. 400 vector () {
    store y[i3] = neg(t[i3])
  } -> ()
}
"""


def test_rows_of_products():
    function = made(PRODUCT, 400, True)
    call, = (s for s in walk(function.body) if getattr(s, "limits", ()))
    assert [place for place, _ in call.limits] == [2]
    limited_loops.apply(function)
    assert "min(100" in show(function) and short_buffers.short(function).inputs == {1: (0, 4, 0)}


SORT = """  temp t: float32[400]
  for i1 in 0 .. 100 serial () {
    for i2 in 0 .. 4 vector () {
      $1 = add(mul(i1, 4), i2)
      store t[$1] = select(lt(int32(i1), n[0]), x[$1], %s)
    } -> ()
  } -> ()
  call nj_sort1(1, %s, 4, 11, &t[0], &y[0]) reads (t) writes (y) checked
}
"""


@pytest.mark.parametrize(("last", "sizes", "asked", "places"), [
    ("0x7fc00000:float32", "1, 100", True, [2]),    # a NaN comes last, so the elements are sorted alone
    ("0x7fc00000:float32", "1, 100", False, []),
    ("inf:float32", "1, 100", True, []),            # a NaN among the elements would come after that
    ("inf:float32", "100, 1", True, [1]),           # rows of their own
])
def test_sorts_of_first_rows(last, sizes, asked, places):
    function = made(SORT % (last, sizes), 400, asked)
    call, = (s for s in walk(function.body) if isinstance(s, Call))
    assert [place for place, _ in call.limits] == places and limited(function) == ["i1"] * bool(places)
    limited_loops.apply(function)
    check(function)
    assert short_buffers.short(function).inputs == ({1: (0, 4, 0)} if places else {})


NESTED = """  for i1 in 0 .. 100 serial (s: float32 = 0.0:float32) {
    for i2 in 0 .. 4 vector (t: float32 = s) {
      $1 = select(lt(int32(%s), n[0]), x[add(mul(i1, 4), i2)], 0.0:float32)
      next t = add(t, $1) combine add $1
    } -> (u)
    next s = u
  } -> (v)
  store y[0] = v
}
"""


@pytest.mark.parametrize(("which", "loops"), [("i1", ["i1"]), ("i2", ["i2"])])
def test_sums_that_an_inner_loop_goes_on_with(which, loops):
    function = made(NESTED % which, 1, False)
    assert limited(function) == loops
    limited_loops.apply(function)
    check(function)
    for n in (0, 2, 4, 37, 100):
        np.testing.assert_array_equal(results(function, n), results(parse(HEAD.format(size=1) + NESTED % which), n))
