"""Checks that deferred arrays name what they read (`Deferred.parents`), under jax_enable_checks.

A deferred array is evaluated where it is read, perhaps long after the equation that made it. Before memory is overwritten,
live deferred arrays that read it are stored. An array that hides a read would see the new values.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numjet.cpu.ir.nodes import Buffer
from numjet.cpu.lowering.arrays.values import LoweredArray


class ReadChecker:
    """What each of the deferred arrays under evaluation has read, the outermost first."""

    def __init__(self) -> None:
        self._open: list[set[Buffer]] = []
        self._copies: dict[Buffer, LoweredArray] = {}

    def copied(self, x: LoweredArray, buffer: Buffer) -> None:
        """Elements of x are in this memory, to be read in the loop behind it: reading them counts as reading x."""
        self._copies[buffer] = x

    def define(self, x: LoweredArray, compute: Callable[[], Any]) -> Any:
        """An element of a deferred array. Raises AssertionError if it reads memory that the array does not name."""
        named = _memory(x)
        self._open.append(set())
        try:
            value = compute()
            hidden = self._open[-1] - named - _memory(x)  # arrays may have moved from registers to memory meanwhile
        finally:
            self._open.pop()
        if hidden:
            raise AssertionError(f"a deferred {x.aval} reads {sorted(b.name for b in hidden)}, which are not among "
                                 "what its parents read")
        return value

    def read(self, x: LoweredArray) -> None:
        """An array is read."""
        if self._open:
            for buffer in _memory(x):
                self.load(buffer)

    def load(self, buffer: Buffer) -> None:
        """Memory is read."""
        if buffer in self._copies:
            self.read(self._copies[buffer])
        elif self._open and buffer.kind != "const":
            self._open[-1].add(buffer)


def _memory(x: LoweredArray) -> set[Buffer]:
    """All memory that an array is stored in or names as read, except constants, which never change."""
    return {p.storage.buffer for p in x.reachable() if p.storage is not None and p.storage.buffer.kind != "const"}
