"""Intervals of integers: every value of an operation on values of its operands' intervals lies in its own."""
from __future__ import annotations

import itertools

import numpy as np
import pytest

from numjet.cpu.analysis.ranges import Ranges
from numjet.cpu.ir.nodes import INT64, Exprs
from numjet.cpu.ir.semantics import apply

INTERVALS = [(0, 7), (3, 3), (-5, 4), (-9, -2), (1, 6), (2, 2)]


@pytest.mark.parametrize("op", ["add", "sub", "mul", "min", "max", "div", "rem", "and"])
def test_intervals_hold_all_values(op):
    for (a, b), (c, d) in itertools.product(INTERVALS, repeat=2):
        e, ranges = Exprs(), Ranges()
        x, y = e.var(INT64), e.var(INT64)
        ranges.bind(x, a, b)
        ranges.bind(y, c, d)
        low, high = ranges.of(e.prim(op, x, y))
        if c <= 0 <= d and op in ("div", "rem"):
            assert low < -2**60 < 2**60 < high
            continue
        values = apply(op, *np.meshgrid(np.arange(a, b + 1), np.arange(c, d + 1)))
        assert low <= values.min() and values.max() <= high


def test_quotients_of_numbers_that_may_be_negative_have_bounds():
    """The number of blocks in a part of a loop, whose length is a difference."""
    e, ranges = Exprs(), Ranges()
    x = e.var(INT64)
    ranges.bind(x, -800, 1000)
    assert ranges.of(e.prim("div", e.prim("add", x, e.index(7)), e.index(8))) == (-99, 125)
