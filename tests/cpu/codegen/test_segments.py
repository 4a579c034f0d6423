"""Long blocks are cut into functions of bounded length, and the body of a long loop is written once."""
from __future__ import annotations

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
from numjet.cpu.codegen.statements import segments
from numjet.cpu.native_code import jit
from numjet.foundation.config import Override

N = 1000
LONGEST = 4000   # lines of a function: a segment has 500 operations and more, some of them written for vectors and the rest


def _chain(x: Any, times: int) -> Any:
    for i in range(times):
        x = jnp.maximum(jnp.sin(x) * 1.01 + 0.1 / (1 + i), -2.0)
    return x


def _sums(x: Any, times: int) -> Any:
    for i in range(times):
        x = jnp.sin(x - x.mean()) * (1 + 0.1 * i) / (1 + (x * x).sum())
    return x


def _stencil(x: Any, times: int) -> Any:
    for i in range(times):
        x = jnp.sin(jnp.roll(x, 1)) * (1 + 0.1 * i) + jnp.roll(x, -1)
    return x


def _branches(x: Any, times: int) -> Any:
    for i in range(times):
        total = lax.cond(x[0] > i, lambda x: jnp.sin(x).sum(), lambda x: jnp.cos(x).sum(), x)
        x = x / total + lax.while_loop(lambda s, total=total: s < total, lambda s: s * 2 + 1, jnp.float32(i))
    return x


def _scan(x: Any, times: int) -> Any:
    def step(carry: Any, _: Any) -> Any:
        x, y = carry
        return (_sums(y, times), x + y), y.sum()
    (x, y), sums = lax.scan(step, (x, x), None, length=3)
    return x + y + sums.sum()


PROGRAMS: dict[str, Callable[[Any, int], Any]] = {
    "chain": _chain, "sums": _sums, "stencil": _stencil, "branches": _branches, "scan": _scan}


def _text(f: Callable[[Any], Any]) -> str:
    planned = compiler.planned(nj.make_jaxpr(nj.jit(f))(np.ones(N, np.float32)), "f")
    return llvm.emit(planned, jit.host())


def _lengths(text: str) -> list[int]:
    """The lines of each function."""
    return [body.count("\n") for body in re.findall(r"^define.*?^}", text, re.MULTILINE | re.DOTALL)]


@pytest.mark.parametrize("name, gradient", [(name, gradient) for name in PROGRAMS for gradient in (False, True)
                                            if name != "branches" or not gradient])   # its while_loop has no reverse mode
def test_functions_stay_short(name, gradient):
    f = PROGRAMS[name]
    lengths = _lengths(_text(nj.grad(lambda x: f(x, 100).sum()) if gradient else (lambda x: f(x, 100))))
    assert max(lengths) < LONGEST < sum(lengths)


@pytest.mark.parametrize("name", PROGRAMS)
def test_values_are_those_of_one_function(name, monkeypatch):
    f, x = PROGRAMS[name], np.random.default_rng(0).standard_normal(N).astype(np.float32)

    def in_segments(x: Any) -> Any:
        return f(x, 40)

    def in_one_function(x: Any) -> Any:
        return f(x, 40)
    found = np.asarray(nj.jit(in_segments)(x))
    assert np.isfinite(found).all() and len(_lengths(_text(in_segments))) > 1
    monkeypatch.setattr(segments, "LONG", 10 ** 9)
    np.testing.assert_array_equal(found, nj.jit(in_one_function)(x))


def test_parts_that_share_their_work_stay_together():
    """One long computation of a number, which many loops read."""
    def shared(x: Any) -> Any:
        y = x[0]
        for i in range(300):
            y = jnp.sin(y) * (1 + 0.1 * i) + jnp.sqrt(1 + y * y)
        return [jnp.sort(x * i) * y for i in range(40)]
    assert _text(shared).count("sqrt.f32(float") < 400


@pytest.mark.parametrize("size", [1000, 1024, 1007])
def test_a_long_body_is_written_once(size):
    def long(x: Any) -> Any:
        return _chain(x, 10)
    planned = compiler.planned(nj.make_jaxpr(nj.jit(long))(np.ones(size, np.float32)), "f")
    text = llvm.emit(planned, jit.host())
    assert text.count("splat (float 0x3FF028F5C0000000)") == 10   # its factor
    x = np.random.default_rng(0).standard_normal(size).astype(np.float32)
    np.testing.assert_array_equal(nj.jit(long)(x), nj.jit(long)(np.resize(x, 2048))[:size])


def test_a_check_in_a_segment_ends_the_program():
    x = np.linspace(0, 1, N, dtype=np.float32)
    with Override("jax_debug_nans", True):
        assert np.isfinite(nj.jit(lambda x: _sums(x, 40))(x)).all()
        with pytest.raises(FloatingPointError, match="sqrt"):
            nj.jit(lambda x: _sums(jnp.sqrt(_sums(x, 40) - 9), 40))(x).block_until_ready()
