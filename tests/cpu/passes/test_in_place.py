"""Which temporaries become one buffer, and that programs mean the same then."""
from __future__ import annotations

import numpy as np
import pytest

import numjet as nj
import numjet.numpy as jnp
from numjet.cpu.ir.nodes import INT64, Buffer, Carry, Exprs, For, Function, Let, Store
from numjet.cpu.passes import in_place
from numjet.cpu.verification.interpreter import interpret

F32 = np.dtype(np.float32)
ROWS, COLUMNS = 7, 9
SIZE = ROWS * COLUMNS


@pytest.fixture
def p(monkeypatch):
    """A program of short arrays, which count as large."""
    monkeypatch.setattr(in_place, "WORTH_BYTES", 64)
    return Program()


class Program:
    """first[i] = given[i] * 2; second = what a test says of first; result[i] = second[i] + 1"""

    def __init__(self):
        self.e = Exprs()
        self.given, self.out = Buffer("in1", F32, SIZE, "input"), Buffer("out1", F32, SIZE, "output")
        self.first, self.second = Buffer("t1", F32, SIZE, "temp"), Buffer("t2", F32, SIZE, "temp")
        self.function = Function("f", [self.given], [self.out], self.e, [], [self.first, self.second])

    def each(self, target, value):
        i = self.e.var(INT64, "i")
        return For(i, self.e.index(0), self.e.index(SIZE), [Store(target, i, value(i))], mode="vector")

    def grid(self, index, read=None, rows=ROWS, columns=COLUMNS):
        """second[index(i, j)] = -first[read(i, j)], for all i and j"""
        i, j = self.e.var(INT64, "i"), self.e.var(INT64, "j")
        value = self.e.prim("neg", self.e.load(self.first, (read or index)(i, j)))
        inner = For(j, self.e.index(0), self.e.index(columns), [Store(self.second, index(i, j), value)], mode="vector")
        return For(i, self.e.index(0), self.e.index(rows), [inner], mode="serial")

    def at(self, i, j, stride=COLUMNS):
        return self.e.prim("add", self.e.prim("mul", i, self.e.index(stride)), j)

    def converted(self, value, dtype=F32):
        return value if value.dtype == dtype else self.e.make("convert", dtype, (value,))

    def run(self, *middle):
        """The function's temporaries after the pass; its result is compared with that of before."""
        e, one, two = self.e, self.e.const(1, F32), self.e.const(2, F32)
        self.function.body[:] = [
            self.each(self.first, lambda i: e.prim("mul", e.load(self.given, i), two)), *middle,
            self.each(self.out, lambda i: e.prim("add", self.converted(e.load(self.second, i)), one))]
        given = np.random.default_rng(0).normal(size=SIZE).astype(np.float32)
        before = interpret(self.function, [given]).outputs
        in_place.replace(self.function)
        np.testing.assert_array_equal(interpret(self.function, [given]).outputs, before)
        return len(self.function.temps)


def test_the_same_places_one_by_one(p):
    assert p.run(p.each(p.second, lambda i: p.e.prim("neg", p.e.load(p.first, i)))) == 1


def test_rows_and_columns(p):
    assert p.run(p.grid(p.at)) == 1


def test_columns_and_rows(p):
    assert p.run(p.grid(lambda i, j: p.at(j, i), rows=COLUMNS, columns=ROWS)) == 1


def test_a_transpose_needs_two(p):
    assert p.run(p.grid(p.at, lambda i, j: p.at(j, i, ROWS))) == 2


def test_places_that_are_stored_twice_need_two(p):
    overlapping = p.grid(lambda i, j: p.at(i, j, COLUMNS - 1))
    assert p.run(overlapping) == 2
    again = Program()
    assert again.run(again.grid(lambda i, j: j)) == 2


def test_what_is_read_later_stays(p):
    negated = p.each(p.second, lambda i: p.e.prim("neg", p.e.load(p.first, i)))
    again = p.each(p.second, lambda i: p.e.prim("sub", p.e.load(p.second, i), p.e.load(p.first, i)))
    assert p.run(negated, again) == 2


def test_two_stores_in_a_loop(p):
    loop = p.each(p.second, lambda i: p.e.prim("neg", p.e.load(p.first, i)))
    loop.body.append(Store(p.second, loop.var, p.e.prim("add", p.e.load(p.first, loop.var), p.e.load(p.second, loop.var))))
    assert p.run(loop) == 2


def test_values_that_are_pinned_before_the_store(p):
    loop = p.each(p.second, lambda i: p.e.prim("neg", p.e.load(p.first, i)))
    value = p.e.var(F32)
    loop.body[:] = [Let(value, p.e.load(p.first, loop.var)), Store(p.second, loop.var, p.e.prim("mul", value, value))]
    assert p.run(loop) == 1


def test_sums_need_two(p):
    """What a loop sums up may be read again after the store of another iteration."""
    i, j, acc, out = p.e.var(INT64, "i"), p.e.var(INT64, "j"), p.e.var(F32), p.e.var(F32)
    term = p.e.load(p.first, j)
    total = Carry(acc, p.e.const(0, F32), p.e.prim("add", acc, term), out, "add", term)
    inner = For(j, p.e.index(0), p.e.index(3), [], [total])
    assert p.run(For(i, p.e.index(0), p.e.index(SIZE), [inner, Store(p.second, i, out)])) == 2


def test_other_dtypes_need_two(p):
    p.function.temps[1] = p.second = Buffer("t2", np.dtype(np.float64), SIZE, "temp")
    assert p.run(p.each(p.second, lambda i: p.converted(p.e.load(p.first, i), p.second.dtype))) == 2


# --- programs

@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_weights_of_attention_are_stored_over_scores(dtype):
    with nj.enable_x64(dtype == np.float64):
        q, k, v = (np.random.default_rng(s).normal(size=(2, 300, 32)).astype(dtype) for s in range(3))

        def attention(q, k, v):
            return nj.nn.softmax(jnp.einsum("hid,hjd->hij", q, k), -1) @ v
        scores = np.einsum("hid,hjd->hij", q, k, dtype=np.float64)
        weights = np.exp(scores - scores.max(-1, keepdims=True))
        want = weights / weights.sum(-1, keepdims=True) @ v
        stats = nj.jit(attention).lower(q, k, v).compile().memory_analysis()
        assert stats.temp_size_in_bytes < 1.2 * 2 * 300 * 300 * q.itemsize
        np.testing.assert_allclose(nj.jit(attention)(q, k, v), want, rtol=1e-3 if dtype == np.float32 else 1e-9, atol=1e-5)
