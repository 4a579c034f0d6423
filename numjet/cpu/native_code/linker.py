"""Linking of object code by ORC, in generations.

LLVM keeps some kilobytes of every library that was ever linked, its name and its symbols, until the linker is closed. So a
linker takes a fixed number of libraries, then another one is made, and the old one is closed with the last of its libraries:
memory is bounded by what is in use.
"""
from __future__ import annotations

import itertools
import sys
from collections.abc import Callable

import llvmlite.binding as binding

LIBRARIES = 64  # per generation

_numbers = itertools.count()


class _Generation:
    """A linker and the numbers of its libraries. (No library refers to the linker itself: the garbage collector could then
    close it before them.)"""

    def __init__(self, machine: binding.TargetMachine):
        # JITLink lays out each object in one piece. RuntimeDyld maps its sections one by one, and aborts the process where the
        # system puts them more than 2 GiB apart, as it may beside XLA's reservations.
        self.linker = [binding.create_lljit_compiler(machine, use_jit_link=True)]
        self.taken = 0
        self.alive: set[int] = set()
        self.retired = False

    def retire(self) -> None:
        """Closes the linker once the last library is gone."""
        self.retired = True
        self.close_if_unused()

    def close_if_unused(self) -> None:
        if self.retired and not self.alive:
            try:
                self.linker.pop().close()  # of several threads, the first
            except IndexError:
                pass


class Library:
    """Machine code in memory, as long as this object lives; `address` is that of its one function."""

    def __init__(self, tracker: binding.orcjit.ResourceTracker, address: int, number: int, generation: _Generation):
        self.address = address
        self._tracker, self._number, self._generation = tracker, number, generation

    def __del__(self, ending: Callable[[], bool] = sys.is_finalizing) -> None:
        if ending():
            return
        self._tracker.close()
        self._generation.alive.discard(self._number)
        self._generation.close_if_unused()


class Linker:
    """Links object code, one call at a time."""

    def __init__(self, machine: Callable[[], binding.TargetMachine]):
        self._machine = machine
        self._generation: _Generation | None = None

    def link(self, code: bytes, name: str, symbols: dict[str, int]) -> Library:
        """Links object code that defines the function `name`. symbols: addresses of external symbols.

        Raises RuntimeError when it refers to another one.
        """
        generation = self._current()
        number = next(_numbers)
        generation.taken += 1
        builder = binding.JITLibraryBuilder().add_object_img(code).export_symbol(name)
        for symbol, address in symbols.items():
            if symbol.encode() in code:  # each costs memory
                builder.import_symbol(symbol, address)
        tracker = builder.link(generation.linker[0], f"{name}.{number}")
        generation.alive.add(number)
        return Library(tracker, tracker[name], number, generation)

    def _current(self) -> _Generation:
        generation = self._generation
        if generation is None or generation.taken >= LIBRARIES:
            self._generation = _Generation(self._machine())
            if generation is not None:
                generation.retire()
        assert self._generation is not None
        return self._generation
