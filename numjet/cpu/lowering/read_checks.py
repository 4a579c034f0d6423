"""Checks that definitions say what they read (see `LoweredArray.parents`), for the flag jax_enable_checks.

A definition is computed where it is wanted, perhaps long after the equation that made it. Whoever overwrites memory in place
asks the definitions that are still wanted which memory they read: one that keeps silent about it reads other values.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numjet.cpu.ir.nodes import Buffer
from numjet.cpu.lowering.values import LoweredArray


class Reads:
    """What each of the definitions that are being computed has read, the outermost first."""

    def __init__(self) -> None:
        self._open: list[set[Buffer]] = []

    def define(self, x: LoweredArray, compute: Callable[[], Any]) -> Any:
        """The value of a definition. Raises AssertionError if that reads memory which the definition does not name."""
        named = _memory(x)
        self._open.append(set())
        try:
            value = compute()
            hidden = self._open[-1] - named - _memory(x)  # what was in registers may be in memory by now
        finally:
            self._open.pop()
        if hidden:
            raise AssertionError(f"the definition of a {x.aval} reads {sorted(b.name for b in hidden)}, which are not among "
                                 "what its parents read")
        return value

    def read(self, x: LoweredArray) -> None:
        """An array is read."""
        if self._open:
            self._open[-1] |= _memory(x)

    def load(self, buffer: Buffer) -> None:
        """Memory is read."""
        if self._open and buffer.kind != "const":
            self._open[-1].add(buffer)


def _memory(x: LoweredArray) -> set[Buffer]:
    """All memory that an array or its definition names, but for constants, which stay what they are."""
    return {p.storage.buffer for p in x.reachable() if p.storage is not None and p.storage.buffer.kind != "const"}
