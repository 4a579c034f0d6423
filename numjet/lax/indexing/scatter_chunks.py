"""Scatters that add up many updates: runs of them go to partial results, which are combined in order.

How many runs there are depends on the program only, so the bits are the same for any number of threads.
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
UPDATES_PER_PLACE = 4    # in a chunk, from which a result of its own pays
CHUNKED_FROM = 2 ** 18   # elements of updates
BLOCK = 512              # updates whose places are computed ahead, side by side
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
            b.loop(out.shape, lambda *place: b.store(partial, (c, *place), self.neutral))
            b.loop((per_chunk,), lambda k: put_window(self._batch(c * per_chunk + k), partial, (c,)), ordered=True)
        b.chunks(self.count, chunk)
        return self._finish(partial, per_chunk, put_window, lambda *index: index)

    def points(self, put_window: Callable[..., None], place_of: Callable[..., Any], update: Callable[..., Any]) -> Any:
        """The result, where each window is one element. place_of(batch): its row-major place, and whether it counts (None:
        it does). Partial results have one place more, for those that don't, so that no update has to be looked at."""
        b, size, copies = self.b, prod(self.out.shape), self._copies()
        per_chunk = prod(self.batch_shape) // self.count // BLOCK * BLOCK
        partial = b.empty((self.count, copies, size + 1), self.out.dtype)
        places = b.empty((self.count, BLOCK), np.int32 if size < 2 ** 31 - 1 else np.int64)

        def chunk(c: Any) -> None:
            b.loop((copies, size + 1), lambda *place: b.store(partial, (c, *place), self.neutral))
            b.loop((per_chunk // BLOCK,), lambda j: block(c, c * per_chunk + j * BLOCK), ordered=True)
            if copies > 1:
                b.loop((size,), lambda place: b.store(partial, (c, 0, place), self._total(
                    b.read(partial, c, copy, place) for copy in range(copies))))

        def block(c: Any, first: Any) -> None:
            b.loop((BLOCK,), lambda k: find(c, k, self._batch(first + k)))
            b.loop((BLOCK // WRITTEN_OUT,), lambda k: row(c, k, first), ordered=True)

        def find(c: Any, k: Any, batch: Sequence[Any]) -> None:
            place, counts = place_of(batch)
            place = b.convert(place, places.dtype)
            b.store(places, (c, k), place if counts is None else b.select(counts, place, b.const(size, places.dtype)))

        def row(c: Any, k: Any, first: Any) -> None:
            for more in range(WRITTEN_OUT):
                number = k * WRITTEN_OUT + more
                place = (c, more % copies, b.convert(b.read(places, c, number), np.int64))
                b.store(partial, place, self._total((b.read(partial, *place), update(self._batch(first + number)))))
        b.chunks(self.count, chunk)
        position = lambda c, *place: (c, 0, row_major(self.out.shape, place))
        return self._finish(partial, per_chunk, put_window, position)

    def _copies(self) -> int:
        """How many copies of its result a chunk has."""
        copies = WRITTEN_OUT
        while copies > 1 and copies * (prod(self.out.shape) + 1) * self.out.dtype.itemsize > NEAR_BYTES:
            copies //= 2
        return copies

    def _total(self, values: Iterable[Any]) -> Any:
        return reduce(lambda x, y: lookup(self.combine).cpu(self.b, x, y), values)

    def _finish(self, partial: Any, per_chunk: int, put_window: Callable[..., None], position: Callable[..., Any]) -> Any:
        """Combines the partial results, in which position(chunk, *place) is where a place is, and what no chunk had."""
        b, out, done = self.b, self.out, self.count * per_chunk
        b.loop(out.shape, lambda *place: b.store(out, place, self._total(
            [b.read(out, *place), *(b.read(partial, *position(c, *place)) for c in range(self.count))])))
        b.loop((prod(self.batch_shape) - done,), lambda k: put_window(self._batch(done + k), out, ()), ordered=True)
        return out

    def _batch(self, place: Any) -> list[Any]:
        """The index of the window that stands at a row-major place."""
        index = []
        for n in reversed(self.batch_shape[1:]):
            index.append(place % n)
            place = place // n
        return [place, *reversed(index)] if self.batch_shape else []


def chunk_count(combine: str | None, out: Any, updates: Any, batch_shape: Sequence[int]) -> int:
    """How many partial results pay; 0: none, as there are not so many more updates than places."""
    size = prod(updates.shape)
    if combine not in _NEUTRAL or kind_of(out.dtype) not in "iuf" or size < CHUNKED_FROM or prod(batch_shape) < MOST_CHUNKS:
        return 0
    count = min(MOST_CHUNKS, size // (UPDATES_PER_PLACE * max(1, prod(out.shape))))
    return count if count > 1 else 0
