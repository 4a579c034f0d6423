"""Loops shared among threads: which ones, that their results don't depend on how many threads there are, and are right."""
from __future__ import annotations

import threading

import numpy as np
import pytest

import numjet as nj
import numjet.lax as lax
import numjet.numpy as jnp
from numjet import _native
from numjet.cpu.analysis import sharing
from numjet.cpu.ir.nodes import INT64, Buffer, Carry, Exprs, For, Function, Let, Stmt, Store
from numjet.cpu.ir.traversal import walk
from numjet.cpu.native_code import jit
from numjet.cpu.passes import memory_plan, parallelize
from numjet.cpu.verification import interpreter, verifier
from tests.cpu.loops import F32, agree, execute, plan

LARGE = 1_000_001
HOST = jit.host()


@pytest.fixture
def threads():
    before = _native.num_threads()
    yield _native.set_num_threads
    _native.set_num_threads(before)


def floats(*shape: int) -> np.ndarray:
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(np.float32)


def function_of(exprs: Exprs, body: list[Stmt], inputs: list[Buffer], outputs: list[Buffer], temps=(),
                consts=()) -> Function:
    function = Function("f", inputs, outputs, exprs, body, list(temps), list(consts))
    verifier.check(function)
    return function


def scale(size: int, mode: str = "vector", start: int = 0) -> tuple[Function, For]:
    e = Exprs()
    x, y, i = Buffer("x", F32, size, "input"), Buffer("y", F32, size, "output"), e.var(INT64, "i")
    value = e.prim("add", e.prim("mul", e.load(x, i), e.const(2, F32)), e.const(1, F32))
    loop = For(i, e.index(start), e.index(size), [Store(y, i, value)], [], mode)
    return function_of(e, [loop], [x], [y]), loop


def total(size: int, kind: str = "add", dtype=F32) -> Function:
    e = Exprs()
    x, y, i = Buffer("x", dtype, size, "input"), Buffer("y", dtype, 1, "output"), e.var(INT64, "i")
    acc, out, term = e.var(dtype, "a"), e.var(dtype, "o"), e.load(x, i)
    carry = Carry(acc, e.const(3, dtype), e.prim(kind, acc, term), out, kind, term)
    return function_of(e, [For(i, e.index(0), e.index(size), [], [carry], "vector"), Store(y, e.index(0), out)], [x], [y])


def parallel_loops(function: Function) -> list[For]:
    return [s for s in walk(function.body) if isinstance(s, For) and s.mode == "parallel"]


# --- which loops, in what pieces

def test_small_loops_stay():
    function, _ = scale(1000)
    assert not parallel_loops(parallelize.share(function, HOST))


@pytest.mark.parametrize("start", [0, 5])
def test_chunks_cover_all_iterations(start):
    function, _ = scale(LARGE, start=start)
    parallelize.share(function, HOST)
    verifier.check(function)
    (loop,) = parallel_loops(function)
    assert 2 <= loop.stop.attr <= sharing.MOST_CHUNKS
    x = floats(LARGE)
    expected = np.where(np.arange(LARGE) >= start, 2 * x + 1, 0).astype(np.float32)
    np.testing.assert_array_equal(interpreter.interpret(function, [x]).outputs[0], expected)
    agree(function, [x])


@pytest.mark.parametrize(("kind", "dtype"), [("add", "int32"), ("min", "float32"), ("max", "float32"), ("xor", "uint8")])
def test_partial_results_combine(kind, dtype):
    x = (floats(LARGE) * 100).astype(np.int64).astype(dtype)
    plain, shared = total(LARGE, kind, np.dtype(dtype)), parallelize.share(total(LARGE, kind, np.dtype(dtype)), HOST)
    verifier.check(shared)
    assert len(parallel_loops(shared)) == 1
    np.testing.assert_array_equal(agree(shared, [x]).outputs[0], agree(plain, [x]).outputs[0])


def test_sums_depend_on_the_chunks_only(threads):
    x, shared = floats(LARGE), plan(parallelize.share(total(LARGE), HOST))
    found = []
    for count in (1, 2):
        threads(count)
        found.append(execute(shared, [x]).outputs[0])
    np.testing.assert_array_equal(*found)
    np.testing.assert_allclose(found[0], 3 + x.sum(dtype=np.float64), rtol=1e-5)


# --- the memory plan

def test_temporaries_of_a_parallel_loop_do_not_share_memory():
    e = Exprs()
    y, i = Buffer("y", F32, 64, "output"), e.var(INT64, "i")
    first, second = Buffer("first", F32, 64, "temp"), Buffer("second", F32, 64, "temp")
    body: list[Stmt] = [Store(first, i, e.const(1, F32)), Store(second, i, e.load(first, i)), Store(y, i, e.load(second, i))]
    third = Buffer("third", F32, 64, "temp")
    body[1:1] = [Store(third, i, e.load(first, i)), Store(y, i, e.load(third, i))]
    function = function_of(e, [For(i, e.index(0), e.index(64), body, [], "parallel")], [], [y], [first, second, third])
    memory_plan.plan(function)
    assert len({t.offset for t in function.temps}) == 3


# --- code

def test_parts_capture_variables_and_constants(threads):
    e = Exprs()
    size = 1000
    x, y = Buffer("x", F32, size, "input"), Buffer("y", F32, size, "output")
    table = Buffer("table", F32, 64, "const", np.arange(64, dtype=np.float32))
    i, k, v, flag = e.var(INT64, "i"), e.var(INT64, "k"), e.var(F32, "v"), e.var(np.dtype(bool), "flag")
    value = e.prim("select", flag, e.prim("add", v, e.load(x, i)), e.load(table, e.prim("rem", i, e.index(64))))
    inner = For(i, e.prim("add", k, e.index(1)), e.index(size), [Store(y, i, e.prim("add", value, e.load(table, e.index(3))))],
                [], "parallel")
    body: list[Stmt] = [Let(v, e.load(x, e.index(7))), Let(flag, e.prim("lt", v, e.const(10, F32))),
                        For(k, e.index(0), e.index(3), [inner], [])]
    threads(2)
    agree(function_of(e, body, [x], [y], consts=[table]), [floats(size)], every=True)


# --- whole programs

PROGRAMS = {
    "elementwise": (lambda x: jnp.tanh(x) * 2 + x, (LARGE,)),
    "rows": (lambda x: jnp.sum(jnp.exp(x), 1), (500, 1001)),
    "columns": (lambda x: jnp.sum(x, 0), (1000, 501)),
    "middle": (lambda x: jnp.max(x, 1), (20, 300, 101)),
    "all": (lambda x: jnp.sum(x * x), (1000, 501)),
    "max": (lambda x: jnp.max(lax.transpose(x, (1, 0)) + 1), (700, 801)),
    "softmax": (lambda x: jnp.exp(x) / jnp.sum(jnp.exp(x), 1, keepdims=True), (300, 1001)),
    "transpose": (lambda x: lax.transpose(x, (1, 0)) * 3, (896, 704)),
    "product": (lambda x: lax.dot(x, lax.transpose(x, (1, 0))), (301, 203)),
    "wide product": (lambda x: lax.dot(lax.transpose(x[:, :100], (1, 0)), x), (257, 1003)),
    "batch": (lambda x: lax.dot_general(x, x, (((2,), (2,)), ((0,), (0,)))), (40, 60, 70)),
    "cumsum": (lambda x: lax.cumsum(x, 1), (300, 1001)),
    "scan": (lambda x: lax.scan(lambda c, row: (c * 0.5 + row, jnp.sum(c)), x[0], x), (5, LARGE // 5)),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_give_the_same_bits_with_any_number_of_threads(name, threads, monkeypatch):
    program, shape = PROGRAMS[name]
    x = floats(*shape)
    with monkeypatch.context() as patch:
        patch.setattr(sharing, "WORTH_NS", float("inf"))
        patch.setattr(parallelize, "GEMM_WORTH", 1 << 62)
        plain = nj.tree.map(np.asarray, nj.jit(lambda x: program(x))(x))
    shared, found, entered = nj.jit(program), [], []
    for count in (1, 2):
        threads(count)
        before = _native.parallel_regions()
        found.append(nj.tree.map(np.asarray, shared(x)))
        entered.append(_native.parallel_regions() - before)
    nj.tree.map(np.testing.assert_array_equal, *found)
    nj.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=2e-4, atol=2e-4), found[0], plain)
    assert entered[0] == 0
    assert entered[1] > 0 or _native.num_threads() == 1


def test_threads_that_call_programs_at_once(threads):
    threads(2)
    x = floats(LARGE)
    run = nj.jit(lambda x: jnp.sum(jnp.exp(x) * x))
    expected, results = np.asarray(run(x)), []
    workers = [threading.Thread(target=lambda: results.extend(np.asarray(run(x)) for _ in range(5))) for _ in range(3)]
    for w in workers:
        w.start()
    for w in workers:
        w.join()
    assert len(results) == 15
    np.testing.assert_array_equal(results, expected)


def test_the_flag_sets_the_number_of_threads():
    most = _native.num_threads()
    nj.jit(lambda x: x + 1)(1.0)
    try:
        nj.config.update("num_threads", 1)
        assert _native.num_threads() == 1
        with pytest.raises(ValueError, match="at least 1, got 0"):
            nj.config.update("numjet_num_threads", 0)
    finally:
        nj.config.update("numjet_num_threads", None)
    assert _native.num_threads() == most
