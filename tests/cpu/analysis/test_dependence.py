"""Dependence analysis: loops whose iterations touch places of their own."""
from __future__ import annotations

import numpy as np
import pytest

from numjet.cpu.analysis.dependence import combination, independent
from numjet.cpu.ir.nodes import INT64, Buffer, Carry, Check, Expr, Exprs, For, Let, Store
from tests.cpu.loops import F32


def nest(index, *, value=None, extra=lambda e: [], trips: int = 40) -> For:
    """for i: for j in 0 .. 10: y[index(i, j)] = value"""
    e = Exprs()
    y, i, j = Buffer("y", F32, 10_000, "output"), e.var(INT64, "i"), e.var(INT64, "j")
    stored = e.const(1, F32) if value is None else value(e, y, i, j)
    inner = For(j, e.index(0), e.index(10), [Store(y, index(e, i, j), stored)], [], "vector")
    return For(i, e.index(0), e.index(trips), [inner, *extra(e)], [])


def affine(ci: int, cj: int, shift: int = 0):
    def index(e: Exprs, i: Expr, j: Expr) -> Expr:
        return e.prim("add", e.prim("add", e.prim("mul", i, e.index(ci)), e.prim("mul", j, e.index(cj))), e.index(shift))
    return index


@pytest.mark.parametrize(("ci", "cj", "apart"), [
    (10, 1, True), (9, 1, False), (100, 11, True), (0, 1, False), (1, 40, False), (-10, 1, True), (-9, 1, False)])
def test_rows_are_apart_when_their_step_is_larger_than_they_are(ci, cj, apart):
    assert independent(nest(affine(ci, cj, 5000))) is apart


@pytest.mark.parametrize(("shift", "apart"), [(0, True), (10, False), (-1, False), (5, False)])
def test_loads_of_what_is_written_stay_in_their_row(shift, apart):
    loop = nest(affine(10, 1), value=lambda e, y, i, j: e.load(y, affine(10, 1, shift)(e, i, j)))
    assert independent(loop) is apart


def test_a_place_that_all_iterations_share():
    t = Buffer("t", F32, 1, "temp")
    assert not independent(nest(affine(10, 1), extra=lambda e: [Store(t, e.index(0), e.const(1, F32))]))


def test_indices_from_memory_prove_nothing():
    order = Buffer("order", INT64, 40, "input")
    assert not independent(nest(lambda e, i, j: e.load(order, i)))
    assert independent(nest(lambda e, i, j: e.prim("add", e.prim("mul", i, e.index(10)), e.load(order, e.index(0)))))


def test_checks_leave_the_function():
    assert not independent(nest(affine(10, 1), extra=lambda e: [Check(e.const(True, np.dtype(bool)), 1)]))


def test_carries_are_handed_through_loops_inside():
    e = Exprs()
    x, i, j = Buffer("x", F32, 1200, "input"), e.var(INT64, "i"), e.var(INT64, "j")
    a, b, p, q = (e.var(F32, n) for n in "abpq")
    term = e.load(x, e.prim("add", e.prim("mul", i, e.index(30)), j))
    inner = For(j, e.index(0), e.index(30), [], [Carry(b, a, e.prim("add", b, term), p, "add", term)], "vector")
    outer = For(i, e.index(0), e.index(40), [inner], [Carry(a, e.const(0, F32), p, q)])
    assert combination(outer, 0) == "add" and independent(outer)
    outer.body.append(Let(e.var(F32, "seen"), a))
    assert combination(outer, 0) is None and not independent(outer)
