"""Parallel scatters of many updates: chunks of updates go to partial results, which are combined in order.

The number of chunks depends on the program only, so the bits are the same for any number of threads.
"""
from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import reduce
from math import prod
from typing import Any

import numpy as np

from numjet.core.op import lookup
from numjet.lax.axes import row_major
from numjet.lax.reduction.reduce import highest, lowest
from numjet.lax.templates import kind_of

MOST_CHUNKS = 16
UPDATES_PER_ELEMENT = 4  # in a chunk, from which a result of its own pays
CHUNKED_FROM = 2 ** 15   # elements of updates
BLOCK = 512              # updates whose positions are computed ahead, side by side
WRITTEN_OUT = 8          # updates in a row, without a loop around
NEAR_BYTES = 16384       # of the copies of a chunk's result: neighbouring updates go to different ones, so that none waits
_NEUTRAL: dict[str, Callable[[np.dtype], Any]] = {
    "add": lambda dtype: dtype.type(-0.0 if kind_of(dtype) == "f" else 0), "min": highest, "max": lowest}


class Chunks:
    """The partial results of one scatter into `out`, whose windows are numbered by `batch_shape`."""

    def __init__(self, b: Any, combine: str, out: Any, batch_shape: Sequence[int], count: int):
        self.b, self.combine, self.out, self.batch_shape, self.count = b, combine, out, batch_shape, count
        self.neutral = b.const(_NEUTRAL[combine](out.dtype), out.dtype)

    def windows(self, put_window: Callable[..., None]) -> Any:
        """The result, where put_window(batch, target, front) combines a whole window with target[front]."""
        b, out = self.b, self.out
        per_chunk = prod(self.batch_shape) // self.count
        partial = b.empty((self.count, *out.shape), out.dtype)

        def chunk(c: Any) -> None:
            b.loop(out.shape, lambda *index: b.store(partial, (c, *index), self.neutral))
            b.loop((per_chunk,), lambda k: put_window(self._batch(c * per_chunk + k), partial, (c,)), ordered=True)
        b.chunks(self.count, chunk)
        return self._finish(partial, per_chunk, put_window, lambda *index: index)

    def points(self, put_window: Callable[..., None], position_of: Callable[..., Any], update: Callable[..., Any],
               ahead: bool) -> Any:
        """The result, where each window is one element. position_of(batch): its row-major position, and whether it counts
        (None: it does). Partial results have one element more, for updates that don't count, so that no update needs a test.
        ahead: updates are read side by side, too, as it takes divisions to find one."""
        b, size, copies = self.b, prod(self.out.shape), self._copies()
        per_chunk = prod(self.batch_shape) // self.count // BLOCK * BLOCK
        partial = b.empty((self.count, copies, size + 1), self.out.dtype)
        positions = b.empty((self.count, BLOCK), np.int32 if size < 2 ** 31 - 1 else np.int64)
        values = b.empty((self.count, BLOCK), self.out.dtype) if ahead else None

        def chunk(c: Any) -> None:
            b.loop((copies, size + 1), lambda *index: b.store(partial, (c, *index), self.neutral))
            b.loop((per_chunk // BLOCK,), lambda j: block(c, c * per_chunk + j * BLOCK), ordered=True)
            if copies > 1:
                b.loop((size,), lambda k: b.store(partial, (c, 0, k), self._total(
                    b.read(partial, c, copy, k) for copy in range(copies))))

        def block(c: Any, first: Any) -> None:
            b.loop((BLOCK,), lambda k: find(c, k, self._batch(first + k)))
            b.loop((BLOCK // WRITTEN_OUT,), lambda k: row(c, k, first), ordered=True)

        def find(c: Any, k: Any, batch: Sequence[Any]) -> None:
            position, counts = position_of(batch)
            position = b.convert(position, positions.dtype)
            outside = b.const(size, positions.dtype)
            b.store(positions, (c, k), position if counts is None else b.select(counts, position, outside))
            if values is not None:
                b.store(values, (c, k), update(batch))

        def row(c: Any, k: Any, first: Any) -> None:
            for more in range(WRITTEN_OUT):
                number = k * WRITTEN_OUT + more
                target = (c, more % copies, b.convert(b.read(positions, c, number), np.int64))
                new = b.read(values, c, number) if values is not None else update(self._batch(first + number))
                b.store(partial, target, self._total((b.read(partial, *target), new)))
        b.chunks(self.count, chunk)
        locate = lambda c, *index: (c, 0, row_major(self.out.shape, index))
        return self._finish(partial, per_chunk, put_window, locate)

    def _copies(self) -> int:
        """How many copies of its result a chunk has."""
        copies = WRITTEN_OUT
        while copies > 1 and copies * (prod(self.out.shape) + 1) * self.out.dtype.itemsize > NEAR_BYTES:
            copies //= 2
        return copies

    def _total(self, values: Iterable[Any]) -> Any:
        return reduce(lambda x, y: lookup(self.combine).cpu(self.b, x, y), values)

    def _finish(self, partial: Any, per_chunk: int, put_window: Callable[..., None], locate: Callable[..., Any]) -> Any:
        """Combines the partial results, in which locate(chunk, *index) locates an element, and the updates of no chunk."""
        b, out, done = self.b, self.out, self.count * per_chunk
        b.loop(out.shape, lambda *index: b.store(out, index, self._total(
            [b.read(out, *index), *(b.read(partial, *locate(c, *index)) for c in range(self.count))])))
        b.loop((prod(self.batch_shape) - done,), lambda k: put_window(self._batch(done + k), out, ()), ordered=True)
        return out

    def _batch(self, position: Any) -> list[Any]:
        """The index of the window at a row-major position."""
        index = []
        for n in reversed(self.batch_shape[1:]):
            index.append(position % n)
            position = position // n
        return [position, *reversed(index)] if self.batch_shape else []


def chunk_count(combine: str | None, out: Any, updates: Any, batch_shape: Sequence[int]) -> int:
    """The number of partial results that pay; 0 for few updates per element."""
    size = prod(updates.shape)
    if combine not in _NEUTRAL or kind_of(out.dtype) not in "iuf" or size < CHUNKED_FROM or prod(batch_shape) < MOST_CHUNKS:
        return 0
    count = min(MOST_CHUNKS, size // (UPDATES_PER_ELEMENT * max(1, prod(out.shape))))
    return count if count > 1 else 0
