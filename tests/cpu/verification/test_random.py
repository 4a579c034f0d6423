"""Random functions: machine code equals the interpreter, text reads back, the verifier is content."""
from __future__ import annotations

import numpy as np
import pytest

from numjet.cpu.ir.parser import parse
from numjet.cpu.ir.printer import show
from numjet.cpu.verification.interpreter import interpret
from numjet.cpu.verification.verifier import check
from tests.cpu.loops import agree, assert_same, plan, special
from tests.cpu.verification.random_loops import Generator


@pytest.mark.parametrize("seed", range(60))
def test_random_function(seed):
    function = check(Generator(seed).function())
    inputs = [np.random.default_rng(seed).permutation(special(b.dtype, max(b.size, 40), seed))[:b.size]
              for b in function.inputs]
    agree(function, inputs, every=True)
    text = show(function)
    again = check(parse(text))
    assert show(again) == text
    slow, fast = interpret(function, inputs, lanes=False), interpret(plan(again), inputs)
    assert slow.status == fast.status
    for a, b in zip(slow.outputs, fast.outputs, strict=True):
        assert_same(a, b)
