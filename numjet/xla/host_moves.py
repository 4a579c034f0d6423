"""Resharding in the host's memory: the parts of an array on CPU devices become those of another sharding by one copy.

XLA's program of the identity would exchange the parts in several passes over them. Here each new part is written once, from
the old ones that it overlaps, to memory of the pool, whose pages are mapped already; devices that have the same part share it.
"""
from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from numjet import _native
from numjet.core.aval import ShapedArray
from numjet.foundation.config import config
from numjet.xla import buffers

_LEAST_SHARED = 1 << 22  # bytes whose copy takes longer than threads to start
Bounds = tuple[tuple[int, int], ...]  # per dimension, from where to where


def redistributed(values: Sequence[np.ndarray], before: Sequence[Any], after: Sequence[Any], aval: ShapedArray, host: Any
                  ) -> list[np.ndarray]:
    """The parts with the indices `after`, in order, of an array whose parts with the indices `before` are `values`.

    Values and results are in the dtype of the device's buffer. host: the device of arrays in the host's memory.
    """
    stored = buffers.stored(aval)
    given = dict(zip([bounds(i, aval.shape) for i in before], values, strict=True))
    wanted = [bounds(i, aval.shape) for i in after]
    new = [part for part in dict.fromkeys(wanted) if part not in given]
    write = lambda part: _written(part, given, stored, host)
    count = min(len(new), config.numjet_num_threads or os.cpu_count() or 1)
    if count > 1 and aval.nbytes >= _LEAST_SHARED:
        with ThreadPoolExecutor(count) as pool:  # NumPy copies without the GIL
            written = list(pool.map(write, new))
    else:
        written = list(map(write, new))
    made = {**given, **dict(zip(new, written, strict=True))}
    return [made[part] for part in wanted]


def bounds(index: Sequence[slice], shape: Sequence[int]) -> Bounds:
    """An index of slices as numbers."""
    return tuple((i.start or 0, n if i.stop is None else i.stop) for i, n in zip(index, shape, strict=True))


def _written(part: Bounds, given: dict[Bounds, np.ndarray], stored: ShapedArray, host: Any) -> np.ndarray:
    """One part, in memory of its own."""
    whole = _native.empty(stored.update(shape=(*[stop - start for start, stop in part], *stored.shape[len(part):])), host)
    if not whole.size:
        return whole._value
    memory = (ctypes.c_uint8 * whole.nbytes).from_address(whole.unsafe_buffer_pointer())
    target = np.ctypeslib.as_array(memory).view(stored.dtype).reshape(whole.shape)
    for source, (place, taken) in _overlaps(part, given):
        target[place] = source[taken]
    return whole._value


def _overlaps(part: Bounds, given: dict[Bounds, np.ndarray]) -> Iterator[tuple[np.ndarray, tuple[Any, Any]]]:
    """The given parts that one overlaps, with the overlap's index in it and in them."""
    for own, value in given.items():
        common = [(max(a, c), min(b, d)) for (a, b), (c, d) in zip(part, own, strict=True)]
        if all(start < stop for start, stop in common):
            place = tuple(slice(s - a, e - a) for (s, e), (a, _) in zip(common, part, strict=True))
            taken = tuple(slice(s - c, e - c) for (s, e), (c, _) in zip(common, own, strict=True))
            yield value, (place, taken)
