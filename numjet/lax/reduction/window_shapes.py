"""Windows that move over an array: sizes and positions, for NumPy and for lowering rules.

A window has a size, a stride and a dilation per axis; the array beneath may be dilated (gaps between its elements) and
padded. Source of the terms: the ReduceWindow section of the published XLA operation semantics.
"""
from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from numjet.foundation.dimension import as_size, largest
from numjet.lax.axes import Ints
from numjet.lax.indexing.slicing import slice_p
from numjet.lax.shape.join import all_of, pad_p

Pads = tuple[tuple[int, int], ...]


def dilated(n: int, factor: int) -> int:
    """The size of an axis of n elements that stand `factor` apart."""
    return (n - 1) * factor + 1 if n else 0


class Windows(NamedTuple):
    """All windows over an array of `shape`. Per axis: size, stride, (low, high) padding, dilation of array and window."""
    shape: Ints
    sizes: Ints
    strides: Ints
    padding: Pads
    base_dilation: Ints
    window_dilation: Ints

    @property
    def counts(self) -> Ints:
        """How many windows there are per axis: the shape of the result."""
        out = []
        for n, w, s, (low, high), base, dilation in zip(*self, strict=True):
            room = dilated(n, base) + low + high - dilated(w, dilation)
            out.append(largest(room // s + 1, 0))
        return tuple(out)

    @property
    def over_padded(self) -> Windows:
        """The same windows over the array that holds the dilation and the padding of this one."""
        ones = (1,) * len(self.shape)
        whole = self._replace(sizes=ones, strides=ones, window_dilation=ones).counts
        return self._replace(shape=whole, padding=((0, 0),) * len(ones), base_dilation=ones)

    # -- NumPy
    def padded(self, x: np.ndarray, fill: Any) -> np.ndarray:
        """x, dilated and padded with `fill`, just so large that all windows lie inside."""
        config = tuple((low, high, d - 1) for (low, high), d in zip(self.padding, self.base_dilation, strict=True))
        shape = [max(0, dilated(n, d) + low + high)
                 for n, d, (low, high) in zip(self.shape, self.base_dilation, self.padding, strict=True)]
        out = np.full(shape, fill, x.dtype)
        target, source = [], []
        for n, size, (low, _, interior) in zip(self.shape, shape, config, strict=True):
            first = max(0, -(low // (interior + 1)))  # the first i with low + i * (interior + 1) >= 0
            last = max(first, min(n, -((low - size) // (interior + 1))))  # the first one at or beyond size
            start = low + first * (interior + 1) if last > first else 0
            source.append(slice(first, last))
            target.append(slice(start, start + dilated(last - first, interior + 1), interior + 1))
        out[tuple(target)] = x[tuple(source)]
        return out

    def view(self, x: np.ndarray, fill: Any) -> np.ndarray:
        """The windows of x: an array of shape (*counts, *sizes), a view of the padded array."""
        count = self.counts
        full = self.padded(x, fill)
        if 0 in count:
            return np.empty((*count, *self.sizes), x.dtype)
        steps = [b * s for b, s in zip(full.strides, self.strides, strict=True)]
        inner = [b * d for b, d in zip(full.strides, self.window_dilation, strict=True)]
        return np.lib.stride_tricks.as_strided(full, (*count, *self.sizes), (*steps, *inner), writeable=False)

    # -- lowering rules
    def locate(self, b: Any, i: Sequence[Any], r: Sequence[Any]) -> tuple[Any, list[Any]]:
        """Element r of window i: (whether it is in the array and no padding, its index there)."""
        conds, index = [], []
        for k, q, n, w, s, (low, _), base, d, count in zip(i, r, *self, self.counts, strict=True):
            position = k * s + q * d - low
            if low > 0:
                conds.append(position >= 0)
            if (count - 1) * s + (w - 1) * d - low >= dilated(n, base):
                conds.append(position < dilated(n, base))
            if base > 1:
                conds.append(position % base < 1)
            index.append(position // base if base > 1 else position)
        return all_of(b, conds), index

    def covering(self, b: Any, element: Sequence[Any], r: Sequence[Any]) -> tuple[Any, list[Any]]:
        """The r-th of the windows that may hold an element: (whether it does, its index).

        r counts over `reach`, backwards from the last window that begins before the element. Undilated arrays only.
        """
        conds, index = [], []
        for p, q, w, s, (low, _), count in zip(element, r, self.sizes, self.strides, self.padding, self.counts, strict=True):
            position = p + low
            k = position // s - q if s > 1 else position - q
            conds += [k >= 0, k < count, position - k * s < w]
            index.append(k)
        return all_of(b, conds), index

    @property
    def reach(self) -> Ints:
        """The most windows that one element can lie in, per axis."""
        return tuple(-(-w // s) for w, s in zip(self.sizes, self.strides, strict=True))

    # -- tracing
    def slices(self, x: Any, fill: Any) -> list[Any]:
        """For each element of a window, in row-major order, the array (of shape `counts`) of it over all windows.

        Without windows along an axis its slices are empty from 0 on: the array may be shorter than a window.
        """
        config = tuple((low, high, d - 1) for (low, high), d in zip(self.padding, self.base_dilation, strict=True))
        full = pad_p.bind(x, fill, padding_config=config)
        out = []
        for r in np.ndindex(*self.sizes):
            start = tuple(int(k) * d if c else 0 for k, d, c in zip(r, self.window_dilation, self.counts, strict=True))
            limit = tuple(a + dilated(c, s) for a, c, s in zip(start, self.counts, self.strides, strict=True))
            out.append(slice_p.bind(full, start_indices=start, limit_indices=limit, strides=self.strides))
        return out


def check_windows(name: str, windows: Windows) -> None:
    """TypeError when there is not one positive number per axis for each of the windows' properties."""
    for what, values in (("window_dimensions", windows.sizes), ("window_strides", windows.strides),
                         ("base_dilation", windows.base_dilation), ("window_dilation", windows.window_dilation)):
        if len(values) != len(windows.shape):
            raise TypeError(f"{name} got the wrong number of {what} for operand: got operand shape {windows.shape} "
                            f"with {what} {values}.")
        if any(v <= 0 for v in values):
            raise TypeError(f"{name} {what} must have every element be strictly positive, got {values}.")
    if len(windows.padding) != len(windows.shape):
        raise ValueError(f"{name} requires one (low, high) pair of padding per axis: got operand shape "
                         f"{windows.shape} with padding {windows.padding}.")


_PADDINGS = ("VALID", "SAME", "SAME_LOWER")


def _unknown(padding: str) -> str:
    return f"Unrecognized padding type: expected 'VALID', 'SAME', or 'SAME_LOWER', got {padding}."


def padtype_to_pads(in_shape: Sequence[int], window_shape: Sequence[int], window_strides: Sequence[int],
                    padding: Any) -> list[tuple[int, int]]:
    """The (low, high) padding of each axis that a name stands for.

    "VALID": none. "SAME": so much that there are ceil(size / stride) windows, an odd one at the end; "SAME_LOWER": an
    odd one at the start. RuntimeError for other names, TypeError for what is no string.

    >>> padtype_to_pads((5, 6), (2, 3), (2, 2), "SAME")
    [(0, 1), (0, 1)]
    """
    if not isinstance(padding, str):
        raise TypeError(f"Unknown padding type: {padding}.")
    kind = padding.upper()
    if kind == "VALID":
        return [(0, 0)] * len(in_shape)
    if kind not in _PADDINGS:
        raise RuntimeError(_unknown(padding))
    pads = []
    for n, w, s in zip(*(map(as_size, sizes) for sizes in (in_shape, window_shape, window_strides)), strict=True):
        total = largest((-(-n // s) - 1) * s + w - n, 0)
        pads.append((total - total // 2, total // 2) if kind == "SAME_LOWER" else (total // 2, total - total // 2))
    return pads


def as_pads(name: str, padding: Any, sizes: Callable[[], list[tuple[int, int]]]) -> Pads:
    """Padding as a user gives it: names by `sizes`, pairs as they are. ValueError for anything else."""
    if isinstance(padding, str):
        if padding.upper() not in _PADDINGS:
            raise RuntimeError(f"{name}: {_unknown(padding)}")
        return tuple(sizes())
    try:
        return tuple((operator.index(low), operator.index(high)) for low, high in padding)
    except (TypeError, ValueError):
        raise ValueError(f"padding argument to {name} should be a string or a sequence of (low, high) pairs, "
                         f"got {padding}") from None


def reduce_window_shape_tuple(operand_shape: Sequence[int], window_dimensions: Sequence[int], window_strides: Sequence[int],
                              padding: Any, base_dilation: Sequence[int] | None = None,
                              window_dilation: Sequence[int] | None = None) -> Ints:
    """The shape of the result of reduce_window.

    >>> reduce_window_shape_tuple((8, 8), (2, 2), (2, 1), ((0, 0), (1, 0)))
    (4, 8)
    """
    ones = (1,) * len(operand_shape)
    base, dilation = tuple(base_dilation or ones), tuple(window_dilation or ones)
    spread = [dilated(n, d) for n, d in zip(operand_shape, base, strict=True)]
    spans = [dilated(n, d) for n, d in zip(window_dimensions, dilation, strict=True)]
    pads = as_pads("reduce_window_shape_tuple", padding, lambda: padtype_to_pads(spread, spans, window_strides, padding))
    return Windows(tuple(operand_shape), tuple(window_dimensions), tuple(window_strides), pads, base, dilation).counts
