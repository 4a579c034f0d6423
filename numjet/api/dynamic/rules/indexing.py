"""Gathers and scatters: windows are judged by the sizes, and those that padding asks for change nothing."""
from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from numjet.api.dynamic.arrays import chosen, narrow
from numjet.api.dynamic.trace import PaddingTrace, here, rule
from numjet.core.aval import ShapedArray
from numjet.core.op import Op
from numjet.core.trace import aval_of
from numjet.foundation.dimension import Dimension, is_symbolic
from numjet.lax.elementwise.bitwise import and_p, or_p
from numjet.lax.elementwise.compare import eq_p, ge_p, le_p, max_p, min_p
from numjet.lax.indexing.dimension_numbers import GatherScatterMode, drops, fills, window_sizes
from numjet.lax.shape.join import concatenate_p
from numjet.lax.shape.rearrange import broadcast_in_dim_p, reshape_p

Avals = Sequence[ShapedArray]
_CLIP, _DROP = GatherScatterMode.CLIP, GatherScatterMode.FILL_OR_DROP


@rule("gather")
def _gather(trace: PaddingTrace, op: Op, xs: Sequence[Any], avals: Avals, out: ShapedArray, *, dimension_numbers: Any,
            slice_sizes: Any, mode: Any, indices_are_sorted: bool, unique_indices: bool, **params: Any) -> Any:
    x, index = xs
    operand, indices = avals
    limits = [operand.shape[d] - slice_sizes[d] for d in dimension_numbers.start_index_map]
    if mode is not GatherScatterMode.ONE_HOT:  # which reads 0 wherever there is no element
        _check_empty(trace, operand.shape, slice_sizes, prod(indices.shape[:-1]))
    if is_symbolic(operand.shape[d] for d in dimension_numbers.start_index_map):
        index = narrow(index)
        index = _outside_dropped(trace, index, limits) if fills(mode) else _moved_inside(trace, index, limits)
    if not fills(mode):
        mode = _CLIP  # what padding asks for is anywhere
    known = not is_symbolic(indices.shape)
    return op.bind(x, index, dimension_numbers=dimension_numbers, slice_sizes=trace.shape(slice_sizes), mode=mode,
                   indices_are_sorted=indices_are_sorted and known, unique_indices=unique_indices and known, **params)


def _check_empty(trace: PaddingTrace, shape: Sequence[Any], windows: Sequence[Any], count: Any) -> None:
    """Nothing can be read from an axis without elements, unless nothing is read."""
    for n, w in zip(shape, windows, strict=True):
        if isinstance(n, Dimension) and not isinstance(w, Dimension) and w == 1:
            message = f"Elements are read from an empty array{here()}: its size {n} is 0. {trace.program.scope.legend((n,))}"
            if not isinstance(count, Dimension):
                trace.check_size(n - min(count, 1), message)
                continue
            nothing = eq_p.bind(trace.size(count), np.int32(0))
            trace.check(or_p.bind(nothing, ge_p.bind(trace.size(n), np.int32(1))), message)


@rule("scatter", "scatter-add", "scatter-sub", "scatter-mul", "scatter-min", "scatter-max")
def _scatter(trace: PaddingTrace, op: Op, xs: Sequence[Any], avals: Avals, out: ShapedArray, *, dimension_numbers: Any,
             mode: Any, indices_are_sorted: bool, unique_indices: bool, **params: Any) -> Any:
    x, index, updates = xs
    operand, indices, _ = avals
    windows = window_sizes(operand.shape, avals[2].shape, dimension_numbers)
    _check_windows(op, operand.shape, windows)
    limits = [operand.shape[d] - windows[d] for d in dimension_numbers.scatter_dims_to_operand_dims]
    index = narrow(index)
    index = _outside_dropped(trace, index, limits) if drops(mode) else _moved_inside(trace, index, limits)
    held = trace.inside(indices.update(dtype=np.dtype(np.int32)))
    if held is not None:
        index = chosen(held, index, np.int32(-1))
    promises = {"indices_are_sorted": indices_are_sorted and held is None, "unique_indices": unique_indices and held is None}
    return op.bind(x, index, updates, dimension_numbers=dimension_numbers, mode=_DROP, **promises, **params)


def _check_windows(op: Op, shape: Sequence[Any], windows: Sequence[Any]) -> None:
    """Windows of computed size span their axis, so that their padding falls on padding."""
    for n, w in zip(shape, windows, strict=True):
        if isinstance(w, Dimension) and w != n:
            raise NotImplementedError(
                f"'{op.name}' of a window of computed size {w} along an axis of size {n}: update the rows or elements that an "
                "array of indices names, x.at[jnp.arange(...)].set(...), instead of a slice.")


def _limit_row(trace: PaddingTrace, index: Any, limits: Sequence[Any]) -> Any:
    """The greatest start of a window per component, in the shape of the indices."""
    row = [reshape_p.bind(trace.size(n), new_sizes=(1,), dimensions=None) for n in limits]
    vector = concatenate_p.bind(*row, dimension=0) if len(row) > 1 else row[0]
    shape = aval_of(index).shape
    return broadcast_in_dim_p.bind(vector, shape=shape, broadcast_dimensions=(len(shape) - 1,))


def _moved_inside(trace: PaddingTrace, index: Any, limits: Sequence[Any]) -> Any:
    """Starts of windows, those out of bounds moved to the nearest place."""
    if not limits:
        return index
    return max_p.bind(min_p.bind(index, _limit_row(trace, index, limits)), np.int32(0))


def _outside_dropped(trace: PaddingTrace, index: Any, limits: Sequence[Any]) -> Any:
    """Starts of windows, those out of bounds at -1, which is out of bounds in any array."""
    if not limits:
        return index
    held = and_p.bind(ge_p.bind(index, np.int32(0)), le_p.bind(index, _limit_row(trace, index, limits)))
    return chosen(held, index, np.int32(-1))
