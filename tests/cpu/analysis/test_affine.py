"""Affine forms and intervals of index expressions, from their text."""
from __future__ import annotations

import pytest

from numjet.cpu.analysis.affine import AffineForms, in_order
from numjet.cpu.analysis.ranges import Ranges
from numjet.cpu.ir.nodes import Expr, For, Function, Store
from numjet.cpu.ir.parser import parse


def loop(index: str, lets: str = "") -> tuple[Function, For, Expr]:
    """A function with a loop that stores at an index of its variable i and of m, which is read from memory."""
    function = parse(f"function f(m: int64[9]) -> (y: int64[99]) scratch 0 {{\n  for i in 0 .. 10 serial () {{\n{lets}"
                     f"    store y[{index}] = 1\n  }} -> ()\n}}\n")
    (stmt,) = function.body
    assert isinstance(stmt, For) and isinstance(stmt.body[-1], Store)
    return function, stmt, stmt.body[-1].index


@pytest.mark.parametrize(("index", "constant", "step"), [
    ("add(mul(i, 3), 4)", 4, 3), ("sub(7, i)", 7, -1), ("neg(mul(2, sub(i, 5)))", 10, -2), ("mul(add(i, i), 4)", 0, 8),
    ("sub(i, i)", 0, 0), ("mul(i, 0)", 0, 0)])
def test_sums_of_a_variable(index, constant, step):
    _, stmt, expr = loop(index)
    total = AffineForms().split(expr)
    assert (total.constant, dict(total.terms).get(stmt.var, 0)) == (constant, step)
    assert len(total.terms) == bool(step)


def test_what_is_no_sum_is_a_term():
    _, _, expr = loop("add(mul(i, m[i]), add(m[0], m[0]))")
    terms = {term.op: factor for term, factor in AffineForms().split(expr).terms}
    assert terms == {"mul": 1, "load": 2}


def test_lets_of_variables_are_looked_through_and_those_of_loads_are_not():
    lets = "    let a: int64 = add(mul(i, 2), 1)\n    let b: int64 = m[0]\n"
    _, stmt, expr = loop("add(add(a, a), b)", lets)
    total = AffineForms.of(stmt.body).split(expr)
    assert total.constant == 2 and {term.attr: factor for term, factor in total.terms} == {"i": 4, "b": 1}


@pytest.mark.parametrize(("index", "ordered"), [
    ("i", True), ("add(mul(i, 4), 3)", True), ("mul(i, 5)", False), ("neg(i)", False), ("m[0]", True), ("m[i]", False)])
def test_in_order(index, ordered):
    _, stmt, expr = loop(index)
    assert in_order(expr, stmt.var) is ordered


@pytest.mark.parametrize(("index", "low", "high"), [
    ("add(mul(i, 3), 4)", 4, 31), ("sub(7, i)", -2, 7), ("rem(i, 4)", 0, 3), ("div(i, 2)", 0, 4), ("min(i, 3)", 0, 3),
    ("and(i, 5)", 0, 5), ("select(lt(i, 2), i, 12)", 0, 12), ("m[i]", -2**63, 2**63 - 1), ("mul(i, m[0])", -2**63, 2**63 - 1)])
def test_intervals(index, low, high):
    _, stmt, expr = loop(index)
    ranges = Ranges()
    ranges.bind(stmt.var, 0, 9)
    assert ranges.of(expr) == (low, high)
    assert ranges.within(expr, low, high) and not ranges.within(expr, low + 1, high)
