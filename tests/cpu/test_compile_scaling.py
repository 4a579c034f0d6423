"""Compile time in proportion to the program: twice the program takes about twice the steps, in every pass.

A step is a call of a Python function or of a built-in one, as the profiler counts them; LLVM's time is kept in proportion by
the length of basic blocks."""
from __future__ import annotations

import cProfile
import pstats
import random
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import numjet as nj
import numjet.numpy as jnp
from numjet import lax
from numjet.cpu import compiler
from numjet.cpu.codegen import llvm
from numjet.cpu.codegen.writer import LONGEST_BLOCK
from numjet.cpu.ir.nodes import Buffer
from numjet.cpu.native_code import jit
from numjet.cpu.passes import memory_plan

GROWTH = 2.35   # most steps of the double program, by those of the single one
f32 = np.float32
Case = tuple[Callable[..., Any], tuple[Any, ...]]


def _repeated(step: Callable[[Any], Any], shape: tuple[int, ...], n: int, grad: bool = False) -> Case:
    def run(x: Any) -> Any:
        for _ in range(n):
            x = step(x)
        return x
    return nj.grad(lambda x: jnp.sum(run(x) ** 2)) if grad else run, (np.full(shape, 0.1, f32),)


def _updates(n: int, grad: bool) -> Case:
    def run(x: Any) -> Any:
        for i in range(n):
            x = x.at[i].set(jnp.sin(x[i + 1]))
        return x
    return nj.grad(lambda x: jnp.sum(run(x))) if grad else run, (np.zeros(n + 3, f32),)


def _scan(x: Any) -> Any:
    return lax.scan(lambda c, _: (jnp.sin(c), c[0]), x, None, length=4)[0]


PROGRAMS: dict[str, Callable[[int], Case]] = {
    "dict": lambda n: ((lambda d: d), ({f"k{i}": f32(i) for i in range(20 * n)},)),
    "dict_leaves": lambda n: ((lambda d: nj.tree.map(lambda x: x * 2 + 1, d)),
                              ({f"k{i}": np.full(300, i, f32) for i in range(4 * n)},)),
    "dot_roll": lambda n: _repeated(lambda x: jnp.dot(x, x) * 0.001 + jnp.roll(x, 1), (4, 4), n),
    "chain": lambda n: _repeated(lambda x: jnp.sin(x) * 0.5 + x, (1000,), 4 * n),
    "chain_grad": lambda n: _repeated(lambda x: jnp.sin(x) * 0.5 + x, (1000,), n, grad=True),
    "products_grad": lambda n: _repeated(lambda x: jnp.tanh(x @ x), (64, 64), 4 * n, grad=True),
    "softmax": lambda n: _repeated(lambda x: nj.nn.softmax(x, axis=-1) + x, (50, 30), n),
    "cond": lambda n: _repeated(lambda x: lax.cond(x[0] > 1, jnp.sin, lambda x: x * 2, x), (30,), n),
    "scan_grad": lambda n: _repeated(_scan, (30,), n, grad=True),
    "updates": lambda n: _updates(4 * n, False),
    "updates_grad": lambda n: _updates(4 * n, True),
    "pieces": lambda n: ((lambda x: jnp.concatenate([x[i:i + 3] * i for i in range(4 * n)])), (np.zeros(4 * n + 3, f32),)),
}


def _text(case: Case) -> str:
    function, arguments = case
    planned = compiler.planned(nj.make_jaxpr(nj.jit(function))(*arguments), "f")
    return llvm.emit(planned, jit.host())


def _steps(case: Case) -> int:
    profile = cProfile.Profile()
    profile.runcall(_text, case)
    return pstats.Stats(profile).total_calls  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", PROGRAMS)
def test_twice_the_program_takes_twice_the_steps(name):
    make = PROGRAMS[name]
    _steps(make(2))   # what is made once per process
    assert _steps(make(32)) <= GROWTH * _steps(make(16))


@pytest.mark.parametrize("name", ["dict", "dot_roll", "chain"])
def test_basic_blocks_are_short_and_stay_apart(name):
    text = _text(PROGRAMS[name](64))
    blocks = re.split(r"^[\w.]+:$", text, flags=re.MULTILINE)
    assert max(block.count("\n") for block in blocks) < 3 * LONGEST_BLOCK
    begun = re.findall(r"^(next\d+):$", text, re.MULTILINE)
    assert sorted(begun) == sorted(re.findall(r'blockaddress\(@"[^"]+", %(next\d+)\)', text))
    assert begun or name != "dict"


def test_a_program_of_many_blocks_is_right_in_both_tiers():
    function, (x,) = PROGRAMS["dot_roll"](64)
    expected = x.astype(np.float64)
    for _ in range(64):
        expected = expected @ expected * 0.001 + np.roll(expected, 1)
    compiled = nj.jit(function)
    for _ in range(3):
        np.testing.assert_allclose(compiled(x), expected, rtol=1e-5)


@pytest.mark.parametrize("place", [memory_plan._first_fit, memory_plan._in_time])
def test_temporaries_that_live_at_the_same_time_are_apart(place):
    rng = random.Random(1)
    for _ in range(100):
        count = rng.randrange(1, 50)
        spans = {}
        for k in range(count):
            begin, end = sorted((rng.randrange(40), rng.randrange(40)))
            spans[Buffer(f"t{k}", np.dtype(np.uint8), rng.choice([1, 3, 64, 100, 1000, 5000]), "temp")] = (begin, end)
        top = place(spans)
        buffers = list(spans)
        for k, a in enumerate(buffers):
            assert a.offset % memory_plan.ALIGNMENT == 0 and a.offset + a.nbytes <= top
            for b in buffers[:k]:
                apart = spans[a][1] < spans[b][0] or spans[b][1] < spans[a][0]
                assert apart or a.offset + a.nbytes <= b.offset or b.offset + b.nbytes <= a.offset
