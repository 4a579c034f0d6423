"""The CPU machine: a closed jaxpr becomes one native function. The list of passes reads top to bottom."""
from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from numjet import _native
from numjet.core.effects import FIRST_FAILURE, failures
from numjet.core.ir import ClosedJaxpr
from numjet.cpu import cost, expand, jit, llvm, loop_show, memory, schedule, threads
from numjet.cpu.kernels import lapack
from numjet.cpu.loop_ir import CALLBACK, KERNEL_STATUS, Call, Function, walk
from numjet.cpu.lower import lower
from numjet.foundation.config import config

_numbers = itertools.count()
threads.follow_flag()


@dataclass
class Program:
    """A compiled program, as runtime wants it: see numjet._native.Executable."""
    address: int
    scratch_bytes: int
    aliases: list[tuple[int, int]]
    cost_ns: float
    on_error: Callable[[int, list[int]], BaseException]
    function: Function
    text: str
    compiled: jit.Compiled
    keepalive: list[Any] = field(default_factory=list)


def compile_program(closed: ClosedJaxpr, name: str, donated: Sequence[bool] = ()) -> Program:
    """Compiles a program for this CPU.

    donated: inputs whose memory the program may overwrite. Raises NotImplementedError naming the operation that has no
    native lowering. With NUMJET_DUMP=dir every stage is written there.
    """
    dump = _Dump(name)
    dump("jaxpr", lambda: str(closed))
    lowered = lower(closed, _symbol(name), donated)
    function = lowered.function
    dump("loops", lambda: loop_show.show(function))
    expand.expand_math(function)
    nanoseconds = cost.estimate_ns(function)
    schedule.share(function)
    memory.plan(function)
    dump("planned", lambda: loop_show.show(function))
    text = llvm.emit(function, jit.host())
    dump("ll", lambda: text)
    constants, keepalive = llvm.constant_symbols(function)
    symbols = {**call_symbols(function), **{n: t.address for n, t in lowered.trampolines.items()}, **constants}
    compiled = jit.compile(text, symbols, function.name, keepalive=tuple(keepalive))
    dump("s", lambda: jit.disassembly(compiled))
    return Program(compiled.address, function.scratch_bytes, lowered.aliases, nanoseconds, _errors(function),
                   function, text, compiled, [closed, lowered.trampolines])


def as_text(closed: ClosedJaxpr, name: str) -> str:
    """The loop IR of a program."""
    return loop_show.show(lower(closed, _symbol(name)).function)


def call_symbols(function: Function) -> dict[str, int]:
    """The addresses of the library functions that a program calls."""
    names = {s.symbol for s in walk(function.body) if isinstance(s, Call) and not s.symbol.startswith(CALLBACK)}
    return {n: _address(n) for n in names}


def _address(name: str) -> int:
    found = lapack.address(name)
    return _native.kernel_address(name) if found is None else found


def _errors(function: Function) -> Callable[[int, list[int]], BaseException]:
    errors = function.errors

    def on_error(status: int, info: list[int]) -> BaseException:
        if status & KERNEL_STATUS:
            code = status - KERNEL_STATUS
            if code >= FIRST_FAILURE:
                return failures.take(code)
            kind = MemoryError if code == 1 else RuntimeError
            return kind(f"{function.name}: a kernel failed with status {code} (1: out of memory; see numjet.cpu.kernels)")
        return errors[status - 1](*info[1:])
    return on_error


def _symbol(name: str) -> str:
    """A name for machine code made from a user's function name; no C function is called so."""
    return "nj." + "".join(c if c.isalnum() or c == "_" else "_" for c in name)


class _Dump:
    """Writes the stages of one compilation to the folder that NUMJET_DUMP names."""

    def __init__(self, name: str):
        self.folder = Path(config.dump) if config.dump else None
        self.stem = f"{next(_numbers):04d}_{_symbol(name)}"

    def __call__(self, stage: str, text: Callable[[], str]) -> None:
        if self.folder is not None:
            self.folder.mkdir(parents=True, exist_ok=True)
            (self.folder / f"{self.stem}.{stage}").write_text(text(), encoding="utf8")
