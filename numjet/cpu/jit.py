"""LLVM IR text to machine code in memory. The only module that touches llvmlite; import it when first compiling.

Code is emitted without LLVM IR passes (see `llvm.emit`), as relocatable object code, which is what the disk cache
stores, and linked by ORC. Addresses of outside functions and constants are given by name.
"""
from __future__ import annotations

import functools
import itertools
import platform
import threading
from dataclasses import dataclass, field
from typing import Any

import llvmlite.binding as binding

from numjet.foundation.config import config

from .c_library import c_symbol
from .target import Target, from_features

LARGE_TEXT = 200_000
_LOCK = threading.RLock()
_NUMBERS = itertools.count()
# What LLVM's code generator may call by itself.
_RUNTIME = ("memcpy", "memmove", "memset", "fmod", "fmodf", "fma", "fmaf", "floor", "floorf", "ceil", "ceilf", "trunc",
            "truncf", "round", "roundf", "roundeven", "roundevenf", "rint", "rintf", "__truncdfhf2")


@dataclass
class Compiled:
    """Machine code in memory, valid as long as this object lives.

    address: of `int64 name(char** ins, char** outs, char* scratch, int64* info)`; object_bytes: the relocatable object,
    for `load_object`; keepalive: whatever the code needs.
    """

    name: str
    address: int
    object_bytes: bytes
    keepalive: list[Any] = field(default_factory=list)


@functools.cache
def host() -> Target:
    """The CPU of this machine."""
    features = binding.get_host_cpu_features().flatten()
    return from_features(binding.get_host_cpu_name(), features, platform.machine(), binding.get_process_triple())


@functools.cache
def _initialized() -> binding.LLJIT:
    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    return binding.create_lljit_compiler(_machine(host(), 2), use_jit_link=False)


def _machine(target: Target, opt: int) -> binding.TargetMachine:
    return binding.Target.from_triple(target.triple).create_target_machine(
        cpu=target.cpu, features=target.features, opt=opt, reloc="pic", codemodel="small", jit=True)


def compile(text: str, symbols: dict[str, int], name: str, opt: int = 2, keepalive: tuple = (),
            target: Target | None = None) -> Compiled:
    """Machine code of LLVM IR text that defines the function `name`.

    symbols: addresses of what the text only declares. opt: 0 is quick to compile, 2 is quick to run.
    target: what CPU to use the instructions of; by default this machine's.
    Raises RuntimeError with LLVM's message when the text is not valid.
    """
    return load_object(compile_object(text, opt, target), symbols, name, keepalive)


def compile_object(text: str, opt: int = 2, target: Target | None = None) -> bytes:
    """Relocatable object code of LLVM IR text."""
    with _LOCK:
        _initialized()
        module = binding.parse_assembly(text)
        if config.checks:
            module.verify()
        return _emitter(target or host(), opt).emit_object(module)


@functools.cache
def _emitter(target: Target, opt: int) -> binding.TargetMachine:
    return _machine(target, opt)


def load_object(code: bytes, symbols: dict[str, int], name: str, keepalive: tuple = ()) -> Compiled:
    """Links object code, fresh or from the disk cache. Raises RuntimeError when it needs a symbol nobody gave."""
    with _LOCK:
        jit = _initialized()
        library = binding.JITLibraryBuilder().add_object_img(code).export_symbol(name)
        for symbol, address in {**_runtime_symbols(), **symbols}.items():
            library.import_symbol(symbol, address)
        tracker = library.link(jit, f"{name}.{next(_NUMBERS)}")
        return Compiled(name, tracker[name], code, [tracker, *keepalive])


@functools.cache
def _runtime_symbols() -> dict[str, int]:
    found = {symbol: c_symbol(symbol) for symbol in _RUNTIME}
    return {symbol: address for symbol, address in found.items() if address is not None}


def disassembly(compiled: Compiled) -> str:
    """The assembly of compiled code, without the constants and directives."""
    raise NotImplementedError
