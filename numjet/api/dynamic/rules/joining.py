"""Concatenation: each operand is placed where the one in front of it ends."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from numjet.api.dynamic.arrays import constant
from numjet.api.dynamic.trace import PaddingTrace, rule
from numjet.core.aval import ShapedArray
from numjet.core.op import Op
from numjet.core.trace import aval_of
from numjet.foundation.dimension import is_symbolic
from numjet.lax.axes import replace
from numjet.lax.indexing.dynamic_slicing import dynamic_update_slice_p
from numjet.lax.indexing.slicing import slice_p
from numjet.lax.shape.rearrange import broadcast_in_dim_p

Avals = Sequence[ShapedArray]


@rule("concatenate")
def _concatenate(trace: PaddingTrace, op: Op, xs: Sequence[Any], avals: Avals, out: ShapedArray, *, dimension: int) -> Any:
    """The padding of an operand is overwritten by the next one, that of the last one is padding of the result."""
    sizes = [a.shape[dimension] for a in avals]
    if not is_symbolic(sizes):
        return op.bind(*xs, dimension=dimension)
    padded = [aval_of(x).shape[dimension] for x in xs]
    shape = trace.shape(out.shape)
    room = replace(shape, dimension, sum(padded))
    made = broadcast_in_dim_p.bind(constant(0, out.dtype), shape=room, broadcast_dimensions=())
    offset = 0
    for x, size in zip(xs, sizes, strict=True):
        starts = replace((np.int32(0),) * len(room), dimension, trace.size(offset))
        made = dynamic_update_slice_p.bind(made, x, *starts)
        offset = offset + size
    if room == shape:
        return made
    return slice_p.bind(made, start_indices=(0,) * len(shape), limit_indices=shape, strides=None)
