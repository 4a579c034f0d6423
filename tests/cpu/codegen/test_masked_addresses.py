"""Loads under a guard that all lanes share: without it, an address in valid memory and an empty mask.

A CPU ignores an unmapped address under an empty mask, but takes hundreds of cycles to find out.
"""
from __future__ import annotations

import re

import numpy as np
import pytest

import numjet as nj
import numjet.numpy as jnp
from numjet.cpu.codegen import llvm
from numjet.cpu.ir.nodes import Store
from numjet.cpu.target import from_features
from tests.cpu.codegen.test_statements import Build
from tests.cpu.loops import F32

_POINTERS = re.compile(r"call <.*masked\.load\S+\(ptr (%v\d+), i32 \d+,")   # LLVM 20 takes the alignment as an operand only


def _stacked(a, b, c):
    """Three blocks of rows, each of which is far from the rows that it does not have."""
    n = a.shape[0]
    pad = lambda x, before: jnp.pad(x, ((before * n, (2 - before) * n), (0, 0)))
    return pad(a, 0) + pad(b, 1) + pad(c, 2)


@pytest.mark.parametrize("features", ["+avx2,+fma", "+avx512f,+avx512bw,+avx512vl,+avx512dq,+avx2,+fma"])
def test_addresses_are_chosen_by_the_guard(features):
    """Forwards and backwards."""
    b = Build([(F32, 100), (np.dtype(bool), 1)], [(F32, 150)] * 2)
    i, e = b.index(), b.e
    flag = e.load(b.x[1], e.index(0))
    values = [e.make("load", F32, (index, flag), b.x[0]) for index in (b.add(i, -30), b.add(b.mul(i, -1), 60))]
    f = b.function(b.loop(i, 150, [Store(y, i, v) for y, v in zip(b.y, values, strict=True)], "vector"))
    text = llvm.emit(f, from_features("x86-64-v3", features, "x86_64"))
    pointers = _POINTERS.findall(text)
    assert len(pointers) >= 2
    for pointer in pointers:
        assert re.search(rf"{pointer} = select i1 %v\d+, ptr %v\d+, ptr %info", text)


def test_values():
    rng = np.random.default_rng(0)
    for dtype in ("float32", "int8", "float64", "complex64", "bool"):
        for shape in ((20, 300), (7, 33), (1, 1), (3, 129)):
            parts = [(10 * rng.standard_normal(shape)).astype(dtype) for _ in range(3)]
            with nj.enable_x64(True):
                found = nj.jit(_stacked)(*parts)
                expected = np.concatenate(parts)
            np.testing.assert_array_equal(found, expected)
