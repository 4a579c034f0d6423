"""Allocation of arrays: which are kept in registers, and which memory the others get.

An allocation is a strategy. `MemoryAllocation` makes temporaries, inside of loops from memory that no array needs any more.
`RegisterAllocation`, for one lane of a vector, has no memory: whatever needs some raises `NotVectorizable`.
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from numjet.core.aval import ShapedArray
from numjet.cpu.ir.nodes import Buffer, Function, Stmt
from numjet.cpu.lowering.arrays.values import Storage, parts_dtype, words_of
from numjet.cpu.lowering.index import Index, IndexTerms
from numjet.cpu.remarks import Recorder

SMALL = 16                # elements of an array that is kept in registers inside of a loop: code size against memory traffic
SMALL_ONCE = 7            # the same outside of loops, where written-out code runs once; 8 elements fill a register of AVX2
LEAST_REUSED = 2 * SMALL  # words of memory that is used again; less may be that of registers that were moved out of a loop


class NotVectorizable(Exception):
    """A body cannot run in one lane of a vector: it reads elements of other lanes, or needs memory."""


class MemoryAllocation:
    """Registers for small arrays, buffers for others.

    register_limit: `small` inside of loops, see scalarization.py. free: buffers made inside of loops that no array needs any
    more. loop_buffers: all temporaries made inside of loops. pieces: the number of pieces of a loop around that threads share,
    and which one this is; each has memory of its own.
    """

    STATE = ("register_limit", "count", "free", "loop_buffers", "pieces")

    def __init__(self, function: Function, terms: IndexTerms, blocks: list[list[Stmt]], recorder: Recorder | None):
        self.function, self.terms, self.blocks, self.recorder = function, terms, blocks, recorder
        self.register_limit = SMALL
        self.count = 0   # buffers made so far, which numbers their names
        self.free: list[Buffer] = []
        self.loop_buffers: list[Buffer] = []
        self.pieces: tuple[int, Index] | None = None

    @property
    def small(self) -> int:
        """Elements of an array up to which it is kept in registers here."""
        return self.register_limit if len(self.blocks) > 1 else SMALL_ONCE

    @property
    def written_out(self) -> int:
        """Elements of a result up to which a rule may write it out by itself."""
        return SMALL

    def buffer(self, dtype: np.dtype, size: int, kind: str = "temp", hint: str = "t", data: Any = None) -> Buffer:
        """A new buffer for `size` elements of any dtype (compound elements take two numbers)."""
        part = parts_dtype(dtype)
        self.count += 1
        made = Buffer(f"{hint}{self.count}", part or dtype, size * (2 if part is not None else 1), kind, data)
        f = self.function
        {"temp": f.temps, "const": f.consts, "input": f.inputs, "output": f.outputs}[kind].append(made)
        if self.recorder is not None:
            self.recorder.buffer(made)
        return made

    def temporary(self, aval: ShapedArray) -> Storage:
        """Memory for an array, with undefined elements."""
        if self.pieces is not None:
            count, piece = self.pieces
            return Storage(self.buffer(aval.dtype, count * aval.size), piece * words_of(aval), True)
        if self.blocks[-1] is self.function.body:
            return self._new(aval)
        kind, size = parts_dtype(aval.dtype) or aval.dtype, words_of(aval)
        found = next((b for b in self.free if (b.dtype, b.size) == (kind, size)), None) if size > LEAST_REUSED else None
        if found is not None:
            self.free.remove(found)
            return Storage(found, self.terms.index(0), True)
        storage = self._new(aval)
        self.loop_buffers.append(storage.buffer)
        return storage

    def _new(self, aval: ShapedArray) -> Storage:
        return Storage(self.buffer(aval.dtype, aval.size), self.terms.index(0), True)

    def require_memory(self) -> None:
        """Called before code is written that needs memory or a loop of its own."""

    def may_store(self, size: int) -> bool:
        """Whether a deferred array of that size may be stored."""
        return True

class RegisterAllocation:
    """Registers only, for one lane of loops over lanes of shape `lane_shape`.

    No array with an element per lane counts as small: it would be read at all of them.
    """

    def __init__(self, around: MemoryAllocation, lane_shape: Sequence[int]):
        self.around, self.most = around, min(lane_shape) - 1

    @property
    def small(self) -> int:
        return min(self.around.small, self.most)

    @property
    def written_out(self) -> int:
        return min(self.around.written_out, self.most)

    def temporary(self, aval: ShapedArray) -> Storage:
        raise NotVectorizable

    def require_memory(self) -> None:
        raise NotVectorizable

    def may_store(self, size: int) -> bool:
        return size <= self.small


Allocation = MemoryAllocation | RegisterAllocation
