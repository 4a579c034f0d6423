"""Helpers for tests of loop IR: running a function as machine code, and comparing that with the interpreter."""
from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable, Sequence
from typing import Any

import ml_dtypes
import numpy as np

from numjet.cpu.codegen import llvm
from numjet.cpu.ir.nodes import INT64, Buffer, Expr, Exprs, For, Function, Stmt, Store
from numjet.cpu.native_code import jit
from numjet.cpu.passes import cancellation
from numjet.cpu.target import Target, from_features
from numjet.cpu.verification.interpreter import Result, interpret

BF16 = np.dtype(ml_dtypes.bfloat16)
F16, F32, F64 = (np.dtype(f"float{b}") for b in (16, 32, 64))
INTS = [np.dtype(f"{k}{b}") for k in ("int", "uint") for b in (8, 16, 32, 64)]
FLOATS = [F32, F64]
BOOL = np.dtype(bool)
_POINTERS = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_void_p] * 4)


@functools.cache
def targets() -> dict[str, Target]:
    """This machine, and what an AVX2 and an SSE machine would get, as far as this machine can run it."""
    host = jit.host()
    found = {"host": host}
    if host.vector_bytes > 32:
        found["avx2"] = from_features("haswell", "+avx2,+fma,+f16c,+bmi,+bmi2,+popcnt,+lzcnt", "x86_64", host.triple)
    if host.vector_bytes > 16:
        found["sse"] = from_features("x86-64", "+sse2", "x86_64", host.triple)
    return found


def plan(function: Function) -> Function:
    """Gives every temporary a place of its own."""
    offset = 0
    for buffer in function.temps:
        buffer.offset = offset
        offset += -(-buffer.nbytes // 64) * 64
    function.scratch_bytes = offset
    return function


def prepared(function: Function, symbols: dict[str, int] | None = None, opt: int = 2,
             target: Target | None = None) -> Callable[[Sequence[np.ndarray]], Result]:
    """A function as machine code, to run on inputs."""
    target = target or jit.host()
    cancellation.mark(function, target)
    constants, keep = llvm.constant_symbols(function)
    compiled = jit.compile(llvm.emit(function, target), {**constants, **(symbols or {})}, function.name, opt,
                           tuple(keep), target)

    def run(inputs: Sequence[np.ndarray]) -> Result:
        arrays = [np.ascontiguousarray(x) for x in inputs]
        outputs = [np.zeros(b.size, b.dtype) for b in function.outputs]
        scratch, info = np.zeros(function.scratch_bytes + 64, np.uint8), np.zeros(8, np.int64)
        status = _POINTERS(compiled.address)(_table(arrays), _table(outputs), scratch.ctypes.data, info.ctypes.data)
        return Result(status, outputs, info)
    return run


def execute(function: Function, inputs: Sequence[np.ndarray], symbols: dict[str, int] | None = None, opt: int = 2,
            target: Target | None = None) -> Result:
    """Runs a function as machine code."""
    return prepared(function, symbols, opt, target)(inputs)


def _table(arrays: Sequence[np.ndarray]) -> Any:
    return (ctypes.c_void_p * max(1, len(arrays)))(*[a.ctypes.data for a in arrays])


def agree(function: Function, inputs: Sequence[np.ndarray], rtol: float = 0.0, every: bool = False,
          expected: Result | None = None, **how: Any) -> Result:
    """Asserts that machine code and interpreter do the same; with rtol, floats are equal up to that relative error.

    every: compare the machine code for each of `targets`, not only for this machine.
    expected: what the interpreter does, where that is known.
    """
    plan(function)
    expected = expected or interpret(function, [x.copy() for x in inputs])
    for target in targets().values() if every else [jit.host()]:
        got = execute(function, inputs, target=target, **how)
        assert got.status == expected.status
        np.testing.assert_array_equal(got.info, expected.info)
        for buffer, a, b in zip(function.outputs, got.outputs, expected.outputs, strict=True):
            assert_same(a, b, rtol, f"output {buffer!r} on {target.cpu}")
    return expected


def assert_same(got: np.ndarray, expected: np.ndarray, rtol: float = 0.0, what: str = "") -> None:
    """Equal bit by bit apart from NaNs' payloads, or, with rtol, equal up to that relative error."""
    if got.dtype.kind in "fV":
        with np.errstate(invalid="ignore"):
            a, b = got.astype(np.float64), expected.astype(np.float64)
        if rtol:
            np.testing.assert_allclose(a, b, rtol=rtol, atol=rtol, equal_nan=True, err_msg=what)
            return
        np.testing.assert_array_equal(np.isnan(a), np.isnan(b), err_msg=what)
        same = ~np.isnan(a)
        np.testing.assert_array_equal(a[same].view(np.uint64), b[same].view(np.uint64), err_msg=what)
    else:
        np.testing.assert_array_equal(got, expected, err_msg=what)


def special(dtype: np.dtype, count: int | None = None, seed: int = 0) -> np.ndarray:
    """The awkward values of a dtype, then random ones until there are `count`."""
    random = np.random.default_rng(seed)
    if dtype == BOOL:
        values = np.array([False, True])
        more = random.integers(0, 2, max(0, (count or 0) - 2)).astype(bool)
    elif dtype.kind in "iu":
        info, bits = np.iinfo(dtype), 8 * dtype.itemsize
        chosen = [0, 1, 2, 3, 7, bits - 1, bits, info.max, info.min, info.max - 1, info.min + 1, 100, -1, -2, -7]
        values = np.array([v % 2**bits for v in map(int, chosen)], np.uint64).astype(f"uint{bits}").view(dtype)
        more = random.integers(info.min, info.max, max(0, (count or 0) - len(values)), dtype=dtype, endpoint=True)
    else:
        tiny = {2: 6e-8, 4: 1e-45, 8: 5e-324}[dtype.itemsize]
        values = np.array([0.0, -0.0, 1, -1, 0.5, -0.5, 1.5, 2.5, -2.5, 0.49999997, 127.5, 128, -128.7, 255.9, 3e4,
                           70000, 2**31, -2**31, 2.0**53, 2**63, 2.0**64, -2.0**63, np.inf, -np.inf, np.nan, tiny,
                           -tiny, 1e30, 1e-30, 65519.9, 65520.0, 1 + 2**-8 + 2**-20, 1 + 2**-11 + 2**-40, 3.4e38])
        with np.errstate(over="ignore", under="ignore"):
            values = values.astype(dtype)
            more = (random.standard_normal(max(0, (count or 0) - len(values))) * 100).astype(dtype)
    return np.concatenate([values, more])[:count]


def map_function(name: str, inputs: Sequence[tuple[np.dtype, int]], out: np.dtype, size: int, compute: Any,
                 modes: Sequence[str] = ("vector", "serial")) -> Function:
    """y[i] = compute(exprs, i, *input buffers) for i in range(size), once for each mode."""
    exprs = Exprs()
    buffers = [Buffer(f"x{k}", dtype, n, "input") for k, (dtype, n) in enumerate(inputs)]
    outputs = [Buffer(f"y_{mode}", out, size, "output") for mode in modes]
    body: list[Stmt] = []
    for target, mode in zip(outputs, modes, strict=True):
        i = exprs.var(INT64, "i")
        store = Store(target, i, compute(exprs, i, *buffers))
        body.append(For(i, exprs.index(0), exprs.index(size), [store], mode=mode))
    return Function(name, buffers, outputs, exprs, body)


def agree_on_map(inputs: Sequence[np.ndarray], out: np.dtype, compute: Any) -> None:
    """Asserts that machine code and interpreter do the same for `map_function` in both modes, on all targets.

    The interpreter takes all elements at once for both, as one by one takes it far longer, which it does for every 37th of
    many: of a grid with sides of 48, elements of all rows and columns.
    """
    def function(arrays: Sequence[np.ndarray], *modes: str) -> Function:
        return plan(map_function("f", [(x.dtype, x.size) for x in arrays], out, len(arrays[0]), compute, modes))

    once = interpret(function(inputs, "vector"), [x.copy() for x in inputs])
    both = Result(once.status, once.outputs * 2, once.info)
    agree(function(inputs, "vector", "serial"), inputs, every=True, expected=both)
    step = 37 if len(inputs[0]) > 2000 else 1
    few = [np.ascontiguousarray(x[::step]) for x in inputs]
    assert_same(interpret(function(few, "serial"), few).outputs[0], once.outputs[0][::step], what="one by one")


def loads(exprs: Exprs, buffers: Sequence[Buffer], index: Expr) -> list[Expr]:
    """The elements of several buffers at one index."""
    return [exprs.load(b, index) for b in buffers]
