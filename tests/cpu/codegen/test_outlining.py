"""Loops that occur repeatedly share one function; results that have nothing in common are stored in loops of their own."""
from __future__ import annotations

import itertools
import re

import numpy as np
import pytest

import numjet as nj
import numjet.lax as lax
import numjet.numpy as jnp
from numjet.api.stages import trace_call
from numjet.cpu.codegen import llvm
from numjet.cpu.codegen.statements.outlining import Structure, outlinable
from numjet.cpu.ir.nodes import BOOL, INT64, Buffer, Carry, Check, Expr, Exprs, For, Function, Let, Stmt, Store
from numjet.cpu.ir.traversal import walk
from numjet.cpu.lowering.arrays import materialization
from numjet.cpu.lowering.lower import lower
from numjet.cpu.native_code import jit
from tests.cpu.loops import F32, F64, agree

N = 70


def functions_in(text: str) -> list[str]:
    """The names of the functions made for loops."""
    return re.findall(r'^define internal \w+ @"([\w.]+)"', text, re.MULTILINE)


def scaled(e: Exprs, x: Buffer, y: Buffer, factor: Expr, size: int = N, mode: str = "vector") -> For:
    """y[i] = x[i] * factor"""
    i = e.var(INT64, "i")
    return For(i, e.index(0), e.index(size), [Store(y, i, e.prim("mul", e.load(x, i), factor))], mode=mode)


def buffers(kind: str, count: int, size: int = N, dtype: np.dtype = F32) -> list[Buffer]:
    return [Buffer(f"{kind[0]}{k}", dtype, size, kind) for k in range(count)]


def inputs(count: int, size: int = N) -> list[np.ndarray]:
    return [np.random.default_rng(k).standard_normal(size).astype(np.float32) for k in range(count)]


# --- forms

def test_forms_are_equal_up_to_buffers_and_captured_values():
    e, (a, b), (y, z) = Exprs(), buffers("input", 2), buffers("output", 2)
    u, v = e.var(F32), e.var(F32)
    one, two = Structure([scaled(e, a, y, u)]), Structure([scaled(e, b, z, v)])
    assert one.key == two.key
    assert list(one.buffers) == [a, y] and list(two.buffers) == [b, z]
    assert one.captured == [u] and two.captured == [v]


@pytest.mark.parametrize("other", ["constant", "size", "mode", "buffer size", "dtype", "in place", "negative zero", "captured"])
def test_forms_differ(other):
    e, (a,), (y,) = Exprs(), buffers("input", 1), buffers("output", 1)
    (long,), (wide,), (wide_out,) = buffers("input", 1, 2 * N), buffers("input", 1, dtype=F64), buffers("output", 1, dtype=F64)
    zero, v = e.const(0.0, F32), e.var(F32)
    changed = {"constant": lambda: scaled(e, a, y, e.const(2, F32)), "size": lambda: scaled(e, a, y, zero, N - 1),
               "mode": lambda: scaled(e, a, y, zero, mode="serial"), "buffer size": lambda: scaled(e, long, y, zero),
               "dtype": lambda: scaled(e, wide, wide_out, e.const(0.0, F64)), "in place": lambda: scaled(e, y, y, zero),
               "negative zero": lambda: scaled(e, a, y, e.const(-0.0, F32)), "captured": lambda: scaled(e, a, y, v)}
    assert Structure([scaled(e, a, y, zero)]).key != Structure([changed[other]()]).key


def test_what_can_be_a_function_of_its_own():
    e, (a,), (y,) = Exprs(), buffers("input", 1), buffers("output", 1)
    loop = scaled(e, a, y, e.const(2, F32))
    assert outlinable(loop) and not outlinable(loop.body[0])
    checked = For(loop.var, loop.start, loop.stop, [*loop.body, Check(e.const(True, BOOL), 1)])
    acc = e.var(F32)
    carried = For(loop.var, loop.start, loop.stop, [], [Carry(acc, e.const(0, F32), acc, e.var(F32))])
    assert not outlinable(checked) and not outlinable(carried)


# --- code

def test_repeated_loops_are_written_once():
    e, xs, ys = Exprs(), buffers("input", 4), buffers("output", 4)
    body: list[Stmt] = [scaled(e, x, y, e.const(3, F32)) for x, y in zip(xs, ys, strict=True)]
    f = Function("f", xs, ys, e, body)
    text = llvm.emit(f, jit.host())
    assert functions_in(text) == ["f.part0"] and text.count('call void @"f.part0"') == 4
    agree(f, inputs(4), every=True)


def test_loops_that_can_be_cancelled_give_a_status():
    e, xs, ys = Exprs(), buffers("input", 4), buffers("output", 4)
    loops = [scaled(e, x, y, e.const(3, F32)) for x, y in zip(xs, ys, strict=True)]
    for loop in loops[:2]:
        loop.cancellation_point = 2
    f = Function("f", xs, ys, e, list(loops))
    text = llvm.emit(f, jit.host())
    assert functions_in(text) == ["f.part0", "f.part1"]
    assert text.count('call i64 @"f.part0"') == 2 == text.count('call void @"f.part1"')
    agree(f, inputs(4), every=True)


def test_captured_values_are_arguments_and_literals_are_not():
    e, xs, ys = Exprs(), buffers("input", 4), buffers("output", 4)
    u, v, w = e.var(F32, "u"), e.var(F32, "v"), e.var(F32, "w")
    lets: list[Stmt] = [Let(u, e.load(xs[0], e.index(5))), Let(v, e.load(xs[1], e.index(6))), Let(w, e.const(0.5, F32))]
    body = [*lets, *(scaled(e, x, y, c) for x, y, c in zip(xs, ys, (u, v, w, w), strict=True))]
    f = Function("f", xs, ys, e, body)
    assert len(functions_in(llvm.emit(f, jit.host()))) == 2
    agree(f, inputs(4), every=True)


def test_a_loop_that_reads_what_the_one_before_wrote():
    e, (x,), (y, z) = Exprs(), buffers("input", 1), buffers("output", 2)
    t = buffers("temp", 2)
    chain = [x, *t, y, z]
    body: list[Stmt] = [scaled(e, a, b, e.const(1.5, F32)) for a, b in itertools.pairwise(chain[1:])]
    first = e.var(F32)
    body = [scaled(e, x, t[0], e.const(2, F32)), Let(first, e.load(t[0], e.index(0))), *body,
            Store(z, e.index(0), e.prim("add", first, e.load(y, e.index(0))))]
    agree(Function("f", [x], [y, z], e, body, t), inputs(1), every=True)


def test_repeated_parallel_loops_share_their_part():
    e, xs, ys = Exprs(), buffers("input", 3), buffers("output", 3)
    body: list[Stmt] = [scaled(e, x, y, e.const(3, F32), mode="parallel") for x, y in zip(xs, ys, strict=True)]
    f = Function("f", xs, ys, e, body)
    text = llvm.emit(f, jit.host())
    assert functions_in(text) == ["f.part0"] and text.count('call i64 @nj_parallel_until_stopped') == 3
    agree(f, inputs(3))


def test_small_constants_of_repeated_loops():
    e, ys = Exprs(), buffers("output", 3)
    tables = [Buffer(f"c{k}", F32, N, "const", x) for k, x in enumerate(inputs(3))]
    body: list[Stmt] = [scaled(e, c, y, e.const(-1, F32)) for c, y in zip(tables, ys, strict=True)]
    f = Function("f", [], ys, e, body, [], tables)
    assert len(functions_in(llvm.emit(f, jit.host()))) == 1
    agree(f, [])


@pytest.mark.parametrize("layers", [3, 12])
def test_layers_of_a_network_share_their_loops(layers):
    def net(ws, x):
        for w in ws:
            x = jnp.tanh(lax.dot_general(x, w, (((1,), (0,)), ((), ())))) + x
        return x
    shapes = [nj.ShapeDtypeStruct((32, 32), np.float32)] * layers, nj.ShapeDtypeStruct((6, 32), np.float32)   # loops, no kernel
    f = lowered(net, *shapes)
    kinds = {Structure([s]).key for s in f.body if outlinable(s)}
    assert len(kinds) == 2
    ws = [np.random.default_rng(k).standard_normal((32, 32)).astype(np.float32) / 6 for k in range(layers)]
    x = np.ones((6, 32), np.float32)
    want = x
    for w in ws:
        want = np.tanh(want @ w) + want
    np.testing.assert_allclose(nj.jit(net)(ws, x), want, rtol=1e-4, atol=1e-5)


# --- which results are stored together

def lowered(fun, *args) -> Function:
    return lower(trace_call(fun, args, {})[0], "f").function


def stores(function: Function) -> list[int]:
    """How many stores each loop holds."""
    return [sum(isinstance(s, Store) for s in walk(loop.body)) for loop in function.body if isinstance(loop, For)]


def test_unrelated_results_are_stored_in_loops_of_their_own():
    """As in an optimizer's update of many parameters."""
    count = 5 * materialization.TOGETHER
    def update(ps, gs):
        return [p - 0.1 * g for p, g in zip(ps, gs, strict=True)], [0.9 * g for g in gs]
    shape = nj.ShapeDtypeStruct((N,), np.float32)
    assert stores(lowered(update, [shape] * count, [shape] * count)) == [materialization.TOGETHER] * 10
    ps, gs = inputs(count), inputs(count)[::-1]
    new, momenta = nj.jit(update)(ps, gs)
    for p, g, got, m in zip(ps, gs, new, momenta, strict=True):
        np.testing.assert_array_equal(got, p - np.float32(0.1) * g)
        np.testing.assert_array_equal(m, np.float32(0.9) * g)


def test_related_results_stay_in_one_loop():
    count = 3 * materialization.TOGETHER
    shape = nj.ShapeDtypeStruct((N,), np.float32)
    assert stores(lowered(lambda x: [jnp.exp(x) * k for k in range(2, count)], shape)) == [count - 2]


def test_carries_of_a_loop_that_change_places():
    """Each of many carries is written from what another one holds."""
    count = 3 * materialization.TOGETHER
    def rotate(xs):
        return lax.fori_loop(0, 3, lambda i, c: [*c[1:], c[0] * 2.0], xs)
    xs = inputs(count)
    want = list(xs)
    for _ in range(3):
        want = [*want[1:], want[0] * 2]
    for a, b in zip(nj.jit(rotate)(xs), want, strict=True):
        np.testing.assert_array_equal(a, b)


def test_captured_values_and_carries_have_names_of_their_own():
    """Of a bilinear function the derivative of one slope along one argument is the slope at that tangent."""
    draw = np.random.default_rng(0).standard_normal
    x, k, dx, dk, weights = (draw(n).astype(np.float32) for n in (31, 7, 31, 7, 37))
    slopes = nj.grad(lambda x, k: jnp.sum(jnp.convolve(x, k) * weights), (0, 1))
    _, (along_x, along_k) = nj.jit(lambda *args: nj.jvp(slopes, args[:2], args[2:]))(x, k, dx, dk)
    np.testing.assert_allclose(along_x, np.correlate(weights, dk, "valid"), rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(along_k, np.correlate(weights, dx, "valid"), rtol=1e-5, atol=1e-5)
