"""Just-in-time compilation: LLVM IR text to machine code in memory.

LLVM emits relocatable object code, without IR passes (see `llvm.emit`). The disk cache stores that (`disk_cache`). The native
core links it (`native/runtime/code/`), which takes a twentieth of ORC's time; ORC links what the core does not know, such as
objects of other systems. Addresses of external functions and constants are passed by name.
"""
from __future__ import annotations

import contextlib
import functools
import platform
import re
import sys
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import llvmlite

from numjet import _native
from numjet.cpu.codegen.statements.cancellation import ENTER_PYTHON, LEAVE_PYTHON, POLL
from numjet.cpu.codegen.statements.parallel import PARALLEL_FOR
from numjet.cpu.ir.nodes import MATH
from numjet.cpu.kernels import symbols as known
from numjet.cpu.native_code import machines
from numjet.cpu.target import LIMITED, Caches, Target, from_features
from numjet.foundation import disk_cache, events, lazy_import, locks
from numjet.foundation.config import config
from numjet.foundation.record import Fields, default_factory

if TYPE_CHECKING:
    from numjet.cpu.native_code import binding_generator, linker, perf_map
else:
    binding_generator = lazy_import.Module("numjet.cpu.native_code.binding_generator")
    linker = lazy_import.Module("numjet.cpu.native_code.linker")
    perf_map = lazy_import.Module("numjet.cpu.native_code.perf_map")

# Address space that LLVM may need; it aborts the process if an allocation fails. At most 630 bytes per character of text
# were measured.
_LEAST_BYTES, _BYTES_PER_CHARACTER = 1 << 25, 1000
_LOCK = locks.lock()
_last_use = 0.0
_COMMENT = re.compile(r"^  ;.*\n", re.MULTILINE)
_DECLARED = re.compile(r'^declare .*?@"?([\w.$-]+)"?\(|^@"?([\w.$-]+)"? = external', re.MULTILINE)


class Compiled(Fields):
    """Machine code in memory, valid as long as this object lives.

    address: of `int64 name(char** ins, char** outs, char* scratch, int64* info)`; object_bytes: the relocatable object,
    for `load_object`; keepalive: objects that the code needs; text: the LLVM IR, "" when the object was loaded.
    """

    name: str
    address: int
    object_bytes: bytes
    keepalive: list[Any] = default_factory(list)
    text: str = ""
    opt: int = 2


@functools.cache
def host() -> Target:
    """The CPU of this machine, limited by the flag `numjet_instruction_set`."""
    cpu, features, triple = machines.host()
    cpu, features = LIMITED.get(config.numjet_instruction_set, (cpu, features))
    return from_features(cpu, features, platform.machine(), triple, Caches(*_native.caches("")))


def limited_host(instruction_set: str) -> Target:
    """The CPU of this machine, or one with fewer instructions: "native", "avx512", "avx2" or "baseline"."""
    if instruction_set == "native":
        return host()
    cpu, features = LIMITED[instruction_set]
    return from_features(cpu, features, platform.machine(), host().triple, host().caches)


def compile(text: str, symbols: dict[str, int], name: str, opt: int = 2, keepalive: tuple = (),
            target: Target | None = None, stored_as: Sequence[int] = ()) -> Compiled:
    """Machine code of LLVM IR text that defines the function `name`.

    symbols: addresses of external symbols. opt: effort of LLVM, 0 compiles fast, 2 makes fast code.
    target: the CPU to compile for, by default this machine. stored_as: efforts whose code may come from the disk cache, best
    first, by default `opt`; that of the code is in the result.
    Raises RuntimeError with LLVM's message when the text is not valid, KeyError when a symbol is unknown.
    """
    names = [function or constant for function, constant in _DECLARED.findall(text)]
    missing = [n for n in names if not n.startswith("llvm.") and n not in symbols and n not in runtime_symbols()]
    if missing:
        raise KeyError(f"no address was given for what '{name}' uses: {', '.join(missing)}")
    stored = _find_object(text, stored_as or (opt,), target)
    if stored is not None:
        effort, code = stored
        with contextlib.suppress(RuntimeError):   # an object that cannot be linked is compiled again
            return _with_text(load_object(code, symbols, name, keepalive), text, effort)
    start = time.perf_counter()
    code = compile_object(text, opt, target)
    disk_cache.keep(_key(text, opt, target), code, time.perf_counter() - start)
    return _with_text(load_object(code, symbols, name, keepalive), text, opt)


def _with_text(loaded: Compiled, text: str, opt: int) -> Compiled:
    loaded.text, loaded.opt = text, opt
    return loaded


def _find_object(text: str, efforts: Sequence[int], target: Target | None) -> tuple[int, bytes] | None:
    """Object code of LLVM IR text from the disk cache, made with the first of these efforts that is there; or None."""
    if disk_cache.folder() is None:
        return None
    keys = [_key(text, effort, target) for effort in efforts]
    found = disk_cache.find_first(keys)
    return None if found is None else (efforts[keys.index(found[0])], found[1])


def without_comments(text: str) -> str:
    """LLVM IR text without its comments, which name the user's lines, and change no code."""
    return _COMMENT.sub("", text)


def _key(text: str, opt: int, target: Target | None) -> str:
    """The key in the disk cache."""
    target = target or host()
    version = sys.modules["numjet"].__version__
    return disk_cache.key(without_comments(text), version, llvmlite.__version__, machines.version(), target.triple, target.cpu,
                            target.features, str(opt))


def compile_object(text: str, opt: int = 2, target: Target | None = None) -> bytes:
    """Relocatable object code of LLVM IR text."""
    global _last_use
    events.count("codegen")
    _native.require_memory(_LEAST_BYTES + _BYTES_PER_CHARACTER * len(text))
    code = _emitted(text, opt, target or host())
    _last_use = time.monotonic()
    return code


def _emitted(text: str, opt: int, target: Target) -> bytes:
    with machines.borrowed(target, opt) as machine:
        return machine.emit(text, verify=config.checks)


def last_use() -> float:
    """When code was last generated, on the clock `time.monotonic`."""
    return _last_use


def load_object(code: bytes, symbols: dict[str, int], name: str, keepalive: tuple = ()) -> Compiled:
    """Links object code, fresh or from the disk cache. Raises RuntimeError when a symbol has no address."""
    addresses = {**runtime_symbols(), **symbols}
    library: _native.LoadedCode | linker.Library
    try:
        library = _native.load_code(code, name, addresses)
    except ValueError:
        library = link_by_llvm(code, name, addresses)
    if config.perf_map:
        with _LOCK:
            perf_map.add(library.address, code, name)
    return Compiled(name, library.address, code, [library, *keepalive])


def link_by_llvm(code: bytes, name: str, addresses: dict[str, int]) -> linker.Library:
    """Links object code of any kind that LLVM emits. Raises RuntimeError when a symbol has no address."""
    _native.require_memory(_LEAST_BYTES + 4 * len(code))
    with _LOCK:
        return _linker().link(code, name, addresses)


@functools.cache
def _linker() -> linker.Linker:
    return linker.Linker(lambda: binding_generator.Machine(host(), 2).machine)


@functools.cache
def runtime_symbols() -> dict[str, int]:
    """The addresses of all functions that code may call without being given them."""
    names = (*known.RUNTIME, *MATH, *(f"{name}f" for name in MATH), *(f"__{name}" for name in known.SUPPORT))
    found = {name: known.runtime(name) for name in names}
    addresses = {name: address for name, address in found.items() if address is not None}
    return {**addresses, **{name: known.kernel(name) for name in (PARALLEL_FOR, POLL, ENTER_PYTHON, LEAVE_PYTHON)}}


def disassembly(compiled: Compiled) -> str:
    """The assembly of compiled code. Raises ValueError for code from the disk cache, whose text is not kept."""
    if not compiled.text:
        raise ValueError(f"'{compiled.name}' was loaded as object code; compile it without the disk cache to see it")
    with machines.borrowed(host(), compiled.opt) as machine:
        assembly = machine.emit(compiled.text, assembly=True).decode()
    return "\n".join(line for line in assembly.splitlines() if not line.lstrip().startswith((".cfi", ".p2align")))
