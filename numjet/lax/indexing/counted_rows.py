"""Batch axes found in index arrays: x[arange(n), i] takes one element of each row, as `take_along_axis` does.

An index column that counts along an axis of the indices from 0 on pairs that axis with the operand's, if both are as long. As
a pair of batch axes that is known to be in bounds and to name each row once, so that a scatter, the derivative of such a
gather, can be fused with what reads it.
"""
from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from numjet.core.ir import Atom, JaxprEqn
from numjet.foundation import dtypes
from numjet.lax.elementwise.convert import convert_element_type_p
from numjet.lax.indexing.dimension_numbers import GatherDimensionNumbers, as_gather, as_scatter
from numjet.lax.rewrites import Producer
from numjet.lax.shape.create import iota_p
from numjet.lax.shape.join import concatenate_p
from numjet.lax.shape.rearrange import broadcast_in_dim_p


def pair_counted_rows(eqn: JaxprEqn, producer: Producer) -> JaxprEqn | None:
    """A gather or a scatter with counted index columns as batch axes, where one other column is left; else None."""
    operand, indices, *updates = eqn.invars
    columns = _columns(indices, producer)
    given = eqn.params["dimension_numbers"]
    numbers = as_gather(given) if updates else given
    pairs = _pairs(columns, numbers, operand.aval.shape, indices.aval.shape, producer)
    rest = [k for k in range(len(columns)) if k not in pairs]
    if not pairs or len(rest) != 1:
        return None
    found = _with_pairs(numbers, {numbers.start_index_map[k]: axis for k, axis in pairs.items()}, rest[0])
    return eqn.replace(invars=[operand, columns[rest[0]], *updates],
                       params={**eqn.params, "dimension_numbers": as_scatter(found) if updates else found})


def _columns(indices: Atom, producer: Producer) -> list[Atom]:
    """The arrays of single components that an index array is joined from; none where it is not."""
    maker = producer(indices)
    if maker is None or maker.primitive is not concatenate_p or maker.params["dimension"] != indices.aval.ndim - 1:
        return []
    return list(maker.invars) if all(a.aval.shape[-1] == 1 for a in maker.invars) else []


def _pairs(columns: list[Atom], numbers: GatherDimensionNumbers, shape: tuple[int, ...], index_shape: tuple[int, ...],
           producer: Producer) -> dict[int, int]:
    """For each counted column the axis of the indices that it counts along, if the operand's axis can be paired with it."""
    pairs: dict[int, int] = {}
    taken = set(numbers.start_indices_batching_dims)
    for k, column in enumerate(columns):
        axis, dim = _counted_axis(column, producer), numbers.start_index_map[k]
        if axis is None or axis in taken or dim not in numbers.collapsed_slice_dims or shape[dim] != index_shape[axis]:
            continue
        pairs[k] = axis
        taken.add(axis)
    return pairs


def _counted_axis(column: Atom, producer: Producer) -> int | None:
    """The axis along which an array counts 0, 1, ... and is constant along all others; None where that is not known."""
    maker, outer, most = producer(column), tuple(range(column.aval.ndim)), _largest(column)
    while maker is not None and maker.primitive in (broadcast_in_dim_p, convert_element_type_p):
        if maker.primitive is broadcast_in_dim_p:
            outer = tuple(outer[d] for d in maker.params["broadcast_dimensions"])
        most = min(most, _largest(maker.invars[0]))
        maker = producer(maker.invars[0])
    if maker is None or maker.primitive is not iota_p:
        return None
    size, axis = maker.params["shape"][maker.params["dimension"]], outer[maker.params["dimension"]]
    known = isinstance(size, int) and size == column.aval.shape[axis]
    return axis if known and size - 1 <= most else None


def _largest(a: Atom) -> float:
    """The largest number of an integer dtype; -inf for others, which may round."""
    return dtypes.iinfo(a.aval.dtype).max if a.aval.dtype.kind in "iu" else -math.inf


def _with_pairs(numbers: GatherDimensionNumbers, paired: Mapping[int, int], left: int) -> GatherDimensionNumbers:
    """Dimension numbers with more batch axes, and the component `left` alone. paired: axes of the indices by the operand's."""
    batch: dict[Any, int] = dict(zip(numbers.operand_batching_dims, numbers.start_indices_batching_dims, strict=True))
    batch.update(paired)
    return numbers._replace(
        collapsed_slice_dims=tuple(d for d in numbers.collapsed_slice_dims if d not in paired),
        start_index_map=(numbers.start_index_map[left],),
        operand_batching_dims=tuple(sorted(batch)), start_indices_batching_dims=tuple(batch[d] for d in sorted(batch)))
