"""Indices out of bounds as errors that checkify finds: which operations have indices, their bounds, and the messages."""
from __future__ import annotations

import functools
from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from numjet.core import hooks
from numjet.core.aval import ShapedArray
from numjet.core.ir import JaxprEqn, Literal
from numjet.core.trace import aval_of
from numjet.foundation.dimension import is_symbolic, may_exceed
from numjet.foundation.record import Record
from numjet.lax.elementwise.bits import stop_gradient
from numjet.lax.elementwise.bitwise import and_p, or_p
from numjet.lax.elementwise.compare import eq_p, gt_p, lt_p, select_n_p
from numjet.lax.elementwise.convert import cast, size_constant
from numjet.lax.indexing.dimension_numbers import GatherScatterMode, fills
from numjet.lax.indexing.slicing import slice_in_dim
from numjet.lax.reduction.cumulative import cumsum
from numjet.lax.reduction.reduce import reduce_or_p, reduce_sum
from numjet.lax.shape.create import full
from numjet.lax.shape.rearrange import broadcast_in_dim, reshape, squeeze
from numjet.lax.shape.stacking import stack

INDEX = ShapedArray((), np.dtype(np.int32))


class OutOfBounds(Record):
    """The message of an index out of bounds; values: the index and its axis."""
    shape: tuple[int, ...]
    where: str

    def __call__(self, payload: Sequence[Any]) -> str:
        return _message(self.shape, payload, self.where)


class OutOfComputedBounds(Record):
    """The message where sizes are computed when the program runs; values: the index, its axis, and the sizes."""
    where: str

    def __call__(self, payload: Sequence[Any]) -> str:
        return _message(tuple(int(n) for n in payload[2:]), payload[:2], self.where)


def _message(shape: tuple[int, ...], payload: Sequence[Any], where: str) -> str:
    index, axis = (int(x) for x in payload)
    return (f"out-of-bounds indexing for array of shape {shape}: index {index} is out of bounds for axis {axis} with "
            f"size {shape[axis]}. {where}")


def site_of(eqn: JaxprEqn, where: str) -> tuple[Any, list[ShapedArray]] | None:
    """The message of an operation with indices, and the avals of its values; None where no index can be out of bounds."""
    limits = window_limits(eqn)
    if limits is None:
        return None
    if is_computed(eqn, limits[1]):
        return OutOfComputedBounds(where), [INDEX] * (2 + eqn.invars[0].aval.ndim)
    return OutOfBounds(eqn.invars[0].aval.shape, where), [INDEX, INDEX]


def is_computed(eqn: JaxprEqn, limits: Sequence[Any]) -> bool:
    """Whether the bounds, or how many indices there are, is computed when the program runs."""
    return is_symbolic(limits) or any(is_symbolic(a.aval.shape) for a in eqn.invars[_operands(eqn)])


def _operands(eqn: JaxprEqn) -> slice:
    """Which operands are indices."""
    return {"dynamic_slice": slice(1, None), "dynamic_update_slice": slice(2, None)}.get(eqn.primitive.name, slice(1, 2))


def window_limits(eqn: JaxprEqn) -> tuple[list[int], list[Any]] | None:
    """Of an operation with indices: the axes that they count along, and the last index of each at which a window fits."""
    op, params = eqn.primitive, eqn.params
    if op.name not in ("dynamic_slice", "dynamic_update_slice", "gather") and not op.name.startswith("scatter"):
        return None
    shape = eqn.invars[0].aval.shape
    if op.name in ("dynamic_slice", "dynamic_update_slice"):
        sizes = params["slice_sizes"] if op.name == "dynamic_slice" else eqn.invars[1].aval.shape
        return list(range(len(shape))), [n - s for n, s in zip(shape, sizes, strict=True)]
    numbers = params["dimension_numbers"]
    if not all(may_exceed(n, 0) for n in eqn.invars[1].aval.shape) or _on_purpose(op.name, params["mode"], numbers):
        return None
    if op.name == "gather":
        axes, sizes = numbers.start_index_map, params["slice_sizes"]
    else:
        axes = numbers.scatter_dims_to_operand_dims
        windows = iter(eqn.invars[2].aval.shape[d] for d in numbers.update_window_dims)
        single = {*numbers.inserted_window_dims, *numbers.operand_batching_dims}
        sizes = [1 if k in single else next(windows) for k in range(len(shape))]
    return list(axes), [shape[k] - sizes[k] for k in axes]


def _on_purpose(name: str, mode: GatherScatterMode, numbers: Any) -> bool:
    """Whether indices out of bounds are no mistake: of an index that is out of bounds nothing is meant to be there (the mode
    ONE_HOT), or somebody asked for mode="clip". A batched dynamic_slice or dynamic_update_slice has that mode, too; its windows
    keep all axes, where an index by numbers drops the indexed ones."""
    dropped = numbers.collapsed_slice_dims if name == "gather" else numbers.inserted_window_dims
    return mode is GatherScatterMode.ONE_HOT or mode is GatherScatterMode.CLIP and len(dropped) > 0


def with_indices(eqn: JaxprEqn, ins: list[Any], inside: Any) -> list[Any]:
    """The operands with indices that were moved into bounds, if that is what the operation does with them."""
    name, first = eqn.primitive.name, _operands(eqn).start
    moves = "slice" in name or name == "gather" and not fills(eqn.params["mode"])
    if not moves or any(v.aval.dtype.kind == "u" and v.aval.dtype.itemsize >= 4 for v in eqn.invars[first:]):
        return ins
    if name == "gather":
        return [ins[0], inside]
    starts = [cast(squeeze(slice_in_dim(inside, k, k + 1), (0,)), v.aval.dtype) for k, v in enumerate(eqn.invars[first:])]
    return [*ins[:first], *starts]


def indices_of(eqn: JaxprEqn, ins: Sequence[Any]) -> Any:
    """The indices of an operation: integers of 32 bits at least, along the last axis those of one window."""
    operands = [hooks.literal_array(x) if isinstance(x, Literal) else x for x in ins[_operands(eqn)]]
    if "slice" in eqn.primitive.name:
        indices = stack(operands) if operands else np.zeros(0, np.int32)
    else:
        indices = operands[0]
    dtype = aval_of(indices).dtype
    wide = np.dtype(np.int32) if dtype.itemsize < 4 or dtype == np.uint32 else dtype
    return stop_gradient(cast(indices, wide))


def search_computed(indices: Any, axes: Sequence[int], limits: Sequence[Any], shape: Sequence[Any]) -> tuple[Any, list[Any]]:
    """Whether an index is out of bounds where sizes are computed when the program runs, and the values of its message.

    Sums find the first one, as there may be no indices at all.
    """
    sizes = aval_of(indices).shape[:-1]
    columns = [reshape(slice_in_dim(indices, k, k + 1, axis=-1), (prod(sizes),)) for k in range(len(axes))]
    bad = [_outside(column, limit) for column, limit in zip(columns, limits, strict=True)]
    rows = functools.reduce(or_p.bind, bad)
    first = and_p.bind(rows, eq_p.bind(cumsum(cast(rows, INDEX.dtype), 0), full((prod(sizes),), np.int32(1))))
    index = axis = np.int32(0)
    for column, flags, k in reversed(list(zip(columns, bad, axes, strict=True))):
        here = and_p.bind(first, flags)
        there = reduce_or_p.bind(here, axes=(0,))
        kept = select_n_p.bind(here, full((prod(sizes),), np.int32(0)), cast(column, INDEX.dtype))
        index = select_n_p.bind(there, index, reduce_sum(kept, (0,)))
        axis = select_n_p.bind(there, axis, np.int32(k))
    return reduce_or_p.bind(rows, axes=(0,)), [index, axis, *(size_constant(n, INDEX.dtype) for n in shape)]


def _outside(column: Any, limit: Any) -> Any:
    """Which indices along one axis are out of bounds."""
    aval = aval_of(column)
    everywhere = lambda value: broadcast_in_dim(value, aval.shape, ())
    return or_p.bind(lt_p.bind(column, everywhere(np.zeros((), aval.dtype))),
                     gt_p.bind(column, everywhere(size_constant(limit, aval.dtype))))
