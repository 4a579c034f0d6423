"""Compiled programs as bytes: relocatable code with all that a process needs to run it, without LLVM and the compiler.

Code is linked by the native core (`native/runtime/code/`), or by LLVM where that does not know the format of this system's
objects. Symbols are stored by name. A program whose first tier was stored keeps its LLVM IR, from which the second tier is made
when the program is called again.
"""
from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from numjet import _native
from numjet.cpu.kernels import symbols
from numjet.foundation import lazy_import
from numjet.foundation.record import Fields, default_factory

if TYPE_CHECKING:
    from numjet.cpu import compiler
    from numjet.cpu.native_code import jit, tiers
else:
    compiler = lazy_import.Module("numjet.cpu.compiler")
    jit = lazy_import.Module("numjet.cpu.native_code.jit")
    tiers = lazy_import.Module("numjet.cpu.native_code.tiers")

OnError = Callable[[int, list[int]], BaseException]


class Portable(Fields):
    """A program as other processes take it. constants: by symbol; text: the LLVM IR of code of the first tier."""

    name: str
    scratch_bytes: int
    aliases: list[tuple[int, int]]
    cost_ns: float
    open_ended: bool
    checks: int           # how many checks it has whose errors only its lowering knows
    constants: dict[str, np.ndarray]
    short_inputs: dict[int, tuple[int, int, int]]    # see passes.short_buffers.Short
    short_outputs: dict[int, tuple[int, int, int]]
    code: bytes = b""
    text: str = ""
    observer: Callable[[], None] | None = None   # told when better code is there

    @property
    def nbytes(self) -> int:
        """About what its bytes take."""
        return len(self.code) + sum(c.nbytes for c in self.constants.values())

    def improve(self, code: bytes) -> None:
        """Puts the code of the second tier in place of the first's."""
        self.code, self.text = code, ""
        if self.observer is not None:
            self.observer()

    def pack(self) -> bytes:
        """The program as bytes."""
        text = zlib.compress(self.text.encode(), 1) if self.text else b""
        parts = [self.code, text, *[c.tobytes() for c in self.constants.values()]]
        header = json.dumps({
            "name": self.name, "scratch": self.scratch_bytes, "aliases": self.aliases, "cost": self.cost_ns,
            "open_ended": self.open_ended, "checks": self.checks, "symbols": _called(self), "constants": list(self.constants),
            "short": [[(k, *short) for k, short in one.items()] for one in (self.short_inputs, self.short_outputs)],
            "parts": [len(part) for part in parts]}).encode()
        return b"".join((len(header).to_bytes(4, "little"), header, *parts))


def _called(portable: Portable) -> list[tuple[str, bool]]:
    """The symbols that code refers to, and whether they are kernels."""
    names = sorted(name for name in jit.runtime_symbols() if name.encode() in portable.code)
    kernels = set(_native.kernel_names())
    called = sorted(name for name in kernels if name.encode() + b"\0" in portable.code)
    return [*((name, True) for name in called), *((name, False) for name in names if name not in kernels)]


class Program(Fields):
    """A program that was stored, as runtime wants it: see `compiler.Program`."""

    address: int
    scratch_bytes: int
    aliases: list[tuple[int, int]]
    cost_ns: float
    open_ended: bool
    on_error: OnError
    on_second_call: Callable[[Any], None] | None
    portable: Portable
    keepalive: list[Any] = default_factory(list)
    text: str = ""
    mostly_python: bool = False   # programs that call Python functions are not stored

    @property
    def short(self) -> tuple[dict[int, tuple[int, int, int]], dict[int, tuple[int, int, int]]]:
        """See passes.short_buffers.Short."""
        return self.portable.short_inputs, self.portable.short_outputs

    @property
    def compiled(self) -> _Code:
        """Its code, for counting what it takes."""
        return _Code(self.portable.code)


class _Code(Fields):
    object_bytes: bytes


def load(content: bytes, on_error: Callable[[], OnError]) -> Program:
    """The program in `content`, linked. on_error: makes the function that turns status codes into exceptions, when one is
    needed. Raises ValueError, KeyError or RuntimeError for bytes that are no program of this version."""
    portable, called = _unpack(content)
    own = {name: address for name, is_kernel in called if (address := _address(name, is_kernel)) is not None}
    addresses = {**own, **{name: c.ctypes.data for name, c in portable.constants.items()}}
    kept: list[Any] = list(portable.constants.values())
    kept.append(_link(portable, addresses))
    second = None
    if portable.text:
        second = lambda executable: tiers.second_tier(executable, portable.text, addresses, portable.name, kept, portable)
    return Program(kept[-1].address, portable.scratch_bytes, portable.aliases, portable.cost_ns, portable.open_ended,
                   lambda status, info: on_error()(status, info), second, portable, kept)


def _address(name: str, is_kernel: bool) -> int | None:
    return symbols.kernel(name) if is_kernel else symbols.runtime(name)


def _link(portable: Portable, addresses: dict[str, int]) -> Any:
    try:
        return _native.load_code(portable.code, portable.name, addresses)
    except ValueError:   # objects of another system
        return jit.load_object(portable.code, addresses, portable.name)


def _unpack(content: bytes) -> tuple[Portable, Sequence[tuple[str, bool]]]:
    start = 4 + int.from_bytes(content[:4], "little")
    header = json.loads(content[4:start])
    if start + sum(header["parts"]) != len(content):
        raise ValueError("the parts of a stored program do not add up")
    parts = []
    for length in header["parts"]:
        parts.append(content[start:start + length])
        start += length
    code, text, *blobs = parts
    constants = {name: np.frombuffer(blob, np.uint8).copy() for name, blob in zip(header["constants"], blobs, strict=True)}
    short = [{k: (n, size, less) for k, n, size, less in one} for one in header["short"]]
    aliases = [(out, into) for out, into in header["aliases"]]
    inputs, outputs = short
    portable = Portable(header["name"], header["scratch"], aliases, header["cost"], header["open_ended"], header["checks"],
                        constants, inputs, outputs, code, zlib.decompress(text).decode() if text else "")
    return portable, header["symbols"]


def errors(closed: Any, name: str, donated: Sequence[bool]) -> OnError:
    """What turns the status codes of a stored program into exceptions: its lowering, once more. closed: None for a program
    without checks of its own."""
    return compiler.errors_of(closed, name, donated)
