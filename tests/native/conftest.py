"""Stand-ins for what the layers above the native core provide: interned avals, and small machine code."""
from __future__ import annotations

import ctypes
from typing import Any, NamedTuple

import llvmlite.binding as llvm
import numpy as np
import pytest

from numjet import _native


class Aval:
    """An interned aval: equal ones are the same object."""

    __slots__ = ("__weakref__", "dtype", "shape", "weak_type")
    table: dict[tuple, Aval] = {}  # noqa: RUF012

    def __new__(cls, shape: tuple[int, ...], dtype: Any, weak_type: bool = False) -> Aval:
        key = tuple(shape), np.dtype(dtype), bool(weak_type)
        if key not in cls.table:
            aval = cls.table[key] = object.__new__(cls)
            aval.shape, aval.dtype, aval.weak_type = key
        return cls.table[key]


class Device:
    """A stand-in for a device."""

    def __repr__(self) -> str:
        return "Device()"


DEVICE = Device()


def make_array(value: Any, dtype: Any = None, weak_type: bool = False, committed: bool = False, device: Any = DEVICE):
    data = np.array(value, dtype)
    return _native.from_numpy(data, Aval(data.shape, data.dtype, weak_type), device, committed)


@pytest.fixture
def aval() -> type[Aval]:
    return Aval


@pytest.fixture
def device() -> Device:
    return DEVICE


@pytest.fixture
def array():
    return make_array


LEVELS = ["plain C++", "AVX2", "AVX-512", "VNNI", "BF16", "AMX"]


@pytest.fixture(params=LEVELS)
def level(request):
    """Instructions that the kernel may use; skips what this CPU doesn't have."""
    choose = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(_native.kernel_address("nj_gemm_level"))
    wanted = LEVELS.index(request.param)
    try:
        if choose(wanted) != wanted:
            pytest.skip(f"no {request.param} here")
        yield
    finally:
        choose(len(LEVELS) - 1)


CODE_TYPE = ctypes.CFUNCTYPE(
    ctypes.c_int64,
    ctypes.POINTER(ctypes.c_void_p),
    ctypes.POINTER(ctypes.c_void_p),
    ctypes.c_void_p,
    ctypes.POINTER(ctypes.c_int64),
)

# float32 programs of n elements: out = a + 1; out = a + b; a status with info; busy waiting for a flag.
SOURCE = """
define i64 @add_one(ptr %ins, ptr %outs, ptr %scratch, ptr %info) {{
  %a = load ptr, ptr %ins
  %o = load ptr, ptr %outs
  br label %loop
loop:
  %i = phi i64 [0, %0], [%next, %loop]
  %ai = getelementptr float, ptr %a, i64 %i
  %oi = getelementptr float, ptr %o, i64 %i
  %x = load float, ptr %ai
  %y = fadd float %x, 1.0
  store float %y, ptr %oi
  %next = add i64 %i, 1
  %more = icmp slt i64 %next, {n}
  br i1 %more, label %loop, label %done
done:
  ret i64 0
}}
define i64 @add(ptr %ins, ptr %outs, ptr %scratch, ptr %info) {{
  %a = load ptr, ptr %ins
  %q = getelementptr ptr, ptr %ins, i64 1
  %b = load ptr, ptr %q
  %o = load ptr, ptr %outs
  br label %loop
loop:
  %i = phi i64 [0, %0], [%next, %loop]
  %ai = getelementptr float, ptr %a, i64 %i
  %bi = getelementptr float, ptr %b, i64 %i
  %oi = getelementptr float, ptr %o, i64 %i
  %x = load float, ptr %ai
  %y = load float, ptr %bi
  %z = fadd float %x, %y
  store float %z, ptr %oi
  %next = add i64 %i, 1
  %more = icmp slt i64 %next, {n}
  br i1 %more, label %loop, label %done
done:
  ret i64 0
}}
define i64 @fail(ptr %ins, ptr %outs, ptr %scratch, ptr %info) {{
  %i1 = getelementptr i64, ptr %info, i64 1
  store i64 17, ptr %i1
  ret i64 3
}}
define i64 @wait(ptr %ins, ptr %outs, ptr %scratch, ptr %info) {{
  %a = load ptr, ptr %ins
  %o = load ptr, ptr %outs
  br label %loop
loop:
  %f = load volatile float, ptr %a
  %closed = fcmp oeq float %f, 0.0
  br i1 %closed, label %loop, label %done
done:
  store float %f, ptr %o
  ret i64 0
}}
"""


class Code(NamedTuple):
    """Addresses of the programs, and what keeps them."""

    addresses: dict[str, int]
    engine: Any


def compile_programs(n: int) -> Code:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    module = llvm.parse_assembly(SOURCE.format(n=n))
    machine = llvm.Target.from_default_triple().create_target_machine()
    engine = llvm.create_mcjit_compiler(module, machine)
    engine.finalize_object()
    return Code({f: engine.get_function_address(f) for f in ("add_one", "add", "fail", "wait")}, engine)


_compiled: dict[int, Code] = {}


def no_error(status: int, info: list[int]) -> Exception:
    return AssertionError(f"status {status}, info {info}")


def make_executable(program: str, n: int = 4, *, cost_ns: float = 100.0, on_error: Any = no_error, aliases: tuple = (),
                    scratch_bytes: int = 0):
    """An Executable of a program above on float32[n]."""
    if n not in _compiled:
        _compiled[n] = compile_programs(n)
    code = _compiled[n]
    vector = Aval((n,), "float32")
    count = 2 if program == "add" else 1
    return _native.Executable(code.addresses[program], (vector,) * count, (vector,), scratch_bytes, aliases, cost_ns,
                              on_error, code.engine, DEVICE, program)


def python_executable(function: Any, ins: tuple[Aval, ...], outs: tuple[Aval, ...], *, cost_ns: float = 1e9,
                      on_error: Any = no_error):
    """An Executable that calls function(in_addresses, out_addresses, info) -> status through ctypes."""

    @CODE_TYPE
    def code(in_pointers: Any, out_pointers: Any, _scratch: Any, info: Any) -> int:
        return function([in_pointers[k] for k in range(len(ins))], [out_pointers[k] for k in range(len(outs))], info)

    address = ctypes.cast(code, ctypes.c_void_p).value
    return _native.Executable(address, ins, outs, 0, (), cost_ns, on_error, code, DEVICE, "python")


@pytest.fixture
def executable():
    return make_executable


@pytest.fixture
def from_python():
    return python_executable


class Failed(Exception):
    """What machine code's status becomes in tests."""

    def __init__(self, status: int, info: list[int]) -> None:
        super().__init__(status, info)
        self.status, self.info = status, info


@pytest.fixture
def failed() -> type[Failed]:
    return Failed


class Gate:
    """A computation that ends when the gate opens; its result is 1.0."""

    def __init__(self) -> None:
        self.flag = np.zeros(1, np.float32)
        self.array = _native.from_numpy(self.flag, Aval((1,), "float32"), DEVICE)
        self.result = make_executable("wait", 1, cost_ns=1e9)([self.array])[0]

    def open(self) -> None:
        self.flag[0] = 1


@pytest.fixture
def gate():
    """Makes gates; opens them all in the end."""
    gates: list[Gate] = []

    def make() -> Gate:
        gates.append(Gate())
        return gates[-1]

    yield make
    for made in gates:
        made.open()


@pytest.fixture(autouse=True)
def clean_slate():
    """Every test starts and ends without hooks, traces and queued work."""
    saved = {name: _native.set_hook(name, None) for name in _native.hook_names()}
    trace = object()
    with _native.Scope(_native.thread, "trace", trace):  # first, as an unset one comes back as the default
        old_trace = _native.set_eval_trace(trace)
        _native.set_hook("aval", Aval)
        old_reader = _native.set_config_reader(None)
        yield
        _native.synchronize()
        _native.set_config_reader(old_reader)
        _native.set_eval_trace(old_trace)
    for name, function in saved.items():
        _native.set_hook(name, function)
