"""LLVM's code generator: LLVM IR text becomes object code or assembly, by the C functions of llvmlite's shared library.

The library is opened by its path, as importing its package `llvmlite.binding`, which has classes for everything in LLVM, takes
twice as long as opening the library and generating the code of a small function. The functions used here have the same
signatures in all versions from 0.45 to 0.50; `binding_generator.py` takes this module's place with versions that are not known.

Every text is parsed in a context of its own. So threads generate code side by side, beside other users of llvmlite, and
nothing is kept of what was generated.
"""
from __future__ import annotations

import ctypes
import functools
import os
import sys
from importlib.machinery import PathFinder

from numjet.cpu.target import Target
from numjet.foundation import locks

_KNOWN = ((0, 45), (0, 50))   # the first and the last version of llvmlite whose functions have these signatures
_LIBRARY = {"darwin": "libllvmlite.dylib", "win32": "llvmlite.dll"}.get(sys.platform, "libllvmlite.so")
_STRING = ctypes.POINTER(ctypes.c_void_p)   # where a function puts the address of a string that it made

_SIGNATURES: dict[str, tuple[type | None, tuple[type, ...]]] = {
    "ContextCreate": (ctypes.c_void_p, ()),
    "ContextDispose": (None, (ctypes.c_void_p,)),
    "CreateTargetMachine": (ctypes.c_void_p, (
        ctypes.c_void_p, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_char_p,
        ctypes.c_int, ctypes.c_int, ctypes.c_char_p)),
    "DisposeMemoryBuffer": (None, (ctypes.c_void_p,)),
    "DisposeModule": (None, (ctypes.c_void_p,)),
    "DisposeString": (None, (ctypes.c_void_p,)),
    "GetBufferSize": (ctypes.c_size_t, (ctypes.c_void_p,)),
    "GetBufferStart": (ctypes.c_void_p, (ctypes.c_void_p,)),
    "GetHostCPUFeatures": (ctypes.c_int, (_STRING,)),
    "GetHostCPUName": (None, (_STRING,)),
    "GetProcessTriple": (None, (_STRING,)),
    "GetTargetFromTriple": (ctypes.c_void_p, (ctypes.c_char_p, _STRING)),
    "GetVersionInfo": (ctypes.c_uint, ()),
    "InitializeNativeAsmPrinter": (None, ()),
    "InitializeNativeTarget": (None, ()),
    "ParseAssembly": (ctypes.c_void_p, (ctypes.c_void_p, ctypes.c_char_p, _STRING)),
    "TargetMachineEmitToMemory": (ctypes.c_void_p, (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int, _STRING)),
    "VerifyModule": (ctypes.c_bool, (ctypes.c_void_p, _STRING)),
}

_LOCK = locks.lock()


def is_known(version: str) -> bool:
    """Whether a version of llvmlite has these functions with these signatures, in a file of its own."""
    numbers = tuple(int(part) if part.isdigit() else -1 for part in version.split(".")[:2])
    return _KNOWN[0] <= numbers <= _KNOWN[1] and os.path.exists(_path())


@functools.cache
def _path() -> str:
    spec = PathFinder.find_spec("llvmlite")
    assert spec is not None and spec.submodule_search_locations
    return os.path.join(spec.submodule_search_locations[0], "binding", _LIBRARY)


class _Functions:
    """The functions of the library, as attributes."""

    def __init__(self) -> None:
        library = ctypes.CDLL(_path())
        for name, (result, arguments) in _SIGNATURES.items():
            function = library[f"LLVMPY_{name}"]
            function.restype, function.argtypes = result, arguments
            setattr(self, name, function)

    def __getattr__(self, name: str) -> ctypes._NamedFuncPointer:
        raise AttributeError(f"{name} is not among the signatures")


@functools.cache
def _llvm() -> _Functions:
    """The library, ready to generate code for this machine. No options are set: LLVM has one set for the process, which belongs
    to all users of llvmlite."""
    with _LOCK:
        llvm = _Functions()
        llvm.InitializeNativeTarget()
        llvm.InitializeNativeAsmPrinter()
        return llvm


class _Text:
    """A string that a function of the library makes."""

    def __init__(self) -> None:
        self.address = ctypes.c_void_p()

    def take(self) -> str:
        """The string, whose memory is given back; "" where none was made."""
        if not self.address:
            return ""
        text = ctypes.string_at(self.address.value or 0).decode()
        _llvm().DisposeString(self.address)
        return text


def host() -> tuple[str, str, str]:
    """The name and the features of this machine's CPU, and the triple of this process."""
    cpu, features, triple = _Text(), _Text(), _Text()
    _llvm().GetHostCPUName(ctypes.byref(cpu.address))
    _llvm().GetHostCPUFeatures(ctypes.byref(features.address))
    _llvm().GetProcessTriple(ctypes.byref(triple.address))
    return cpu.take(), ",".join(sorted(features.take().split(","), key=lambda name: name[1:])), triple.take()


def version() -> str:
    """LLVM's version."""
    packed = _llvm().GetVersionInfo()
    return ".".join(str(packed >> shift & 255) for shift in (16, 8, 0))


class Machine:
    """A code generator for one target with one effort, from 0 to 3. One thread may use it at a time."""

    def __init__(self, target: Target, opt: int):
        triple, error = target.triple.encode(), _Text()
        found = _llvm().GetTargetFromTriple(triple, ctypes.byref(error.address))
        if not found:
            raise RuntimeError(error.take())
        self._machine = _llvm().CreateTargetMachine(found, triple, target.cpu.encode(), target.features.encode(), opt, b"pic",
                                                    b"small", 0, 1, b"")
        if not self._machine:
            raise RuntimeError(f"LLVM has no code generator for {target.cpu} with {target.features}")

    def emit(self, text: str, assembly: bool = False, verify: bool = False) -> bytes:
        """Object code, or assembly, of LLVM IR text. Raises RuntimeError with LLVM's message where the text is not valid."""
        llvm = _llvm()
        context = llvm.ContextCreate()
        try:
            module = _parsed(context, text)
            try:
                if verify:
                    _verify(module)
                return self._emitted(module, assembly)
            finally:
                llvm.DisposeModule(module)
        finally:
            llvm.ContextDispose(context)

    def _emitted(self, module: int, assembly: bool) -> bytes:
        llvm, error = _llvm(), _Text()
        buffer = llvm.TargetMachineEmitToMemory(self._machine, module, not assembly, ctypes.byref(error.address))
        if not buffer:
            raise RuntimeError(error.take())
        try:
            return ctypes.string_at(llvm.GetBufferStart(buffer), llvm.GetBufferSize(buffer))
        finally:
            llvm.DisposeMemoryBuffer(buffer)


def _parsed(context: int, text: str) -> int:
    error = _Text()
    module = _llvm().ParseAssembly(context, text.encode(), ctypes.byref(error.address))
    message = error.take()
    if not module or message:
        raise RuntimeError(f"LLVM IR parsing error\n{message}")
    return module


def _verify(module: int) -> None:
    error = _Text()
    is_broken = _llvm().VerifyModule(module, ctypes.byref(error.address))
    message = error.take()
    if is_broken:
        raise RuntimeError(message)
