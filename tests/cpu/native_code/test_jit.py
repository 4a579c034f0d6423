"""Compiling, linking, the object code for the disk cache, and what is known about a CPU."""
from __future__ import annotations

import ctypes
import os
from pathlib import Path

import numpy as np
import pytest

import numjet as nj
from numjet.cpu import target
from numjet.cpu.kernels.c_library import c_function, c_symbol
from numjet.cpu.native_code import jit

TEXT = """declare double @sqrt(double)
declare i64 @outside(i64)
@"table" = external global i64
define i64 @f(ptr %ins, ptr %outs, ptr %scratch, ptr %info) {
  %a = load i64, ptr @"table", align 8
  %b = call i64 @outside(i64 %a)
  ret i64 %b
}
"""
DOUBLED = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(lambda x: 2 * x)
RUN = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_void_p] * 4)


def symbols(value: int) -> tuple[dict[str, int], np.ndarray]:
    array = np.array([value])
    return {"outside": ctypes.cast(DOUBLED, ctypes.c_void_p).value, "table": array.ctypes.data}, array


@pytest.mark.parametrize("opt", [0, 2])
def test_compile_and_load_again(opt):
    """Two programs under one name, each with its own symbols, at the same time."""
    given, keep = symbols(21)
    first = jit.compile(TEXT, given, "f", opt, (keep,))
    other, kept = symbols(-4)
    second = jit.load_object(first.object_bytes, other, "f", (kept,))
    assert RUN(first.address)(None, None, None, None) == 42
    assert RUN(second.address)(None, None, None, None) == -8
    assert "f:" in jit.disassembly(first)
    with pytest.raises(ValueError, match="loaded as object code"):
        jit.disassembly(second)


def test_missing_symbol_is_named():
    with pytest.raises(KeyError, match="'f' uses: outside, table"):
        jit.compile(TEXT, {}, "f")


def test_invalid_text():
    with pytest.raises(RuntimeError, match="parsing error"):
        jit.compile("define i64 @f() { jump }", {}, "f")


def test_large_bodies_compile():
    count = 2000
    lines = "\n".join(f"  %v{k + 1} = add i64 %v{k}, {k}" for k in range(count))
    text = "define i64 @g(ptr %a, ptr %b, ptr %c, ptr %d) {\n  %v0 = add i64 0, 0\n"
    text += f"{lines}\n  ret i64 %v{count}\n}}"
    compiled = jit.compile(text, {}, "g")
    assert RUN(compiled.address)(None, None, None, None) == sum(range(count))


def test_targets_from_features():
    wide = target.from_features("x", "+avx512f,+avx512bw,+avx512vl,+avx512dq,+avx2,+f16c", "x86_64")
    assert (wide.vector_bytes, wide.masks, wide.half, wide.registers) == (64, True, True, 32)
    middle = target.from_features("x", "+avx2,-avx512f", "x86_64")
    assert (middle.vector_bytes, middle.masks, middle.half, middle.registers) == (32, False, False, 16)
    assert target.from_features("x", "+neon", "aarch64") == target.Target("x", "+neon", 16, False, True, 32)
    assert jit.host().vector_bytes in (16, 32, 64)


def test_c_library():
    assert c_symbol("sinf") and c_symbol("no_such_function") is None and c_function("no_such_function") is None


def test_a_perf_map_names_the_code():
    nj.config.update("numjet_perf_map", True)
    try:
        nj.jit(lambda x: x * 3.5 - 1).lower(1.0).compile()
    finally:
        nj.config.update("numjet_perf_map", False)
    path = Path(f"/tmp/perf-{os.getpid()}.map")
    address, size, name = path.read_text().splitlines()[-1].split()
    path.unlink()
    assert name == "nj._lambda_" and int(address, 16) > 4096 and 10 < int(size, 16) < 10_000
