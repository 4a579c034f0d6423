"""The interpreter, and the semantics of single operations, against values worked out by hand or by another route."""
from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import special

from numjet.cpu.ir import semantics
from numjet.cpu.ir.nodes import INT64, KERNEL_STATUS, MATH, Buffer, Exprs, For, Function, Store
from numjet.cpu.ir.parser import parse
from numjet.cpu.verification.interpreter import interpret
from tests.cpu.loops import F32, F64

I8 = np.int8
NAN, INF = math.nan, math.inf

TABLE = [
    ("div", (I8(7), I8(-2)), -3), ("div", (I8(7), I8(0)), -1), ("div", (I8(-128), I8(-1)), -128),
    ("div", (np.uint8(7), np.uint8(0)), 255), ("rem", (I8(-7), I8(2)), -1), ("rem", (I8(7), I8(0)), 7),
    ("rem", (I8(-128), I8(-1)), 0), ("rem", (np.float32(-7.5), np.float32(2)), -1.5),
    ("shl", (I8(1), I8(7)), -128), ("shl", (I8(1), I8(8)), 0), ("shl", (I8(1), I8(-1)), 0),
    ("shra", (I8(-128), I8(100)), -1), ("shrl", (I8(-128), I8(7)), 1), ("shrl", (I8(-1), I8(8)), 0),
    ("shra", (np.uint8(128), np.uint8(1)), 192), ("popcount", (I8(-1),), 8), ("clz", (I8(1),), 7), ("clz", (I8(0),), 8),
    ("mulhi", (I8(100), I8(-100)), -40), ("mulhi", (np.uint64(2**63), np.uint64(6)), 3),
    ("min", (np.float32(1), np.float32(NAN)), NAN), ("max", (np.float32(NAN), np.float32(1)), NAN),
    ("sign", (np.float32(NAN),), NAN), ("sign", (np.float32(-3),), -1.0), ("sign", (I8(-9),), -1),
    ("round_away", (np.float64(-2.5),), -3.0), ("round_away", (np.float64(0.49999999999999994),), 0.0),
    ("round_even", (np.float64(2.5),), 2.0), ("fma", (np.float64(INF), np.float64(0), np.float64(1)), NAN),
    ("fma", (np.float32(1 + 2**-12), np.float32(1 + 2**-12), np.float32(-1)), 2.0**-11 + 2.0**-24),
]


@pytest.mark.parametrize("op,args,expected", TABLE, ids=lambda x: str(x))
def test_operation(op, args, expected):
    with np.errstate(all="ignore"):
        got = semantics.apply(op, *map(np.asarray, args))
    assert got.dtype == args[0].dtype
    np.testing.assert_array_equal(float(got), float(expected))


@pytest.mark.parametrize("value,dtype,expected", [
    (np.float32(NAN), np.int32, 0), (np.float32(3e9), np.int32, 2**31 - 1), (np.float32(-1.9), np.uint8, 0),
    (np.float64(-INF), np.int64, -2**63), (np.float64(255.9), np.uint8, 255), (np.float64(-128.9), np.int8, -128),
    (np.float32(2.0**63), np.int64, 2**63 - 1), (np.float64(2.0**64), np.uint64, 2**64 - 1),
    (np.float32(NAN), bool, True)])
def test_conversion_saturates(value, dtype, expected):
    with np.errstate(all="ignore"):
        got = semantics.convert(np.asarray(value), np.dtype(dtype))
    assert got.dtype == dtype and got == expected


def test_exact_rounding_of_fma_agrees_with_wider_arithmetic():
    random = np.random.default_rng(1)
    x, y, z = (random.standard_normal(500).astype(F32) for _ in range(3))
    exact = x.astype(np.longdouble) * y + z
    np.testing.assert_array_equal(semantics.fma(x, y, z), exact.astype(F32))


REFERENCE = {"rsqrt": lambda x: x**-0.5, "logistic": special.expit, "erf": special.erf, "erfc": special.erfc,
             "erf_inv": special.erfinv, "lgamma": special.gammaln, "digamma": special.digamma}


@pytest.mark.parametrize("op", MATH)
def test_mathematical_functions(op):
    x = np.linspace(0.05, 0.95, 50)
    args = [x, x[::-1].copy()][:MATH[op]]
    if op == "acosh":
        args = [x + 1]
    names = {"asin": "arcsin", "acos": "arccos", "atan": "arctan", "asinh": "arcsinh", "acosh": "arccosh",
             "atanh": "arctanh", "atan2": "arctan2", "pow": "power"}
    reference = REFERENCE.get(op) or getattr(np, names.get(op, op))
    np.testing.assert_allclose(semantics.apply(op, *args), reference(*args), rtol=1e-13)
    assert semantics.apply(op, *(a.astype(F32) for a in args)).dtype == F32


def test_special_functions_at_the_edges():
    x = np.array([-2.5, -0.7, 0.0, -0.0, -3.0, INF, 1e-9, 40.0])
    y = np.array([-1, 1, 0, 1e-12, -0.999999, 2, NAN])
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(semantics.apply("digamma", x), special.digamma(x), rtol=1e-12)
        np.testing.assert_allclose(semantics.apply("lgamma", x), special.gammaln(x), rtol=1e-12)
        np.testing.assert_allclose(semantics.apply("erf_inv", y), special.erfinv(y), rtol=1e-12)


def test_unknown_operation():
    with pytest.raises(NotImplementedError, match="'spline'"):
        semantics.apply("spline", np.float32(1))


COUNTER = """
function count(n: int64[1]) -> (y: int64[4]) scratch 0 {
  while (c1: int64 = n[0]) {
    let t2: bool = gt(c1, 3)
    test t2
    store y[sub(c1, 4)] = mul(c1, 10)
    next c1 = sub(c1, 1)
  } -> (r3)
  store y[3] = r3
}
"""


def test_while_runs_as_read():
    assert list(interpret(parse(COUNTER), [np.array([6])]).outputs[0]) == [40, 50, 60, 3]


def test_accesses_are_checked():
    with pytest.raises(IndexError, match="outside of %y with 4 elements"):
        interpret(parse(COUNTER), [np.array([9])])
    with pytest.raises(ValueError, match=r"input %n is int64\[1\], got int64\[2\]"):
        interpret(parse(COUNTER), [np.array([1, 2])])


def test_calls_need_functions():
    f = parse("function f() -> (y: float32[4]) scratch 0 { call g(&y[1], 3) reads () writes (y) checked }")
    with pytest.raises(KeyError, match="symbol 'g'"):
        interpret(f, [])

    def g(pointer, count):
        pointer[:] = count
        return 5

    result = interpret(f, [], {"g": g})
    assert result.status == 5 | KERNEL_STATUS and list(result.outputs[0]) == [0, 3, 3, 3]


def test_temporaries_share_the_arena_as_planned():
    """Two temporaries at one place are the same memory."""
    f = parse("""function f() -> (y: float32[1]) scratch 4 {
        temp a: float32[1] at 0  temp b: float32[1] at 0
        store a[0] = 3.5:float32  store y[0] = b[0] }""")
    assert interpret(f, []).outputs[0][0] == 3.5


def test_rare_values_are_not_evaluated_without_need():
    f = parse("""function f(x: float32[4]) -> (y: float32[4]) scratch 0 {
        for i1 in 0 .. 4 serial () {
            store y[i1] = select_rare(gt(x[i1], 9.0:float32), x[add(i1, 100)], x[i1]) } -> () }""")
    x = np.arange(4, dtype=F32)
    np.testing.assert_array_equal(interpret(f, [x]).outputs[0], x)
    with pytest.raises(IndexError):
        interpret(f, [x * 10])


def test_lanes_and_single_iterations_agree():
    e = Exprs()
    x, y = Buffer("x", F64, 1000, "input"), Buffer("y", F64, 1000, "output")
    i = e.var(INT64, "i")
    value = e.prim("fma", e.load(x, i), e.convert(i, F64), e.load(x, e.prim("sub", e.index(999), i)))
    f = Function("f", [x], [y], e, [For(i, e.index(0), e.index(1000), [Store(y, i, value)], mode="vector")])
    data = np.random.default_rng(0).standard_normal(1000)
    a, b = (interpret(f, [data], lanes=lanes).outputs[0] for lanes in (True, False))
    np.testing.assert_array_equal(a, b)
