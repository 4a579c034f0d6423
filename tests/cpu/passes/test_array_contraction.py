"""Temporaries of joined loops become values and rows: on loop IR, with the same results as before."""
from __future__ import annotations

import numpy as np
import pytest

from numjet.cpu.ir.nodes import Function, Let, Store
from numjet.cpu.ir.parser import parse
from numjet.cpu.ir.traversal import walk
from numjet.cpu.native_code import jit
from numjet.cpu.passes import array_contraction, memory_plan
from numjet.cpu.target import TYPICAL
from numjet.cpu.verification.interpreter import interpret
from numjet.cpu.verification.verifier import check

ROWS, COLUMNS = 40, 500
SIZE = ROWS * COLUMNS


def changed(text: str, how) -> Function:
    """The function afterwards, which gives the same."""
    x = np.random.default_rng(0).normal(size=SIZE).astype(np.float32)
    before = interpret(parse(text), [x]).outputs
    function = parse(text)
    how(function)
    check(function)
    for got, want in zip(interpret(function, [x]).outputs, before, strict=True):
        np.testing.assert_array_equal(got, want)
    memory_plan.plan(function)
    return function


def by_elements(body: str, after: str = "") -> str:
    return (f"function f(x: float32[{SIZE}]) -> (y: float32[{SIZE}]) scratch 0 {{\n  temp t: float32[{SIZE}]\n"
            f"  for i in 0 .. {SIZE - 1} vector fused () {{\n{body}  }} -> ()\n{after}}}\n")


def rows(function: Function) -> None:
    array_contraction.rows(function, jit.host().replace(caches=TYPICAL))


STORE, READ = "    store t[i] = neg(x[i])\n", "    store y[i] = add(t[i], t[i])\n"


def test_an_element_is_a_value():
    function = changed(by_elements(STORE + READ), array_contraction.values)
    assert not function.temps and sum(isinstance(s, Let) for s in walk(function.body)) == 1
    assert sum(isinstance(s, Store) for s in walk(function.body)) == 1


def test_the_last_value_of_a_place_counts():
    function = changed(by_elements(STORE + "    store t[i] = mul(t[i], x[i])\n" + READ), array_contraction.values)
    assert not function.temps


def test_several_places_of_an_iteration():
    two = "".join(f"    store t[add(mul(i, 2), {k})] = neg(x[add(i, {k})])\n" for k in range(2))
    text = by_elements(two + "    store y[i] = sub(t[add(mul(i, 2), 1)], t[add(mul(i, 2), 0)])\n")
    text = text.replace(f"float32[{SIZE}]\n  for", f"float32[{2 * SIZE}]\n  for")
    assert not changed(text, array_contraction.values).temps


@pytest.mark.parametrize("body, after", [
    ("    store y[i] = t[i]\n" + STORE, ""),                                            # read before it is written
    (STORE + "    store y[i] = t[sub(i, min(i, 1))]\n", ""),                            # of another iteration
    (STORE + READ, "  store y[7] = t[3]\n"),                                            # read after the loop
    (STORE + "    store t[add(i, 1)] = x[i]\n    store t[mul(i, 1)] = x[i]\n" + READ, "")])  # perhaps the same place
def test_what_stays_an_array(body, after):
    text = by_elements(body, after).replace(f"temp t: float32[{SIZE}]", f"temp t: float32[{SIZE + 1}]")
    function = parse(text)
    array_contraction.values(function)
    assert any(isinstance(s, Store) and s.buffer.name == "t" for s in walk(function.body))


def by_rows(outer: str, row: str, reads: str = "t[$1]") -> str:
    place = f"add(mul({row}, {COLUMNS}), "
    second = reads.replace("$1", f"{place}k)")
    return (f"function f(x: float32[{SIZE}]) -> (y: float32[{SIZE}]) scratch 0 {{\n  temp t: float32[{SIZE}]\n{outer}"
            f"    for j in 0 .. {COLUMNS} vector () {{\n      store t[{place}j)] = neg(x[{place}j)])\n    }} -> ()\n"
            f"    for k in 0 .. {COLUMNS} vector () {{\n      store y[{place}k)] = add({second}, t[{place}0)])\n    }} -> ()\n")


def test_one_row_is_kept():
    function = changed(by_rows(f"  for i in 0 .. {ROWS} serial fused () {{\n", "i") + "  } -> ()\n}\n", rows)
    assert [t.size for t in function.temps] == [512]


def test_a_row_for_each_piece_of_a_shared_loop():
    pieces = 4
    outer = f"  for p in 0 .. {pieces} parallel fused () {{\n  for i in mul(p, 10) .. add(mul(p, 10), 10) serial fused () {{\n"
    function = changed(by_rows(outer, "i") + "  } -> ()\n  } -> ()\n}\n", rows)
    assert [t.size for t in function.temps] == [pieces * 512]


def test_rows_that_others_read_stay():
    before = by_rows(f"  for i in 0 .. {ROWS} serial fused () {{\n", "i") + "  } -> ()\n"
    assert [t.size for t in changed(before + "  store y[0] = t[9]\n}\n", rows).temps] == [SIZE]
    guarded = by_rows(f"  for i in 0 .. {ROWS} serial fused () {{\n", "i", "t[$1 if lt(k, 7)]") + "  } -> ()\n}\n"
    assert [t.size for t in changed(guarded, rows).temps] == [SIZE]
