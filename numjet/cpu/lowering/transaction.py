"""Transactions for speculative lowering: code that turns out to be impossible leaves no trace.

A transaction saves the mutable state of all parts of lowering, and of the arrays that the code may read, when it begins.
`rollback` restores it. What stays are expressions and the bounds of variables, which are immutable and never enumerated.
"""
from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from numjet.cpu.lowering.arrays.values import Deferred, LoweredArray, reachable
from numjet.cpu.lowering.function_builder import FunctionBuilder

_LISTS_OF_FUNCTION = ("inputs", "outputs", "temps", "consts", "errors")


class Transaction:
    """A point to which lowering can return. parts: those with state of their own, which their class lists in STATE."""

    def __init__(self, ir: FunctionBuilder, parts: Iterable[Any], arrays: Sequence[LoweredArray]):
        owners = [(ir.function, name) for name in _LISTS_OF_FUNCTION]
        owners += [(part, name) for part in (ir, ir.memory, *parts) for name in part.STATE]
        self._state = [(owner, name, getattr(owner, name), _copy(getattr(owner, name))) for owner, name in owners]
        self._blocks = [(block, len(block)) for block in ir.blocks]
        self._contents = [(a, a.content) for a in reachable(arrays)]
        self._elements = [(c, dict(c.memo)) for _, c in self._contents if isinstance(c, Deferred)]
        self._recorder, self._remarks = ir.recorder, None if ir.recorder is None else ir.recorder.snapshot()

    def rollback(self) -> None:
        """Restores the state at which the transaction began."""
        for owner, name, value, before in self._state:
            if isinstance(value, list):   # parts share lists
                value[:] = before
            setattr(owner, name, value if isinstance(value, list) else before)
        for block, length in self._blocks:
            del block[length:]
        for x, content in self._contents:
            x.content = content
        if self._recorder is not None and self._remarks is not None:
            self._recorder.restore(self._remarks)

    def forget_elements(self) -> None:
        """Forgets the elements evaluated since, which are valid only in the block where that happened."""
        for content, memo in self._elements:
            content.memo = memo


def _copy(value: Any) -> Any:
    return value.copy() if isinstance(value, list | dict | set) else value
