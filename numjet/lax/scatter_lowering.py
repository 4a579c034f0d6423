"""Scatters, compiled: windows in order, their elements side by side; sums of many updates in chunks."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from numjet.core.op import lookup
from numjet.core.trace import aval_of
from numjet.lax.dimension_numbers import (
    GatherScatterMode,
    ScatterDimensionNumbers,
    Windows,
    as_gather,
    drops,
    window_sizes,
)
from numjet.lax.reduce import highest, lowest
from numjet.lax.templates import kind_of
from numjet.lax.update_program import run_elementwise

CHUNKS = 16
CHUNKED_FROM = 2 ** 18   # elements of updates
_NEUTRAL: dict[str, Callable[[np.dtype], Any]] = {
    "add": lambda dtype: dtype.type(-0.0 if kind_of(dtype) == "f" else 0), "min": highest, "max": lowest}


def windows_of(operand: Any, indices: Any, updates: Any, numbers: ScatterDimensionNumbers) -> Windows:
    """How the updates of a scatter lie in its operand."""
    sizes = window_sizes(operand.shape, updates.shape, numbers)
    return Windows(operand.shape, indices.shape, sizes, as_gather(numbers))


def cpu_rule(combine: str | None) -> Callable[..., Any]:
    """The lowering of a scatter that combines by the elementwise operation of that name (None: sets, or applies)."""
    def rule(b: Any, operand: Any, indices: Any, updates: Any, *, dimension_numbers: ScatterDimensionNumbers,
             mode: GatherScatterMode, unique_indices: bool, update_jaxpr: Any, update_consts: Any, **_: Any) -> Any:
        windows = windows_of(operand, indices, updates, dimension_numbers)
        # Elements of a window that are no neighbours: vectors would collect and spread them, which takes longer.
        far_apart = operand.shape[-1:] > (1,) and operand.ndim - 1 in (
            *dimension_numbers.inserted_window_dims, *dimension_numbers.operand_batching_dims)
        out = b.own(operand)

        def value(old: Any, index: Sequence[Any]) -> Any:
            new = b.read(updates, *index)
            if combine is not None:
                return lookup(combine).cpu(b, old(), new)
            return new if update_jaxpr is None else _apply(b, update_jaxpr, update_consts, old(), new)

        def put(index: Sequence[Any], target: Any, front: Sequence[Any] = ()) -> None:
            """Puts element `index` of the updates, whose window is known to be inside, into target[front]."""
            place = (*front, *windows.position(starts_of(index), index))
            b.store(target, place, value(lambda: b.read(target, *place), index))

        def starts_of(index: Sequence[Any]) -> Sequence[Any]:
            starts = windows.starts(b, indices, index)
            return starts if drops(mode) else windows.clipped(b, starts)

        def put_window(batch: Sequence[Any], target: Any, front: Sequence[Any] = ()) -> None:
            """Puts a whole window, whose elements go to different places."""
            whole = lambda inner: _merged(windows, batch, inner)
            elements = [windows.shape[d] for d in _window_dims(windows)]
            run = lambda: b.loop(elements, lambda *inner: put(whole(inner), target, front), ordered=far_apart)
            if drops(mode):
                b.when(windows.inside(b, windows.starts(b, indices, whole([0] * len(elements)))), run)
            else:
                run()

        batch_shape = [windows.shape[d] for d in windows.batch_dims]
        if combine in _NEUTRAL and _many(out, updates, batch_shape):
            return _in_chunks(b, str(combine), out, batch_shape, put_window)
        b.loop(batch_shape, lambda *batch: put_window(batch, out), ordered=not unique_indices)
        return out
    return rule


def _window_dims(windows: Windows) -> list[int]:
    return [d for d in range(len(windows.shape)) if d not in windows.batch_dims]


def _merged(windows: Windows, batch: Sequence[Any], inner: Sequence[Any]) -> list[Any]:
    """The index of an element of the updates from its batch axes and its place in the window."""
    found = dict(zip([*windows.batch_dims, *_window_dims(windows)], [*batch, *inner], strict=True))
    return [found[d] for d in range(len(found))]


def _apply(b: Any, jaxpr: Any, consts: Sequence[Any], old: Any, new: Any) -> Any:
    constant = lambda a: b.const(a.val, a.aval.dtype)
    values = [b.const(np.asarray(c), aval_of(c).dtype) for c in consts]
    return run_elementwise(jaxpr, values, (old, new), constant, lambda op, *xs, **params: op.cpu(b, *xs, **params))[0]


# ------------------------------------------------------------------------------------------------ many updates

def _many(out: Any, updates: Any, batch_shape: Sequence[int]) -> bool:
    """Whether the updates are so many more than the places that each chunk of them may have a result of its own."""
    size = prod(updates.shape)
    return (kind_of(out.dtype) in "iuf" and size >= CHUNKED_FROM and 4 * CHUNKS * prod(out.shape) <= size
            and prod(batch_shape) >= CHUNKS)


def _in_chunks(b: Any, combine: str, out: Any, batch_shape: Sequence[int], put_window: Callable[..., None]) -> Any:
    """Runs of windows go to partial results, which are combined in order: the same bits for any number of threads."""
    neutral = b.const(_NEUTRAL[combine](out.dtype), out.dtype)
    count = prod(batch_shape)
    per_chunk = count // CHUNKS
    partial = b.empty((CHUNKS, *out.shape), out.dtype)

    def window(place: Any, target: Any, front: Sequence[Any]) -> None:
        put_window(_unravelled(place, batch_shape), target, front)

    def chunk(c: Any) -> None:
        b.loop(out.shape, lambda *place: b.store(partial, (c, *place), neutral))
        b.loop((per_chunk,), lambda k: window(c * per_chunk + k, partial, (c,)), ordered=True)
    b.chunks(CHUNKS, chunk)

    def total(*place: Any) -> None:
        value = b.read(out, *place)
        for c in range(CHUNKS):
            value = lookup(combine).cpu(b, value, b.read(partial, c, *place))
        b.store(out, place, value)
    b.loop(out.shape, total)
    b.loop((count - CHUNKS * per_chunk,), lambda k: window(CHUNKS * per_chunk + k, out, ()), ordered=True)
    return out


def _unravelled(place: Any, shape: Sequence[int]) -> list[Any]:
    """The index of the element that stands at a row-major place."""
    index = []
    for n in reversed(shape[1:]):
        index.append(place % n)
        place = place // n
    return [place, *reversed(index)] if shape else []
