"""Lowering of scatters: windows in order, their elements side by side; sums of many updates in chunks (scatter_chunks.py)."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from numjet.core.op import lookup
from numjet.lax.axes import row_major
from numjet.lax.indexing.dimension_numbers import (
    GatherScatterMode,
    ScatterDimensionNumbers,
    Windows,
    as_gather,
    drops,
    window_sizes,
)
from numjet.lax.indexing.scatter_chunks import Chunks, chunk_count
from numjet.lax.scalar_programs import run_scalars


def windows_of(operand: Any, indices: Any, updates: Any, numbers: ScatterDimensionNumbers) -> Windows:
    """The windows of a scatter."""
    sizes = window_sizes(operand.shape, updates.shape, numbers)
    return Windows(operand.shape, indices.shape, sizes, as_gather(numbers))


def cpu_rule(combine: str | None) -> Callable[..., Any]:
    """The lowering of a scatter that combines by the elementwise operation of that name (None: sets, or applies)."""
    def rule(b: Any, operand: Any, indices: Any, updates: Any, *, dimension_numbers: ScatterDimensionNumbers,
             mode: GatherScatterMode, unique_indices: bool, update_jaxpr: Any, update_consts: Any, **_: Any) -> Any:
        if operand.size == 0 or updates.size == 0:  # no index is in bounds, nor can be clipped
            return operand
        windows = windows_of(operand, indices, updates, dimension_numbers)
        if (combine is not None or update_jaxpr is None) and _once_per_row(operand, updates, dimension_numbers):
            return _compared(b, windows, operand, indices, updates, combine, drops(mode))
        batch_shape = [windows.shape[d] for d in windows.batch_dims]
        count, single = chunk_count(combine, operand, updates, batch_shape), not _window_dims(windows)
        one_by_one = len(batch_shape) > 1 and count > 0 and single and not dimension_numbers.operand_batching_dims
        if one_by_one:   # indices in memory are read in the order in which they lie
            batch_shape = [updates.size]
            indices, updates = b.reshape(indices, (updates.size, indices.shape[-1])), b.reshape(updates, (updates.size,))
            windows = windows_of(operand, indices, updates, dimension_numbers)
        around = _around(b, windows, operand, indices, updates) if prod(batch_shape) == 1 else None
        out = b.own(operand) if around is None else around
        # Elements of a window that are no neighbours: vectors would collect and spread them, which takes longer.
        far_apart = operand.shape[-1:] > (1,) and operand.ndim - 1 in (
            *dimension_numbers.inserted_window_dims, *dimension_numbers.operand_batching_dims)

        def value(old: Any, index: Sequence[Any]) -> Any:
            new = b.read(updates, *index)
            if combine is not None:
                return lookup(combine).cpu(b, old(), new)
            return new if update_jaxpr is None else run_scalars(b, update_jaxpr, update_consts, (old(), new))[0]

        def put(index: Sequence[Any], target: Any, front: Sequence[Any] = ()) -> None:
            """Puts element `index` of the updates, whose window is known to be inside, into target[front]."""
            position = (*front, *windows.position(starts_of(index), index))
            b.store(target, position, value(lambda: b.read(target if around is None else operand, *position), index))

        def starts_of(index: Sequence[Any]) -> Sequence[Any]:
            starts = windows.starts(b, indices, index)
            return starts if drops(mode) else windows.clipped(b, starts)

        def put_window(batch: Sequence[Any], target: Any, front: Sequence[Any] = ()) -> None:
            """Puts a complete window, whose elements go to different positions."""
            index = lambda inner: _merged(windows, batch, inner)
            elements = [windows.shape[d] for d in _window_dims(windows)]
            run = lambda: b.loop(elements, lambda *inner: put(index(inner), target, front), ordered=far_apart)
            if drops(mode):
                b.when(windows.inside(b, windows.starts(b, indices, index([0] * len(elements)))), run)
            else:
                run()

        def position_of(index: Sequence[Any]) -> tuple[Any, Any]:
            """The row-major position of an update that is a window, and whether it counts (None: it does)."""
            counts = windows.inside(b, starts_of(index)) if drops(mode) else None
            return row_major(operand.shape, windows.position(starts_of(index), index)), counts

        if count:
            chunks = Chunks(b, str(combine), out, batch_shape, count)
            update = lambda batch: b.read(updates, *batch)
            return chunks.points(put_window, position_of, update, one_by_one) if single else chunks.windows(put_window)
        b.loop(batch_shape, lambda *batch: put_window(batch, out), ordered=not unique_indices)
        return out
    return rule


def _once_per_row(operand: Any, updates: Any, numbers: ScatterDimensionNumbers) -> bool:
    """Whether each row of an operand that is nowhere in memory, such as zeros, takes one number at most: the derivative of a
    gather along an axis, as of a cross entropy by labels."""
    placed = numbers.scatter_dims_to_operand_dims
    return (operand.lazy and not operand.works_more_than(1) and len(placed) == 1 and numbers.inserted_window_dims == placed
            and {*numbers.operand_batching_dims, *placed} == set(range(operand.ndim))
            and updates.size * operand.shape[placed[0]] == operand.size)


def _compared(b: Any, windows: Windows, operand: Any, indices: Any, updates: Any, combine: str | None, drops: bool) -> Any:
    """The scatter as an elementwise operation: each element compares its place in its row with the row's index.

    It is fused with what reads it, where a scatter would store all zeros first.
    """
    (axis,) = windows.numbers.start_index_map
    size = operand.shape[axis]

    def element(*position: Any) -> Any:
        index: list[Any] = [0] * len(windows.shape)
        for d, source in windows.batch_of.items():
            index[source] = position[d]
        start, = windows.starts(b, indices, index)
        if drops:   # just outside of the row, in a narrow dtype
            start = b.prim("min", b.prim("max", start, b.const(-1, start.dtype)), b.const(size, start.dtype))
        else:
            start, = windows.clipped(b, [start])
        dtype = np.dtype(np.int32 if size < 2**31 - 1 else np.int64)
        found = b.compare("eq", b.convert(start, dtype), b.convert(position[axis], dtype))
        old, new = b.read(operand, *position), b.read(updates, *index)
        return b.select(found, new if combine is None else lookup(combine).cpu(b, old, new), old)

    return b.compute(operand.shape, operand.dtype, element, reads=(operand, indices, updates))


def _around(b: Any, windows: Windows, operand: Any, indices: Any, updates: Any) -> Any:
    """A new array with the elements around the only window, if the window is known to be most of the operand and a copy of the
    operand would cost more; else None."""
    starts = windows.position(windows.starts(b, indices, [0] * len(windows.shape)), [0] * len(windows.shape))
    return b.own_around(operand, starts, windows.sizes, updates)


def _window_dims(windows: Windows) -> list[int]:
    return [d for d in range(len(windows.shape)) if d not in windows.batch_dims]


def _merged(windows: Windows, batch: Sequence[Any], inner: Sequence[Any]) -> list[Any]:
    """The index of an element of the updates from its batch axes and its index in the window."""
    found = dict(zip([*windows.batch_dims, *_window_dims(windows)], [*batch, *inner], strict=True))
    return [found[d] for d in range(len(found))]
