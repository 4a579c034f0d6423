"""Gathers, scatters and dynamic slices: empty operands and windows, indices of every integer type and far out of bounds."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import numjet as nj
import numjet.numpy as jnp
from numjet import lax

SHAPES = ((0,), (0, 2), (2, 0), (3,), (5, 2), (300,))
COMBINE: dict[str, Callable[[float], float]] = {
    "set": lambda old: -1.0, "add": lambda old: old - 1.0, "multiply": lambda old: -old, "min": lambda old: min(old, -1.0),
    "max": lambda old: max(old, -1.0)}


def _indices(dtype: np.dtype) -> list[np.ndarray]:
    low, high = int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)
    found = ([], [0], [3, 1], [low, high], [high - 1, low + 1, 4, 0, 4])
    return [np.array(one, dtype) for one in found]


def _place(index: int, n: int, mode: str) -> int | None:
    """Which of n rows is meant; None for none. Negative indices count from the end, once."""
    place = index + n if index < 0 else index
    if mode == "clip":
        place = min(max(place, 0), n - 1)
    return place if 0 <= place < n else None


def _scattered(x: np.ndarray, indices: np.ndarray, mode: str, op: str) -> np.ndarray:
    out = x.copy()
    for index in indices.tolist():
        place = _place(index, x.shape[0], mode)
        if place is not None:
            out[place] = np.vectorize(COMBINE[op], otypes=[x.dtype])(out[place]) if out[place].size else out[place]
    return out


def _agrees(function: Callable[..., Any], expected: np.ndarray, *args: np.ndarray) -> None:
    for call in (function, nj.jit(function)):
        np.testing.assert_array_equal(call(*map(jnp.asarray, args)), expected)


@pytest.mark.parametrize("mode", ("clip", "drop"))
@pytest.mark.parametrize("dtype", ("int8", "uint8", "int32", "uint32", "int64", "uint64"))
def test_scatter(dtype: str, mode: str) -> None:
    with nj.enable_x64():
        for number, shape in enumerate(SHAPES):
            x = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
            for k, indices in enumerate(_indices(np.dtype(dtype))):
                op = list(COMBINE)[(number + k) % len(COMBINE)]
                _agrees(lambda x, i, op=op: getattr(x.at[i], op)(-1, mode=mode), _scattered(x, indices, mode, op), x, indices)


@pytest.mark.parametrize("dtype", ("int8", "uint8", "int32", "uint32", "int64", "uint64"))
def test_gather(dtype: str) -> None:
    with nj.enable_x64():
        for shape in SHAPES:
            x = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
            for indices in _indices(np.dtype(dtype)):
                for mode in ("clip", "fill"):
                    if shape[0] == 0 and indices.size:
                        continue   # an error, in JAX too: windows of one row don't fit
                    places = [_place(i, shape[0], mode) for i in indices.tolist()]
                    rows = [np.full(shape[1:], np.nan, x.dtype) if p is None else x[p] for p in places]
                    _agrees(lambda x, i, mode=mode: x.at[i].get(mode=mode, fill_value=np.nan),
                            np.reshape(rows, (len(rows), *shape[1:])).astype(x.dtype), x, indices)


@pytest.mark.parametrize("dtype", ("int8", "uint8", "int32", "uint32", "int64", "uint64"))
@pytest.mark.parametrize("window", (0, 1, 2))
def test_dynamic_slices(dtype: str, window: int) -> None:
    with nj.enable_x64():
        for shape in SHAPES:
            x = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
            sizes = (min(window, shape[0]), *shape[1:])
            for start in np.concatenate(_indices(np.dtype(dtype))):
                first = int(start) + (shape[0] if start < 0 else 0)
                first = min(max(first, 0), shape[0] - sizes[0])
                zeros = (np.zeros((), start.dtype),) * (len(shape) - 1)
                _agrees(lambda x, s, zeros=zeros, sizes=sizes: lax.dynamic_slice(x, (s, *zeros), sizes),
                        x[first:first + sizes[0]], x, start)
                changed = x.copy()
                changed[first:first + sizes[0]] = -1
                _agrees(lambda x, s, zeros=zeros, sizes=sizes: lax.dynamic_update_slice(
                    x, jnp.full(sizes, -1, x.dtype), (s, *zeros)), changed, x, start)


@pytest.mark.parametrize("mode", ("clip", "drop"))
def test_empty_windows_and_batches(mode: str) -> None:
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    for columns, indices in ((0, [0, 5]), (3, [])):
        _agrees(lambda x, i, columns=columns: x.at[i, :columns].set(-1, mode=mode), x, x, np.array(indices, np.int32))
    mapped = nj.vmap(lambda x, i: x.at[i].set(-1, mode=mode))
    _agrees(mapped, np.zeros((2, 0, 3)), np.zeros((2, 0, 3)), np.array([[3, 1], [0, 2]]))
    _agrees(mapped, np.zeros((0, 4, 3)), np.zeros((0, 4, 3)), np.zeros((0, 2), np.int32))


def test_reads_of_empty_arrays_that_are_never_used() -> None:
    """Arrays of no elements in registers: all that is read of them is padding or out of bounds."""
    _agrees(lambda v: v[:0].at[v, None].apply(jnp.negative), np.zeros((0,), np.int32), np.array([-2], np.int32))

    def padded(v: Any, p: Any) -> Any:
        empty = lax.while_loop(lambda c: c[0] < 0, lambda c: c, (jnp.int32(0), v))[1]
        return lax.pad(empty, p, ((1, 2, 0), (1, 2, 0)))
    for dtype in (np.float32, np.int8, np.complex64):
        _agrees(padded, np.ones((3, 3), dtype), np.zeros((0, 0), dtype), np.ones((), dtype))
