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
from numjet import lax, scipy
from numjet.cpu import compiler
from numjet.cpu.codegen import llvm
from numjet.cpu.codegen.writer import LONGEST_BLOCK
from numjet.cpu.ir.nodes import Buffer, For
from numjet.cpu.ir.traversal import nodes, operands, walk
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


def _conds(n: int) -> Callable[[Any], Any]:
    """Branches inside of branches."""
    def run(x: Any, depth: int = n) -> Any:
        return lax.cond(x[0] > depth, lambda x: run(jnp.sin(x), depth - 1), lambda x: x * 2 + depth, x) if depth else x
    return run


def _scans(n: int) -> Callable[[Any], Any]:
    """Loops inside of loops."""
    def run(x: Any, depth: int = n) -> Any:
        if not depth:
            return jnp.sin(x)
        return lax.scan(lambda c, _: (run(c, depth - 1) * 0.5 + jnp.cos(c), None), x, None, length=2)[0]
    return run


def _many(n: int) -> tuple[Any, ...]:
    return ([np.full(40, i, f32) for i in range(n)],)


def _carries(loop: Callable[[Any, Any], Any]) -> Callable[[Any], Any]:
    """A loop with many carries, each made of two others."""
    return lambda xs: loop(lambda c: [jnp.sin(a) + b for a, b in zip(c, c[1:] + c[:1], strict=True)], xs)


def _constants(n: int) -> Callable[[Any], Any]:
    values = [np.random.default_rng(k).normal(size=300).astype(f32) for k in range(n)]

    def run(x: Any) -> Any:
        for value in values:
            x = jnp.sin(x) * value + jnp.asarray(value)[::-1]
        return x
    return run


def _coupling_layers(n: int) -> Case:
    """A normalizing flow of many small networks, trained by Adam with clipped gradients inside of a scan."""
    def density(layers: Any, x: Any) -> Any:
        total = jnp.zeros(len(x))
        for first, second in layers:
            a, b = jnp.split(x, 2, axis=1)
            s, t = jnp.split(jnp.tanh(b @ first) @ second, 2, axis=1)
            total, x = total + jnp.tanh(s).sum(1), jnp.concatenate([b, a * jnp.exp(jnp.tanh(s)) + t], axis=1)
        return jnp.mean((x ** 2).sum(1) / 2 - total)

    def step(state: Any, x: Any) -> Any:
        layers, m, v = state
        loss, grads = nj.value_and_grad(density)(layers, x)
        norm = jnp.sqrt(sum(jnp.sum(g * g) for g in nj.tree.leaves(grads)))
        m = nj.tree.map(lambda m, g: 0.9 * m + 0.1 * g / jnp.maximum(1, norm), m, grads)
        v = nj.tree.map(lambda v, g: 0.99 * v + 0.01 * g * g, v, grads)
        return (nj.tree.map(lambda p, m, v: p - 0.01 * m / (jnp.sqrt(v) + 1e-8), layers, m, v), m, v), loss
    layers = [(np.full((4, 16), 0.1, f32), np.full((16, 8), 0.1, f32)) for _ in range(n)]
    zeros = nj.tree.map(np.zeros_like, layers)
    return (lambda state, xs: lax.scan(step, state, xs)), ((layers, zeros, zeros), np.ones((3, 32, 8), f32))


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
    "conds_inside": lambda n: (_conds(n), (np.full(30, 0.1, f32),)),
    "scan_carries": lambda n: (
        _carries(lambda step, x: lax.scan(lambda c, _: (step(c), None), x, None, length=4)[0]), _many(4 * n)),
    "while_carries": lambda n: (_carries(lambda step, x: lax.while_loop(lambda c: c[0][0] < 1, step, x)), _many(4 * n)),
    "scans_inside": lambda n: (_scans(n // 4), (np.full(30, 0.1, f32),)),
    "fan_out": lambda n: ((lambda x: [jnp.cos(jnp.sin(x) * i) for i in range(4 * n)]), (np.zeros(300, f32),)),
    "updates_of_one": lambda n: ((lambda x: [x.at[i].set(0.0) for i in range(4 * n)]), (np.zeros(300, f32),)),
    "constants": lambda n: (_constants(4 * n), (np.zeros(300, f32),)),
    "coupling_layers": lambda n: _coupling_layers(n // 4),
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
    _steps(make(4))   # what is made once per process
    assert _steps(make(32)) <= GROWTH * _steps(make(16))


ANY_SIZE = {   # of one array of n numbers
    "convolve": lambda x: jnp.convolve(x, jnp.arange(8.0), "same"),
    "its gradient": nj.grad(lambda x: jnp.convolve(x, x[:5]).sum()),
    "pooled": lambda x: lax.reduce_window(x, -np.inf, lax.max, (3,), (2,), "SAME"), "toeplitz": scipy.linalg.toeplitz,
    "hankel": scipy.linalg.hankel, "circulant": scipy.linalg.circulant,
    "convolution_matrix": lambda x: scipy.linalg.convolution_matrix(x, 9), "polydiv": lambda x: jnp.polydiv(x, x[:3])[0],
    "delete": lambda x: jnp.delete(x, np.array([1, 5])), "pad": lambda x: jnp.pad(x, 2, mode="reflect"), "sort": jnp.sort,
    "diag": lambda x: jnp.diag(x[:60]), "tri": lambda x: jnp.tril(jnp.outer(x, x)), "fft": jnp.fft.fft, "cumsum": jnp.cumsum,
}


@pytest.mark.parametrize("name", ANY_SIZE)
def test_larger_arrays_take_no_more_steps_and_no_tables(name):
    traced = [nj.make_jaxpr(ANY_SIZE[name])(nj.ShapeDtypeStruct((n,), f32)) for n in (200, 4000)]
    assert all(np.size(c) <= 100 for c in traced[1].consts)
    small, large = (_steps((ANY_SIZE[name], (nj.ShapeDtypeStruct((n,), f32),))) for n in (200, 4000))
    assert large < 2 * small, (small, large)


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


def test_long_chains_of_cotangents_are_cut_into_loops():
    """The cotangent of each step is read twice: the costs of a chain double with every step, and stay numbers."""
    function, arguments = _repeated(lambda x: jnp.sin(x) * 0.5 + x, (1000,), 300, grad=True)
    planned = compiler.planned(nj.make_jaxpr(nj.jit(function))(*arguments), "f")
    loads = [sum(e.op == "load" for e in nodes(e for s in walk([loop]) for e in operands(s)))
             for loop in planned.body if isinstance(loop, For)]
    assert max(loads) < 150 and sum(loads) < 1000


@pytest.mark.parametrize("step", [
    lambda x: x + 0.1 * jnp.cumsum(x, 1), lambda x: x + 0.1 * (x - x.mean(1, keepdims=True)), lambda x: x + 0.1 * x[::-1],
    lambda x: x + 0.1 * jnp.sort(x, axis=0), lambda x: x + (x[:, :1] * x[:1]) * 0.1, lambda x: x + 0.01 * jnp.vdot(x, x) * x,
], ids=["cumsum", "mean", "reverse", "sort", "outer", "dot"])
def test_what_each_step_adds_to_is_not_added_up_again_in_each_loop(step):
    """A cotangent of x + f(x) is read by the step's own loop, and by the sum that is the next cotangent."""
    assert _most_loads(step, 60) < 1.5 * _most_loads(step, 30)


def _most_loads(step: Callable[[Any], Any], times: int) -> int:
    """In a loop of a gradient."""
    function, arguments = _repeated(step, (40, 50), times, grad=True)
    planned = compiler.planned(nj.make_jaxpr(nj.jit(function))(*arguments), "f")
    return max(sum(e.op == "load" for e in nodes(e for s in walk([loop]) for e in operands(s)))
               for loop in planned.body if isinstance(loop, For))
