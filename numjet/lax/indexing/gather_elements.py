"""Gathers element by element: which element of the operand each element of the result is, as sums."""
from __future__ import annotations

from typing import Any

import numpy as np

from numjet.lax.indexing.dimension_numbers import GatherDimensionNumbers, Ints, Windows


def element_plan(operand: Ints, indices: Ints, sizes: Ints, numbers: GatherDimensionNumbers) -> tuple[Any, ...]:
    """(limits, strides, offsets, vectors) of a gather: element e of the result is the element of the operand at offsets[e] plus
    the sum of strides times the index vector vectors[e], whose components are in bounds from 0 to the limits.

    >>> numbers = GatherDimensionNumbers((), (0,), (0,), (), ())
    >>> [np.asarray(x).tolist() for x in element_plan((5,), (3, 1), (1,), numbers)]
    [[4], [1], [0, 0, 0], [0, 1, 2]]
    """
    windows = Windows(operand, indices, sizes, numbers)
    rows = windows.rows(np.zeros(indices, np.int64))
    places = np.arange(int(np.prod(operand))).reshape(operand)
    offsets = rows.to_windows(rows.view(places)[tuple(rows.positions)])
    vectors = np.arange(int(np.prod(indices[:-1]))).reshape(
        [windows.shape[d] if d in windows.batch_dims else 1 for d in range(len(windows.shape))])
    strides = tuple(int(np.prod(operand[d + 1:])) for d in numbers.start_index_map)
    spread = np.broadcast_to(vectors, windows.shape)
    return windows.limits, strides, np.ravel(offsets).astype(np.int64), np.ravel(spread).astype(np.int64)
