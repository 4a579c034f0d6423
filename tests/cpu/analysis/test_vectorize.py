"""How many lanes loops get."""
from __future__ import annotations

from functools import reduce

import pytest

from numjet.cpu.analysis.affine import AffineForms
from numjet.cpu.analysis.vectorize import LARGE_BODY, LONG_BODY, choose_lanes
from numjet.cpu.ir.nodes import For
from numjet.cpu.ir.parser import parse
from numjet.cpu.ir.traversal import walk
from numjet.cpu.target import from_features

AVX2 = from_features("x86-64-v3", "+avx2,+fma", "x86_64")
AVX512 = from_features("x86-64-v4", "+avx2,+fma,+avx512f,+avx512bw,+avx512vl,+avx512dq,+avx512cd", "x86_64")


def chain(terms: int) -> str:
    """The product of `terms` numbers by their sum, 3 * terms operations with the load: all numbers are needed at one time."""
    numbers = [f"mul(x[i], {k}.0:float32)" for k in range(2, terms + 2)]
    product = reduce(lambda a, b: f"mul({a}, {b})", numbers)
    total = reduce(lambda a, b: f"add({a}, {b})", numbers)
    return f"    store y[i] = mul({product}, {total})"


def lanes(terms: int, target):
    head = "function f(x: float32[4000]) -> (y: float32[4000]) scratch 0 {\n  for i in 0 .. 4000 vector () {\n"
    function = parse(f"{head}{chain(terms)}\n  }} -> ()\n}}\n")
    loop, = (s for s in walk(function.body) if isinstance(s, For))
    found = choose_lanes(loop, target, AffineForms.of(function.body))
    return found.lanes, found.rest


@pytest.mark.parametrize(("terms", "expected"), [(LONG_BODY // 3 - 1, (8, 8)), (LONG_BODY // 3 + 1, (16, 16)), (130, (16, 16)),
                                                 (LARGE_BODY // 3 + 2, (8, 8))])
def test_long_chains_are_computed_in_pairs_of_vectors(terms, expected):
    """Few registers allow one vector; that is too little where the next iteration is out of sight."""
    assert lanes(terms, AVX2) == expected


def test_many_registers_decide_by_themselves():
    assert lanes(40, AVX512) == (16, 16)
