"""Machine code of statements and loops against the interpreter, on hand-built functions."""
from __future__ import annotations

import ctypes

import numpy as np
import pytest

from numjet.cpu.codegen import llvm
from numjet.cpu.ir.nodes import (
    INT64,
    KERNEL_STATUS,
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
    Switch,
    While,
)
from numjet.cpu.native_code import jit
from numjet.cpu.verification.interpreter import interpret
from tests.cpu.loops import BF16, BOOL, F32, F64, INTS, agree, execute, plan, special

LENGTHS = [0, 1, 3, 15, 16, 17, 63, 64, 65, 100, 1000]
RANDOM = np.random.default_rng(0)


def floats(n: int, dtype: np.dtype = F32) -> np.ndarray:
    return RANDOM.standard_normal(n).astype(dtype)


class Build:
    """A function under construction: `e` its expressions, `x` inputs, `y` outputs."""

    def __init__(self, inputs=((F32, 1000),), outputs=((F32, 1000),), temps=()):
        self.e = Exprs()
        self.x = [Buffer(f"x{k}", d, n, "input") for k, (d, n) in enumerate(inputs)]
        self.y = [Buffer(f"y{k}", d, n, "output") for k, (d, n) in enumerate(outputs)]
        self.t = [Buffer(f"t{k}", d, n, "temp") for k, (d, n) in enumerate(temps)]

    def index(self, name="i"):
        return self.e.var(INT64, name)

    def add(self, *terms):
        total = terms[0] if not isinstance(terms[0], int) else self.e.index(terms[0])
        for term in terms[1:]:
            total = self.e.prim("add", total, self.e.index(term) if isinstance(term, int) else term)
        return total

    def mul(self, x, y):
        return self.e.prim("mul", x, self.e.index(y) if isinstance(y, int) else y)

    def loop(self, var, n, body, mode="vector", carries=(), start=0):
        bounds = [self.e.index(b) if isinstance(b, int) else b for b in (start, n)]
        return For(var, *bounds, list(body), list(carries), mode)

    def carry(self, dtype, init, step, combine=None):
        var, out = self.e.var(dtype, "c"), self.e.var(dtype, "r")
        first = init if hasattr(init, "op") else self.e.const(init, dtype)
        term = None
        if combine:
            term, step = step, self.e.prim(combine, var, step)
        else:
            step = step(var)
        return Carry(var, first, step, out, combine, term)

    def function(self, *body):
        return Function("f", self.x, self.y, self.e, list(body), self.t)


@pytest.mark.parametrize("n", LENGTHS)
@pytest.mark.parametrize("dtype", [F32, F64, BF16, np.dtype(np.int8), BOOL], ids=str)
def test_elementwise_lengths(n, dtype):
    b = Build([(dtype, n)], [(dtype, n)])
    i = b.index()
    agree(b.function(b.loop(i, n, [Store(b.y[0], i, b.e.load(b.x[0], i))])), [special(dtype, n)], every=True)


@pytest.mark.parametrize("n", LENGTHS)
def test_dynamic_bounds(n):
    """Start and stop are only known when it runs; also when stop is before start."""
    for start, stop in ((0, n), (n // 2, n), (n, n // 3), (1, n - 1)):
        b = Build([(F32, 1000), (INTS[3], 2)])
        i = b.index()
        bounds = [b.e.load(b.x[1], b.e.index(k)) for k in (0, 1)]
        body = [Store(b.y[0], i, b.e.prim("add", b.e.load(b.x[0], i), b.e.convert(i, F32)))]
        agree(b.function(b.loop(i, bounds[1], body, start=bounds[0])),
              [floats(1000), np.array([start, max(0, stop)])], every=True)


REDUCTIONS = [(op, d) for d in (F32, F64, *INTS) for op in ("add", "mul", "min", "max")]
REDUCTIONS += [(op, d) for d in INTS for op in ("and", "or", "xor")]
REDUCTIONS += [(op, BOOL) for op in ("add", "mul", "min", "max", "and", "or", "xor")]


@pytest.mark.parametrize("op,dtype", REDUCTIONS, ids=str)
def test_reduction(op, dtype):
    for n in (0, 1, 5, 16, 37, 200):
        for mode in ("vector", "serial"):
            b = Build([(dtype, n)], [(dtype, 1)])
            i = b.index()
            carry = b.carry(dtype, special(dtype)[1], b.e.load(b.x[0], i), op)
            x = floats(n, dtype) if dtype.kind == "f" else special(dtype, n + 2)[2:]
            agree(b.function(b.loop(i, n, [], mode, [carry]), Store(b.y[0], b.e.index(0), carry.out)), [x], 1e-5)


def test_reduction_of_nan_and_dynamic_length():
    for op in ("min", "max", "add"):
        b = Build([(F32, 77), (INTS[3], 1)], [(F32, 1)])
        i = b.index()
        carry = b.carry(F32, 1.0, b.e.load(b.x[0], i), op)
        loop = b.loop(i, b.e.load(b.x[1], b.e.index(0)), [], "vector", [carry])
        f = b.function(loop, Store(b.y[0], b.e.index(0), carry.out))
        for place in (0, 40, 76):
            x = floats(77)
            x[place] = np.nan
            for n in (0, place, place + 1, 77):
                agree(f, [x, np.array([n])], 1e-5, every=True)


def test_two_reductions_with_conditional_term_and_fma():
    b = Build([(F32, 333)], [(F32, 2)])
    i, e = b.index(), b.e
    x = e.load(b.x[0], i)
    c1, c2 = b.carry(F32, 0.5, x, "add"), b.carry(F32, 1.0, x, "max")
    c1.next = e.prim("select", e.prim("gt", x, e.const(0, F32)), e.prim("fma", x, x, c1.var), c1.var)
    f = b.function(b.loop(i, 333, [], "vector", [c1, c2]),
                   Store(b.y[0], e.index(0), c1.out), Store(b.y[0], e.index(1), c2.out))
    agree(f, [floats(333)], 1e-5, every=True)


@pytest.mark.parametrize("stride,offset", [(1, 3), (-1, 99), (2, 0), (3, 1), (-2, 199), (0, 5)])
@pytest.mark.parametrize("n", [1, 16, 100])
def test_strides(stride, offset, n):
    b = Build([(F32, 400), (BOOL, 400)], [(F32, 400), (BOOL, 400)])
    i, e = b.index(), b.e
    place = b.add(b.mul(i, stride), offset)
    body = [Store(b.y[0], b.mul(i, 2), e.load(b.x[0], place)),
            Store(b.y[1], b.add(b.mul(i, -1), n), e.load(b.x[1], place))]
    agree(b.function(b.loop(i, n, body)), [floats(400), special(BOOL, 400)], every=True)


@pytest.mark.parametrize("dtype", [F32, F64, np.dtype(np.int8), BOOL], ids=str)
def test_gather_and_scatter(dtype):
    b = Build([(dtype, 100), (np.dtype(np.int32), 90)], [(dtype, 100), (dtype, 100)])
    i, e = b.index(), b.e
    where = e.convert(e.load(b.x[1], i), INT64)
    body = [Store(b.y[0], i, e.load(b.x[0], b.add(where, 1))), Store(b.y[1], where, e.load(b.x[0], i))]
    agree(b.function(b.loop(i, 90, body)), [special(dtype, 100), RANDOM.permutation(90).astype(np.int32)], every=True)


@pytest.mark.parametrize("dtype", [*INTS, F32, F64], ids=str)
def test_iota(dtype):
    """Positions as values, in every type, moved and scaled."""
    b = Build([(INTS[3], 1)], [(dtype, 300), (BOOL, 300), (dtype, 300)])
    i, e = b.index(), b.e
    moved = b.add(b.mul(i, -3), e.load(b.x[0], e.index(0)), 7)
    body = [Store(b.y[0], i, e.convert(moved, dtype)), Store(b.y[1], i, e.prim("lt", moved, e.index(100))),
            Store(b.y[2], i, e.convert(e.prim("rem", i, e.index(10)), dtype))]
    agree(b.function(b.loop(i, 300, body)), [np.array([70000])], every=True)


@pytest.mark.parametrize("shape", [(3, 4, 5), (7, 64, 9), (2, 33, 100), (5, 3, 3)])
def test_matrix_product(shape):
    """i serial, j vector, k serial with carries by lane."""
    m, n, k = shape
    b = Build([(F32, m * k), (F32, k * n)], [(F32, m * n)])
    i, j, p, e = b.index("i"), b.index("j"), b.index("k"), b.e
    product = e.prim("mul", e.load(b.x[0], b.add(b.mul(i, k), p)), e.load(b.x[1], b.add(b.mul(p, n), j)))
    carry = b.carry(F32, 0, product, "add")
    inner = [b.loop(p, k, [], "serial", [carry]), Store(b.y[0], b.add(b.mul(i, n), j), carry.out)]
    f = b.function(b.loop(i, m, [b.loop(j, n, inner)], "serial"))
    x, y = floats(m * k), floats(k * n)
    got = agree(f, [x, y], 1e-5, every=True)
    np.testing.assert_allclose(got.outputs[0].reshape(m, n), x.reshape(m, k) @ y.reshape(k, n), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("rows,columns", [(40, 3), (3, 40), (100, 100), (5, 1), (1, 5), (33, 17)])
def test_row_and_column_sums(rows, columns):
    """Nested vector loops, the inner one a reduction; the short ones let the outer loop be the vector loop."""
    for step_row, step_column in ((columns, 1), (1, rows)):
        b = Build([(F32, rows * columns)], [(F32, rows)])
        i, j, e = b.index(), b.index("j"), b.e
        carry = b.carry(F32, 0, e.load(b.x[0], b.add(b.mul(i, step_row), b.mul(j, step_column))), "add")
        f = b.function(b.loop(i, rows, [b.loop(j, columns, [], "vector", [carry]), Store(b.y[0], i, carry.out)]))
        agree(f, [floats(rows * columns)], 1e-5, every=True)


def test_recurrence_in_lanes():
    """A serial loop with two carries inside a vector loop; one carry is the same in all lanes."""
    b = Build([(F32, 50)], [(F32, 50), (F32, 50)])
    i, k, e = b.index(), b.index("k"), b.e
    half = e.const(0.5, F32)
    fixed = b.carry(F32, 1, lambda c: e.prim("mul", c, half))
    moving = b.carry(F32, 2, lambda c: e.prim("add", e.prim("mul", c, e.load(b.x[0], i)), fixed.var))
    body = [b.loop(k, 6, [], "serial", [moving, fixed]), Store(b.y[0], i, moving.out), Store(b.y[1], i, fixed.out)]
    agree(b.function(b.loop(i, 50, body)), [floats(50)], every=True)


def test_lorenz_like_serial_loop():
    b = Build([(F32, 3)], [(F32, 300)])
    i, e = b.index(), b.e
    x, y, z = (b.e.var(F32, n) for n in "xyz")
    h, s, r = (e.const(v, F32) for v in (0.01, 10.0, 28.0))
    def step(u, du):
        return e.prim("add", u, e.prim("mul", h, du))
    nexts = [step(x, e.prim("mul", s, e.prim("sub", y, x))),
             step(y, e.prim("sub", e.prim("mul", x, e.prim("sub", r, z)), y)),
             step(z, e.prim("sub", e.prim("mul", x, y), z))]
    carries = [Carry(v, e.load(b.x[0], e.index(k)), n, e.var(F32, "out"))
               for k, (v, n) in enumerate(zip((x, y, z), nexts, strict=True))]
    body = [Store(b.y[0], b.add(b.mul(i, 3), k), n) for k, n in enumerate(nexts)]
    agree(b.function(b.loop(i, 100, body, "serial", carries)), [np.array([1, 2, 20], np.float32)])


def test_while_with_condition_statements():
    """Collatz lengths, and the memory it walks through."""
    b = Build([(INTS[3], 1)], [(INTS[3], 200)])
    e = b.e
    n, count, t = e.var(INT64, "n"), e.var(INT64, "count"), e.var(BOOL, "t")
    even = e.prim("eq", e.prim("and", n, e.index(1)), e.index(0))
    grown = b.add(b.mul(n, 3), 1)
    after = e.prim("select", even, e.prim("shra", n, e.index(1)), grown)
    carries = [Carry(n, e.load(b.x[0], e.index(0)), after, e.var(INT64, "last")),
               Carry(count, e.index(0), b.add(count, 1), e.var(INT64, "steps"))]
    f = b.function(While(carries, [Let(t, e.prim("ne", n, e.index(1)))], t, [Store(b.y[0], count, n)]),
                   Store(b.y[0], e.index(199), carries[1].out))
    for start in (1, 2, 27, 97):
        assert agree(f, [np.array([start])]).outputs[0][199] == {1: 0, 2: 1, 27: 111, 97: 118}[start]


def test_if_switch_and_results():
    for which in range(3):
        b = Build([(INTS[3], 1), (F32, 4)], [(F32, 4)])
        e = b.e
        w, zero = e.load(b.x[0], e.index(0)), e.index(0)
        a, c = (e.load(b.x[1], e.index(k)) for k in (0, 1))
        chosen, sent = e.var(F32, "chosen"), e.var(F32, "sent")
        f = b.function(
            If(e.prim("gt", w, zero), [Store(b.y[0], zero, a)], [Comment("nothing", "a.py", 3)],
               [(chosen, e.prim("add", a, c), c)]),
            Switch(w, [[], [Store(b.y[0], e.index(1), c)], [Store(b.y[0], e.index(1), chosen)]],
                   [(sent, (a, c, chosen))]),
            Store(b.y[0], e.index(2), sent), Store(b.y[0], e.index(3), chosen))
        agree(f, [np.array([which]), floats(4)])


@pytest.mark.parametrize("n", [5, 16, 100])
def test_if_in_a_vector_loop(n):
    """By lane with masked stores and loads (out of range where the condition is false), or as a branch."""
    b = Build([(F32, n), (F32, n // 2), (BOOL, 1)], [(F32, n), (F32, n), (F32, n)])
    i, e = b.index(), b.e
    x, r, q = e.load(b.x[0], i), e.var(F32, "r"), e.var(F32, "q")
    inside = e.prim("lt", i, e.index(n // 2))
    body = [If(inside, [Store(b.y[0], i, e.load(b.x[1], i))],
               [If(e.prim("gt", x, e.const(0, F32)), [Store(b.y[0], i, x)], [])], [(r, e.load(b.x[1], i), x)]),
            Store(b.y[1], i, r),
            If(e.load(b.x[2], e.index(0)), [], [Store(b.y[1], i, e.prim("neg", x))], [(q, x, e.const(2, F32))]),
            Store(b.y[2], i, q)]
    f = b.function(b.loop(i, n, body))
    for flag in (False, True):
        agree(f, [floats(n), floats(n // 2), np.array([flag])], every=True)


def test_memory_order():
    """Loads see earlier stores and not later ones; what is pinned stays."""
    b = Build([(F32, 8)], [(F32, 8)], [(F32, 8)])
    i, e, t, y = b.index(), b.e, b.t[0], b.y[0]
    zero, one = e.index(0), e.index(1)
    v, w = e.var(F32, "v"), e.var(F32, "w")
    body = [Copy(t, zero, b.x[0], zero, e.index(8)), Let(v, e.load(t, zero)), Store(t, zero, e.prim("add", v, v)),
            Let(w, e.load(t, zero)), Store(t, zero, v), Store(y, zero, e.prim("mul", w, e.load(t, zero))),
            b.loop(i, 5, [Store(t, one, e.prim("add", e.load(t, one), e.load(t, b.add(i, 2)))),
                          Store(t, b.add(i, 2), e.load(t, one))], "serial"),
            If(e.prim("lt", v, w), [Store(t, one, v)], [Store(t, one, w)]),
            Store(y, one, e.load(t, one)), Copy(y, e.index(2), t, e.index(2), e.index(6))]
    for x in (floats(8), -np.ones(8, np.float32)):
        agree(b.function(*body), [x])


def test_loads_stay_in_loops_that_write():
    """The same load twice, around a loop that changes it: an accumulation in memory."""
    b = Build([(F32, 20)], [(F32, 2)])
    i, j, e = b.index(), b.index("j"), b.e
    total = e.load(b.y[0], e.index(0))
    f = b.function(Store(b.y[0], e.index(1), total), b.loop(j, 3, [
        b.loop(i, 20, [Store(b.y[0], e.index(0), e.prim("add", total, e.load(b.x[0], i)))], "serial"),
        Store(b.y[0], e.index(1), e.prim("add", total, e.load(b.y[0], e.index(1))))], "serial"))
    agree(f, [floats(20)])


def test_overlapping_copy_and_fills():
    short = np.dtype(np.int16)
    b = Build([(F32, 50), (INTS[3], 1)], [(F32, 50), (short, 100), (BOOL, 40)])
    e = b.e
    i, count = e.index, e.load(b.x[1], e.index(0))
    f = b.function(Copy(b.y[0], i(0), b.x[0], i(0), i(50)), Copy(b.y[0], i(3), b.y[0], i(0), i(40)),
                   Fill(b.y[0], i(45), e.const(0, F32), i(5)), Fill(b.y[0], i(0), e.const(-0.0, F32), i(2)),
                   Fill(b.y[1], i(10), e.const(-3, short), i(77)), Fill(b.y[2], i(1), e.const(True, BOOL), i(38)),
                   Fill(b.y[1], i(0), e.const(5, short), count), Copy(b.y[1], i(90), b.y[1], i(0), count),
                   Fill(b.y[1], i(97), e.const(0, short), count))
    for n in (3, 0, -5):
        agree(f, [floats(50), np.array([n])], every=True)


def test_fill_with_what_it_overwrites():
    b = Build([(F32, 40)], [(F32, 40)])
    e = b.e
    value = e.load(b.y[0], e.index(20))
    f = b.function(Copy(b.y[0], e.index(0), b.x[0], e.index(0), e.index(40)),
                   Fill(b.y[0], e.convert(value, INT64), e.prim("mul", value, value), e.index(30)))
    x = floats(40)
    x[20] = 3
    assert list(agree(f, [x]).outputs[0][3:33]) == [9] * 30


def test_unrolled_loop():
    b = Build([(F32, 12)], [(F32, 12), (F32, 1)])
    k, e = b.index("k"), b.e
    carry = b.carry(F32, 1, lambda c: e.prim("add", e.prim("mul", c, e.const(0.5, F32)), e.load(b.x[0], k)))
    body = [Store(b.y[0], b.add(b.mul(k, -1), 11), e.prim("mul", e.convert(k, F32), carry.var))]
    f = b.function(b.loop(k, 12, body, "unroll", [carry]), Store(b.y[1], e.index(0), carry.out))
    agree(f, [floats(12)])
    assert "phi" not in llvm.emit(f, jit.host())


def test_check_leaves_with_status_and_values():
    b = Build([(INTS[3], 5)], [(INTS[3], 5)])
    i, e = b.index(), b.e
    x = e.load(b.x[0], i)
    f = b.function(b.loop(i, 5, [Check(e.prim("lt", x, e.index(10)), 3, (i, x)), Store(b.y[0], i, x)], "vector"))
    assert agree(f, [np.arange(5)]).status == 0
    bad = agree(f, [np.array([1, 2, 30, 4, 50])])
    assert bad.status == 3 and list(bad.info[:3]) == [0, 2, 30] and list(bad.outputs[0]) == [1, 2, 0, 0, 0]


def test_calls():
    """Pointers with offsets, numbers of several types, a status; what a call writes is read again."""
    b = Build([(F32, 4)], [(F32, 4), (F32, 1)])
    e = b.e
    first = e.load(b.y[0], e.index(1))
    numbers = [e.index(3), e.const(2.5, F64), e.const(-3, INTS[0]), e.const(True, BOOL)]
    call = Call("host_scale", [(b.x[0], e.index(1)), (b.y[0], e.index(1)), *numbers], (b.x[0],), (b.y[0],), True)
    f = plan(b.function(Store(b.y[0], e.index(1), e.const(9, F32)), Store(b.y[1], e.index(0), first), call,
                        Store(b.y[1], e.index(0), e.prim("add", first, e.load(b.y[1], e.index(0))))))
    prototype = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.POINTER(ctypes.c_float), ctypes.POINTER(ctypes.c_float),
                                 ctypes.c_int64, ctypes.c_double, ctypes.c_int8, ctypes.c_bool)

    def scale(source, target, n, factor, small, flag):
        for k in range(n):
            target[k] = source[k] * factor + small + flag
        return 0 if source[0] > 0 else 8

    native = prototype(scale)
    symbols = {"host_scale": ctypes.cast(native, ctypes.c_void_p).value}
    for x in (np.array([1, 2, 3, 4], np.float32), np.array([1, -2, 3, 4], np.float32)):
        expected, got = interpret(f, [x], {"host_scale": scale}), execute(f, [x], symbols)
        assert expected.status == got.status == (0 if x[1] > 0 else 8 | KERNEL_STATUS)
        for p, q in zip(got.outputs, expected.outputs, strict=True):
            np.testing.assert_array_equal(p, q)


@pytest.mark.parametrize("n", [10, 5000])
def test_constant_buffers(n):
    b = Build([(F32, n)], [(F32, n)])
    i, e = b.index(), b.e
    table = Buffer("table", F32, n, "const", floats(n))
    f = b.function(b.loop(i, n, [Store(b.y[0], i, e.prim("mul", e.load(table, i), e.load(b.x[0], i)))]))
    f.consts.append(table)
    assert bool(llvm.constant_symbols(f)[0]) == (n > 1024)
    agree(f, [floats(n)], every=True)


def test_library_function_and_rare_value():
    """A C function by lane, and one that is only called where a lane needs it."""
    b = Build([(F32, 100), (F64, 100)], [(F32, 100), (F64, 100), (F32, 100)])
    i, e = b.index(), b.e
    x, y = e.load(b.x[0], i), e.load(b.x[1], i)
    slow = e.make("libm", F32, (x,), "sinf")
    rare = e.make("select_rare", F32, (e.prim("gt", x, e.const(2, F32)), slow, e.prim("mul", x, x)))
    body = [Store(b.y[0], i, slow), Store(b.y[1], i, e.make("libm", F64, (y, y), "atan2")), Store(b.y[2], i, rare)]
    for mode in ("vector", "serial"):
        agree(b.function(b.loop(i, 100, body, mode)), [floats(100), floats(100, F64)], every=True)


def test_rare_value_of_a_loop_invariant_leaves_the_loop():
    b = Build([(F32, 100)], [(F32, 100)])
    i, e = b.index(), b.e
    x = e.load(b.x[0], e.index(0))
    rare = e.make("select_rare", F32, (e.prim("gt", x, e.const(0, F32)), e.make("libm", F32, (x,), "cosf"), x))
    f = b.function(b.loop(i, 100, [Store(b.y[0], i, e.prim("add", rare, e.load(b.x[0], i)))]))
    for x0 in (-1, 1):
        agree(f, [np.full(100, x0, np.float32)], every=True)
    text = llvm.emit(f, jit.host())
    assert text.index("@cosf(float") < text.index("loop")


def test_deep_expressions_need_no_recursion():
    b = Build([(F32, 40)], [(F32, 40)])
    i, e = b.index(), b.e
    value = e.load(b.x[0], i)
    for k in range(3000):
        value = e.prim("add", value, e.const(k % 7, F32))
    for mode in ("vector", "serial"):
        agree(b.function(b.loop(i, 40, [Store(b.y[0], i, value)], mode)), [floats(40)])


def test_errors_say_what_is_missing():
    b = Build(temps=[(F32, 4)])
    store = Store(b.t[0], b.e.index(0), b.e.const(1, F32))
    with pytest.raises(ValueError, match="no place in the scratch arena"):
        llvm.emit(b.function(store), jit.host())
    b = Build()
    with pytest.raises(KeyError, match="outside the statement that binds it"):
        llvm.emit(b.function(Store(b.y[0], b.index("loose"), b.e.const(1, F32))), jit.host())
    b = Build()
    bad = Store(b.y[0], b.e.index(0), b.e.prim("popcount", b.e.const(1, F32)))
    with pytest.raises(NotImplementedError, match="'popcount' of float32"):
        llvm.emit(b.function(bad), jit.host())
    with pytest.raises(KeyError, match="'g' uses: absent"):
        jit.compile('declare void @absent()\ndefine i64 @g(ptr %a, ptr %b, ptr %c, ptr %d) {\n'
                    ' call void @absent()\n ret i64 0\n}', {}, "g")
