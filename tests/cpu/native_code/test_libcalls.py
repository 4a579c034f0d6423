"""What LLVM calls where a CPU lacks an instruction is there, for every conversion on every kind of CPU."""
from __future__ import annotations

import ctypes
from collections.abc import Sequence

import numpy as np
import pytest

import numjet as nj
import numjet.numpy as jnp
from numjet import _native
from numjet.cpu.ir.nodes import INT64, Buffer, Exprs, For, Function, Stmt, Store
from numjet.cpu.ir.types import kind
from numjet.cpu.kernels import symbols
from numjet.cpu.native_code import jit
from numjet.cpu.target import Target, from_features
from numjet.cpu.verification.interpreter import interpret
from tests.cpu.loops import BF16, BOOL, F16, F32, F64, assert_same, execute, plan, special, targets

DTYPES = [BOOL, *(np.dtype(n) for n in ("int8", "uint8", "int32", "int64", "uint64")), F16, BF16, F32, F64]
SIZES = (1, 2, 3, 8, 9, 37)


def _machines() -> dict[str, Target]:
    """As `targets`, and one between: registers of 32 bytes, but no conversions of float16, no fused multiplication."""
    found = dict(targets())
    if "avx2" in found:
        found["no f16c"] = from_features("x86-64-v2", "+avx,+avx2", "x86_64", jit.host().triple)
    return found


def _chains(source: np.dtype, number: int) -> tuple[Function, list[np.ndarray]]:
    """From one dtype through every other one to every third one, and the sign of the result given to another number; each
    over a few elements, as vectors or one by one."""
    exprs, body = Exprs(), list[Stmt]()
    given = Buffer("x", source, 48, "input")
    outputs: list[Buffer] = []
    for middle in DTYPES:
        for last in DTYPES:
            number += 1
            size, mode = SIZES[number % len(SIZES)], ("vector", "serial")[number // len(SIZES) % 2]
            i = exprs.var(INT64, "i")
            between = exprs.convert(exprs.load(given, i), middle)
            values = [exprs.convert(between, last)]
            if kind(last) == "f":
                sized = exprs.const(1.5, last)
                values += [exprs.prim("copysign", sized, values[0]), exprs.prim("copysign", values[0], sized)]
            stores: list[Stmt] = []
            for value in values:
                outputs.append(Buffer(f"y{len(outputs)}", last, size, "output"))
                stores.append(Store(outputs[-1], i, value))
            body.append(For(i, exprs.index(0), exprs.index(size), stores, mode=mode))
    return plan(Function("chains", [given], outputs, exprs, body)), [special(source, 48)]


@pytest.mark.parametrize("number,source", [*enumerate(DTYPES)], ids=str)
def test_chains_of_conversions(number: int, source: np.dtype) -> None:
    function, inputs = _chains(source, 7 * number)
    expected = interpret(function, inputs)
    for name, target in _machines().items():
        got = execute(function, inputs, target=target)
        for buffer, a, b in zip(function.outputs, got.outputs, expected.outputs, strict=True):
            assert_same(a, b, what=f"{buffer!r} of {buffer.dtype} on {name}")


@pytest.mark.parametrize("function", ["erf", "tanh", "exp", "sin", "sign", "sinh"])
@pytest.mark.parametrize("size", (1, 3, 8, 37))
def test_functions_of_narrowed_numbers(function: str, size: int) -> None:
    call = nj.lax.erf if function == "erf" else getattr(jnp, function)
    x = np.linspace(-3, 3, size)
    with nj.enable_x64():
        for dtype in (jnp.float16, jnp.bfloat16):
            def narrowed(x, dtype=dtype):
                return call(jnp.asarray(x).astype(dtype)).astype(np.float64)
            np.testing.assert_allclose(nj.jit(narrowed)(x), narrowed(x), 1e-2, 1e-3)


def test_float64_to_float16_is_rounded_once() -> None:
    x = np.array([1 + 2**-11 + 2**-40, 1 + 2**-11 - 2**-40, 1 + 3 * 2**-11 - 2**-40, 65519.99999, 2**-25 + 2**-60, -2**-25])
    with nj.enable_x64():
        np.testing.assert_array_equal(nj.jit(lambda x: x.astype(jnp.float16))(x), x.astype(np.float16))


def _call(name: str, result: type, *args: object) -> object:
    function = ctypes.CFUNCTYPE(result, *map(type, args))(_native.kernel_address(f"nj_{name}"))  # type: ignore[arg-type]
    return function(*args)


def _held(values: np.ndarray) -> list[ctypes.c_float]:
    """Small floats as they are passed: in the low half of a float."""
    return [ctypes.c_float.from_buffer_copy(np.uint32(bits)) for bits in values.view(np.uint16)]


@pytest.mark.parametrize("name,source,target", [
    ("truncsfhf2", F32, F16), ("truncdfhf2", F64, F16), ("truncsfbf2", F32, BF16), ("extendhfsf2", F16, F32),
    ("extendhfdf2", F16, F64), ("extendbfsf2", BF16, F32)])
def test_conversions_in_software(name: str, source: np.dtype, target: np.dtype) -> None:
    if source.itemsize == 2:
        values = np.arange(2**16, dtype=np.uint16).view(source)
        with np.errstate(invalid="ignore"):
            values = values[~np.isnan(values.astype(F64))]
        result = ctypes.c_double if target == F64 else ctypes.c_float
        got = np.array([_call(name, result, x) for x in _held(values)])
        np.testing.assert_array_equal(got.astype(F64), values.astype(F64))
        return
    every = np.arange(2**16, dtype=np.uint16).view(target).astype(source)
    every = np.sort(every[np.isfinite(every)])
    ties = every[:-1] / 2 + every[1:] / 2   # of neighbours, and what lies next to those
    values = np.concatenate([special(source, 400), every, ties, np.nextafter(ties, source.type(np.inf)),
                             np.nextafter(ties, source.type(-np.inf))])
    values = values[~np.isnan(values)]
    held = ctypes.c_double if source == F64 else ctypes.c_float
    bits = [np.float32(_call(name, ctypes.c_float, held(x))).view(np.uint32) for x in values.tolist()]
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(np.array(bits, np.uint16).view(target).astype(F64), values.astype(target).astype(F64))


class _Wide(ctypes.Structure):
    _fields_ = (("low", ctypes.c_uint64), ("high", ctypes.c_int64))


def _wide(x: int) -> _Wide:
    x %= 2**128
    return _Wide(x % 2**64, (x >> 64) - (2**64 if x >> 127 else 0))


def _number(x: object, signed: bool) -> int:
    assert isinstance(x, _Wide)
    value = x.low + (x.high << 64)
    return value if signed else value % 2**128


@pytest.mark.parametrize("a,b", [(7, 3), (2**100 + 12345, 2**70 - 9), (-(2**90), 12345678901234567890), (2**127 - 1, 2)])
def test_integers_of_128_bits(a: int, b: int) -> None:
    ops: Sequence[tuple[str, bool, int]] = (
        ("multi3", False, a * b % 2**128), ("udivti3", False, a % 2**128 // b), ("umodti3", False, a % 2**128 % b),
        ("divti3", True, abs(a) // b * (1 if a > 0 else -1)), ("modti3", True, abs(a) % b * (1 if a > 0 else -1)))
    for name, signed, expected in ops:
        assert _number(_call(name, _Wide, _wide(a), _wide(b)), signed) == expected, name
    for name, signed, expected in (("ashlti3", False, (a << 67) % 2**128), ("lshrti3", False, a % 2**128 >> 67),
                                   ("ashrti3", True, a >> 67)):
        assert _number(_call(name, _Wide, _wide(a), ctypes.c_int(67)), signed) == expected, name


def test_counts_of_bits() -> None:
    assert _call("popcountdi2", ctypes.c_int, ctypes.c_int64(-1)) == 64
    assert _call("popcountsi2", ctypes.c_int, ctypes.c_int32(0x70F)) == 7


def test_every_name_has_an_address() -> None:
    given = jit.runtime_symbols()
    assert all(given[f"__{name}"] for name in symbols.SUPPORT)
    assert {"memcpy", "memmove", "memset", "fmod", "fmodf", "fma", "fmaf", "floorf", "roundevenf"} <= given.keys()
